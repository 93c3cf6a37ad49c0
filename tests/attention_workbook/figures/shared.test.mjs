// The helpers that all figures share: what needs no page.

import assert from "node:assert/strict";
import test from "node:test";

import {
  DTYPES,
  colorMap,
  createMotion,
  createModel,
  entropy,
  fixed,
  parseState,
  placeNames,
  readableOn,
  round,
  short,
  softmax,
  uniqueId,
} from "../../../attention_workbook/figures/_shared/index.js";

test("fixed shows so many decimals, a true minus, and no minus zero", () => {
  const cases = [
    [0.0625, "0.063"],
    [-1.5, "−1.500"],
    [-0.0001, "0.000"],
    [NaN, "NaN"],
    [Infinity, "∞"],
    [-Infinity, "−∞"],
  ];
  for (const [value, text] of cases) assert.equal(fixed(value), text);
  assert.equal(fixed(1.25, 1), "1.3");
});

test("short shows at most three significant digits", () => {
  const cases = [
    [1 / 32, "0.0313"],
    [2048, "2050"],
    [-0.5, "−0.5"],
    [1, "1"],
    [0, "0"],
  ];
  for (const [value, text] of cases) assert.equal(short(value), text);
});

test("softmax is that of the scores, however large", () => {
  assert.deepEqual(softmax([0, 0]), [0.5, 0.5]);
  assert.deepEqual(softmax([5000, -5000]), [1, 0]);
  const [first, second] = softmax([Math.log(3), 0]);
  assert.ok(Math.abs(first - 0.75) < 1e-15 && Math.abs(second - 0.25) < 1e-15);
});

test("entropy counts 0 ln 0 as 0", () => {
  assert.equal(entropy([1, 0]), 0);
  assert.ok(Math.abs(entropy([0.25, 0.25, 0.25, 0.25]) - Math.log(4)) < 1e-15);
});

test("round is Math.fround for float32", () => {
  const values = [
    0.1,
    -0.1,
    1 / 3,
    1e-40,
    1.4e-45,
    0.7e-45,
    0.71e-45,
    3.5e38,
    -3.5e38,
    3.4028235e38,
    3.4028236e38,
    2 ** -149,
    2 ** -150,
    1.5 * 2 ** -150,
    16777217,
    16777219,
    0,
    -0,
    NaN,
    Infinity,
  ];
  let seed = 1;
  for (let i = 0; i < 2000; i += 1) {
    seed = (seed * 48271) % 2147483647;
    values.push((seed / 2147483647 - 0.5) * 2 ** ((seed % 300) - 155));
  }
  for (const value of values)
    assert.ok(Object.is(round(value, "float32"), Math.fround(value)), value);
});

test("round to float16 and bfloat16: ties to even, subnormals, overflow", () => {
  const cases = [
    ["float16", 2049, 2048],
    ["float16", 2051, 2052],
    ["float16", 65519, 65504],
    ["float16", 65520, Infinity],
    ["float16", -65520, -Infinity],
    ["float16", 2 ** -24, 2 ** -24],
    ["float16", 2 ** -25, 0],
    ["float16", 1.01 * 2 ** -25, 2 ** -24],
    ["float16", 0.1, 0.0999755859375],
    ["bfloat16", 257, 256],
    ["bfloat16", 259, 260],
    ["bfloat16", 0.1, 0.10009765625],
    ["bfloat16", 2 ** -133, 2 ** -133],
    ["bfloat16", 2 ** -134, 0],
    ["bfloat16", 3.4e38, Infinity],
    ["float64", 0.1, 0.1],
  ];
  for (const [dtype, value, wanted] of cases)
    assert.equal(round(value, dtype), wanted, `${dtype} ${value}`);
  assert.ok(Object.is(round(-1e-30, "float16"), -0));
  for (const dtype of DTYPES) assert.ok(Number.isNaN(round(NaN, dtype)));
});

test("a colour map joins its stops by straight lines", () => {
  globalThis.getComputedStyle = () => ({ getPropertyValue: () => " #000000, #ff8000, #ffffff" });
  const colour = colorMap(null);
  assert.deepEqual(colour(0), [0, 0, 0]);
  assert.deepEqual(colour(0.25), [128, 64, 0]);
  assert.deepEqual(colour(0.5), [255, 128, 0]);
  assert.deepEqual(colour(1), [255, 255, 255]);
  assert.deepEqual(colour(7), [255, 255, 255]);
});

test("text on a colour is dark on light and light on dark", () => {
  assert.equal(readableOn([253, 231, 37]), "attention-on-light");
  assert.equal(readableOn([68, 1, 84]), "attention-on-dark");
});

test("the host's model tells who listens, of changes alone", () => {
  const model = createModel({ d: 1, len_k: 2 });
  const heard = [];
  const listener = () => heard.push(model.get("d"));
  model.on("change:d", listener);
  model.set("d", 1);
  model.set("len_k", 3);
  assert.deepEqual(heard, []);
  model.set("d", 2);
  assert.deepEqual(heard, [2]);
  assert.equal(model.listenerCount, 1);
  model.off("change:d", listener);
  model.off("change:nothing", listener);
  model.set("d", 3);
  assert.deepEqual(heard, [2]);
  assert.equal(model.listenerCount, 0);
});

test("a listener that goes while others are told does no harm", () => {
  const model = createModel({ d: 1 });
  const heard = [];
  const first = () => {
    heard.push("first");
    model.off("change:d", first);
  };
  model.on("change:d", first);
  model.on("change:d", () => heard.push("second"));
  model.set("d", 2);
  model.set("d", 3);
  assert.deepEqual(heard, ["first", "second", "second"]);
});

test("bytes in the state become a DataView", () => {
  const state = parseState('{"weights":{"base64":"AP88Pg=="},"tokens":["</script>",null]}');
  assert.deepEqual([...new Uint8Array(state.weights.buffer)], [0, 255, 60, 62]);
  assert.deepEqual(state.tokens, ["</script>", null]);
});

test("an id is never given twice", () => {
  const ids = Array.from({ length: 1000 }, () => uniqueId("masked"));
  assert.equal(new Set(ids).size, 1000);
  assert.match(ids[0], /^attention-masked-[a-z0-9]+$/);
});

test("a name stands above its point, a spare one beside it, or below where the sides are taken", () => {
  const point = (x, y, rest = {}) => ({ at: [x, y], color: "key", name: "0.42", r: 6, ...rest });
  const spare = point(100, 50, { r: 0, spare: true });
  const places = (points) => placeNames(points, 200, 120).map(([, { x, y }]) => [x, y]);
  assert.deepEqual(places([point(100, 50)]), [[100, 39]]);
  assert.deepEqual(places([spare]), [[131, 55]]);
  const crowded = [point(50, 50), point(150, 50)];
  assert.deepEqual(places([...crowded, spare])[2], [100, 45]);
});

test("all of one draw is of one moment: nothing has arrived that was drawn on its way", () => {
  globalThis.matchMedia = () => ({ matches: false });
  let time = 0;
  const motion = createMotion({ again() {}, isHeld: () => false, now: () => time });
  const draw = (target) => {
    motion.begin();
    return motion.glide("height", target, { length: 100 });
  };
  draw(0);
  draw(1);
  time = 99;
  const height = draw(1);
  time = 101;
  assert.ok(height < 1 && motion.isMoving());
  assert.equal(draw(1), 1);
  assert.ok(!motion.isMoving());
});
