import assert from "node:assert/strict";
import { test } from "node:test";

import { completed, joined, partUses, taken } from "../../page_python/mine.js";
import { ownParts } from "../../page_python/parts.js";

const NAMES = {
  parts: ["my_lookup", "my_unit_scores", "my_many_heads"],
  library: ["causal_mask"],
};
const SCORES =
  "def my_unit_scores(queries, keys, std):\n    return torch.matmul(queries, keys.mT)\n";
const HEADS =
  "# cut\ndef cut(x, n):\n    return x.unflatten(-1, (n, -1))\n\n\n\n" +
  "def my_many_heads(q, k, v, n, mask):\n" +
  "    return my_unit_scores(cut(q, n), k, math.sqrt(1)) + causal_mask(n)\n";
const NOTEBOOK =
  '"""Mine."""\n\nimport torch\nfrom math import sqrt\n\n\ndef cut(x):\n    return sqrt(x)\n\n\n' +
  "def my_lookup(x):\n    return cut(x)\n\n\n" +
  'my_unit_scores = of_the_book("my_unit_scores")\n';

const join = (part, source, mine = "", helpers = "") =>
  joined(part, source, { ...NAMES, mine, helpers }).text;
const failed = (part, source, mine) => joined(part, source, { ...NAMES, mine }).failed;

test("a part is kept whole, under the notebook's first lines and what the page knows", () => {
  const [first, after] = join("my_unit_scores", SCORES).split('"""\n\n');
  assert.ok(first.startsWith('"""Your functions, each as it was'));
  assert.ok(after.startsWith("import math\n\nimport torch\n"));
  assert.ok(after.endsWith(`\n\n\n${SCORES}`));
});

test("a part brings what it uses of the library and of the book", () => {
  const text = join("my_many_heads", HEADS);
  assert.ok(text.includes("\n\n\nfrom attention_lib import causal_mask\n\n# cut\ndef cut(x, n):"));
  assert.ok(text.includes('import of_the_book\n\nmy_unit_scores = of_the_book("my_unit_scores")'));
  assert.deepEqual(ownParts(text, NAMES.parts), ["my_many_heads"]);
  assert.ok(partUses(text, "my_many_heads", "my_unit_scores"));
  assert.ok(!partUses(text, "my_unit_scores", "my_many_heads"));
});

test("helpers of the chapter go along where they are used", () => {
  const helpers = "def halve(x):\n    return x\n";
  const calls = "def my_many_heads(x):\n    return halve(x)\n";
  assert.ok(join("my_many_heads", calls, "", helpers).includes(`${helpers}\n\n${calls}`));
  assert.ok(!join("my_unit_scores", SCORES, "", helpers).includes("halve"));
  const twice = join(
    "my_lookup",
    "def my_lookup(x):\n    return halve(x)\n",
    join("my_many_heads", calls, "", helpers),
    helpers,
  );
  assert.equal(twice.split("def halve").length, 2);
});

test("an own part takes the place of the book's, and of an older one", () => {
  const first = join("my_unit_scores", SCORES, join("my_many_heads", HEADS));
  assert.deepEqual(ownParts(first, NAMES.parts), ["my_unit_scores", "my_many_heads"]);
  assert.ok(!first.includes('of_the_book("'));
  const other = SCORES.replace("torch.matmul(queries, keys.mT)", "queries @ keys.mT");
  const second = join("my_unit_scores", other, first);
  assert.ok(second.includes("queries @ keys.mT") && !second.includes("torch.matmul"));
  assert.equal(join("my_unit_scores", other, second), second);
});

test("in a notebook's file a part takes the place of its function and its helper", () => {
  const text = join(
    "my_lookup",
    "def cut(x):\n    return 2\n\ndef my_lookup(x):\n    return cut(x)\n",
    NOTEBOOK,
  );
  assert.ok(!text.includes("sqrt(x)") && text.startsWith('"""Mine."""\n\nimport torch\n'));
  assert.ok(join("my_unit_scores", SCORES, NOTEBOOK).includes("return sqrt(x)"));
});

test("what another part calls is not overwritten", () => {
  const said = "your `my_many_heads` uses another `cut`. Rename this one.";
  const source = "def cut(x):\n    return x\n\ndef my_lookup(x):\n    return cut(x)\n";
  assert.equal(failed("my_lookup", source, join("my_many_heads", HEADS)), said);
  const heads = "def cut(x):\n    return x\n\ndef my_many_heads(x):\n    return cut(x)\n";
  assert.equal(failed("my_many_heads", heads, NOTEBOOK), said.replace("many_heads", "lookup"));
});

test("a part that defines another, or stands close to another, is not kept", () => {
  const both = `${SCORES}\ndef my_lookup(x):\n    return x\n`;
  const copied = "your code defines `my_unit_scores`, too. Leave that out: yours is called.";
  assert.equal(failed("my_lookup", both, ""), copied);
  const close =
    "`my_lookup` and `my_unit_scores` stand together in mine.py. Put two blank lines between them.";
  assert.equal(failed("my_unit_scores", SCORES, both), close);
});

test("a part comes out of the file as it went in, with its helpers and without the other parts", () => {
  const mine = join("my_many_heads", HEADS, join("my_unit_scores", SCORES));
  const text = taken("my_many_heads", mine, NAMES.parts);
  assert.ok(text.includes("\n\ndef my_many_heads(") && !text.includes("def my_unit_scores"));
  assert.equal(join("my_many_heads", text, mine), mine);
  const lookup =
    "from math import sqrt\n\n\ndef cut(x):\n    return sqrt(x)\n\n\ndef my_lookup(x):\n    return cut(x)\n";
  assert.equal(taken("my_lookup", NOTEBOOK, NAMES.parts), lookup);
});

test("parts that a text lacks come from the one before", () => {
  const before = join("my_many_heads", HEADS, join("my_unit_scores", SCORES));
  const text = completed("def my_unit_scores(x):\n    return x\n", before, NAMES.parts);
  assert.deepEqual(ownParts(text, NAMES.parts), ["my_unit_scores", "my_many_heads"]);
  assert.ok(text.startsWith("def my_unit_scores(x):") && !text.includes("torch.matmul"));
  assert.equal(completed(before, text, NAMES.parts), before);
});
