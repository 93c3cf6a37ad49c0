"""Contracts about the call: no side effects, no chance, no mixed samples, gradients that arrive."""

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attention_lib._arguments import require_tensor, shape_of
from attention_lib.contracts._calls import (
    Attend,
    everywhere,
    movement,
    must_move,
    output_for,
    replaced,
    require_inputs,
    with_gradients,
)


def assert_pure(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that a call changes none of its inputs, and depends on no call before it.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an input changes, or the same call gives another output later.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_pure(scaled_dot_product_attention, x, x, x)
    """
    require_inputs(attend, queries, keys, values)
    named = {"queries": queries, "keys": keys, "values": values}
    given = {name: x.clone() for name, x in named.items()}
    before = output_for(attend, *given.values())
    for name, x in named.items():
        moved = movement(x, given[name], 0.0)
        if moved:
            raise AssertionError(f"{name} changed in the call: at {moved[0]} it {moved[1]}")
    between = output_for(attend, *[replaced(x, everywhere(x), None) for x in named.values()])
    moved = movement(before, output_for(attend, *[x.clone() for x in named.values()]), tolerance)
    if moved:
        raise AssertionError(
            "the same call gave another output after a call in between: "
            f"at {moved[0]} it {moved[1]}"
        )
    must_move(before, between, "other inputs give the same output", tolerance)


def assert_deterministic_in_eval(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor
) -> None:
    """See that nothing is random in evaluation mode.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``. A ``torch.nn.Module`` is put in evaluation mode for
        the test, and back after; bind nothing around it, or put it there yourself.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.

    Raises
    ------
    AssertionError
        If two calls with different random states differ at all.

    Examples
    --------
    >>> from attention_lib.attention import DotProductAttention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_deterministic_in_eval(DotProductAttention(dropout=0.5), x, x, x)
    """
    require_inputs(attend, queries, keys, values)
    modules = list(attend.modules()) if isinstance(attend, nn.Module) else []
    modes = [module.training for module in modules]
    devices = [queries.device] if queries.is_cuda else []
    try:
        for module in modules:
            module.training = False
        outputs = []
        for seed in (0, 1):
            with torch.random.fork_rng(devices):
                torch.manual_seed(seed)
                outputs.append(output_for(attend, queries, keys, values))
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
    moved = movement(outputs[0], outputs[1], 0.0)
    if moved:
        raise AssertionError(
            f"random in evaluation mode: with another random state the output at {moved[0]} "
            f"{moved[1]}; is dropout still on?"
        )
    others = [replaced(x, everywhere(x), None) for x in (queries, keys, values)]
    must_move(outputs[0], output_for(attend, *others), "other inputs give the same output")


def assert_batch_independent(
    attend: Callable[..., Any],
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *for_each: Tensor,
    tolerance: float | None = None,
) -> None:
    """Give each sample of the batch alone and see that its output is the one it had in company.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values, *for_each)``.
    queries, keys, values : torch.Tensor
        Shapes ``(batch, ..., len_q, d_k)``, ``(batch, ..., len_k, d_k)``,
        ``(batch, ..., len_k, d_v)``.
    *for_each : torch.Tensor
        What else has one entry a sample, lengths or a mask: ``attend`` gets it, too, cut to
        the sample.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If an output differs.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x, valid_lens = torch.ones(2, 3, 4), torch.tensor([1, 3])
    >>> assert_batch_independent(scaled_dot_product_attention, x, x, x, valid_lens)
    """
    require_inputs(attend, queries, keys, values)
    tensors = (queries, keys, values, *for_each)
    batch = len(queries)
    for name, x in zip(("keys", "values", *["for_each"] * len(for_each)), tensors[1:], strict=True):
        require_tensor(name, x, axes="(batch, ...)")
        if x.dim() == 0 or len(x) != batch:
            raise ValueError(f"{name}: expected {batch} samples (batch), got shape {shape_of(x)}")
    together = output_for(attend, *tensors)
    for sample in range(batch):
        alone = output_for(attend, *(x[sample : sample + 1] for x in tensors))
        moved = movement(together[sample : sample + 1], alone, tolerance)
        if moved:
            where, how = moved
            raise AssertionError(
                f"samples are mixed: given alone, the output of sample {sample} at "
                f"{(sample, *where[1:])} {how}"
            )
    others = [replaced(x, everywhere(x), None) for x in (queries, keys, values)]
    must_move(
        together,
        output_for(attend, *others, *for_each),
        "other inputs give the same output",
        tolerance,
    )


def assert_differentiable(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that recording gradients changes no output, and that they reach what is read.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``; a module in the mode in which it is to be tested.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        As in :func:`assert_causal`.

    Raises
    ------
    AssertionError
        If the call fails with gradients recorded, its output differs, an input moves the output
        and gets no gradient, or a gradient is NaN or infinite.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_differentiable(scaled_dot_product_attention, x, x, x)
    """
    require_inputs(attend, queries, keys, values)
    inputs = {"queries": queries, "keys": keys, "values": values}
    without = output_for(attend, *(x.clone() for x in inputs.values()))
    try:
        leaves, output = with_gradients(attend, *inputs.values())
    except RuntimeError as error:
        said = str(error).partition("\n")[0]
        raise AssertionError(f"with gradients recorded the call fails: {said}") from error
    moved = movement(without, output.detach(), tolerance)
    if moved:
        where, how = moved
        raise AssertionError(
            f"the output depends on whether gradients are recorded: with them, at {where} it {how}"
        )
    gradients: list[Tensor | None] = [None] * 3
    if output.requires_grad:
        loss = output.double().square().sum()
        gradients = list(torch.autograd.grad(loss, leaves, allow_unused=True))
    for (name, x), gradient in zip(inputs.items(), gradients, strict=True):
        if gradient is not None and not gradient.isfinite().all():
            raise AssertionError(f"the gradient of {name} is NaN or infinite")
        if gradient is None:
            others = inputs | {name: replaced(x, everywhere(x), None)}
            if movement(without, output_for(attend, *others.values()), tolerance):
                raise AssertionError(f"{name} move the output and get no gradient; is it detached?")


def assert_owns_parameters(
    attend: nn.Module, queries: Tensor, keys: Tensor, values: Tensor
) -> None:
    """See that all that is learned belongs to the module before its first call.

    Layers that are made in ``forward`` work, and are never trained nor saved; layers that are
    made at the first call come too late for an optimiser and for a seed.

    Parameters
    ----------
    attend : torch.nn.Module
        ``attend(queries, keys, values)``, fresh: not called before.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.

    Raises
    ------
    AssertionError
        If a parameter has no shape yet, or the output depends on one that the module did not have.
    TypeError
        If ``attend`` is no module.

    Examples
    --------
    >>> from attention_lib.multihead import MultiHeadAttention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_owns_parameters(MultiHeadAttention(4, 2), x, x, x)
    """
    if not isinstance(attend, nn.Module):
        raise TypeError(f"attend: expected a torch.nn.Module, got {attend!r}")
    require_inputs(attend, queries, keys, values)
    owns_what_it_learns(attend, attend, queries, keys, values)


def owns_what_it_learns(module: nn.Module, attend: Attend, *inputs: Tensor) -> None:
    """Do what :func:`assert_owns_parameters` does, with the call of a module given."""
    named = dict(module.named_parameters())
    late = [name for name, x in named.items() if nn.parameter.is_lazy(x)]
    if late:
        raise AssertionError(f"{', '.join(late)}: no shape before the first call; give sizes")
    leaves, output = with_gradients(attend, *inputs)
    known = {id(x) for x in (*leaves, *named.values())}
    strangers = [x for x in _leaves_of(output) if id(x) not in known]
    if strangers:
        shapes = ", ".join(sorted(shape_of(x) for x in strangers))
        raise AssertionError(
            f"learned but not owned: {len(strangers)} tensors of shape {shapes} were no parameters "
            "before the call; no optimiser trains them"
        )


def assert_forgets(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """See that nothing of a call's graph is alive once its output is gone.

    Weights that are stored on the module keep it all: the memory of the last call of every layer.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.

    Raises
    ------
    AssertionError
        If tensors of the graph are kept.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_forgets(scaled_dot_product_attention, x, x, x)
    """
    require_inputs(attend, queries, keys, values)
    kept: list[weakref.ref[_Kept]] = []

    def keep(tensor: Tensor) -> _Kept:
        box = _Kept(tensor)
        kept.append(weakref.ref(box))
        return box

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda box: box.tensor):
        with_gradients(attend, queries, keys, values)
    if any(box() for box in kept):
        gc.collect()  # takes its time: only where something may be a circle that nobody holds
    alive = sum(box() is not None for box in kept)
    if alive:
        raise AssertionError(
            f"the call is not forgotten: {alive} tensors of its graph are alive when its output is "
            "gone; are weights stored on the module?"
        )


def assert_device_independent(
    attend: Callable[..., Any], queries: Tensor, keys: Tensor, values: Tensor, *for_each: Tensor
) -> None:
    """Call with tensors on another device, and see that all is made where they are.

    No GPU is needed: PyTorch's device ``meta`` has shapes, dtypes and errors, and no numbers. An
    attention that looks at numbers, by ``.item()`` or through NumPy, fails there, too; on a GPU
    it would have to wait for them.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values, *for_each)``; of a module a copy is moved.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    *for_each : torch.Tensor
        What else goes to the device: lengths, or a mask.

    Raises
    ------
    AssertionError
        If the call fails there, or its output is elsewhere.

    Examples
    --------
    >>> from attention_lib.attention import scaled_dot_product_attention
    >>> x, valid_lens = torch.ones(2, 3, 4), torch.tensor([1, 3])
    >>> assert_device_independent(scaled_dot_product_attention, x, x, x, valid_lens)
    """
    require_inputs(attend, queries, keys, values)
    moved = copy.deepcopy(attend).to("meta") if isinstance(attend, nn.Module) else attend
    try:
        output = output_for(moved, *(x.to("meta") for x in (queries, keys, values, *for_each)))
    except (RuntimeError, TypeError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise AssertionError(f"tied to a device: elsewhere the call fails: {said}") from error
    if output.device.type != "meta":
        raise AssertionError(
            f"tied to a device: with inputs elsewhere the output is on {output.device}"
        )


class _Kept:
    """A tensor that a graph keeps for its backward pass, as something to look for."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()  # with its graph it would be a circle that never goes


def _leaves_of(output: Tensor) -> list[Tensor]:
    """Return the leaves of an output's graph: what its gradients would be added to."""
    found: list[Tensor] = []
    todo, seen = [output.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        todo += [before for before, _ in node.next_functions]
    return found
