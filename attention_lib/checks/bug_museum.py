"""Graders for the chapter on attentions with one defect each.

Examples
--------
>>> name_the_bug("a")
Not yet: a wrong window is wrong for a prompt alone, too.
>>> row_sum(1)
Not yet: each of the two rows sums to 1, and one is subtracted.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib import museum
from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.masking import causal_mask, masked_softmax

__all__ = [
    "batch_independent",
    "induction_weights",
    "name_the_bug",
    "quiz",
    "reads_values",
    "row_sum",
]

name_the_bug = Choice(
    "Each prompt alone gets a good answer. In a batch, padded on the left, short prompts get "
    "nonsense and the longest one does not. The mask has been checked.",
    ["window_with_one_more", "left_padding_by_place", "rotary_halves", "mask_added"],
    "b",
    {
        "a": "a wrong window is wrong for a prompt alone, too.",
        "b": "padding moves the short prompts on by some places; the longest has none.",
        "c": "a wrong layout is wrong for a prompt alone, too.",
        "d": "the mask has been checked; and added zeros and ones would spoil a lone prompt less.",
    },
)

row_sum = Number(
    "From a row of softmax weights 0.35 times another row of softmax weights is subtracted. What "
    "do the numbers of the row sum to?",
    0.65,
    tolerance=0.0005,
    because="each row sums to 1, so the difference sums to 1 − 0.35.",
    mistakes=[
        (1, "each of the two rows sums to 1, and one is subtracted."),
        (0, "the second row is subtracted 0.35 times, not once."),
        (0.35, "that is what is taken away."),
        (1.35, "the second row is subtracted, not added."),
        (-0.35, "that is the second row alone."),
        (0.5385, "no division: the numbers are subtracted.", 0.001),
        (-0.65, "the sign: the first row is what it begins with."),
        (1.65, "two rows of sum 1, one of them 0.35 times and subtracted: 1 − 0.35."),
        (0.325, "no mean is taken of the two."),
        (0.1225, "0.35 is not squared."),
        (0.8, "that would be 0.2 times the second row."),
        (65, "a sum of weights, not per cent."),
    ],
)


_PARTS: dict[str, tuple[Any, ...]] = {
    "the first number": (0, 0, 0),
    "the first column": (..., slice(1)),
    "the last column": (..., slice(-1, None)),
    "the first sample": (slice(1),),
    "the last sample": (slice(-1, None),),
    "the first row of each sample": (slice(None), slice(1)),
    "the last row of each sample": (slice(None), slice(-1, None)),
}


class _Suspect:
    """An attention with a name, so that a grader can say which one was judged wrongly."""

    def __init__(self, name: str, attend: Callable[..., Any]) -> None:
        self.name, self.attend = name, attend

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Any:
        result = self.attend(queries, keys, values, None, False)
        return result[0] if isinstance(result, tuple) else result

    def __repr__(self) -> str:
        return self.name


def _little(queries: Tensor, keys: Tensor, values: Tensor, *_: object) -> Any:
    """Read one column of the values alone."""
    output = museum.right_attention(queries, keys, keys)[0]
    return torch.cat(
        [output[..., :-1], museum.right_attention(queries, keys, values)[0][..., -1:]], -1
    )


def _reads(turned: int | None = None, **places: int) -> Callable[..., Tensor]:
    """Return an attention that reads the values in one sample, key or column alone.

    Its output may stand in reverse order along an axis; ``query`` says who alone reads them.
    """

    def attend(queries: Tensor, keys: Tensor, values: Tensor, *_: object) -> Tensor:
        here = torch.ones(values.shape, dtype=torch.bool)
        for axis, name in enumerate(("sample", "key", "column")):
            if name in places:
                shape = [-1 if i == axis else 1 for i in range(3)]
                here &= (torch.arange(values.shape[axis]) == places[name]).view(shape)
        output = museum.right_attention(queries, keys, torch.where(here, values, keys))[0]
        if "query" in places:
            unread = museum.right_attention(queries, keys, keys)[0]
            asks = torch.arange(queries.shape[1]) == places["query"]
            output = torch.where(asks[:, None], output, unread)
        return output if turned is None else output.flip(turned)

    return attend


def _last_two(queries: Tensor, keys: Tensor, values: Tensor, *_: object) -> Any:
    """Mix the last two samples, and leave the others alone."""
    output = museum.right_attention(queries, keys, values)[0]
    mixed = output[-2:].mean(dim=0, keepdim=True).expand_as(output[-2:])
    return torch.cat([output[:-2], mixed])


def _first_two(queries: Tensor, keys: Tensor, values: Tensor, *_: object) -> Any:
    """Mix the first two samples, and leave the others alone."""
    return _last_two(queries.flip(0), keys.flip(0), values.flip(0)).flip(0)


def _spoilt(part: tuple[Any, ...], by: float | Tensor = 1.0) -> Callable[..., Tensor]:
    """Return an attention that adds to a part of its output what all samples' values sum to."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor, *_: object) -> Tensor:
        output = museum.right_attention(queries, keys, values)[0].clone()
        output[part] += by * (values.sum() - values[0].sum())
        return output

    return attend


def _suspects(**named: Callable[..., Any]) -> list[tuple[Any, ...]]:
    normal = draws(31)
    inputs = [normal(3, 4, 8) for _ in range(3)]
    return [(_Suspect(name.replace("_", " "), attend), *inputs) for name, attend in named.items()]


def reads_values(answer: object) -> Verdict:
    """Grade a test of whether an attention reads its values.

    Parameters
    ----------
    answer : callable
        ``answer(attend, queries, keys, values)`` with ``attend(queries, keys, values)`` that
        returns the output; returns True where the values are read, else False.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> reads_values(lambda attend, queries, keys, values: True)
    Not yet: your test finds that every attention reads its values; one takes them from the keys.
    """

    def moved(attend: Any, before: tuple[Tensor, ...], after: tuple[Tensor, ...]) -> bool:
        return not torch.allclose(attend(*before), attend(*after), equal_nan=True)

    def right(attend: Any, queries: Tensor, keys: Tensor, values: Tensor) -> bool:
        return moved(attend, (queries, keys, values), (queries, keys, values + 1))

    def one_up(values: Tensor, part: tuple[Any, ...]) -> Tensor:
        up = torch.zeros_like(values)
        up[part] = 1
        return values + up

    def all_moved(attend: Any, queries: Tensor, keys: Tensor, values: Tensor) -> bool:
        before, after = attend(queries, keys, values), attend(queries, keys, values + 1)
        return not before.isclose(after).any()

    mistakes: Named = [
        (
            lambda *_: True,
            "your test finds that every attention reads its values; one takes them from the keys.",
        ),
        (
            lambda *_: False,
            "your test finds that no attention reads its values, and most do.",
        ),
        (lambda *x: not right(*x), "True and False are swapped: True means that they are read."),
        (
            lambda attend, q, k, v: moved(attend, (q, k, v), (q, k + 1, v)),
            "you change the keys; change the values, and nothing else.",
        ),
        (
            lambda attend, q, k, v: moved(attend, (q, k, v), (q + 1, k, v)),
            "you change the queries; change the values, and nothing else.",
        ),
        (
            lambda attend, q, k, v: moved(attend, (q, k, v), (q, k + 1, v + 1)),
            "you change the keys, too: an attention that takes its values from the keys moves as "
            "well.",
        ),
        (
            all_moved,
            "one number that stays is enough for you to say no: it is enough to move if any "
            "number moves.",
        ),
        *(
            (
                lambda attend, q, k, v, part=part: (
                    not torch.allclose(attend(q, k, v)[part], attend(q, k, v + 1)[part])
                ),
                f"only {name} of the output is compared; the values may be read elsewhere.",
            )
            for name, part in _PARTS.items()
        ),
        *(
            (
                lambda attend, q, k, v, part=part: moved(
                    attend, (q, k, v), (q, k, one_up(v, part))
                ),
                f"only {name} of the values is changed; an attention may read another part alone.",
            )
            for name, part in _PARTS.items()
        ),
        *(
            (
                lambda attend, q, k, v, axis=axis: moved(attend, (q, k, v), (q, k, v.flip(axis))),
                "the values stand in another order, and a mean of them does not move: change the "
                "numbers.",
            )
            for axis in (-1, -2)
        ),
        (
            lambda attend, q, k, v: (
                not torch.allclose(attend(q, k, v).mean(), attend(q, k, v + 1).mean(), atol=0.1)
            ),
            "the means of the outputs are compared: what moves in one place alone is lost in them.",
        ),
    ]
    cases: list[Any] = _suspects(
        a_right_one=museum.right_attention,
        one_that_takes_values_from_the_keys=lambda q, k, *_: museum.right_attention(q, k, k)[0],
        one_that_reads_one_column_of_the_values=_little,
        one_that_ignores_keys_and_queries=lambda q, k, v, *_: (
            v.mean(dim=1, keepdim=True) + 0 * q[..., :1]
        ),
        one_that_returns_its_queries=lambda q, *_: q.clone(),
        one_with_another_scale=museum.EXHIBITS["unscaled"].broken,
        one_that_reads_the_first_column=_reads(column=0),
        one_that_reads_the_last_sample=_reads(sample=2),
        one_that_reads_the_first_sample=_reads(sample=0),
        one_that_reads_the_values_of_the_last_key=_reads(key=3),
        one_that_reads_the_values_of_the_first_key=_reads(key=0),
        one_that_reads_them_for_the_last_query=_reads(query=3),
        one_that_reads_them_for_the_first_query=_reads(query=0),
        one_that_reads_one_number_of_each_sample=_reads(column=3, key=2),
        one_that_reads_one_column_and_turns_them_round=_reads(-1, column=0),
        one_that_reads_another_column_and_turns_them_round=_reads(-1, column=7),
        one_that_reads_one_sample_and_turns_them_round=_reads(0, sample=0),
        one_that_reads_another_sample_and_turns_them_round=_reads(0, sample=2),
        one_that_reads_the_mean_over_columns_and_keys=lambda q, k, v, *_: (
            v.mean(dim=(1, 2), keepdim=True) + 0 * q
        ),
    )
    return grade(
        _booleans(answer), _booleans(right), cases, [(_booleans(f), s) for f, s in mistakes]
    )


def batch_independent(answer: object) -> Verdict:
    """Grade a test of whether the samples of a batch know nothing of each other.

    Parameters
    ----------
    answer : callable
        ``answer(attend, queries, keys, values)`` with tensors ``(batch, len, width)``; returns
        True where each sample has the output that it would have alone.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> batch_independent(lambda attend, queries, keys, values: True)
    Not yet: your test finds no mixing anywhere, and some of the attentions mix their samples. \
Does it compare the whole batch with itself, or by too large a tolerance?
    """

    def same(attend: Any, inputs: tuple[Tensor, ...], sample: slice, tolerance: float) -> bool:
        alone = attend(*(x[sample] for x in inputs))
        return bool(torch.allclose(attend(*inputs)[sample], alone, atol=tolerance))

    def right(attend: Any, *inputs: Tensor) -> bool:
        return all(same(attend, inputs, slice(i, i + 1), 1e-5) for i in range(len(inputs[0])))

    def only(sample: slice) -> Callable[..., bool]:
        return lambda attend, *inputs: same(attend, inputs, sample, 1e-5)

    def shuffled(*order: int) -> Callable[..., bool]:
        def test(attend: Any, *inputs: Tensor) -> bool:
            after = attend(*(x[[*order]] for x in inputs))
            return bool(torch.allclose(attend(*inputs)[[*order]], after, atol=1e-5))

        return test

    def changed(last: Callable[[Tensor], Tensor]) -> Callable[..., bool]:
        def test(attend: Any, *inputs: Tensor) -> bool:
            others = [torch.cat([x[:-1], last(x[-1:])]) for x in inputs]
            return bool(torch.allclose(attend(*inputs)[:-1], attend(*others)[:-1], atol=1e-5))

        return test

    mistakes: Named = [
        (
            lambda *_: True,
            "your test finds no mixing anywhere, and some of the attentions mix their samples. "
            "Does it compare the whole batch with itself, or by too large a tolerance?",
        ),
        (lambda *_: False, "your test finds mixing everywhere, and one attention does not mix."),
        (lambda *x: not right(*x), "True and False are swapped: True means that none are mixed."),
        (only(slice(0, 1)), "only the first sample is compared; another may be mixed."),
        (only(slice(-1, None)), "only the last sample is compared; another may be mixed."),
        (
            only(slice(0, 2)),
            "two samples are given together: they may be mixed with each other. Give one alone.",
        ),
        (
            lambda attend, *inputs: any(
                same(attend, inputs, slice(i, i + 1), 1e-5) for i in range(len(inputs[0]))
            ),
            "one sample that stays is enough for you; all have to stay.",
        ),
        *(
            (
                shuffled(*order),
                "shuffled samples give shuffled outputs even where they are mixed, as by a mean "
                "over the batch. Give each sample alone.",
            )
            for order in [(2, 1, 0), (2, 0, 1), (1, 2, 0), (1, 0, 2), (0, 2, 1)]
        ),
        *(
            (
                changed(last),
                "you change the last sample and look at the others: what they do to it you do not "
                "see.",
            )
            for last in (lambda x: x + 1, torch.zeros_like)
        ),
        (
            only(slice(1, None)),
            "two samples are given together: they may be mixed with each other. Give one alone.",
        ),
        *(
            (
                lambda attend, *inputs, which=which: all(
                    same(attend, inputs, slice(i, i + 1), 1e-5) for i in which
                ),
                f"the {left} sample is not tried; it may be the one that is spoilt.",
            )
            for which, left in (((0, 1), "last"), ((1, 2), "first"), ((0, 2), "second"))
        ),
        *(
            (
                lambda attend, *inputs, part=part: all(
                    torch.allclose(
                        attend(*(x[i : i + 1] for x in inputs))[0:1][part],
                        attend(*inputs)[i : i + 1][part],
                        atol=1e-5,
                    )
                    for i in range(3)
                ),
                f"only {name} of the output is compared; another part may be spoilt.",
            )
            for name, part in _PARTS.items()
            if "sample" not in name or "each" in name
        ),
        *(
            (
                lambda attend, *inputs, tolerance=tolerance: all(
                    same(attend, inputs, slice(i, i + 1), tolerance) for i in range(3)
                ),
                "the tolerance is too large: it lets through what is more than rounding.",
            )
            for tolerance in (0.01, 0.1, 1.0)
        ),
        (
            lambda attend, *inputs: all(
                float((attend(*(x[i : i + 1] for x in inputs))[0] - attend(*inputs)[i]).abs().max())
                < 1e-8
                for i in range(3)
            ),
            "exactly equal is too much: a batch is summed in another order, and rounds otherwise.",
        ),
        *(
            (
                lambda attend, *inputs, tolerance=tolerance: all(
                    torch.allclose(
                        attend(*(x[i : i + 1] for x in inputs)).mean(),
                        attend(*inputs)[i].mean(),
                        atol=tolerance,
                    )
                    for i in range(3)
                ),
                "means are compared, and what is spoilt upwards and downwards cancels in them.",
            )
            for tolerance in (1e-5, 1e-2)
        ),
        (
            lambda attend, *inputs: torch.allclose(
                attend(*(torch.cat([x, x]) for x in inputs))[:3], attend(*inputs), atol=1e-5
            ),
            "the batch is given twice, and a mean over twice the same is the same. Give each "
            "sample alone.",
        ),
        (
            lambda attend, *inputs: torch.allclose(
                attend(*(x[:1].expand_as(x) for x in inputs))[:1],
                attend(*(x[:1] for x in inputs)),
                atol=1e-5,
            ),
            "a batch of one sample many times is tried; mixing the same with the same changes "
            "nothing.",
        ),
        (
            lambda attend, q, k, v: torch.allclose(
                attend(q, k, v)[0],
                attend(q, k, torch.cat([v[:1], v[1:] + 1]))[0],
                atol=1e-5,
            ),
            "only the values of other samples are changed, and only the first sample is looked at.",
        ),
    ]
    cases: list[Any] = _suspects(
        a_right_one=museum.right_attention,
        one_whose_softmax_runs_over_the_batch=museum.EXHIBITS["softmax_over_the_batch"].broken,
        one_that_takes_the_mean_over_the_batch=lambda q, k, v, *_: museum.right_attention(
            q, k - k.mean(dim=0), v
        )[0],
        one_that_mixes_the_first_two_samples=_first_two,
        one_that_mixes_the_last_two_samples=_last_two,
        one_that_gives_each_sample_the_values_of_the_next=lambda q, k, v, *_: (
            museum.right_attention(q, k, v.roll(-1, dims=0))[0]
        ),
        one_that_spoils_the_first_sample=lambda q, k, v, *_: (
            museum.right_attention(q, k, v)[0]
            + (torch.arange(len(q)) == 0)[:, None, None] * (v.sum() - v[0].sum())
        ),
        **{
            f"one that spoils {name.replace('the first number', 'one number')}": _spoilt(part)
            for name, part in _PARTS.items()
        },
        one_that_spoils_the_second_sample=_spoilt((slice(1, 2),)),
        one_whose_spoilt_numbers_have_the_right_mean=_spoilt(
            (...,), torch.tensor([1.0, -1.0]).repeat(4)
        ),
        one_that_rounds_otherwise_in_a_batch=lambda q, k, v, *_: (
            museum.right_attention(q, k, v)[0] + 1e-7 * len(q)
        ),
        one_that_moves_everything_a_little=lambda q, k, v, *_: (
            museum.right_attention(q, k, v)[0] + 1e-3 * (len(q) - 1)
        ),
    )
    return grade(
        _booleans(answer), _booleans(right), cases, [(_booleans(f), s) for f, s in mistakes]
    )


def _booleans(judge: object) -> Any:
    """Take True and False, as Python, numpy or a tensor of one number has them, as a tensor."""
    if not callable(judge):
        return judge

    def judged(attend: Any, queries: Tensor, keys: Tensor, values: Tensor) -> object:
        given = judge(attend, queries, keys, values)
        if isinstance(given, bool) or type(given).__name__ in ("bool_", "bool"):
            return torch.tensor(bool(given))
        return given

    return judged


def induction_weights(answer: object) -> Verdict:
    """Grade the weights of an induction head: each query reads what followed its token before.

    Parameters
    ----------
    answer : callable
        ``answer(tokens)`` with integers ``(length,)``; returns weights ``(length, length)``: query
        ``i`` shares its weight evenly among the keys ``j``, from 1 to ``i``, whose predecessor
        ``j - 1`` holds the token of ``i``; a row without such a key is 0.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> induction_weights(lambda tokens: torch.eye(len(tokens)))
    Not yet: each token reads itself; it should read what followed its token before.
    """

    def matches(tokens: Tensor, shift: int = 1) -> Tensor:
        """Say where the token ``shift`` places before the key is the query's."""
        before = tokens.roll(shift)
        found = tokens[:, None] == before
        found[:, :shift] = False
        return found & causal_mask(len(tokens))

    def share(mask: Tensor) -> Tensor:
        return masked_softmax(torch.zeros(mask.shape), mask=mask)

    def right(tokens: Tensor) -> Tensor:
        return share(matches(tokens))

    def first_open(mask: Tensor) -> Tensor:
        return mask & (mask.cumsum(dim=-1) == 1)

    def same(tokens: Tensor) -> Tensor:
        return (tokens[:, None] == tokens) & causal_mask(len(tokens))

    def around(tokens: Tensor) -> Tensor:
        return (tokens[:, None] == tokens.roll(1)) & causal_mask(len(tokens))

    def around_by(tokens: Tensor, shift: int) -> Tensor:
        return tokens[:, None] == tokens.roll(shift)

    def matches_of(tokens: Tensor, of_keys: Callable[[Tensor], Tensor]) -> Tensor:
        return tokens[:, None] == of_keys(tokens)

    def later(tokens: Tensor) -> Tensor:
        """Every key up to the query's own place but the first, which has no predecessor."""
        return causal_mask(len(tokens)) & (torch.arange(len(tokens)) > 0)

    def ahead(tokens: Tensor) -> Tensor:
        found = tokens[:, None] == tokens.roll(1)
        found[:, 0] = False
        return found

    mistakes: Named = [
        (
            lambda tokens: torch.eye(len(tokens)),
            "each token reads itself; it should read what followed its token before.",
        ),
        (
            lambda tokens: share(same(tokens)),
            "the keys that hold the same token are read; read those one place after them.",
        ),
        (
            lambda tokens: share(same(tokens) & ~torch.eye(len(tokens), dtype=torch.bool)),
            "the earlier places of the same token are read; read those one place after them.",
        ),
        (
            lambda tokens: matches(tokens).float(),
            "the weights are not shared out: a row with two matches sums to 2.",
        ),
        (
            lambda tokens: matches(tokens),
            "that is the mask; the weights of a row sum to 1.",
        ),
        (
            lambda tokens: share(around(tokens)),
            "the first key has no predecessor: roll brings it the last token.",
        ),
        (
            lambda tokens: share(ahead(tokens)),
            "later keys are read, too: j must not be larger than i.",
        ),
        (
            lambda tokens: right(tokens).mT,
            "rows and columns are swapped: a row for each query.",
        ),
        (
            lambda tokens: share(first_open(matches(tokens))),
            "only the first match is read; all matches share the weight.",
        ),
        (
            lambda tokens: share(first_open(matches(tokens).flip(-1)).flip(-1)),
            "only the last match is read; all matches share the weight.",
        ),
        (
            lambda tokens: matches(tokens).float().softmax(dim=-1),
            "keys that do not match get weight: e to the power of 0 is 1. Mask them.",
        ),
        (
            lambda tokens: matches(tokens).float() / matches(tokens).sum(dim=-1, keepdim=True),
            "a row without a match is 0 over 0; it should be 0.",
        ),
        (
            lambda tokens: share(matches(tokens, 2)),
            "the token two places before the key is compared; take the one just before it.",
        ),
        (
            lambda tokens: share(matches(tokens) & ~torch.eye(len(tokens), dtype=torch.bool)),
            "a token may read itself: in “A A” the second A followed the first.",
        ),
        (
            lambda tokens: share(
                torch.arange(len(tokens))[:, None] - 1 == torch.arange(len(tokens))
            ),
            "that is the head that looks one place back: the first of the two.",
        ),
        *(
            (wrong, sentence)
            for seen, sentence in (
                (
                    lambda tokens: matches_of(tokens, lambda t: t) & later(tokens),
                    "the keys that hold the same token are read; read those one place after them.",
                ),
                (
                    lambda tokens: matches_of(tokens, lambda t: t.roll(-1)) & later(tokens),
                    "the token after the key is compared; take the one just before it.",
                ),
                (
                    lambda tokens: (tokens.roll(1)[:, None] == tokens) & later(tokens),
                    "the query's predecessor is compared; it is the key's that counts.",
                ),
                (
                    lambda tokens: matches_of(tokens.roll(1), lambda t: t) & later(tokens),
                    "both predecessors are compared; compare the key's with the query itself.",
                ),
                (
                    lambda tokens: (tokens[:, None] != tokens.roll(1)) & later(tokens),
                    "== became !=: the keys that do not match are read.",
                ),
                (
                    lambda tokens: ((tokens[:, None] - tokens.roll(1)).abs() <= 1) & later(tokens),
                    "numbers of tokens that are only close count as equal: compare them with ==.",
                ),
                (
                    lambda tokens: (around(tokens)) & (torch.arange(len(tokens)) > 0)[:, None],
                    "row 0 is closed, not column 0: it is the first key that has no predecessor.",
                ),
                (
                    lambda tokens: around(tokens) & (tokens[:, None] == tokens.roll(2)),
                    "the token two places before the key is compared; take the one just before it.",
                ),
                (
                    lambda tokens: around_by(tokens, 2) & later(tokens),
                    "the token two places before the key is compared; take the one just before it.",
                ),
            )
            for wrong in (lambda tokens, seen=seen: share(seen(tokens)),)
        ),
        *(
            (
                lambda tokens, add=add: right(tokens) + add(right(tokens).sum(-1) == 0),
                "a row without a match should be 0: nothing else may take its weight.",
            )
            for add in (
                lambda empty: torch.diag(empty.float()),
                lambda empty: empty.float()[:, None] / len(empty),
                lambda empty: empty.float()[:, None] * (torch.arange(len(empty)) == 0),
            )
        ),
        *(
            (
                lambda tokens, count=count: matches(tokens) / count(matches(tokens)),
                "the row is not divided by the number of its own matches.",
            )
            for count in (
                lambda mask: len(mask),
                lambda mask: torch.arange(1, len(mask) + 1)[:, None],
                lambda mask: mask.sum(dim=0).clamp(min=1),
                lambda mask: mask.sum().clamp(min=1),
            )
        ),
    ]
    cases = [
        (torch.tensor([0, 1, 2, 0]),),
        (torch.tensor([0, 1, 0, 2, 0]),),
        (torch.tensor([3, 3, 3, 1]),),
        (torch.tensor([1, 2, 0, 1, 2, 0, 1]),),
        (torch.tensor([4, 1, 3, 0, 2]),),
        (torch.tensor([2, 0, 2, 2, 0, 1, 2, 0, 0, 2]),),
        (torch.tensor([812, 9, 57, 812, 57, 9, 9, 812]),),
    ]
    return grade(answer, right, cases, mistakes, axes=["query", "key"])


quiz = Quiz(
    Choice(
        "Which of these bugs does a test on `attend(x, x, x)` never see?",
        ["masked scores become 0", "values are taken from the keys", "softmax over the batch"],
        "b",
        {
            "a": "padding gets weight there as everywhere.",
            "b": "keys and values are the same tensor, so it does not matter which one is read.",
            "c": "its rows do not sum to 1, whatever the input.",
        },
    ),
    Choice(
        "An attention keeps every contract on float32 inputs. What follows?",
        [
            "it is right",
            "it has none of the defects that these contracts look for, on these inputs",
            "its weights may be read as explanations",
        ],
        "b",
        {
            "a": "a contract says what must hold; nobody has listed all of that.",
            "b": "and that is why one adds a contract for each new bug.",
            "c": "that is another question; the chapter on heatmaps asks it.",
        },
    ),
    Choice(
        "A text reads A B C A. What must an induction head of layer 2 find in the key of B?",
        ["that B is B", "that A stands before it", "that A comes again"],
        "b",
        {
            "a": "that is what it gives, as the value.",
            "b": "layer 1 has written it there; the second A asks for it.",
            "c": "that lies ahead, and B may not look there.",
        },
    ),
)
