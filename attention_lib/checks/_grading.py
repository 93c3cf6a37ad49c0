"""How a grader works: run the reader's function beside a reference and known mistakes."""

import torch

from attention_lib._arguments import shape_of

__all__ = ["Verdict", "grade", "grade_number"]


class Verdict:
    """What a grader says: ``passed``, and a sentence for the reader.

    Parameters
    ----------
    passed : bool
        Whether the answer is right.
    message : str
        One or two sentences; shown as the cell's output.

    Examples
    --------
    >>> Verdict(True, "every weight is right.")
    Correct: every weight is right.
    >>> bool(Verdict(False, "the rows do not sum to 1."))
    False
    """

    def __init__(self, passed, message):
        self.passed = passed
        self.message = message

    def __bool__(self):
        return self.passed

    def __repr__(self):
        return f"{'Correct' if self.passed else 'Not yet'}: {self.message}"


def grade(answer, reference, cases, mistakes=(), *, tolerance=1e-5):
    """Compare a function with a reference on several cases.

    Parameters
    ----------
    answer : callable
        The reader's function.
    reference : callable
        The right one; returns a tensor.
    cases : list of tuple
        Arguments, tensors among them; each function gets copies of its own.
    mistakes : sequence of (callable, str)
        Wrong functions that readers are known to write, and what to say of each. The one
        that agrees with the answer in every case is named.
    tolerance : float
        Largest absolute and relative difference that still counts as equal.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> mean = lambda x: x.mean(dim=-1)
    >>> cases = [(torch.tensor([[1.0, 3.0]]),)]
    >>> grade(lambda x: x.sum(dim=-1) / 2, mean, cases)
    Correct: 1 case agrees.
    >>> grade(lambda x: x.sum(dim=-1), mean, cases, [(lambda x: x.sum(-1), "that is the sum.")])
    Not yet: that is the sum.
    """
    if not callable(answer):
        return Verdict(False, f"a function is expected, not {type(answer).__name__}.")
    results = []
    for number, case in enumerate(cases, start=1):
        given = _copied(case)
        try:
            result = answer(*given)
        except Exception as error:  # whatever the reader's code raises is shown to the reader
            return Verdict(False, f"case {number} raised {type(error).__name__}: {error}")
        if not _equal(given, case):
            return Verdict(False, f"case {number}: the function changed its input.")
        results.append(result)
    expected = [reference(*_copied(case)) for case in cases]
    complaints = [_compare(*pair, tolerance) for pair in zip(results, expected, strict=True)]
    if not any(complaints):
        noun, verb = ("case", "agrees") if len(cases) == 1 else ("cases", "agree")
        return Verdict(True, f"{len(cases)} {noun} {verb}.")
    for mistake, sentence in mistakes:
        known = [mistake(*_copied(case)) for case in cases]
        if not any(_compare(*pair, tolerance) for pair in zip(results, known, strict=True)):
            return Verdict(False, sentence)
    number = next(i for i, complaint in enumerate(complaints, start=1) if complaint)
    return Verdict(False, f"case {number}: {complaints[number - 1]}.")


def grade_number(answer, right, mistakes=(), *, tolerance=1e-3):
    """Compare a number that the reader read or reckoned with the right one.

    Parameters
    ----------
    answer : float
        The reader's number.
    right : float
        The right one.
    mistakes : sequence of (float, str)
        Wrong numbers that readers are known to give, and what to say of each.
    tolerance : float
        Largest absolute difference that still counts as equal.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> grade_number(0.5, 0.5)
    Correct: 0.5 it is.
    >>> grade_number(2, 0.5, [(2, "that is the inverse.")])
    Not yet: that is the inverse.
    """
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        return Verdict(False, f"a number is expected, not {answer!r}.")
    if abs(answer - right) <= tolerance:
        return Verdict(True, f"{answer:g} it is.")
    for mistake, sentence in mistakes:
        if abs(answer - mistake) <= tolerance:
            return Verdict(False, sentence)
    return Verdict(False, f"{answer:g} is too {'small' if answer < right else 'large'}.")


def _copied(case):
    return tuple(x.clone() if isinstance(x, torch.Tensor) else x for x in case)


def _equal(given, case):
    pairs = zip(given, case, strict=True)
    return all(
        torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs if isinstance(b, torch.Tensor)
    )


def _compare(result, expected, tolerance):
    """Return what is wrong with a result, or an empty string."""
    if not isinstance(result, torch.Tensor):
        return f"a tensor is expected, not {type(result).__name__}"
    if result.shape != expected.shape:
        return f"expected shape {shape_of(expected)}, got {shape_of(result)}"
    if result.dtype != expected.dtype:
        return f"expected dtype {expected.dtype}, got {result.dtype}"
    if torch.allclose(
        result.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=True
    ):
        return ""
    if result.isnan().any() and not expected.isnan().any():
        return "the result holds NaN"
    worst = (result.double() - expected.double()).abs().nan_to_num(0.0).max().item()
    return f"the largest difference is {worst:.3g}"
