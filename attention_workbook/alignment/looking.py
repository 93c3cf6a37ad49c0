"""Where an aligner looks, and whether it matters: maps, and what they do not say."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from attention_workbook.alignment.network import DIGITS, SCORES, Aligner, align
from attention_workbook.alignment.training import load_aligner
from attention_workbook.arguments import require_a, require_each

__all__ = ["hide_each", "maps"]


def maps(text: str, scores: Iterable[str] = tuple(SCORES)) -> dict[str, Any]:
    """Return what the book's aligners look at in one text, as arguments of a figure.

    Parameters
    ----------
    text : str
    scores : iterable of str, optional
        Which aligners, by their score; all three by default.

    Returns
    -------
    dict
        ``weights`` of shape ``(scores, 8, len)``, rounded to three decimals, with the names of
        their ``queries`` and ``keys``.

    Raises
    ------
    TypeError, ValueError
        If the text is none that an aligner can read, or a score is none of theirs.

    Examples
    --------
    >>> arguments = maps("12.11.2010")
    >>> arguments["weights"].shape, arguments["keys"][:3]
    (torch.Size([3, 8, 10]), ['1', '2', '.'])
    """
    scores = require_each("scores", scores, str)
    weights = torch.stack([align(load_aligner(score), text).weights for score in scores])
    return {"weights": weights.round(decimals=3), "queries": DIGITS, "keys": list(text)}


@torch.no_grad()
def hide_each(aligner: Aligner, text: str) -> Tensor:
    """Hide each character from the eight queries in turn; say which digits change.

    The other characters have still read it: only the last look is barred.

    Parameters
    ----------
    aligner : Aligner
    text : str

    Returns
    -------
    Tensor
        Booleans ``(8, len)``: does this digit change when this character is hidden?

    Raises
    ------
    TypeError, ValueError
        If ``aligner`` is none, or the text none that it can read.

    Examples
    --------
    >>> changed = hide_each(load_aligner(), "12.11.2010")
    >>> changed.shape, bool(changed.any())
    (torch.Size([8, 10]), True)
    """
    require_a("aligner", aligner, Aligner)
    device = aligner.embedding.weight.device
    ids = torch.tensor([aligner.characters.encode(text)], device=device)
    ids = ids.expand(len(text), -1)  # (len, len)
    may = ~torch.eye(len(text), dtype=torch.bool, device=device).unsqueeze(1)  # (len, 1, len)
    digits = torch.tensor([int(x) for x in align(aligner, text).digits], device=device)  # (8,)
    digit_scores: Tensor = aligner(ids, mask=may)[0]  # (len, 8, 10)
    return (digit_scores.argmax(dim=-1) != digits).T
