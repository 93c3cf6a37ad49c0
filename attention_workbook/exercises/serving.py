"""Graders for the exercises of the chapter on serving."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["largest_chunk", "page_count", "paged", "quiz", "written"]

largest_chunk, quiz = questions("serving")

_normal = draws(91)


def _pages(size: int, table: list[list[int]], lengths: list[int]) -> tuple[Tensor, ...]:
    pages = 900 * _normal(9, size, 4), 900 * _normal(9, size, 3)  # what other sequences left
    for row, length in zip(table, lengths, strict=True):
        for place in range(length):
            page = row[place // size], place % size
            pages[0][page], pages[1][page] = _normal(4), _normal(3)
    return _normal(len(table), 4), *pages, torch.tensor(table), torch.tensor(lengths)


@exercise(
    axes="sequence column",
    cases=[
        _pages(2, [[3, 1]], [4]),
        _pages(2, [[3, 1], [0, 7]], [3, 4]),
        _pages(3, [[8, 0, 4], [8, 2, 0]], [7, 5]),
        _pages(1, [[5, 2]], [2]),
    ],
    mistakes=[
        (
            "key_pages[table]",
            "key_pages[: table.shape[1]].expand(len(table), -1, -1, -1)",
            "the first pages are read; the table says which page comes when.",
        ),
        (
            ">= lengths",
            "> lengths",
            "what stands behind the end of a sequence is read: hide all places from its length on.",
        ),
        (
            "[table].flatten",
            "[table].transpose(1, 2).flatten",
            "pages and places are joined in the wrong order: pages come first, and places within.",
        ),
    ],
)
def paged(
    queries: Tensor, key_pages: Tensor, value_pages: Tensor, table: Tensor, lengths: Tensor
) -> Tensor:
    """Return one output for each sequence, ``(batch, d_v)``."""
    keys, values = key_pages[table].flatten(1, 2), value_pages[table].flatten(1, 2)
    scores = queries[:, None] @ keys.mT / queries.shape[-1] ** 0.5
    empty = (torch.arange(keys.shape[1]) >= lengths[:, None])[:, None]
    return (scores.masked_fill(empty, -torch.inf).softmax(dim=-1) @ values)[:, 0]


def _prompts(*rows: str) -> Tensor:
    """Return a number for each letter of some texts of one length, ``(batch, len)``."""
    return torch.tensor([[ord(letter) for letter in row] for row in rows])


@exercise(
    cases=[
        (_prompts("abcde", "abcdf"), 2),
        (_prompts("abcdef", "abcdeg", "xbcdef"), 2),
        (_prompts("aaaaaaa", "aaaaaab", "aabaaaa", "aaaaaaa"), 3),
        (_prompts("abababab", "ababbaba", "babababa"), 4),
        (_prompts("abc", "abd", "abc"), 1),
        (_prompts("abcdefgh"), 3),
        (_prompts("abab", "abba", "baab", "abab"), 2),
        (_prompts("abcdef", "xbcdef", "xbcxef"), 3),
        (_prompts("aaaaa", "aaaaa", "aaaab"), 2),
        (_prompts("abcdefg", "abcdxfg", "xbcdefg"), 2),
        (_prompts("aabbaabb", "aabbaabb", "bbaabbaa"), 2),
        (_prompts("abcd", "abdc", "bacd", "abcd", "abce"), 1),
        (_prompts("abcabcabca", "abcabcabcb"), 3),
    ],
    special={"where no page is full": (_prompts("abc", "abc"), 5)},
    mistakes=[
        (
            "row[:end] for row in rows",
            "row[end - size : end] for row in rows",
            "pages of equal tokens are shared whatever stands before them; a page's keys hang on "
            "everything from the beginning.",
        ),
        (
            {
                "shared = {": "shared = [",
                "range(size, length + 1, size)}": "range(size, length + 1, size)]",
            },
            "no page is shared.",
        ),
        (
            " + len(rows) * (length % size > 0)",
            "",
            "the last pages that are not full are forgotten: each sequence has one of its own.",
        ),
        (
            "len(rows) * (length % size > 0)",
            "len(set(rows)) * (length % size > 0)",
            "sequences that are equal share their last page, too; one that is not full is still "
            "written to, so each has its own.",
        ),
        (
            "len(rows) * (length % size > 0)",
            "(length % size > 0)",
            "all sequences share one last page; one that is not full is still written to.",
        ),
        (
            "length + 1, size",
            "length, size",
            "where the last page is full, it is forgotten.",
        ),
        (
            "len(rows) * (length % size > 0)",
            "len(rows)",
            "where the last page is full, no other one is begun.",
        ),
    ],
)
def page_count(prompts: Tensor, size: int) -> int:
    """Return how many pages of ``size`` tokens hold the prompts, if full ones are shared."""
    length = prompts.shape[1]
    rows = [tuple(row.tolist()) for row in prompts]
    shared = {row[:end] for row in rows for end in range(size, length + 1, size)}
    return len(shared) + len(rows) * (length % size > 0)


def _likely(number: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return draws(seed, dtype)(number).softmax(dim=-1)


@exercise(
    axes="guess token",
    cases=[
        (torch.tensor([0.3, 0.7]), torch.tensor([0.6, 0.4])),
        (torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.2, 0.6])),
        (_likely(7, 143), _likely(7, 144)),
        (_likely(11, 145, torch.float64), _likely(11, 146, torch.float64)),
    ],
    mistakes=[
        (
            "(p / q)",
            "(q / p)",
            "the quotient is upside down: a guess of which the draft gives too much is refused.",
        ),
        (
            ".clamp(max=1)",
            "",
            "a probability of being accepted can be larger than 1 here; it is 1 at most.",
        ),
        (
            "missing / missing.sum()",
            "p",
            "a refused guess is replaced from `p`; draw from the positive part of `p - q`.",
        ),
        (
            "missing / missing.sum()",
            "missing",
            "the rows do not sum to 1: make the positive part of `p - q` sum to 1.",
        ),
        (
            "refused * ",
            "",
            "accepted guesses are replaced as well: multiply by the probability of being refused.",
        ),
        (
            "(p - q)",
            "(q - p)",
            "the positive part of `q - p` is what the draft has too much of; take that of `p - q`.",
        ),
    ],
)
def written(p: Tensor, q: Tensor) -> Tensor:
    """Return the probabilities of the token that is written, ``(tokens, tokens)``.

    Row *g* holds those after a guess *g*. The draft guesses by ``q``, the large model wants ``p``.
    """
    accepted = (p / q).clamp(max=1)
    missing = (p - q).clamp(min=0)
    refused = 1 - accepted.unsqueeze(-1)
    return accepted.diag() + refused * missing / missing.sum()
