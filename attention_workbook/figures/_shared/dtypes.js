// Numbers as each dtype of PyTorch keeps them.

export const DTYPES = ["float16", "bfloat16", "float32", "float64"];

// Bits of the fraction, smallest and largest exponent of a normal number.
const FORMATS = {
  float16: { fraction: 10, smallest: -14, largest: 15 },
  bfloat16: { fraction: 7, smallest: -126, largest: 127 },
};

/** `value` rounded to a dtype, ties to even, subnormals and overflow included, as PyTorch does: the
    half types by way of float32. */
export function round(value, dtype) {
  if (dtype === "float64") return value;
  const single = Math.fround(value);
  if (dtype === "float32" || single === 0 || !Number.isFinite(single)) return single;
  const { fraction, smallest, largest } = FORMATS[dtype];
  // log2 may be one off next to a power of two; the comparisons mend that.
  let exponent = Math.floor(Math.log2(Math.abs(single)));
  if (2 ** exponent > Math.abs(single)) exponent -= 1;
  if (2 ** (exponent + 1) <= Math.abs(single)) exponent += 1;
  const unit = 2 ** (Math.max(exponent, smallest) - fraction);
  const steps = single / unit; // exact: unit is a power of two
  const floor = Math.floor(steps);
  const rest = steps - floor;
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0);
  const rounded = (up ? floor + 1 : floor) * unit;
  if (Math.abs(rounded) >= 2 ** (largest + 1)) return Math.sign(single) * Infinity;
  return rounded === 0 ? 0 * single : rounded; // −0 stays −0
}

/** Softmax as PyTorch computes it on a CPU: the half types in float32, rounded at the end.
    A row of −∞ gives NaN. */
export function roundedSoftmax(given, dtype) {
  const working = dtype === "float64" ? "float64" : "float32";
  const rounded = given.map((score) => round(score, dtype));
  const largest = Math.max(...rounded);
  const powers = rounded.map((score) => round(Math.exp(round(score - largest, working)), working));
  const total = powers.reduce((sum, power) => round(sum + power, working), 0);
  return powers.map((power) => round(round(power / total, working), dtype));
}
