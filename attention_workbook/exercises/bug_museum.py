"""Graders for the chapter on attentions with one defect each."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = ["mended_case_1", "mended_case_2", "mended_case_3", "quiz"]

(quiz,) = questions("bug_museum")


def _low(length: float) -> tuple[Tensor, ...]:
    """Return inputs whose scores are all equal and very low; the outputs show the weights."""
    rows = length * torch.ones(4, 8)
    return rows, -rows, torch.eye(4)


@exercise(
    axes="query column",
    cases={
        "ordinary scores": draws(32)(3, 5, 8).unbind(),
        "a single token": draws(33)(3, 1, 8).unbind(),
        "visible scores that are all below −10⁴": _low(80.0),
        "visible scores that are all below −10⁹": _low(3e4),
    },
    mistakes=[
        ("-torch.inf", "-1e9", "a score below −10⁹ outruns this mask, too; −∞ cannot be outrun."),
        ("triu(1)", "triu(2)", "each token sees the next one: the triangle begins one place late."),
        (" / queries.shape[-1] ** 0.5", "", "the scale is gone: divide by the root of the width."),
        (
            {" / queries.shape[-1] ** 0.5": "", "-torch.inf": "-1e9"},
            "the scale is gone, and a score below −10⁹ outruns this mask, too.",
        ),
        (
            {" / queries.shape[-1] ** 0.5": "", "triu(1)": "triu(2)"},
            "the scale is gone, and the triangle begins one place late.",
        ),
        ("softmax(dim=-1)", "softmax(dim=-2)", "the softmax runs along the queries."),
        (
            "scores.masked_fill(ahead, -torch.inf).softmax(dim=-1)",
            "scores.softmax(dim=-1).tril()",
            "the mask comes after the softmax, when the future has had its share.",
        ),
        ("-torch.inf", "0.0", "hidden scores become 0, and `exp(0)` is 1."),
        (
            "-torch.inf",
            "scores.min().item() - 1",
            "a hidden score that is finite keeps some weight; −∞ leaves none.",
        ),
        ("triu(1)", "triu(0)", "a token does not see itself, and the first one sees nothing."),
        ("triu(1)", "tril(-1)", "the triangle is the other way: the past is hidden."),
    ],
)
def mended_case_1(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return causal attention that no score can outrun, ``(length, width)``."""
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    ahead = torch.ones(len(queries), len(keys)).triu(1).bool()
    return scores.masked_fill(ahead, -torch.inf).softmax(dim=-1) @ values


@exercise(
    axes="query key",
    cases={"one token": (1,), "two tokens": (2,), "five tokens": (5,), "nine tokens": (9,)},
    mistakes=[
        ("tril()", "tril(1)", "each token sees the next one, which it is asked to guess."),
        ("tril()", "tril(-1)", "a token does not see itself, and the first one sees nothing."),
        ("tril()", "triu()", "the triangle is the other way: the past is hidden."),
        ("tril()", "triu(1)", "True and False are swapped: True means that a key may be read."),
        ("tril()", "tril() * torch.eye(length)", "each token sees itself and nothing else."),
        ("tril()", "triu(2)", "the triangle is the other way, and two diagonals are missing."),
    ],
)
def mended_case_2(length: int) -> Tensor:
    """Return the mask of a decoder, ``(length, length)``, True = may attend."""
    return torch.ones(length, length).tril().bool()


@exercise(
    axes="row query key",
    cases={
        "an encoder": (torch.tensor([[True, True, True, False]]), False),
        "a decoder": (torch.tensor([[True, True, True]]), True),
        "a decoder with padding": (
            torch.tensor([[True, True, False, False], [True, True, True, True]]),
            True,
        ),
        "an encoder with two texts": (
            torch.tensor([[True, False, False], [True, True, True]]),
            False,
        ),
    },
    mistakes=[
        (
            lambda real, is_decoder: real[:, None, :].expand(-1, real.shape[1], -1),
            "a decoder still sees the future: `is_decoder` changes nothing.",
        ),
        (
            lambda real, is_decoder: (
                real[:, None, :] & torch.ones(real.shape[1], real.shape[1]).tril().bool()
            ),
            "an encoder is causal now; only a decoder should be.",
        ),
        ("if is_decoder", "if not is_decoder", "encoder and decoder are exchanged."),
        ("seen & torch", "seen | torch", "one of the two rules is enough here; both must hold."),
        *(
            (
                {
                    "unsqueeze(1).expand(-1, length, -1)": "unsqueeze(2).expand(-1, -1, length)",
                    "tril()": triangle,
                },
                f"padding hides queries here; it should hide keys.{more}",
            )
            for triangle, more in (
                ("tril()", ""),
                ("triu()", " And the triangle is the other way."),
            )
        ),
        (
            {"if is_decoder": "if not is_decoder", "seen & torch": "seen | torch"},
            "encoder and decoder are exchanged, and one of two rules is enough; both must hold.",
        ),
        ("seen & torch", "torch", "a decoder forgets the padding."),
        ("tril()", "triu()", "the triangle is the other way: the past is hidden."),
        ("tril()", "tril(-1)", "a decoder's token does not see itself."),
    ],
)
def mended_case_3(real: Tensor, is_decoder: bool) -> Tensor:
    """Return the mask of an encoder or a decoder, ``(batch, length, length)``."""
    length = real.shape[1]
    seen = real.unsqueeze(1).expand(-1, length, -1)
    if is_decoder:
        seen = seen & torch.ones(length, length).tril().bool()
    return seen
