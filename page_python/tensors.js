// Tensors as PyTorch has them: numbers in a typed array, a shape, and strides, so that views share
// their numbers. Sizes are small here: what is not contiguous is copied before anything is computed.

/** An error as PyTorch raises it; the door hands it to Python. */
export class Refusal extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

export function refuse(kind, message) {
  throw new Refusal(kind, message);
}

// int64 is kept in doubles: whole numbers beyond 2 ** 53 are refused, never rounded.
export const DTYPES = {
  bool: { array: Uint8Array, rank: 0, name: "Bool" },
  uint8: { array: Uint8Array, rank: 1, name: "Byte" },
  int8: { array: Int8Array, rank: 1, name: "Char" },
  int16: { array: Int16Array, rank: 1, name: "Short" },
  int32: { array: Int32Array, rank: 1, name: "Int" },
  int64: { array: Float64Array, rank: 1, name: "Long" },
  float32: { array: Float32Array, rank: 2, name: "Float" },
  float64: { array: Float64Array, rank: 2, name: "Double" },
};
const ORDER = Object.keys(DTYPES);
const LARGEST_STORE = 64 * 2 ** 20; // numbers in one tensor

export const rank = (dtype) => DTYPES[dtype].rank;
export const isFloat = (dtype) => rank(dtype) === 2;
export const scalarName = (dtype) => DTYPES[dtype].name;
export const product = (sizes) => sizes.reduce((all, size) => all * size, 1);
export const listed = (sizes) => `[${sizes.join(", ")}]`;
export const range = (count) => Array.from({ length: count }, (_, i) => i);

export function contiguousStrides(shape) {
  const strides = new Array(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= Math.max(shape[axis], 1);
  }
  return strides;
}

export class Tensor {
  constructor(data, shape, dtype, strides = contiguousStrides(shape), offset = 0) {
    Object.assign(this, { data, shape, dtype, strides, offset });
  }

  get size() {
    return product(this.shape);
  }

  /** The same numbers under another shape. */
  view(shape, strides, offset = this.offset) {
    return new Tensor(this.data, shape, this.dtype, strides, offset);
  }

  get isContiguous() {
    const whole = contiguousStrides(this.shape);
    return (
      this.size === 0 ||
      this.shape.every((size, axis) => size === 1 || this.strides[axis] === whole[axis])
    );
  }
}

/** An array for so many numbers, of which the page has a bounded amount. */
export function store(size, dtype) {
  if (size > LARGEST_STORE) {
    refuse("MemoryError", `a tensor of ${size} numbers is too large for this page`);
  }
  return new DTYPES[dtype].array(size);
}

export function empty(shape, dtype) {
  const negative = shape.find((size) => size < 0);
  if (negative !== undefined) {
    const sizes = `${negative}: [${shape.join(", ")}]`;
    refuse("RuntimeError", `Trying to create tensor with negative dimension ${sizes}`);
  }
  return new Tensor(store(product(shape), dtype), shape, dtype);
}

export function filled(shape, dtype, value) {
  const made = empty(shape, dtype);
  made.data.fill(value);
  return made;
}

export const scalar = (value, dtype) => filled([], dtype, value);

/** Where in the data each number of a tensor stands, row by row. */
export function places(tensor) {
  const { shape, strides, size } = tensor;
  const offsets = new Int32Array(size);
  const index = new Array(shape.length).fill(0);
  let at = tensor.offset;
  for (let i = 0; i < size; i++) {
    offsets[i] = at;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += strides[axis];
      if (++index[axis] < shape[axis]) break;
      at -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return offsets;
}

/** The numbers of a tensor, row by row: its own array where that holds nothing else. */
export function flat(tensor) {
  const { data, offset, size } = tensor;
  if (tensor.isContiguous) {
    return offset === 0 && data.length === size ? data : data.subarray(offset, offset + size);
  }
  const found = places(tensor);
  const copy = store(size, tensor.dtype);
  for (let i = 0; i < size; i++) copy[i] = data[found[i]];
  return copy;
}

export const contiguous = (tensor) =>
  tensor.isContiguous ? tensor : new Tensor(flat(tensor), tensor.shape, tensor.dtype);

export const clone = (tensor) => new Tensor(flat(tensor).slice(), [...tensor.shape], tensor.dtype);

/** Numbers as another dtype holds them. */
export function converted(data, from, to) {
  if (from === to) return data;
  const made = store(data.length, to);
  if (to === "bool") {
    for (let i = 0; i < data.length; i++) made[i] = data[i] !== 0 ? 1 : 0;
  } else if (isFloat(from) && !isFloat(to)) {
    for (let i = 0; i < data.length; i++) {
      const whole = Math.trunc(data[i]);
      made[i] = Number.isFinite(whole) ? whole + 0 : to === "int32" ? -(2 ** 31) : -(2 ** 63);
    }
  } else made.set(data);
  return made;
}

export function cast(tensor, dtype) {
  if (tensor.dtype === dtype) return tensor;
  return new Tensor(converted(flat(tensor), tensor.dtype, dtype), [...tensor.shape], dtype);
}

/** Refuse whole numbers that a double does not hold exactly. */
export function exact(tensor) {
  if (tensor.dtype === "int64") {
    for (const value of tensor.data) {
      if (!Number.isSafeInteger(value) && value !== -(2 ** 63)) {
        refuse("OverflowError", "this page counts whole numbers up to 2**53; the notebook further");
      }
    }
  }
  return tensor;
}

/** An axis counted from the front. */
export function axisOf(dim, count, extra = 0) {
  const axes = Math.max(count + extra, 1);
  if (dim < -axes || dim >= axes) {
    refuse(
      "IndexError",
      `Dimension out of range (expected to be in range of [${-axes}, ${axes - 1}], but got ${dim})`,
    );
  }
  return dim < 0 ? dim + axes : dim;
}

export function axesOf(dims, count) {
  if (dims === null || dims.length === 0) return range(count);
  const axes = dims.map((dim) => axisOf(dim, count));
  for (const axis of axes) {
    if (axes.indexOf(axis) !== axes.lastIndexOf(axis)) {
      refuse("RuntimeError", `dim ${axis} appears multiple times in the list of dims`);
    }
  }
  return count === 0 ? [] : axes;
}

export function broadcastShape(...shapes) {
  return shapes.reduce((a, b) => {
    const length = Math.max(a.length, b.length);
    const shape = new Array(length);
    for (let back = 1; back <= length; back++) {
      const one = a[a.length - back] ?? 1;
      const other = b[b.length - back] ?? 1;
      if (one !== other && one !== 1 && other !== 1) {
        refuse(
          "RuntimeError",
          `The size of tensor a (${one}) must match the size of tensor b (${other}) at ` +
            `non-singleton dimension ${length - back}`,
        );
      }
      shape[length - back] = one === 1 ? other : one;
    }
    return shape;
  });
}

export function expand(tensor, shape) {
  const extra = shape.length - tensor.shape.length;
  const sizes = `Target sizes: ${listed(shape)}.  Tensor sizes: ${listed(tensor.shape)}`;
  if (extra < 0) {
    refuse(
      "RuntimeError",
      `expand(torch.${scalarName(tensor.dtype)}Tensor{${listed(tensor.shape)}}, ` +
        `size=${listed(shape)}): the number of sizes provided (${shape.length}) must be greater ` +
        `or equal to the number of dimensions in the tensor (${tensor.shape.length})`,
    );
  }
  const strides = new Array(shape.length);
  const result = new Array(shape.length);
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const own = axis < extra ? 1 : tensor.shape[axis - extra];
    let size = shape[axis];
    if (size === -1) {
      if (axis < extra) {
        refuse(
          "RuntimeError",
          `The expanded size of the tensor (-1) isn't allowed in a leading, non-existing ` +
            `dimension ${axis}`,
        );
      }
      size = own;
    }
    if (own !== size && own !== 1) {
      refuse(
        "RuntimeError",
        `The expanded size of the tensor (${size}) must match the existing size (${own}) at ` +
          `non-singleton dimension ${axis}.  ${sizes}`,
      );
    }
    strides[axis] = axis < extra || (own === 1 && size !== 1) ? 0 : tensor.strides[axis - extra];
    result[axis] = size;
  }
  return tensor.view(result, strides);
}

export function promoted(a, b) {
  if (a === b) return a;
  const [low, high] = ORDER.indexOf(a) < ORDER.indexOf(b) ? [a, b] : [b, a];
  return low === "uint8" && high === "int8" ? "int16" : high;
}

/** The dtype of a result: tensors with axes count first, then single numbers, then Python's. */
export function resultType(operands) {
  const levels = [null, null, null];
  for (const { tensor, wrapped } of operands) {
    const level = wrapped ? 2 : tensor.shape.length === 0 ? 1 : 0;
    // A number of Python's has a double's digits, and asks for no more than the default dtype.
    const dtype = wrapped && tensor.dtype === "float64" ? "float32" : tensor.dtype;
    levels[level] = levels[level] === null ? dtype : promoted(levels[level], dtype);
  }
  return levels.reduce((higher, lower) => {
    if (higher === null || lower === null) return higher ?? lower;
    if (isFloat(higher)) return higher;
    return higher === "bool" || isFloat(lower) ? promoted(higher, lower) : higher;
  });
}

/** Write numbers into the places of a tensor, in place. */
export function assign(target, source) {
  const values = flat(expand(source, target.shape));
  const cells = places(target);
  const made = converted(values, source.dtype, target.dtype);
  const copy = made === target.data || made.buffer === target.data.buffer ? made.slice() : made;
  for (let i = 0; i < cells.length; i++) target.data[cells[i]] = copy[i];
  return target;
}
