"""Contracts about the call: no side effects, no chance, no mixed samples, gradients that arrive."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from attention_contracts._arguments import require_tensor, shape_of
from attention_contracts._call import ALL, NAMES, Attend, Call, mode, movement, output_for
from attention_contracts._report import Contract, NotTested, first_line
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
    attend : callable
        ``attend(queries, keys, values, *for_each)`` returns the output, alone or first in a tuple.
    queries, keys, values : torch.Tensor
        Shapes ``(batch, ..., len_q, d_k)``, ``(batch, ..., len_k, d_k)``,
        ``(batch, ..., len_k, d_v)``.
    *for_each : torch.Tensor
        What else has one entry a sample, lengths or a mask.
    tolerance : float, optional
        Largest difference, absolute and relative, that is no movement; ``None`` means
        ``torch.testing``'s for the dtype.

    Raises
    ------
    AssertionError
        If the contract is broken.
    NotTested
        If other inputs give the same output.

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

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)``, with its masks bound, returns the output, alone or first
        in a tuple.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        Largest difference, absolute and relative, that is no movement; ``None`` means
        ``torch.testing``'s for the dtype.

    Raises
    ------
    AssertionError
        If the contract is broken.
    NotTested
        If there is no way back on this device.

    Examples
    --------
    >>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    >>> assert_differentiable(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    _has_gradients(Call(attend, (queries, keys, values), tolerance))


def _has_gradients(call: Call) -> None:
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
        loss = output.double().square().sum()
        try:
            gradients = list(torch.autograd.grad(loss, leaves, allow_unused=True))
        except NotImplementedError as error:
            raise NotTested(f"no gradients on this device: {first_line(error)}") from error
    for name, gradient in zip(NAMES[: 1 if call.single else 3], gradients, strict=False):
        if gradient is not None and not gradient.isfinite().all():
            raise AssertionError(f"the gradient of {name} is NaN or infinite")
        places = (ALL if name == x else None for x in NAMES)
        if gradient is None and call.moved(call.changed(*places), original=expected):
            raise AssertionError(f"{name} move the output and get no gradient; is it detached?")


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
        ``attend(queries, keys, values)``, with its masks bound, returns the output, alone or first
        in a tuple.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.
    tolerance : float, optional
        Largest difference, absolute and relative, that is no movement; ``None`` means
        ``torch.testing``'s for the dtype.

    Raises
    ------
    AssertionError
        If the contract is broken.
    NotTested
        If other inputs give the same output.

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

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)`` returns the output, alone or first in a tuple.
    queries, keys, values : torch.Tensor
        Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.

    Raises
    ------
    AssertionError
        If the contract is broken.
    NotTested
        If other inputs give the same output.

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


CONTRACTS = (
    Contract(
        "batch = single",
        _in_batches,
        how="each sequence was given alone",
        means="samples are mixed: a softmax or a statistic over the batch, or masks of heads and "
        "samples in the wrong order",
        chapter="bug-museum",
    ),
    Contract(
        "gradients",
        lambda subject: _has_gradients(subject.call()),
        how="the output was computed with gradients and without",
        means="a detach, or a path of its own for inference",
        chapter="softmax-gradient",
    ),
    Contract(
        "inputs unchanged, no state",
        _on_the_inputs_themselves,
        how="the same call was made again after another",
        means="an operation in place, or a cache that is not emptied",
        chapter="bug-museum",
    ),
    Contract(
        "evaluation twice",
        lambda subject: _is_not_random(replace(subject, random=False).call()),
        how="two calls had different random states",
        means="dropout is on in evaluation",
        chapter="bug-museum",
    ),
)
