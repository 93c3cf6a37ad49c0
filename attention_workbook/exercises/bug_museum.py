"""Graders for the chapter on attentions with one defect each."""

import torch
from torch import Tensor

from attention_workbook.exercises import draws, exercise, questions

__all__ = [
    "mended_case_1",
    "mended_case_2",
    "mended_case_3",
    "mended_case_6",
    "mended_case_7",
    "quiz",
    "right_mask",
]

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


_normal = draws(61)


def _chunks(*shares: float) -> tuple[Tensor, Tensor]:
    return _normal(len(shares), 3), torch.tensor(shares)


@exercise(
    axes="chunk column",
    cases={
        "a text of one chunk": _chunks(0.4),
        "two chunks": _chunks(0.5, 0.25),
        "chunks that forget nothing": _chunks(1.0, 1.0, 1.0),
        "four chunks with unlike shares": _chunks(0.9, 0.5, 0.8, 0.3),
        "fifty chunks that keep little": _chunks(*[0.1] * 50),
    },
    mistakes=[
        ("sum(dim=1)", "sum(dim=0)", "the sum runs over the chunks that read; sum what is read."),
        (".tril()", ".tril().T", "each state adds up the chunks after it; it knows those before."),
        (".tril()", "", "chunks that have not come yet are added, too."),
        (
            {".tril()": ".tril().T", "* added)": "* kept[:, None] * added)"},
            "each state adds up the chunks after it, and a chunk is faded by its own share.",
        ),
        (".tril()", ".tril(-1)", "what a chunk adds itself is missing in the state after it."),
        (
            "(total[:, None] - total).exp()",
            "torch.ones(len(kept), len(kept))",
            "nothing fades: multiply the state so far by the share that a chunk keeps.",
        ),
        (
            "* added)",
            "* kept[:, None] * added)",
            "what a chunk adds is faded by its own share; that is for the state before it.",
        ),
        (
            "kept.log()",
            "kept.roll(1).log()",
            "the state is faded by the share of the chunk before; the chunk that comes decides.",
        ),
        (
            lambda added, kept: torch.stack(
                [
                    sum(kept[j + 1 : i].prod() * added[j] for j in range(i)) + 0 * added[i]
                    for i in range(len(kept))
                ]
            ),
            "these are the states before each chunk; return those after it.",
        ),
        (
            lambda added, kept: kept.cumprod(dim=0)[:, None] * added.cumsum(dim=0),
            "each chunk is faded by shares before it, too; only those after it fade it.",
        ),
        (
            "* added)",
            "* (1 - kept[:, None]) * added)",
            "a chunk adds all that it brings; the share is for the state before it.",
        ),
        (".tril()", ".triu()", "the triangle is the other way: each state adds up later chunks."),
        (
            {".tril()": ".triu()", "* added)": "* kept[:, None] * added)"},
            "the triangle is the other way, and a chunk is faded by its own share.",
        ),
        (
            {".tril()": "", "sum(dim=1)": "sum(dim=0)"},
            "chunks that have not come yet are added, and the sum runs over the chunks that read.",
        ),
    ],
)
def mended_case_6(added: Tensor, kept: Tensor) -> Tensor:
    """Return the state after each chunk, ``(chunks, width)``."""
    total = kept.log().cumsum(dim=0)
    fade = (total[:, None] - total).exp().tril()
    return (fade[:, :, None] * added).sum(dim=1)


OWN = "torch.full_like(penalty, -1e9).triu(1).masked_fill"  # another mask, without the padding


def _future(length: int) -> Tensor:
    return torch.full((length, length), -1e9).triu(1)


def _padded(length: int, real: int) -> Tensor:
    penalty = _future(length)
    penalty[:, real:] = -1e9
    return penalty


@exercise(
    axes="query key",
    cases={
        "a window longer than the text": (_normal(4, 4), _future(4), 9),
        "a window of three": (_normal(6, 6), _future(6), 3),
        "a window of one": (_normal(3, 3), _future(3), 1),
        "a text with padding": (_normal(5, 5), _padded(5, 4), 3),
    },
    mistakes=[
        (
            "penalty.masked_fill(far, -torch.inf)",
            "penalty * far",
            "the product sets hidden cells to 0, and 0 means that a key may be read.",
        ),
        (
            "penalty.masked_fill(far, -torch.inf)",
            "(penalty + far)",
            "keys too far back get a higher score; they need one that cannot win.",
        ),
        ("tril(-window)", "tril(-window - 1)", "the window holds one key too many."),
        (
            "tril(-window)",
            "tril(1 - window)",
            "the window holds one key too few: the token itself counts.",
        ),
        (
            "tril(-window)",
            "triu(window)",
            "there is no window: keys too far back may still be read.",
        ),
        (
            "penalty.masked_fill",
            "torch.zeros_like(penalty).masked_fill",
            "the mask that came in is lost, and with it the future is open.",
        ),
        (
            "penalty.masked_fill",
            OWN,
            "the padding is open: the mask that came in hides more than the future.",
        ),
        ("softmax(dim=-1)", "softmax(dim=-2)", "the softmax runs along the queries."),
        ("scores + ", "", "the scores are not read."),
        (".softmax(dim=-1)", "", "these are scores; a softmax makes weights of them."),
        (
            {
                "torch.ones_like(penalty).tril(-window)": (
                    "torch.ones_like(penalty).tril(window - 1).triu(1 - window).logical_not()"
                ),
                "penalty.masked_fill": "torch.zeros_like(penalty).masked_fill",
            },
            "the window reaches ahead as well, and the mask that came in is lost.",
        ),
        *(
            (
                {"penalty.masked_fill": fill, old: new},
                f"{lost}: the mask that came in is lost. And {more}",
            )
            for fill, lost in (
                (OWN, "the padding is open"),
                ("torch.zeros_like(penalty).masked_fill", "the future is open"),
            )
            for old, new, more in (
                ("tril(-window)", "tril(-window - 1)", "the window holds one key too many."),
                ("tril(-window)", "tril(1 - window)", "the window holds one key too few."),
                ("softmax(dim=-1)", "softmax(dim=-2)", "the softmax runs along the queries."),
            )
        ),
        (
            "(scores + penalty.masked_fill(far, -torch.inf)).softmax(dim=-1)",
            "(scores + penalty).softmax(dim=-1) * ~far",
            "the window comes after the softmax, when keys too far back have had their share.",
        ),
    ],
)
def mended_case_7(scores: Tensor, penalty: Tensor, window: int) -> Tensor:
    """Return the weights of a layer with a window, ``(length, length)``."""
    far = torch.ones_like(penalty).tril(-window).bool()
    return (scores + penalty.masked_fill(far, -torch.inf)).softmax(dim=-1)


def _tutorial(length: int, diagonal: int = 1, hidden: float = -torch.inf) -> Tensor:
    ahead = torch.ones(length, length).triu(diagonal).bool()
    return torch.zeros(length, length).masked_fill(ahead, hidden)


def _with(row: int, column: int | slice, value: float) -> Tensor:
    penalty = _tutorial(4)
    penalty[row, column] = value
    return penalty


@exercise(
    cases={
        "the tutorial's mask": (_tutorial(4),),
        "the mask that the report proposes": (_tutorial(4, 0),),
        "a mask of zeros": (_tutorial(4, 4),),
        "the mask turned around": (_tutorial(4).T,),
        "a right mask for one token": (_tutorial(1),),
        "a right mask for seven tokens": (_tutorial(7),),
        "a mask with one leak in its first row": (_with(0, 3, 0.0),),
        "a mask with one leak in a middle row": (_with(1, 2, 0.0),),
        "a mask with a row of zeros": (_with(1, slice(None), 0.0),),
        "a mask with NaN where −∞ belongs": (_with(1, 3, torch.nan),),
        "a mask with NaN where 0 belongs": (_with(2, 1, torch.nan),),
        "a mask that hides the first token from the last": (_tutorial(4) + _tutorial(4, 3).T,),
        "a mask of ones where −∞ belongs": (_tutorial(4, 1, 1.0),),
        "a mask of −10⁹ where −∞ belongs": (_tutorial(4, 1, -1e9),),
        "a mask of +∞ where −∞ belongs": (_tutorial(4, 1, torch.inf),),
        "a mask of ones where 0 belongs": (_tutorial(4) + 1,),
    },
)
def right_mask(penalty: Tensor) -> bool:
    """Return whether a mask shows each token itself and the past, and nothing else."""
    past = torch.ones_like(penalty).tril().bool()
    shown, hidden = penalty == 0, penalty == -torch.inf
    return bool((shown == past).all() and (hidden == ~past).all())
