"""Graders for the exercises of the chapter on masks as rules."""

import torch
from torch import Tensor

from attention_workbook.exercises import exercise, questions

__all__ = ["prefix_rule", "quiz", "restarting_positions", "window_rule"]

(quiz,) = questions("masks_in_use")


@exercise(
    axes="query key",
    cases=[(4, 4, 2), (5, 5, 3), (2, 7, 3), (1, 6, 4), (3, 5, 1), (7, 11, 5)],
    mistakes=[
        (
            "len_k - len_q + torch.arange",
            "torch.arange",
            "the first query stands at the first key. With a cache the last query stands at the "
            "last key, so the first stands at len_k − len_q.",
        ),
        (
            "(behind >= 0) & (behind < window)",
            "(-behind >= 0) & (-behind < window)",
            "the window looks ahead: i − j is the query's position less the key's.",
        ),
        (
            "(behind >= 0)",
            "(behind > -window)",
            "the window reaches to both sides; what comes after a token is to be hidden, too.",
        ),
    ],
)
def window_rule(len_q: int, len_k: int, window: int) -> Tensor:
    """Return the mask of a sliding window, ``(len_q, len_k)``, True = may attend."""
    behind = (len_k - len_q + torch.arange(len_q))[:, None] - torch.arange(len_k)
    return (behind >= 0) & (behind < window)


@exercise(
    axes="sequence query key",
    cases=[
        (torch.tensor([2]), 4),
        (torch.tensor([3, 1]), 5),
        (torch.tensor([1, 5, 2, 7]), 7),
    ],
    special={"where a prefix is empty, or is all": (torch.tensor([0, 4, 6]), 6)},
    mistakes=[
        (
            "causal | prefix",
            "prefix.expand(-1, length, -1)",
            "the prefix is all that can be read. A token reads what comes before it as well.",
        ),
        (
            "causal | prefix",
            "causal.expand(len(prefix_lens), -1, -1)",
            "the mask is causal within the prefix, too; every query may read all of the prefix.",
        ),
        (
            "causal | prefix",
            "causal & prefix",
            "a key passes only if it lies in the prefix and not ahead; one of the two is enough.",
        ),
        (
            "causal | prefix",
            "causal | prefix.mT",
            "the queries of the prefix read everything. The prefix is a matter of keys.",
        ),
        (
            "causal | prefix",
            "causal ^ prefix",
            "a key that lies in the prefix and not ahead is hidden; one rule is enough, and both "
            "do no harm.",
        ),
    ],
)
def prefix_rule(prefix_lens: Tensor, length: int) -> Tensor:
    """Return a causal mask with an open prefix, ``(batch, length, length)``."""
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    prefix = torch.arange(length) < prefix_lens[:, None, None]
    return causal | prefix


@exercise(
    axes="row place",
    cases=[
        (torch.tensor([[0, 0, 0, 1, 1]]),),
        (torch.tensor([[0, 0, 1, 2, 2, 2], [0, 1, 1, 1, 1, 1]]),),
        (torch.tensor([[7, 7, 7, 3], [3, 7, 7, 7], [5, 5, 2, 2]]),),
        (torch.tensor([[4, 1, 1, 1, 9, 9, 0, 0, 0, 0, 0, 5]]),),
    ],
    mistakes=[
        (
            "dim=-1",
            "dim=-2",
            "that counts how many tokens of the document follow; count those before.",
        ),
        (
            lambda documents: torch.arange(documents.shape[-1]) - documents,
            "subtract where the document begins, not its number.",
        ),
    ],
)
def restarting_positions(documents: Tensor) -> Tensor:
    """Return positions that begin at 0 in each document, ``(batch, length)``."""
    same = documents[:, :, None] == documents[:, None, :]
    before = torch.ones(documents.shape[-1], documents.shape[-1], dtype=torch.bool).tril()
    return (same & before).sum(dim=-1) - 1
