"""How an answer is graded, and what every grader of the book must do."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

from attention_lib.checks._cases import draws, memories, rows_of_scores
from attention_lib.checks._grading import _copied, _outcome, difference, grade
from tests.checks.tables import asked_in, graders

TABLE = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]])
CASES = [(torch.tensor([[1.0, 3.0]]),), (TABLE,), (TABLE.double() * 900,)]


def mean(x):
    return x.mean(dim=-1)


def below(x):
    return x < 2.5


def stub(x):
    return ...  # your turn


def stub_with_a_gap(x):
    half = ...  # your turn
    return x * half


def empty(x):
    """Do nothing yet."""


@pytest.mark.parametrize("answer", [..., stub, stub_with_a_gap, empty, lambda x: (..., ...)])
def test_a_stub_is_no_mistake(answer):
    assert repr(grade(answer, mean, CASES)) == "Write it, then run this cell."


def forgets_to_return(x):
    x.mean(dim=-1)


def changes_its_input(x):
    x -= x.mean()
    return x


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x: x[:, 0], "row 0: 1, should be 2. Given x = [[1, 3]]."),
        (lambda x: torch.where(x[:, 0] == 4, 0, mean(x)), "row 1: 0, should be 6. Given x = [[1,"),
        (lambda x: mean(x) + 1e-3, "row 0: 2.001, should be 2."),
        (lambda x: mean(x) * torch.nan, "row 0: NaN, should be 2."),
        (lambda x: mean(x) / 0, "row 0: infinity, should be 2."),
        (lambda x: -mean(x), "every number has the wrong sign."),
        (lambda x: 3 * mean(x), "every number is 3 times what it should be."),
        (lambda x: mean(x) * 1.0005, "row 0: 2.001, should be 2. Given x = [[1, 3]]."),
        (lambda x: x.mean(-1, keepdim=True), "shape is not: expected shape (1,), got (1, 1)"),
        (lambda x: (mean(x), x), "several things are returned; the first one alone is right."),
        (lambda x: [x, mean(x)], "several things are returned; the second one alone is right."),
        (lambda x: x, "expected shape (1,), got (1, 2). Given x = [[1, 3]]."),
        (lambda x: mean(x).bool(), "expected dtype torch.float32, got torch.bool."),
        (lambda x: mean(x).tolist(), "a tensor is expected, not a list of 1."),
        (lambda x: "2", "a tensor is expected, not str."),
        (forgets_to_return, "a tensor is expected, not None (is the return missing?). Given x"),
        (changes_its_input, "the function changed its input. Given x = [[1, 3]]."),
        (lambda x: x @ x, "mat1 and mat2 shapes cannot"),  # after "mm: " from torch 2.15 on
        (lambda: 0, "it raised TypeError"),
        (torch.ones(1), "a function is expected, not Tensor."),
        (None, "a function is expected, not NoneType."),
    ],
)  # fmt: skip
def test_a_failing_answer_is_shown_where_it_fails(answer, said):
    verdict = grade(answer, mean, CASES, axes=["row"])
    assert not verdict
    assert said in verdict.message


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            lambda x: x <= 4,
            "row 0, key 2: True, should be False. Given x = [[1, 2, 3],",
        ),
        (lambda x: ~below(x), "True and False are swapped."),
        (lambda x: below(x).int(), "expected dtype torch.bool."),
        (lambda x: below(x).float(), "expected dtype torch.bool."),
        (lambda x: x, "expected dtype torch.bool, got torch.float32."),
        (lambda x: below(x).mT, "the result is transposed: its last two axes are swapped."),
    ],
)
def test_booleans_are_told_apart(answer, said):
    verdict = grade(answer, below, [(TABLE,)], axes=["row", "key"])
    assert not verdict
    assert said in verdict.message


@pytest.mark.parametrize(
    "answer",
    [
        mean,
        lambda x: x.sum(dim=-1) / x.shape[-1],
        lambda x: torch.stack([row.mean() for row in x]),
        lambda x: torch.cat([row.mean().reshape(1) for row in x]),
        lambda x: x.double().mean(dim=-1).to(x.dtype),
        lambda x: x.double().mean(dim=-1),  # a more exact dtype is no mistake
        lambda x: x.numpy().mean(axis=-1),
        lambda x: x.clone().requires_grad_().mean(dim=-1),
        lambda x: x.flip(-1).mean(dim=-1),
    ],
)
def test_other_styles_are_right(answer):
    assert grade(answer, mean, CASES)


@pytest.mark.parametrize(
    "number", [5, 5.0, np.float64(5), np.float32(5), torch.tensor(5.0).double()]
)
def test_a_number_may_be_anyones(number):
    assert grade(lambda x: number, lambda x: torch.tensor(5.0), CASES)
    assert not grade(lambda x: number + 1, lambda x: torch.tensor(5.0), CASES)


def test_one_of_several_results_is_told_with_its_axes():
    verdict = grade(
        lambda x: (x, x), lambda x: (x, mean(x)[:, None] * x), CASES, axes=["row", "key"]
    )
    assert "in result 1, row 0, key 0: 1, should be 2." in verdict.message


def test_how_many_cases_agree_is_said():
    assert repr(grade(mean, mean, CASES)) == "Correct: 3 cases agree."
    assert repr(grade(mean, mean, CASES[:2])) == "Correct: 2 cases agree."
    assert repr(grade(mean, mean, CASES[:1])) == "Correct: 1 case agrees."


def test_a_tolerance_holds_for_all_results():
    assert grade(lambda x: mean(x) * 1.01, mean, CASES, tolerance=0.02)
    assert not grade(lambda x: mean(x) * 1.01, mean, CASES)
    near, target = torch.tensor([1.0, 1.1]), torch.ones(2)
    assert difference(near, target, tolerance=0.06) == ""
    assert difference((near, near), (near, target), tolerance=0.06) == ""
    assert difference((near, near), (near, target), tolerance=0.04) != ""
    assert difference(target.double(), target.double() + 1e-8, tolerance=1e-9) != ""


def test_errors_are_alike_by_kind_and_words():
    assert difference(ValueError("no"), ValueError("no")) == ""
    assert difference(ValueError("no"), TypeError("no")) == "it raised ValueError: no"
    assert difference(ValueError("no"), ValueError("not")) == "it raised ValueError: no"


@pytest.mark.parametrize(
    ("width", "shown"), [(4, "x = [[0, 1, 2, 3], [4,"), (5, "x of shape (4, 5).")]
)
def test_an_input_is_shown_where_it_is_short(width, shown):
    case = torch.arange(4.0 * width).reshape(4, width)
    assert f" Given {shown}" in grade(lambda x: x, mean, [(case,)]).message


def test_a_mistake_is_named_only_if_all_cases_agree_with_it():
    mistakes = [(lambda x: x[:, 0], "that is the first.")]
    first_of_small = [lambda x: x[:, 0], lambda x: x[:, 0] if len(x) == 1 else x[:, 1]]
    said = [grade(answer, mean, CASES, mistakes).message for answer in first_of_small]
    assert said[0] == "that is the first."
    assert said[1].startswith("at [0]: 1, should be 2.")


def test_a_mistake_that_raises_is_known_by_its_error():
    mistakes = [(lambda x: x / x.sum(dim=-1), "the sum lost its axis: keepdim=True.")]
    normalised = lambda x: x / x.sum(dim=-1, keepdim=True)  # noqa: E731
    assert "lost its axis" in grade(lambda x: x / x.sum(-1), normalised, CASES, mistakes).message
    said = grade(raises_another, normalised, CASES, mistakes).message
    assert said.startswith("it raised ValueError: no. Given x")  # which ends as the error does


def raises_another(x):
    raise ValueError("no.")


def test_what_a_mistake_warns_of_is_not_heard():
    def alone(x):
        warnings.warn("one number has no spread", UserWarning, stacklevel=1)
        return x.amax(dim=-1)

    verdict = grade(lambda x: x.amax(dim=-1), mean, CASES, [(alone, "the largest.")])
    assert verdict.message == "the largest."


def test_chance_is_heard_of_where_there_is_some():
    for answer, random in [(lambda x: x[:, 0], False), (lambda x: torch.rand(len(x)), True)]:
        assert ("wo runs on the same input differ" in grade(answer, mean, CASES).message) == random


@pytest.mark.parametrize("target", [True, torch.tensor(False)])
def test_where_true_or_false_is_wanted_no_tensor_is_asked_for(target):
    for said in ("yes", None, [True]):
        assert difference(said, target).startswith("True or False is expected, not ")
        assert difference(said, TABLE > 2).startswith("a tensor is expected, not ")


def test_infinity_and_nan_are_equal_to_themselves_alone():
    endless = torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0])
    assert difference(endless, endless.clone()) == ""
    for i in range(4):
        for wrong in (1.0, float("nan") if i != 2 else 0.0):
            other = endless.clone()
            other[i] = wrong
            assert difference(other, endless).startswith(f"at [{i}]: ")


# Every grader of the book.


@pytest.mark.parametrize(("module", "grader"), graders())
def test_every_grader_takes_a_stub_for_a_stub(module, grader):
    for answer in (..., lambda *arguments: ...):
        assert repr(grader(answer)) == "Write it, then run this cell."


@pytest.mark.parametrize(("module", "grader"), graders())
def test_every_grader_survives_what_is_no_answer(module, grader):
    for answer in (None, 0, "x", torch.ones(2), lambda: 0, lambda *a: a, lambda *a: 1 / 0):
        verdict = grader(answer)
        assert not verdict
        assert "Write it" not in verdict.message


@pytest.mark.filterwarnings("ignore")  # what mistakes warn of nobody hears
@pytest.mark.parametrize(("module", "grader"), graders())
def test_every_grader_tells_its_mistakes_apart(module, grader):
    with asked_in(module) as asked:
        grader(lambda *arguments: 1 / 0)
    if not asked:  # it grades by a property, beside no reference
        assert grader.__name__ == "same_output"
        return
    _, reference, cases, mistakes, options = asked[0]
    tolerance = {"tolerance": options.get("tolerance")}

    def outcomes(function):
        return [_outcome(function, _copied(case)) for case in cases]

    def same(some, others):
        return not any(difference(*pair, **tolerance) for pair in zip(some, others, strict=True))

    right = outcomes(reference)
    assert same(right, right)
    known = [(outcomes(mistake), sentence) for mistake, sentence in mistakes]
    for results, sentence in known:  # a size may not fit; any other error is the grader's own
        errors = [x for x in results if isinstance(x, Exception)]
        assert all(isinstance(x, RuntimeError | IndexError | ValueError) for x in errors), sentence
    for number, (results, sentence) in enumerate(known):
        assert not same(right, results), f"accepted: {sentence}"
        for others, other in known[:number]:
            assert sentence == other or not same(results, others), (sentence, other)


def test_a_function_among_the_inputs_is_shown_by_its_name():
    """Where it has one: neither a lambda nor a name that is the argument's says anything."""

    def f(x):
        return x + 1

    for given, shown in [(mean, "mean"), (lambda x: x, "a function of ours"), (f, "a function of")]:
        verdict = grade(lambda f, x: x**3, lambda f, x: f(x), [(given, TABLE[:1] + 0.5)])
        assert f" Given f = {shown}" in verdict.message and ", x = [[1.5, " in verdict.message
        assert " at 0x" not in verdict.message


def raised_to(base, shift, power):
    return base.exp() ** power + 2 * shift


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda b, s, p: raised_to(s, b, p), "`base` and `shift` are exchanged."),
        (lambda b, s, p: raised_to(b, b, p), "`base` stands where `shift` belongs."),
        (lambda b, s, p: raised_to(b, -s, p), "`shift` has a minus sign too many."),
        (lambda b, s, p: raised_to(b.flip(-1), s, p), "`base` is read from its end."),
        (lambda b, s, p: raised_to(b, s[:1], p), "stands first in `shift` is read, `shift[0]`."),
        (lambda b, s, p: raised_to(b, s, p - 1), "`power` is one too small."),
        (lambda b, s, p: raised_to(b, s, p + 1), "`power` is one too large."),
        (lambda b, s, p: raised_to(b, s, 1), "`power` has no effect: it is taken to be 1."),
    ],
)
def test_the_right_function_of_wrong_arguments_is_known(answer, said):
    normal = draws(5)
    cases = [(normal(2, 3), normal(2, 3), 3), (normal(3, 5), normal(3, 5), 5)]
    assert said.lower() in grade(answer, raised_to, cases).message.lower()


def test_a_mistake_is_known_under_a_patch_over_its_nan():
    mistakes = [(lambda x: (x / 0 - x / 0).sum(dim=-1), "0 over 0.")]
    patched = lambda x: (x / 0 - x / 0).sum(dim=-1).nan_to_num(0.0)  # noqa: E731
    assert grade(patched, mean, CASES, mistakes).message == "0 over 0."
    assert grade(lambda x: torch.zeros(len(x)), mean, CASES).message.startswith("at [0]: 0")


def test_as_much_of_a_mistake_is_run_as_agrees():
    runs = []
    mistakes = [(lambda x: runs.append(x) or x[:, 0] + 5, "five more.")]
    assert not grade(lambda x: x[:, 0], mean, CASES, mistakes)
    assert len(runs) == 2  # the first case, as it is and patched


def test_large_scores_of_the_cases_are_whole_and_tie():
    """900 and −900 once they are divided by the root of d_k; two keys share a row at 900."""
    for queries, keys, _ in memories()[-2:]:
        scores = queries @ keys.mT / queries.shape[-1] ** 0.5
        assert torch.equal(scores, scores.round())
        assert (scores.amax(), scores.amin()) == (900, -900)
    rows = [row for (scores,) in rows_of_scores() for row in scores.flatten(0, 1)]
    highest = {row.amax().item(): (row == row.amax()).sum().item() for row in rows}
    assert highest[900] == 2 and highest[-900] == 1


def test_cases_are_no_readers_seeds():
    code = "from attention_lib.checks._cases import *; print(draws(0)(3), memories()[2])"
    said = {
        subprocess.check_output(
            [sys.executable, "-c", code], env=os.environ | {"ATTENTION_SEED_SHIFT": shift}
        )
        for shift in ("0", "17")
    }
    assert len(said) == 1
