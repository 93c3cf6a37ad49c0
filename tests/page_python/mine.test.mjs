import assert from "node:assert/strict";
import { test } from "node:test";

import { joined, statements, taken } from "../../page_python/mine.js";
import { ownParts } from "../../page_python/parts.js";

const NAMES = {
  parts: ["my_lookup", "my_unit_scores", "my_many_heads"],
  library: ["causal_mask"],
};
const SCORES =
  "def my_unit_scores(queries, keys, std):\n    return torch.matmul(queries, keys.mT)\n";
const HEADS =
  "import math\n\n# cut\ndef cut(x, n):\n    return x.unflatten(-1, (n, -1))\n\n" +
  "def unused(x):\n    return x\n\ndef my_many_heads(q, k, v, n, mask):\n" +
  '    """Text with def my_lookup( in it."""\n    return my_unit_scores(cut(q, n), k, math.sqrt(1))\n';

const join = (part, source, mine = "", helpers = "") =>
  joined(part, source, { ...NAMES, mine, helpers }).text;

test("statements are found by their names, over lines and in strings", () => {
  const text =
    'a = """\nb = 1\n"""\nfrom m import (\n    x,\n    y as z,\n)\n@d\ndef f(\n    p,\n):\n    q = 1\n' +
    "    return q  # )\n\n# of g\nclass g:\n    pass\nif a:\n    c = 1\nelse:\n    c = 2\n";
  assert.deepEqual(
    statements(text).map(({ name }) => name),
    ["a", "x", "z", "f", "g"],
  );
  assert.equal(statements(text)[3].text.split("\n").length, 6);
});

test("a part brings its imports, and stands under the notebook's first lines", () => {
  const [first, after] = join("my_unit_scores", SCORES).split('"""\n\n');
  assert.ok(first.startsWith('"""Your functions, each as it was'));
  assert.equal(after, `import torch\n\n\n${SCORES}`);
});

test("a part takes along what it calls, and nothing else", () => {
  const text = join("my_many_heads", HEADS);
  const names = statements(text).map(({ name }) => name);
  assert.deepEqual(names.slice(0, 2).sort(), ["math", "of_the_book"]);
  assert.ok(text.includes('\n\n\nmy_unit_scores = of_the_book("my_unit_scores")\n'));
  assert.ok(!text.includes("unused") && !text.includes("# cut"));
  assert.deepEqual(ownParts(text, NAMES.parts), ["my_many_heads"]);
});

test("helpers of the chapter go along, its copies of the parts do not", () => {
  const helpers = "def split(x):\n    return x\ndef my_unit_scores(a, b, c):\n    return a\n";
  const text = join(
    "my_many_heads",
    "def my_many_heads(x):\n    return split(my_unit_scores(x))\n",
    "",
    helpers,
  );
  assert.ok(text.includes("def split(x)"));
  assert.ok(!text.includes("def my_unit_scores"));
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

test("a later part leaves the earlier ones as they stand", () => {
  const text = join("my_many_heads", HEADS, join("my_unit_scores", SCORES));
  assert.ok(text.includes(SCORES) && !text.includes('of_the_book("'));
});

test("a helper that another part calls is not overwritten", () => {
  const mine = join("my_many_heads", HEADS);
  const source = "def cut(x):\n    return x\ndef my_lookup(x):\n    return cut(x)\n";
  const { text, failed } = joined("my_lookup", source, { ...NAMES, mine });
  assert.equal(text, undefined);
  assert.equal(failed, "your `my_many_heads` uses another `cut`. Rename this one.");
});

test("a part comes out of the file as it went in, with its helpers and without the other parts", () => {
  const mine = join("my_many_heads", HEADS, join("my_unit_scores", SCORES));
  const text = taken("my_many_heads", mine, NAMES.parts);
  assert.ok(text.startsWith("def cut(x, n):"), text);
  assert.ok(text.includes("\n\n\ndef my_many_heads(") && !text.includes("def my_unit_scores"));
  assert.equal(join("my_many_heads", text, mine), mine);
  const other = `import numpy as np\n\n\n${SCORES.replace("torch.", "np.")}`;
  assert.equal(taken("my_unit_scores", `${other}\n\ndef unused():\n    pass\n`, []), other);
});
