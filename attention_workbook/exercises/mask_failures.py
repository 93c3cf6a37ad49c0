"""Graders for the exercises of the chapter on masks that fail.

Examples
--------
>>> repaired_weight(0.8)
Not yet: .8 is the sum of the two real weights; divide by it.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.masking import causal_mask, length_mask
from attention_workbook.exercises import Rule, draws, exercise, questions

__all__ = ["cleaned", "leak_test", "quiz", "repaired_weight"]

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
Masked = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

repaired_weight, quiz = questions("mask_failures")

_normal = draws(22)


def _with_nan(batch: int, length: int, d_v: int) -> Tensor:
    """Values whose last place holds NaN and infinity."""
    values = _normal(batch, length, d_v)
    values[:, -1, 0], values[:, -1, 1:] = torch.nan, torch.inf
    return values


@exercise(
    axes="sequence place column",
    cases=[
        (torch.tensor([[[1.0], [2.0], [3.0]]]), torch.tensor([2])),
        (_with_nan(2, 5, 3), torch.tensor([3, 4])),
        (_normal(3, 7, 2), torch.tensor([7, 1, 4])),
    ],
    special={"where a length is 0": (_with_nan(2, 3, 2), torch.tensor([0, 2]))},
    rules=[
        Rule(
            "a small number stands in the places of padding; write exact zeros.",
            lambda trace: not ((trace.result != 0) & (abs(trace.result) < 1e-4)).any(),
        )
    ],
    mistakes=[
        (
            "values.masked_fill(padding.unsqueeze(-1), 0.0)",
            "values * ~padding.unsqueeze(-1)",
            "0 times NaN is NaN: write zeros in place of the padding, do not multiply.",
        ),
        (
            lambda values, valid_lens: values.nan_to_num(0.0, 0.0, 0.0),
            "only NaN and infinity are taken out; the other numbers of the padding stay.",
        ),
        (
            "padding.unsqueeze(-1), 0.0",
            "padding.unsqueeze(-1) & values.isnan(), 0.0",
            "only NaN is taken out; all other numbers of the padding stay, infinity, too.",
        ),
        (
            ">= valid_lens.unsqueeze(-1)",
            "< values.shape[1] - valid_lens.unsqueeze(-1)",
            "the padding is taken to stand on the left; the first `valid_lens` places are real.",
        ),
        (
            lambda values, valid_lens: values,
            "the values come back as they were: `masked_fill` returns a new tensor.",
        ),
    ],
)
def cleaned(values: Tensor, valid_lens: Tensor) -> Tensor:
    """Return the values with zeros in the places of padding, ``(batch, length, d_v)``."""
    padding = torch.arange(values.shape[1]) >= valid_lens.unsqueeze(-1)
    return values.masked_fill(padding.unsqueeze(-1), 0.0)


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
