// Answers on a page: how a number is read, and that Python's rules are judged as Python judges.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { judge, readNumbers } from "../../../workbook/exercises/exercise.js";

test("a number may be written as people write them", () => {
  const cases = [
    ["12", [12]],
    [" 12 ", [12]],
    ["-3", [-3]],
    ["−0.5", [-0.5]],
    ["+2", [2]],
    ["0.5", [0.5]],
    ["0,5", [0.5]],
    [".5", [0.5]],
    [",5", [0.5]],
    ["1/2", [0.5]],
    ["2,5/5", [0.5]],
    ["50%", [0.5]],
    ["12,5 %", [0.125]],
    ["1e-3", [0.001]],
    ["5.", [5]],
    ["655 360", [655360]],
    ["655_360", [655360]],
    ["655\u202f360", [655360]],
    ["655,360", [655360, 655.36]],
    ["1,048,576", [1048576]],
    ["1,560", [1560, 1.56]],
    ["nan", [NaN]],
    ["0/0", [NaN]],
    ["1/0", [Infinity]],
  ];
  for (const [text, numbers] of cases) assert.deepEqual(readNumbers(text), numbers, text);
});

test("what is no number is none", () => {
  for (const text of ["", "twelve", "1/2/3", "--1", "1.2.3", "1,2,3", "12a", "%", "e5", "0x10"]) {
    assert.deepEqual(readNumbers(text), [], text);
  }
});

test("where a comma can be read in two ways, the right one counts", () => {
  const rules = { kind: "number", tolerance: 1e-9, correct: "yes", mistakes: [] };
  assert.ok(judge({ ...rules, right: 655360 }, "655,360").passed);
  assert.ok(judge({ ...rules, right: 655.36 }, "655,360").passed);
});

test("rules and answers written by Python get Python's verdicts", () => {
  const table = JSON.parse(readFileSync(process.env.ATTENTION_ANSWERS, "utf-8"));
  for (const { rules, answer, passed, message } of table) {
    assert.deepEqual(judge(rules, answer), { passed, message }, `${rules.question}: ${answer}`);
  }
});
