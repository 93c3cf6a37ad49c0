"""Graders for the chapter that compares the library with what others have published."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.positions import rotate_by_position

__all__ = ["agrees", "quiz", "true_hides", "turns_with_the_first"]

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Rotate = Callable[[Tensor], Tensor]


def agrees(answer: object) -> Verdict:
    """Grade a test of numbers against printed ones.

    Parameters
    ----------
    answer : callable
        ``answer(printed, ours, decimals)`` with two tensors and how many decimals were printed;
        returns whether each of ours rounds to what was printed.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> agrees(lambda printed, ours, decimals: torch.allclose(printed, ours, atol=10**-decimals))
    Not yet: a whole unit of the last digit is let through; rounding moves a number by half of one.
    """

    def right(printed: Tensor, ours: Tensor, decimals: int) -> bool:
        if printed.shape != ours.shape:
            return False
        return bool(((ours - printed).abs() <= 0.5001 * 10**-decimals).all())

    def within(unit: Callable[[int], float]) -> Callable[..., bool]:
        return lambda printed, ours, decimals: (
            printed.shape == ours.shape and bool(((ours - printed).abs() <= unit(decimals)).all())
        )

    whole = "a whole unit of the last digit is let through; rounding moves a number by half of one."
    lost = "a broadcast hides it: the two have different shapes, and one number stood for several."
    nan = "a NaN gets through: no comparison with NaN is true, so `not any(… > …)` lets it pass."
    mistakes = [
        (within(lambda decimals: 10**-decimals), whole),
        (
            lambda printed, ours, decimals: torch.allclose(printed, ours, atol=10**-decimals),
            whole,
        ),
        (
            lambda printed, ours, decimals: torch.allclose(printed, ours),
            "the fixed tolerance of allclose knows nothing of how many decimals were printed.",
        ),
        (
            lambda printed, ours, decimals: torch.equal(printed, ours),
            "what was printed is rounded: exact equality refuses numbers that agree.",
        ),
        (
            within(lambda decimals: 0.05 * 10**-decimals),
            "the tolerance is too small: rounding moves a number by up to half of the last digit.",
        ),
        (
            within(lambda decimals: 0.5 * 10 ** -(decimals + 1)),
            "the tolerance is too small: rounding moves a number by up to half of the last digit.",
        ),
        (
            within(lambda decimals: 0.5 * 10 ** -(decimals - 1)),
            "the tolerance is ten times too large: it is half a unit of the last digit printed.",
        ),
        (
            within(lambda decimals: 0.5e-4),
            "the tolerance is that of four decimals, whatever was printed.",
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape
                and bool(((ours - printed) <= 0.5001 * 10**-decimals).all())
            ),
            "without the absolute value, a number of ours that is far too small passes.",
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape
                and bool(((printed - ours) <= 0.5001 * 10**-decimals).all())
            ),
            "without the absolute value, a number of ours that is far too large passes.",
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape
                and bool(((ours - printed).abs() <= 0.5001 * 10**-decimals).any())
            ),
            "one number that agrees is not enough: all of them must.",
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape
                and bool((ours - printed).abs().mean() <= 0.5001 * 10**-decimals)
            ),
            "a mean hides one wrong number among many right ones: take the largest difference.",
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape
                and bool((ours.sum() - printed.sum()).abs() <= 0.5001 * 10**-decimals)
            ),
            "two wrong numbers can have the right sum: compare each.",
        ),
        (
            lambda printed, ours, decimals: bool(
                ((ours - printed).abs() <= 0.5001 * 10**-decimals).all()
            ),
            lost,
        ),
        (
            lambda printed, ours, decimals: (
                printed.numel() == ours.numel()
                and bool(
                    ((ours.flatten() - printed.flatten()).abs() <= 0.5001 * 10**-decimals).all()
                )
            ),
            "the numbers are compared in a row, whatever their shapes: a transpose would pass.",
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape
                and not bool(((ours - printed).abs() > 0.5001 * 10**-decimals).any())
            ),
            nan,
        ),
        (
            lambda printed, ours, decimals: torch.allclose(
                printed, ours, rtol=0.5 * 10**-decimals, atol=0.0
            ),
            "a relative tolerance is not what rounding to decimals does: it is the same for all.",
        ),
        (
            lambda printed, ours, decimals: not right(printed, ours, decimals),
            "it is the wrong way round: True where they do not agree.",
        ),
        (lambda printed, ours, decimals: True, "it finds that everything agrees."),
        (lambda printed, ours, decimals: False, "it finds that nothing agrees."),
        (
            lambda printed, ours, decimals: (ours - printed).abs() <= 0.5001 * 10**-decimals,
            "there is an answer for each number: one for all of them is wanted.",
        ),
        *(
            (
                lambda printed, ours, decimals, summary=summary: (
                    printed.shape == ours.shape
                    and bool(summary((ours - printed).abs()) <= 0.5001 * 10**-decimals)
                ),
                sentence,
            )
            for summary, sentence in (
                (
                    torch.sum,
                    "the differences are summed; each alone may be half of the last digit.",
                ),
                (
                    torch.nanmean,
                    "a mean hides one wrong number among many right ones, and nanmean a NaN.",
                ),
                (torch.median, "the median hides all wrong numbers but half: take the largest."),
                (lambda d: d.flatten()[0], "only the first number is compared."),
                (lambda d: d.square().amax(), "the difference is squared, and the bound is not."),
                (lambda d: d.nan_to_num(0).amax(), nan),
                (torch.amin, "one number that agrees is not enough: all of them must."),
            )
        ),
        *(
            (within(lambda decimals, share=share: share * 10**-decimals), sentence)  # type: ignore[misc]
            for share, sentence in (
                (0.6, "the tolerance is a little too large: half a unit, and room for rounding."),
                (2.0, whole),
                (
                    0.1,
                    "the tolerance is too small: rounding moves a number by up to half of the "
                    "last digit.",
                ),
            )
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape
                and torch.allclose(
                    ours.double(),
                    printed.double(),
                    rtol=0,
                    atol=0.5001 * 10**-decimals,
                    equal_nan=True,
                )
            ),
            "a NaN on both sides counts as equal; NaN agrees with nothing.",
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape and torch.allclose(printed, ours)
            ),
            "the fixed tolerance of allclose knows nothing of how many decimals were printed.",
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape
                and torch.allclose(printed, ours, rtol=0.5 * 10**-decimals, atol=0.0)
            ),
            "a relative tolerance is not what rounding to decimals does: it is the same for all.",
        ),
        (
            within(lambda decimals: 0.05 / decimals if decimals else 0.5),
            "the tolerance is divided by ten times the decimals; it is 10 to their power.",
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape
                and bool(((ours * 10**decimals).trunc() == (printed * 10**decimals).round()).all())
            ),
            "the digits are cut off; a printed number is rounded, up as well as down.",
        ),
        (
            lambda printed, ours, decimals: (
                right(printed.expand_as(ours), ours, decimals)
                if printed.numel() == 1
                else right(printed, ours, decimals)
            ),
            lost,
        ),
        (
            lambda printed, ours, decimals: (
                printed.shape == ours.shape and not bool((ours - printed).isnan().any())
            ),
            "only NaN is looked for; how far apart the numbers are is not.",
        ),
    ]
    draw = draws(3, torch.float64)
    table = draw(3, 4)
    off, nowhere = table.round(decimals=4), table.clone()
    off[1, 2] += 9e-4
    nowhere[0, 1] = torch.nan
    swapped = table.clone()
    swapped[0, :2] += torch.tensor([0.01, -0.01])
    cases = [
        (torch.tensor([0.6667]), torch.tensor([2 / 3]), 4),
        (torch.tensor([0.67]), torch.tensor([2 / 3]), 2),
        (torch.tensor([0.66]), torch.tensor([2 / 3]), 2),
        (torch.tensor([0.6667, 0.5]), torch.tensor([0.6667, 0.5 + 8e-5]), 4),
        (torch.tensor([0.6667, 0.5]), torch.tensor([0.6667, 0.5 - 8e-5]), 4),
        (torch.tensor([0.6667, 0.5]), torch.tensor([0.6667, 0.5 - 4e-5]), 4),
        (torch.tensor([0.5]), torch.tensor([0.5]), 1),
        (torch.tensor([0.5]), torch.tensor([0.500004]), 4),
        (torch.tensor([0.5]), torch.tensor([0.50003]), 3),
        (torch.tensor([1000.1]), torch.tensor([1000.4]), 1),
        (torch.tensor([3.0]), torch.tensor([2.6]), 0),
        (torch.tensor([0.001]), torch.tensor([0.0014]), 3),
        (table.round(decimals=4), table, 4),
        (table.round(decimals=2), table, 2),
        (table.round(decimals=3), table, 4),
        (off, table, 4),
        (table.round(decimals=3), swapped, 3),
        (torch.full((1, 6), 0.25), torch.full((6, 1), 0.25), 4),
        (torch.tensor([0.25]), torch.full((5,), 0.25), 4),
        (table.round(decimals=4), nowhere, 4),
        (nowhere, nowhere, 4),
        (torch.tensor([0.25], dtype=torch.float64), torch.tensor([0.25555]).double(), 2),
        (torch.tensor([0.5]), torch.tensor([0.51]), 4),
    ]
    return grade(answer, right, cases, mistakes)


def true_hides(answer: object) -> Verdict:
    """Grade a function that finds out what True means to an attention.

    Parameters
    ----------
    answer : callable
        ``answer(attend)`` with ``attend(queries, keys, values, mask)``, each of shape
        ``(1, len, width)`` and the mask a boolean ``(len, len)``; returns whether True hides a
        key. The attention may work in any score.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> true_hides(lambda attend: True)
    Not yet: it says True whatever the attention does.
    """

    def ours(score_of: float) -> Attend:
        def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
            return scaled_dot_product_attention(
                queries, keys, values, mask=mask, scale=score_of, need_weights=False
            )[0]

        return attend

    def inverted(attend: Attend) -> Attend:
        return lambda queries, keys, values, mask: attend(queries, keys, values, ~mask)

    def filled(fill: float) -> Attend:
        """One that fills in a number: an empty row is uniform if it is finite, and else NaN."""

        def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
            scores = (queries @ keys.mT).masked_fill(mask, fill)
            return torch.softmax(scores, dim=-1) @ values

        return attend

    def right(attend: Attend) -> bool:
        values = torch.tensor([[[0.0], [1.0]]])
        only_the_first = torch.tensor([[True, False], [True, False]])
        seen = attend(torch.zeros(1, 2, 2), torch.zeros(1, 2, 2), values, only_the_first)
        return bool(seen[0, 0, 0] > 0.5)  # True at key 0, and the output is key 1's value

    def all_true(attend: Attend) -> Tensor:
        x = torch.ones(1, 2, 2)
        return attend(x, x, x, torch.ones(2, 2, dtype=torch.bool))

    mistakes = [
        (lambda attend: True, "it says True whatever the attention does."),
        (lambda attend: False, "it says False whatever the attention does."),
        (
            lambda attend: not right(attend),
            "it is the wrong way round: where a key marked True is heard, True means attend.",
        ),
        (
            lambda attend: bool((all_true(attend) == 0).all()),
            "a mask of True everywhere gives 0 in some attentions, NaN or the mean in others: "
            "mark one key, and see whether it is heard.",
        ),
        (
            lambda attend: bool(all_true(attend).isnan().all()),
            "a mask of True everywhere gives NaN in some attentions, 0 or the mean in others: "
            "mark one key, and see whether it is heard.",
        ),
        *(
            (wrong, sentence)
            for marks, sentence in (
                (
                    True,
                    "every key is marked, so none is told from another: mark one, and see whether "
                    "its value comes out.",
                ),
                (
                    False,
                    "no key is marked, so none is told from another: mark one, and see whether "
                    "its value comes out.",
                ),
            )
            for value in (0.5, 0.0, math.nan)
            for turned in (False, True)
            if not (marks and not turned and value != 0.5)
            for wrong in (
                lambda attend, marks=marks, value=value, turned=turned: (
                    turned != _is(attend, marks, value)
                ),
            )
        ),
    ]
    cases = [
        (ours(0.5),),
        (inverted(ours(0.5)),),
        (filled(-1e9),),
        (inverted(filled(-1e9)),),
        (filled(-math.inf),),
        (inverted(filled(-math.inf)),),
        (ours(-2.0),),  # the smallest product wins: a key that fits well says nothing of the mask
        (inverted(ours(-2.0)),),
    ]
    return grade(answer, right, cases, mistakes)


def _is(attend: Attend, marks: bool, value: float) -> bool:
    """Say whether an attention under one mask everywhere gives a value; the values are 0 and 1."""
    same, values = torch.zeros(1, 2, 4), torch.tensor([[[0.0], [1.0]]])
    given = attend(same, same, values, torch.full((2, 2), marks))[0, 0, 0]
    return bool(given.isnan() if math.isnan(value) else given == value)


def turns_with_the_first(answer: object) -> Verdict:
    """Grade a function that finds out which coordinates a rotary position turns together.

    Parameters
    ----------
    answer : callable
        ``answer(rotate, d_k)`` with ``rotate(x)`` for ``x`` of shape ``(1, len, d_k)``, position
        0 first; returns which coordinate turns together with coordinate 0.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> turns_with_the_first(lambda rotate, d_k: 1)
    Not yet: that is the answer for neighbours, whatever the rotation does.
    """

    def rotation(layout: str, base: float = 10_000.0) -> Rotate:
        return lambda x: rotate_by_position(x, layout=layout, base=base)

    def swapped(x: Tensor) -> Tensor:
        """A third layout: the first coordinate with the last, and so inwards."""
        order = torch.tensor([i for pair in _inwards(x.shape[-1]) for i in pair])
        return rotate_by_position(x[..., order])[..., order.argsort()]

    def slowly(x: Tensor) -> Tensor:
        """Positions squeezed together, as models do that read longer texts than they learned."""
        return rotate_by_position(x, torch.arange(x.shape[-2]) / 4, layout="halves")

    def turned(rotate: Rotate, d_k: int) -> Tensor:
        x = torch.zeros(1, 4, d_k)
        x[..., 0] = 1.0
        return rotate(x)[0, 1]

    def right(rotate: Rotate, d_k: int) -> int:
        moved = turned(rotate, d_k).abs()
        moved[0] = 0.0
        return int(moved.argmax())

    mistakes = [
        (lambda rotate, d_k: 1, "that is the answer for neighbours, whatever the rotation does."),
        (
            lambda rotate, d_k: d_k // 2,
            "that is the answer for halves, whatever the rotation does.",
        ),
        (
            lambda rotate, d_k: int(turned(rotate, d_k).abs().argmax()),
            "coordinate 0 itself may be the largest: look at the others.",
        ),
        (
            lambda rotate, d_k: int(turned(rotate, d_k)[1:].abs().argmax()),
            "the index is counted from coordinate 1: add the one that was cut off.",
        ),
        (
            lambda rotate, d_k: int(turned(rotate, d_k)[1:].argmax()) + 1,
            "the sine may be negative: take the size of what appears.",
        ),
        (
            lambda rotate, d_k: 0,
            "coordinate 0 turns together with another one.",
        ),
        (
            lambda rotate, d_k: d_k - 1,
            "that is the last coordinate, whatever the rotation does.",
        ),
        (
            lambda rotate, d_k: 1 if right(rotate, d_k) == 1 else d_k // 2,
            "there are more than two layouts: look where something appears instead of guessing.",
        ),
        (
            lambda rotate, d_k: d_k // 2 if right(rotate, d_k) == 1 else 1,
            "it is the wrong way round: it says halves for neighbours.",
        ),
        (
            lambda rotate, d_k: int((rotate(torch.ones(1, 4, d_k))[0, 1] - 1).abs().argmax()),
            "with ones everywhere all coordinates change: set coordinate 0 alone.",
        ),
        *(
            (
                lambda rotate, d_k, read=read: read(turned(rotate, d_k)),
                sentence,
            )
            for read, sentence in (
                (
                    lambda x: int(x[1:].argmin()) + 1,
                    "the sine may be positive: take the size of what appears.",
                ),
                (
                    lambda x: int(x.abs().topk(2).indices[1]),
                    "the second largest may be coordinate 0 itself: leave it out and look at the "
                    "others.",
                ),
                (
                    lambda x: int(x[1:].abs().argmax()) + 2,
                    "one too far: coordinate 0 alone was cut off.",
                ),
                (
                    lambda x: int((x.abs() > 1e-6).sum()),
                    "that is how many coordinates are not 0; which one is asked for.",
                ),
                (
                    lambda x: float(x[1:].abs().max()),
                    "that is the number that appears; where it stands is asked for.",
                ),
                (
                    lambda x: -1 - int(x.abs().flip(0)[:-1].argmax()),
                    "the coordinates are counted from the last.",
                ),
                (
                    lambda x: int(x[1:].round().abs().argmax()) + 1,
                    "rounding makes a small sine 0; take the largest size as it is.",
                ),
                (
                    lambda x: int((x[1:] > 1e-6).int().argmax()) + 1,
                    "the sine may be negative: take the size of what appears.",
                ),
                (
                    lambda x: int((x[1:] < -1e-6).int().argmax()) + 1,
                    "the sine may be positive: take the size of what appears.",
                ),
            )
        ),
        (
            lambda rotate, d_k: (
                int((rotate(torch.ones(1, 2, d_k))[0, 1, 1:] - 1).abs().argmax()) + 1
            ),
            "with ones everywhere all coordinates change: set coordinate 0 alone.",
        ),
        *(
            (
                lambda rotate, d_k, start=start: (
                    1
                    + int(
                        rotate(torch.eye(d_k)[start].expand(1, 2, -1).clone())[0, 1, 1:]
                        .abs()
                        .argmax()
                    )
                ),
                "another coordinate is set to 1: it is the partner of coordinate 0 that is asked "
                "for.",
            )
            for start in (1,)
        ),
    ]
    cases = [
        (rotation("pairs"), 8),
        (rotation("halves"), 8),
        (rotation("halves"), 6),
        (rotation("pairs"), 2),
        (rotation("pairs", 100.0), 12),
        (rotation("halves", 100.0), 64),
        (swapped, 8),
        (_clockwise, 8),
        (_clockwise_halves, 8),
        (slowly, 8),
    ]
    return grade(answer, right, cases, mistakes)


def _inwards(d_k: int) -> list[tuple[int, int]]:
    return [(i, d_k - 1 - i) for i in range(d_k // 2)]


def _clockwise(x: Tensor) -> Tensor:
    """Rotate the other way round: the sine that appears is negative."""
    mirror = torch.tensor([1.0, -1.0]).repeat(x.shape[-1] // 2)
    return rotate_by_position(x * mirror) * mirror


def _clockwise_halves(x: Tensor) -> Tensor:
    mirror = torch.tensor([1.0, -1.0]).repeat_interleave(x.shape[-1] // 2)
    return rotate_by_position(x * mirror, layout="halves") * mirror


quiz = Quiz(
    Number(
        "A page prints a weight as 0.233. How far may the number that it comes from be from "
        "this, at most?",
        0.0005,
        tolerance=1e-8,
        because="rounding to three decimals moves a number by half of .001 at most.",
        mistakes=[
            (0.001, "that is the whole last digit; rounding moves a number by half of it."),
            (0.01, "that is a unit of the second decimal; three were printed."),
            (0.005, "that is for two decimals; three were printed."),
            (0.00005, "that is for four decimals; three were printed."),
            (0.0001, "there are three decimals, so the last unit is .001, and half of it counts."),
            (0, "it was rounded: it may lie a little above or below."),
        ],
    ),
    Choice(
        "Your float32 output differs from the published one by 3e-7, and in float64 by 4e-16. "
        "What is that?",
        [
            "A mistake too small to matter yet.",
            "The rounding of float32.",
            "Another seed.",
        ],
        "b",
        {
            "a": "a mistake does not shrink with the dtype. This difference does.",
            "b": "it shrinks as the dtype's rounding does, so it is rounding and nothing else.",
            "c": "another seed gives other numbers altogether.",
        },
    ),
    Choice(
        "Two libraries give a window of 3. In one the last query sees 3 keys, in the other 4. "
        "Which is wrong?",
        [
            "The first: a window of 3 leaves 3 keys beside the query's own.",
            "The second: a window of 3 is 3 keys.",
            "Neither: they mean different things by one word.",
        ],
        "c",
        {
            "a": "so the second reads it; nobody has to.",
            "b": "so the first reads it; nobody has to.",
            "c": "both are documented somewhere. Only when weights move from one to the other "
            "does it become a mistake.",
        },
    ),
)
