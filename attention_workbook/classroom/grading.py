"""What an assignment's notebook does differently while a tool grades it.

``set_aside``, called in its first cell, keeps the student's cells as text instead of running them.
``judged``, called by the tests, runs the cells of one exercise in a process of its own, with limits
of time and memory, and asks the grader. An endless loop, a crash or too much memory therefore costs
that exercise and nothing else. Where processes cannot be split (Windows), nothing can be graded.

The process keeps accidents apart. It is no prison: an answer that means harm can kill its parent,
write files, use the network or forge a verdict. Containers and hubs are for that.
"""

import ast
import hashlib
import importlib
import io
import json
import linecache
import os
import re
import select
import signal
import sys
import time
import warnings
from collections.abc import Mapping
from typing import Any

__all__ = ["digest", "judged", "set_aside"]

SECONDS, MEMORY = 40, 2 << 30  # memory in bytes, beyond what the notebook uses already
# How cells begin that the tools add to a notebook, or that hold our tests.
TOOLS = ("from otter", "notebook_", "import sys\nsys.path.append(r", "# Graded: ", "# This cell (")


def digest(text: str) -> str:
    """Return a short name for a cell's text.

    Examples
    --------
    >>> digest("x = 1\\n") == digest("x = 1") != digest("x = 2")
    True
    """
    return hashlib.sha256(text.strip().encode()).hexdigest()[:12]


def set_aside(digests: str) -> None:
    """While a tool grades this notebook, keep cells whose digests are not in ``digests`` as text.

    The notebook's variable ``ANSWERS`` then holds, for each grader that a cell calls, the texts of
    that cell and of those since the last call of a grader. While a student works, nothing changes.

    Examples
    --------
    >>> set_aside("")  # no tool is grading
    """
    otter = sys.modules.get("otter")
    by_otter = otter is not None and otter.Notebook._grading_mode
    if not by_otter and os.environ.get("NBGRADER_EXECUTION") != "autograde":
        return
    shell = sys.modules["IPython"].get_ipython()
    answers: dict[str, list[str]] = {}
    waiting: list[str] = []

    def keep(text: str) -> None:
        waiting.append(text)
        if graders := asked_graders(text):
            for name in graders:
                answers.setdefault(name, []).extend(waiting)
            waiting.clear()

    def instead(lines: list[str]) -> list[str]:
        text = "".join(lines)
        ours = text.startswith((*TOOLS, "keep_as_text(")) or digest(text) in digests.split()
        return lines if ours or not text.strip() else [f"keep_as_text({text!r})\n"]

    shell.user_ns.update(ANSWERS=answers, keep_as_text=keep)
    shell.input_transformers_cleanup.append(instead)


def asked_graders(text: str) -> set[str]:
    """Return the names of the graders that a cell calls, ``exercise.name(…)``, wherever it does.

    Examples
    --------
    >>> asked_graders("print(exercise.lowest_loss(1.1))  # not exercise.packed_mask(...)")
    {'lowest_loss'}
    >>> asked_graders("x = (1 +\\nexercise.lowest_loss(x)")  # which is no Python
    {'lowest_loss'}
    """
    try:
        calls = [node for node in ast.walk(ast.parse(_python(text))) if isinstance(node, ast.Call)]
    except SyntaxError:
        return {*re.findall(r"\bexercise\.(\w+)\(", text)}
    functions = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
    return {
        function.attr
        for function in functions
        if isinstance(function.value, ast.Name) and function.value.id == "exercise"
    }


def _python(text: str) -> str:
    """Return a cell's text as Python, with its magics as calls."""
    from IPython.core import inputtransformer2

    manager: Any = inputtransformer2.TransformerManager
    return str(manager().transform_cell(text))


def judged(chapter: str, name: str, variables: Mapping[str, Any], seconds: float = SECONDS) -> str:
    """Return what a grader says of a right answer, whose cells run in a process of their own.

    Parameters
    ----------
    chapter, name : str
        The module in ``attention_workbook.exercises`` and its grader.
    variables : mapping
        The notebook's variables, among them ``ANSWERS``.
    seconds : float
        How long the cells and the grader may take.

    Raises
    ------
    AssertionError
        With the grader's sentence, if the answer is not right.

    Examples
    --------
    >>> cell = "exercise.lowest_loss(1.0986)"
    >>> judged("masking", "lowest_loss", {"ANSWERS": {"lowest_loss": [cell]}})[:8]
    'Correct:'
    """
    texts = variables.get("ANSWERS", {}).get(name)
    assert texts, f"Not yet: no cell asks exercise.{name} about an answer."
    ours, theirs = os.pipe()
    with warnings.catch_warnings(action="ignore"):  # Python 3.12 warns of other threads
        child = os.fork()
    if not child:
        _say_and_end(theirs, chapter, name, texts, variables)
    os.close(theirs)
    deadline, verdict, has_ended = time.monotonic() + seconds, b"", False
    while not has_ended and select.select([ours], [], [], max(0, deadline - time.monotonic()))[0]:
        chunk = os.read(ours, 65_536)
        verdict, has_ended = verdict + chunk, not chunk
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ours)
    if not (has_ended and verdict):
        why = "ended its process" if has_ended else f"was still running after {seconds:g} seconds"
        raise AssertionError(f"Not yet: your answer {why}.")
    passed, sentence = json.loads(verdict)
    assert passed, sentence
    return str(sentence)


def _say_and_end(
    end: int, chapter: str, name: str, texts: list[str], variables: Mapping[str, Any]
) -> None:
    """Be the process of one exercise: write the verdict into the pipe, and never return."""
    try:
        _limit()
        os.environ["ATTENTION_PARTS"] = "book"  # nothing is written beside the notebook
        try:
            verdict = _verdict(chapter, name, texts, variables)
        except BaseException as error:  # sys.exit() included
            kind = f"{type(error).__name__}: {error}".rstrip(" :.")
            verdict = False, f"Not yet: the cell stops with {kind}."
        os.write(end, json.dumps(verdict).encode()[:60_000])
    finally:
        os._exit(0)


def _limit() -> None:
    """Stop this process from printing, and from taking more memory than it may."""
    import resource

    import torch

    torch.set_num_threads(1)  # no other thread has outlived the split
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    sys.stdout = sys.stderr = io.StringIO()
    if os.path.exists("/proc/self/statm"):  # only Linux says how much is used, and keeps the limit
        with open("/proc/self/statm", encoding="utf-8") as pages:
            used = int(pages.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def _verdict(
    chapter: str, name: str, texts: list[str], variables: Mapping[str, Any]
) -> tuple[bool, str]:
    """Run an exercise's cells; ask a grader, loaded afresh, about what they gave to theirs.

    A cell that fails does not end the next ones, as in a notebook. Its error is told if it kept the
    grader from being asked.
    """
    calls: list[tuple[Any, ...]] = []
    module: Any = importlib.import_module(f"attention_workbook.exercises.{chapter}")
    setattr(module, name, lambda *given: calls.append(given))
    world = {**variables, "exercise": module}
    error: BaseException | None = None
    for number, text in enumerate(texts, 1):
        try:
            code, file = _python(text), f"<answer {number}>"
            linecache.cache[file] = (len(code), None, code.splitlines(True), file)
            exec(compile(code, file, "exec"), world)
        except BaseException as stopped:  # sys.exit() included
            if name in asked_graders(text):
                error = stopped
    if error and not calls:
        raise error
    if not calls:
        return False, f"Not yet: exercise.{name} was not asked about an answer."
    for loaded in [part for part in sys.modules if part.startswith("attention_workbook.exercises")]:
        del sys.modules[loaded]
    grader = getattr(importlib.import_module(f"attention_workbook.exercises.{chapter}"), name)
    judgement = grader(*calls[-1])
    return judgement.passed is True, repr(judgement)
