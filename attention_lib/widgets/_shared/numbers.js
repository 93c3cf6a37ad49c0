// Numbers as they are shown, and the arithmetic of weights.

/** Three decimals, as in the rest of the book; a true minus sign. */
export function fixed(value, digits = 3) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}

/** At most `digits` significant digits, without an exponent. */
export function short(value, digits = 3) {
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** Softmax of finite scores in float64, by way of the largest. */
export function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** Entropy in nats. */
export function entropy(weights) {
  return weights.reduce((sum, weight) => sum - (weight > 0 ? weight * Math.log(weight) : 0), 0);
}
