"""Layers that are wrong in one line each. Their labels are in ``labels.json``."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workbook.museum.exhibits import exhibit
from workbook.museum.right import (
    NUM_HEADS,
    Additive,
    Dropped,
    Encoder,
    Layer,
    Normed,
    Pair,
    Projected,
    allowed,
    finished,
    right_attention,
)


@exhibit(Dropped)
class WeightsAfterDropout(Dropped):
    """The weights that come back are those after dropout."""

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        _, weights = right_attention(queries, keys, values, real, causal)
        assert weights is not None
        weights = F.dropout(weights, 0.5, self.training)
        return weights @ values, weights


@exhibit(Additive, widths=(5, 7, 8))
class AdditiveWithoutTanh(Additive):
    """The additive score lacks its tanh."""

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        score = self.score
        sums = score.W_q(queries).unsqueeze(-2) + score.W_k(keys).unsqueeze(-3)
        hidden = ~allowed(queries, keys, real, causal)
        scores = score.w_v(sums).squeeze(-1).masked_fill(hidden, -torch.inf)
        return finished(scores, values)


@exhibit(Additive, widths=(5, 7, 8))
class SizesWrittenIn(Additive):
    """The sizes of the one example are written into the layer."""

    sizes = (2, 2, 8)


@exhibit(Additive, widths=(5, 7, 8))
class MatricesSwapped(Additive):
    """The query goes through the key's matrix, and the key through the query's."""

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        score = self.score
        sums = score.W_k(queries).unsqueeze(-2) + score.W_q(keys).unsqueeze(-3)
        hidden = ~allowed(queries, keys, real, causal)
        scores = score.w_v(sums.tanh()).squeeze(-1).masked_fill(hidden, -torch.inf)
        return finished(scores, values)


@exhibit(Normed)
class NormMadeInForward(nn.Module):
    """The layer norm is made inside forward."""

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        output, weights = right_attention(queries, keys, values, real, causal)
        return nn.LayerNorm(8, device=output.device)(queries + output), weights


@exhibit(Projected, widths=(64, 64, 64))
class LayersMadeLate(nn.Module):
    """The projections are lazy: they have no numbers before the first call."""

    def __init__(self) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.LazyLinear(64, bias=False) for _ in range(3))

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        return right_attention(self.W_q(queries), self.W_k(keys), self.W_v(values), real, causal)


@exhibit()
class WeightsKept(nn.Module):
    """The weights are stored on the module, for a picture later."""

    weights: Tensor | None = None

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        output, self.weights = right_attention(queries, keys, values, real, causal)
        return output, self.weights


@exhibit()
class CacheNeverEmptied(nn.Module):
    """The cache of one text is still there when the next begins."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Tensor, Tensor]] = []

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        self.seen.append((keys, values))
        keys, values = (torch.cat(parts, dim=-2) for parts in zip(*self.seen, strict=True))
        if real is not None:
            real = F.pad(real, (keys.shape[-2] - real.shape[-1], 0), value=True)
        return right_attention(queries, keys, values, real, causal)


@exhibit(Layer, num_heads=2)
class PaddingMaskAdded(Layer):
    """The layer's key_padding_mask is a float, 1.0 at the padding."""

    def masks(self, *call: Any) -> dict[str, Any]:
        """Return the padding as 1.0, and the future as −∞, which has to be of the same kind."""
        told = super().masks(*call)
        hidden, padding = told["attn_mask"], told["key_padding_mask"]
        if hidden is not None:
            told["attn_mask"] = torch.zeros(hidden.shape).masked_fill(hidden, -torch.inf)
        return told | {"key_padding_mask": None if padding is None else padding.float()}


@exhibit(Layer, num_heads=2)
class HintWithoutMask(Layer):
    """The layer's is_causal=True is given with a mask that hides nothing."""

    def masks(self, *call: Any) -> dict[str, Any]:
        """Return the hint, and a mask of False."""
        told = super().masks(*call)
        if told["attn_mask"] is not None:
            told |= {"attn_mask": torch.zeros_like(told["attn_mask"]), "is_causal": True}
        return told


@exhibit(Layer, num_heads=2)
class HintOverMask(Layer):
    """The layer's is_causal=True is given with a mask that hides more than the future."""

    def masks(
        self, queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool
    ) -> dict[str, Any]:
        """Return causal and padding as one mask for each head, and the hint."""
        if not causal:
            return super().masks(queries, keys, real, causal)
        hidden = ~allowed(queries, keys, real, causal).expand(len(queries), -1, -1)
        folded = hidden.repeat_interleave(NUM_HEADS, dim=0)
        return {"attn_mask": folded, "is_causal": True, "need_weights": False}


@exhibit(Layer, num_heads=2)
class MasksTiled(Layer):
    """One mask for each head, in the wrong order: repeat in place of repeat_interleave."""

    def masks(
        self, queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool
    ) -> dict[str, Any]:
        """Return one mask for each head of each sequence, heads first."""
        hidden = ~allowed(queries, keys, real, causal).expand(len(queries), -1, -1)
        return {"attn_mask": hidden.repeat(NUM_HEADS, 1, 1)}


@exhibit(Layer, num_heads=2)
class BatchFirstForgotten(Layer):
    """The layer is not told that the batch comes first."""

    batch_first = False


@exhibit(Layer, num_heads=2)
class HeadsAveraged(Layer):
    """The layer returns the mean of its heads' weights, as it does by default."""

    average = True


@exhibit(Encoder)
class FastPath(Encoder):
    """The encoder's outputs at padded places are used."""

    cleared = False
