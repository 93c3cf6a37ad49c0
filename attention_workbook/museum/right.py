"""What is right: the repaired forms, each the form of several exhibits."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib.attention import Attention, scaled_dot_product_attention
from attention_lib.masking import causal_mask, masked_softmax, window_mask
from attention_lib.multihead import merge_heads, split_heads
from attention_lib.positions import rotary_scores, sinusoidal_positions
from attention_lib.scoring import AdditiveScore, scaled_dot_scores

Pair = tuple[Tensor, Tensor | None]

NUM_HEADS, WINDOW = 2, 3


def right_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    real: Tensor | None = None,
    causal: bool = False,
) -> Pair:
    """Attend as it is right: the repaired form of most exhibits.

    Parameters
    ----------
    queries, keys, values : torch.Tensor
        Their shapes: ``(batch, len_q, d_k)``, ``(batch, len_k, d_k)``, ``(batch, len_k, d_v)``.
    real : torch.Tensor, optional
        Boolean ``(batch, len_k)``, True = no padding.
    causal : bool
        Whether a query sees no later key.

    Returns
    -------
    tuple of torch.Tensor
        Output ``(batch, len_q, d_v)`` and weights ``(batch, len_q, len_k)``.

    Examples
    --------
    >>> x = torch.eye(2)[None]
    >>> right_attention(x, x, x, torch.tensor([[True, False]]))[1]
    tensor([[[1., 0.],
             [1., 0.]]])
    """
    mask = allowed(queries, keys, real, causal)
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


def allowed(queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool) -> Tensor:
    """Return who may attend to whom, booleans ``(batch or 1, len_q, len_k)``."""
    len_q, len_k = queries.shape[-2], keys.shape[-2]
    mask = torch.ones(1, len_q, len_k, dtype=torch.bool, device=keys.device)
    if causal:
        mask = mask & causal_mask(len_q, len_k, keys.device)
    return mask if real is None else mask & real.unsqueeze(-2)


def with_mask(attend: Callable[..., Pair]) -> Callable[..., Pair]:
    """Return an attention of the common form, for one that takes one mask: True = may attend."""

    @wraps(attend)
    def common(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
        return attend(queries, keys, values, allowed(queries, keys, real, causal))

    return common


def weighted_values(scores: Tensor, values: Tensor, mask: Tensor | None = None) -> Pair:
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ values, weights


def by_pytorch(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask), None


@with_mask
def fused(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """PyTorch's function, with the mask that it reads."""
    return by_pytorch(queries, keys, values, mask)


def in_heads(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    split: Callable[[Tensor, int], Tensor] = split_heads,
    scale: float | None = None,
) -> Pair:
    parts = [split(x, NUM_HEADS) for x in (queries, keys, values)]
    output, weights = scaled_dot_product_attention(*parts, mask=mask, scale=scale)
    return merge_heads(output), weights


@with_mask
def heads(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """Two heads without projections."""
    return in_heads(queries, keys, values, mask.unsqueeze(1))  # (batch, 1, len_q, len_k)


@with_mask
def rotary(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
    """Rotary positions in the layout of the paper."""
    return weighted_values(rotary_scores(queries, keys), values, mask)


def positions_by_token(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Sines added by the number of the token, wherever the padding stands."""
    is_real = allowed(queries[:, :1], keys, real, False)[:, 0]  # (batch or 1, len_k)
    places = (is_real.cumsum(dim=-1) - 1).clamp(min=0)
    return with_positions(queries, keys, values, real, causal, places)


def with_positions(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool, places: Tensor
) -> Pair:
    waves = sinusoidal_positions(keys.shape[-2], keys.shape[-1]).to(keys)[places]
    return right_attention(
        queries + waves[:, -queries.shape[-2] :], keys + waves, values, real, causal
    )


def windowed(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """A causal window of three keys, the query's own included."""
    return in_window(queries, keys, values, real, WINDOW)


def in_window(queries: Tensor, keys: Tensor, values: Tensor, real: Any, window: int) -> Pair:
    near = window_mask(queries.shape[-2], keys.shape[-2], window=window, device=keys.device)
    mask = allowed(queries, keys, real, True) & near
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


def cached_window(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The same window, from a cache that drops what no query needs any more."""
    return in_cache(queries, keys, values, real, WINDOW)


def in_cache(queries: Tensor, keys: Tensor, values: Tensor, real: Any, num_kept: int) -> Pair:
    last = slice(-(num_kept + queries.shape[-2] - 1), None)
    real = None if real is None else real[..., last]
    return in_window(queries, keys[..., last, :], values[..., last, :], real, WINDOW)


class Layer(nn.Module):
    """PyTorch's layer with two heads; its projections are identities."""

    average, batch_first = False, True

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(8, NUM_HEADS, bias=False, batch_first=self.batch_first)
        with torch.no_grad():
            self.layer.in_proj_weight.copy_(torch.eye(8).repeat(3, 1))
            self.layer.out_proj.weight.copy_(torch.eye(8))

    def masks(
        self, queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool
    ) -> dict[str, Any]:
        """Return what the layer is told, in its own words: True = ignore."""
        hidden = ~causal_mask(queries.shape[-2], keys.shape[-2], keys.device) if causal else None
        return {"attn_mask": hidden, "key_padding_mask": None if real is None else ~real}

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Tensor | None, causal: bool
    ) -> Any:
        """Return output and weights, ``(batch, num_heads, len_q, len_k)``."""
        masks = self.masks(queries, keys, real, causal)
        return self.layer(queries, keys, values, average_attn_weights=self.average, **masks)


class Masked(nn.Module):
    """A module of the common form, whose method ``attend`` takes one mask: True = may attend."""

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        """Return output and weights."""
        return scaled_dot_product_attention(queries, keys, values, mask=mask)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        return self.attend(queries, keys, values, allowed(queries, keys, real, causal))


class Additive(Masked):
    """The library's additive attention, for queries and keys of different widths."""

    sizes = (5, 7, 6)

    def __init__(self) -> None:
        super().__init__()
        self.score = AdditiveScore(*self.sizes)
        self.attention = Attention(self.score)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        pair: Pair = self.attention(queries, keys, values, mask=mask)
        return pair


class Projected(Masked):
    """One head with learned projections."""

    def __init__(self) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(64, 64, bias=False) for _ in range(3))

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        return super().attend(self.W_q(queries), self.W_k(keys), self.W_v(values), mask)


class Normed(Masked):
    """Attention, then a layer norm that the module owns."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        output, weights = super().attend(queries, keys, values, mask)
        return self.norm(queries + output), weights


class Dropped(Masked):
    """Dropout on the weights, in training only; the weights that come back are those before."""

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        weights = masked_softmax(scaled_dot_scores(queries, keys), mask=mask)
        return F.dropout(weights, 0.5, self.training) @ values, weights


class Encoder(nn.Module):
    """PyTorch's encoder, its padded outputs put to 0 whatever the path."""

    cleared = True

    def __init__(self) -> None:
        super().__init__()
        block = nn.TransformerEncoderLayer(8, NUM_HEADS, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, 1)
        self.eval()

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return the output for the queries, which attend to themselves."""
        hidden = ~causal_mask(queries.shape[-2], device=queries.device) if causal else None
        with warnings.catch_warnings(record=True):  # the fast path calls itself a prototype
            warnings.simplefilter("always")  # recorded, even where warnings are errors
            output = self.encoder(
                queries, mask=hidden, src_key_padding_mask=None if real is None else ~real
            )
        if self.cleared and real is not None:
            output = output.masked_fill(~real.unsqueeze(-1), 0.0)
        return output, None
