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

/** A whole number, its digits in groups of three that no line end parts. */
export const grouped = (number) =>
  Math.round(number).toLocaleString("en").replaceAll(",", "\u202f");

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

/** The number that a reader has written, between bounds; an Error that says what is wrong. */
export function readNumber(text, { min, max }) {
  const value = Number(text.replace("−", "-"));
  if (text === "" || Number.isNaN(value)) throw new Error(`“${text}” is not a number.`);
  if (value < min || value > max)
    throw new Error(`${text} is not from ${short(min)} to ${short(max)}.`);
  return value;
}

/** The parts of each line that a reader has written or pasted; brackets and commas are let be. */
export function readLines(text) {
  return text
    .replace(/[[\](),;]/g, " ")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => line.split(/\s+/));
}

/** A table of numbers as a reader has pasted it: lines, or one run of all its numbers. */
export function readTable(text, { rows, columns, min, max }) {
  const parts = readLines(text).flat();
  if (parts.length !== rows * columns) {
    throw new Error(`These are ${parts.length} numbers; ${rows} lines of ${columns} are needed.`);
  }
  const numbers = parts.map((part) => readNumber(part, { min, max }));
  return Array.from({ length: rows }, (_, i) => numbers.slice(i * columns, (i + 1) * columns));
}

/** A table as a reader would write it. */
export function writeTable(table) {
  return table.map((row) => row.join(" ")).join("\n");
}
