# A reader's `my_update`, called for each tensor of the model that learns in the page.

import torch
from attention_workbook.exercises.engine.judging import fresh_world

from attention_workbook.exercises.engine import running
from attention_workbook.exercises.engine.running import ANSWER, Failure

_rule = [None]
_states = []  # of each tensor: its parameter, mean and square


class Unfit(Exception):
    """What came back is no parameter with its two means."""


def take(source, lowered, numbers):
    """Take the text with the rule, and the tensors; return what is wrong if it does not run."""
    running._source[:] = source.split("\n")
    world = fresh_world()
    outcome = running.run(lambda: exec(compile(lowered + "\n", ANSWER, "exec"), world), ())
    if isinstance(outcome, Failure):
        return outcome.sentence().replace("your function stops", "your code stops", 1)
    _rule[0] = world["my_update"]
    parameters = [torch.Tensor(number, True) for number in numbers]
    _states[:] = [[x, torch.zeros_like(x), torch.zeros_like(x)] for x in parameters]
    return ""


def step(numbers, rate):
    """Let the rule make a step with these gradients; return the numbers of all tensors."""
    outcome = running.run(lambda: _stepped(numbers, rate), ())
    if not isinstance(outcome, Failure):
        return outcome
    if isinstance(outcome.error, Unfit):
        return {"failed": str(outcome.error)}
    return {"failed": outcome.sentence().replace("your function", "`my_update`", 1)}


def _stepped(numbers, rate):
    remembers = False
    for state, number in zip(_states, numbers, strict=True):
        before = state[1].clone()
        gradient = torch.Tensor(number, True)
        state[:] = _fit(_rule[0](state[0], gradient, state[1], state[2], rate), state)
        remembers = remembers or bool((state[1] != before).any())
    return {"made": [x._n for state in _states for x in state], "remembers": remembers}


def _fit(result, state, strict=True):
    if result is ...:
        raise Unfit("`my_update` is not written yet.")
    if not isinstance(result, (tuple, list)) or len(result) != 3:
        raise Unfit("`my_update` returns the parameter, the mean and the square, three tensors.")
    for name, made, given in zip(("parameter", "mean", "square"), result, state, strict=True):
        if not isinstance(made, torch.Tensor):
            kind = type(made).__name__
            raise Unfit("The %s that `my_update` returns is of type %s, no tensor." % (name, kind))
        if made.shape != given.shape:
            sizes = name, str(tuple(made.shape)), str(tuple(given.shape))
            raise Unfit("The %s that `my_update` returns is %s large, not %s." % sizes)
    return result
