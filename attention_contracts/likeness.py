"""``check(mine, like=reference)``: the same weights in both, and the same output from both."""

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from attention_contracts import _projections
from attention_contracts._report import NotTested
from attention_contracts._subject import Subject

ROLES = ("queries", "keys", "values", "output")


def _gives_what_the_reference_gives(subject: Subject) -> str:
    if subject.like is None:
        raise NotTested(
            "no like= was given: only a reference shows whether heads, columns and positions have "
            "the order that published weights expect"
        )
    reference = replace(subject, attend=subject.like, like=None, padding=None, documents=None)
    copied, how = subject, "both have no weights"
    if isinstance(subject.attend, nn.Module) and any(True for _ in subject.attend.parameters()):
        copied = replace(subject, attend=copy.deepcopy(subject.attend))
        how = _with_weights_of(copied, reference)
    call, reference_call = copied.call(), reference.call()
    if copied.adapted.single != reference.adapted.single:
        call.inputs = (call.inputs[0],) * 3  # what the one with a single input hears
    expected = reference_call.output(*call.inputs)
    if expected.shape != call.original.shape:
        raise ValueError(
            f"like: expected outputs of one shape, got {tuple(call.original.shape)} and "
            f"{tuple(expected.shape)}"
        )
    if moved := call.moved(call.original, original=expected):
        raise AssertionError(
            f"with the same weights the reference gives another output: {moved}, {how}"
        )
    return how


def _with_weights_of(copied: Subject, reference: Subject) -> str:
    """Give a copy the weights of the reference; return how they were paired."""
    weights = reference.attend.state_dict() if isinstance(reference.attend, nn.Module) else {}
    state = copied.attend.state_dict()
    if {name: x.shape for name, x in state.items()} == {
        name: x.shape for name, x in weights.items()
    }:
        copied.attend.load_state_dict(weights)
        return "the weights were paired by name"
    from_reference, of_copy = _matrices(reference), _matrices(copied)
    if from_reference is None or of_copy is None:
        raise NotTested(
            "the weights of the two cannot be paired: their names and shapes differ, and queries, "
            "keys, values and output could not be told apart"
        )
    with torch.no_grad():
        for role, (weight, bias), (new_weight, new_bias) in zip(
            ROLES, of_copy, from_reference, strict=True
        ):
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
        output_matrix: Matrix = (module.out_proj.weight, module.out_proj.bias)
        return [*zip(stacked, biases, strict=True), output_matrix]
    if not isinstance(module, nn.Module):
        return None
    inputs, attend = subject.inputs, subject.call().attend
    with torch.no_grad():
        layouts = _projections.find(module, lambda: attend(*inputs))
    if not layouts or layouts[0].last is None:
        return None
    layout = layouts[0]
    matrices: list[Matrix] = []
    sizes = {
        3: [[0]] * 3,
        2: [[0], [layout.widths[1]] * 2],
        1: [[layout.widths[0]] + [layout.widths[1]] * 2],
    }
    for part, rows in zip(layout.inputs, sizes[len(layout.inputs)], strict=True):
        weight, bias = _linear(part)
        if rows == [0]:
            matrices.append((weight, bias))
            continue
        cut = [None] * len(rows) if bias is None else torch.split(bias, rows)
        matrices += [*zip(torch.split(weight, rows), cut, strict=True)]
    return [*matrices, _linear(layout.last)]


def _linear(linear_layer: Any) -> Matrix:
    """Return weight, of shape (out, in), and bias; GPT-2 stores its weights the other way round."""
    weight = (
        linear_layer.weight.T if type(linear_layer).__name__ == "Conv1D" else linear_layer.weight
    )
    return weight, getattr(linear_layer, "bias", None)


CONTRACTS = {"like the reference": _gives_what_the_reference_gives}
