"""What a task demands of the way, and not of the result: an answer is watched while it runs.

A rule looks at what one call did. Where that could not be seen, the rule is not kept.
"""

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode, resolve_name

import attention_lib
from attention_workbook.exercises.engine.running import Failure, copied, run

__all__ = ["Rule", "Trace", "asks_once", "makes", "without"]

Function = Callable[..., Any]
Case = tuple[Any, ...]
# calls by which a tensor leaves PyTorch
EXITS = {"numpy", "__array__", "__dlpack__", "tolist"}


@dataclass
class Trace:
    """What a call did.

    Parameters
    ----------
    called : Counter of str
        How often each function was called, by names such as ``torch.softmax``, methods and
        operators too. The library's functions, ``attention_lib.masked_softmax``, and those that
        stand beside the answer, ``own.helper``, count once where its code names them.
    tensors : list of (str, tuple of int, int)
        The tensors that calls of PyTorch gave back: the function, the shape, and how many numbers
        are stored.
    exits : set of str
        How decimal numbers left PyTorch, to where nobody watches.
    argument_calls : int
        How often an argument that is a function was called.
    result
        What came back.
    """

    called: Counter[str] = field(default_factory=Counter)
    tensors: list[tuple[str, tuple[int, ...], int]] = field(default_factory=list)
    exits: set[str] = field(default_factory=set)
    argument_calls: int = 0
    result: Any = None


@dataclass(frozen=True)
class Rule:
    """A demand on the way to the result.

    Parameters
    ----------
    sentence : str
        What is said of an answer with the right result that does not keep the rule.
    kept : callable
        ``kept(trace)`` tells whether a call kept it.
    case : tuple, optional
        The arguments of the call; by default those of the exercise's last plain case.
    inside : bool
        Whether it matters what is done with tensors that leave PyTorch.

    Examples
    --------
    >>> rule = Rule("one product is enough.", lambda trace: trace.called["torch.Tensor.matmul"] < 2)
    >>> rule.sentence
    'one product is enough.'
    """

    sentence: str
    kept: Callable[[Trace], bool]
    case: Case | None = None
    inside: bool = False

    def broken(self, answer: Function, case: Case) -> str:
        """Return what is to be said of an answer; an empty string if the rule is kept.

        Examples
        --------
        >>> import torch
        >>> rule = without("softmax", sentence="the task asks for a way without `softmax`.")
        >>> rule.broken(lambda x: x.softmax(dim=-1), (torch.zeros(2),))
        'the task asks for a way without `softmax`.'
        >>> rule.broken(lambda x: x.exp() / x.exp().sum(), (torch.zeros(2),))
        ''
        """
        trace = Trace()
        resolve_name(Tensor.exp)  # makes its tables before the answer's clock runs
        trace.result = run(_watched(answer, trace), copied(self.case or case))
        if isinstance(trace.result, Failure):
            return f"the rules of the task could not be checked: {trace.result.sentence()}"
        if self.inside and trace.exits:
            return (
                f"the numbers are right, but a tensor leaves PyTorch through `{min(trace.exits)}`, "
                "and what is made there cannot be seen. Stay with tensors."
            )
        return "" if self.kept(trace) else self.sentence


def without(*names: str, sentence: str) -> Rule:
    """Demand that none of these functions is called; those of PyTorch without ``torch.``.

    Examples
    --------
    >>> import torch
    >>> rule = without("softmax", sentence="write the softmax yourself.")
    >>> rule.broken(lambda x: x.softmax(dim=-1), (torch.zeros(2),))
    'write the softmax yourself.'
    """
    full = {name if "." in name else f"torch.{name}" for name in names}
    return Rule(sentence, lambda trace: not full & trace.called.keys())


def asks_once(sentence: str) -> Rule:
    """Demand that a function among the arguments is called only once.

    Examples
    --------
    >>> import torch
    >>> rule = asks_once("one call is enough.")
    >>> rule.broken(lambda score, x: score(x) + score(x), (torch.exp, torch.zeros(2)))
    'one call is enough.'
    """
    return Rule(sentence, lambda trace: trace.argument_calls == 1)


def makes(allowed: Callable[[str, tuple[int, ...], int], bool], case: Case, sentence: str) -> Rule:
    """Demand that every tensor that is made is allowed: by operation, shape, stored numbers.

    Examples
    --------
    >>> import torch
    >>> rule = makes(lambda name, shape, count: count < 9, (torch.zeros(3),), "no table is needed.")
    >>> rule.broken(lambda x: x[:, None] * x, (torch.zeros(2),))
    'no table is needed.'
    """
    return Rule(sentence, lambda trace: all(allowed(*x) for x in trace.tensors), case, inside=True)


def _watched(answer: Function, trace: Trace) -> Function:
    """Return an answer that notes what it does."""
    trace.called.update(_named(answer, set()))

    def counted(function: Function) -> Function:
        def call(*arguments: Any, **named: Any) -> Any:
            trace.argument_calls += 1
            return function(*arguments, **named)

        return call

    @functools.wraps(answer)
    def watched(*arguments: Any) -> Any:
        arguments = tuple(
            counted(x) if callable(x) and not isinstance(x, Tensor) else x for x in arguments
        )
        with _Watch(trace):
            return answer(*arguments)

    return watched


def _named(function: Function, known: set[CodeType]) -> Iterator[str]:
    """Yield the functions of the library, and those beside an answer, that its code names."""
    function = inspect.unwrap(function)
    codes = [getattr(function, "__code__", None)]
    world = getattr(function, "__globals__", {})
    while codes:
        code = codes.pop()
        if code is None or code in known:
            continue
        known.add(code)
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
        for name in code.co_names:
            value = world.get(name, getattr(attention_lib, name, None))
            module = getattr(value, "__module__", None) or ""
            if module.startswith("attention_lib"):
                yield f"attention_lib.{name}"
            elif isinstance(value, FunctionType) and module == function.__module__:
                yield f"own.{name}"
                yield from _named(value, known)


class _Watch(TorchFunctionMode):
    """Note what of PyTorch an answer calls, methods and operators too, and what that makes.

    A dispatch mode would see inside PyTorch's own steps, and takes seconds to import.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.trace = trace

    def __torch_function__(
        self, function: Any, _: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        names = (resolve_name(function) or getattr(function, "__name__", "?")).split(".")
        name = names[-2] if names[-1] == "__get__" else names[-1]  # `x.mT` is looked up
        self.trace.called[f"torch.{name}"] += 1
        self.trace.exits |= {name} if name in EXITS and arguments[0].is_floating_point() else set()
        result = function(*arguments, **(keywords or {}))
        for x in result if isinstance(result, tuple | list) else [result]:
            if isinstance(x, Tensor):
                self.note(name, x)
        return result

    def note(self, name: str, x: Tensor) -> None:
        try:
            stored = x.untyped_storage().nbytes() // x.element_size()
        except (NotImplementedError, RuntimeError):  # one of those that vmap handles at once
            self.trace.exits.add("vmap")
            stored = x.numel()
        self.trace.tensors.append((name, tuple(x.shape), stored))
