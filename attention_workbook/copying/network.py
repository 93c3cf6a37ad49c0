"""The network: letters, positions, layers of one head each, and nothing else."""

import re
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.arguments import require_count
from attention_lib.multihead import MultiHeadAttention
from attention_lib.positions import sinusoidal_positions
from attention_workbook._training import require_ids

__all__ = ["LETTERS", "MAX_LEN", "Copier", "Pass"]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MAX_LEN = 40  # letters
Change = Callable[[int, Tensor], Tensor]


class Pass(NamedTuple):
    """What a copier computes on the way.

    Attributes
    ----------
    scores : Tensor
        Shape ``(batch, len, 26)``: at each place, how much speaks for each letter to come next.
    weights : tuple of Tensor
        One for each layer, ``(batch, len, len)``.
    writes : tuple of Tensor
        What is added up at each place, ``(batch, len, d_model)``: the letter with its position,
        then the output of each layer. Their sum is what the scores are read from.

    Examples
    --------
    >>> found = Copier()(torch.zeros(3, 7, dtype=torch.long))
    >>> len(found.weights), len(found.writes), found.scores.shape
    (2, 3, torch.Size([3, 7, 26]))
    """

    scores: Tensor
    weights: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]


class Copier(nn.Module):
    r"""Causal attention alone: each layer has one head, and adds its output to its input.

    There is no normalisation and no feed-forward part, so the vector at a place is a plain sum:
    :math:`x_2 = x_0 + a_1(x_0) + a_2(x_0 + a_1(x_0))`. A linear map reads 26 scores from it.

    Parameters
    ----------
    num_layers : int
    d_model : int
        Width of all vectors; even.

    Attributes
    ----------
    embedding : torch.nn.Embedding
    attentions : torch.nn.ModuleList of MultiHeadAttention
    W_u : torch.nn.Linear
        Reads the scores of the 26 letters.

    Raises
    ------
    TypeError, ValueError
        If a size is no whole number of at least 1, or ``d_model`` is odd.

    Notes
    -----
    Elhage et al. (2021) study networks of this kind.

    Examples
    --------
    >>> sum(parameter.numel() for parameter in Copier().parameters())
    36096
    """

    def __init__(self, num_layers: int = 2, d_model: int = 64) -> None:
        super().__init__()
        require_count("num_layers", num_layers)
        # twice as long as usual: the first layer has to find places before anything else
        self.register_buffer("positions", 2 * sinusoidal_positions(MAX_LEN, d_model), False)
        self.embedding = nn.Embedding(len(LETTERS), d_model)
        self.attentions = nn.ModuleList(MultiHeadAttention(d_model, 1) for _ in range(num_layers))
        self.W_u = nn.Linear(d_model, len(LETTERS), bias=False)

    @staticmethod
    def encode(text: str) -> Tensor:
        """Return the numbers of a text's letters, ``(1, len)``; all but the letters is left out.

        Raises
        ------
        TypeError
            If ``text`` is no string.
        ValueError
            If it has no letter from a to z, or more than :data:`MAX_LEN`.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected a string, got {type(text).__name__}")
        letters = re.sub("[^a-z]", "", text.lower())
        if not 1 <= len(letters) <= MAX_LEN:
            raise ValueError(f"text: expected 1 to {MAX_LEN} letters from a to z, got {text!r}")
        return torch.tensor([[LETTERS.index(letter) for letter in letters]])

    def forward(self, ids: Tensor, change: Change | None = None) -> Pass:
        """Read a batch of texts.

        Parameters
        ----------
        ids : Tensor
            Numbers of letters, ``(batch, len)``.
        change : callable, optional
            Is given the number of each layer, from 0, and its output ``(batch, len, d_model)``, and
            returns what goes on in its place. This is how heads are ablated and patched.

        Raises
        ------
        TypeError, ValueError
            If ``ids`` are no numbers of letters, or more than :data:`MAX_LEN` in a row.
        """
        require_ids("ids", ids, self.embedding.weight, MAX_LEN)
        length = ids.shape[1]
        x = self.embedding(ids) + self.get_buffer("positions")[:length]  # (batch, len, d_model)
        writes, weights = [x], []
        for layer, attention in enumerate(self.attentions):
            output, looks = attention(x, x, x, causal=True)
            output = change(layer, output) if change else output
            x = x + output
            writes.append(output)
            weights.append(looks[:, 0])  # one head: (batch, len, len)
        return Pass(self.W_u(x), tuple(weights), tuple(writes))
