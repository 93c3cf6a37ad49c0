"""Layers that are wrong in one line each."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib.masking import masked_softmax
from attention_lib.scoring import scaled_dot_scores
from attention_workbook.museum.right import (
    NUM_HEADS,
    Additive,
    Dropped,
    Encoder,
    Layer,
    Masked,
    Pair,
    allowed,
    weighted_values,
)


class WeightsAfterDropout(Dropped):
    """The weights that come back are those after dropout."""

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        weights = masked_softmax(scaled_dot_scores(queries, keys), mask=mask)
        weights = F.dropout(weights, 0.5, self.training)
        return weights @ values, weights


class AdditiveWithoutTanh(Additive):
    """The additive score lacks its tanh."""

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        score = self.score
        sums = score.W_q(queries).unsqueeze(-2) + score.W_k(keys).unsqueeze(-3)
        return weighted_values(score.w_v(sums).squeeze(-1), values, mask)


class SizesWrittenIn(Additive):
    """The sizes of the one example are written into the layer."""

    sizes = (2, 2, 8)


class MatricesSwapped(Additive):
    """The query goes through the key's matrix, and the key through the query's."""

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        score = self.score
        sums = score.W_k(queries).unsqueeze(-2) + score.W_q(keys).unsqueeze(-3)
        return weighted_values(score.w_v(sums.tanh()).squeeze(-1), values, mask)


class NormMadeInForward(Masked):
    """The layer norm is made inside forward."""

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        output, weights = super().attend(queries, keys, values, mask)
        return nn.LayerNorm(8, device=output.device)(queries + output), weights


class LayersMadeLate(Masked):
    """The projections are lazy: they have no numbers before the first call."""

    def __init__(self) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.LazyLinear(64, bias=False) for _ in range(3))

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        return super().attend(self.W_q(queries), self.W_k(keys), self.W_v(values), mask)


class WeightsKept(Masked):
    """The weights are stored on the module, for a picture later."""

    weights: Tensor | None = None

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        output, self.weights = super().attend(queries, keys, values, mask)
        return output, self.weights


class CacheNeverEmptied(Masked):
    """The cache of one text is still there when the next begins."""

    def __init__(self) -> None:
        super().__init__()
        self.read_before: list[tuple[Tensor, Tensor]] = []

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        self.read_before.append((keys, values))
        keys, values = (torch.cat(parts, dim=-2) for parts in zip(*self.read_before, strict=True))
        mask = F.pad(mask, (keys.shape[-2] - mask.shape[-1], 0), value=True)
        return super().attend(queries, keys, values, mask)


class PaddingMaskAdded(Layer):
    """The layer's key_padding_mask is a float, 1.0 at the padding."""

    def masks(self, *call: Any) -> dict[str, Any]:
        """Return the padding as 1.0, and the future as −∞, which has to be of the same kind."""
        masks = super().masks(*call)
        hidden, padding = masks["attn_mask"], masks["key_padding_mask"]
        if hidden is not None:
            masks["attn_mask"] = torch.zeros(hidden.shape).masked_fill(hidden, -torch.inf)
        return masks | {"key_padding_mask": None if padding is None else padding.float()}


class HintWithoutMask(Layer):
    """The layer's is_causal=True is given with a mask that hides nothing."""

    def masks(self, *call: Any) -> dict[str, Any]:
        """Return the hint, and a mask of False."""
        masks = super().masks(*call)
        if masks["attn_mask"] is not None:
            masks |= {"attn_mask": torch.zeros_like(masks["attn_mask"]), "is_causal": True}
        return masks


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


class MasksTiled(Layer):
    """One mask for each head, in the wrong order: repeat in place of repeat_interleave."""

    def masks(
        self, queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool
    ) -> dict[str, Any]:
        """Return one mask for each head of each sequence, heads first."""
        hidden = ~allowed(queries, keys, real, causal).expand(len(queries), -1, -1)
        return {"attn_mask": hidden.repeat(NUM_HEADS, 1, 1)}


class BatchFirstForgotten(Layer):
    """The layer is not told that the batch comes first."""

    batch_first = False


class HeadsAveraged(Layer):
    """The layer returns the mean of its heads' weights, as it does by default."""

    average = True


class FastPath(Encoder):
    """The encoder's outputs at padded places are used."""

    cleared = False
