"""Graders for the exercises of the chapter that learns an alignment."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from attention_workbook.exercises import draws, exercise, makes, questions

__all__ = ["better_score", "cross_attention", "exact_match", "quiz", "without_key"]

better_score, quiz = questions("learned_alignment")


def _dates() -> list[tuple[Tensor, Tensor]]:
    """Return scores and digits: of each case one date is right and one has one wrong digit."""
    cases = []
    for seed, (dates, place) in enumerate([(2, 7), (7, 4), (11, 0), (5, 5)]):
        normal = draws(110 + seed, torch.float64 if seed == 2 else torch.float32)
        digits = normal(dates, 8, 10).argmax(dim=-1)
        scores = normal(dates, 8, 10) + 3.5 * one_hot(digits, 10)
        scores[:2] += 20 * one_hot(digits[:2], 10)
        scores[1, place, digits[1, place]] = -9
        cases.append((scores, digits))
    return cases


def _nearly_right() -> tuple[Tensor, Tensor]:
    """Return dates with no, one, two … wrong digits, and two with right digits out of place."""
    digits = torch.tensor([1, 9, 6, 1, 0, 5, 0, 3])
    wrong = torch.arange(8) < torch.arange(8)[:, None]
    guessed = [*torch.where(wrong, (digits + 1) % 10, digits), digits.flip(0), digits.roll(1)]
    return one_hot(torch.stack(guessed), 10).float(), digits.expand(10, -1)


@exercise(
    cases=_dates(),
    special={"where dates are nearly right": _nearly_right()},
    mistakes=[
        (
            ".all(dim=-1)",
            "",
            "that is the share of right digits; a date counts only if all its digits are right.",
        ),
        (
            ".all(dim=-1)",
            ".all(dim=0)",
            "that asks for each place whether it is right in all dates; ask for each "
            "date whether it "
            "is right in all places.",
        ),
        (
            "right.all(dim=-1).double().mean()",
            "right.double().mean() ** 8",
            "the share of right digits is raised to the power of 8, as if mistakes came "
            "independently. Count the dates instead.",
        ),
        (
            "right.all(dim=-1).double().mean()",
            "right.double().mean(dim=0).prod()",
            "the shares of the eight digits are multiplied, as if mistakes came independently. "
            "Count the dates instead.",
        ),
    ],
)
def exact_match(digit_scores: Tensor, digits: Tensor) -> Tensor:
    """Return the share of dates of which all digits are right, one number."""
    guessed = digit_scores.argmax(dim=-1)
    right = guessed == digits
    return right.all(dim=-1).double().mean()


def _texts(seed: int, *sizes: int) -> tuple[Tensor, ...]:
    batch, len_q, len_k, d_k, d_model, d_v = sizes
    normal = draws(120 + seed, torch.float64 if seed == 1 else torch.float32)
    lens = 2 + normal(batch, len_k - 2).argmax(dim=-1)  # 2 to len_k - 1
    given = (normal(len_q, d_k), normal(batch, len_k, d_model))
    return *given, normal(d_k, d_model), normal(d_v, d_model), lens


_SMALL = (
    torch.tensor([[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]]),
    torch.eye(2),
    torch.tensor([[2.0, 1.0]]),
    torch.tensor([2]),
)


@exercise(
    axes="text query column",
    cases=[
        (torch.tensor([[1.0, 0.0]]), *_SMALL),
        _texts(0, 2, 8, 5, 3, 7, 4),
        _texts(1, 3, 4, 7, 6, 2, 5),
        _texts(2, 5, 8, 11, 2, 13, 3),
    ],
    special={
        "where scores are in the hundreds": (torch.tensor([[900.0, 0.0], [0.0, -900.0]]), *_SMALL),
    },
    rules=[
        # 7 and 21 count keys, 5 and 11 are the widths of a key and of a value
        makes(
            lambda step, shape, stored: not {7, 21} & {*shape} or not {5, 11} & {*shape},
            case=_texts(3, 3, 4, 7, 5, 2, 11),
            sentence="the result is right, but keys or values are made. Give `W_k` to the queries, "
            "and `W_v` to what is read.",
        )
    ],
    mistakes=[
        (
            "valid_lens[:, None, None]",
            "valid_lens.max()",
            "every text gets the length of the longest.",
        ),
    ],
)
def cross_attention(
    queries: Tensor, states: Tensor, W_k: Tensor, W_v: Tensor, valid_lens: Tensor
) -> tuple[Tensor, Tensor]:
    """Return output ``(batch, len_q, d_v)`` and weights ``(batch, len_q, len_k)``."""
    keys = states @ W_k.T
    values = states @ W_v.T
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    padding = torch.arange(keys.shape[1]) >= valid_lens[:, None, None]
    weights = scores.masked_fill(padding, -torch.inf).softmax(dim=-1)
    output = weights @ values
    return output, weights


@exercise(
    axes="query key",
    cases=[
        (torch.tensor([[0.5, 0.25, 0.25]]), 0),
        ((2 * draws(130)(3, 5)).softmax(dim=-1), 1),
        ((2 * draws(131, torch.float64)(2, 8, 7)).softmax(dim=-1), 3),
        ((2 * draws(132)(2, 3, 4, 11)).softmax(dim=-1), 6),
    ],
    mistakes=[
        *(
            (
                "kept / kept.sum(dim=-1, keepdim=True)",
                f"kept{hidden}.softmax(dim=-1)",
                "a second softmax is taken, of weights. It expects scores.",
            )
            for hidden in ("", ".masked_fill(kept == 0, -torch.inf)")
        ),
        *(
            (
                "kept / kept.sum(dim=-1, keepdim=True)",
                f"(kept + weights[..., key, None] / {parts}",
                "the hidden weight is dealt out in equal parts. The other keys should keep their "
                "ratios.",
            )
            for parts in ("(kept.shape[-1] - 1)) * (kept > 0)", "kept.shape[-1])")
        ),
    ],
)
def without_key(weights: Tensor, key: int) -> Tensor:
    """Return the weights ``(..., len_q, len_k)`` that softmax gives where one key is masked."""
    kept = weights.clone()
    kept[..., key] = 0
    return kept / kept.sum(dim=-1, keepdim=True)
