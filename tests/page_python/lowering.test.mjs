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
  ["return *a, b", "return  py_tuple(*a, b)"],
  ["x = 1, *a", "x = py_tuple( 1, *a)"],
  ["x[i, *j]", "x[py_tuple(i, *j)]"],
  ["def f(a, /, b): return a / b", "def f(a, b): return a / b"],
  ["{1: a, **d, 2: {3: b}}", "py_dict((1, a), *py_pairs(d),( 2, py_dict((3, b))))"],
  ["{k: [v] for k, v in z}", "py_dict(*[(k, [v] ) for k, v in z])"],
  ["x = {}; y = {1, 2}; z = {a for a in b}", "x = py_dict(); y = {1, 2}; z = {a for a in b}"],
  ['f"{x:.2f} {{a}} {y!r}"', 'py_text(py_formatted(x, ".2f"), " {a} ", py_formatted(repr(y)))'],
  ['print(f"{x=}" "b")', 'print(py_text("x=", py_formatted(repr(x))) + "b")'],
  ['f"""a\n{x[0]}"""', 'py_text("""a\n""", py_formatted(x[0]))'],
  ['"%.3f" % x + "{} {}".format(x, 1)', 'py_percent("%.3f") % x + py_format("{} {}", x, 1)'],
];

for (const [source, expected] of CASES) {
  test(source, () => assert.equal(lowered(source), expected));
}
