import assert from "node:assert/strict";
import { test } from "node:test";

import { lowered } from "../../page_python/lowering.js";

const CASES = [
  ["x = [*a, 1]", "x = py_list(*a, 1)"],
  ["return (*a, 2)", "return py_tuple(*a, 2)"],
  ["f(*a, b)", "f(*a, b)"],
  ["print(*x)", "print(*x)"],
  ["a, *b = c", "a, *b = c"],
  ["def f(*args): return args", "def f(*args): return args"],
  ["x *= 2  # half", 'x = py_inplace(x, "*", 2  )# half'],
  ["if x: y //= 2; z = 3", 'if x: y = py_inplace(y, "//", 2); z = 3'],
  ["s /= (a +\n  b)\nt", 's = py_inplace(s, "/", (a +\n  b))\nt'],
  ["x[0] *= 2", "x[0] *= 2"],
  ["x = '[*a]' + '#' # [*b]", "x = '[*a]' + '#' # [*b]"],
  ["z = [\n  *a, # one\n  b]", "z = py_list(\n  *a, # one\n  b)"],
  ["x = a * b ** c", "x = a * b ** c"],
  ["return (0 <= i - j) & (i - j < n)", "return (py_left(0) <= i - j) & (i - j < n)"],
  ["if n > x: y = 0.5 < x", "if py_left(n) > x: y = py_left(0.5) < x"],
  ["a == b < c; a >> b; a.b > c; f(a=b)", "a == b < c; a >> b; a.b > c; f(a=b)"],
  ['x = """\n[*a]\n"""', 'x = """\n[*a]\n"""'],
];

for (const [source, expected] of CASES) {
  test(source, () => assert.equal(lowered(source), expected));
}
