// What is computed along axes: sums, softmax, sorting, gathering.

import {
  Tensor,
  axesOf,
  axisOf,
  broadcastShape,
  cast,
  contiguous,
  empty,
  exact,
  expand,
  flat,
  isFloat,
  product,
  range,
  refuse,
  scalarName,
} from "./tensors.js";

/** The tensor with some axes at the end. */
function movedLast(x, axes) {
  const order = [...range(x.shape.length).filter((axis) => !axes.includes(axis)), ...axes];
  const pick = (list) => order.map((axis) => list[axis]);
  return { moved: x.view(pick(x.shape), pick(x.strides)), order };
}

const without = (shape, axes, keepdim) =>
  keepdim
    ? shape.map((size, axis) => (axes.includes(axis) ? 1 : size))
    : shape.filter((_, axis) => !axes.includes(axis));

/** One number for each row along the axes; `compute(values, start, length)` returns it. */
function reduced(x, axes, keepdim, dtype, compute) {
  const values = flat(movedLast(x, axes).moved);
  const length = product(axes.map((axis) => x.shape[axis]));
  const made = empty(without(x.shape, axes, keepdim), dtype);
  for (let row = 0; row < made.data.length; row++) {
    made.data[row] = compute(values, row * length, length);
  }
  return made;
}

function overRange(values, start, length, first, join) {
  let total = first;
  for (let i = start; i < start + length; i++) total = join(total, values[i]);
  return total;
}

const add = (a, b) => a + b;
const times = (a, b) => a * b;
const larger = (a, b) => (a > b || Number.isNaN(a) ? a : b);
const smaller = (a, b) => (a < b || Number.isNaN(a) ? a : b);

/** The dtype of a sum: that of the numbers, but whole ones are counted in int64. */
const summed = (x, dtype) => dtype ?? (isFloat(x.dtype) ? x.dtype : "int64");

export function sum(x, dims, keepdim, dtype) {
  const kind = summed(x, dtype);
  const compute = (values, start, length) => overRange(values, start, length, 0, add);
  return exact(reduced(cast(x, kind), axesOf(dims, x.shape.length), keepdim, kind, compute));
}

export function prod(x, dim, keepdim, dtype) {
  const kind = summed(x, dtype);
  const axes = axesOf(dim === null ? null : [dim], x.shape.length);
  const compute = (values, start, length) => overRange(values, start, length, 1, times);
  return exact(reduced(cast(x, kind), axes, keepdim, kind, compute));
}

export function mean(x, dims, keepdim, dtype) {
  const kind = dtype ?? x.dtype;
  if (!isFloat(kind)) {
    refuse(
      "RuntimeError",
      "mean(): could not infer output dtype. Input dtype must be either a floating point or " +
        `complex dtype. Got: ${scalarName(kind)}`,
    );
  }
  return reduced(cast(x, kind), axesOf(dims, x.shape.length), keepdim, kind, average);
}

function average(values, start, length) {
  return overRange(values, start, length, 0, add) / length;
}

export function variance(x, dims, correction, keepdim, root) {
  if (!isFloat(x.dtype)) {
    refuse("RuntimeError", "std and var only support floating point and complex dtypes");
  }
  return reduced(x, axesOf(dims, x.shape.length), keepdim, x.dtype, (values, start, length) => {
    const middle = average(values, start, length);
    const spread = overRange(values, start, length, 0, (t, v) => t + (v - middle) ** 2);
    const result = spread / Math.max(length - correction, 0);
    return root ? Math.sqrt(result) : result;
  });
}

export function norm(x, p, dims, keepdim) {
  const narrow = x.dtype === "float32" ? Math.fround : (value) => value; // squares overflow there
  if (isFloat(x.dtype) && dims !== null && dims.length > 2) {
    refuse("RuntimeError", `linalg.matrix_norm: dim must be a 2-tuple. Got ${dims.join(" ")}`);
  }
  if (!isFloat(x.dtype)) {
    refuse(
      "RuntimeError",
      "linalg.vector_norm: Expected a floating point or complex tensor as input. Got " +
        scalarName(x.dtype),
    );
  }
  return reduced(x, axesOf(dims, x.shape.length), keepdim, x.dtype, (values, start, length) => {
    if (p === 2) {
      return Math.sqrt(overRange(values, start, length, 0, (t, v) => t + narrow(v * v)));
    }
    if (p === Infinity)
      return overRange(values, start, length, 0, (t, v) => larger(t, Math.abs(v)));
    if (p === 0) return overRange(values, start, length, 0, (t, v) => t + (v !== 0));
    if (p === 1) return overRange(values, start, length, 0, (t, v) => t + Math.abs(v));
    return overRange(values, start, length, 0, (t, v) => t + Math.abs(v) ** p) ** (1 / p);
  });
}

export const every = (x, dims, keepdim) => told(x, dims, keepdim, 1, (t, v) => t && v !== 0);
export const some = (x, dims, keepdim) => told(x, dims, keepdim, 0, (t, v) => t || v !== 0);

function told(x, dims, keepdim, first, join) {
  const compute = (values, start, length) => overRange(values, start, length, first, join);
  const dtype = x.dtype === "uint8" ? "uint8" : "bool";
  return reduced(x, axesOf(dims, x.shape.length), keepdim, dtype, compute);
}

export function countNonzero(x, dims) {
  const count = (values, start, length) =>
    overRange(values, start, length, 0, (t, v) => t + (v !== 0));
  return reduced(x, axesOf(dims, x.shape.length), false, "int64", count);
}

export function extreme(x, dims, keepdim, lowest) {
  const name = lowest ? "amin" : "amax";
  const axes = axesOf(dims, x.shape.length);
  const blank = axes.find((axis) => x.shape[axis] === 0);
  if (x.size === 0 && blank !== undefined) {
    refuse(
      dims === null || dims.length === 0 ? "RuntimeError" : "IndexError",
      dims === null || dims.length === 0
        ? `${name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the ` +
            "reduction dim with the 'dim' argument."
        : `${name}(): Expected reduction dim ${dims[axes.indexOf(blank)]} to have non-zero size.`,
    );
  }
  const join = lowest ? smaller : larger;
  return reduced(x, axes, keepdim, x.dtype, (values, start, length) =>
    overRange(values, start + 1, length - 1, values[start], join),
  );
}

function bestIndex(values, start, length, lowest) {
  let best = start;
  for (let i = start; i < start + length; i++) {
    if (Number.isNaN(values[i])) return i - start;
    if (lowest ? values[i] < values[best] : values[i] > values[best]) best = i;
  }
  return best - start;
}

export function argExtreme(x, dim, keepdim, lowest) {
  const name = lowest ? "argmin" : "argmax";
  if (x.dtype === "bool") refuse("RuntimeError", `${name}(): does not support bool input`);
  const axes = dim === null ? range(x.shape.length) : axesOf([dim], x.shape.length);
  if (axes.some((axis) => x.shape[axis] === 0)) {
    refuse(
      "IndexError",
      `${name}(): Expected reduction dim ${dim === null ? "to be specified for input.numel() == 0." : `${axes[0]} to have non-zero size.`}`,
    );
  }
  return reduced(x, axes, keepdim, "int64", (...row) => bestIndex(...row, lowest));
}

/** The largest numbers along an axis, and where they stand. */
export function extremeWithIndex(x, dim, keepdim, lowest) {
  const axes = axesOf([dim], x.shape.length);
  if (axes.some((axis) => x.shape[axis] === 0)) {
    const name = lowest ? "min" : "max";
    refuse("IndexError", `${name}(): Expected reduction dim ${axes[0]} to have non-zero size.`);
  }
  const index = reduced(x, axes, keepdim, "int64", (...row) => bestIndex(...row, lowest));
  const best = reduced(
    x,
    axes,
    keepdim,
    x.dtype,
    (values, start, length) => values[start + bestIndex(values, start, length, lowest)],
  );
  return [best, index];
}

export function logSumExp(x, dims, keepdim) {
  const whole = isFloat(x.dtype) ? x : cast(x, "float32");
  const axes = axesOf(dims, x.shape.length);
  return reduced(whole, axes, keepdim, whole.dtype, (values, start, length) => {
    const top = overRange(values, start, length, -Infinity, larger);
    if (!Number.isFinite(top)) return top;
    return top + Math.log(overRange(values, start, length, 0, (t, v) => t + Math.exp(v - top)));
  });
}

/** The same shape; `fill(source, target, start, length)` writes each row along an axis. */
function alongAxis(x, dim, dtype, fill, size = null) {
  const axis = axisOf(dim, x.shape.length);
  if (x.shape.length === 0) {
    const made = empty([], dtype);
    fill(flat(x), made.data, 0, 1, 0);
    return made;
  }
  const { moved, order } = movedLast(x, [axis]);
  const source = flat(moved);
  const length = x.shape[axis];
  const shape = [...moved.shape];
  shape[shape.length - 1] = size ?? length;
  const made = empty(shape, dtype);
  const rows = product(shape.slice(0, -1));
  for (let row = 0; row < rows; row++) {
    fill(source, made.data, row * length, length, row * (size ?? length));
  }
  const back = range(order.length).map((place) => order.indexOf(place));
  const pick = (list) => back.map((place) => list[place]);
  return contiguous(made.view(pick(made.shape), pick(made.strides)));
}

export function softmax(x, dim, dtype, logarithm) {
  const source = dtype ? cast(x, dtype) : x;
  const axis = axisOf(dim, x.shape.length);
  if (!isFloat(source.dtype) && source.size > 0) {
    const log = logarithm ? "log_" : "";
    const last = axis >= x.shape.length - 1 ? `${log}softmax_lastdim_kernel_impl` : `${log}softmax`;
    const kernel = last.endsWith("impl") ? last : `${log}softmax_kernel_impl`;
    refuse("NotImplementedError", `"${kernel}" not implemented for '${scalarName(source.dtype)}'`);
  }
  return alongAxis(source, dim, source.dtype, (values, made, start, length) => {
    const top = overRange(values, start, length, -Infinity, larger);
    let total = 0;
    for (let i = start; i < start + length; i++) total += Math.exp(values[i] - top);
    const share = Math.log(total);
    for (let i = start; i < start + length; i++) {
      const above = values[i] - top;
      made[i] = logarithm ? above - share : Math.exp(above) / total;
    }
  });
}

export function cumulative(x, dim, dtype, product_) {
  const kind = summed(x, dtype);
  const made = alongAxis(cast(x, kind), dim, kind, (values, target, start, length) => {
    let total = product_ ? 1 : 0;
    for (let i = start; i < start + length; i++) {
      total = product_ ? total * values[i] : total + values[i];
      target[i] = total;
    }
  });
  return exact(made);
}

/** Running largest (or lowest) numbers, and where they stand. */
export function cumulativeExtreme(x, dim, lowest) {
  const run = (keep) => (values, target, start, length) => {
    let best = start;
    for (let i = start; i < start + length; i++) {
      const better = lowest ? values[i] <= values[best] : values[i] >= values[best];
      if (better || (Number.isNaN(values[i]) && !Number.isNaN(values[best]))) best = i;
      if (Number.isNaN(values[i])) best = i;
      target[i] = keep(values, best, start);
    }
  };
  return [
    alongAxis(
      x,
      dim,
      x.dtype,
      run((values, best) => values[best]),
    ),
    alongAxis(
      x,
      dim,
      "int64",
      run((_, best, start) => best - start),
    ),
  ];
}

/** Places along a row in the order of their numbers; NaN counts as the largest, ties keep theirs. */
function ordered(values, start, length, descending) {
  const key = (i) => (Number.isNaN(values[start + i]) ? Infinity : values[start + i]);
  const nan = (i) => Number(Number.isNaN(values[start + i]));
  const sign = descending ? -1 : 1;
  return range(length).sort((i, j) => {
    const [a, b] = [key(i), key(j)];
    if (a !== b) return sign * (a < b ? -1 : 1);
    return sign * (nan(i) - nan(j)) || i - j;
  });
}

export function sort(x, dim, descending, most = null) {
  const axis = axisOf(dim, x.shape.length);
  const length = x.shape[axis] ?? 1;
  if (most !== null && (most < 0 || most > length)) {
    refuse("RuntimeError", "selected index k out of range");
  }
  const size = most ?? length;
  const write = (pick) => (values, target, start, count, at) => {
    const order = ordered(values, start, count, descending);
    for (let i = 0; i < size; i++) target[at + i] = pick(values, start, order[i]);
  };
  return [
    alongAxis(
      x,
      dim,
      x.dtype,
      write((values, start, i) => values[start + i]),
      size,
    ),
    alongAxis(
      x,
      dim,
      "int64",
      write((_, __, i) => i),
      size,
    ),
  ];
}

export function median(x, dim, keepdim) {
  const axes = dim === null ? range(x.shape.length) : axesOf([dim], x.shape.length);
  const place = (values, start, length) => {
    const nan = range(length).find((i) => Number.isNaN(values[start + i]));
    return nan ?? ordered(values, start, length, false)[Math.floor((length - 1) / 2)];
  };
  return [
    reduced(
      x,
      axes,
      keepdim,
      x.dtype,
      (values, start, n) => values[start + place(values, start, n)],
    ),
    reduced(x, axes, keepdim, "int64", place),
  ];
}

function checkIndex(index, name) {
  if (index.dtype !== "int64") {
    refuse("RuntimeError", `${name}(): Expected dtype int64 for index`);
  }
}

function checkBound(value, axis, size) {
  if (value < 0 || value >= size) {
    refuse(
      "RuntimeError",
      `index ${value} is out of bounds for dimension ${axis} with size ${size}`,
    );
  }
}

function checkFit(x, index, axis, name) {
  if (x.shape.length !== index.shape.length) {
    refuse(
      "RuntimeError",
      name === "gather"
        ? "Index tensor must have the same number of dimensions as input tensor"
        : "Index tensor must have the same number of dimensions as self tensor",
    );
  }
  index.shape.forEach((size, other) => {
    if (other !== axis && size > x.shape[other]) {
      const shapes = `[${index.shape.join(", ")}] to be no larger than self [${x.shape.join(", ")}]`;
      refuse(
        "RuntimeError",
        name === "gather"
          ? `Size does not match at dimension ${other} expected index ${shapes} apart from ` +
              `dimension ${axis}`
          : `Expected index ${shapes} apart from dimension ${axis}`,
      );
    }
  });
}

/** Call with the place in `x` (its contiguous data), for each number of an index. */
function visit(x, axis, index, call) {
  const values = flat(index);
  const whole = new Tensor(null, x.shape, x.dtype).strides;
  const at = new Array(index.shape.length).fill(0);
  for (let i = 0; i < values.length; i++) {
    checkBound(values[i], axis, x.shape[axis]);
    let place = 0;
    for (let k = 0; k < at.length; k++) place += (k === axis ? values[i] : at[k]) * whole[k];
    call(place, i);
    for (let k = at.length - 1; k >= 0 && ++at[k] === index.shape[k]; k--) at[k] = 0;
  }
}

export function gather(x, dim, index) {
  const axis = axisOf(dim, x.shape.length);
  checkIndex(index, "gather");
  checkFit(x, index, axis, "gather");
  const source = flat(x);
  const made = empty([...index.shape], x.dtype);
  visit(x, axis, index, (place, i) => (made.data[i] = source[place]));
  return made;
}

const inLine = (x) => new Tensor(flat(x), [x.size], x.dtype);

/** Gather by indices that broadcast with `x`; along an axis they count on beyond its end. */
export function takeAlong(x, indices, dim) {
  if (dim === null) return gather(inLine(x), 0, inLine(indices));
  const [own, other] = [x.shape.length, indices.shape.length];
  if (own !== other) {
    refuse(
      "RuntimeError",
      "torch.take_along_dim(): input and indices should have the same number of dimensions, " +
        `but got ${own} dimensions for input, and ${other} dimensions for indices`,
    );
  }
  if (indices.dtype !== "int64") {
    refuse(
      "RuntimeError",
      `torch.take_along_dim(): dtype of indices should be Long but got ${scalarName(indices.dtype)}`,
    );
  }
  const axis = axisOf(dim, own);
  const size = x.shape[axis];
  const common = broadcastShape(x.shape.with(axis, 1), indices.shape.with(axis, 1));
  const wide = expand(indices, common.with(axis, indices.shape[axis]));
  if (size === 0 && product(wide.shape)) refuse("RuntimeError", "ZeroDivisionError");
  const places = new Tensor(
    flat(wide).map((i) => ((i % size) + size) % size),
    wide.shape,
    "int64",
  );
  return gather(expand(x, common.with(axis, size)), axis, places);
}

export function scatter(x, dim, index, source, adds) {
  const axis = axisOf(dim, x.shape.length);
  checkIndex(index, "scatter");
  checkFit(x, index, axis, "scatter");
  const made = new Tensor(flat(x).slice(), [...x.shape], x.dtype);
  const single = source.shape.length === 0;
  if (!single && source.dtype !== x.dtype) {
    refuse("RuntimeError", "scatter(): Expected self.dtype to be equal to src.dtype");
  }
  if (!single) checkFit(source, index, -1, "scatter");
  const values = flat(cast(source, x.dtype));
  const strides = single ? [] : new Tensor(null, source.shape, x.dtype).strides;
  const at = new Array(index.shape.length).fill(0);
  visit(x, axis, index, (place) => {
    const value = single ? values[0] : values[at.reduce((sum, k, a) => sum + k * strides[a], 0)];
    made.data[place] = adds ? made.data[place] + value : value;
    for (let k = at.length - 1; k >= 0 && ++at[k] === index.shape[k]; k--) at[k] = 0;
  });
  return made;
}
