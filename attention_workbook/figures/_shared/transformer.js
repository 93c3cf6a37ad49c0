// A small trained transformer in plain numbers: its matrices, and all that it computes on the way.

import { softmax } from "./numbers.js";
import { bytesOf } from "./packed.js";

/** Decode whole numbers of 8 bits, or others of 16 or 32, least significant byte first. */
export function numbersOf(packed, bits) {
  const bytes = bytesOf(packed);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = {
    8: (i) => view.getInt8(i),
    16: (i) => half(view.getUint16(2 * i, true)),
    32: (i) => view.getFloat32(4 * i, true),
  }[bits];
  return Float64Array.from({ length: (8 * view.byteLength) / bits }, (_, i) => read(i));
}

function half(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
}

/** The matrices of a reader of `count` words, in the order in which Python packs them
    (attention_workbook/reader/_packed.py): bytes, each matrix with a scale, or else numbers of 32 bits. They
    are (out, in), as in nn.Linear. */
export function unpackReader({ packed, scales, width, num_heads }, count) {
  const numbers = numbersOf(packed, scales.length ? 8 : 32);
  let [at, part] = [0, 0];
  const take = (many) => {
    const scale = scales[part] ?? 1;
    part += 1;
    at += many;
    return numbers.slice(at - many, at).map((number) => Math.fround(number * scale));
  };
  const square = () => take(width * width);
  return {
    width,
    embedding: take(count * width),
    layers: num_heads.map((heads) => ({
      heads,
      W_q: square(),
      W_k: square(),
      W_v: square(),
      W_o: square(),
      gain: take(width),
      shift: take(width),
    })),
    pointing: { W_q: square(), W_k: square() },
  };
}

/** Each row times the transpose of a matrix, (out, in). */
export function linear(rows, matrix) {
  return rows.map((row) => {
    const result = new Float64Array(matrix.length / row.length);
    for (let out = 0; out < result.length; out += 1) {
      let sum = 0;
      for (let i = 0; i < row.length; i += 1) sum += row[i] * matrix[out * row.length + i];
      result[out] = sum;
    }
    return result;
  });
}

/** Softmax of the scores whose places are not cut; a row without any others has weight nowhere. */
function uncutSoftmax(scores, isCut) {
  const left = scores.filter((_, place) => !isCut(place));
  if (left.length === scores.length) return softmax(scores);
  const weights = left.length ? softmax(left) : [];
  return scores.map((_, place) => (isCut(place) ? 0 : weights.shift()));
}

/** Scores before and after the division, and weights, from coordinate `from` up to `to`. The pairs
    `[query, key]` of `cuts` get no weight, and the others of the row share it. */
export function attend(queries, keys, from, to, cuts = []) {
  const dots = queries.map((query) =>
    keys.map((key) => {
      let sum = 0;
      for (let i = from; i < to; i += 1) sum += query[i] * key[i];
      return sum;
    }),
  );
  const scores = dots.map((row) => row.map((dot) => dot / Math.sqrt(to - from)));
  const weights = scores.map((row, query) =>
    uncutSoftmax(row, (key) => cuts.some(([by, of]) => by === query && of === key)),
  );
  return { dots, scores, weights };
}

/** The mixture of the values by each row of weights, which may stop before the last value. */
export function mixture(weights, values) {
  return weights.map((row) =>
    Float64Array.from(values[0], (_, i) =>
      row.reduce((sum, weight, key) => sum + weight * values[key][i], 0),
    ),
  );
}

/** The sinusoidal position of a place, a number a coordinate. */
export function sinusoid(place, width) {
  return Float64Array.from({ length: width }, (_, i) => {
    const angle = place / 10000 ** ((i - (i % 2)) / width);
    return i % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

export function normalise(row, { gain, shift }) {
  const mean = row.reduce((sum, x) => sum + x, 0) / row.length;
  const spread = Math.sqrt(row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length + 1e-5);
  return row.map((x, i) => ((x - mean) / spread) * gain[i] + shift[i]);
}

function readLayer(layer, input, lent, cuts) {
  const [queries, keys, values] = [layer.W_q, layer.W_k, layer.W_v].map((matrix) =>
    linear(input, matrix),
  );
  const size = input[0].length / layer.heads;
  const heads = Array.from({ length: layer.heads }, (_, head) => {
    const [from, to] = [head * size, (head + 1) * size];
    const part = (rows) => rows.map((row) => row.slice(from, to));
    const attended = attend(queries, keys, from, to, cuts);
    const own = part(values); // (len, d_k)
    const output = mixture(attended.weights, own);
    if (lent?.head === head) output[lent.place] = lent.vector;
    return { queries: part(queries), keys: part(keys), values: own, ...attended, output };
  });
  const joined = input.map((_, place) =>
    Float64Array.from(heads.flatMap(({ output }) => [...output[place]])),
  );
  const gathered = linear(joined, layer.W_o);
  const output = input.map((row, place) =>
    normalise(
      row.map((x, i) => x + gathered[place][i]),
      layer,
    ),
  );
  return { input, heads, joined, gathered, output };
}

/**
 * All that a reader computes for the words with these ids. Rows are words.
 *
 * `embedded` (len, width), `positions`, and their sum `start`; for each of `layers` its `input`, its
 * `heads` (each with `queries`, `keys`, `values` (len, d_k), `dots`, `scores` = dots / √d_k and
 * `weights` (len, len), `output` (len, d_k)), the outputs side by side in `joined`, times W_o in
 * `gathered`, added and normalised in `output`; and the same of `pointing`, which has no values.
 * `weights` is the list of layers of heads, each (len, len), the pointing head last.
 * With `lent`, one head of one `layer` brings to the word at `place` this `vector` in place of its own.
 * Each of `cuts`, `[layer, query, key]`, is a pair of words between which no head of the layer looks.
 */
export function runReader(reader, ids, { lent = null, cuts = [] } = {}) {
  const { width } = reader;
  const embedded = ids.map((id) => reader.embedding.slice(id * width, (id + 1) * width));
  const positions = ids.map((_, place) => sinusoid(place, width));
  const start = embedded.map((row, place) => row.map((x, i) => x + positions[place][i]));
  const layers = [];
  reader.layers.forEach((layer, i) => {
    const severed = cuts.filter(([number]) => number === i).map(([, ...pair]) => pair);
    const given = lent?.layer === i ? lent : null;
    layers.push(readLayer(layer, layers.at(-1)?.output ?? start, given, severed));
  });
  const queries = linear(layers.at(-1)?.output ?? start, reader.pointing.W_q);
  const keys = linear(start, reader.pointing.W_k);
  const pointing = { queries, keys, ...attend(queries, keys, 0, width) };
  const weights = [
    ...layers.map(({ heads }) => heads.map((head) => head.weights)),
    [pointing.weights],
  ];
  return { embedded, positions, start, layers, pointing, weights };
}
