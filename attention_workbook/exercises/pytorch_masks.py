"""Graders for the exercises of the chapter on masks for PyTorch.

Examples
--------
>>> folded_mask(lambda valid_lens, num_heads, len_k: length_mask(valid_lens, len_k)).passed
False
"""

import torch
from torch import Tensor

from attention_lib.masking import causal_mask, length_mask
from attention_workbook.exercises import Rule, exercise, questions

__all__ = ["added_mask", "folded_mask", "quiz", "token_positions"]

(quiz,) = questions("pytorch_masks")


@exercise(
    axes="sequence query key",
    cases=[
        (torch.tensor([[[True, False], [True, True]]]),),
        (causal_mask(5)[None],),
        (length_mask(torch.tensor([2, 7, 4]), 7).expand(3, 2, 7),),
    ],
    special={"where a row may see nothing": (torch.tensor([[[False, False], [True, False]]]),)},
    rules=[
        Rule(
            "the numbers are right, but the task asks for float32, the dtype of the queries.",
            lambda trace: torch.as_tensor(trace.result).dtype == torch.float32,
        )
    ],
    mistakes=[
        (
            "-torch.inf",
            "torch.inf",
            "plus infinity is added, and the row becomes NaN; it should be minus infinity.",
        ),
        ("~mask", "mask", "True and False have changed places: True means that a key may be read."),
        (
            lambda mask: (~mask).float() * -torch.inf,
            "0 times −∞ is NaN: write −∞ into zeros, do not multiply.",
        ),
        (lambda mask: mask.float(), "0 and 1 are added to the scores: 0 hides nothing."),
        (
            "torch.zeros(mask.shape)",
            "torch.ones(mask.shape)",
            "1 is added where a key may be read; it should be 0.",
        ),
    ],
)
def added_mask(mask: Tensor) -> Tensor:
    """Return a mask as numbers to be added to scores, ``(batch, len_q, len_k)``."""
    return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)


@exercise(
    axes="row query key",
    cases=[
        (torch.tensor([2, 3]), 2, 4),
        (torch.tensor([1, 4, 2]), 3, 5),
        (torch.tensor([2]), 3, 7),
        (torch.tensor([5, 1, 4, 3]), 1, 5),
    ],
    special={"where a length is 0": (torch.tensor([0, 3]), 4, 3)},
)
def folded_mask(valid_lens: Tensor, num_heads: int, len_k: int) -> Tensor:
    """Return a mask for folded heads, ``(batch * num_heads, 1, len_k)``, True = may attend."""
    lengths = valid_lens.repeat_interleave(num_heads)
    return torch.arange(len_k) < lengths[:, None, None]


def _normalised(positions: Tensor, real: Tensor) -> Tensor:
    """Return positions with 0 at padding after the first token, where any position will do."""
    exact = positions.dtype != torch.bool and not positions.is_floating_point()
    if positions.shape != real.shape or not exact:
        return positions
    later = ~real & (real.cumsum(dim=-1) > 0) & (positions >= 0)
    return positions.masked_fill(later, 0)


@exercise(
    axes="row token",
    normalise=_normalised,
    cases=[
        (torch.tensor([[False, False, True, True]]),),
        (torch.tensor([[False, True, True], [True, True, True]]),),
        (torch.tensor([[True, True, False, False, False], [False, True, False, True, True]]),),
        (torch.arange(9) >= torch.tensor([[3], [1], [5], [0]]),),
        (torch.arange(13) >= torch.tensor([[2], [7]]),),
    ],
    special={
        "where nothing but padding stands in a row": (
            torch.tensor([[False] * 3, [True] * 3, [False, False, True]]),
        ),
    },
    mistakes=[
        (
            lambda real: real.cumsum(dim=-1) - 1,
            "padding before the first token gets −1, which no table of positions has: put 0 there.",
        ),
        (
            lambda real: torch.arange(real.shape[-1]).expand(real.shape),
            "that is the place in the row: padding on the left still moves every token.",
        ),
        (
            lambda x: (torch.arange(x.shape[-1]) - (~x).sum(-1, keepdim=True)).clamp(min=0),
            "that is right for padding on the left alone: it counts padding that comes later, too.",
        ),
        (
            lambda x: (torch.arange(x.shape[-1]) - x.int().argmax(-1, True)).clamp(min=0),
            "that is the distance from the first token: padding between two tokens counts, too.",
        ),
        (
            lambda real: (real.flatten().cumsum(0) - 1).view(real.shape).clamp(min=0),
            "the count runs on from one row to the next; each row starts at 0.",
        ),
        *(
            (wrong, "the tokens are counted along the batch; positions count along each row.")
            for wrong in (
                lambda real: (real.cumsum(dim=0) - 1).clamp(min=0),
                lambda real: real.cumsum(dim=0) - 1,
            )
        ),
        (
            lambda real: real.cumsum(dim=-1).clamp(min=1),
            "the first token gets 1: subtract 1, and let no position be below 0.",
        ),
        (
            lambda real: ((~real).cumsum(dim=-1) - 1).clamp(min=0),
            "the padding is counted; count the tokens.",
        ),
        (
            lambda real: (~real).cumsum(dim=-1) - 1,
            "the padding is counted; count the tokens. And no position may be below 0.",
        ),
        (
            lambda real: (real.cumsum(dim=-1) - 1).abs(),
            "padding before the first token gets 1; it should be 0: `clamp`, not `abs`.",
        ),
        (
            lambda real: (real.flip(-1).cumsum(dim=-1).flip(-1) - 1).clamp(min=0),
            "the count comes from the right; positions count from the left.",
        ),
        (
            lambda real: real.sum(dim=-1, keepdim=True).expand(real.shape),
            "that is how many tokens a row has; count those before each place.",
        ),
    ],
)
def token_positions(real: Tensor) -> Tensor:
    """Return 0 for the first real token of a row, 1 for the second …, ``(batch, length)``."""
    return (real.cumsum(dim=-1) - 1).clamp(min=0) * real
