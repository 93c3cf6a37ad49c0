"""Graders for the exercises of the chapter on serving."""

import torch
from torch import Tensor

from attention_lib.positions import rotate_by_position
from workbook.exercises import draws, exercise, makes, questions

__all__ = ["absorbed", "paged", "quiz", "ring_step"]

(quiz,) = questions("serving")

_normal = draws(91)


def _step(window: int, position: int) -> tuple[Tensor | int, ...]:
    """Return rings, with garbage in the slots that nothing was written to, and a new token."""
    rings = _normal(window, 4), _normal(window, 3)
    rings[0][position:], rings[1][position:] = 0.0, 900.0
    return *rings, _normal(4), _normal(4), _normal(3), position


@exercise(
    axes="column",
    cases=[_step(3, 3), _step(3, 11), _step(5, 7), _step(1, 2)],
    special={"before the ring is full": _step(5, 2), "for the first token": _step(3, 0)},
    mistakes=[
        (
            "torch.tensor([position])",
            "torch.tensor([slot])",
            "query and key are rotated by the slot; rotate them by the position.",
        ),
        ({"rotate_by_position(key[None], turn)[0]": "key"}, "the new key is not rotated."),
        ({"rotate_by_position(query[None], turn)": "query[None]"}, "the query is not rotated."),
        (
            "min(position + 1, window)",
            "window",
            "slots that nothing was written to are read; early on only position + 1 hold a key.",
        ),
        (
            "min(position + 1, window)",
            "min(position, window)",
            "the token does not see itself: with it there are position + 1 keys.",
        ),
    ],
)
def ring_step(
    ring_keys: Tensor, ring_values: Tensor, query: Tensor, key: Tensor, value: Tensor, position: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the output of a token, ``(d_v,)``, and both rings after it."""
    window = len(ring_keys)
    slot = position % window
    turn = torch.tensor([position])
    ring_keys, ring_values = ring_keys.clone(), ring_values.clone()
    ring_keys[slot], ring_values[slot] = rotate_by_position(key[None], turn)[0], value
    held = min(position + 1, window)
    scores = rotate_by_position(query[None], turn) @ ring_keys[:held].mT / len(key) ** 0.5
    return (scores.softmax(dim=-1) @ ring_values[:held])[0], ring_keys, ring_values


def _latent(heads: int, len_q: int, len_k: int, d_k: int, d_latent: int) -> tuple[Tensor, ...]:
    W_k, W_v = _normal(heads, d_k, d_latent), _normal(heads, d_k + 1, d_latent)
    return _normal(heads, len_q, d_k), _normal(len_k, d_latent), W_k, W_v


@exercise(
    axes="head query column",
    cases=[_latent(2, 1, 3, 2, 5), _latent(3, 2, 5, 4, 7), _latent(5, 1, 7, 3, 2)],
    rules=[
        makes(
            lambda step, shape, stored: stored < 5 * 11 * 7,  # heads × tokens × width
            case=_latent(5, 1, 11, 7, 3),
            sentence="the numbers are right, but keys or values of all heads and tokens are made. "
            "Absorb their matrices.",
        )
    ],
)
def absorbed(queries: Tensor, latents: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    """Return the output of heads that share latent vectors, ``(num_heads, len_q, d_v)``."""
    scores = queries @ W_k @ latents.mT / queries.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ latents @ W_v.mT


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
