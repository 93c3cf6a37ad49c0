# Judging what a reader wrote: called from the page.

import builtins
import inspect

import host
import host_python
import py_collections
import py_math
import torch

import attention_lib
from attention_workbook.exercises.engine import edits, running
from attention_workbook.exercises.engine.running import ANSWER, Failure
from attention_workbook.exercises.engine.verdict import UNWRITTEN

# what chapters import from the library, as far as the page has it
LIBRARY = [name for name in dir(attention_lib) if name[0] != "_" and name != "torch"]
_import = builtins.__import__


# modules that readers do not get, those of the page itself and those of its files
_OF_FILES = ("os", "pathlib", "vfs")
_NOT_FOR_READERS = ("js", "jsffi", "host", "door") + _OF_FILES


class Absent:
    """Stands for something that this page lacks, and says so where it is used."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        raise ImportError(self._sentence())

    def __call__(self, *given, **named):
        raise ImportError(self._sentence())

    def _sentence(self):
        if self._module == "numpy":
            return running.NO_NUMPY
        if self._module in _OF_FILES:
            return "this page has no `%s` and no files; the notebook has both" % self._module
        return "this page has no module `%s`; the notebook has it" % self._module


def _absent(name, members):
    """Return what stands for ``a`` after ``import a.b``, or for ``a.b`` in ``from a.b import``."""
    whole, *inner = name.split(".")
    top = last = Absent(whole)
    for part in inner:
        setattr(last, part, Absent(whole))
        last = getattr(last, part)
    for member in members or ():
        setattr(last, member, Absent(whole))
    return last if members else top


def _guarded_import(name, known=None, own=None, members=None, level=0):
    """Import what a reader asks for, but not what belongs to the page itself."""
    if name == "math":
        return py_math
    whole = name.split(".")[0]
    if whole == "attention_lib":
        return attention_lib
    if name == "collections" and members:
        for member in members:
            if not hasattr(py_collections, member):
                return _absent(name, members)
        return py_collections
    if whole not in _NOT_FOR_READERS:
        try:
            return _import(name, known, own, members, level)
        except ImportError:
            pass
    return _absent(name, members)


builtins.__import__ = _guarded_import


def load(chapter, solutions, mistakes):
    """Import a chapter's graders; tell what is known of their solutions."""
    for name in solutions:
        solutions[name]["module"] = "attention_workbook.exercises." + chapter
    edits.know(solutions)
    module = _import("attention_workbook.exercises." + chapter, None, None, ["x"])
    for name in solutions:
        exercise = getattr(module, name)
        inspect.know(exercise.right, solutions[name]["arguments"])
        for number in mistakes.get(name, {}):
            inspect.know(exercise.mistakes[int(number)][0], mistakes[name][number])
    return module


def _head(source, name):
    """Return the argument names and the body of a function's text; None where it has none."""
    lambda_ = name + " = lambda "
    if lambda_ in source:
        names = source.split(lambda_)[1].split(":")[0].split(",")
        return [word.split("=")[0].strip() for word in names if "*" not in word], "lambda"
    start = source.find("def " + name + "(")
    if start < 0:
        return None
    opened = source.find("(", start)
    depth, at, parts = 0, opened, [""]
    while at < len(source):
        letter = source[at]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        if depth == 0:
            break
        if letter == "," and depth == 1:
            parts.append("")
        elif not (letter == "(" and depth == 1 and at == opened):
            parts[-1] += letter
        at += 1
    names = [part.split(":")[0].split("=")[0].strip() for part in parts]
    body = source[source.find(":", at) + 1 :]
    lines = [line for i, line in enumerate(body.split("\n")) if i == 0 or line[:1] in (" ", "")]
    return [word for word in names if word and word[0] not in "*/"], "\n".join(lines)


class _Left:
    """A number on the left of a comparison: what stands on the right is asked."""

    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        return other > self.number

    def __le__(self, other):
        return other >= self.number

    def __gt__(self, other):
        return other < self.number

    def __ge__(self, other):
        return other <= self.number


def left_of(value):
    return _Left(value) if isinstance(value, (int, float)) else value


def fresh_world():
    world = {name: getattr(attention_lib, name) for name in LIBRARY}
    world.update(
        {
            "__name__": "answer",
            "py_list": lambda *items: list(items),
            "py_tuple": lambda *items: items,
            "py_set": lambda *items: set(items),
            "py_dict": host_python.py_dict,
            "py_pairs": host_python.py_pairs,
            "py_format": host_python.py_format,
            "py_formatted": host_python.py_formatted,
            "py_percent": host_python.py_percent,
            "py_text": host_python.py_text,
            "print": running.write_line,
            "py_inplace": in_place,
            "py_left": left_of,
            "torch": torch,
            "math": py_math,
            "input": _no_input,
            "open": _no_files,
            "Tensor": torch.Tensor,
            "F": torch.functional,
            "nn": torch.nn,
        }
    )
    return world


def judged(module, name, source, lowered, function, before="", mine="", parts=()):
    """Run a reader's code and judge its function; ``mine`` has the reader's own earlier parts.

    It passes, does not, or is None where nothing is written yet; the line is the one that stopped.
    """
    running._source[:] = source.split("\n")
    running._failed_at[0] = 0
    passed, said = _judged(module, name, source, lowered, function, before, mine, parts)
    return {"passed": passed, "line": running._failed_at[0], "said": said}


def _judged(module, name, source, lowered, function, before, mine, parts):
    world = fresh_world()
    try:
        if before:
            exec(before, world)
        if parts:
            own = fresh_world()
            exec(mine, own)
            world.update({part: own[part] for part in parts if part != function})
        if _has_odd_sign(source):  # MicroPython takes it for a letter
            return False, _syntax(None)
        code = compile(lowered + "\n", ANSWER, "exec")
    except SyntaxError as error:
        return False, _syntax(Failure(error, None))
    outcome = running.run(lambda: exec(code, world), (), aloud=True)
    if isinstance(outcome, Failure):
        return False, _failed(outcome)
    answer = world.get(function, None)
    if answer is None:
        return False, "Not yet: your code defines no function `%s`." % function
    if callable(answer) and not isinstance(answer, torch.Tensor):
        head = _head(source, function)
        if head:
            inspect.know(answer, *head)
    for own in list(world):
        if type(world[own]) is type(_head) and own != function:
            world[own] = _counted(own, world[own])
    verdict = getattr(module, name)(answer)
    if verdict.message == UNWRITTEN:
        return None, "Write it, then press Run and check."
    return verdict.passed, repr(verdict)


def in_place(x, sign, other):
    """Do what ``x *= other`` and its like do: a tensor is changed itself."""
    result = _SIGNS[sign](x, other)
    if isinstance(x, torch.Tensor) and isinstance(result, torch.Tensor) and sign != "@":
        return torch.in_place(x, result)
    return result


_SIGNS = {
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "@": lambda a, b: a @ b,
}


def _counted(name, function):
    def counted(*given, **named):
        if torch.watch[0]:
            torch.watch[0]("own." + name)
        return function(*given, **named)

    return counted


def _failed(failure):
    if failure.ends:
        return "Not yet: " + failure.sentence()
    return "Not yet: " + failure.sentence().replace("your function stops", "your code stops", 1)


def _has_odd_sign(source):
    if all(ord(letter) < 128 for letter in source):
        return False
    return list(host.unreadable(source))[1].startswith("invalid character")


def _syntax(failure):
    line = failure.line if failure else ""
    number, why, lacks = list(host.unreadable("\n".join(running._source)))
    if number:
        running._failed_at[0] = int(number)
        line = running._source[int(number) - 1].strip()
    where = "the line `%s`" % line[:80] if line else "a line"
    if lacks:
        return "Not yet: this page does not know %s in %s; the notebook does." % (why, where)
    return "Not yet: Python cannot read %s (%s)." % (where, why or failure.error)


def _no_input(*given):
    raise RuntimeError("this page has no input; the notebook has it")


def _no_files(*given, **named):
    raise OSError(running.NO_FILES)


def mistaken(module, name, number):
    """Return the verdict on a declared mistake, for the tests."""
    exercise = getattr(module, name)
    what = exercise.mistakes[number]
    if callable(what[0]):
        return repr(exercise(what[0]))
    from attention_workbook.exercises.engine.explain import declared_edits

    source = edits.Source(exercise.right)
    return repr(exercise(source.function(list(declared_edits(source, [what])))))
