"""Exercises with more than one right result."""

import functools
from collections.abc import Callable
from typing import Any

from torch import Tensor

from workbook.exercises._exercise import Exercise
from workbook.exercises._running import copied
from workbook.exercises._verdict import Verdict

__all__ = ["ManyRight"]

Function = Callable[..., Any]


class ManyRight(Exercise):
    """An exercise that takes each result for another one, in which all right results are equal.

    Parameters
    ----------
    right : callable
        The right solution; its results have to stay as they are.
    settled : callable
        ``settled(result, *arguments)`` returns the tensor by which a result is judged.
    **declared
        The rest of an :class:`Exercise`.

    Examples
    --------
    >>> import torch
    >>> def root(x):
    ...     return x ** 0.5
    >>> either = ManyRight(root, lambda result, x: result.abs(), cases=[(torch.tensor([4.0]),)])
    >>> either(lambda x: -(x**0.5)).passed
    True
    """

    def __init__(self, right: Function, settled: Function, **declared: Any) -> None:
        super().__init__(right, **declared)
        self.settled = settled

    def __call__(self, answer: object) -> Verdict:
        """Judge an answer by its settled results."""
        if answer is ... or not callable(answer):
            return super().__call__(answer)
        return super().__call__(_Settled(answer, self.settled))


class _Settled:
    """An answer whose results are settled; it shows the answer's own code and signature."""

    def __init__(self, answer: Function, settled: Function) -> None:
        functools.update_wrapper(self, answer)
        self.__code__ = getattr(answer, "__code__", None)
        self.answer, self.settled = answer, settled

    def __call__(self, *given: Any) -> Any:
        kept = copied(given)
        found = self.answer(*given)
        return self.settled(found, *kept) if isinstance(found, Tensor) else found
