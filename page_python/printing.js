// Tensors as PyTorch prints them (torch/_tensor_str.py), with its usual options.

import { flat, isFloat, range } from "./tensors.js";
import { cat, selected, sliced } from "./shapes.js";

const WIDTH = 80; // of a line
const EDGE = 3; // so many at each end are shown of what is long
const MOST = 1000; // numbers that are shown whole
const DIGITS = 4;

/** A number with so many decimals; halves go to the even neighbour, as in Python. */
export function fixed(value, digits) {
  const scaled = value * 10 ** digits;
  if (Math.abs(scaled % 1) === 0.5 && scaled / 10 ** digits === value) {
    const low = Math.floor(scaled);
    const even = low % 2 === 0 ? low : low + 1;
    return (even / 10 ** digits)
      .toFixed(digits)
      .replace(/^(?!-)/, value < 0 && even === 0 ? "-" : "");
  }
  return Object.is(value, -0) ? `-${(0).toFixed(digits)}` : value.toFixed(digits);
}

function exponential(value) {
  let [digits, power] = value.toExponential(DIGITS).split("e");
  const exact = value.toExponential(60).split("e")[0];
  const cut = exact.indexOf(".") + 1 + DIGITS;
  if (/^50*$/.test(exact.slice(cut)) && Number(exact[cut - 1]) % 2 === 0) {
    [digits, power] = [exact.slice(0, cut), value.toExponential(60).split("e")[1]];
  }
  const sign = Object.is(value, -0) ? "-" : "";
  return `${sign}${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

function special(value) {
  if (Number.isNaN(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

/** How the numbers of a tensor are written, and how wide. */
function formatter(values, dtype) {
  if (!isFloat(dtype)) {
    const write = dtype === "bool" ? (value) => (value ? "True" : "False") : String;
    return { write, width: Math.max(1, ...Array.from(values, (value) => write(value).length)) };
  }
  const counted = values.filter((value) => value !== 0 && Number.isFinite(value));
  const sizes = counted.map(Math.abs);
  const [low, high] = sizes.reduce(
    ([least, most], size) => [Math.min(least, size), Math.max(most, size)],
    [Infinity, 0],
  );
  const whole = counted.every(Number.isInteger);
  const scientific =
    counted.length > 0 && (high / low > 1000 || high > 1e8 || (!whole && low < 1e-4));
  const write = (value) => {
    if (!Number.isFinite(value)) return special(value);
    if (scientific) return exponential(value);
    return whole ? `${fixed(value, 0)}.` : fixed(value, DIGITS);
  };
  return { write, width: Math.max(1, ...Array.from(counted, (value) => write(value).length)) };
}

/** What stands at the edges of every axis. */
function edges(tensor, axis = 0) {
  if (axis === tensor.shape.length) return tensor;
  const size = tensor.shape[axis];
  const kept =
    size > 2 * EDGE
      ? cat([sliced(tensor, axis, 0, EDGE, 1), sliced(tensor, axis, size - EDGE, size, 1)], axis)
      : tensor;
  return edges(kept, axis + 1);
}

function row(tensor, indent, short, { write, width }) {
  const cell = (value) => write(value).padStart(width);
  const values = Array.from(flat(tensor));
  const cells =
    short && values.length > 2 * EDGE
      ? [...values.slice(0, EDGE).map(cell), " ...", ...values.slice(-EDGE).map(cell)]
      : values.map(cell);
  const perLine = Math.max(1, Math.floor((WIDTH - indent) / (width + 2)));
  const lines = range(Math.ceil(cells.length / perLine)).map((i) =>
    cells.slice(i * perLine, (i + 1) * perLine).join(", "),
  );
  return `[${lines.join(`,\n${" ".repeat(indent + 1)}`)}]`;
}

function block(tensor, indent, short, format) {
  const axes = tensor.shape.length;
  if (axes === 0) return format.write(flat(tensor)[0]).padStart(format.width);
  if (axes === 1) return row(tensor, indent, short, format);
  const size = tensor.shape[0];
  const inner = (i) => block(selected(tensor, 0, i), indent + 1, short, format);
  const parts =
    short && size > 2 * EDGE
      ? [...range(EDGE).map(inner), "...", ...range(EDGE).map((i) => inner(size - EDGE + i))]
      : range(size).map(inner);
  return `[${parts.join(`,${"\n".repeat(axes - 1)}${" ".repeat(indent + 1)}`)}]`;
}

/** The text that PyTorch prints for a tensor. */
export function text(tensor) {
  const { size, shape, dtype } = tensor;
  const prefix = "tensor(";
  const suffixes = [];
  let body = "[]";
  if (size === 0) {
    const sizes = `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
    if (shape.length !== 1) suffixes.push(`size=${sizes}`);
    if (dtype !== "float32") suffixes.push(`dtype=torch.${dtype}`);
  } else {
    const short = size > MOST;
    const format = formatter(flat(short ? edges(tensor) : tensor), dtype);
    body = block(tensor, prefix.length, short, format);
    if (!["float32", "int64", "bool"].includes(dtype)) suffixes.push(`dtype=torch.${dtype}`);
  }
  let written = prefix + body;
  let last = written.length - written.lastIndexOf("\n") + 1;
  for (const suffix of suffixes) {
    const wraps = last + suffix.length + 2 > WIDTH;
    written += (wraps ? `,\n${" ".repeat(prefix.length)}` : ", ") + suffix;
    last = wraps ? prefix.length + suffix.length : last + suffix.length + 2;
  }
  return `${written})`;
}
