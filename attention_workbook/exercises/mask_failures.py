"""Graders for the exercises of the chapter on masks that fail.

Examples
--------
>>> repaired_weight(0.8)
Not yet: .8 is the sum of the two real weights; divide by it.
>>> folded_mask(lambda valid_lens, num_heads, len_k: length_mask(valid_lens, len_k)).passed
False
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.masking import causal_mask, length_mask
from attention_workbook.exercises import draws, exercise, questions

__all__ = ["folded_mask", "leak_test", "quiz", "repaired_weight", "token_positions"]

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
Masked = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

repaired_weight, quiz = questions("mask_failures")


class _Bound:
    """An attention whose mask is bound to its queries, asked together or one by one."""

    def __init__(self, attend: Masked, queries: Tensor, mask: Tensor) -> None:
        self.attend, self.queries, self.mask = attend, queries, mask

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        same = (queries.unsqueeze(-2) == self.queries.flatten(0, 1)).all(dim=-1)
        mask = self.mask.flatten(0, 1)[same.int().argmax(dim=-1)]
        return self.attend(queries, keys, values, mask)


def _obeys(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Let each query see its own keys and nothing else; an empty row gives 0."""
    rows = []
    for i in range(mask.shape[1]):
        hidden, row = ~mask[:, i, :, None], slice(i, i + 1)
        own_keys, own_values = keys.masked_fill(hidden, 0.0), values.masked_fill(hidden, 0.0)
        scores = (queries[:, row] @ own_keys.mT).masked_fill(~mask[:, row], -torch.inf)
        weights = scores.softmax(dim=-1).where(mask[:, row].any(dim=-1, keepdim=True), 0.0)
        rows.append(weights @ own_values)
    return torch.cat(rows, dim=1)


def _ignores(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return (queries @ keys.mT).softmax(dim=-1) @ values


def _fills_with_0(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return (queries @ keys.mT).masked_fill(~mask, 0.0).softmax(dim=-1) @ values


def _multiplies_0_and_nan(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    scores = (queries @ keys.mT).masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1).nan_to_num(0.0) @ values


def _leaks_keys(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    safe = values.masked_fill(~mask.any(dim=-2)[..., None], 0.0)
    return (queries @ keys.mT).softmax(dim=-1).masked_fill(~mask, 0.0) @ safe


def _leaks_one_column(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    out, blind = (attend(queries, keys, values, mask) for attend in (_obeys, _ignores))
    return torch.cat([out[..., :-1], blind[..., -1:]], dim=-1)


def _cleans_nan(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    scores = queries @ keys.nan_to_num(0.0).mT / 8
    return scores.masked_fill(~mask, -4.0).softmax(dim=-1) @ values.nan_to_num(0.0)


def _nan_where_empty(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    out = _obeys(queries, keys, values, mask)
    return out.masked_fill(~mask.any(dim=-1, keepdim=True), torch.nan)


def _turns_round(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    out = _obeys(queries, keys, values, mask)
    return torch.where(keys.isnan().any(dim=(-2, -1), keepdim=True), out.flip(-1), out)


_CLOSE = "(~before[:, i].isclose(after[:, i]))"
_PADDED = length_mask(torch.tensor([3, 5]), 5).expand(2, 3, 5)
_BOTH = length_mask(torch.tensor([4, 2]), 5) & causal_mask(5)


def _suspect(attend: Masked, mask: Tensor, bound: Tensor | None = None) -> tuple[object, ...]:
    normal = draws(21)
    batch, len_q, len_k = mask.shape
    inputs = normal(batch, len_q, 2), normal(batch, len_k, 2), normal(batch, len_k, 3)
    return _Bound(attend, inputs[0], mask if bound is None else bound), *inputs, mask


@exercise(
    axes="batch query",
    cases={
        "one that obeys": _suspect(_obeys, _PADDED),
        "one that obeys padding and future": _suspect(_obeys, _BOTH),
        "one that ignores its mask": _suspect(_ignores, _PADDED),
        "one that fills with 0": _suspect(_fills_with_0, _BOTH),
        "one that only keys can poison": _suspect(_leaks_keys, _PADDED),
        "one that multiplies 0 and NaN": _suspect(_multiplies_0_and_nan, _PADDED),
        "one that hides padding and not the future": _suspect(
            _obeys, _BOTH, _BOTH.any(dim=1, keepdim=True).expand_as(_BOTH)
        ),
        "one that leaks into the last column alone": _suspect(_leaks_one_column, _PADDED),
        "one that leaks a little, and never NaN": _suspect(_cleans_nan, _PADDED),
        "one that answers an empty row with NaN": _suspect(
            _nan_where_empty, length_mask(torch.tensor([4, 0]), 5).expand(2, 3, 5)
        ),
        "one that turns its output round where NaN is hidden": _suspect(_turns_round, _PADDED),
    },
    mistakes=[
        (
            _CLOSE,
            "((after[:, i] - before[:, i]).abs() > 1e-5)",
            "a difference that is NaN is not larger than anything. Ask whether the two outputs "
            "are not close.",
        ),
        (
            _CLOSE,
            "after[:, i].isnan()",
            "for you an output moves only where it becomes NaN; it can also become another number.",
        ),
        (
            _CLOSE,
            "(~before[:, i].isclose(after[:, i], equal_nan=True))",
            "two outputs that are NaN are equal for you; NaN counts as moved.",
        ),
        ("any(dim=-1)", "all(dim=-1)", "all columns have to move for you; one is enough."),
        ("~seen", "seen", "NaN is put where the query may look; it belongs where it may not."),
        ("poisoned_keys, poisoned", "keys, poisoned", "only values are poisoned; keys leak, too."),
        ("_keys, poisoned_values", "_keys, values", "only keys are poisoned; values leak, too."),
        (
            "torch.stack(moved, dim=1)",
            "~torch.stack(moved, dim=1)",
            "True and False have changed places: True says that the output moved.",
        ),
        (
            "seen = mask[:, i]",
            "seen = mask.any(dim=1)",
            "only keys that no query may see are poisoned; each query has hidden keys of its own.",
        ),
        (
            "(~before[:, i].isclose(after[:, i])).any(dim=-1)",
            "(~before.isclose(after)).flatten(1).any(dim=-1)",
            "the outputs of all queries are compared; others may see what is poisoned. Look at "
            "the output of query i alone.",
        ),
        (
            "torch.nan",
            "0.0",
            "0 is no poison: an attention that multiplies 0 and NaN passes. Put NaN.",
        ),
        ("seen = mask[:, i]", "seen = mask[:1, i]", "each sequence has a mask of its own."),
    ],
)
def leak_test(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
) -> Tensor:
    """Return ``(batch, len_q)``, True where NaN that a query may not see moves its output."""
    before, moved = attend(queries, keys, values), []
    for i in range(mask.shape[1]):
        seen = mask[:, i]
        poisoned_keys = keys.masked_fill(~seen[..., None], torch.nan)
        poisoned_values = values.masked_fill(~seen[..., None], torch.nan)
        after = attend(queries, poisoned_keys, poisoned_values)
        moved.append((~before[:, i].isclose(after[:, i])).any(dim=-1))
    return torch.stack(moved, dim=1)


@exercise(
    axes="row query key",
    cases=[
        (torch.tensor([2, 3]), 2, 4),
        (torch.tensor([1, 4, 2]), 3, 5),
        (torch.tensor([2]), 3, 7),
        (torch.tensor([5, 1, 4, 3]), 1, 5),
    ],
    special={"where a length is 0": (torch.tensor([0, 3]), 4, 3)},
)
def folded_mask(valid_lens: Tensor, num_heads: int, len_k: int) -> Tensor:
    """Return a mask for folded heads, ``(batch * num_heads, 1, len_k)``, True = may attend."""
    lengths = valid_lens.repeat_interleave(num_heads)
    return torch.arange(len_k) < lengths[:, None, None]


def _normalised(positions: Tensor, real: Tensor) -> Tensor:
    """Return positions with 0 at padding after the first token, where any position will do."""
    exact = positions.dtype != torch.bool and not positions.is_floating_point()
    if positions.shape != real.shape or not exact:
        return positions
    later = ~real & (real.cumsum(dim=-1) > 0) & (positions >= 0)
    return positions.masked_fill(later, 0)


@exercise(
    axes="row token",
    normalise=_normalised,
    cases=[
        (torch.tensor([[False, False, True, True]]),),
        (torch.tensor([[False, True, True], [True, True, True]]),),
        (torch.tensor([[True, True, False, False, False], [False, True, False, True, True]]),),
        (torch.arange(9) >= torch.tensor([[3], [1], [5], [0]]),),
        (torch.arange(13) >= torch.tensor([[2], [7]]),),
    ],
    special={
        "where nothing but padding stands in a row": (
            torch.tensor([[False] * 3, [True] * 3, [False, False, True]]),
        ),
    },
    mistakes=[
        (
            lambda real: real.cumsum(dim=-1) - 1,
            "padding before the first token gets −1, which no table of positions has: put 0 there.",
        ),
        (
            lambda real: torch.arange(real.shape[-1]).expand(real.shape),
            "that is the place in the row: padding on the left still moves every token.",
        ),
        (
            lambda x: (torch.arange(x.shape[-1]) - (~x).sum(-1, keepdim=True)).clamp(min=0),
            "that is right for padding on the left alone: it counts padding that comes later, too.",
        ),
        (
            lambda x: (torch.arange(x.shape[-1]) - x.int().argmax(-1, True)).clamp(min=0),
            "that is the distance from the first token: padding between two tokens counts, too.",
        ),
        (
            lambda real: (real.flatten().cumsum(0) - 1).view(real.shape).clamp(min=0),
            "the count runs on from one row to the next; each row starts at 0.",
        ),
        *(
            (wrong, "the tokens are counted along the batch; positions count along each row.")
            for wrong in (
                lambda real: (real.cumsum(dim=0) - 1).clamp(min=0),
                lambda real: real.cumsum(dim=0) - 1,
            )
        ),
        (
            lambda real: real.cumsum(dim=-1).clamp(min=1),
            "the first token gets 1: subtract 1, and let no position be below 0.",
        ),
        (
            lambda real: ((~real).cumsum(dim=-1) - 1).clamp(min=0),
            "the padding is counted; count the tokens.",
        ),
        (
            lambda real: (~real).cumsum(dim=-1) - 1,
            "the padding is counted; count the tokens. And no position may be below 0.",
        ),
        (
            lambda real: (real.cumsum(dim=-1) - 1).abs(),
            "padding before the first token gets 1; it should be 0: `clamp`, not `abs`.",
        ),
        (
            lambda real: (real.flip(-1).cumsum(dim=-1).flip(-1) - 1).clamp(min=0),
            "the count comes from the right; positions count from the left.",
        ),
        (
            lambda real: real.sum(dim=-1, keepdim=True).expand(real.shape),
            "that is how many tokens a row has; count those before each place.",
        ),
    ],
)
def token_positions(real: Tensor) -> Tensor:
    """Return 0 for the first real token of a row, 1 for the second …, ``(batch, length)``."""
    return (real.cumsum(dim=-1) - 1).clamp(min=0) * real
