"""The contracts of an attention, as :func:`check` tests them."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attention_lib.contracts import order, reading, running
from attention_lib.contracts import padding as padded
from attention_lib.contracts._adapters import adapt, parameters
from attention_lib.contracts._calls import (
    called,
    movement,
    must_move,
    output_for,
    output_of,
    positions_from,
    replaced,
)
from attention_lib.contracts._report import Contract, NotTested
from attention_lib.contracts._subject import Subject
from attention_lib.masking import length_mask

__all__ = ["CONTRACTS"]

CACHES = ("cache", "kv_cache", "past_key_value", "layer_past")  # an argument has one of these names
POSITIONS = ("positions", "position_ids")


def _causality(subject: Subject) -> None:
    if not subject.causal:
        raise NotTested("causal=False")
    order.assert_causal(subject.bound(), *subject.inputs)


def _own_position(subject: Subject) -> None:
    """Change the value at each position, and see that the query there moves."""
    if not subject.causal:
        raise NotTested("causal=False")
    q, k, v = subject.three()
    before = output_for(subject.bound(), q, k, v)
    for place in range(q.shape[-2]):
        here = (torch.arange(v.shape[-2], device=v.device) == place).unsqueeze(-1)
        after = output_for(subject.bound(), q, k, replaced(v, here, None))
        if not movement(before[..., place, :], after[..., place, :], None):
            raise AssertionError(
                f"a query does not see itself: with the value at position {place} replaced, the "
                f"output of query {place} is the same"
            )


def _steps(subject: Subject) -> None:
    if not subject.causal:
        raise NotTested("causal=False")
    if subject.adapted.single:
        _cached_steps(subject)
        return
    inputs = subject.three()
    _unpromised(subject, lambda: order.assert_decodes_like_prefill(subject.bound(), *inputs))


def _cached_steps(subject: Subject) -> None:
    """Give one input in steps, with the cache that comes back last, if it takes one."""
    name = next((name for name in CACHES if name in parameters(subject.attend)), None)
    if name is None:
        raise NotTested(f"a single input, and no argument {', '.join(CACHES)}")
    x = subject.inputs[0]
    whole = output_for(subject.bound(), x, x, x)
    for size in (1, 3):
        cache = None
        for start in range(0, x.shape[-2], size):
            step = x[..., start : start + size, :].clone()
            with torch.no_grad():
                result = subject.attend(step, **{name: cache})
            if not isinstance(result, tuple) or result[-1] is None:
                raise NotTested(f"no cache comes back in the last place when {name}=None is given")
            cache = result[-1]
            moved = movement(whole[..., start : start + size, :], result[0], None)
            if moved:
                where, how = moved
                raise AssertionError(
                    f"decoding differs: in a step of {step.shape[-2]} with {start} tokens in the "
                    f"cache, the output of token {start + where[-2]} {how}"
                )


def _positions(subject: Subject) -> None:
    """Leave a gap between positions, and see that the output moves."""
    name = next((name for name in POSITIONS if name in parameters(subject.attend)), None)
    if name is None or subject.adapted.maskable:
        raise NotTested(f"no argument {' or '.join(POSITIONS)}")
    inputs = subject.inputs[: 1 if subject.adapted.single else 3]
    places = torch.arange(inputs[0].shape[-2], device=inputs[0].device)
    gap = places + 3 * (places >= len(places) // 2)

    def attend(queries: Tensor, *_: Tensor) -> Any:
        return subject.attend(*inputs, **{name: queries})

    given, other = (output_of(called(attend, x), inputs[0]) for x in (places, gap))
    if not movement(given, other, None):
        raise AssertionError(f"{name} are not read: with a gap of 3 between them no output moves")


def _window(subject: Subject) -> None:
    if subject.window is None:
        raise NotTested("no window= was given")
    q, k, v = subject.inputs
    if subject.adapted.single:
        _single_window(subject, subject.window)
    else:
        order.assert_window(subject.bound(), q, k, v, window=subject.window)


def _single_window(subject: Subject, window: int) -> None:
    x = subject.inputs[0]
    if x.shape[-2] <= window:
        raise NotTested(f"lengths: the longest sequence must be longer than the window, {window}")
    before = output_for(subject.bound(), x, x, x)[..., -1, :]
    for back in range(1, x.shape[-2]):
        here = (torch.arange(x.shape[-2], device=x.device) == x.shape[-2] - 1 - back).unsqueeze(-1)
        other = replaced(x, here, None)
        read = movement(before, output_for(subject.bound(), other, other, other)[..., -1, :], None)
        if bool(read) != (back < window):
            raise AssertionError(
                f"a window of {window} holds {window} keys: the last query "
                f"{'reads' if read else 'does not read'} the key {back} places back"
            )


def _queries(subject: Subject) -> None:
    order.assert_queries_independent(subject.bound(), *subject.three())


def _permutation(subject: Subject) -> None:
    if subject.causal or subject.window is not None:
        raise NotTested("a mask orders the keys")
    try:
        order.assert_permutation_equivariant(subject.bound(), *subject.inputs)
    except AssertionError as error:
        raise NotTested(f"positions inside, or a mask? {error}") from error


def _leak(subject: Subject, lens: Tensor, poison: float | None) -> None:
    """Replace what stands in the padding; with one input the padded queries change, too."""
    if not subject.adapted.single:
        padded.assert_padding_invariant(subject.bound(lens), *subject.three(), lens, poison=poison)
        return
    x = subject.inputs[0]
    real = length_mask(lens, x.shape[-2]).squeeze(1).unsqueeze(-1)  # (batch, len, 1)

    def seen(x: Tensor) -> Tensor:
        return output_for(subject.bound(lens), x, x, x).masked_fill(~real, 0.0)

    before = seen(x)
    moved = movement(before, seen(replaced(x, ~real, poison)), None)
    if moved:
        where, how = moved
        raise AssertionError(
            f"padding leaks: with the tokens from position {int(lens[where[0]])} on replaced in "
            f"sequence {where[0]}, the output of token {where[-2]} {how}"
        )
    first = ~positions_from(x.shape[-2], 1, x.device)
    must_move(
        before[:, 1:], seen(replaced(x, first, None))[:, 1:], "no output moves with another token"
    )


def _training_rows(subject: Subject) -> None:
    if not isinstance(subject.attend, nn.Module):
        raise NotTested("a function: it has no training mode")
    subject.attend.train()
    try:
        _unpromised(subject, lambda: _weights(reading.assert_rows_sum_to_one, subject))
    finally:
        subject.attend.eval()


def _padding_values(subject: Subject) -> None:
    subject.with_padding()
    _leak(subject, subject.lengths.clamp(min=1), None)


def _unpromised(subject: Subject, test: Callable[[], None]) -> None:
    """Test what counts only with ``strict``; say what was seen without."""
    try:
        test()
    except AssertionError as error:
        if subject.strict:
            raise
        raise NotTested(
            f"seen, but not every attention promises it (strict=True counts it): {error}"
        ) from error


def _padding_nan(subject: Subject) -> None:
    subject.with_padding()
    lens = subject.lengths.clamp(min=1)
    _unpromised(subject, lambda: _leak(subject, lens, float("nan")))


def _padding_removed(subject: Subject) -> None:
    subject.with_padding()
    lens = subject.lengths.clamp(min=1)

    def attend(queries: Tensor, keys: Tensor, values: Tensor, real: Tensor) -> Any:
        return subject.call(queries, keys, values, real)

    real = length_mask(lens, subject.inputs[0].shape[-2]).squeeze(1)
    for sample in (~real).any(dim=-1).nonzero().flatten().tolist():
        # Each by itself: whether samples are mixed is for another contract to say.
        one = [x[sample : sample + 1] for x in (*subject.inputs, real)]
        padded.assert_padding_removable(attend, *one)


def _empty_rows(subject: Subject) -> None:
    subject.with_padding()
    lens = subject.lengths.clone()
    lens[1] = 0
    if subject.adapted.single:
        raise NotTested("a single input: the queries of an empty sequence are padding themselves")

    def test() -> None:
        _leak(subject, lens, None)
        padded.assert_survives_empty_rows(subject.bound(lens), *subject.three(), lens)

    _unpromised(subject, test)


def _any_score(subject: Subject) -> None:
    subject.with_padding()
    subject.three()
    lens = subject.lengths.clamp(min=1)
    plain = subject.plain()
    free = Subject(**{**vars(plain), "causal": False}) if plain.adapted.maskable else plain
    padded.assert_mask_beats_any_score(free.bound(lens), *subject.inputs, lens)


def _documents(subject: Subject) -> None:
    """Two documents in one row give what the second gives alone."""
    q, k, v = subject.inputs
    length = q.shape[-2]
    ids = (torch.arange(length, device=q.device) >= length // 2).long()
    blocks = ids[:, None] == ids
    if subject.causal:
        blocks = blocks.tril()
    if subject.documents is not None:
        given = subject.documents(ids.expand(q.shape[0], -1))
        inputs = (q,) if subject.adapted.single else (q, k, v)
        packed = subject.attend(*(x.clone() for x in inputs), **given)
    elif subject.adapted.maskable:
        seen = blocks.expand(q.shape[0], -1, -1)
        packed = subject.adapted.call(q.clone(), k.clone(), v.clone(), seen, None)
    else:
        raise NotTested("no way to pass documents: documents=lambda ids: {…} gives one")
    packed = packed[0] if isinstance(packed, tuple) else packed
    second = slice(length // 2, None)
    parts = [x[..., second, :] for x in (q, k, v)]
    alone = output_for(subject.bound(), *parts)
    must_move(
        alone, output_for(subject.bound(), q, k, v)[..., second, :], "without a mask nothing meets"
    )
    moved = movement(alone, packed[..., second, :].detach(), None)
    if moved:
        where, how = moved
        raise AssertionError(
            f"documents meet: with another document before it in the row, the output of token "
            f"{where[-2]} of a document {how}"
        )


def _single(subject: Subject) -> None:
    """Alone as in company, in batches of all and of two (as many as heads, perhaps)."""
    for size in (len(subject.lengths), 2):
        inputs = [x[:size] for x in subject.inputs]
        running.assert_batch_independent(subject.bound(), *inputs)
        if subject.padding is not None or subject.adapted.maskable:
            lens = subject.lengths[:size].clamp(min=1)
            running.assert_batch_independent(subject.bound(), *inputs, lens)


def _three(test: Callable[..., None], subject: Subject) -> None:
    test(subject.bound(), *subject.three())


def _all(test: Callable[..., None], subject: Subject) -> None:
    test(subject.bound(), *subject.inputs)


def _pure(subject: Subject) -> None:
    masked = subject.padding is not None or subject.adapted.maskable
    for lens in (None, subject.lengths.clamp(min=1)) if masked else (None,):
        attend = subject.bound(lens, copies=False)
        running.assert_pure(attend, *(x.clone() for x in subject.inputs))


def _random(subject: Subject) -> None:
    running.assert_deterministic_in_eval(subject.bound(), *subject.drawn)


def _weights(test: Callable[..., None], subject: Subject) -> None:
    try:
        test(subject.bound(), *subject.inputs)
    except TypeError as error:
        raise NotTested("no weights are returned") from error


def _explained(subject: Subject) -> None:
    plain = subject.plain()
    if plain.adapted.single:
        raise NotTested("a single input: its values cannot be known")
    _weights(reading.assert_weights_explain_output, plain)


def _scale(subject: Subject) -> None:
    plain = subject.plain()
    q, k, v = plain.inputs
    single = plain.adapted.single
    if subject.window is not None:
        raise NotTested("a window: the last query does not read every key")
    found, width = reading.measured_scale(plain.bound(), q, k, v, single=single)
    right = subject.scale
    for name in ("scaling", "scale", "softmax_scale"):
        stored = getattr(subject.attend, name, None)
        if right is None and isinstance(stored, float):
            right = stored
    wanted = width**-0.5 if right is None else right
    if abs(found - wanted) <= 1e-2 * abs(wanted):
        return
    guess = reading.scale_guess(found, width, q.shape[-1])
    if right is None and not guess:
        raise NotTested(f"scores are scaled by {found:.4g}: scale={found:.4g} if that is right")
    because = f" ({guess})" if guess else ""
    raise AssertionError(
        f"scores are scaled by {found:.4g}{because}, expected {wanted:.4g} for heads of width "
        f"{width}"
    )


def _owned(subject: Subject) -> None:
    if not isinstance(subject.attend, nn.Module):
        raise NotTested("a function: it has no parameters")
    running.owns_what_it_learns(subject.attend, subject.bound(), *subject.inputs)


def _forgets(subject: Subject) -> None:
    _unpromised(subject, lambda: running.assert_forgets(subject.bound(), *subject.inputs))


def _elsewhere(subject: Subject) -> None:
    moved = subject
    if isinstance(subject.attend, nn.Module):
        module = copy.deepcopy(subject.attend).to("meta")
        adapted = adapt(module, subject.padding, subject.documents)
        moved = Subject(**{**vars(subject), "attend": module, "adapted": adapted})
    inputs = subject.inputs
    _unpromised(subject, lambda: running.assert_device_independent(moved.bound(), *inputs))


_MASK = "the mask is missing, inverted, or applied in the wrong place"
CONTRACTS: tuple[Contract[Subject], ...] = (
    Contract("causality", _causality, "everything after each query was replaced", _MASK,
             "mask-failures"),
    Contract("own position", _own_position, "the value at each query's own place was replaced",
             "the triangle leaves its diagonal out", "masking"),
    Contract("step by step = whole", _steps, "the last queries were given with all keys",
             "the triangle starts in the upper left, as is_causal=True of PyTorch's function does; "
             "a cache needs the lower right", "masks-in-use"),
    Contract("window", _window, "keys further and further back were replaced",
             "the window counts its own key twice, or not", "masks-in-use"),
    Contract("padding, values", _padding_values, "other numbers stood in the padding", _MASK,
             "mask-failures"),
    Contract("padding, NaN", _padding_nan, "NaN stood in the padding",
             "a weight of 0 times NaN is NaN: fill values at padding with 0 first",
             "mask-failures"),
    Contract("padding removed", _padding_removed, "each sequence was given without its padding",
             "something averages over all places, or the mask marks other places", "mask-failures"),
    Contract("empty rows", _empty_rows, "one sequence had nothing to attend to",
             "softmax over −∞ alone is NaN, and over a large number alone reads the padding",
             "mask-failures"),
    Contract("mask beats any score", _any_score, "every real key scored −1e12",
             "hidden scores are filled with a large negative number in place of −∞",
             "mask-failures"),
    Contract("packed documents", _documents, "two documents stood in one row",
             "the mask for documents does not reach the scores", "masks-in-use"),
    Contract("queries apart", _queries, "each query was replaced alone",
             "positions are mixed: heads split by a reshape without a transpose, or a softmax over "
             "the wrong axis", "head-layouts"),
    Contract("permutation", _permutation, "queries and keys were shuffled",
             "positions are mixed", "positions"),
    Contract("batch = single", _single, "each sequence was given alone",
             "samples are mixed: a softmax or a statistic over the batch, or masks of heads and "
             "samples in the wrong order", "bug-museum"),
    Contract("reads values", partial(_three, reading.assert_reads_values),
             "the values were replaced", "values are taken from the keys", "bug-museum"),
    Contract("reads queries", partial(_three, reading.assert_reads_queries),
             "the queries were replaced", "softmax cancels what all keys share", "bug-museum"),
    Contract("rows sum to 1", partial(_weights, reading.assert_rows_sum_to_one),
             "the weights of each query were added", "a mask or dropout after the softmax, or a "
             "softmax over the wrong axis", "heatmaps"),
    Contract("rows sum to 1, training", _training_rows,
             "the weights of each query were added in training mode",
             "the weights that come back are those after dropout, as from PyTorch's layer",
             "heatmaps"),
    Contract("positions are read", _positions, "positions with a gap were given",
             "positions are accepted and not passed on", "positions"),
    Contract("weights explain output", _explained, "weights were multiplied with the values",
             "the weights that come back are averaged over heads, or after dropout", "heatmaps"),
    Contract("scale", _scale, "the factor on the dot product was measured, without projections",
             "weights too sharp, or too flat", "variance"),
    Contract("gradients", partial(_all, running.assert_differentiable),
             "the output was computed with gradients and without", "a detach, or a path of its own "
             "for inference", "softmax-gradient"),
    Contract("inputs unchanged, no state", _pure,
             "the same call was made again after another", "an operation in place, or a cache that "
             "is not emptied", "bug-museum"),
    Contract("evaluation twice", _random,
             "two calls had different random states", "dropout is on in evaluation", "bug-museum"),
    Contract("owns parameters", _owned, "the leaves of the output's graph were listed",
             "layers are made in forward, where no optimiser sees them", "bug-museum"),
    Contract("forgets", _forgets, "the graph was looked for after the call",
             "weights are stored on the module", "bug-museum"),
    Contract("any device", _elsewhere, "the call was made on the device meta",
             "a mask is made without a device, or numbers are read by .item()", "bug-museum"),
)  # fmt: skip
