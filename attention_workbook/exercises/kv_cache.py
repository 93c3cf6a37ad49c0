"""Graders for the exercises of the chapter on the cache of keys and values."""

import torch
from torch import Tensor

from attention_lib.masking import causal_mask
from attention_lib.positions import rotate_by_position
from attention_workbook.exercises import draws, exercise, questions

__all__ = ["cached_heads", "quiz", "ring_step", "rolled_back"]

(quiz,) = questions("kv_cache")

_normal, _of_texts = draws(91), draws(92)


def at_places(x: Tensor, num_heads: int, first: int) -> Tensor:
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
    given=[at_places, "my_many_heads"],
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
                "at_places(queries, num_heads, first)": "queries",
                "at_places(keys, num_heads, first)": "keys",
            },
            "neither queries nor keys are rotated.",
        ),
        ({"at_places(queries, num_heads, first)": "queries"}, "the queries are not rotated."),
        ({"at_places(keys, num_heads, first)": "keys"}, "the new keys are not rotated."),
        (
            {
                "torch.cat([old_keys, rotated], dim=1)": (
                    "at_places(torch.cat([old_keys, keys], dim=1), num_heads, 0)"
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
            {"[old_values, values]": "[old_values, at_places(values, num_heads, first)]"},
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
    rotated = at_places(keys, num_heads, first)
    all_keys = torch.cat([old_keys, rotated], dim=1)
    all_values = torch.cat([old_values, values], dim=1)
    queries = at_places(queries, num_heads, first)
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


def _kept(batch: int, length: int, rows: list[int], refused: int) -> tuple[Tensor | int, ...]:
    """Return the cache of some texts, which of them go on, and how many words to forget."""
    return _normal(batch, length, 3), _normal(batch, length, 3), torch.tensor(rows), refused


@exercise(
    axes="text position column",
    cases=[
        _kept(2, 3, [1, 1], 1),
        _kept(3, 7, [2, 0, 0], 2),
        _kept(2, 5, [1, 0, 1, 1], 3),
        _kept(5, 4, [3], 1),
    ],
    special={
        "where nothing was refused": _kept(3, 4, [0, 2], 0),
        "where everything was refused": _kept(2, 2, [1, 0], 2),
    },
    mistakes=[
        (
            {"keys[rows, :left]": "keys[:, :left]", "values[rows, :left]": "values[:, :left]"},
            "`rows` is not used: it says whose keys and values each text goes on with.",
        ),
        (
            {"keys[rows, :left]": "keys[rows]", "values[rows, :left]": "values[rows]"},
            "`refused` is not used: so many of the newest places are to be forgotten.",
        ),
        (
            {
                "keys[rows, :left]": "keys[rows, refused:]",
                "values[rows, :left]": "values[rows, refused:]",
            },
            "the oldest places are forgotten; refused are the newest.",
        ),
        (
            {
                "keys[rows, :left]": "keys[rows, :refused]",
                "values[rows, :left]": "values[rows, :refused]",
            },
            "so many places are kept as were refused; the others are to be kept.",
        ),
        (
            {
                "keys[rows, :left]": "keys[rows, :-refused]",
                "values[rows, :left]": "values[rows, :-refused]",
            },
            "a slice up to `-refused` is empty where `refused` is 0: `-0` is the beginning.",
        ),
    ],
)
def rolled_back(keys: Tensor, values: Tensor, rows: Tensor, refused: int) -> tuple[Tensor, Tensor]:
    """Return the keys and values of the texts that go on, without the newest that were refused."""
    left = keys.shape[1] - refused
    return keys[rows, :left], values[rows, :left]
