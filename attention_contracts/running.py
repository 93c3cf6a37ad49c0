"""Contracts about the call: no side effects, no chance, no mixed samples, gradients that arrive."""

import copy
from dataclasses import replace

import torch
from torch import Tensor, nn

from attention_contracts._adapters import bound
from attention_contracts._arguments import require_tensor, shape_of
from attention_contracts._call import ALL, NAMES, Attend, Call, mode, movement, output_for
from attention_contracts._masks import within_length
from attention_contracts._report import NotTested, first_line
from attention_contracts._subject import Subject

SAME = "other inputs give the same output"


def assert_batch_independent(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *for_each: Tensor,
    tolerance: float | None = None,
) -> None:
    """Give each sample of the batch alone and see that its output is the one it had in company.

    Parameters
    ----------
    *for_each : torch.Tensor
        What else has one entry a sample, lengths or a mask.

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_batch_independent(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    call = Call(attend, (queries, keys, values), tolerance)
    _keeps_samples_apart(call, *for_each)


def _keeps_samples_apart(call: Call, *for_each: Tensor) -> None:
    call.each = for_each
    tensors = (*call.inputs, *for_each)
    batch = len(tensors[0])
    for name, x in zip((*NAMES, *["for_each"] * len(for_each)), tensors, strict=True):
        require_tensor(name, x, axes="(batch, ...)")
        if x.dim() == 0 or len(x) != batch:
            raise ValueError(f"{name}: expected {batch} samples (batch), got shape {shape_of(x)}")
    for sample in range(batch):
        sample_slice = slice(sample, sample + 1)
        alone = output_for(call.attend, *(x[sample_slice] for x in tensors))
        if moved := call.moved(alone, original=call.original[sample_slice]):
            where = (sample, *moved.where[1:])
            raise AssertionError(
                f"samples are mixed: given alone, the output of sample {sample} at {where} "
                f"{moved.how}"
            )
    call.moves(call.changed(ALL, ALL, ALL), SAME)


def _in_batches(subject: Subject) -> None:
    """Test batches of all and of two (as many as heads, perhaps), with padding and without."""
    for size in (len(subject.lengths), 2):
        for lens in ((), (subject.lens[:size],))[: 1 + subject.takes_padding]:
            call = subject.call()
            call.inputs = tuple(x[:size] for x in call.inputs)
            _keeps_samples_apart(call, *lens)


def assert_differentiable(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that recording gradients changes no output, and that they reach what is read.

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_differentiable(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _has_gradients(Call(attend, (queries, keys, values), tolerance))


def _has_gradients(call: Call, real: Tensor | None = None) -> None:
    """Test it under a loss over real tokens, ``(batch, len)``, if there is padding."""
    expected = call.output(*(x.clone() for x in call.inputs))
    try:
        leaves, output = call.with_gradients()
    except NotImplementedError as error:  # of a kernel that has none here
        raise NotTested(f"no gradients on this device: {first_line(error)}") from error
    except RuntimeError as error:
        raise AssertionError(
            f"with gradients recorded the call fails: {first_line(error)}"
        ) from error
    if moved := call.moved(output.detach(), original=expected):
        raise AssertionError(
            "the output depends on whether gradients are recorded: with them, at "
            f"{moved.where} it {moved.how}"
        )
    gradients: list[Tensor | None] = [None] * 3
    if output.requires_grad:
        counted = output if real is None else output.transpose(1, -2)[real]
        loss = counted.double().square().sum()
        try:
            gradients = list(torch.autograd.grad(loss, leaves, allow_unused=True))
        except NotImplementedError as error:
            raise NotTested(f"no gradients on this device: {first_line(error)}") from error
    for name, gradient in zip(NAMES[: 1 if call.single else 3], gradients, strict=False):
        if gradient is not None and not gradient.isfinite().all():
            where = "" if real is None else ", under a loss over real tokens alone"
            raise AssertionError(f"the gradient of {name} is NaN or infinite{where}")
        places = (ALL if name == x else None for x in NAMES)
        if gradient is None and call.moved(call.changed(*places), original=expected):
            raise AssertionError(f"{name} move the output and get no gradient; is it detached?")


def _arriving(subject: Subject) -> None:
    _has_gradients(subject.call())
    if subject.adapted.single and subject.opened is not None:
        _has_gradients(subject.apart())
    if subject.takes_padding:
        len_q, len_k = subject.call().lengths
        real = within_length(subject.lens, len_k)
        _has_gradients(subject.call(subject.lens), real if len_q == len_k else None)


def _in_training(subject: Subject) -> str:
    """Put a copy into training mode, and give it the same random state for each call."""
    subject.needs_module()
    copied = replace(subject, attend=copy.deepcopy(subject.attend))

    def outputs(call: Call, place: int | None = None) -> Tensor:
        torch.manual_seed(0)
        later = slice(0, 0) if place is None else slice(place + 1, None)
        with mode(copied.attend, training=True):
            return call.changed(later, later, later)

    for evaluated, call in zip(subject.calls(), copied.calls(), strict=True):
        first = outputs(call)
        if evaluated.original.isfinite().all() and not first.isfinite().all():
            share = 1 - first.isfinite().double().mean().item()
            raise AssertionError(
                f"in training mode {share:.0%} of the output are NaN or infinite, in evaluation "
                "none; are scores dropped before the softmax, where -inf times 0 is NaN?"
            )
    call = copied.call()
    first = outputs(call)
    if call.moved(outputs(call), original=first):
        raise NotTested("training mode is random beyond PyTorch's random state")
    call.moves(outputs(call, -1), SAME, original=first)
    if not subject.causal:
        return "the output stayed finite in training mode"
    for place in subject.places()[:-1]:
        if moved := call.moved(outputs(call, place), slice(place + 1), first):
            raise AssertionError(
                f"in training mode it is not causal: with every position after query {place} "
                f"replaced, {moved}"
            )
    return "in training mode, with dropout, the output stayed finite and saw no later position"


WEIGHTS = ("need_weights", "return_weights", "output_attentions", "return_attention")


def _without_weights(subject: Subject) -> str:
    name = subject.argument(WEIGHTS)
    if not name:
        raise NotTested(f"no argument {', '.join(WEIGHTS)}")
    pairs = [
        replace(subject, attend=bound(subject.attend, **{name: x})).calls() for x in (True, False)
    ]
    for with_weights, without in zip(*pairs, strict=True):
        if moved := without.moved(without.original, original=with_weights.original):
            raise AssertionError(f"with {name}=False another output comes back: {moved}")
    pairs[1][0].moves(pairs[1][0].changed(ALL, ALL, ALL), SAME)
    return f"{name} was True and False"


def assert_pure(
    attend: Attend,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    tolerance: float | None = None,
) -> None:
    """See that a call changes none of its inputs, and depends on no call before it.

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_pure(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _changes_nothing(Call(attend, (queries, keys, values), tolerance))


def _changes_nothing(call: Call) -> None:
    copies = [x.clone() for x in call.inputs]
    expected = call.output(*copies)
    for name, x, used in zip(NAMES, call.inputs, copies, strict=True):
        if moved := movement(x, used, 0.0):
            raise AssertionError(f"{name} changed in the call: at {moved.where} it {moved.how}")
    between = call.changed(ALL, ALL, ALL)
    again = call.output(*(x.clone() for x in call.inputs))
    if moved := call.moved(again, original=expected):
        raise AssertionError(
            f"the same call gave another output after a call in between: at {moved.where} it "
            f"{moved.how}"
        )
    call.moves(between, SAME, original=expected)


def _on_the_inputs_themselves(subject: Subject) -> None:
    _changes_nothing(subject.call(copies=False))
    if subject.takes_padding:
        _changes_nothing(subject.call(subject.lens, copies=False))


def assert_deterministic_in_eval(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor
) -> None:
    """See that nothing is random in evaluation mode.

    A ``torch.nn.Module`` is put in evaluation mode for the test, and back after; bind nothing
    around it, or put it there yourself.

    Examples
    --------
    >>> class Drops(torch.nn.Dropout):
    ...     def forward(self, queries, keys, values):
    ...         return super().forward(queries)
    >>> x = torch.ones(1, 3, 4)
    >>> assert_deterministic_in_eval(Drops(), x, x, x)
    """
    module = attend if isinstance(attend, nn.Module) else None
    with mode(module, training=False):
        _is_not_random(Call(attend, (queries, keys, values)))


def _is_not_random(call: Call) -> None:
    outputs = []
    devices = [x.device for x in call.inputs[:1] if x.is_cuda]
    for seed in (0, 1):
        with torch.random.fork_rng(devices):
            torch.manual_seed(seed)
            outputs.append(call.output(*call.inputs))
    first, second = outputs
    if moved := movement(first, second, 0.0):
        raise AssertionError(
            f"random in evaluation mode: with another random state the output at {moved.where} "
            f"{moved.how}; is dropout still on?"
        )
    call.moves(call.changed(ALL, ALL, ALL), SAME, original=first)


CONTRACTS = {
    "batch = single": _in_batches,
    "training mode": _in_training,
    "without weights": _without_weights,
    "gradients": _arriving,
    "inputs unchanged, no state": _on_the_inputs_themselves,
    "evaluation twice": lambda subject: _is_not_random(replace(subject, random=False).call()),
}
