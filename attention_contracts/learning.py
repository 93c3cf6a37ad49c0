"""Contracts about what is learned: who owns it, what reads it, and what a call leaves behind."""

import copy
import gc
import weakref
from dataclasses import replace

import torch
from torch import Tensor, nn

from attention_contracts._arguments import shape_of
from attention_contracts._call import Attend, Call
from attention_contracts._report import NotTested
from attention_contracts._subject import Subject


def assert_owns_parameters(
    attend: nn.Module, queries: Tensor, keys: Tensor, values: Tensor
) -> None:
    """See that all that is learned belongs to the module before its first call.

    Layers that are made in ``forward`` work, and are never trained nor saved; layers that are
    made at the first call come too late for an optimiser and for a seed.

    Examples
    --------
    >>> x = torch.ones(1, 3, 4)
    >>> assert_owns_parameters(torch.nn.MultiheadAttention(4, 2), x, x, x)
    """
    if not isinstance(attend, nn.Module):
        raise TypeError(f"attend: expected a torch.nn.Module, got {attend!r}")
    late = [name for name, x in attend.named_parameters() if nn.parameter.is_lazy(x)]
    _owns_parameters(attend, Call(attend, (queries, keys, values), late=late))


def _owns_parameters(module: nn.Module, call: Call) -> None:
    if call.late:
        raise AssertionError(f"{', '.join(call.late)}: no shape before the first call; give sizes")
    named = dict(module.named_parameters())
    leaves, output = call.with_gradients()
    known_ids = {id(x) for x in (*leaves, *named.values())}
    if strangers := [x for x in _leaves_of(output) if id(x) not in known_ids]:
        shapes = ", ".join(sorted(shape_of(x) for x in strangers))
        raise AssertionError(
            f"learned but not owned: {len(strangers)} tensors of shape {shapes} were no "
            "parameters before the call; no optimiser trains them"
        )


def _owns(subject: Subject) -> None:
    subject.needs_module()
    _owns_parameters(subject.attend, subject.call())


def _leaves_of(output: Tensor) -> list[Tensor]:
    """Return the leaves of an output's graph: what its gradients would be added to."""
    leaves, visited, todo = [], set(), [output.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in visited:
            visited.add(node)
            leaves += [node.variable] if hasattr(node, "variable") else []
            todo += [earlier for earlier, _ in node.next_functions]
    return leaves


def _reads_its_weights(subject: Subject) -> None:
    """See that each row of a matrix gets a gradient; rows of a table may be for other inputs.

    It is tried on a copy in which no matrix begins as zeros, as adapters do and last layers may.
    """
    subject.needs_module()
    module = copy.deepcopy(subject.attend)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.dim() == 2:
                weight.normal_(std=weight.shape[-1] ** -0.5)
    call = replace(subject, attend=module).call()
    tables = {id(x.weight) for x in module.modules() if isinstance(x, nn.Embedding)}
    width = call.inputs[0].shape[-1]
    named = {
        name: x
        for name, x in module.named_parameters()
        if x.dim() == 2 and width in x.shape and x.requires_grad and id(x) not in tables
    }
    if not named:
        raise NotTested("no matrix is as wide as the inputs")
    loss = call.with_gradients()[1].double().square().sum()
    gradients = torch.autograd.grad(loss, [*named.values()], materialize_grads=True)
    for name, gradient in zip(named, gradients, strict=True):
        for axis, line in enumerate(("column", "row")):
            dead = gradient.eq(0).all(dim=axis)
            if count := int(dead.sum()):
                raise AssertionError(
                    f"{name} is never read, in {count} of its {len(dead)} {line}s: they get no "
                    "gradient"
                )


def assert_forgets(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """See that nothing of a call's graph is alive once its output is gone.

    Weights that are stored on the module keep it all: the memory of the last call of every layer.

    Examples
    --------
    >>> x = torch.ones(1, 3, 4)
    >>> assert_forgets(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _forgets(Call(attend, (queries, keys, values)))


def _forgets(call: Call) -> None:
    saved_tensors: list[weakref.ref[Tensor]] = []

    def keep(tensor: Tensor) -> Tensor:
        saved = tensor.detach()  # with its graph it would be a circle that never goes
        saved_tensors.append(weakref.ref(saved))
        return saved

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        call.with_gradients()
    if any(saved() is not None for saved in saved_tensors):
        gc.collect()  # takes its time: only where something may be a circle that nobody holds
    if alive := sum(saved() is not None for saved in saved_tensors):
        raise AssertionError(
            f"the call is not forgotten: {alive} tensors of its graph are alive when its output is "
            "gone; are weights stored on the module?"
        )


CONTRACTS = {
    "owns parameters": _owns,
    "weights are read": _reads_its_weights,
    "forgets": lambda subject: _forgets(subject.call()),
}
