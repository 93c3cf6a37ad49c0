# Running an answer in the page. At SHARED stand parts of the notebook's own module.

import io
import sys

import host
import torch
from torch import Tensor, TimeIsUp

from attention_workbook.exercises.engine.words import type_of

SHARED

ANSWER = "answer.py"  # the reader's code is compiled under this name
_source = []  # its lines
_failed_at = [0]  # the last of its lines that stopped
_open_line = [False]  # whether what was printed last did not end its line
NO_FILES = "this page has no files; the notebook has them"
NO_NUMPY = "this page has `torch` and no `numpy`; the notebook has both"


class Failure(Failure):
    def __init__(self, error, function):
        self.error = in_words_of_python(error)
        stream = io.StringIO()
        sys.print_exception(error, stream)
        self.frames = [
            line.strip() for line in stream.getvalue().split("\n") if line.startswith("  File")
        ]

    @property
    def own(self):
        return [frame for frame in self.frames if '"' + ANSWER + '"' in frame]

    @property
    def line(self):
        if not self.own:
            return ""
        number = int(self.own[-1].split(", line ")[1].split(",")[0])
        _failed_at[0] = number
        line = ([line for line in _source[:number] if line.strip()] or [""])[-1].strip()
        return line if len(line) <= 80 else line[:77] + "..."

    @property
    def ends(self):
        return isinstance(self.error, (TimeIsUp, SystemExit))

    @property
    def is_stub(self):
        if isinstance(self.error, NotImplementedError):
            return "NotImplementedError" in self.line
        told = str(self.error)
        return isinstance(self.error, (TypeError, AttributeError)) and (
            "llipsis" in told or "''" in told
        )


def in_words_of_python(error):
    """Return an error as Python would word it."""
    told = str(error)
    if isinstance(error, NameError):
        if told.startswith("local variable"):
            return UnboundLocalError(told)
        told = told.replace("isn't defined", "is not defined")
        if "'np'" in told or "'numpy'" in told:
            told += ": " + NO_NUMPY
        return NameError(told)
    if isinstance(error, OSError) and error.errno:
        return OSError(NO_FILES)
    lacking = _lacking(told)
    if lacking:
        return type(error)("this page does not know %s; the notebook does" % lacking)
    if told.startswith("only slices with step=1"):
        return TypeError("this page cuts tuples and texts without a step only; the notebook can")
    if isinstance(error, ZeroDivisionError):
        return ZeroDivisionError("division by zero")
    if told.startswith("unsupported types for __") or told.startswith("unsupported type for __"):
        sign = _SIGNS.get(told.split("__")[1], "?")
        kinds = told.split(": ", 1)[1].split(", ")
        if len(kinds) == 2:
            return TypeError(
                "unsupported operand type(s) for %s: %s and %s" % (sign, kinds[0], kinds[1])
            )
        return TypeError("bad operand type for unary %s: %s" % (sign, kinds[0]))
    if told.startswith("function takes ") or told.startswith("function missing"):
        return TypeError("the function has other arguments: " + told)
    return error


def _lacking(told):
    """Return what the page's Python lacks, out of MicroPython's words; "" for other errors."""
    if told.startswith("module '") and "' has no attribute '" in told:
        return told[8:-1].replace("' has no attribute '", ".")
    return told[18:] if told.startswith("can't import name ") else ""


class UnboundLocalError(NameError):
    pass


_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "** or pow()", "matmul": "@", "and": "&", "or": "|", "xor": "^", "neg": "-",
    "invert": "~", "gt": ">", "lt": "<", "ge": ">=", "le": "<=",
}  # fmt: skip


def attempt(function, case):
    since = host.mark()
    try:
        result = function(*copied(case))
    except Exception as error:
        return Failure(error, function)
    _release(since, result)
    return result


def _release(since, result):
    """Forget the tensors made on the way to a result."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    host.release(since, *[x._n for x in results if isinstance(x, Tensor)])


def run(function, given, *, aloud=False):
    host.begin(aloud)
    try:
        return function(*given)
    except MemoryError:
        raise  # without memory nothing can be said here: the page says it
    except BaseException as error:
        return Failure(error, function)
    finally:
        if _open_line[0]:
            write_line()
        host.end()


def write_line(*given, end="\n", flush=False, **named):
    """Print; a line that code leaves open is ended when the code ends."""
    print(*given, end=end, **named)
    _open_line[0] = not str(end).endswith("\n")


class one_thread:
    """The page has one thread anyway."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False
