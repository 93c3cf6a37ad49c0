"""Graders for the chapter on masks that fail."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.masking import causal_mask, length_mask

__all__ = ["folded_mask", "leak_test", "quiz", "repaired_weight", "token_positions"]

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]

repaired_weight = Number(
    "The printed row is .5 .3 .1 .1, and its last two keys were filled with 0. "
    "What should the first weight be?",
    0.625,
    tolerance=0.006,
    because="the padding's share is .2; the rest is shared out as before, .5 / .8 = .625.",
    mistakes=[
        (0.5, "the row has to sum to 1 without its last two weights."),
        (0.6, "the padding's .2 is not shared out evenly: the proportions .5 to .3 stay."),
        (0.7, "the padding's .2 does not all go to the first key: the proportions stay."),
        (0.375, "that is the second weight."),
        (0.55, "the last two are both padding; .2 is to be given back, in proportion."),
        (0.8, ".8 is the sum of the two real weights; divide by it."),
        (1.6, "that is the quotient the wrong way up: divide .5 by .8."),
        (5 / 3, "that is the quotient of the two real weights."),
        (0.556, "both of the last two are padding: divide by .8, not by .9."),
        (1.0, "the second key is real, too."),
    ],
)


def folded_mask(answer: object) -> Verdict:
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

    def folded(valid_lens: Tensor, num_heads: int, len_k: int) -> Tensor:
        return length_mask(valid_lens.repeat_interleave(num_heads), len_k)

    def by_head(valid_lens: Tensor, num_heads: int, len_k: int) -> Tensor:
        return folded(valid_lens, num_heads, len_k).view(len(valid_lens), num_heads, 1, len_k)

    mistakes = [
        (
            lambda lens, num_heads, len_k: length_mask(lens.repeat(num_heads), len_k),
            "row 1 belongs to the first sequence and got the length of the second: with lengths "
            "2 and 3, repeat gives 2, 3, 2, 3; the folded rows need 2, 2, 3, 3.",
        ),
        (
            lambda *case: ~folded(*case),
            "the mask is the wrong way round: True stands at the keys to hide, and here "
            "True = may attend.",
        ),
        (
            lambda lens, num_heads, len_k: folded(lens + 1, num_heads, len_k + 1)[..., :-1],
            "one key too many is let in: positions count from 0, so a length of 2 allows the "
            "positions 0 and 1.",
        ),
        (
            lambda lens, num_heads, len_k: (
                torch.arange(len_k) < lens.repeat_interleave(num_heads)[:, None, None] - 1
            ),
            "the last real key is hidden: a length of 2 allows the positions 0 and 1.",
        ),
        (
            lambda lens, num_heads, len_k: length_mask(lens, len_k),
            "there is one mask a sequence; folded scores need one for each head of each sequence.",
        ),
        (
            by_head,
            "the heads have an axis of their own; here they are folded into the first one.",
        ),
        (
            lambda *case: folded(*case).squeeze(1),
            "the axis for the queries is missing: (batch * num_heads, 1, len_k).",
        ),
        (
            lambda lens, num_heads, len_k: (
                torch.arange(len_k) >= len_k - lens.repeat_interleave(num_heads)[:, None, None]
            ),
            "the keys at the right are let in; the real ones stand at the left.",
        ),
        (
            lambda *case: torch.ones_like(folded(*case)),
            "nothing is hidden.",
        ),
        (
            lambda *case: folded(*case).expand(-1, case[2], -1),
            "there is a row for each of len_k queries; the mask needs one row for all of them: "
            "(batch * num_heads, 1, len_k).",
        ),
        (
            lambda lens, num_heads, len_k: ~length_mask(lens.repeat(num_heads), len_k),
            "two mistakes: True stands at the keys to hide, and repeat puts the lengths in turns.",
        ),
        (
            lambda lens, num_heads, len_k: length_mask(lens, len_k).repeat(1, num_heads, 1),
            "the heads stand on the queries' axis; they are folded into the first one: "
            "(batch * num_heads, 1, len_k).",
        ),
        *(
            (
                lambda lens, num_heads, len_k, change=change: length_mask(
                    change(lens.repeat_interleave(num_heads), num_heads), len_k
                ),
                "the lengths are changed with the number of heads; a head hides what its sequence "
                "hides.",
            )
            for change in (torch.floor_divide, torch.mul)
        ),
        (
            lambda lens, num_heads, len_k: length_mask(
                lens.repeat_interleave(num_heads) - 1, len_k
            ),
            "the last real key is hidden: a length of 2 allows the positions 0 and 1.",
        ),
        (
            lambda lens, num_heads, len_k: length_mask(lens.repeat_interleave(len(lens)), len_k),
            "each length is repeated as often as there are sequences; it is one for each head.",
        ),
        (
            lambda lens, num_heads, len_k: length_mask(lens.repeat(num_heads).sort().values, len_k),
            "the lengths are sorted; they stay in the order of their sequences.",
        ),
        (
            lambda lens, num_heads, len_k: folded(lens, num_heads, int(lens.max())),
            "the mask ends at the longest sequence of the batch; len_k says how wide it is.",
        ),
    ]
    cases = [
        (torch.tensor([2, 3]), 2, 4),
        (torch.tensor([1, 4, 2]), 3, 5),
        (torch.tensor([0, 3]), 4, 3),
        (torch.tensor([2]), 3, 7),
        (torch.tensor([5, 1, 0, 3]), 1, 5),
    ]
    return grade(answer, folded, cases, mistakes, axes=["row", "query", "key"])


def token_positions(answer: object) -> Verdict:
    """Grade the positions of tokens that are padded on the left, or anywhere.

    Parameters
    ----------
    answer : callable
        ``answer(real)`` with a boolean ``(batch, length)``, True = no padding; returns integers
        ``(batch, length)``: 0 for the first real token, 1 for the second …, 0 for padding
        before the first.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> token_positions(lambda real: real.cumsum(dim=-1))
    Not yet: the first real token has position 1; positions count from 0.
    """

    def right(real: Tensor) -> Tensor:
        return (real.cumsum(dim=-1) - 1).clamp(min=0).where(real, 0)

    def places(real: Tensor) -> Tensor:
        return torch.arange(real.shape[-1]).expand(real.shape)

    def rank(real: Tensor) -> Tensor:
        return real.cumsum(dim=-1)

    mistakes = [
        (rank, "the first real token has position 1; positions count from 0."),
        (
            lambda real: rank(real) * real,
            "the first real token has position 1; positions count from 0.",
        ),
        (
            lambda real: rank(real) - 1,
            "padding before the first token gets −1, which no table of positions has: put 0 there.",
        ),
        (places, "that is the place in the row: padding on the left still moves every token."),
        (
            lambda real: places(real) * real,
            "that is the place in the row: padding on the left still moves every token.",
        ),
        (
            lambda real: (real.flip(-1).cumsum(dim=-1).flip(-1) - 1).clamp(min=0).where(real, 0),
            "the tokens are counted from the right.",
        ),
        (
            lambda real: ((~real).cumsum(dim=-1) - 1).clamp(min=0).where(real, 0),
            "the padding is counted, not the tokens.",
        ),
        (
            lambda real: (real.cumsum(dim=0) - 1).clamp(min=0).where(real, 0),
            "the sum runs over the batch (dim=0). Tokens lie along the last axis.",
        ),
        (lambda real: torch.zeros_like(real, dtype=torch.long), "every token has position 0."),
        (
            lambda real: (places(real) - (~real).sum(dim=-1, keepdim=True)).clamp(min=0),
            "that is right for padding on the left alone: elsewhere it counts padding that comes "
            "later.",
        ),
        (
            lambda real: real.long(),
            "that is the mask as numbers: add up along the row.",
        ),
        (
            lambda real: (real.flatten().cumsum(0).view_as(real) - 1).clamp(min=0).where(real, 0),
            "the count goes on from one sequence into the next.",
        ),
        (
            lambda real: ((~real).cumsum(dim=-1) - 1).clamp(min=0),
            "the padding is counted, not the tokens.",
        ),
        (
            lambda real: (real.flip(-1).cumsum(dim=-1).flip(-1) - 1).clamp(min=0),
            "the tokens are counted from the right.",
        ),
        (
            lambda real: (real.flatten().cumsum(dim=0) - 1).view(real.shape).clamp(min=0),
            "the count runs on from one row to the next; each row starts at 0.",
        ),
        (
            lambda real: real.cumsum(dim=-1).clamp(min=1),
            "the first real token has position 1; positions count from 0.",
        ),
        (
            lambda real: (torch.arange(real.shape[1]) - real.int().argmax(-1, keepdim=True)).clamp(
                min=0
            ),
            "that is the distance from the first token: padding between two tokens counts as well.",
        ),
        *(
            (
                lambda real, fit=fit: fit(real.sum(dim=-1, keepdim=True) - 1, real),
                "that is the last position of each row; every token has one.",
            )
            for fit in (torch.Tensor.expand_as, lambda last, real: last)
        ),
        (
            lambda real: (rank(real) - 1).where(real, -1),
            "padding before the first token gets −1, which no table of positions has: put 0 there.",
        ),
        (
            lambda real: rank(real).roll(1, dims=-1),
            "roll brings the last count to the front; subtract 1 from each count.",
        ),
        (
            lambda real: places(real) * (places(real) < real.sum(dim=-1, keepdim=True)),
            "the real tokens are taken to stand at the left; here they may stand anywhere.",
        ),
        (
            lambda real: torch.stack([row.nonzero().flatten() for row in real]),
            "these are the places of the real tokens; each place needs a position.",
        ),
        (
            lambda real: (real[0].cumsum(dim=-1) - 1).clamp(min=0).expand(real.shape),
            "every row gets the positions of the first.",
        ),
    ]

    def lenient(function: Callable[..., Any]) -> Callable[..., Any]:
        """Take what stands at padding after the first token as it comes: nobody reads it."""

        def judged(real: Tensor) -> Any:
            given = function(real)
            usable = isinstance(given, Tensor) and given.shape == real.shape
            if not usable or given.dtype == torch.bool or given.is_floating_point():
                return given
            later = ~real & (real.cumsum(dim=-1) > 0) & (given >= 0)
            return given.masked_fill(later, 0)

        return judged

    cases = [
        (torch.tensor([[False, False, True, True]]),),
        (torch.tensor([[False, True, True], [True, True, True]]),),
        (torch.tensor([[True, True, False, False, False], [False, True, False, True, True]]),),
        (torch.tensor([[False] * 3, [True] * 3, [False, False, True]]),),
    ]
    named = [(lenient(mistake), sentence) for mistake, sentence in mistakes]
    given = lenient(answer) if callable(answer) else answer
    return grade(given, right, cases, named, axes=["row", "token"])


def leak_test(answer: object) -> Verdict:
    """Grade a test for leaks.

    Parameters
    ----------
    answer : callable
        ``answer(attend, queries, keys, values, mask)`` with ``attend(queries, keys, values)``,
        whose mask is bound, and the mask ``(batch, len_q, len_k)`` that it should obey; returns
        a boolean ``(batch, len_q)``, True where the output moves when NaN is put where the
        query may not look.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def nothing(attend, queries, keys, values, mask):
    ...     return torch.zeros(mask.shape[:2], dtype=torch.bool)
    >>> leak_test(nothing)
    Not yet: your test finds no leak anywhere, and one of the attentions ignores its mask. \
If you compare by >: a difference of NaN is not larger than anything.
    """

    def poisoned(
        poison: float, *, into: str = "kv", by_query: bool = True, flip: bool = False
    ) -> Callable[..., Tensor]:
        def test(
            attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
        ) -> Tensor:
            before, moved = attend(queries, keys, values), []
            hidden = mask if flip else ~mask  # (batch, len_q, len_k)
            nobody = hidden.all(dim=1, keepdim=True).expand_as(hidden)
            for i, where in enumerate((hidden if by_query else nobody).unbind(dim=1)):
                k = keys.masked_fill(where[..., None], poison) if "k" in into else keys
                v = values.masked_fill(where[..., None], poison) if "v" in into else values
                moved.append(~before.isclose(attend(queries, k, v)).all(dim=-1)[:, i])
            return torch.stack(moved, dim=1)

        return test

    right = poisoned(torch.nan)

    def larger(
        attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
    ) -> Tensor:
        before, moved = attend(queries, keys, values), []
        for i, seen in enumerate(mask.unbind(dim=1)):
            k, v = (x.masked_fill(~seen[..., None], torch.nan) for x in (keys, values))
            moved.append(((before - attend(queries, k, v)).abs() > 1e-5).any(dim=-1)[:, i])
        return torch.stack(moved, dim=1)

    def constant(value: bool) -> Callable[..., Tensor]:
        return lambda attend, queries, keys, values, mask: torch.full(mask.shape[:2], value)

    def any_query(
        attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
    ) -> Tensor:
        before, moved = attend(queries, keys, values), []
        for seen in mask.unbind(dim=1):
            k, v = (x.masked_fill(~seen[..., None], torch.nan) for x in (keys, values))
            moved.append(~before.isclose(attend(queries, k, v)).all(dim=-1).all(dim=-1))
        return torch.stack(moved, dim=1)

    def judged_by(moved: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
        """A test with another idea of when an output (batch, d_v) moves."""

        def test(
            attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
        ) -> Tensor:
            before, found = attend(queries, keys, values), []
            for i, seen in enumerate(mask.unbind(dim=1)):
                k, v = (x.masked_fill(~seen[..., None], torch.nan) for x in (keys, values))
                found.append(moved(before[:, i], attend(queries, k, v)[:, i]))
            return torch.stack(found, dim=1)

        return test

    def once(attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        hidden = ~mask.all(dim=1).unsqueeze(-1)
        k, v = (x.masked_fill(hidden, torch.nan) for x in (keys, values))
        return ~attend(queries, keys, values).isclose(attend(queries, k, v)).all(dim=-1)

    def left_there(
        attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
    ) -> Tensor:
        so_far = (~mask).cumsum(dim=1) == 0
        return judged_by(lambda a, b: ~a.isclose(b).all(dim=-1))(
            attend, queries, keys, values, so_far
        )

    too_mild = (
        "a weight of 0 hides a finite poison: only NaN shows that 0 · NaN reaches the output."
    )
    mistakes = [
        (
            constant(False),
            "your test finds no leak anywhere, and one of the attentions ignores its mask. If you "
            "compare by >: a difference of NaN is not larger than anything.",
        ),
        (
            larger,
            "you compare by >: a difference of NaN is not larger than anything. Ask whether the "
            "two are close, and call the rest moved.",
        ),
        (constant(True), "your test finds a leak everywhere, also where the mask hides nothing."),
        *((poisoned(poison), too_mild) for poison in (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e6, 1e9)),
        (poisoned(torch.nan, into="k"), "only the keys are poisoned; values can leak as well."),
        (poisoned(torch.nan, into="v"), "only the values are poisoned; keys can leak as well."),
        (
            poisoned(torch.nan, by_query=False),
            "only keys that no query may see are poisoned: under a causal mask that is none, and "
            "the future leaks unseen.",
        ),
        (
            poisoned(torch.nan, flip=True),
            "the keys that may be seen are poisoned: True = may attend.",
        ),
        (
            any_query,
            "the outputs of all queries are compared, though only query i is blind to the poison: "
            "the others may see it.",
        ),
        (
            judged_by(lambda before, after: after.isnan().any(dim=-1)),
            "only NaN counts as a leak; what leaks may be a number that merely moves.",
        ),
        *(
            (
                judged_by(moved),
                "an output has moved if any of its numbers has; a leak into one column alone goes "
                "unseen here.",
            )
            for moved in (
                lambda before, after: ~before.isclose(after).any(dim=-1),
                lambda before, after: ~before.isclose(after)[..., 0],
            )
        ),
        *(
            (
                judged_by(partial(_moved_by, least=near)),
                "a small leak goes unseen: what leaks may move the output by less than a tenth.",
            )
            for near in (0.5, 0.2, 0.1)
        ),
        *(
            (
                wrong,
                "queries are tested with the poison of others: each needs fresh copies, poisoned "
                "by its own row of the mask alone.",
            )
            for wrong in (once, left_there)
        ),
        *(
            (
                lambda *case, few=few: few(right(*case)),
                "one answer comes back for many queries; each needs its own: any(dim=-1) alone.",
            )
            for few in (torch.any, lambda x: x.any(dim=1), lambda x: x.any(dim=0))
        ),
        (
            lambda *case: ~right(*case),
            "True and False are swapped: True means that the output moves.",
        ),
        *(
            (
                judged_by(
                    lambda before, after, near=near: (  # type: ignore[misc]
                        ~before.isclose(after, atol=near, equal_nan=True).all(dim=-1)
                    )
                ),
                "NaN before and NaN after count as equal; NaN is close to nothing.",
            )
            for near in (1e-8, 1e-6, 1e-5)
        ),
        *(
            (
                judged_by(
                    lambda before, after, near=near: (  # type: ignore[misc]
                        ~before.mean(dim=-1).isclose(after.mean(dim=-1), atol=near)
                    )
                ),
                "the means of the outputs are compared: what moves up and what moves down cancel.",
            )
            for near in (1e-8, 1e-6, 1e-5)
        ),
    ]
    return grade(answer, right, _suspects(), mistakes, axes=["batch", "query"])


def _moved_by(before: Tensor, after: Tensor, least: float) -> Tensor:
    return ~before.isclose(after, least, least).all(dim=-1)


class _Suspect:
    """An attention with a name, so that a grader can say which one was judged wrongly.

    Its mask is bound to its queries: an answer may ask with all of them, sentence by sentence, or
    one by one.
    """

    def __init__(self, name: str, attend: "Masked", queries: Tensor, mask: Tensor) -> None:
        self.name = name
        self.attend = attend
        self.queries = queries  # (batch, len_q, d_k), no two alike
        self.mask = mask  # (batch, len_q, len_k)

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        return self.attend(queries, keys, values, self.mask_of(queries))

    def mask_of(self, queries: Tensor) -> Tensor:
        if queries.shape == self.queries.shape:
            return self.mask
        same = queries.unsqueeze(-2) == self.queries.flatten(0, 1)  # (..., batch * len_q, d_k)
        return self.mask.flatten(0, 1)[same.all(dim=-1).int().argmax(dim=-1)]

    def __repr__(self) -> str:
        return self.name


Masked = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def _suspects() -> list[tuple[_Suspect, Tensor, Tensor, Tensor, Tensor]]:
    """Return attentions that obey a mask, or do not, each with inputs and the mask."""

    def obeys(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        return scaled_dot_product_attention(queries, keys, values, mask=mask)[0]

    def ignores(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        return (queries @ keys.mT).softmax(dim=-1) @ values

    def fills_with_0(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        return (queries @ keys.mT).masked_fill(~mask, 0.0).softmax(dim=-1) @ values

    def keys_leak(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        safe = values.masked_fill(~mask.any(dim=-2)[..., None], 0.0)
        return (queries @ keys.mT).softmax(dim=-1).masked_fill(~mask, 0.0) @ safe

    def values_leak(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = (queries @ keys.mT).masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=-1).nan_to_num(0.0) @ values

    def last_column_leaks(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        out, blind = (attend(queries, keys, values, mask) for attend in (obeys, ignores))
        return torch.cat([out[..., :-1], blind[..., -1:]], dim=-1)

    def cleans_nan(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = queries @ keys.nan_to_num(0.0).mT / 8
        return scores.masked_fill(~mask, -4.0).softmax(dim=-1) @ values.nan_to_num(0.0)

    def nan_where_empty(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        out = obeys(queries, keys, values, mask)
        return out.masked_fill(~mask.any(dim=-1, keepdim=True), torch.nan)

    def turns_round(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        out = obeys(queries, keys, values, mask)
        return torch.where(keys.isnan().any(dim=(-2, -1), keepdim=True), out.flip(-1), out)

    normal = draws(21)
    padded = length_mask(torch.tensor([3, 5]), 5).expand(2, 3, 5)
    both = length_mask(torch.tensor([4, 2, 0]), 5) & causal_mask(5)
    named = {
        "one that obeys": obeys,
        "one that ignores its mask": ignores,
        "one that fills with 0": fills_with_0,
        "one that only keys can poison": keys_leak,
        "one that multiplies 0 and NaN": values_leak,
        "one that hides padding and not the future": obeys,
        "one that leaks into the last column alone": last_column_leaks,
        "one that leaks a little, and never NaN": cleans_nan,
        "one that answers an empty row with NaN": nan_where_empty,
        "one that turns its output round where NaN is hidden": turns_round,
    }
    cases = []
    for mask in (padded, both):
        batch, len_q, len_k = mask.shape
        inputs = normal(batch, len_q, 2), normal(batch, len_k, 2), normal(batch, len_k, 3)
        for name, attend in named.items():
            blind = mask.any(dim=1, keepdim=True).expand_as(mask)
            own = blind if "not the future" in name else mask
            cases.append((_Suspect(name, attend, inputs[0], own), *inputs, mask))
    return cases


quiz = Quiz(
    Choice(
        "Masked scores are filled with −10⁹ in float32, and one row may see nothing. What are "
        "its weights?",
        ["All 0.", "NaN.", "All equal."],
        "c",
        {
            "a": "softmax always sums to 1: it has to be put to 0 afterwards.",
            "b": "that is −∞. A finite number gives finite weights.",
            "c": "equal scores get equal weights, so the row is the mean of what it must not see.",
        },
    ),
    Choice(
        "You hand a mask of 0 and 1 as float numbers to PyTorch's function. What does it do?",
        ["It hides the zeros.", "It adds the numbers to the scores.", "It raises an error."],
        "b",
        {
            "a": "that is what a boolean mask does.",
            "b": "a float mask is a term of the score, so 0 hides nothing and 1 favours a little.",
            "c": "there is no message, and that is what makes it hard to find.",
        },
    ),
    Choice(
        "You put 10⁶ into the masked values, and the output does not move. Then you put NaN, and "
        "it does. What is true?",
        [
            "There is no leak: NaN is not a number.",
            "The weight is 0, and 0 · NaN leaks.",
            "The mask has the wrong polarity.",
        ],
        "b",
        {
            "a": "padding may hold anything, and one NaN spoils all that learns from the output.",
            "b": "a weight of exactly 0 hides every finite number, but 0 times NaN is NaN.",
            "c": "then 10⁶ would have moved the output as well.",
        },
    ),
)
