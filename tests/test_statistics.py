"""The chapters' claims on random numbers: no bad luck refuses them, and no wrong theory passes.

Two chapters test averages by ``agrees``: within six standard errors. Here the cells of one run, and
each call must (1) refuse an average beyond six standard errors, which chance reaches about twice in
a billion tries, and no other, and (2) refuse the nearest plausible wrong theory, a factor of the
root of two, whatever the seed. ``tests/nightly/test_statistics.py`` has the other chapter, and runs
every other claim with its theory made wrong.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

BOOK = Path(__file__).resolve().parent.parent / "book"
SLOW = {"softmax-gradient-52", "softmax-gradient-62", "softmax-gradient-58"}  # these train

plt.switch_backend("agg")


def cells(chapter):
    """The code that computes, as ``{id: source}``: no exercise, no picture, no deliberate error."""
    found = {}
    for cell in json.loads((BOOK / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if "## Exercises" in source:
            return found
        draws = "plt.show()" in source or "interact(experiment" in source
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


@pytest.fixture(scope="module")
def chapter():
    ran = {}

    def run(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("ATTENTION_SEED_SHIFT", raising=False)
            return ran.get(name) or ran.setdefault(name, Chapter(name))

    return run


def test_an_average_is_refused_beyond_six_standard_errors_and_no_sooner(chapter, name="variance"):
    calls = chapter(name).calls
    assert len(calls) >= 12
    for agrees, samples, _ in calls:
        mean, error = samples.mean().item(), samples.std().item() / len(samples) ** 0.5
        for sign in (-1, 1):
            agrees(samples, mean + sign * 5.9 * error)
            with pytest.raises(AssertionError, match="is off"):
                agrees(samples, mean + sign * 6.1 * error)


def test_an_average_refuses_the_nearest_wrong_theory(chapter, name="variance"):
    """More than twice the bound away, and a tenth of the typical size where 0 is claimed."""
    for agrees, samples, expected in chapter(name).calls:
        bound = 6 * samples.std().item() / len(samples) ** 0.5
        typical = samples.square().mean().sqrt().item()
        wrong = [2**0.5 * expected, expected / 2**0.5] if expected else [0.1 * typical]
        for theory in wrong:
            assert abs(theory - expected) > 2 * bound, (expected, theory, bound)
            with pytest.raises(AssertionError, match="is off"):
                agrees(samples, theory)
