// Picking numbers by index, and writing to what is picked.

import {
  assign,
  axisOf,
  broadcastShape,
  cast,
  clone,
  contiguousStrides,
  empty,
  expand,
  flat,
  listed,
  places,
  product,
  range,
  refuse,
  scalarName,
} from "./tensors.js";
import { flatten, reshape, selected, sliced, unbind, unsqueeze } from "./shapes.js";

export const vector = (numbers, dtype = "int64") => {
  const made = empty([numbers.length], dtype);
  made.data.set(numbers);
  return made;
};

export function indexSelect(x, dim, index) {
  const axis = axisOf(dim, x.shape.length);
  if (index.shape.length > 1) {
    refuse("IndexError", "index_select(): Index is supposed to be a vector");
  }
  for (const value of flat(index)) {
    if (value < 0 || value >= x.shape[axis]) {
      refuse("IndexError", "index out of range in self");
    }
  }
  const index_ = index.shape.length ? index : reshape(index, [1]);
  return taken(x, new Array(axis).fill(null).concat([index_]));
}

export function repeatInterleave(x, times, dim) {
  const source = dim === null ? flatten(x, 0, -1) : x;
  const axis = axisOf(dim ?? 0, source.shape.length);
  const counts = flat(times);
  const length = source.shape[axis] ?? 1;
  if (counts.length !== 1 && counts.length !== length) {
    refuse("RuntimeError", "repeats must have the same size as input along dim");
  }
  if (counts.some((n) => n < 0)) refuse("RuntimeError", "repeats can not be negative");
  const picked = range(length).flatMap((i) =>
    new Array(counts.length === 1 ? counts[0] : counts[i]).fill(i),
  );
  return indexSelect(source, axis, vector(picked));
}

export function roll(x, shifts, dims) {
  if (dims.length === 0) {
    if (shifts.length !== 1)
      refuse(
        "RuntimeError",
        "shifts and dimensions must align. shifts: " + `${shifts.length}, dims:0`,
      );
    return reshape(roll(reshape(x, [-1]), shifts, [0]), x.shape);
  }
  if (shifts.length !== dims.length) {
    refuse(
      "RuntimeError",
      `shifts and dimensions must align. shifts: ${shifts.length}, dims:${dims.length}`,
    );
  }
  return dims.reduce((rolled, dim, i) => {
    const axis = axisOf(dim, x.shape.length);
    const size = x.shape[axis];
    if (size === 0) return clone(rolled);
    const order = range(size).map((at) => (((at - shifts[i]) % size) + size) % size);
    return indexSelect(rolled, axis, vector(order));
  }, x);
}

/**
 * Read an index: numbers, null for a new axis, and parts that the door has made. What is no tensor
 * makes a view, the tensors are kept.
 */
function indexed(x, parts) {
  const uses = (part) => {
    if (part === null || part.rest) return 0;
    return part.tensor && ["bool", "uint8"].includes(part.tensor.dtype)
      ? part.tensor.shape.length
      : 1;
  };
  const count = parts.reduce((sum, part) => sum + uses(part), 0);
  if (count > x.shape.length) {
    if (x.shape.length === 0 && parts.length === 1 && typeof parts[0] === "number") {
      refuse(
        "IndexError",
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in " +
          "C++ to convert a 0-dim tensor to a number",
      );
    }
    refuse("IndexError", `too many indices for tensor of dimension ${x.shape.length}`);
  }
  let result = x;
  let axis = 0;
  let own = 0; // the axis of `x` itself, for messages
  const tensors = [];
  for (const part of parts) {
    if (part === null) result = unsqueeze(result, axis++);
    else if (part.rest) {
      axis += x.shape.length - count;
      own += x.shape.length - count;
    } else if (typeof part === "number") {
      const size = x.shape[own];
      if (part < -size || part >= size) {
        refuse(
          "IndexError",
          `index ${part} is out of bounds for dimension ${own} with size ${size}`,
        );
      }
      result = selected(result, axis, part);
      own++;
    } else if (!part.tensor) {
      const { start, stop, step } = part;
      if (step !== null && step <= 0) refuse("ValueError", "step must be greater than zero");
      result = sliced(result, axis++, start, stop, step ?? 1);
      own++;
    } else {
      for (const index of whereTrue(part.tensor, result, axis)) {
        tensors[axis++] = index;
        own++;
      }
    }
  }
  return { result, tensors };
}

/** A tensor of whole numbers as it is; one of booleans as the places where it is true. */
function whereTrue(index, x, axis) {
  if (!["bool", "uint8"].includes(index.dtype)) {
    if (!["int64", "int32"].includes(index.dtype)) {
      refuse("IndexError", "tensors used as indices must be long, int, byte or bool tensors");
    }
    return [index];
  }
  index.shape.forEach((size, i) => {
    if (size !== x.shape[axis + i]) {
      refuse(
        "IndexError",
        `The shape of the mask ${listed(index.shape)} at index ${i} does not match the shape of ` +
          `the indexed tensor ${listed(x.shape)} at index ${axis + i}`,
      );
    }
  });
  return unbind(nonzero(index), 1);
}

export function nonzero(x) {
  const values = flat(x);
  const strides = contiguousStrides(x.shape);
  const nonzeroPlaces = range(values.length).filter((i) => values[i] !== 0);
  const made = empty([nonzeroPlaces.length, x.shape.length], "int64");
  nonzeroPlaces.forEach((place, row) =>
    x.shape.forEach((size, axis) => {
      made.data[row * x.shape.length + axis] = Math.floor(place / strides[axis]) % size;
    }),
  );
  return made;
}

/** The places in the data that tensors as indices pick, and the shape that they make. */
function pickedPlaces(x, tensors) {
  const axes = range(x.shape.length).filter((axis) => tensors[axis]);
  let shape;
  try {
    shape = broadcastShape(...axes.map((axis) => tensors[axis].shape));
  } catch {
    const shapes = axes.map((axis) => listed(tensors[axis].shape)).join(", ");
    refuse(
      "IndexError",
      `shape mismatch: indexing tensors could not be broadcast together with shapes ${shapes}`,
    );
  }
  const count = product(shape);
  const picked = new Int32Array(count);
  axes.forEach((axis, order) => {
    const size = x.shape[axis];
    const values = flat(expand(tensors[axis], shape));
    if (size === 0 && count > 0) {
      refuse("IndexError", "index is out of bounds for dimension with size 0");
    }
    for (let i = 0; i < count; i++) {
      if (x.size > 0 && (values[i] < -size || values[i] >= size)) {
        refuse(
          "IndexError",
          `index ${values[i]} is out of bounds for dimension ${order} with size ${size}`,
        );
      }
      picked[i] += (values[i] < 0 ? values[i] + size : values[i]) * x.strides[axis];
    }
  });
  const adjacent = axes.at(-1) - axes[0] === axes.length - 1;
  const rest = range(x.shape.length).filter((axis) => !tensors[axis]);
  const before = adjacent ? rest.filter((axis) => axis < axes[0]) : [];
  const after = rest.filter((axis) => !before.includes(axis));
  const at = (some) =>
    x.view(
      some.map((a) => x.shape[a]),
      some.map((a) => x.strides[a]),
      0,
    );
  const sizes = (some) => some.map((axis) => x.shape[axis]);
  const [outer, inner] = [places(at(before)), places(at(after))];
  const found = new Int32Array(outer.length * count * inner.length);
  let i = 0;
  for (const one of outer) {
    for (const pick of picked) {
      for (const last of inner) found[i++] = x.offset + one + pick + last;
    }
  }
  return { found, shape: [...sizes(before), ...shape, ...sizes(after)] };
}

/** The numbers that tensors as indices pick. */
function taken(x, tensors) {
  const { found, shape } = pickedPlaces(x, tensors);
  const made = empty(shape, x.dtype);
  for (let i = 0; i < found.length; i++) made.data[i] = x.data[found[i]];
  return made;
}

export function getItem(x, parts) {
  const { result, tensors } = indexed(x, parts);
  return tensors.length ? taken(result, tensors) : result;
}

export function setItem(x, parts, source, wrapped) {
  const { result, tensors } = indexed(x, parts);
  if (!tensors.length) return assign(result, trimmed(source, result.shape));
  if (!wrapped && source.dtype !== x.dtype) {
    refuse(
      "RuntimeError",
      "Index put requires the source and destination dtypes match, got " +
        `${scalarName(x.dtype)} for the destination and ${scalarName(source.dtype)} for the source.`,
    );
  }
  const { found, shape } = pickedPlaces(result, tensors);
  let values;
  try {
    values = flat(cast(expand(trimmed(source, shape), shape), x.dtype)).slice();
  } catch {
    refuse(
      "RuntimeError",
      `shape mismatch: value tensor of shape ${listed(source.shape)} cannot be broadcast to ` +
        `indexing result of shape ${listed(shape)}`,
    );
  }
  for (let i = 0; i < found.length; i++) x.data[found[i]] = values[i];
  return x;
}

/** Leading axes of size 1 may be more than there is room for. */
function trimmed(source, shape) {
  let result = source;
  while (result.shape.length > shape.length && result.shape[0] === 1) {
    result = selected(result, 0, 0);
  }
  return result;
}

export const takenWhere = (x, mask) => {
  const shape = broadcastShape(mask.shape, x.shape);
  const values = flat(expand(x, shape));
  const open = flat(expand(mask, shape));
  const made = range(values.length).filter((i) => open[i]);
  return vector(
    made.map((i) => values[i]),
    x.dtype,
  );
};
