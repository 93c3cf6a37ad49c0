// What is computed number by number.

import {
  Tensor,
  broadcastShape,
  cast,
  clone,
  converted,
  empty,
  exact,
  expand,
  flat,
  isFloat,
  product,
  rank,
  refuse,
  resultType,
  scalarName,
} from "./tensors.js";

const missing = (kernel, dtype) =>
  refuse("NotImplementedError", `"${kernel}" not implemented for '${scalarName(dtype)}'`);

/** Erf by its series and its continued fraction, to the last digits of a double. */
function erf(x) {
  const size = Math.abs(x);
  if (!(size < 6)) return Number.isNaN(x) ? NaN : Math.sign(x);
  if (size < 2.5) {
    let term = size;
    let sum = size;
    for (let n = 1; Math.abs(term) > 1e-18; n++) {
      term *= (-size * size) / n;
      sum += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  let tail = 0;
  for (let k = 60; k > 0; k--) tail = k / 2 / (size + tail);
  return Math.sign(x) * (1 - Math.exp(-size * size) / Math.sqrt(Math.PI) / (size + tail));
}

/** Round half to even. */
function roundEven(x) {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest !== 0.5) return rest < 0.5 ? low : low + 1;
  return low % 2 === 0 ? low : low + 1;
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// float to float; whole numbers become float32 first
const REAL = {
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  exp: Math.exp,
  exp2: (x) => 2 ** x,
  expm1: Math.expm1,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  log1p: Math.log1p,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  sigmoid,
  erf,
  reciprocal: (x) => 1 / x,
};
// these keep the dtype
const KEPT = {
  neg: (x) => -x,
  abs: Math.abs,
  square: (x) => x * x,
  relu: (x) => (x > 0 || Number.isNaN(x) ? x : 0),
  sign: (x) => (Number.isNaN(x) ? 0 : Math.sign(x)),
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
};
// and these tell true or false
const TOLD = {
  isnan: Number.isNaN,
  isfinite: Number.isFinite,
  isinf: (x) => Math.abs(x) === Infinity,
  isposinf: (x) => x === Infinity,
  isneginf: (x) => x === -Infinity,
  logical_not: (x) => x === 0,
};
const ONLY_FLOAT = {
  gelu: [(x) => (x * (1 + erf(x / Math.SQRT2))) / 2, "GeluKernelImpl"],
  silu: [(x) => x * sigmoid(x), "silu_cpu"],
  softplus: [(x) => (x > 20 ? x : Math.log1p(Math.exp(x))), "softplus_cpu"],
};

export function mapped(tensor, dtype, compute) {
  const values = flat(tensor);
  const made = empty([...tensor.shape], dtype);
  for (let i = 0; i < values.length; i++) made.data[i] = compute(values[i]);
  return made;
}

export function unary(name, x) {
  if (name in REAL) {
    const dtype = isFloat(x.dtype) ? x.dtype : "float32";
    return mapped(cast(x, dtype), dtype, REAL[name]);
  }
  if (name in TOLD) return mapped(x, "bool", TOLD[name]);
  if (name in ONLY_FLOAT) {
    const [compute, kernel] = ONLY_FLOAT[name];
    return isFloat(x.dtype) ? mapped(x, x.dtype, compute) : missing(kernel, x.dtype);
  }
  if (x.dtype === "bool") {
    if (name === "neg") {
      refuse(
        "RuntimeError",
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to " +
          "invert a mask, use the `~` or `logical_not()` operator instead.",
      );
    }
    if (name === "abs") missing("abs_cpu", "bool");
    if (name === "relu") refuse("RuntimeError", "Boolean inputs not supported for relu");
    if (["floor", "ceil", "trunc"].includes(name)) missing(`${name}_vml_cpu`, "bool");
    if (name === "square") return cast(mapped(x, "int64", KEPT.square), "int64");
  }
  return exact(mapped(x, x.dtype, KEPT[name]));
}

export const UNARY = [REAL, KEPT, TOLD, ONLY_FLOAT].flatMap(Object.keys);

export function bitwiseNot(x) {
  if (isFloat(x.dtype)) missing("bitwise_not_cpu", x.dtype);
  return mapped(x, x.dtype, x.dtype === "bool" ? (a) => 1 - a : (a) => -a - 1);
}

export function rounded(x, decimals) {
  if (!isFloat(x.dtype)) {
    return x.dtype === "bool" ? missing("round_vml_cpu", "bool") : x;
  }
  const ten = 10 ** Math.abs(decimals);
  if (decimals === 0) return mapped(x, x.dtype, roundEven);
  const narrow = x.dtype === "float32" ? Math.fround : (value) => value;
  return decimals > 0
    ? mapped(x, x.dtype, (a) => roundEven(narrow(a * ten)) / ten)
    : mapped(x, x.dtype, (a) => roundEven(narrow(a / ten)) * ten);
}

const remainder = (a, b) => {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
};
const maximum = (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.max(a, b));
const minimum = (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.min(a, b));

function floorDivide(a, b) {
  if (b === 0) return a / b;
  const rest = a % b;
  const quotient = (a - rest) / b - (rest !== 0 && b < 0 !== rest < 0 ? 1 : 0);
  if (quotient === 0) return a / b < 0 ? -0 : 0;
  const whole = Math.floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

function logAddExp(a, b) {
  if (a === b && !Number.isFinite(a)) return a;
  return maximum(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));
}

/** Whole powers: what is not whole becomes 0. */
const wholePower = (a, b) => (b >= 0 || Math.abs(a) === 1 ? a ** b : 0);

function power(a, b) {
  if (a === 1 || b === 0) return 1; // JavaScript has NaN for 1 ** Infinity and 1 ** NaN
  if (a === -1 && Math.abs(b) === Infinity) return 1;
  return a ** b;
}

const BINARY = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  pow: power,
  remainder,
  fmod: (a, b) => a % b,
  floor_divide: floorDivide,
  maximum,
  minimum,
};
const COMPARED = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};
const LOGICAL = {
  logical_and: (a, b) => a !== 0 && b !== 0,
  logical_or: (a, b) => a !== 0 || b !== 0,
  logical_xor: (a, b) => (a !== 0) !== (b !== 0),
};
const BITWISE = {
  bitwise_and: (a, b) => Number(BigInt(a) & BigInt(b)),
  bitwise_or: (a, b) => Number(BigInt(a) | BigInt(b)),
  bitwise_xor: (a, b) => Number(BigInt(a) ^ BigInt(b)),
  bitwise_left_shift: (a, b) => a * 2 ** b,
  bitwise_right_shift: (a, b) => Math.floor(a / 2 ** b),
};
const DIVIDED = { div: (a, b) => a / b, atan2: Math.atan2 };

/** Two operands as the numbers of one dtype and one shape. */
function met(a, b, dtype) {
  const shape = broadcastShape(a.tensor.shape, b.tensor.shape);
  const [one, other] = [a, b].map(({ tensor }) => flat(cast(expand(tensor, shape), dtype)));
  return { shape, one, other };
}

export function combined(a, b, dtype, resultDtype, compute) {
  const { shape, one, other } = met(a, b, dtype);
  const made = empty(shape, resultDtype);
  for (let i = 0; i < made.data.length; i++) made.data[i] = compute(one[i], other[i]);
  return made;
}

function refuseBooleans(name, operands, dtype) {
  if (name === "sub" && operands.some(({ tensor }) => tensor.dtype === "bool")) {
    refuse(
      "RuntimeError",
      operands.every(({ tensor }) => tensor.dtype === "bool")
        ? "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or " +
            "`logical_xor()` operator instead."
        : "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying " +
            "to invert a mask, use the `~` or `logical_not()` operator instead.",
    );
  }
  const kernels = { pow: "pow", remainder: "remainder_cpu", fmod: "fmod_cpu" };
  if (dtype === "bool" && name in kernels) missing(kernels[name], "bool");
  if (dtype === "bool" && name === "floor_divide") missing("div_floor_cpu", "bool");
}

/** Two operands, each a tensor or (``wrapped``) a number of Python's, joined number by number. */
export function binary(name, a, b) {
  const dtype = resultType([a, b]);
  if (name in COMPARED) return combined(a, b, dtype, "bool", COMPARED[name]);
  if (name in LOGICAL) return combined(a, b, dtype, "bool", LOGICAL[name]);
  if (name in BITWISE) {
    broadcastShape(a.tensor.shape, b.tensor.shape);
    const kernel = name.replace(/bitwise_(l|r)\w+_(shift)$/, "$1$2");
    if (isFloat(dtype)) missing(`${kernel}_cpu`, dtype);
    return combined(a, b, dtype, dtype, BITWISE[name]);
  }
  if (name in DIVIDED) {
    const real = isFloat(dtype) ? dtype : "float32";
    return combined(a, b, real, real, DIVIDED[name]);
  }
  if (name === "logaddexp") {
    if (!isFloat(dtype)) missing("logaddexp_cpu", dtype);
    return combined(a, b, dtype, dtype, logAddExp);
  }
  if (name === "pow" && b.wrapped && flat(b.tensor)[0] === 1) return clone(cast(a.tensor, dtype));
  refuseBooleans(name, [a, b], dtype);
  if (!isFloat(dtype)) checkWhole(name, a, b, dtype);
  let plain = BINARY[name];
  if (dtype === "bool" && name === "add") plain = (x, y) => x || y;
  if (!isFloat(dtype) && name === "pow") plain = wholePower;
  return exact(combined(a, b, dtype, dtype, plain));
}

function checkWhole(name, a, b, dtype) {
  const divisor = flat(cast(b.tensor, dtype));
  const divides = ["remainder", "fmod", "floor_divide"].includes(name);
  const count = product(broadcastShape(a.tensor.shape, b.tensor.shape));
  if (divides && count && divisor.includes(0)) {
    refuse("RuntimeError", "ZeroDivisionError");
  }
  if (name === "pow" && divisor.some((value) => value < 0) && b.wrapped) {
    refuse("RuntimeError", "Integers to negative integer powers are not allowed.");
  }
}

export const PAIRWISE = [BINARY, COMPARED, LOGICAL, BITWISE, DIVIDED, { logaddexp: 0 }].flatMap(
  Object.keys,
);

export function where(condition, a, b) {
  if (condition.dtype !== "bool") {
    refuse(
      "RuntimeError",
      "where expected condition to be a boolean tensor, but got a tensor with dtype " +
        scalarName(condition.dtype),
    );
  }
  const dtype = resultType([a, b]);
  const shape = broadcastShape(condition.shape, a.tensor.shape, b.tensor.shape);
  const [chosen, one, other] = [
    flat(expand(condition, shape)),
    ...[a, b].map(({ tensor }) => flat(cast(expand(tensor, shape), dtype))),
  ];
  const made = empty(shape, dtype);
  for (let i = 0; i < made.data.length; i++) made.data[i] = chosen[i] ? one[i] : other[i];
  return made;
}

export function maskedFill(x, mask, value) {
  if (mask.dtype !== "bool") {
    refuse(
      "RuntimeError",
      "masked_fill_ only supports boolean masks, but got mask with dtype " +
        {
          uint8: "unsigned char",
          int8: "signed char",
          int16: "short",
          int32: "int",
          int64: "long",
          float32: "float",
          float64: "double",
        }[mask.dtype],
    );
  }
  if (value.tensor.shape.length > 0) {
    refuse(
      "RuntimeError",
      "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with " +
        `${value.tensor.shape.length} dimension(s).`,
    );
  }
  if (rank(value.tensor.dtype) > rank(x.dtype) && x.dtype !== "bool") {
    refuse(
      "RuntimeError",
      `value cannot be converted to type ${{ int64: "int64_t" }[x.dtype] ?? x.dtype} without overflow`,
    );
  }
  const shape = broadcastShape(mask.shape, x.shape);
  const values = flat(expand(x, shape)).slice();
  const hidden = flat(expand(mask, shape));
  const fill = converted(flat(value.tensor), value.tensor.dtype, x.dtype)[0];
  for (let i = 0; i < values.length; i++) if (hidden[i]) values[i] = fill;
  return new Tensor(values, shape, x.dtype);
}

/** Numbers kept between two bounds, each a number, a tensor or null. */
export function clamp(x, low, high) {
  if (!low && !high)
    refuse("RuntimeError", "torch.clamp: At least one of 'min' or 'max' must not be None");
  let result = { tensor: x };
  const dtype = resultType([result, low, high].filter(Boolean));
  for (const [bound, compute] of [
    [low, maximum],
    [high, minimum],
  ]) {
    if (bound) result = { tensor: combined(result, bound, dtype, dtype, compute) };
  }
  return result.tensor;
}

export function isClose(a, b, relative, absolute, equalNaN) {
  if (a.dtype !== b.dtype) {
    refuse("RuntimeError", `${scalarName(a.dtype)} did not match ${scalarName(b.dtype)}`);
  }
  return combined({ tensor: a }, { tensor: b }, a.dtype, "bool", (x, y) => {
    if (x === y || (equalNaN && Number.isNaN(x) && Number.isNaN(y))) return true;
    return Number.isFinite(y) && Math.abs(x - y) <= absolute + Math.abs(relative * y);
  });
}

const LARGEST = { float32: 3.4028234663852886e38, float64: Number.MAX_VALUE };

export function nanToNum(x, nan, positive, negative) {
  if (!isFloat(x.dtype)) return x;
  return mapped(x, x.dtype, (value) => {
    if (Number.isNaN(value)) return nan ?? 0;
    if (value === Infinity) return positive ?? LARGEST[x.dtype];
    return value === -Infinity ? (negative ?? -LARGEST[x.dtype]) : value;
  });
}
