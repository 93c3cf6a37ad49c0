"""``check(mine, like=reference)``: the same weights in both, and the same output from both."""

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from attention_contracts import _projections
from attention_contracts._report import Contract, NotTested
from attention_contracts._subject import Subject

ROLES = ("queries", "keys", "values", "output")


def _gives_what_the_reference_gives(subject: Subject) -> str:
    if subject.like is None:
        raise NotTested("no like= was given")
    reference = replace(subject, attend=subject.like, like=None, padding=None, documents=None)
    mine, how = subject, "both have no weights"
    if isinstance(subject.attend, nn.Module) and any(True for _ in subject.attend.parameters()):
        mine = replace(subject, attend=copy.deepcopy(subject.attend))
        how = _with_weights_of(mine, reference)
    call, other = mine.call(), reference.call()
    if mine.adapted.single != reference.adapted.single:
        x = call.inputs[0]
        expected = other.output(x, x, x)
    else:
        expected = other.output(*call.inputs)
    if expected.shape != call.before.shape:
        raise ValueError(
            f"like: expected outputs of one shape, got {tuple(call.before.shape)} and "
            f"{tuple(expected.shape)}"
        )
    if moved := call.moved(call.before, before=expected):
        raise AssertionError(
            f"with the same weights the reference gives another output: {moved}, {how}"
        )
    return how


def _with_weights_of(mine: Subject, reference: Subject) -> str:
    """Give a copy the weights of the reference; return how they were paired."""
    weights = reference.attend.state_dict() if isinstance(reference.attend, nn.Module) else {}
    own = mine.attend.state_dict()
    if {name: x.shape for name, x in own.items()} == {name: x.shape for name, x in weights.items()}:
        mine.attend.load_state_dict(weights)
        return "the weights were paired by name"
    given, taken = _matrices(reference), _matrices(mine)
    if given is None or taken is None:
        raise NotTested(
            "the weights of the two cannot be paired: their names and shapes differ, and queries, "
            "keys, values and output could not be told apart"
        )
    with torch.no_grad():
        for role, (weight, bias), (new_weight, new_bias) in zip(ROLES, taken, given, strict=True):
            if weight.shape != new_weight.shape:
                raise NotTested(
                    f"the weights of the {role} are {tuple(weight.shape)} in one and "
                    f"{tuple(new_weight.shape)} in the other"
                )
            weight.copy_(new_weight)
            if bias is not None:
                bias.copy_(torch.zeros_like(bias) if new_bias is None else new_bias)
            elif new_bias is not None and new_bias.any():
                raise NotTested(f"the {role} of the reference have a bias, and yours have none")
    return "the weights were paired as those of queries, keys, values and output"


Matrix = tuple[Tensor, Tensor | None]


def _matrices(subject: Subject) -> list[Matrix] | None:
    """Return views of the weights and biases of queries, keys, values and output."""
    module: Any = subject.attend
    if isinstance(module, nn.MultiheadAttention):
        if module.in_proj_weight is None:
            stacked = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
        else:
            stacked = [*module.in_proj_weight.chunk(3)]
        biases = [None] * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
        last: Matrix = (module.out_proj.weight, module.out_proj.bias)
        return [*zip(stacked, biases, strict=True), last]
    if not isinstance(module, nn.Module):
        return None
    inputs, attend = subject.inputs, subject.call().attend
    with torch.no_grad():
        layouts = _projections.find(module, lambda: attend(*inputs))
    if not layouts or layouts[0].last is None:
        return None
    found = layouts[0]
    parts: list[Matrix] = []
    sizes = {
        3: [[0]] * 3,
        2: [[0], [found.widths[1]] * 2],
        1: [[found.widths[0]] + [found.widths[1]] * 2],
    }
    for part, rows in zip(found.inputs, sizes[len(found.inputs)], strict=True):
        weight, bias = _linear(part)
        if rows == [0]:
            parts.append((weight, bias))
            continue
        cut = [None] * len(rows) if bias is None else torch.split(bias, rows)
        parts += [*zip(torch.split(weight, rows), cut, strict=True)]
    return [*parts, _linear(found.last)]


def _linear(part: Any) -> Matrix:
    """Return weight, of shape (out, in), and bias; GPT-2 stores its weights the other way round."""
    weight = part.weight.T if type(part).__name__ == "Conv1D" else part.weight
    return weight, getattr(part, "bias", None)


CONTRACTS = (
    Contract(
        "like the reference",
        _gives_what_the_reference_gives,
        how="both had the same weights and the same inputs",
        means="another order of heads, another scale, or other positions",
        chapter="head-layouts",
    ),
)
