"""What a task demands of the way, and not of the result: an answer is watched while it runs.

A rule looks at what one call did. Where that could not be seen, the rule is not kept.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode

from workbook.exercises._running import Failure, copied, run

__all__ = ["Rule", "Seen", "asks_once", "calls", "makes", "without"]

Function = Callable[..., Any]
Case = tuple[Any, ...]
# where a tensor leaves PyTorch, and what is done with its numbers can no longer be seen
DOORS = {"torch.numpy", "torch.__array__", "torch.__dlpack__", "torch.tolist"}


@dataclass
class Seen:
    """What a call did.

    Parameters
    ----------
    called : Counter of str
        How often each function was called: PyTorch's by names such as ``torch.softmax`` (a method
        and an operator too), the library's by ``attention_lib.masked_softmax``, those that stand
        beside the answer by ``own.helper``.
    made : list of (str, tuple of int, int)
        PyTorch's steps: the operation, the shape of the tensor that it made, and how many numbers
        are stored for it.
    asked : int
        How often an argument that is a function was called.
    """

    called: Counter[str] = field(default_factory=Counter)
    made: list[tuple[str, tuple[int, ...], int]] = field(default_factory=list)
    asked: int = 0


@dataclass(frozen=True)
class Rule:
    """A demand on the way to the result.

    Parameters
    ----------
    sentence : str
        What is said of an answer with the right result that does not keep the rule.
    kept : callable
        ``kept(seen)`` tells whether a call kept it.
    case : tuple, optional
        The arguments of the call; by default those of the exercise's last plain case.
    inside : bool
        Whether it matters what is done with tensors that leave PyTorch.
    """

    sentence: str
    kept: Callable[[Seen], bool]
    case: Case | None = None
    inside: bool = False

    def broken(self, answer: Function, case: Case) -> str:
        """Return what is to be said of an answer; an empty string if the rule is kept.

        Examples
        --------
        >>> rule = without("softmax", sentence="the task asks for a way without `softmax`.")
        >>> rule.broken(lambda x: x.softmax(dim=-1), (torch.zeros(2),))
        'the task asks for a way without `softmax`.'
        >>> rule.broken(lambda x: x.exp() / x.exp().sum(), (torch.zeros(2),))
        ''
        """
        seen = Seen()
        outcome = run(_watched(answer, seen), copied(self.case or case))
        if isinstance(outcome, Failure):
            return f"the rules of the task could not be checked: {outcome.sentence()}"
        left = sorted(DOORS & seen.called.keys())
        if self.inside and left:
            door = left[0].removeprefix("torch.")
            return (
                f"the numbers are right, but a tensor leaves PyTorch through `{door}`, and what is "
                "made there cannot be seen. Stay with tensors."
            )
        return "" if self.kept(seen) else self.sentence


def without(*names: str, sentence: str) -> Rule:
    """Demand that none of these functions is called; those of PyTorch without ``torch.``."""
    full = {name if "." in name else f"torch.{name}" for name in names}
    return Rule(sentence, lambda seen: not full & seen.called.keys())


def calls(name: str, sentence: str) -> Rule:
    """Demand that a function of PyTorch is called."""
    return Rule(sentence, lambda seen: f"torch.{name}" in seen.called)


def asks_once(sentence: str) -> Rule:
    """Demand that a function among the arguments is called only once."""
    return Rule(sentence, lambda seen: seen.asked == 1)


def makes(allowed: Callable[[str, tuple[int, ...], int], bool], case: Case, sentence: str) -> Rule:
    """Demand that every tensor that is made is allowed: by operation, shape, stored numbers."""
    return Rule(sentence, lambda seen: all(allowed(*x) for x in seen.made), case, inside=True)


def _watched(answer: Function, seen: Seen) -> Function:
    """Return an answer that notes what it does."""

    def asked(function: Function) -> Function:
        def ask(*given: Any, **named: Any) -> Any:
            seen.asked += 1
            return function(*given, **named)

        return ask

    def noted(frame: FrameType, event: str, _: Any) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        if event == "call" and module == answer.__module__:
            seen.called[f"own.{frame.f_code.co_name}"] += 1
        elif event == "call" and module.startswith("attention_lib."):
            seen.called[f"attention_lib.{frame.f_code.co_name}"] += 1

    def watched(*given: Any) -> Any:
        given = tuple(asked(x) if callable(x) and not isinstance(x, Tensor) else x for x in given)
        with _Names(seen), _Steps(seen):
            sys.setprofile(noted)
            try:
                return answer(*given)
            finally:
                sys.setprofile(None)

    return watched


class _Names(TorchFunctionMode):
    """Note by its name what of PyTorch an answer calls, methods and operators too."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(self, function: Any, _: Any, given: Any = (), named: Any = None) -> Any:
        names = (resolve_name(function) or getattr(function, "__name__", "?")).split(".")
        name = names[-2] if names[-1] == "__get__" else names[-1]  # `x.mT` is looked up
        self.seen.called[f"torch.{name}"] += 1
        return function(*given, **(named or {}))


class _Steps(TorchDispatchMode):
    """Note every tensor that PyTorch makes."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.seen = seen

    def __torch_dispatch__(self, function: Any, _: Any, given: Any = (), named: Any = None) -> Any:
        result = function(*given, **(named or {}))
        name = function.overloadpacket.__name__
        for made in result if isinstance(result, tuple | list) else [result]:
            if isinstance(made, Tensor):
                stored = made.untyped_storage().nbytes() // made.element_size()
                self.seen.made.append((name, tuple(made.shape), stored))
        return result
