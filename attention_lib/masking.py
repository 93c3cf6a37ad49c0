"""Masks say which keys a query may attend to (True = may attend); the masked softmax obeys them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attention_lib._arguments import (
    INTEGER_DTYPES,
    broadcast,
    require_count,
    require_device,
    require_float,
    require_lengths,
    require_lengths_for,
    require_mask,
    require_same_device,
    require_tensor,
    shape_of,
)
from attention_lib._engine.visibility import (
    lengths_over_pairs,
    mask_over_pairs,
    remember_causal,
    up_to,
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


def length_mask(valid_lens: Tensor, len_k: int) -> Tensor:
    """Let each query attend to the first ``valid_lens`` keys.

    Parameters
    ----------
    valid_lens : torch.Tensor
        Integers from 0 to ``len_k``: shape ``(batch,)``, one length for all queries of a
        sequence, or ``(batch, len_q)``, one length for each query.
    len_k : int
        Number of keys.

    Returns
    -------
    torch.Tensor
        Boolean, True = may attend: shape ``(batch, 1, len_k)`` or ``(batch, len_q, len_k)``.

    Raises
    ------
    TypeError
        If ``valid_lens`` is no integer tensor; booleans are a ``mask``.
    ValueError
        If it has not one or two axes, or a length is negative or above ``len_k``.

    Examples
    --------
    >>> length_mask(torch.tensor([1, 3]), len_k=3)
    tensor([[[ True, False, False]],
    <BLANKLINE>
            [[ True,  True,  True]]])
    """
    require_count("len_k", len_k, minimum=0)
    require_lengths(valid_lens, len_k)
    return up_to(valid_lens, len_k)


def padding_mask(tokens: Tensor, pad_id: int = 0) -> Tensor:
    """Let every query attend to the tokens that are not padding.

    Parameters
    ----------
    tokens : torch.Tensor
        Token ids of the keys, integers of shape ``(batch, len_k)``.
    pad_id : int
        The id that stands for padding.

    Returns
    -------
    torch.Tensor
        Boolean of shape ``(batch, 1, len_k)``, True = may attend.

    Raises
    ------
    TypeError
        If ``tokens`` is no integer tensor, or ``pad_id`` no whole number.
    ValueError
        If ``tokens`` has not two axes.

    Examples
    --------
    >>> padding_mask(torch.tensor([[5, 2, 1, 0, 0]]))
    tensor([[[ True,  True,  True, False, False]]])
    """
    require_tensor("tokens", tokens, rank=2, axes="(batch, len_k)")
    if tokens.dtype not in INTEGER_DTYPES:
        raise TypeError(f"tokens: expected integer token ids, got dtype {tokens.dtype}")
    if isinstance(pad_id, bool) or not isinstance(pad_id, int):
        raise TypeError(f"pad_id: expected a whole number, got {pad_id!r}")
    return (tokens != pad_id).unsqueeze(-2)  # (batch, 1, len_k)


def causal_mask(
    len_q: int, len_k: int | None = None, device: torch.device | str | None = None
) -> Tensor:
    """Let each query attend to its own position and the ones before it.

    The mask is aligned to the lower right: the last query sees every key. Decoding with a cache
    needs this, with ``len_q = 1`` and a long ``len_k``. PyTorch's ``is_causal=True`` aligns to the
    upper left instead: there the first query sees the first key only. The two agree when
    ``len_q == len_k``.

    Parameters
    ----------
    len_q : int
        Number of queries.
    len_k : int, optional
        Number of keys; ``None`` means ``len_q``. With fewer keys than queries the first
        ``len_q - len_k`` queries see nothing.
    device : torch.device, optional
        Where the mask is made.

    Returns
    -------
    torch.Tensor
        Boolean of shape ``(len_q, len_k)``, True = may attend. Attention recognises this tensor
        without reading it, unless it was changed, and PyTorch's kernel then runs its causal form.

    Raises
    ------
    TypeError, ValueError
        If a length is no whole number, or negative.

    Examples
    --------
    >>> causal_mask(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    require_count("len_q", len_q, minimum=0)
    len_k = len_q if len_k is None else len_k
    require_count("len_k", len_k, minimum=0)
    require_device("device", device)
    with torch.inference_mode(False):  # a tensor of inference mode would not count its changes
        everything = torch.ones(len_q, len_k, dtype=torch.bool, device=device)
        mask = everything.tril(diagonal=len_k - len_q)
    if not torch.compiler.is_compiling():
        remember_causal(mask, True)
    return mask


def window_mask(
    len_q: int,
    len_k: int | None = None,
    *,
    window: int,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let each query attend to its own position and the ``window - 1`` before it.

    Here a window of ``w`` has ``w`` keys, the query's own included. Some texts count ``w`` keys
    before the query's own, one more in all. As in :func:`causal_mask`, the last query stands at
    the last key.

    Parameters
    ----------
    len_q : int
        Number of queries.
    len_k : int, optional
        Number of keys; ``None`` means ``len_q``.
    window : int
        How many keys a query sees at most, its own included; at least 1.
    device : torch.device, optional
        Where the mask is made.

    Returns
    -------
    torch.Tensor
        Boolean of shape ``(len_q, len_k)``, True = may attend.

    Raises
    ------
    TypeError, ValueError
        If a length is no whole number, or negative, or the window below 1.

    Notes
    -----
    Beltagy, Peters, Cohan (2020), in its causal form.

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
    own = causal.shape[1] - len_q  # the key at which the first query stands
    return causal.triu(diagonal=own - window + 1)


def document_mask(documents: Tensor) -> Tensor:
    """Let each position attend to those of its own document.

    Use it when several documents are packed into one sequence. Combined with
    :func:`causal_mask` by :func:`combine_masks`, it lets each position attend to the earlier
    positions of its own document.

    Parameters
    ----------
    documents : torch.Tensor
        For each position the number of its document: integers of shape ``(len,)`` or
        ``(batch, len)``.

    Returns
    -------
    torch.Tensor
        Boolean of shape ``(len, len)`` or ``(batch, len, len)``, True = may attend.

    Raises
    ------
    TypeError
        If ``documents`` is no integer tensor.
    ValueError
        If it has not one or two axes.

    Examples
    --------
    >>> document_mask(torch.tensor([0, 0, 1])).int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    require_tensor("documents", documents, axes="of integers, (len,) or (batch, len)")
    if documents.dtype not in INTEGER_DTYPES:
        raise TypeError(
            f"documents: expected integer document numbers, got dtype {documents.dtype}"
        )
    if documents.dim() not in (1, 2):
        raise ValueError(
            f"documents: expected shape (len,) or (batch, len), got {shape_of(documents)}"
        )
    return documents.unsqueeze(-1) == documents.unsqueeze(-2)


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Allow what every mask allows.

    Parameters
    ----------
    *masks : torch.Tensor or None
        Booleans whose shapes broadcast; ``None`` restricts nothing and is ignored.

    Returns
    -------
    torch.Tensor or None
        The logical *and*, in the common shape; ``None`` if there is no mask at all.

    Raises
    ------
    TypeError
        If a mask is not boolean.
    ValueError
        If the shapes do not broadcast, or the devices differ.

    Examples
    --------
    >>> combine_masks(causal_mask(2), None, torch.tensor([True, False]))
    tensor([[ True, False],
            [ True, False]])
    """
    combined = None
    for position, mask in enumerate(masks):
        if mask is None:
            continue
        name = f"masks[{position}]"
        require_mask(name, mask)
        if combined is None:
            combined = mask
            continue
        require_same_device("the masks before it", combined, name, mask)
        if broadcast(combined.shape, mask.shape) is None:
            raise ValueError(
                f"{name}: expected a shape that broadcasts with the masks before it, "
                f"{shape_of(combined)}, got {shape_of(mask)}"
            )
        combined = combined & mask
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
    require_float("scores", scores, min_rank=2, axes="(..., len_q, len_k)")
    mask = resolve_mask(scores.shape, scores.device, valid_lens, mask)
    if mask is None:
        return torch.softmax(scores, dim=-1)
    # A row in which every key is masked is filled with 0 instead of -inf, so that its softmax is
    # finite; the last line then sets the row to 0, with gradient 0.
    empty = ~mask.any(dim=-1, keepdim=True)  # (..., len_q, 1)
    fill = torch.zeros_like(empty, dtype=scores.dtype).masked_fill(~empty, float("-inf"))
    weights = torch.softmax(torch.where(mask, scores, fill), dim=-1)
    return weights.masked_fill(~mask, 0.0)


def resolve_mask(
    shape: Sequence[int], device: torch.device, valid_lens: Tensor | None, mask: Tensor | None
) -> Tensor | None:
    """Join lengths and mask into one mask of at least two axes; ``None`` if there is neither.

    It broadcasts to ``shape``, ``(..., len_q, len_k)``, whose first axis is the batch of
    ``valid_lens``.
    """
    lengths = None
    if valid_lens is not None:
        require_lengths_for(shape, device, valid_lens)
        lengths = lengths_over_pairs(up_to(valid_lens, shape[-1]), shape)
    return combine_masks(lengths, mask_over_pairs(mask, shape, device))
