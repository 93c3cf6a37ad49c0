"""Graders for the exercises of the chapter on serving."""

import torch
from torch import Tensor

from attention_lib.masking import causal_mask
from attention_lib.positions import rotate_by_position
from workbook.exercises import draws, exercise, makes, questions

__all__ = ["absorbed", "cached_heads", "paged", "quiz", "ring_step"]

(quiz,) = questions("serving")

_normal, _of_texts = draws(91), draws(92)


def _at_places(x: Tensor, num_heads: int, first: int) -> Tensor:
    """Rotate the queries or keys of all heads, ``(batch, len, d_model)``, by their places."""
    split = x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    places = torch.arange(first, first + x.shape[1])
    return rotate_by_position(split, places).transpose(1, 2).flatten(-2)


def _heads(queries: Tensor, keys: Tensor, values: Tensor, num_heads: int, mask: Tensor) -> Tensor:
    """Return the outputs of all heads side by side, as ``my_many_heads`` does."""
    Q, K, V = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (queries, keys, values))
    scores = (Q @ K.mT / Q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    return (weights @ V).transpose(1, 2).flatten(-2)


def _read(batch: int, old: int, new: int, d: int, num_heads: int) -> tuple[Tensor | int, ...]:
    """Return what is new of some texts, and the keys and values of their ``old`` words before."""
    words = [_of_texts(batch, new, d) for _ in range(3)]
    return *words, num_heads, _of_texts(batch, old, d), _of_texts(batch, old, d)


@exercise(
    part="my_cached_heads",
    axes="position column",
    cases=[
        _read(1, 2, 1, 4, 2),
        _read(2, 3, 1, 4, 1),
        _read(2, 3, 5, 12, 3),
        _read(3, 5, 2, 12, 2),
        _read(1, 3, 3, 8, 2),
    ],
    special={"where nothing is kept yet": _read(2, 0, 3, 8, 2)},
    mistakes=[
        (
            {
                "torch.cat([old_keys, rotated], dim=1)": "rotated",
                "torch.cat([old_values, values], dim=1)": "values",
                "first + new": "new",
            },
            "the old keys and values are forgotten: new tokens see them, too.",
        ),
        (
            {
                "[old_keys, rotated]": "[rotated, old_keys]",
                "[old_values, values]": "[values, old_values]",
            },
            "the new keys and values stand before the old ones; append them.",
        ),
        (
            {
                "queries, num_heads, first": "queries, num_heads, 0",
                "keys, num_heads, first": "keys, num_heads, 0",
            },
            "queries and keys are rotated as if the text began with them; count on from the old "
            "ones.",
        ),
        (
            "queries, num_heads, first",
            "queries, num_heads, 0",
            "the queries are rotated as if the text began with them; count on from the old ones.",
        ),
        (
            "keys, num_heads, first",
            "keys, num_heads, 0",
            "the new keys are rotated as if the text began with them; count on from the old ones.",
        ),
        (
            {
                "queries, num_heads, first": "queries, num_heads, first + 1",
                "keys, num_heads, first": "keys, num_heads, first + 1",
            },
            "the new tokens stand one place too far: counted from 0, the first of them stands "
            "at the place that says how many there were.",
        ),
        (
            {
                "_at_places(queries, num_heads, first)": "queries",
                "_at_places(keys, num_heads, first)": "keys",
            },
            "neither queries nor keys are rotated.",
        ),
        ({"_at_places(queries, num_heads, first)": "queries"}, "the queries are not rotated."),
        ({"_at_places(keys, num_heads, first)": "keys"}, "the new keys are not rotated."),
        (
            {
                "torch.cat([old_keys, rotated], dim=1)": (
                    "_at_places(torch.cat([old_keys, keys], dim=1), num_heads, 0)"
                )
            },
            "the old keys are rotated once more in each call; rotate a key once, when it comes.",
        ),
        (
            {
                "queries, num_heads, first": "queries, 1, first",
                "keys, num_heads, first": "keys, 1, first",
            },
            "the whole width is rotated as one head; each head rotates its own columns.",
        ),
        (
            {"[old_values, values]": "[old_values, _at_places(values, num_heads, first)]"},
            "the values are rotated, too; only queries and keys are.",
        ),
        (
            "causal_mask(new, first + new)",
            "causal_mask(first + new)[:new]",
            "the mask's triangle begins at the upper left; the last new token sees everything, "
            "so it ends at the lower right.",
        ),
        (
            "causal_mask(new, first + new)",
            "torch.ones(new, first + new, dtype=torch.bool)",
            "nothing is hidden: among the new tokens, each sees those after it.",
        ),
        (
            "causal_mask(new, first + new)",
            "causal_mask(new + 1, first + new)[:new]",
            "the mask hides each new token from itself.",
        ),
        (
            {
                "all_keys, all_values, num_heads, mask": (
                    "rotated, values, num_heads, causal_mask(new)"
                )
            },
            "the old keys and values are returned, but the new tokens do not look at them.",
        ),
        (
            {"mask), all_keys, all_values": "mask), rotated, values"},
            "only the new keys and values come back; the next call needs the old ones, too.",
        ),
        (
            {"mask), all_keys": "mask), torch.cat([old_keys, keys], dim=1)"},
            "the keys come back without their rotation; return them as they were used.",
        ),
    ],
)
def cached_heads(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    num_heads: int,
    old_keys: Tensor,
    old_values: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the outputs of new tokens, ``(batch, new, d_model)``, and all keys and values."""
    first, new = old_keys.shape[1], keys.shape[1]
    rotated = _at_places(keys, num_heads, first)
    all_keys = torch.cat([old_keys, rotated], dim=1)
    all_values = torch.cat([old_values, values], dim=1)
    queries = _at_places(queries, num_heads, first)
    mask = causal_mask(new, first + new)
    return _heads(queries, all_keys, all_values, num_heads, mask), all_keys, all_values


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
