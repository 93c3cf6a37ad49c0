"""Running a student's function: printing, errors, endless loops and ``sys.exit`` included."""

import ctypes
import inspect
import io
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from queue import SimpleQueue
from typing import Any

import torch
from torch import Tensor

from attention_workbook.exercises.engine.words import type_of

__all__ = ["SECONDS", "Failure", "attempt", "copied", "one_thread", "run", "same_inputs"]

Function = Callable[..., Any]
Case = tuple[Any, ...]

SECONDS = 5.0  # a right answer takes milliseconds a case
TICK = 0.05  # how often one looks whether a running answer imports a module


class TimeIsUp(SystemExit):
    """Raised in an answer that runs too long; a thread that it ends says nothing."""


class Failure:
    """The error of an answer that did not return, and the line of its own code that failed.

    Parameters
    ----------
    error : BaseException
        As it was caught.
    function : callable
        The answer; lines are shown from its file (or notebook cell) only.

    Examples
    --------
    >>> def answer(x):
    ...     return x[5]
    >>> run(answer, (torch.zeros(2),)).sentence().split("`:")[0]
    'your function stops with an IndexError in the line `return x[5]'
    """

    def __init__(self, error: BaseException, function: Function) -> None:
        self.error = error
        code = getattr(inspect.unwrap(function), "__code__", None)
        self.file = code.co_filename if code is not None else ""

    @property
    def own(self) -> list[traceback.FrameSummary]:
        """The steps of the traceback that are the student's own lines."""
        frames = traceback.extract_tb(self.error.__traceback__)
        return [frame for frame in frames if frame.filename == self.file]

    @property
    def line(self) -> str:
        """The line of the student's code that failed; an empty string where none is known."""
        line = (self.own[-1].line or "") if self.own else ""
        return line if len(line) <= 80 else f"{line[:77]}..."

    @property
    def ends(self) -> bool:
        """Whether nothing more can be learnt: it ran too long, or ends the program."""
        return isinstance(self.error, TimeIsUp | SystemExit)

    @property
    def is_stub(self) -> bool:
        """Whether the code says that it is not written yet, or still stands on a ``...``."""
        if isinstance(self.error, NotImplementedError):
            frames = traceback.extract_tb(self.error.__traceback__)
            return frames[-1:] == self.own[-1:] and "NotImplementedError" in (
                self.line or repr(self.error)
            )
        return isinstance(self.error, TypeError | AttributeError) and "llipsis" in str(self.error)

    def sentence(self) -> str:
        """Say what happened, and where in the student's code."""
        where = f" in the line `{self.line}`" if self.line else ""
        if isinstance(self.error, TimeIsUp):
            return (
                f"your function was still running after {SECONDS:g} seconds{where}. "
                "Does a loop there never reach its end?"
            )
        if isinstance(self.error, SystemExit):
            return f"your function ends the whole program{where}. Return the result instead."
        error, text = type_of(self.error), str(self.error).strip().split("\n")[0]
        detail = f": {text.rstrip('.')}." if text else "."
        return f"your function stops with {error}{where}{detail} {_of_error(text)}".strip()


def attempt(function: Function, case: Case) -> Any:
    """Return what one of our own functions returns for copies of the arguments, or its failure."""
    try:
        return function(*copied(case))
    except Exception as error:
        return Failure(error, function)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch compute in one thread: tiny tensors only wait for a second one."""
    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def run(function: Function, arguments: Case, *, aloud: bool = False) -> Any:
    """Return what a function returns for these very arguments, or its :class:`Failure`.

    Its printing and its warnings are shown if ``aloud``. It runs in a thread beside ours, so that
    one that never comes back, even from a call into C, can be left behind.
    """
    with ExitStack() as stack:
        if not aloud:
            stack.enter_context(redirect_stdout(io.StringIO()))
            stack.enter_context(redirect_stderr(io.StringIO()))
            stack.enter_context(warnings.catch_warnings(action="ignore"))
        worker = _idle.pop() if _idle else _Worker()
        outcome = worker.outcome(function, arguments)
        if not worker.busy:
            _idle.append(worker)
    return outcome


class _Worker:
    """A thread that runs one function after the other: PyTorch is slow to start in a new one."""

    def __init__(self) -> None:
        self.busy = False
        self.tasks: SimpleQueue[tuple[Function, Case, list[Any], threading.Event]] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def outcome(self, function: Function, given: Case) -> Any:
        """Return a function's result or failure; it stays busy if the function never ends."""
        outcome: list[Any] = []
        done = threading.Event()
        self.busy = True
        self.tasks.put((function, given, outcome, done))
        try:
            self._wait(done)
        finally:
            if not done.is_set():
                self._stop()
        self.busy = not outcome or isinstance(getattr(outcome[0], "error", None), TimeIsUp)
        return outcome[0] if outcome else Failure(TimeIsUp(), function)

    def _work(self) -> None:
        torch.set_num_threads(1)
        while True:
            function, given, outcome, done = self.tasks.get()
            try:
                outcome.append(function(*given))
            except (Exception, SystemExit, TimeIsUp) as error:
                outcome.append(Failure(error, function))
            done.set()

    def _wait(self, done: threading.Event) -> None:
        """Wait for the limit at most; while the thread imports a module, the clock stands still."""
        left = SECONDS
        while left > 0:
            before = time.monotonic()
            if done.wait(min(left, TICK)):
                return
            if not self._imports():
                left -= time.monotonic() - before

    def _imports(self) -> bool:
        frame = sys._current_frames().get(self.thread.ident or 0)
        while frame is not None:
            if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
                return True
            frame = frame.f_back
        return False

    def _stop(self) -> None:
        """Raise :class:`TimeIsUp` in the thread, which ends a loop in Python."""
        ident = ctypes.c_ulong(self.thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(TimeIsUp))
        self.thread.join(TICK)


_idle: list[_Worker] = []


def copied(case: Case) -> Case:
    """Return copies of tensors; an argument that is passed twice is copied once.

    Examples
    --------
    >>> x = torch.zeros(2)
    >>> a, b = copied((x, x))
    >>> a is b, a is x
    (True, False)
    """
    copies = {id(x): x.clone() for x in case if isinstance(x, Tensor)}
    return tuple(copies.get(id(x), x) for x in case)


def same_inputs(given: Case, original: Case) -> list[bool]:
    """Tell for each argument whether a call has left it as it was.

    Examples
    --------
    >>> x = torch.zeros(2)
    >>> same_inputs((x + 1, 3), (x, 3))
    [False, True]
    """
    return [
        not isinstance(a, Tensor)
        or (a.shape == b.shape and torch.equal(a.detach().nan_to_num(), b.nan_to_num()))
        for a, b in zip(given, original, strict=True)
    ]


_ERRORS = [
    (
        ("must match the size of tensor b", "broadcast"),
        "Two tensors meet whose sizes do not fit; sizes are compared from the last axis.",
    ),
    (
        ("cannot be multiplied", "batch2 tensor"),
        "In a matrix product, rows of the left tensor must be as long as columns of the right.",
    ),
    (
        (
            *("but got: double != float", "but got: float != double"),
            *("scalar type Double but found Float", "scalar type Float but found Double"),
        ),
        "float32 and float64 meet. Where an input is float64, make yours like it: `zeros_like(x)`, "
        "or `.to(x.dtype)`.",
    ),
    (("invalid for input of size",), "The sizes asked for do not hold all the numbers."),
    (("Dimension out of range",), "The tensor has fewer axes than that."),
    (
        ("return_types.max", "return_types.min"),
        "With an axis, `max` and `min` return values and places: take `.values`, or call `amax`.",
    ),
    (("out of bounds", "out of range"), "An index runs past the end of its axis."),
]


def _of_error(text: str) -> str:
    """Explain the commonest of PyTorch's errors."""
    return next(
        (explanation for parts, explanation in _ERRORS if any(part in text for part in parts)), ""
    )
