// Products of matrices.

import {
  Tensor,
  broadcastShape,
  cast,
  empty,
  exact,
  expand,
  flat,
  isFloat,
  product,
  range,
  refuse,
  resultType,
  scalarName,
} from "./tensors.js";

const C_NAMES = {
  Bool: "bool",
  Byte: "unsigned char",
  Char: "signed char",
  Short: "short",
  Int: "int",
  Long: "int64_t",
  Float: "float",
  Double: "double",
};
const cName = (dtype) => C_NAMES[scalarName(dtype)];

function refuseSizes(a, b) {
  const [left, right] = [a, b].map(({ shape }) => shape.length);
  if (left === 1 && right === 1) {
    refuse(
      "RuntimeError",
      `inconsistent tensor size, expected tensor [${a.shape[0]}] and src [${b.shape[0]}] to have ` +
        `the same number of elements, but got ${a.shape[0]} and ${b.shape[0]} elements respectively`,
    );
  }
  if (left === 2 && right === 1) {
    const [rows, columns] = a.shape;
    refuse(
      "RuntimeError",
      `size mismatch, got input (${rows}), mat (${rows}x${columns}), vec (${b.shape[0]})`,
    );
  }
  if (right <= 2) {
    const rows = left === 1 ? 1 : product(a.shape.slice(0, -1));
    const mat = `${rows}x${a.shape.at(-1)}`;
    refuse(
      "RuntimeError",
      right === 1
        ? `size mismatch, got input (${rows}), mat (${mat}), vec (${b.shape[0]})`
        : `mat1 and mat2 shapes cannot be multiplied (${mat} and ${b.shape.join("x")})`,
    );
  }
  const batch = product(broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2)));
  refuse(
    "RuntimeError",
    `Expected size for first two dimensions of batch2 tensor to be: [${batch}, ${a.shape.at(-1)}] ` +
      `but got: [${batch}, ${b.shape.at(-2)}].`,
  );
}

function refuseDtypes(a, b) {
  const [left, right] = [a, b].map(({ shape }) => shape.length);
  if (left === 1 && right === 1) {
    refuse(
      "RuntimeError",
      "dot : expected both vectors to have same dtype, but found " +
        `${scalarName(a.dtype)} and ${scalarName(b.dtype)}`,
    );
  }
  if (right > 2) {
    refuse(
      "RuntimeError",
      `expected scalar type ${scalarName(a.dtype)} but found ${scalarName(b.dtype)}`,
    );
  }
  refuse(
    "RuntimeError",
    `expected m1 and m2 to have the same dtype, but got: ${cName(a.dtype)} != ${cName(b.dtype)}`,
  );
}

/** Write the product of two matrices; sums are kept in double, and four terms are added at a time. */
function multiply(left, right, made, from, sizes) {
  const [rows, inner, columns] = sizes;
  const [one, other, to] = from;
  const sums = new Float64Array(columns);
  for (let i = 0; i < rows; i++) {
    sums.fill(0);
    let k = 0;
    for (; k + 4 <= inner; k += 4) {
      const at = one + i * inner + k;
      const [a, b, c, d] = [left[at], left[at + 1], left[at + 2], left[at + 3]];
      const first = other + k * columns;
      const [second, third, fourth] = [first + columns, first + 2 * columns, first + 3 * columns];
      for (let j = 0; j < columns; j++) {
        let sum = sums[j] + a * right[first + j];
        sum += b * right[second + j];
        sum += c * right[third + j];
        sums[j] = sum + d * right[fourth + j];
      }
    }
    for (; k < inner; k++) {
      const factor = left[one + i * inner + k];
      const row = other + k * columns;
      for (let j = 0; j < columns; j++) sums[j] += factor * right[row + j];
    }
    for (let j = 0; j < columns; j++) made[to + i * columns + j] = sums[j];
  }
}

/** For each product of a batch, which matrix of a tensor's own it takes: a weight is not copied. */
function matricesOf(sizes, batch) {
  const own = sizes.slice(0, -2);
  return flat(expand(new Tensor(Int32Array.from(range(product(own))), own, "int32"), batch));
}

export function matmul(a, b) {
  if (a.shape.length === 0 || b.shape.length === 0) {
    refuse(
      "RuntimeError",
      "both arguments to matmul need to be at least 1D, but they are " +
        `${a.shape.length}D and ${b.shape.length}D`,
    );
  }
  const left = a.shape.length === 1 ? [1, ...a.shape] : a.shape;
  const right = b.shape.length === 1 ? [...b.shape, 1] : b.shape;
  const [rows, inner] = left.slice(-2);
  const [same, columns] = right.slice(-2);
  const batch = broadcastShape(left.slice(0, -2), right.slice(0, -2));
  if (inner !== same) refuseSizes(a, b);
  if (a.dtype !== b.dtype) refuseDtypes(a, b);
  if (a.dtype === "bool")
    refuse("NotImplementedError", "\"addmm_impl_cpu_\" not implemented for 'Bool'");
  const one = flat(a.view(left, a.shape.length === 1 ? [0, ...a.strides] : a.strides));
  const other = flat(b.view(right, b.shape.length === 1 ? [...b.strides, 0] : b.strides));
  const [ones, others] = [left, right].map((sizes) => matricesOf(sizes, batch));
  const made = empty([...batch, rows, columns], a.dtype);
  for (let n = 0; n < product(batch); n++) {
    const from = [ones[n] * rows * inner, others[n] * inner * columns, n * rows * columns];
    multiply(one, other, made.data, from, [rows, inner, columns]);
  }
  const shape = [...batch];
  if (a.shape.length > 1) shape.push(rows);
  if (b.shape.length > 1) shape.push(columns);
  return exact(new Tensor(made.data, shape, a.dtype));
}

/** Refuse what a product of another name does not take. */
export function checkedMatmul(name, a, b) {
  const wanted = { mm: [2, 2], bmm: [3, 3], mv: [2, 1], dot: [1, 1] }[name];
  const axes = [a.shape.length, b.shape.length];
  if (axes[0] !== wanted[0] || axes[1] !== wanted[1]) {
    const text = {
      mm: axes[0] !== 2 ? "self must be a matrix" : "mat2 must be a matrix",
      bmm: axes[0] !== 3 ? "batch1 must be a 3D tensor" : "batch2 must be a 3D tensor",
      mv: `vector + matrix @ vector expected, got ${Math.min(1, axes[1])}, ${axes[0]}, ${axes[1]}`,
      dot: `1D tensors expected, but got ${axes[0]}D and ${axes[1]}D tensors`,
    }[name];
    refuse("RuntimeError", text);
  }
  if (name === "bmm" && (a.shape[0] !== b.shape[0] || a.shape[2] !== b.shape[1])) {
    refuse(
      "RuntimeError",
      `Expected size for first two dimensions of batch2 tensor to be: ` +
        `[${a.shape[0]}, ${a.shape[2]}] but got: [${b.shape[0]}, ${b.shape[1]}].`,
    );
  }
  return matmul(a, b);
}

/** The letters of an equation of einsum, one list a tensor and one for the result. */
function letters(equation, tensors) {
  const plain = equation.replaceAll(" ", "");
  const [inputs, output] = plain.split("->");
  const terms = inputs.split(",");
  if (terms.length !== tensors.length) {
    refuse(
      "RuntimeError",
      "einsum(): " +
        (terms.length > tensors.length
          ? "fewer operands were provided than specified in the equation"
          : "more operands were provided than specified in the equation"),
    );
  }
  const most = Math.max(
    ...terms.map((term, i) => tensors[i].shape.length - term.replace("...", "").length),
    0,
  );
  const dots = range(most).map((axis) => `.${axis}`);
  const split = (term, hidden) =>
    term.split("...").flatMap((part, i) => (i === 0 ? [...part] : [...hidden, ...part]));
  const named = terms.map((term, i) => {
    const count = tensors[i].shape.length - term.replace("...", "").length;
    if (term.includes("...") ? count < 0 : count !== 0) {
      refuse(
        "RuntimeError",
        `einsum(): the number of subscripts in the equation (${term.replace("...", "").length}) ` +
          (term.includes("...") ? "is more than" : "does not match") +
          ` the number of dimensions (${tensors[i].shape.length}) for operand ${i} and no ` +
          "ellipsis was given",
      );
    }
    return split(term, dots.slice(most - count));
  });
  const all = named.flat();
  const once = [...new Set(all)].filter((name) => all.indexOf(name) === all.lastIndexOf(name));
  const given =
    output === undefined
      ? [...dots, ...once.filter((n) => !n.startsWith(".")).sort()]
      : split(output, dots);
  return { named, given };
}

export function einsum(equation, tensors) {
  const { named, given } = letters(equation, tensors);
  const sizes = {};
  tensors.forEach((tensor, i) =>
    named[i].forEach((name, axis) => {
      const size = tensor.shape[axis];
      if (name in sizes && sizes[name] !== size && sizes[name] !== 1 && size !== 1) {
        refuse(
          "RuntimeError",
          `einsum(): subscript ${name.startsWith(".") ? "..." : name} has size ${size} for operand ` +
            `${i} which does not broadcast with previously seen size ${sizes[name]}`,
        );
      }
      sizes[name] = Math.max(sizes[name] ?? 1, size);
    }),
  );
  for (const name of given) {
    if (!(name in sizes)) {
      refuse(
        "RuntimeError",
        `einsum(): output subscript ${name} does not appear in the equation for any input operand`,
      );
    }
  }
  const { dtype } = tensors[0];
  if (tensors.some((tensor) => tensor.dtype !== dtype)) refuseDtypes(tensors[0], tensors[1]);
  const summed = Object.keys(sizes).filter((name) => !given.includes(name));
  const order = [...given, ...summed];
  const shape = order.map((name) => sizes[name]);
  const spread = tensors.map((tensor, i) => {
    const strides = order.map((name) =>
      named[i].reduce(
        (sum, other, axis) =>
          sum + (other === name && tensor.shape[axis] > 1 ? tensor.strides[axis] : 0),
        0,
      ),
    );
    return flat(tensor.view(shape, strides));
  });
  const made = empty(
    given.map((name) => sizes[name]),
    dtype,
  );
  const inner = product(summed.map((name) => sizes[name]));
  for (let i = 0; i < made.data.length; i++) {
    let total = 0;
    for (let k = i * inner; k < (i + 1) * inner; k++) {
      total += spread.reduce((all, values) => all * values[k], 1);
    }
    made.data[i] = total;
  }
  return exact(made);
}

/** Distances of all rows of two tensors. */
export function cdist(a, b, p) {
  for (const [i, x] of [a, b].entries()) {
    if (x.shape.length < 2) {
      refuse(
        "RuntimeError",
        "cdist only supports at least 2D tensors, " + `X${i + 1} got: ${x.shape.length}D`,
      );
    }
  }
  if (a.shape.at(-1) !== b.shape.at(-1)) {
    refuse(
      "RuntimeError",
      "X1 and X2 must have the same number of columns. " +
        `X1: ${a.shape.at(-1)} X2: ${b.shape.at(-1)}`,
    );
  }
  const dtype = resultType([{ tensor: a }, { tensor: b }]);
  if (!isFloat(dtype)) {
    refuse(
      "RuntimeError",
      `cdist only supports floating-point dtypes, X1 got: ${scalarName(a.dtype)}`,
    );
  }
  const batch = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const [rows, width] = a.shape.slice(-2);
  const others = b.shape.at(-2);
  const one = flat(expand(cast(a, dtype), [...batch, rows, width]));
  const other = flat(expand(cast(b, dtype), [...batch, others, width]));
  const made = empty([...batch, rows, others], dtype);
  for (let i = 0; i < made.data.length; i++) {
    const n = Math.floor(i / (rows * others));
    const row = (n * rows + (Math.floor(i / others) % rows)) * width;
    const column = (n * others + (i % others)) * width;
    let total = 0;
    for (let k = 0; k < width; k++) {
      const gap = Math.abs(one[row + k] - other[column + k]);
      total = p === Infinity ? Math.max(total, gap) : total + gap ** p;
    }
    made.data[i] = p === Infinity ? total : total ** (1 / p);
  }
  return made;
}
