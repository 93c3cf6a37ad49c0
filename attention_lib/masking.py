"""Masks say which keys a query may attend to (True = may attend); the masked softmax obeys them.

Every mask is boolean and broadcasts to the scores, ``(..., len_q, len_k)``. A TypeError refuses
another kind or dtype, a ValueError ranks, sizes, lengths or devices that do not fit.
"""

import sys
import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from attention_lib.arguments import (
    broadcast,
    broadcasts_to,
    can_read,
    require_bool,
    require_count,
    require_device,
    require_float,
    require_ids,
    require_lengths,
    require_mask,
    shape_of,
)

__all__ = [
    "causal_mask",
    "combine_masks",
    "document_mask",
    "length_mask",
    "masked_softmax",
    "padding_mask",
    "window_mask",
]

_NOT_THE_USERS = ("attention_lib", "torch")


def length_mask(valid_lens: Tensor, len_k: int) -> Tensor:
    """Let each query attend to the first ``valid_lens`` keys.

    Lengths are integers from 0 to ``len_k``. One for each sequence, ``(batch,)``, gives a mask
    ``(batch, 1, len_k)``; one for each query, ``(batch, len_q)``, gives ``(batch, len_q, len_k)``.
    Other ranks and lengths out of range are a ValueError, floats and booleans a TypeError.

    Examples
    --------
    >>> length_mask(torch.tensor([1, 3]), len_k=3)
    tensor([[[ True, False, False]],
    <BLANKLINE>
            [[ True,  True,  True]]])
    """
    require_lengths(valid_lens, len_k)
    if valid_lens.dim() == 1:
        valid_lens = valid_lens.unsqueeze(-1)  # (batch, 1)
    return torch.arange(len_k, device=valid_lens.device) < valid_lens.unsqueeze(-1)


def padding_mask(tokens: Tensor, pad_id: int = 0) -> Tensor:
    """Let every query attend to the tokens that are not padding.

    The ids of the keys, integers ``(batch, len_k)``, give a mask ``(batch, 1, len_k)``; ``pad_id``
    stands for padding. Ids that are no integers are a TypeError, another rank is a ValueError.

    Examples
    --------
    >>> padding_mask(torch.tensor([[5, 2, 1, 0, 0]]))
    tensor([[[ True,  True,  True, False, False]]])
    """
    require_ids("tokens", tokens, "(batch, len_k)")
    require_count("pad_id", pad_id, minimum=None)
    if tokens.dim() != 2:
        raise ValueError(f"tokens: expected 2 axes (batch, len_k), got shape {shape_of(tokens)}")
    return (tokens != pad_id).unsqueeze(-2)  # (batch, 1, len_k)


def causal_mask(
    len_q: int, len_k: int | None = None, device: torch.device | str | None = None
) -> Tensor:
    """Let each query attend to its own position and the ones before it, ``(len_q, len_k)``.

    ``len_k=None`` means ``len_q``, and ``device`` says where the mask is made. It is aligned to
    the lower right: the last query sees every key. Decoding with a cache needs this, with
    ``len_q = 1`` and a long ``len_k``. With fewer keys than queries the first ``len_q - len_k``
    queries see nothing. PyTorch's ``is_causal=True`` aligns to the upper left instead: there the
    first query sees the first key only. The two agree when ``len_q == len_k``.

    Attention also takes ``causal=True``, which means this mask. PyTorch's kernel then knows that
    it is one, and leaves out the half that it hides.

    Examples
    --------
    >>> causal_mask(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    len_k = len_q if len_k is None else len_k
    return torch.ones(len_q, len_k, dtype=torch.bool, device=device).tril(len_k - len_q)


def window_mask(
    len_q: int,
    len_k: int | None = None,
    *,
    window: int,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let each query attend to its own position and the ``window - 1`` before it.

    The shape is ``(len_q, len_k)``, and as in :func:`causal_mask` the last query stands at the last
    key. A window of ``w`` has ``w`` keys, the query's own included; some texts count ``w`` keys
    before the query's own, one more in all. A window that is no whole number of at least 1 is
    refused. Beltagy, Peters, Cohan (2020), in its causal form.

    Examples
    --------
    >>> window_mask(4, window=2).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0],
            [0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    require_count("window", window)
    causal = causal_mask(len_q, len_k, device)
    first_query = causal.shape[1] - len_q  # the key at which it stands
    return causal.triu(diagonal=first_query - window + 1)


def document_mask(documents: Tensor) -> Tensor:
    """Let each position attend to those of its own document, several of which share a sequence.

    The number of its document for each position, integers ``(len,)`` or ``(batch, len)``, gives a
    mask ``(len, len)`` or ``(batch, len, len)``; other dtypes are a TypeError, other ranks a
    ValueError. For a causal model, combine it with :func:`causal_mask`.

    Examples
    --------
    >>> document_mask(torch.tensor([0, 0, 1])).int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    axes = "(len,) or (batch, len)"
    require_ids("documents", documents, axes)
    if documents.dim() not in (1, 2):
        raise ValueError(f"documents: expected shape {axes}, got {shape_of(documents)}")
    return documents.unsqueeze(-1) == documents.unsqueeze(-2)


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Allow what every mask allows, in the common shape of the masks.

    ``None`` restricts nothing and is ignored; without any mask the result is ``None``. A mask that
    is not boolean is a TypeError, shapes that do not broadcast and two devices are a ValueError.

    Examples
    --------
    >>> combine_masks(causal_mask(2), None, torch.tensor([True, False]))
    tensor([[ True, False],
            [ True, False]])
    """
    combined: Tensor | None = None
    for position, mask in enumerate(masks):
        if mask is None:
            continue
        name = f"masks[{position}]"
        require_mask(name, mask)
        if combined is not None:
            require_device("the masks before it", combined.device, name, mask)
            if broadcast(combined.shape, mask.shape) is None:
                raise ValueError(
                    f"{name}: expected a shape that broadcasts with the masks before it, "
                    f"{shape_of(combined)}, got {shape_of(mask)}"
                )
        combined = mask if combined is None else combined & mask
    return combined


def masked_softmax(
    scores: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None
) -> Tensor:
    """Turn scores into weights over the keys that may be attended to.

    Parameters
    ----------
    scores : torch.Tensor
        Shape ``(..., len_q, len_k)``; never changed.
    valid_lens : torch.Tensor, optional
        Integer lengths, see :func:`length_mask`; the first axis of ``scores`` is the batch.
    mask : torch.Tensor, optional
        Boolean, True = may attend; broadcasts to the shape of ``scores``. With both given,
        a key must pass both.

    Returns
    -------
    torch.Tensor
        Weights in the shape and dtype of ``scores``. Masked keys get exactly 0, even if their
        score is NaN. A row sums to 1; a row in which every key is masked is all 0, with gradient 0.
        NaN or +inf that may be seen makes the whole row NaN, and so does -inf in all its places.

    Raises
    ------
    TypeError
        If ``scores`` is not floating-point, ``valid_lens`` not integer, ``mask`` not boolean.
    ValueError
        If ranks, shapes, lengths or devices do not fit.

    Examples
    --------
    >>> scores = torch.zeros(2, 1, 4)
    >>> masked_softmax(scores, torch.tensor([2, 0]))
    tensor([[[0.5000, 0.5000, 0.0000, 0.0000]],
    <BLANKLINE>
            [[0.0000, 0.0000, 0.0000, 0.0000]]])
    """
    require_float("scores", scores, "(..., len_q, len_k)", min_rank=2)
    mask, _ = one_mask(scores.shape, scores.device, valid_lens, mask)
    if mask is None:
        return scores.softmax(dim=-1)
    hidden = ~mask
    scores = scores.masked_fill(hidden, -torch.inf)
    fully_masked = hidden.all(dim=-1, keepdim=True)  # (..., len_q, 1)
    if can_read(fully_masked) and not fully_masked.any():
        return scores.softmax(dim=-1)
    # A softmax over nothing is NaN: such rows get ordinary scores first, and weights of 0 last.
    return scores.masked_fill(fully_masked, 0.0).softmax(dim=-1).masked_fill(fully_masked, 0.0)


def one_mask(
    shape: Sequence[int],
    device: torch.device,
    valid_lens: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
) -> tuple[Tensor | None, bool]:
    """Join lengths, mask and causality into one mask.

    Parameters
    ----------
    shape, device
        Of the scores, ``(..., len_q, len_k)``; their first axis is the batch of ``valid_lens``.
    valid_lens, mask, causal
        As attention gets them.

    Returns
    -------
    mask : torch.Tensor or None
        Boolean, with as many axes as the scores, to whose shape it broadcasts.
    causal : bool
        Whether attention is causal and nothing else, with as many queries as keys. Then no mask is
        made, because PyTorch's kernel needs none. A single query sees every key.
    """
    require_bool("causal", causal)
    if mask is not None:
        mask = _mask_for(shape, device, mask)
    if valid_lens is not None:
        lengths = _lengths_for(shape, device, valid_lens)
        mask = lengths if mask is None else mask & lengths
    if not causal or shape[-2] == 1:
        return mask, False
    if mask is None and shape[-2] == shape[-1]:
        return None, True
    triangle = causal_mask(shape[-2], shape[-1], device)[(None,) * (len(shape) - 2)]
    return triangle if mask is None else mask & triangle, False


def _lengths_for(shape: Sequence[int], device: torch.device, valid_lens: Tensor) -> Tensor:
    """Return the mask of lengths that hold for every head."""
    lengths = length_mask(valid_lens, shape[-1])  # (batch, 1 or len_q, len_k)
    require_device("the scores", device, "valid_lens", valid_lens)
    if len(shape) < 3:
        raise ValueError(
            f"valid_lens: expected scores with a batch axis, got scores {tuple(shape)}"
        )
    if tuple(valid_lens.shape) != (shape[0], shape[-2])[: valid_lens.dim()]:
        raise ValueError(
            f"valid_lens: expected shape ({shape[0]},) or ({shape[0]}, {shape[-2]}) "
            f"for scores {tuple(shape)}, got {shape_of(valid_lens)}"
        )
    middle_axes = (1,) * (len(shape) - 3)
    return lengths.reshape(lengths.shape[0], *middle_axes, *lengths.shape[1:])


def _mask_for(shape: Sequence[int], device: torch.device, mask: Tensor) -> Tensor:
    """Give a mask as many axes as the scores have."""
    require_mask("mask", mask)
    require_device("the scores", device, "mask", mask)
    if not broadcasts_to(mask.shape, shape):
        raise ValueError(
            f"mask: expected a shape that broadcasts to the scores' {tuple(shape)}, "
            f"got {shape_of(mask)}"
        )
    if mask.dim() == len(shape):
        return mask
    _warn_of_two_meanings(mask, shape)
    return mask[(None,) * (len(shape) - mask.dim())]


def _warn_of_two_meanings(mask: Tensor, shape: Sequence[int]) -> None:
    """Say how a mask is understood that could be ``(batch, len_k)`` as well."""
    batch, len_q, len_k = shape[0], *shape[-2:]
    is_ambiguous = len(shape) > 2 and batch == len_q > 1 and len_k > 1
    if not is_ambiguous or mask.shape != (len_q, len_k) or torch.compiler.is_compiling():
        return
    if can_read(mask) and mask.equal(causal_mask(len_q, len_k)):
        return
    warnings.warn(
        f"mask: {shape_of(mask)} is understood as (len_q, len_k), the same for each sequence; "
        "a mask (batch, len_k) is written mask.unsqueeze(1), and mask.unsqueeze(0) says that "
        "(len_q, len_k) is meant",
        stacklevel=_calls_since_the_users(),
    )


def _calls_since_the_users() -> int:
    """Return the ``stacklevel`` of the nearest call outside of this library and PyTorch."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in _NOT_THE_USERS:
        frame, level = frame.f_back, level + 1
    return level
