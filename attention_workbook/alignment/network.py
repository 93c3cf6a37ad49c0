"""The network: the characters read each other, then eight questions look at them."""

import datetime
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib.attention import Attention
from attention_lib.multihead import AddNorm, MultiHeadAttention
from attention_lib.positions import PositionalEncoding
from attention_lib.scoring import AdditiveScore, dot_scores, scaled_dot_scores
from attention_workbook._training import require_ids
from attention_workbook.alignment.dates import FORMATS, days, real_date, write_date
from attention_workbook.arguments import (
    is_index,
    require_a,
    require_count,
    require_each,
    require_float,
    require_parameter_kind,
    require_size,
)

__all__ = ["DIGITS", "MAX_LEN", "SCORES", "Aligner", "Alignment", "Characters", "align"]

MAX_LEN = 32  # characters
# What is asked for; the two hyphens of the answer never change.
DIGITS = ("Y1", "Y2", "Y3", "Y4", "M1", "M2", "D1", "D2")


class Characters:
    """The characters that an aligner knows, and their numbers; capitals do not count.

    Parameters
    ----------
    known : iterable of str, optional
        The characters; all that the formats need by default. 0 is the id of padding, the first
        character has 1.

    Attributes
    ----------
    known : str

    Raises
    ------
    TypeError, ValueError
        If ``known`` is no string and no sequence of strings, or empty.

    Examples
    --------
    >>> characters = Characters("0123456789-")
    >>> characters.encode("2010")
    [3, 1, 2, 1]
    >>> characters.encode("20!0~")
    Traceback (most recent call last):
        ...
    ValueError: “20!0~” has characters that the network has never seen: “!”, “~”.
    """

    def __init__(self, known: Iterable[str] | None = None) -> None:
        if known is None:  # every weekday in every month
            dates = (date for date in days() if date.year in (1985, 2034, 2067))
            known = sorted({c for date in dates for f in FORMATS for c in write_date(date, f)})
        known = require_each("known", [*known] if isinstance(known, str) else known, str)
        self.known = "".join(dict.fromkeys("".join(known).lower()))
        self._ids = {character: number for number, character in enumerate(self.known, 1)}

    def __len__(self) -> int:
        return len(self.known)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text's characters.

        Raises
        ------
        TypeError
            If ``text`` is no string.
        ValueError
            If it is empty, longer than :data:`MAX_LEN`, or has characters that are not known.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected a date as a string, got {type(text).__name__}")
        if not text.strip():
            raise ValueError("The text is empty: write a date, such as “12 November 2010”.")
        if len(text) > MAX_LEN:
            raise ValueError(
                f"“{text[:MAX_LEN]}…” has {len(text)} characters; the network takes {MAX_LEN}."
            )
        if unknown := dict.fromkeys(c for c in text if c.lower() not in self._ids):
            named = ", ".join(f"“{character}”" for character in unknown)
            raise ValueError(f"“{text}” has characters that the network has never seen: {named}.")
        return [self._ids[character.lower()] for character in text]


class Projected(nn.Module):
    """Score by a dot product of a learned projection of the query and one of the key.

    Parameters
    ----------
    score : callable
        :func:`~attention_lib.scoring.dot_scores`, or the scaled one.
    d_model : int
        Width of queries, keys and their projections.
    """

    def __init__(self, score: Callable[[Tensor, Tensor], Tensor], d_model: int) -> None:
        super().__init__()
        self.score = score
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Score ``(..., len_q, d_model)`` against ``(..., len_k, d_model)``."""
        return self.score(self.W_q(queries), self.W_k(keys))


# The three have two matrices of d_model x d_model each; the additive one has d_model numbers more.
SCORES: dict[str, Callable[[int], nn.Module]] = {
    "dot": lambda d_model: Projected(dot_scores, d_model),
    "scaled": lambda d_model: Projected(scaled_dot_scores, d_model),
    "additive": lambda d_model: AdditiveScore(d_model, d_model, d_model),
}


def require_score(score: object) -> None:
    """Refuse what names none of the scores."""
    if score not in [*SCORES]:  # a list: a dict would first ask for a hash
        raise ValueError(f"score: expected one of {', '.join(SCORES)}, got {score!r}")


class Aligner(nn.Module):
    r"""An encoder of characters, and eight learned queries that look at them, one for each digit.

    The characters are embedded and given positions. In one layer of self-attention and one of
    feed-forward they learn about their neighbours: a 1 finds out that it is the first digit of a
    year. Then come eight queries, which are numbers to be learned and the same for every date: the
    first asks for the first digit of the year, the last for the last digit of the day. Each
    attends to the characters (cross-attention, one head), and two linear layers read a digit off
    what it has gathered. All eight answer at once; none hears of the others.

    Parameters
    ----------
    score : str
        Which of :data:`SCORES` the eight queries use.
    characters : Characters, optional
        What it can read; all that the formats need by default.
    d_model : int
        Width of all vectors.
    num_heads : int
        Heads of the self-attention among the characters.

    Attributes
    ----------
    embedding : torch.nn.Embedding
    positions : PositionalEncoding
    attention : MultiHeadAttention
    feed_forward : torch.nn.Sequential
    add_norms : torch.nn.ModuleList of AddNorm
        After the attention, after the feed-forward layer, after the cross-attention.
    queries : torch.nn.Parameter
        Shape ``(8, d_model)``.
    cross : Attention
        With the score of this name.
    W_v : torch.nn.Linear
    output : torch.nn.Sequential

    Raises
    ------
    TypeError, ValueError
        If there is no such score, if ``characters`` are none, or if ``num_heads`` does not divide
        ``d_model``.

    Examples
    --------
    >>> ids, valid_lens = torch.ones(3, 11, dtype=torch.long), torch.tensor([11, 10, 8])
    >>> digit_scores, weights = Aligner("additive")(ids, valid_lens)
    >>> digit_scores.shape, weights.shape
    (torch.Size([3, 8, 10]), torch.Size([3, 8, 11]))
    """

    def __init__(
        self,
        score: str = "scaled",
        characters: Characters | None = None,
        d_model: int = 32,
        num_heads: int = 4,
    ) -> None:
        super().__init__()
        require_score(score)
        self.score = score
        self.characters = Characters() if characters is None else characters
        require_a("characters", self.characters, Characters)
        require_count("d_model", d_model)
        self.embedding = nn.Embedding(1 + len(self.characters), d_model)
        nn.init.normal_(self.embedding.weight, std=0.3)  # positions must be heard beside characters
        self.positions = PositionalEncoding(d_model, max_len=MAX_LEN)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model)
        )
        self.add_norms = nn.ModuleList(AddNorm(d_model) for _ in range(3))
        self.queries = nn.Parameter(torch.randn(len(DIGITS), d_model))
        self.cross = Attention(SCORES[score](d_model))
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Sequential(nn.Linear(d_model, d_model), nn.ReLU(), nn.Linear(d_model, 10))

    def encode(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        """Let embedded characters ``(batch, len, d_model)`` learn about each other."""
        gathered, _ = self.attention(x, x, x, valid_lens, need_weights=False)
        x = self.add_norms[0](x, gathered)
        states: Tensor = self.add_norms[1](x, self.feed_forward(x))
        return states

    def look(
        self,
        queries: Tensor,
        states: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Let queries ``(batch, 8, d_model)`` look at encoded characters, and answer.

        Returns
        -------
        digit_scores : Tensor
            Shape ``(batch, 8, 10)``: before softmax, how much speaks for each digit.
        weights : Tensor
            Shape ``(batch, 8, len)``.

        Raises
        ------
        TypeError, ValueError
            If dtypes, devices or shapes do not fit.
        """
        for name, x, length in (("queries", queries, "8"), ("states", states, "len")):
            require_float(name, x, rank=3, axes=f"(batch, {length}, d_model)")
            require_size(name, x, -1, self.W_v.in_features, "features")
            require_parameter_kind(name, x, self.W_v.weight)
        gathered, weights = self.cross(queries, states, self.W_v(states), valid_lens, mask=mask)
        return self.output(self.add_norms[2](queries, gathered)), weights

    def forward(
        self, ids: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Read a batch of dates.

        Parameters
        ----------
        ids : Tensor
            Numbers of characters, ``(batch, len)``.
        valid_lens : Tensor, optional
            How many of them are characters, ``(batch,)``; the rest is padding.
        mask : Tensor, optional
            What the eight queries may look at, True = may; broadcasts to ``(batch, 8, len)``.

        Returns
        -------
        tuple of Tensor
            As :meth:`look`.

        Raises
        ------
        TypeError, ValueError
            If ``ids`` are no numbers of characters, more than :data:`MAX_LEN` in a row, or do not
            fit ``valid_lens`` or ``mask``.
        """
        require_ids("ids", ids, self.embedding.weight, MAX_LEN)
        states = self.encode(self.positions(self.embedding(ids)), valid_lens)
        return self.look(self.queries.expand(len(ids), -1, -1), states, valid_lens, mask=mask)


class Alignment(NamedTuple):
    """What an aligner reads in one text, and where it looked.

    Attributes
    ----------
    text : str
    digits : str
        Eight of them, ``YYYYMMDD``.
    probabilities : Tensor
        Shape ``(8,)``: how sure it is of each.
    weights : Tensor
        Shape ``(8, len)``.

    Examples
    --------
    >>> print(Alignment("12 May 2010", "20100512", torch.ones(8), torch.ones(8, 11) / 11))
    2010-05-12
    >>> print(Alignment("31 February 2010", "20100231", torch.ones(8), torch.ones(8, 16) / 16))
    There is no such date as 2010-02-31: February 2010 has 28 days.
    """

    text: str
    digits: str
    probabilities: Tensor
    weights: Tensor

    @property
    def probability(self) -> float:
        """The product of the eight probabilities: how sure it is of all digits together."""
        return self.probabilities.prod().item()

    @property
    def date(self) -> datetime.date:
        """The date; a ``ValueError`` says why if the calendar has none such."""
        return real_date(int(self.digits[:4]), int(self.digits[4:6]), int(self.digits[6:]))

    def __str__(self) -> str:
        try:
            return self.date.isoformat()
        except ValueError as error:
            return str(error)


@torch.no_grad()
def align(aligner: Aligner, text: str, *, hide: Iterable[int] = ()) -> Alignment:
    """Let an aligner read one date.

    Parameters
    ----------
    aligner : Aligner
    text : str
        A date, however it is written.
    hide : iterable of int, optional
        Positions that the eight queries may not look at. The other characters have read them.

    Returns
    -------
    Alignment
        Its string is the date in ISO 8601, or a sentence if the calendar has no such date.

    Raises
    ------
    TypeError, ValueError
        If the text is none, or empty, too long, or has characters that were never seen; if there
        is no such position to hide.

    Examples
    --------
    >>> from attention_workbook.alignment import load_aligner
    >>> print(align(load_aligner(), "14 juillet 2010"))
    2010-07-14
    """
    require_a("aligner", aligner, Aligner)
    if not isinstance(hide, Iterable):
        raise TypeError(f"hide: expected positions, got {hide!r}")
    device = aligner.embedding.weight.device
    ids = torch.tensor([aligner.characters.encode(text)], device=device)  # (1, len)
    may = torch.ones(1, 1, len(text), dtype=torch.bool, device=device)
    for position in hide:
        if not is_index(position, len(text)):
            raise ValueError(f"hide: expected positions 0 to {len(text) - 1}, got {position!r}")
        may[..., position] = False
    digit_scores, weights = aligner(ids, mask=may)
    probabilities, digits = F.softmax(digit_scores[0], dim=-1).max(dim=-1)  # (8,), (8,)
    return Alignment(text, "".join(map(str, digits.tolist())), probabilities, weights[0])
