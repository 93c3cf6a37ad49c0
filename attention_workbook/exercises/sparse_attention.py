"""Graders for the exercises of the chapter on sparse attention."""

import torch
from torch import Tensor

from attention_lib import masking
from attention_workbook.exercises import draws, exercise, makes, questions

__all__ = ["fetching", "quiz", "reach", "skipped_blocks"]

reach, quiz = questions("sparse_attention")

_normal, _double = draws(57), draws(58, torch.float64)


# steps that sort the indexer's scores, or give a tensor another form, and compute nothing else
_REARRANGES = {"topk", "sort", "argsort", "neg", "__neg__", "clone", "detach", "contiguous"}
_REARRANGES |= {"__getitem__", "unbind", "__iter__", "expand", "unsqueeze", "view", "reshape"}
_REARRANGES |= {"T", "mT", "t", "transpose", "permute", "movedim"}


def _open(rows: int, columns: int, *cells: tuple[int, int]) -> Tensor:
    mask = torch.zeros(rows, columns, dtype=torch.bool)
    for cell in cells:
        mask[cell] = True
    return mask


@exercise(
    cases=[
        (masking.causal_mask(4), 2),
        (_open(6, 8, (1, 6), (4, 0)), 2),
        (_open(4, 6, *((0, column) for column in range(6))), 2),
        (masking.window_mask(12, window=3), 4),
        (masking.window_mask(6, 12, window=2), 3),
        (masking.document_mask(torch.tensor([0, 0, 0, 1, 1, 1, 1, 2, 2])), 3),
        (_open(6, 6, (1, 1), (4, 3)), 3),
    ],
    special={
        "where nothing is open": (_open(4, 4), 2),
        "where a block is one pair": (masking.causal_mask(3), 1),
    },
    mistakes=[
        (
            ".any(dim=-1).any(dim=1)",
            ".all(dim=-1).all(dim=1)",
            "a block with one hidden pair is counted as skipped. One open pair is "
            "enough to have it "
            "computed: any, not all.",
        ),
        ("1 - ", "", "that is the share of blocks that are computed; those skipped are asked for."),
        (
            lambda mask, size: 1 - mask.double().mean(),
            "that is the share of hidden pairs; the share of blocks without a visible pair is "
            "asked for.",
        ),
        (
            "mask.reshape(len_q // size, size, len_k // size, size)",
            "mask.reshape(-1, size, 1, size)",
            "reshape(-1, size, size) makes blocks of numbers that follow one another, not of rows "
            "and columns side by side.",
        ),
        (
            "1 - tiles.any(dim=-1).any(dim=1).double().mean()",
            "(~tiles.any(dim=-1).any(dim=1)).double().sum()",
            "that is the number of skipped blocks; their share of all blocks is asked for.",
        ),
        (
            "1 - tiles.any(dim=-1).any(dim=1).double().mean()",
            "(~tiles.any(dim=-1).any(dim=1)).double().sum() / (len_q // size) ** 2",
            "the blocks are counted as if the mask were square.",
        ),
        (
            ".any(dim=-1).any(dim=1)",
            ".any(dim=-1)",
            "each row of a block counts by itself; a block is skipped if none of its rows has an "
            "open pair.",
        ),
    ],
)
def skipped_blocks(mask: Tensor, size: int) -> Tensor:
    """Return the share of blocks in which nothing may be read, a number from 0 to 1."""
    len_q, len_k = mask.shape
    tiles = mask.reshape(len_q // size, size, len_k // size, size)
    return 1 - tiles.any(dim=-1).any(dim=1).double().mean()


@exercise(
    axes="query value",
    cases=[
        (
            torch.tensor([[1.0, 0.0]]),
            torch.tensor([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),
            torch.tensor([[10.0], [20.0], [30.0]]),
            torch.tensor([[0.1, 3.0, 0.2]]),
            2,
        ),
        (_normal(3, 5), _normal(7, 5), _normal(7, 2), _normal(3, 7), 3),
        (_normal(2, 3), _normal(11, 3), _normal(11, 5), _normal(2, 11), 1),
        (_double(5, 2), _double(7, 2), _double(7, 3), _double(5, 7), 4),
    ],
    special={
        "where all keys are chosen": (_normal(2, 3), _normal(5, 3), _normal(5, 2), _normal(2, 5), 5)
    },
    rules=[
        makes(
            lambda step, shape, stored: 13 not in shape or step in _REARRANGES,
            case=(_normal(3, 5), _normal(13, 5), _normal(13, 2), _normal(3, 13), 4),
            sentence="the result is right, but on the way something is computed for all keys. "
            "Index `keys` and `values` with the choice, and go on with these alone.",
        )
    ],
    mistakes=[
        (
            "scores.softmax(dim=-1)",
            "index.topk(k, dim=-1).values.softmax(dim=-1)",
            "the softmax is that of the indexer's scores. It only chooses: the weights come from "
            "the head's own queries and keys.",
        ),
        (
            "index.topk(k, dim=-1)",
            "index.topk(k, dim=-1, largest=False)",
            "these are the keys with the lowest scores.",
        ),
    ],
)
def fetching(queries: Tensor, keys: Tensor, values: Tensor, index: Tensor, k: int) -> Tensor:
    """Return attention to the ``k`` keys that ``index`` scores highest, ``(len_q, d_v)``."""
    best = index.topk(k, dim=-1).indices
    scores = (keys[best] @ queries.unsqueeze(-1)).squeeze(-1) / queries.shape[-1] ** 0.5
    return (scores.softmax(dim=-1).unsqueeze(-2) @ values[best]).squeeze(-2)
