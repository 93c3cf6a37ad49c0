// The operations of this page's torch, each under the signature by which Python calls it.
//
// A signature names the arguments and their kinds: x:t a tensor, :o a tensor or a number, :O the
// same or None, :n a number, :N a number or None, :i a whole number, :I the same or None, :l whole
// numbers (one or a list), :L the same or None, :b a boolean, :d a dtype or None, :T a list of
// tensors, :s a text. What follows = stands where nothing is given. Names after -> are those of
// several results. An operation is a function of torch and a method of its first tensor.

import * as arithmetic from "./arithmetic.js";
import * as indexing from "./indexing.js";
import * as products from "./products.js";
import * as random from "./random.js";
import * as reductions from "./reductions.js";
import * as shapes from "./shapes.js";
import {
  assign,
  broadcastShape,
  cast,
  clone,
  contiguous,
  empty,
  exact,
  expand,
  filled,
  flat,
  listed,
  rank,
  refuse,
  resultType,
  scalarName,
} from "./tensors.js";

const operand = (tensor) => ({ tensor });

function arange(start, stop, step, whole, dtype) {
  const [first, last] = stop === null ? [0, start] : [start, stop];
  if (step === 0) refuse("RuntimeError", "step must be nonzero");
  if ((last - first) * step < 0) {
    refuse("RuntimeError", "upper bound and lower bound inconsistent with step sign");
  }
  const made = empty([Math.ceil((last - first) / step)], dtype ?? (whole ? "int64" : "float32"));
  for (let i = 0; i < made.data.length; i++) made.data[i] = first + i * step;
  return made;
}

function linspace(start, end, steps, dtype) {
  if (steps < 0) refuse("RuntimeError", "number of steps must be non-negative");
  const made = empty([steps], dtype ?? "float32");
  for (let i = 0; i < steps; i++) {
    const step = (end - start) / (steps - 1);
    made.data[i] =
      i < steps / 2 ? start + (steps > 1 ? step * i : 0) : end - step * (steps - 1 - i);
  }
  if (steps === 1) made.data[0] = start;
  return made;
}

function eye(rows, columns, dtype) {
  const made = filled([rows, columns ?? rows], dtype ?? "float32", 0);
  for (let i = 0; i < Math.min(rows, columns ?? rows); i++)
    made.data[i * (columns ?? rows) + i] = 1;
  return made;
}

function oneHot(x, classes) {
  if (x.dtype !== "int64") {
    refuse("RuntimeError", "one_hot is only applicable to index tensor of type LongTensor.");
  }
  const values = flat(x);
  if (values.some((value) => value < 0)) {
    refuse("RuntimeError", "Class values must be non-negative.");
  }
  const count = classes < 0 ? Math.max(-1, ...values) + 1 : classes;
  if (values.some((value) => value >= count)) {
    refuse("RuntimeError", "Class values must be smaller than num_classes.");
  }
  const made = filled([...x.shape, count], "int64", 0);
  values.forEach((value, i) => (made.data[i * count + value] = 1));
  return made;
}

function indexFill(x, dim, index, source) {
  const made = clone(x);
  for (const i of flat(index)) {
    assign(shapes.selected(made, shapes.axis(dim, x), i), cast(source.tensor, x.dtype));
  }
  return made;
}

function indexCopy(x, dim, index, source) {
  const made = clone(x);
  const axis = shapes.axis(dim, x);
  flat(index).forEach((i, place) => {
    assign(shapes.selected(made, axis, i), shapes.selected(source, axis, place));
  });
  return made;
}

function crossEntropy(scores, target, reduction) {
  const single = scores.shape.length === 1;
  const rows = reductions.softmax(scores, single ? 0 : 1, null, true);
  if (target.dtype !== "int64") {
    refuse("RuntimeError", `expected scalar type Long but found ${scalarName(target.dtype)}`);
  }
  const picked = reductions.gather(rows, single ? 0 : 1, shapes.unsqueeze(target, single ? 0 : 1));
  const losses = arithmetic.unary("neg", shapes.squeeze(picked, [single ? 0 : 1]));
  if (reduction === "none") return losses;
  return reduction === "sum"
    ? reductions.sum(losses, null, false, null)
    : reductions.mean(losses, null, false, null);
}

function normalised(x, p, dim, least) {
  const length = reductions.norm(x, p, [dim], true);
  const bounded = arithmetic.clamp(length, operand(filled([], x.dtype, least)), null);
  return arithmetic.binary("div", operand(x), operand(bounded));
}

function layerNorm(x, axes, weight, bias, least) {
  const dims = axes.map((_, i) => i - axes.length);
  const middle = reductions.mean(x, dims, true, null);
  const spread = reductions.variance(x, dims, 0, true, false);
  const root = arithmetic.mapped(spread, x.dtype, (value) => Math.sqrt(value + least));
  const gaps = arithmetic.binary("sub", operand(x), operand(middle));
  let result = arithmetic.binary("div", operand(gaps), operand(root));
  if (weight) result = arithmetic.binary("mul", operand(result), weight);
  return bias ? arithmetic.binary("add", operand(result), bias) : result;
}

function cosine(a, b, dim, least) {
  const dot = reductions.sum(arithmetic.binary("mul", operand(a), operand(b)), [dim], false, null);
  const bound = operand(filled([], "float64", least));
  const [one, other] = [a, b].map((x) =>
    arithmetic.clamp(reductions.norm(x, 2, [dim], false), { ...bound, wrapped: true }, null),
  );
  const lengths = arithmetic.binary("mul", operand(one), operand(other));
  return arithmetic.binary("div", operand(dot), operand(lengths));
}

function unique(x) {
  const values = [...new Set(flat(x))].sort((a, b) => a - b);
  return indexing.vector(values, x.dtype);
}

function bincount(x, least) {
  const values = flat(x);
  const made = filled([Math.max(least, ...values, -1) + (values.length ? 1 : 0)], "int64", 0);
  for (const value of values) made.data[value]++;
  return made;
}

function lerp(a, b, weight) {
  const gap = arithmetic.binary("sub", operand(b), operand(a));
  return arithmetic.binary(
    "add",
    operand(a),
    operand(arithmetic.binary("mul", operand(gap), weight)),
  );
}

function zeros(size, dtype) {
  if (size.some((n) => n < 0))
    refuse("RuntimeError", "zeros: Dimension size must be non-negative.");
  return filled(size, dtype ?? "float32", 0);
}

const fullLike = (x, value, dtype) => {
  const made = empty([...x.shape], dtype ?? x.dtype);
  made.data.fill(flat(cast(value.tensor, made.dtype))[0]);
  return made;
};

/** Write a result over the tensor that it was computed from. */
function inPlace(x, { tensor }) {
  if (rank(tensor.dtype) > rank(x.dtype)) {
    refuse(
      "RuntimeError",
      `result type ${scalarName(tensor.dtype)} can't be cast to the desired output type ` +
        scalarName(x.dtype),
    );
  }
  const shape = broadcastShape(x.shape, tensor.shape);
  if (String(shape) !== String(x.shape)) {
    refuse(
      "RuntimeError",
      `output with shape ${listed(x.shape)} doesn't match the broadcast shape ${listed(tensor.shape)}`,
    );
  }
  if (x.strides.some((step, axis) => step === 0 && x.shape[axis] > 1)) {
    refuse(
      "RuntimeError",
      "unsupported operation: more than one element of the written-to tensor refers to a single " +
        "memory location. Please clone() the tensor before performing the operation.",
    );
  }
  return assign(x, tensor);
}

function equal(a, b) {
  const [one, other] = [flat(a), flat(b)];
  return String(a.shape) === String(b.shape) && one.every((value, i) => value === other[i]);
}

const GENERATORS = [new random.Generator(0)];

/** A new generator, by its number; or one of these with another seed. */
function seeded(seed, number) {
  const which = number ?? GENERATORS.length;
  GENERATORS[which] = new random.Generator(seed >>> 0);
  return String(which);
}

const named = (names, signature, compute) =>
  names.map((name) => [name + signature, (...given) => compute(name, ...given)]);

export const OPERATIONS = [
  ...named(arithmetic.UNARY, " x:t", arithmetic.unary),
  ...named(arithmetic.PAIRWISE, " x:o other:o", arithmetic.binary),
  ["bitwise_not x:t", arithmetic.bitwiseNot],
  ["round x:t decimals:i=0", arithmetic.rounded],
  ["where condition:t x:o other:o", arithmetic.where],
  ["masked_fill x:t mask:t value:o", arithmetic.maskedFill],
  ["masked_select x:t mask:t", indexing.takenWhere],
  ["clamp x:t min:O=None max:O=None", arithmetic.clamp],
  ["isclose x:t other:t rtol:n=1e-5 atol:n=1e-8 equal_nan:b=False", arithmetic.isClose],
  [
    "allclose x:t other:t rtol:n=1e-5 atol:n=1e-8 equal_nan:b=False",
    (...given) => flat(arithmetic.isClose(...given)).every(Boolean),
  ],
  ["equal x:t other:t", equal],
  ["nan_to_num x:t nan:N=None posinf:N=None neginf:N=None", arithmetic.nanToNum],
  ["lerp x:t end:t weight:o", lerp],

  ["sum x:t dim:L=None keepdim:b=False dtype:d=None", reductions.sum],
  [
    "nansum x:t dim:L=None keepdim:b=False dtype:d=None",
    (x, ...given) => reductions.sum(arithmetic.nanToNum(x, 0, Infinity, -Infinity), ...given),
  ],
  ["mean x:t dim:L=None keepdim:b=False dtype:d=None", reductions.mean],
  ["prod x:t dim:I=None keepdim:b=False dtype:d=None", reductions.prod],
  [
    "var x:t dim:L=None correction:n=1 keepdim:b=False",
    (x, dims, n, keep) => reductions.variance(x, dims, n, keep, false),
  ],
  [
    "std x:t dim:L=None correction:n=1 keepdim:b=False",
    (x, dims, n, keep) => reductions.variance(x, dims, n, keep, true),
  ],
  ["norm x:t p:n=2 dim:L=None keepdim:b=False", reductions.norm],
  [
    "amax x:t dim:L=None keepdim:b=False",
    (x, dims, keep) => reductions.extreme(x, dims, keep, false),
  ],
  [
    "amin x:t dim:L=None keepdim:b=False",
    (x, dims, keep) => reductions.extreme(x, dims, keep, true),
  ],
  [
    "argmax x:t dim:I=None keepdim:b=False",
    (x, dim, keep) => reductions.argExtreme(x, dim, keep, false),
  ],
  [
    "argmin x:t dim:I=None keepdim:b=False",
    (x, dim, keep) => reductions.argExtreme(x, dim, keep, true),
  ],
  [
    "_max x:t dim:i keepdim:b=False -> values indices",
    (x, dim, keep) => reductions.extremeWithIndex(x, dim, keep, false),
  ],
  [
    "_min x:t dim:i keepdim:b=False -> values indices",
    (x, dim, keep) => reductions.extremeWithIndex(x, dim, keep, true),
  ],
  ["all x:t dim:L=None keepdim:b=False", reductions.every],
  ["any x:t dim:L=None keepdim:b=False", reductions.some],
  ["count_nonzero x:t dim:L=None", reductions.countNonzero],
  ["logsumexp x:t dim:L keepdim:b=False", reductions.logSumExp],
  ["softmax x:t dim:i dtype:d=None", (x, dim, dtype) => reductions.softmax(x, dim, dtype, false)],
  [
    "log_softmax x:t dim:i dtype:d=None",
    (x, dim, dtype) => reductions.softmax(x, dim, dtype, true),
  ],
  ["cumsum x:t dim:i dtype:d=None", (x, dim, dtype) => reductions.cumulative(x, dim, dtype, false)],
  ["cumprod x:t dim:i dtype:d=None", (x, dim, dtype) => reductions.cumulative(x, dim, dtype, true)],
  ["cummax x:t dim:i -> values indices", (x, dim) => reductions.cumulativeExtreme(x, dim, false)],
  ["cummin x:t dim:i -> values indices", (x, dim) => reductions.cumulativeExtreme(x, dim, true)],
  [
    "sort x:t dim:i=-1 descending:b=False stable:b=False -> values indices",
    (...given) => reductions.sort(...given.slice(0, 3)),
  ],
  [
    "argsort x:t dim:i=-1 descending:b=False stable:b=False",
    (...given) => reductions.sort(...given.slice(0, 3))[1],
  ],
  [
    "topk x:t k:i dim:i=-1 largest:b=True sorted:b=True -> values indices",
    (x, k, dim, largest) => reductions.sort(x, dim, largest, k),
  ],
  ["median x:t", (x) => reductions.median(x, null, false)[0]],
  ["gather x:t dim:i index:t", reductions.gather],
  ["take_along_dim x:t indices:t dim:I=None", reductions.takeAlong],
  [
    "scatter x:t dim:i index:t src:o",
    (x, dim, index, src) => reductions.scatter(x, dim, index, src.tensor, false),
  ],
  [
    "scatter_add x:t dim:i index:t src:t",
    (x, dim, index, src) => reductions.scatter(x, dim, index, src, true),
  ],
  ["unique x:t", unique],
  ["bincount x:t minlength:i=0", bincount],

  ["matmul x:t other:t", products.matmul],
  ...named(["mm", "bmm", "mv", "dot"], " x:t other:t", products.checkedMatmul),
  ["einsum equation:s operands:T", products.einsum],
  [
    "outer x:t other:t",
    (x, other) => arithmetic.binary("mul", operand(shapes.unsqueeze(x, 1)), operand(other)),
  ],
  ["cdist x:t other:t p:n=2", products.cdist],
  ["trace x:t", (x) => reductions.sum(shapes.diagonal(x, 0, 0, 1), null, false, null)],

  ["view x:t shape:l", shapes.view],
  ["reshape x:t shape:l", shapes.reshape],
  ["flatten x:t start_dim:i=0 end_dim:i=-1", shapes.flatten],
  ["ravel x:t", (x) => shapes.flatten(x, 0, -1)],
  ["unflatten x:t dim:i sizes:l", shapes.unflatten],
  ["permute x:t dims:l", shapes.permute],
  ["transpose x:t dim0:i dim1:i", shapes.transpose],
  ["swapaxes x:t axis0:i axis1:i", shapes.transpose],
  ["swapdims x:t dim0:i dim1:i", shapes.transpose],
  ["_mT x:t", shapes.matrixTranspose],
  ["_T x:t", (x) => shapes.plainTranspose(x, "T")],
  ["t x:t", (x) => shapes.plainTranspose(x, "t")],
  ["_movedim x:t source:l destination:l", shapes.moveAxes],
  ["unsqueeze x:t dim:i", shapes.unsqueeze],
  ["squeeze x:t dim:L=None", shapes.squeeze],
  ["expand x:t size:l", (x, size) => expand(x, size)],
  ["broadcast_to x:t size:l", (x, size) => expand(x, size)],
  ["repeat x:t repeats:l", shapes.repeat],
  [
    "tile x:t dims:l",
    (x, dims) =>
      shapes.repeat(x, [...new Array(Math.max(x.shape.length - dims.length, 0)).fill(1), ...dims]),
  ],
  [
    "repeat_interleave x:t repeats:o dim:I=None",
    (x, times, dim) => indexing.repeatInterleave(x, times.tensor, dim),
  ],
  ["index_select x:t dim:i index:t", indexing.indexSelect],
  ["index_fill x:t dim:i index:t value:o", indexFill],
  ["index_copy x:t dim:i index:t source:t", indexCopy],
  ["narrow x:t dim:i start:i length:i", shapes.narrow],
  ["select x:t dim:i index:i", (x, dim, index) => shapes.selected(x, shapes.axis(dim, x), index)],
  ["_split x:t size:i dim:i=0 -> ", (x, size, dim) => shapes.split(x, size, dim)],
  ["_split_sizes x:t sizes:l dim:i=0 -> ", shapes.split],
  ["chunk x:t chunks:i dim:i=0 -> ", shapes.chunk],
  ["unbind x:t dim:i=0 -> ", shapes.unbind],
  ["cat tensors:T dim:i=0", shapes.cat],
  ["concat tensors:T dim:i=0", shapes.cat],
  ["concatenate tensors:T dim:i=0", shapes.cat],
  ["hstack tensors:T", (tensors) => shapes.stacked("hstack", 1, tensors)],
  ["vstack tensors:T", (tensors) => shapes.stacked("vstack", 0, tensors)],
  ["stack tensors:T dim:i=0", shapes.stack],
  ["flip x:t dims:l", shapes.flip],
  ["roll x:t shifts:L dims:L=None", (x, shifts, dims) => indexing.roll(x, shifts, dims ?? [])],
  ["tril x:t diagonal:i=0", (x, offset) => shapes.triangle(x, offset, false)],
  ["triu x:t diagonal:i=0", (x, offset) => shapes.triangle(x, offset, true)],
  ["diagonal x:t offset:i=0 dim1:i=0 dim2:i=1", shapes.diagonal],
  ["diag x:t diagonal:i=0", shapes.diag],
  ["diag_embed x:t offset:i=0", shapes.diagEmbed],
  ["nonzero x:t", indexing.nonzero],
  ["argwhere x:t", indexing.nonzero],
  ["contiguous x:t", contiguous],
  ["is_contiguous x:t", (x) => x.isContiguous],
  ["clone x:t", clone],
  ["_cast x:t dtype:d", (x, dtype) => exact(cast(x, dtype))],
  ["_in_place x:t source:o", inPlace],
  ["_result_type x:o other:o", (x, other) => resultType([x, other])],

  ["_arange start:n end:N step:n whole:b dtype:d", arange],
  ["_seeded seed:n number:I=None", seeded],
  [
    "_rand size:l number:i dtype:d=None",
    (size, i, dtype) => random.uniform(GENERATORS[i], size, dtype ?? "float32"),
  ],
  [
    "_randn size:l number:i dtype:d=None",
    (size, i, dtype) => random.normal(GENERATORS[i], size, dtype ?? "float32"),
  ],
  [
    "_randint low:i high:i size:l number:i",
    (low, high, size, i) => random.integers(GENERATORS[i], low, high, size),
  ],
  ["linspace start:n end:n steps:i dtype:d=None", linspace],
  ["eye n:i m:I=None dtype:d=None", eye],
  ["zeros size:l dtype:d=None", zeros],
  ["_empty size:l dtype:d=None", (size, dtype) => filled(size, dtype ?? "float32", 0)],
  ["ones size:l dtype:d=None", (size, dtype) => filled(size, dtype ?? "float32", 1)],
  [
    "full size:l fill_value:o dtype:d=None",
    (size, value, dtype) => fullLike(empty(size, dtype ?? resultType([value])), value, null),
  ],
  ["zeros_like x:t dtype:d=None", (x, dtype) => filled([...x.shape], dtype ?? x.dtype, 0)],
  ["ones_like x:t dtype:d=None", (x, dtype) => filled([...x.shape], dtype ?? x.dtype, 1)],
  ["full_like x:t fill_value:o dtype:d=None", fullLike],
  ["one_hot x:t num_classes:i=-1", oneHot],
  ["_cross_entropy x:t target:t reduction:s", crossEntropy],
  ["normalize x:t p:n=2 dim:i=1 eps:n=1e-12", normalised],
  ["layer_norm x:t normalized_shape:l weight:O=None bias:O=None eps:n=1e-5", layerNorm],
  ["cosine_similarity x:t other:t dim:i=1 eps:n=1e-8", cosine],
];
