"""Contracts about numbers: large scores, half precision inside, and float16."""

import copy
from dataclasses import replace

import torch
from torch import nn

from attention_contracts._call import ALL, movement
from attention_contracts._masks import within_length
from attention_contracts._report import NotTested
from attention_contracts._subject import Subject
from attention_contracts.reading import measured_scale

LARGE = 40.0  # the factor on queries and keys
STEP = 1e-4
ROUNDING = 3e-5  # relative to the largest output; float32 explains a thirtieth of it


def _survives_large_scores(subject: Subject) -> None:
    """Multiply queries and keys, and see that the output stays finite: exp overflows beyond 88."""
    openable = not subject.adapted.single or subject.opened is not None
    call = subject.apart() if openable else subject.call()
    queries, keys, values = call.inputs
    if not call.original.isfinite().all():
        raise NotTested("the output is not finite to begin with")
    if call.single:
        output = call.output(*[queries * LARGE] * 3)
    else:
        output = call.output(queries * LARGE, keys * LARGE, values)
    if not output.isfinite().all():
        place = (~output.isfinite()).nonzero()[0].tolist()
        raise AssertionError(
            f"large scores overflow: with inputs {LARGE:.0f} times as large the output at "
            f"{tuple(place)} is NaN or infinite; is the largest score subtracted first?"
        )
    call.moves(output, "larger inputs give the same output")


def _is_smooth(subject: Subject) -> None:
    """Move the inputs in tiny even steps: in float32 the output follows, in half it jumps."""
    call = subject.call()
    if call.inputs[0].dtype not in (torch.float32, torch.float64):
        raise NotTested("the inputs are of half precision themselves")
    generator = torch.Generator().manual_seed(2)
    directions = [
        torch.randn(x.shape, generator=generator, device="cpu").to(x) for x in call.inputs
    ]
    if call.single:
        directions = [directions[0]] * 3
    outputs = torch.stack(
        [
            call.output(*(x + n * STEP * y for x, y in zip(call.inputs, directions, strict=True)))
            for n in range(9)
        ]
    ).double()
    if not outputs.isfinite().all():
        raise NotTested("the output is not finite")
    size = outputs.abs().amax()
    second_differences = (outputs[2:] - 2 * outputs[1:-1] + outputs[:-2]).abs()
    jump = second_differences.amax() / size
    if not (outputs[-1] - outputs[0]).any():
        raise NotTested("no output moves with the inputs")
    if jump > 1e-2:
        raise NotTested("the output jumps by more than rounding explains: is something chosen?")
    if jump > ROUNDING:
        raise AssertionError(
            f"the output moves in steps of {jump:.1e} of its size where the inputs move evenly; is "
            "a softmax computed in half precision?"
        )


def _answers_in_half(subject: Subject) -> str:
    """Compare float16 with float32, padding included where there is a mask."""
    full = subject.call()
    half = _in_half(subject)
    inputs = [x.half() for x in full.inputs]
    results = [(full.original, half.call().output(*inputs))]
    if subject.takes_padding:
        lens = subject.lens
        output = half.call(lens).output(*inputs)
        masked = subject.call(lens).original
        if full.single:  # what stands at padded places is nobody's
            real = within_length(lens, masked.shape[-2])[..., None]
            masked, output = masked.where(real, 0.0), output.where(real, 0.0)
        results.append((masked, output))
    for expected, output in results:
        if expected.isfinite().all() and not output.isfinite().all():
            raise AssertionError("in float16 the output is NaN or infinite")
        error = (
            (output.float() - expected).abs().amax() / expected.abs().amax().clamp(min=1e-6)
        ).item()
        if error > 0.05:
            raise AssertionError(f"in float16 the output differs by {error:.2g} of its size")
    return "the output in float16 was compared with that in float32"


def _in_half(subject: Subject, dtype: torch.dtype = torch.float16) -> Subject:
    if subject.like_numbers.dtype != torch.float32:
        raise NotTested("the attention is not of float32")
    attend = subject.attend
    if isinstance(attend, nn.Module):
        attend = copy.deepcopy(attend).to(dtype)
    return replace(subject, attend=attend, dtype=dtype)


def _masks_in_bfloat16(subject: Subject) -> None:
    """See that bfloat16 makes nothing NaN that is a number in float32, an empty row included."""
    subject.needs_padding()
    lens = subject.lens
    lens[1] = 0
    full = subject.call(lens)
    if full.original.isnan().any() and _scores_drown(subject):
        raise AssertionError(
            "a sequence without a token is NaN, where padded queries elsewhere read all keys alike "
            "under a mask that is a number: two of the lowest are added, -inf in a whole row"
        )
    half = _in_half(subject, torch.bfloat16).call(lens)
    output = half.output(*(x.bfloat16() for x in full.inputs))
    if (full.original.isfinite() & ~output.isfinite()).any():
        raise AssertionError(
            "in bfloat16 the output is NaN or infinite where it is a number in float32; are two "
            "masks of the lowest number added, which gives -inf in a whole row?"
        )
    call = subject.call(subject.lens)
    call.moves(subject.call().original, "the mask changes nothing")


def _scores_drown(subject: Subject) -> bool:
    """Whether padded queries read values, whatever they ask: their masks are numbers, not -inf."""
    call = subject.apart(subject.lens)
    sample, length = int(subject.lens.argmin()), int(subject.lens.min())
    asked, read = call.changed(queries=ALL), call.changed(values=ALL)
    rows, asked, read = (x[sample, ..., length:, :] for x in (call.original, asked, read))
    return bool(rows.isfinite().all()) and not movement(rows, asked) and bool(movement(rows, read))


def _scales_before_the_product(subject: Subject) -> str:
    """Let products of queries and keys pass what float16 holds, and their scaled scores not."""
    factor, width = measured_scale(subject.bare())
    product = 1.5 * torch.finfo(torch.float16).max
    if not 0 < product * factor < 0.9 * torch.finfo(torch.float16).max:
        raise NotTested("scaled scores would not fit into float16 either")
    call = _in_half(subject).bare()
    queries, keys, values = (x.half() for x in call.inputs)
    size = (product / width) ** 0.5
    output = call.output(torch.full_like(queries, size), torch.full_like(keys, size), values)
    if not output.isfinite().all():
        raise AssertionError(
            f"products of {product:,.0f} overflow in float16 before they are scaled to "
            f"{product * factor:,.0f}; the output is NaN"
        )
    return f"products of {product:,.0f} were scaled to {product * factor:,.0f} in float16"


CONTRACTS = {
    "large scores": _survives_large_scores,
    "single precision": _is_smooth,
    "float16": _answers_in_half,
    "large scores, float16": _scales_before_the_product,
    "masks in bfloat16": _masks_in_bfloat16,
}
