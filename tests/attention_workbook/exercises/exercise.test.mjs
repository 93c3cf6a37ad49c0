// Answers on a page: how a number is read, and that Python's rules are judged as Python judges.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { judge, readNumbers } from "../../../attention_workbook/exercises/engine/exercise.js";

const table = JSON.parse(readFileSync(process.env.ATTENTION_ANSWERS, "utf-8"));

test("a number is read as Python reads it", () => {
  for (const { text, question, numbers } of table.read) {
    const python = numbers.map((x) => Number(x.replace("inf", "Infinity")));
    assert.deepEqual(readNumbers(text, question), python, text);
  }
});

test("where a comma can be read in two ways, the right one counts", () => {
  const rules = { kind: "number", tolerance: 1e-9, correct: "yes", mistakes: [] };
  assert.ok(judge({ ...rules, right: 655360 }, "655,360").passed);
  assert.ok(judge({ ...rules, right: 655.36 }, "655,360").passed);
});

test("rules and answers written by Python get Python's verdicts", () => {
  for (const { rules, answer, passed, message } of table.judged) {
    assert.deepEqual(judge(rules, answer), { passed, message }, `${rules.question}: ${answer}`);
  }
});
