"""Graders for the exercises of the chapter on one head.

Examples
--------
>>> masked_cells(7)
Not yet: 7 counts the row of the padded query; a padding mask hides keys, which are columns.
>>> cross_mask(lambda target_ids, source_ids: source_ids != 0)
Not yet: that is (batch, len_k): each query needs a row of it, (batch, len_q, len_k).
"""

import torch
from torch import Tensor

from attention_lib.masking import causal_mask, length_mask
from workbook.exercises._cases import draws
from workbook.exercises._exercise import exercise
from workbook.exercises._questions import questions

__all__ = ["cross_mask", "exchanged_twice", "head", "masked_cells", "quiz", "self_or_cross"]

exchanged_twice, masked_cells, self_or_cross, quiz = questions("one_head")


def _sentences() -> list[tuple[Tensor, ...]]:
    """Return tokens, three matrices and a mask, a small case first; no width equals another."""
    normal, double = draws(11), draws(12, torch.float64)
    padded = length_mask(torch.tensor([3, 5]), 5).expand(-1, 5, -1)
    both = length_mask(torch.tensor([4, 1, 6]), 7) & causal_mask(7)
    return [
        (
            torch.tensor([[[1.0], [2.0]]]),
            torch.tensor([[2.0, 1.0]]),
            torch.tensor([[1.0, 0.0]]),
            torch.tensor([[1.0, 2.0, 3.0]]),
            causal_mask(2)[None],
        ),
        (normal(2, 5, 7), normal(7, 3), normal(7, 3), normal(7, 2), padded),
        (normal(3, 7, 5), normal(5, 2), normal(5, 2), normal(5, 11), both),
        (
            normal(1, 5, 3), normal(3, 5), normal(3, 5), normal(3, 2),
            causal_mask(5)[None],
        ),
        (
            double(2, 3, 4), double(4, 5), double(4, 5), double(4, 7),
            length_mask(torch.tensor([2, 3]), 3).expand(-1, 3, -1),
        ),
    ]  # fmt: skip


_STEEP = 300 * torch.tensor([[[1.0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]])
_CHOSEN = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0]])
_FILLED = "scores.masked_fill(~mask, -torch.inf)"


@exercise(
    axes="batch query column",
    cases=_sentences(),
    special={
        "where scores are in the thousands": (
            _STEEP, _CHOSEN, _CHOSEN, draws(13)(3, 2), torch.ones(1, 4, 4, dtype=torch.bool),
        ),
    },
    mistakes=[
        (_FILLED, "(scores + mask)",
         "True and False are added to the scores as 1 and 0. Put −infinity where the mask is "
         "False."),
        ({_FILLED: "scores", ".softmax(dim=-1)": ".softmax(dim=-1) * mask"},
         "the mask comes after the softmax, when the hidden keys have already taken their share. "
         "Mask the scores."),
        ("keys.shape", "x.shape",
         "the scores are divided by the root of d_model; what counts is the width of the keys."),
        ("keys.shape", "values.shape",
         "the scores are divided by the root of the values' width; what counts is the width of the "
         "keys."),
        ("values = x @ W_v", "values = x", "`x` is summed as it is; the values are `x @ W_v`."),
        ({" / keys.shape[-1] ** 0.5": "", "@ values": "@ values / keys.shape[-1] ** 0.5"},
         "the output is divided by the root of d_k. It is the scores that are divided, before the "
         "softmax."),
        ("weights @ values", "weights * mask.diagonal(dim1=-2, dim2=-1)[..., None] @ values",
         "the output of padded tokens is set to 0. Nobody reads it, so it may stay."),
    ],
)  # fmt: skip
def head(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor) -> Tensor:
    """Return the output of one head, ``(batch, len, d_v)``; no row of the mask is empty."""
    queries = x @ W_q
    keys = x @ W_k
    values = x @ W_v
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights @ values


_SPREAD = "real[:, None, :].expand(-1, target_ids.shape[1], -1)"
_ASKS = "(target_ids != 0)[:, :, None]"


@exercise(
    axes="batch query key",
    cases=[
        (torch.tensor([[1, 0]]), torch.tensor([[3, 4, 0]])),
        (torch.tensor([[5, 2, 0], [1, 3, 4]]), torch.tensor([[7, 7, 7, 0, 0], [8, 0, 0, 0, 0]])),
        (torch.tensor([[1, 0]]), torch.tensor([[3, 4, 5, 6, 0, 0, 0]])),
        (torch.tensor([[1, 2, 3, 0, 0]]), torch.tensor([[1, 0, 0]])),
    ],
    special={
        "where padding stands on the left": (
            torch.tensor([[6], [6]]), torch.tensor([[0, 6, 0, 6], [6, 6, 6, 6]]),
        ),
    },
    mistakes=[
        (_SPREAD, f"{_ASKS}.expand(-1, -1, source_ids.shape[1])",
         "the rows of padded queries are hidden. It is the padded keys, which are columns, that "
         "nobody may look at."),
        (_SPREAD, f"real[:, None, :] & {_ASKS}",
         "the rows of padded queries are hidden, too. They need no mask: nobody reads them."),
        (_SPREAD, f"real[:, None, :] | {_ASKS}",
         "keys and queries are joined by or, so a real query still sees padded keys."),
        (_SPREAD, "real", "that is (batch, len_k): each query needs a row of it, "
         "(batch, len_q, len_k)."),
        (_SPREAD, "real[:, None, :]",
         "the mask has one row for all queries; spell out the shape (batch, len_q, len_k)."),
        (_SPREAD, "target_ids[:, :, None] == source_ids[:, None, :]",
         "equal ids are marked; what counts is whether the key is padding."),
        (_SPREAD, f"{_SPREAD}.tril()",
         "the mask is causal, too: a target token may look at the whole source."),
    ],
)  # fmt: skip
def cross_mask(target_ids: Tensor, source_ids: Tensor) -> Tensor:
    """Return the mask of cross-attention, ``(batch, len_q, len_k)``, True = may attend."""
    real = source_ids != 0
    return real[:, None, :].expand(-1, target_ids.shape[1], -1)
