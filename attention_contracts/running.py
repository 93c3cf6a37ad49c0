"""Contracts about the call: no side effects, no chance, no mixed samples, gradients that arrive."""

import copy
import gc
import weakref
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from attention_contracts._arguments import require_tensor, shape_of
from attention_contracts._attention import Subject, contract
from attention_contracts._call import ALL, NAMES, Call, asserting, mode, movement, output_for
from attention_contracts._report import NotTested, broken, first_line

SAME = "other inputs give the same output"


def _in_batches(core: Callable[..., None], subject: Subject) -> None:
    """Test batches of all and of two (as many as heads, perhaps), with padding and without."""
    for size in (len(subject.lengths), 2):
        for lens in ((), (subject.lens[:size],))[: 1 + subject.takes_padding]:
            call = subject.call()
            call.inputs = tuple(x[:size] for x in call.inputs)
            core(call, *lens)


@asserting
@contract("batch = single", test=_in_batches)
def assert_batch_independent(call: Call, *for_each: Tensor, tolerance: float | None = None) -> None:
    """Give each sample of the batch alone and see that its output is the one it had in company.

    Parameters
    ----------
    *for_each : torch.Tensor
        What else has one entry a sample, lengths or a mask.
    """
    call.each = for_each
    tensors = (*call.inputs, *for_each)
    batch = len(tensors[0])
    for name, x in zip((*NAMES, *["for_each"] * len(for_each)), tensors, strict=True):
        require_tensor(name, x, axes="(batch, ...)")
        if x.dim() == 0 or len(x) != batch:
            raise ValueError(f"{name}: expected {batch} samples (batch), got shape {shape_of(x)}")
    for sample in range(batch):
        one = slice(sample, sample + 1)
        alone = output_for(call.attend, *(x[one] for x in tensors))
        if moved := call.moved(alone, before=call.before[one]):
            where = (sample, *moved[0][1:])
            raise broken("samples are mixed", sample=sample, where=where, how=moved[1])
    call.moves(call.changed(ALL, ALL, ALL), SAME)


@asserting
@contract("gradients")
def assert_differentiable(call: Call, *, tolerance: float | None = None) -> None:
    """See that recording gradients changes no output, and that they reach what is read."""
    before = call.output(*(x.clone() for x in call.inputs))
    try:
        leaves, output = call.with_gradients()
    except RuntimeError as error:
        raise broken("gradients fail", error=first_line(error)) from error
    call.stays(output.detach(), "gradients change the output", before=before)
    gradients: list[Tensor | None] = [None] * 3
    if output.requires_grad:
        loss = output.double().square().sum()
        gradients = list(torch.autograd.grad(loss, leaves, allow_unused=True))
    for name, gradient in zip(NAMES[: 1 if call.single else 3], gradients, strict=False):
        if gradient is not None and not gradient.isfinite().all():
            raise broken("no finite gradient", name=name)
        there = (ALL if name == x else None for x in NAMES)
        if gradient is None and call.moved(call.changed(*there), before=before):
            raise broken("no gradient", name=name)


def _on_the_inputs_themselves(core: Callable[[Call], None], subject: Subject) -> None:
    core(subject.call(copies=False))
    if subject.takes_padding:
        core(subject.call(subject.lens, copies=False))


@asserting
@contract("inputs unchanged, no state", test=_on_the_inputs_themselves)
def assert_pure(call: Call, *, tolerance: float | None = None) -> None:
    """See that a call changes none of its inputs, and depends on no call before it."""
    given = [x.clone() for x in call.inputs]
    before = call.output(*given)
    for name, x, used in zip(NAMES, call.inputs, given, strict=True):
        if moved := movement(x, used, 0.0):
            raise broken("inputs changed", name=name, where=moved[0], how=moved[1])
    between = call.changed(ALL, ALL, ALL)
    again = call.output(*(x.clone() for x in call.inputs))
    call.stays(again, "state", before=before)
    call.moves(between, SAME, before=before)


@asserting
@contract(
    "evaluation twice", test=lambda core, subject: core(replace(subject, random=False).call())
)
def assert_deterministic_in_eval(call: Call) -> None:
    """See that nothing is random in evaluation mode.

    A ``torch.nn.Module`` is put in evaluation mode for the test, and back after; bind nothing
    around it, or put it there yourself.

    Examples
    --------
    >>> from attention_lib.attention import DotProductAttention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_deterministic_in_eval(DotProductAttention(dropout=0.5), x, x, x)
    """
    outputs = []
    devices = [x.device for x in call.inputs[:1] if x.is_cuda]
    with mode(call.module, training=False):
        for seed in (0, 1):
            with torch.random.fork_rng(devices):
                torch.manual_seed(seed)
                outputs.append(call.output(*call.inputs))
    first, second = outputs
    if moved := movement(first, second, 0.0):
        raise broken("random in evaluation mode", where=moved[0], how=moved[1])
    call.moves(call.changed(ALL, ALL, ALL), SAME, before=first)


@asserting
@contract("owns parameters", needs=["module"])
def assert_owns_parameters(call: Call) -> None:
    """See that all that is learned belongs to the module before its first call.

    Layers that are made in ``forward`` work, and are never trained nor saved; layers that are
    made at the first call come too late for an optimiser and for a seed. ``attend`` is a fresh
    ``torch.nn.Module``, not called before.

    Examples
    --------
    >>> from attention_lib.multihead import MultiHeadAttention
    >>> x = torch.ones(1, 3, 4)
    >>> assert_owns_parameters(MultiHeadAttention(4, 2), x, x, x)
    """
    if call.module is None:
        raise TypeError(f"attend: expected a torch.nn.Module, got {call.attend!r}")
    named = dict(call.module.named_parameters())
    if late := call.late or [name for name, x in named.items() if nn.parameter.is_lazy(x)]:
        raise broken("no shape yet", names=", ".join(late))
    leaves, output = call.with_gradients()
    known = {id(x) for x in (*leaves, *named.values())}
    if strangers := [x for x in _leaves_of(output) if id(x) not in known]:
        shapes = ", ".join(sorted(shape_of(x) for x in strangers))
        raise broken("learned but not owned", count=len(strangers), shapes=shapes)


def _leaves_of(output: Tensor) -> list[Tensor]:
    """Return the leaves of an output's graph: what its gradients would be added to."""
    found, seen, todo = [], set(), [output.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            found += [node.variable] if hasattr(node, "variable") else []
            todo += [before for before, _ in node.next_functions]
    return found


def _with_random_weights(core: Callable[[Call], None], subject: Subject) -> None:
    """Test a copy in which no matrix begins as zeros, as adapters do and last layers may."""
    module = copy.deepcopy(subject.attend)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.dim() == 2:
                weight.normal_(std=weight.shape[-1] ** -0.5)
    core(replace(subject, attend=module).call())


@contract("weights are read", needs=["module"], test=_with_random_weights, strict=True)
def _reads_its_weights(call: Call) -> None:
    """See that each row of a matrix gets a gradient; rows of a table may be for other inputs."""
    assert call.module is not None
    tables = {id(x.weight) for x in call.module.modules() if isinstance(x, nn.Embedding)}
    width = call.inputs[0].shape[-1]
    named = {
        name: x
        for name, x in call.module.named_parameters()
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
                raise broken("never read", name=name, dead=count, lines=len(dead), line=line)


@asserting
@contract("forgets", strict=True)
def assert_forgets(call: Call) -> None:
    """See that nothing of a call's graph is alive once its output is gone.

    Weights that are stored on the module keep it all: the memory of the last call of every layer.
    """
    kept: list[weakref.ref[Tensor]] = []

    def keep(tensor: Tensor) -> Tensor:
        saved = tensor.detach()  # with its graph it would be a circle that never goes
        kept.append(weakref.ref(saved))
        return saved

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        call.with_gradients()
    if any(saved() is not None for saved in kept):
        gc.collect()  # takes its time: only where something may be a circle that nobody holds
    if alive := sum(saved() is not None for saved in kept):
        raise broken("the call is not forgotten", alive=alive)


def _moved(core: Callable[[Call], None], subject: Subject) -> None:
    if isinstance(subject.attend, nn.Module):
        subject = replace(subject, attend=copy.deepcopy(subject.attend).to("meta"))
    core(subject.call())


@asserting
@contract("any device", test=_moved, strict=True)
def assert_device_independent(call: Call, *for_each: Tensor) -> None:
    """Call with tensors on another device, and see that all is made where they are.

    No GPU is needed: PyTorch's device ``meta`` has shapes, dtypes and errors, and no numbers. An
    attention that looks at numbers, by ``.item()`` or through NumPy, fails there, too; on a GPU
    it would have to wait for them. Of a module a copy is moved.

    Parameters
    ----------
    *for_each : torch.Tensor
        What else goes to the device: lengths, or a mask.
    """
    attend = call.attend
    if isinstance(attend, nn.Module):
        attend = copy.deepcopy(attend).to("meta")
    try:
        output = output_for(attend, *(x.to("meta") for x in (*call.inputs, *for_each)))
    except (RuntimeError, TypeError, ValueError) as error:
        raise broken("tied to a device", error=first_line(error)) from error
    if output.device.type != "meta":
        raise broken("tied to another device", device=output.device)
