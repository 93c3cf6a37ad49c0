// Other shapes of the same numbers, and tensors made of tensors.

import {
  assign,
  axisOf,
  clone,
  contiguous,
  contiguousStrides,
  empty,
  expand,
  filled,
  listed,
  places,
  product,
  promoted,
  range,
  refuse,
} from "./tensors.js";

/** An axis of a tensor, counted from the front. */
export const axis = (dim, x) => axisOf(dim, x.shape.length);

/** A shape whose -1 is filled in. */
function inferred(shape, size) {
  const open = shape.filter((n) => n === -1).length;
  if (open > 1) refuse("RuntimeError", "only one dimension can be inferred");
  if (shape.some((n) => n < -1)) {
    refuse("RuntimeError", `invalid shape dimension ${shape.find((n) => n < -1)}`);
  }
  const known = product(shape.filter((n) => n !== -1));
  if (open && known === 0 && size === 0) {
    refuse(
      "RuntimeError",
      `cannot reshape tensor of 0 elements into shape ${listed(shape)} because the unspecified ` +
        "dimension size -1 can be any value and is ambiguous",
    );
  }
  if (open ? known === 0 || size % known !== 0 : known !== size) {
    refuse("RuntimeError", `shape '${listed(shape)}' is invalid for input of size ${size}`);
  }
  return shape.map((n) => (n === -1 ? size / known : n));
}

/** Strides under which a tensor's numbers take another shape without a copy; null if none do. */
function viewStrides(tensor, shape) {
  if (tensor.size === 0) return contiguousStrides(shape);
  const strides = new Array(shape.length);
  let axis = shape.length - 1;
  let chunk = 1;
  let taken = 1;
  let base = tensor.strides.at(-1) ?? 1;
  for (let old = tensor.shape.length - 1; old >= 0; old--) {
    chunk *= tensor.shape[old];
    const ends =
      old === 0 || (tensor.shape[old - 1] !== 1 && tensor.strides[old - 1] !== chunk * base);
    if (!ends) continue;
    while (axis >= 0 && (taken < chunk || shape[axis] === 1)) {
      strides[axis] = taken * base;
      taken *= shape[axis];
      axis--;
    }
    if (taken !== chunk) return null;
    if (old > 0) base = tensor.strides[old - 1];
    chunk = 1;
    taken = 1;
  }
  while (axis >= 0) strides[axis--] = 1;
  return strides;
}

export function view(x, sizes) {
  const shape = inferred(sizes, x.size);
  const strides = viewStrides(x, shape);
  if (!strides) {
    refuse(
      "RuntimeError",
      "view size is not compatible with input tensor's size and stride (at least one dimension " +
        "spans across two contiguous subspaces). Use .reshape(...) instead.",
    );
  }
  return x.view(shape, strides);
}

export function reshape(x, sizes) {
  const shape = inferred(sizes, x.size);
  const strides = viewStrides(x, shape);
  return strides ? x.view(shape, strides) : contiguous(x).view(shape, contiguousStrides(shape), 0);
}

export function flatten(x, first, last) {
  const count = x.shape.length;
  const [from, to] = [axisOf(first, count), axisOf(last, count)];
  if (count === 0) return reshape(x, [1]);
  if (from > to) {
    refuse("RuntimeError", "flatten() has invalid args: start_dim cannot come after end_dim");
  }
  const middle = product(x.shape.slice(from, to + 1));
  return reshape(x, [...x.shape.slice(0, from), middle, ...x.shape.slice(to + 1)]);
}

export function unflatten(x, dim, sizes) {
  const axis = axisOf(dim, x.shape.length);
  if (sizes.length === 0) refuse("RuntimeError", "unflatten: sizes must be non-empty");
  const known = product(sizes.filter((n) => n !== -1));
  const open = sizes.includes(-1);
  if (open ? x.shape[axis] % known !== 0 : known !== x.shape[axis]) {
    refuse(
      "RuntimeError",
      `unflatten: Provided sizes ${listed(sizes)} don't multiply up to the size of dim ${axis} ` +
        `(${x.shape[axis]}) in the input tensor`,
    );
  }
  const split = sizes.map((n) => (n === -1 ? x.shape[axis] / known : n));
  return view(x, [...x.shape.slice(0, axis), ...split, ...x.shape.slice(axis + 1)]);
}

export function permute(x, dims) {
  if (dims.length !== x.shape.length) {
    refuse(
      "RuntimeError",
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length " +
        `of the desired ordering of dimensions i.e. input.dim() = ${x.shape.length} is not equal ` +
        `to len(dims) = ${dims.length}`,
    );
  }
  const axes = dims.map((dim) => axisOf(dim, x.shape.length));
  if (new Set(axes).size < axes.length) {
    refuse("RuntimeError", "permute(): duplicate dims are not allowed.");
  }
  return x.view(
    axes.map((axis) => x.shape[axis]),
    axes.map((axis) => x.strides[axis]),
  );
}

export function transpose(x, one, other) {
  const [a, b] = [one, other].map((dim) => axisOf(dim, x.shape.length));
  if (x.shape.length === 0) return x;
  const order = range(x.shape.length);
  [order[a], order[b]] = [b, a];
  return permute(x, order);
}

export function matrixTranspose(x) {
  if (x.shape.length === 0) return x;
  if (x.shape.length < 2) {
    refuse(
      "RuntimeError",
      "tensor.mT is only supported on matrices or batches of matrices. Got " +
        `${x.shape.length}-D tensor.`,
    );
  }
  return transpose(x, -2, -1);
}

export function plainTranspose(x, name) {
  if (x.shape.length > 2 && name === "t") {
    refuse(
      "RuntimeError",
      `t() expects a tensor with <= 2 dimensions, but self is ${x.shape.length}D`,
    );
  }
  return permute(x, range(x.shape.length).reverse());
}

export function moveAxes(x, from, to) {
  if (from.length !== to.length) {
    refuse(
      "RuntimeError",
      `movedim: Invalid source or destination dims: source (${listed(from)} dims) should contain ` +
        `the same number of dims as destination (${listed(to)} dims)`,
    );
  }
  const [source, destination] = [from, to].map((dims, i) => {
    const axes = dims.map((dim) => axisOf(dim, x.shape.length));
    if (new Set(axes).size < axes.length) {
      const name = ["source", "destination"][i];
      refuse("RuntimeError", `movedim: repeated dim in \`${name}\` (${listed(dims)})`);
    }
    return axes;
  });
  const others = range(x.shape.length).filter((axis) => !source.includes(axis));
  const order = range(x.shape.length).map((place) => {
    const moved = destination.indexOf(place);
    return moved < 0 ? others.shift() : source[moved];
  });
  return permute(x, order);
}

export function unsqueeze(x, dim) {
  const axis = axisOf(dim, x.shape.length, 1);
  const step = (x.shape[axis] ?? 1) * (x.strides[axis] ?? 1);
  return x.view(x.shape.toSpliced(axis, 0, 1), x.strides.toSpliced(axis, 0, step));
}

export function squeeze(x, dims) {
  const axes = dims === null ? range(x.shape.length) : dims.map((d) => axisOf(d, x.shape.length));
  const stays = (_, axis) => !(axes.includes(axis) && x.shape[axis] === 1);
  return x.view(x.shape.filter(stays), x.strides.filter(stays));
}

export function repeat(x, times) {
  if (times.length < x.shape.length) {
    refuse(
      "RuntimeError",
      "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
    );
  }
  const shape = [...new Array(times.length - x.shape.length).fill(1), ...x.shape];
  const spread = expand(
    reshape(
      x,
      shape.flatMap((n) => [1, n]),
    ),
    shape.flatMap((n, i) => [times[i], n]),
  );
  return reshape(
    contiguous(spread),
    shape.map((n, i) => n * times[i]),
  );
}

export function narrow(x, dim, start, length) {
  const axis = axisOf(dim, x.shape.length);
  const first = start < 0 ? start + x.shape[axis] : start;
  if (first < 0 || length < 0 || first + length > x.shape[axis]) {
    refuse(
      "RuntimeError",
      `start (${start}) + length (${length}) exceeds dimension size (${x.shape[axis]}).`,
    );
  }
  return sliced(x, axis, first, first + length, 1);
}

/** Pieces of an axis, of given sizes. */
export function split(x, sizes, dim) {
  const axis = axisOf(dim, x.shape.length);
  const length = x.shape[axis];
  let parts = sizes;
  if (!Array.isArray(sizes)) {
    if (sizes < 1)
      refuse(
        "RuntimeError",
        `split expects split_size be non-negative, but got split_size=${sizes}`,
      );
    const count = Math.max(Math.ceil(length / sizes), 1);
    parts = range(count).map((i) => Math.min(sizes, length - i * sizes));
  } else if (sizes.reduce((a, b) => a + b, 0) !== length) {
    refuse(
      "RuntimeError",
      `split_with_sizes expects split_sizes to sum exactly to ${length} (input tensor's size at ` +
        `dimension ${axis - 0 === dim ? dim : dim}), but got split_sizes=${listed(sizes)}`,
    );
  }
  let start = 0;
  return parts.map((size) => sliced(x, axis, start, (start += size), 1));
}

export function chunk(x, count, dim) {
  if (x.shape.length === 0) refuse("RuntimeError", "chunk expects at least a 1-dimensional tensor");
  if (count < 1) {
    refuse("RuntimeError", `chunk expects \`chunks\` to be greater than 0, got: ${count}`);
  }
  const axis = axisOf(dim, x.shape.length);
  if (x.shape[axis] === 0) return range(count).map(() => x);
  return split(x, Math.ceil(x.shape[axis] / count), axis);
}

export function unbind(x, dim) {
  if (x.shape.length === 0) {
    refuse("IndexError", "Dimension specified as 0 but tensor has no dimensions");
  }
  const axis = axisOf(dim, x.shape.length);
  return range(x.shape[axis]).map((i) => selected(x, axis, i));
}

export function cat(tensors, dim) {
  if (tensors.length === 0) {
    refuse("ValueError", "torch.cat(): expected a non-empty list of Tensors");
  }
  const blank = tensors.findIndex((tensor) => tensor.shape.length === 0);
  if (blank >= 0) {
    refuse("RuntimeError", `zero-dimensional tensor (at position ${blank}) cannot be concatenated`);
  }
  const used = tensors.filter(({ shape }) => !(shape.length === 1 && shape[0] === 0));
  const dtype = tensors.map((tensor) => tensor.dtype).reduce(promoted);
  if (used.length === 0) return empty([0], dtype);
  const axis = axisOf(dim, used[0].shape.length);
  used.forEach(({ shape }, i) => {
    if (shape.length !== used[0].shape.length) {
      refuse(
        "RuntimeError",
        `Tensors must have same number of dimensions: got ${used[0].shape.length} and ${shape.length}`,
      );
    }
    shape.forEach((size, other) => {
      if (other !== axis && size !== used[0].shape[other]) {
        refuse(
          "RuntimeError",
          `Sizes of tensors must match except in dimension ${axis}. Expected size ` +
            `${used[0].shape[other]} but got size ${size} for tensor number ` +
            `${tensors.indexOf(used[i])} in the list.`,
        );
      }
    });
  });
  const shape = [...used[0].shape];
  shape[axis] = used.reduce((sum, tensor) => sum + tensor.shape[axis], 0);
  const made = empty(shape, dtype);
  let start = 0;
  for (const tensor of used) {
    assign(sliced(made, axis, start, (start += tensor.shape[axis]), 1), tensor);
  }
  return made;
}

/** Put tensors beside each other, or above each other, as torch.hstack and torch.vstack do. */
export function stacked(name, axis, tensors) {
  if (tensors.length === 0) refuse("RuntimeError", `${name} expects a non-empty TensorList`);
  const rows = tensors.map((x) => (x.shape.length === 0 ? unsqueeze(x, 0) : x));
  if (axis === 1) return cat(rows, rows[0].shape.length === 1 ? 0 : 1);
  return cat(
    rows.map((x) => (x.shape.length === 1 ? unsqueeze(x, 0) : x)),
    0,
  );
}

export function stack(tensors, dim) {
  if (tensors.length === 0) refuse("RuntimeError", "stack expects a non-empty TensorList");
  const first = tensors[0].shape;
  tensors.forEach(({ shape }, i) => {
    if (listed(shape) !== listed(first)) {
      refuse(
        "RuntimeError",
        `stack expects each tensor to be equal size, but got ${listed(first)} at entry 0 and ` +
          `${listed(shape)} at entry ${i}`,
      );
    }
  });
  const axis = axisOf(dim, first.length, 1);
  return cat(
    tensors.map((tensor) => unsqueeze(tensor, axis)),
    axis,
  );
}

export function flip(x, dims) {
  const axes = dims.map((dim) => axisOf(dim, x.shape.length));
  if (new Set(axes).size < axes.length) {
    const twice = axes.find((axis, i) => axes.indexOf(axis) !== i);
    refuse("RuntimeError", `dim ${twice} appears multiple times in the list of dims`);
  }
  if (x.size === 0 || x.shape.length === 0) return clone(x);
  const offset = axes.reduce((at, axis) => at + (x.shape[axis] - 1) * x.strides[axis], x.offset);
  const strides = x.strides.map((step, axis) => (axes.includes(axis) ? -step : step));
  const turned = x.view(x.shape, strides, offset);
  const values = Array.from(places(turned), (place) => x.data[place]);
  const made = empty([...x.shape], x.dtype);
  made.data.set(values);
  return made;
}

/** The numbers on one side of a diagonal; the others become 0. */
export function triangle(x, diagonal, upper) {
  if (x.shape.length < 2) {
    refuse(
      "RuntimeError",
      `${upper ? "triu" : "tril"}: input tensor must have at least 2 dimensions`,
    );
  }
  const made = clone(x);
  const [rows, columns] = x.shape.slice(-2);
  for (let i = 0; i < made.data.length; i++) {
    const gap = (i % columns) - (Math.floor(i / columns) % rows);
    if (upper ? gap < diagonal : gap > diagonal) made.data[i] = 0;
  }
  return made;
}

export function diagonal(x, offset, one, other) {
  const [a, b] = [one, other].map((dim) => axisOf(dim, x.shape.length));
  if (a === b) {
    refuse("RuntimeError", `diagonal dimensions cannot be identical ${one}, ${other}`);
  }
  const length = Math.max(
    Math.min(x.shape[a] - Math.max(-offset, 0), x.shape[b] - Math.max(offset, 0)),
    0,
  );
  const stays = (_, axis) => axis !== a && axis !== b;
  const start = offset >= 0 ? offset * x.strides[b] : -offset * x.strides[a];
  return x.view(
    [...x.shape.filter(stays), length],
    [...x.strides.filter(stays), x.strides[a] + x.strides[b]],
    length ? x.offset + start : x.offset,
  );
}

/** A square with a vector on its diagonal, or the diagonal of a matrix. */
export function diag(x, offset) {
  if (x.shape.length === 2) return clone(diagonal(x, offset, 0, 1));
  if (x.shape.length !== 1) {
    refuse("RuntimeError", `diag(): Supports 1D or 2D tensors. Got ${x.shape.length}D`);
  }
  return diagEmbed(x, offset);
}

export function diagEmbed(x, offset) {
  const size = x.shape.at(-1) + Math.abs(offset);
  const made = filled([...x.shape.slice(0, -1), size, size], x.dtype, 0);
  assign(diagonal(made, offset, -2, -1), x);
  return made;
}

export function selected(x, axis, index) {
  const size = x.shape[axis];
  if (index < -size || index >= size) {
    refuse("IndexError", `index ${index} is out of bounds for dimension ${axis} with size ${size}`);
  }
  const at = index < 0 ? index + size : index;
  return x.view(
    x.shape.toSpliced(axis, 1),
    x.strides.toSpliced(axis, 1),
    x.offset + at * x.strides[axis],
  );
}

export function sliced(x, axis, start, stop, step) {
  const size = x.shape[axis];
  const bound = (at) => Math.min(Math.max(at < 0 ? at + size : at, 0), size);
  const from = bound(start ?? 0);
  const length = Math.max(Math.ceil((bound(stop ?? size) - from) / step), 0);
  return x.view(
    x.shape.with(axis, length),
    x.strides.with(axis, x.strides[axis] * step),
    length ? x.offset + from * x.strides[axis] : x.offset,
  );
}
