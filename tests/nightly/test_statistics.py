"""The chapters' claims on random numbers: no bad luck refuses them, and no wrong theory passes.

A chapter tests averages by ``agrees``: within six standard errors. Here the cells of one run, and
each call must (1) refuse an average beyond six standard errors, which chance reaches about twice in
a billion tries, and no other, and (2) refuse the nearest plausible wrong theory, a factor of the
root of two, whatever the seed. Every other claim must fail if its theory is made wrong.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch

BOOK = Path(__file__).resolve().parents[2] / "book"
SLOW = {"softmax-gradient-52", "softmax-gradient-58"}  # these train

plt.switch_backend("agg")


def cells(chapter):
    """The code that claims something or prepares it: no exercise, no mere picture, no error."""
    found = {}
    for cell in json.loads((BOOK / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if "## Exercises" in source:
            return found
        draws = "plt.show()" in source and "assert" not in source
        errs = "raises-exception" in cell["metadata"].get("tags", [])
        if cell["cell_type"] == "code" and not draws and not errs:
            found[cell["id"]] = source
    raise AssertionError(f"{chapter} has no exercises")


class Chapter:
    """A chapter that was run once; what each of its cells found is kept."""

    def __init__(self, name):
        self.name, self.cells, self.before, self.calls = name, cells(name), {}, []
        names = {}
        for key, source in self.cells.items():
            self.before[key] = dict(names)
            if key not in SLOW:
                exec(compile(source, key, "exec"), names)
            if callable(plain := names.get("agrees")) and plain.__name__ == "agrees":
                names["agrees"] = self.recording(plain)

    def recording(self, agrees):
        def recorded(samples, expected):
            self.calls.append((agrees, samples, float(expected)))
            return agrees(samples, expected)

        return recorded

    def run(self, key, replacements=(), names=None):
        """Run a cell again, changed, among the names that it found."""
        source = self.cells[key]
        for old, new in replacements:
            assert old in source, f"{self.name}, {key}: {old!r} is not there any more"
            source = source.replace(old, new)
        names = self.before[key] | (names or {})
        exec(compile(source, key, "exec"), names)
        return names


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setattr(plt, "show", plt.close)


@pytest.fixture(scope="module")
def chapter():
    ran = {}

    def run(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("ATTENTION_SEED_SHIFT", raising=False)
            return ran.get(name) or ran.setdefault(name, Chapter(name))

    return run


@pytest.mark.parametrize("name", ["softmax-gradient"])
def test_an_average_is_refused_beyond_six_standard_errors_and_no_sooner(chapter, name):
    calls = chapter(name).calls
    assert len(calls) >= 6
    for agrees, samples, _ in calls:
        mean, error = samples.mean().item(), samples.std().item() / len(samples) ** 0.5
        for sign in (-1, 1):
            agrees(samples, mean + sign * 5.9 * error)
            with pytest.raises(AssertionError, match="is off"):
                agrees(samples, mean + sign * 6.1 * error)


@pytest.mark.parametrize("name", ["softmax-gradient"])
def test_an_average_refuses_the_nearest_wrong_theory(chapter, name):
    """More than twice the bound away, and a tenth of the typical size where 0 is claimed."""
    for agrees, samples, expected in chapter(name).calls:
        bound = 6 * samples.std().item() / len(samples) ** 0.5
        typical = samples.square().mean().sqrt().item()
        wrong = [2**0.5 * expected, expected / 2**0.5] if expected else [0.1 * typical]
        for theory in wrong:
            assert abs(theory - expected) > 2 * bound, (expected, theory, bound)
            with pytest.raises(AssertionError, match="is off"):
                agrees(samples, theory)


# chapter, cell, what is made wrong in it, by what
WRONG_THEORIES = [
    ("variance", "variance-74", 'largest["divided by √d"]', 'largest["divided by d"]'),
    ("variance", "variance-74", 'largest["not divided"]', 'largest["divided by d"]'),
    ("softmax-gradient", "softmax-gradient-self-2", "scaled_dot_scores(X, X)", "X @ X.mT / width"),
    ("softmax-gradient", "softmax-gradient-self-2", "(X, X)", "(X, X.roll(1, dims=1))"),
    ("softmax-gradient", "softmax-gradient-self-3", "traps)", "traps).mT.roll(1, dims=-1)"),
    ("after-training", "after-training-many-3", "(2 * logs)", "logs"),  # a missing 2
    ("after-training", "after-training-many-3", "2 * logs).sqrt()", "4 * logs)"),
    ("after-training", "after-training-many-5", "bounds, 2 * bounds, logs", "logs, bounds, bounds"),
    ("after-training", "after-training-many-5", "2 * bounds", "torch.ones(5)"),
    (
        "after-training",
        "after-training-many-5",
        "bounds, 2 * bounds, logs",
        "bounds, bounds, bounds",
    ),
    ("softmax-gradient", "softmax-gradient-12", "3 * drawn", "0.3 * drawn"),
    ("softmax-gradient", "softmax-gradient-12", "many = ", "many = 2 * "),
    ("softmax-gradient", "softmax-gradient-74", ".half()", ".float()"),
    ("softmax-gradient", "softmax-gradient-74", "scale=1.0", "scale=512**-0.5"),
    ("softmax-gradient", "softmax-gradient-74", "(2, 16, 64)", "(2, 2, 2)"),
]


@pytest.mark.parametrize(("name", "key", "old", "new"), WRONG_THEORIES)
def test_a_claim_fails_if_its_theory_is_wrong(chapter, name, key, old, new):
    ran = chapter(name)
    ran.run(key)
    with pytest.raises(AssertionError):
        ran.run(key, [(old, new)])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("exponent=0.0", "exponent=0.5"),  # no scaling would do the same
        ("exponent=0.5", "exponent=0.25"),
        ("exponent=0.5", "exponent=1.0"),
        ("d**-exponent", "(2 * d) ** -exponent"),  # the root of two
        ("(rows, 16, 8)", "(rows, 16, 16)"),
    ],
)
def test_claim_on_the_size_of_a_gradient_fails_for_other_scalings(chapter, old, new):
    with pytest.raises(AssertionError):
        chapter("softmax-gradient").run("softmax-gradient-15", [(old, new)])


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
def test_claim_on_live_rows_fails_for_other_powers_of_the_width(chapter, power):
    """Not at all, as its fourth root, in proportion: each is refused, for shares and for sizes."""
    ran = chapter("softmax-gradient")
    unscaled = ran.before["softmax-gradient-68"]["unscaled"]
    rows = unscaled.shape[1]
    count = torch.tensor([0.8, 0.6, 0.4, 0.4 * 4**-power]) * rows
    others = (torch.arange(rows) < count.unsqueeze(1)) * 50.0
    with pytest.raises(AssertionError):
        ran.run("softmax-gradient-68", names={"unscaled": others})


def test_claim_fails_if_scaled_and_unscaled_heads_learn_alike(chapter):
    ran = chapter("softmax-gradient")
    for level in (0.99, 0.5):  # both learn, or neither does

        def trained(scale, rates, d, level=level):
            return [torch.full((5, 120), level)] * 3, torch.full((5, 3), level)

        with pytest.raises(AssertionError):
            ran.run("softmax-gradient-52", names={"trained": trained})
