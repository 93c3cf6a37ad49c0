// A small language model as the chapters build it: letters become vectors, one block with rotary
// positions works on them, and a last matrix scores the next letter. What each part computes stands
// beside how the gradient comes back through it. Matrices are (in, out), as in x @ W.

import { softmaxRow, surprise } from "./losses.js";
import { product, transposed } from "./products.js";
import { normal } from "./random.js";

const TINY = 1e-5; // under the root of a norm, as in torch

/** The numbers that are learned, by name: each with its shape, its values and their gradient. */
export function createParameters(letters, width, hidden, random) {
  const filled = (shape, value) => {
    const values = Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, value);
    return { shape, values, gradient: new Float64Array(values.length) };
  };
  const matrix = (from, to) => filled([from, to], () => normal(random) / Math.sqrt(from));
  const all = (count, value) => filled([count], () => value);
  return {
    embedding: filled([letters, width], () => normal(random)),
    W_q: matrix(width, width),
    W_k: matrix(width, width),
    W_v: matrix(width, width),
    W_o: matrix(width, width),
    gain_1: all(width, 1),
    shift_1: all(width, 0),
    W_1: matrix(width, hidden),
    b_1: all(hidden, 0),
    W_2: matrix(hidden, width),
    b_2: all(width, 0),
    gain_2: all(width, 1),
    shift_2: all(width, 0),
    W_out: matrix(width, letters),
    b_out: all(letters, 0),
  };
}

// ------------------------------------------------------- the parts: forward, and back

/** Y = X W + b; without b it adds nothing. */
function linear(X, { shape: [from, to], values }, b) {
  const rows = X.length / from;
  const Y = product(X, values, rows, from, to);
  if (b) for (let i = 0; i < Y.length; i += 1) Y[i] += b.values[i % to];
  return Y;
}

/** dW = Xᵀ dY and db = Σ dY are kept; dX = dY Wᵀ is returned. */
function linearBack(dY, X, W, b) {
  const [from, to] = W.shape;
  const rows = X.length / from;
  W.gradient = product(transposed(X, rows, from), dY, from, rows, to);
  if (b) {
    b.gradient.fill(0);
    for (let i = 0; i < dY.length; i += 1) b.gradient[i % to] += dY[i];
  }
  return product(dY, transposed(W.values, from, to), rows, to, from);
}

/** Each row less its mean, over its spread; then a gain and a shift for each coordinate. */
function norm(X, gain, shift) {
  const width = gain.values.length;
  const [unit, Y] = [new Float64Array(X.length), new Float64Array(X.length)];
  const spreads = new Float64Array(X.length / width);
  for (let row = 0; row < spreads.length; row += 1) {
    const [from, to] = [row * width, (row + 1) * width];
    let [mean, square] = [0, 0];
    for (let i = from; i < to; i += 1) mean += X[i] / width;
    for (let i = from; i < to; i += 1) square += (X[i] - mean) ** 2 / width;
    spreads[row] = Math.sqrt(square + TINY);
    for (let i = from; i < to; i += 1) {
      unit[i] = (X[i] - mean) / spreads[row];
      Y[i] = unit[i] * gain.values[i - from] + shift.values[i - from];
    }
  }
  return { Y, unit, spreads };
}

/** Mean and spread depend on the whole row: what moves along them does not come back. */
function normBack(dY, { unit, spreads }, gain, shift) {
  const width = gain.values.length;
  const dX = new Float64Array(dY.length);
  gain.gradient.fill(0);
  shift.gradient.fill(0);
  for (let row = 0; row < spreads.length; row += 1) {
    const [from, to] = [row * width, (row + 1) * width];
    let [mean, along] = [0, 0];
    for (let i = from; i < to; i += 1) {
      gain.gradient[i - from] += dY[i] * unit[i];
      shift.gradient[i - from] += dY[i];
      dX[i] = dY[i] * gain.values[i - from];
      mean += dX[i] / width;
      along += (dX[i] * unit[i]) / width;
    }
    for (let i = from; i < to; i += 1) dX[i] = (dX[i] - mean - unit[i] * along) / spreads[row];
  }
  return dX;
}

/** Turn each pair of coordinates of each head by the angles of its position, in place; the gradient is
    turned back, with `way` −1. */
function rotate(X, { width, size, length }, way = 1) {
  for (let pair = 0; pair < size; pair += 2)
    for (let place = 0; place < length; place += 1) {
      const angle = place / 10000 ** (pair / size);
      const [cos, sin] = [Math.cos(angle), way * Math.sin(angle)];
      for (let text = place * width; text < X.length; text += length * width)
        for (let i = text + pair; i < text + width; i += size) {
          const [a, b] = [X[i], X[i + 1]];
          X[i] = a * cos - b * sin;
          X[i + 1] = a * sin + b * cos;
        }
    }
}

/** In each head, each place mixes the values of the places up to it, or of all without a mask. */
function attend(Q, K, V, { width, size, length, scale, isMasked }) {
  const output = new Float64Array(Q.length);
  const texts = Q.length / (length * width);
  const weights = new Float64Array((texts * width * length * length) / size);
  let row = 0; // where the weights of a query begin
  for (let start = 0; start < Q.length; start += length * width)
    for (let head = start; head < start + width; head += size)
      for (let query = 0; query < length; query += 1, row += length) {
        const seen = isMasked ? query + 1 : length;
        const at = head + query * width;
        for (let key = 0; key < seen; key += 1) {
          let dot = 0;
          for (let i = 0; i < size; i += 1) dot += Q[at + i] * K[head + key * width + i];
          weights[row + key] = dot * scale;
        }
        softmaxRow(weights, row, seen);
        for (let key = 0; key < seen; key += 1)
          for (let i = 0; i < size; i += 1)
            output[at + i] += weights[row + key] * V[head + key * width + i];
      }
  return { output, weights };
}

/** A weight's gradient is how much its value would help; the softmax passes on the difference from
    the row's mean. */
function attendBack(dOutput, weights, Q, K, V, { width, size, length, scale, isMasked }) {
  const [dQ, dK, dV] = [Q, K, V].map((X) => new Float64Array(X.length));
  const dWeights = new Float64Array(length);
  let row = 0;
  for (let start = 0; start < Q.length; start += length * width)
    for (let head = start; head < start + width; head += size)
      for (let query = 0; query < length; query += 1, row += length) {
        const seen = isMasked ? query + 1 : length;
        const at = head + query * width;
        let mean = 0;
        for (let key = 0; key < seen; key += 1) {
          const [place, weight] = [head + key * width, weights[row + key]];
          let dWeight = 0;
          for (let i = 0; i < size; i += 1) {
            dWeight += dOutput[at + i] * V[place + i];
            dV[place + i] += weight * dOutput[at + i];
          }
          dWeights[key] = dWeight;
          mean += weight * dWeight;
        }
        for (let key = 0; key < seen; key += 1) {
          const place = head + key * width;
          const dDot = weights[row + key] * (dWeights[key] - mean) * scale;
          for (let i = 0; i < size; i += 1) {
            dQ[at + i] += dDot * K[place + i];
            dK[place + i] += dDot * Q[at + i];
          }
        }
      }
  return [dQ, dK, dV];
}

const sum = (X, Y) => X.map((x, i) => x + Y[i]);

// ------------------------------------------------------- the model

/** The scores of the next letter at each place of texts of `length` ids, which lie one after another,
    and all that was computed on the way. Broken on purpose: `isScaled` false leaves out √d, and
    `isMasked` false lets each place see the letter that it is to predict. */
export function forward(p, ids, length, { heads, isScaled = true, isMasked = true }) {
  const [, width] = p.embedding.shape;
  const size = width / heads;
  const sizes = { width, size, length, scale: isScaled ? 1 / Math.sqrt(size) : 1, isMasked };
  const x = new Float64Array(ids.length * width);
  ids.forEach((id, row) => {
    x.set(p.embedding.values.subarray(id * width, (id + 1) * width), row * width);
  });
  const [Q, K, V] = [linear(x, p.W_q), linear(x, p.W_k), linear(x, p.W_v)];
  rotate(Q, sizes);
  rotate(K, sizes);
  const mixed = attend(Q, K, V, sizes);
  const first = norm(sum(x, linear(mixed.output, p.W_o)), p.gain_1, p.shift_1);
  const wide = linear(first.Y, p.W_1, p.b_1).map((value) => Math.max(value, 0));
  const second = norm(sum(first.Y, linear(wide, p.W_2, p.b_2)), p.gain_2, p.shift_2);
  const scores = linear(second.Y, p.W_out, p.b_out);
  return { sizes, ids, x, Q, K, V, mixed, first, wide, second, scores };
}

/** The loss, the mean surprise at the letters `targets`; each parameter gets its gradient. */
export function backward(
  p,
  { sizes, ids, x, Q, K, V, mixed, first, wide, second, scores },
  targets,
) {
  const [letters, width] = p.embedding.shape;
  const count = targets.length;
  let loss = 0;
  targets.forEach((target, row) => {
    loss += surprise(scores, row * letters, letters, target) / count;
  });
  const dScores = scores.map((gradient) => gradient / count);
  const dSecond = normBack(
    linearBack(dScores, second.Y, p.W_out, p.b_out),
    second,
    p.gain_2,
    p.shift_2,
  );
  const dWide = linearBack(dSecond, wide, p.W_2, p.b_2).map((d, i) => (wide[i] > 0 ? d : 0));
  const dFirst = normBack(
    sum(dSecond, linearBack(dWide, first.Y, p.W_1, p.b_1)),
    first,
    p.gain_1,
    p.shift_1,
  );
  const dMixed = linearBack(dFirst, mixed.output, p.W_o);
  const [dQ, dK, dV] = attendBack(dMixed, mixed.weights, Q, K, V, sizes);
  rotate(dQ, sizes, -1);
  rotate(dK, sizes, -1);
  const back = [linearBack(dQ, x, p.W_q), linearBack(dK, x, p.W_k), linearBack(dV, x, p.W_v)];
  const dx = back.reduce(sum, dFirst);
  p.embedding.gradient.fill(0);
  ids.forEach((id, row) => {
    for (let i = 0; i < width; i += 1) p.embedding.gradient[id * width + i] += dx[row * width + i];
  });
  return loss;
}
