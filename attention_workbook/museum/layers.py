"""Layers that are wrong in one line each. Their labels are in ``labels.json``."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib.masking import masked_softmax
from attention_lib.scoring import scaled_dot_scores
from attention_workbook.museum.exhibits import exhibit
from attention_workbook.museum.right import (
    NUM_HEADS,
    Additive,
    Dropped,
    Encoder,
    Layer,
    Masked,
    Normed,
    Pair,
    Projected,
    allowed,
    weighted_values,
)


@exhibit(Dropped)
class WeightsAfterDropout(Dropped):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        weights = masked_softmax(scaled_dot_scores(queries, keys), mask=mask)
        weights = F.dropout(weights, 0.5, self.training)
        return weights @ values, weights


@exhibit(Additive, widths=(5, 7, 8))
class AdditiveWithoutTanh(Additive):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        score = self.score
        sums = score.W_q(queries).unsqueeze(-2) + score.W_k(keys).unsqueeze(-3)
        return weighted_values(score.w_v(sums).squeeze(-1), values, mask)


@exhibit(Additive, widths=(5, 7, 8))
class SizesWrittenIn(Additive):
    sizes = (2, 2, 8)


@exhibit(Additive, widths=(5, 7, 8))
class MatricesSwapped(Additive):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        score = self.score
        sums = score.W_k(queries).unsqueeze(-2) + score.W_q(keys).unsqueeze(-3)
        return weighted_values(score.w_v(sums.tanh()).squeeze(-1), values, mask)


@exhibit(Normed)
class NormMadeInForward(Masked):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        output, weights = super().attend(queries, keys, values, mask)
        return nn.LayerNorm(8, device=output.device)(queries + output), weights


@exhibit(Projected, widths=(64, 64, 64))
class LayersMadeLate(Masked):
    def __init__(self) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.LazyLinear(64, bias=False) for _ in range(3))

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        return super().attend(self.W_q(queries), self.W_k(keys), self.W_v(values), mask)


@exhibit()
class WeightsKept(Masked):
    weights: Tensor | None = None

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        output, self.weights = super().attend(queries, keys, values, mask)
        return output, self.weights


@exhibit()
class CacheNeverEmptied(Masked):
    def __init__(self) -> None:
        super().__init__()
        self.read_before: list[tuple[Tensor, Tensor]] = []

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Pair:
        self.read_before.append((keys, values))
        keys, values = (torch.cat(parts, dim=-2) for parts in zip(*self.read_before, strict=True))
        mask = F.pad(mask, (keys.shape[-2] - mask.shape[-1], 0), value=True)
        return super().attend(queries, keys, values, mask)


@exhibit(Layer, num_heads=2)
class PaddingMaskAdded(Layer):
    def masks(self, *call: Any) -> dict[str, Any]:
        """Return the padding as 1.0, and the future as −∞, which has to be of the same kind."""
        masks = super().masks(*call)
        hidden, padding = masks["attn_mask"], masks["key_padding_mask"]
        if hidden is not None:
            masks["attn_mask"] = torch.zeros(hidden.shape).masked_fill(hidden, -torch.inf)
        return masks | {"key_padding_mask": None if padding is None else padding.float()}


@exhibit(Layer, num_heads=2)
class HintWithoutMask(Layer):
    def masks(self, *call: Any) -> dict[str, Any]:
        """Return the hint, and a mask of False."""
        masks = super().masks(*call)
        if masks["attn_mask"] is not None:
            masks |= {"attn_mask": torch.zeros_like(masks["attn_mask"]), "is_causal": True}
        return masks


@exhibit(Layer, num_heads=2)
class HintOverMask(Layer):
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
    def masks(
        self, queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool
    ) -> dict[str, Any]:
        """Return one mask for each head of each sequence, heads first."""
        hidden = ~allowed(queries, keys, real, causal).expand(len(queries), -1, -1)
        return {"attn_mask": hidden.repeat(NUM_HEADS, 1, 1)}


@exhibit(Layer, num_heads=2)
class BatchFirstForgotten(Layer):
    batch_first = False


@exhibit(Layer, num_heads=2)
class HeadsAveraged(Layer):
    average = True


@exhibit(Encoder)
class FastPath(Encoder):
    cleared = False
