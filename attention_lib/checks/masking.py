"""Graders for the exercises of the chapter on masks."""

import torch

from attention_lib.checks._grading import grade, grade_number
from attention_lib.masking import causal_mask, length_mask

__all__ = ["folded_mask", "kept_cells", "packed_mask"]


def kept_cells(answer):
    """Grade the number of cells that a causal mask and a padding mask keep together.

    Parameters
    ----------
    answer : int
        How many of the 25 cells may be read: five tokens, the last two of them padding.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> kept_cells(15)
    Not yet: each mask alone keeps 15; a cell must pass both.
    """
    mistakes = [
        (15, "each mask alone keeps 15; a cell must pass both."),
        (13, "13 is the number of hatched cells; the question is for the others."),
        (18, "18 cells pass one mask or the other; a cell must pass both."),
        (
            6,
            "you left out the rows of the padded queries; a padding mask hides keys, "
            "and those two rows keep three cells each.",
        ),
    ]
    return grade_number(answer, 12, mistakes)


def folded_mask(answer):
    """Grade a mask for scores whose heads are folded into the batch axis.

    Parameters
    ----------
    answer : callable
        ``answer(valid_lens, num_heads, len_k)`` with lengths ``(batch,)``; returns a boolean
        ``(batch * num_heads, 1, len_k)``, True = may attend.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> folded_mask(lambda lens, num_heads, len_k: length_mask(lens.repeat(num_heads), len_k))
    Not yet: row 1 belongs to the first sequence and got the length of the second: \
with lengths 2 and 3, repeat gives 2, 3, 2, 3; the folded rows need 2, 2, 3, 3.
    """
    mistakes = [
        (
            lambda lens, num_heads, len_k: length_mask(lens.repeat(num_heads), len_k),
            "row 1 belongs to the first sequence and got the length of the second: with lengths "
            "2 and 3, repeat gives 2, 3, 2, 3; the folded rows need 2, 2, 3, 3.",
        ),
        (
            lambda *case: ~_folded_mask(*case),
            "the mask is the wrong way round: True stands at the keys to hide, and here "
            "True = may attend.",
        ),
        (
            lambda lens, num_heads, len_k: _folded_mask(lens + 1, num_heads, len_k + 1)[..., :-1],
            "one key too many is let in: positions count from 0, so a length of 2 allows the "
            "positions 0 and 1.",
        ),
        (
            lambda lens, num_heads, len_k: length_mask(lens, len_k),
            "there is one mask a sequence; folded scores need one for each head of each sequence.",
        ),
    ]
    cases = [
        (torch.tensor([2, 3]), 2, 4),
        (torch.tensor([1, 4, 2]), 3, 5),
        (torch.tensor([0, 3]), 4, 3),
    ]
    return grade(answer, _folded_mask, cases, mistakes)


def packed_mask(answer):
    """Grade a causal mask for several documents packed into one row.

    Parameters
    ----------
    answer : callable
        ``answer(documents)`` with the document number of each token, integers
        ``(batch, length)``; returns a boolean ``(batch, length, length)``, True = may attend.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> packed_mask(lambda documents: documents.unsqueeze(-1) == documents.unsqueeze(-2))
    Not yet: within its document a token sees the tokens after it: the causal mask is missing.
    """
    mistakes = [
        (
            lambda documents: _causal(documents).expand(*documents.shape, -1),
            "a token still reads the documents before its own: the causal mask alone knows "
            "nothing of documents.",
        ),
        (
            _causal,
            "the causal mask alone knows nothing of documents, and is one mask for all rows of "
            "the batch.",
        ),
        (
            _same,
            "within its document a token sees the tokens after it: the causal mask is missing.",
        ),
        (
            lambda documents: _same(documents) | _causal(documents),
            "the two masks are joined by or: a key that passes one of them is let in; it must "
            "pass both.",
        ),
        (
            lambda documents: _same(documents) & _causal(documents).mT,
            "each token sees itself and what comes after it: the causal mask is the wrong way up.",
        ),
        (
            lambda documents: _packed_mask(documents).tril(diagonal=-1),
            "a token does not see itself, and the first token of a document sees nothing: its "
            "own position belongs to it.",
        ),
        (
            lambda documents: ~_packed_mask(documents),
            "the mask is the wrong way round: True stands at the keys to hide, and here "
            "True = may attend.",
        ),
    ]
    cases = [
        (torch.tensor([[0, 0, 0, 1, 1]]),),
        (torch.tensor([[0, 1, 1, 1], [0, 0, 1, 1]]),),
        (torch.tensor([[7, 7, 2, 2, 2, 4]]),),
    ]
    return grade(answer, _packed_mask, cases, mistakes)


def _folded_mask(valid_lens, num_heads, len_k):
    return length_mask(valid_lens.repeat_interleave(num_heads), len_k)


def _same(documents):
    return documents.unsqueeze(-1) == documents.unsqueeze(-2)


def _causal(documents):
    return causal_mask(documents.shape[-1])


def _packed_mask(documents):
    return _same(documents) & _causal(documents)
