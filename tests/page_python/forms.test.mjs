import assert from "node:assert/strict";
import { test } from "node:test";

import { judgeLines } from "../../page_python/forms.js";

const FORM = {
  lines: [
    { text: "a = x", makes: ["a"], uses: [] },
    { text: "b = a + 1", makes: ["b"], uses: ["a"] },
    { text: "return b", makes: ["return"], uses: ["b"] },
    { text: "a = y", makes: ["a"], uses: [] },
    { text: "c = a", makes: ["c"], uses: ["a"] },
  ],
  verdicts: { "0,1,2": [true, "Correct."], "1,2,3": [false, "Not yet: y."] },
};
const CASES = [
  [[0, 1, 2], "Correct."],
  [[3, 1, 2], "Not yet: y."],
  [[0, 4, 1, 2], "Correct."],
  [[1, 0, 2], "Not yet: `a` is used before a line makes it."],
  [[0, 3, 1, 2], "Not yet: two lines make `a`; one of them is too many."],
  [[0, 1, 2, 4], "Not yet: a line after `return` never runs."],
  [[0, 1], "Not yet: nothing is returned."],
  [[], "Not yet: nothing is returned."],
];

for (const [order, said] of CASES) {
  test(`lines ${order}`, () => assert.equal(judgeLines(FORM, order)[1], said));
}
