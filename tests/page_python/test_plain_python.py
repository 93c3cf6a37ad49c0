"""What readers write around torch: the page gives what Python gives, or says what it lacks."""

import pytest
import torch
import torch.nn.functional as F

from tests.page_python.test_torch_of_the_page import in_the_page

NAMES = "\n".join(["v = torch.tensor([3.0, 1.0, 2.0])", "n = 3", "a = [1, 2]", "d = {'a': 1}", ""])
# one program a line
SAME = """
max(v[0], v[2]), max(v[1], v[2]), min(v[0], v[2]), max(v), min(v)
max([1, 5, 3]), max(2, 7, key=lambda x: -x), max([], default=4), min("hello"), max({"a": 1, "b": 2})
sorted(v), sorted([v[0], v[1]], reverse=True), sorted("bca"), sorted([3, 1, 2], key=lambda x: -x)
[1, 2, 3, 4][1::2], [1, 2, 3][::-1], v[::2], (1, 2, 3)[1:], "abc"[-1:]
torch.Tensor([1, 2.5]), torch.Tensor([[1, 2]]).shape
v.to(int).dtype, v.to(float).dtype, v.to(bool), v.to(dtype=int), v.type(torch.int64)
torch.zeros(2, dtype=float), torch.ones(1, dtype=int), torch.tensor([0, 1], dtype=bool)
torch.finfo(torch.float16).max, torch.finfo(torch.bfloat16).eps, torch.finfo(torch.float16).min
list({"query": 1, "key": 2, "value": 3, "d_k": 4, "mask": 5, "a": 6, "b": 7, "c": 8})
list({x: x * x for x in [9, 2, 8, 3]}), list({1: 2, **d, 0: 3}.items()), {**d}, {}
[*{"b": {"d": 1, "c": 2}, "a": lambda x: x}], {"a": n if n else 0}, {1}, {"x": a[0:1]}
f"{v.sum()}", f"{v.sum():.3f}", f"{v[0]:8.2f}|", "%.3f" % v.sum(), "%d" % n, f"{n:>4}", "%s" % n
f"{v}", str(v.sum()), f"{v.sum().item()}", "{:.2f}".format(v[0]), f"{n!r} {d['a']}", f"{v[0]:.1e}"
(lambda: (*a, 3))(), [*a, *a], v[*[0]], n << 1, n >> 1, 1 << n
torch.arange(-3, 3) << 1, 1 << torch.arange(4), torch.arange(-5, 5) >> 1, torch.tensor([True]) << 2
v.clone().mul_(2), v.clone().clamp_(0, 2), v.median(), torch.nn.Softmax(dim=-1)(v)
round(2.567, 2), sum([v[0], v[1]]), abs(-v[0]), all([v[0] > 1]), any(v > 5), bool(v[0]), int(v[0])
"""
PROGRAMS = [line for line in SAME.split("\n") if line] + [
    "def f(x, /, y):\n    return x + y\nresult = f(1, 2)",
    "def f(a):\n    return *a, 3\nresult = f([1, 2])",
    "x = *a, 3\nresult = x",
    "from collections import Counter\nc = Counter('aba')\nc['z'] += 1\nresult = c['a'], c['q']",
    "from collections import Counter\nresult = Counter([1, 1, 2]).most_common(1)",
    "from collections import deque\nq = deque([1, 2], maxlen=2)\nq.append(3)\nresult = q.popleft()",
    "from collections import defaultdict\ne = defaultdict(list)\ne[1].append(2)\nresult = e[1]",
]


# what the page lacks, and how it says so
REFUSED = {
    "(1, 2, 3)[::2]": "only slices with step=1",
    "v.clone().unsqueeze_(0)": "this page does not know Tensor.unsqueeze_: it has a part of torch",
    "v.median(-1)": "this page does not know the median along an axis: it has a part of torch",
    "torch.tril_indices(3, 3)": "this page does not know torch.tril_indices: it has a part",
    "torch.sofmax(v, -1)": "this page does not know torch.sofmax; did you mean `softmax`?",
    "v.trasnpose(0, 1)": "this page does not know Tensor.trasnpose; did you mean `transpose`?",
    "torch.zeros(-1)": "zeros: Dimension size must be non-negative.",
    "torch.ones(2, -3)": "Trying to create tensor with negative dimension -3: [2, -3]",
    "v << 1": "\"lshift_cpu\" not implemented for 'Float'",
    "torch.Tensor(3)": "this page does not know torch.Tensor of a size",
}


def expected(code):
    world = {"torch": torch, "F": F}
    exec(NAMES + assigned(code), world)
    return world["result"]


def assigned(code):
    """A program that leaves a text as its result."""
    before, _, value = code.rpartition("result = ")
    return f"{before}result = repr(({value}))"


@pytest.fixture(scope="module")
def answers():
    programs = [*PROGRAMS, *REFUSED]
    found = in_the_page([([], NAMES + assigned(code)) for code in programs])
    return dict(zip(programs, found, strict=True))


@pytest.mark.parametrize("code", PROGRAMS)
def test_python_around_torch_is_pythons(answers, code):
    assert answers[code] == {"value": repr(expected(code))}


@pytest.mark.parametrize("code", REFUSED)
def test_the_page_says_what_it_lacks(answers, code):
    assert answers[code]["message"].startswith(REFUSED[code])
