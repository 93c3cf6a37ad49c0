"""Graders for the chapter on masks."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib import masking
from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._questions import Choice, Number, Quiz

__all__ = ["kept_cells", "key_padding", "lowest_loss", "masked_softmax", "packed_mask", "quiz"]

kept_cells = Number(
    'How many of the 25 cells of the panel "both" may be read?',
    12,
    because="1 + 2 + 3 + 3 + 3 = 12.",
    mistakes=[
        (15, "each mask alone keeps 15; a cell must pass both."),
        (13, "13 is the number of hatched cells; the question is for the others."),
        (18, "18 cells pass one mask or the other; a cell must pass both."),
        (
            6,
            "you left out the rows of the padded queries; a padding mask hides keys, "
            "and those two rows keep three cells each.",
        ),
        (9, "the real queries see 1, 2 and 3 keys, not 3 each; the padded ones see 3 each."),
        (10, "a token may read itself, too: the diagonal belongs to the causal mask."),
    ],
)

lowest_loss = Number(
    "The lowest honest loss, when each of three letters comes with probability 1/3",
    math.log(3),
    tolerance=0.005,
    because="the best is to give each letter 1/3, which costs ln 3 = 1.099 wherever it comes.",
    mistakes=[
        (1 / 3, "1/3 is the probability; the loss is minus its logarithm."),
        (-math.log(3), "the loss is *minus* the logarithm: it is positive."),
        (math.log2(3), "that is in bits; cross-entropy in PyTorch uses the natural logarithm."),
        (math.log10(3), "that is the logarithm to base 10; the natural one is meant."),
        (3 * math.log(3), "the three terms are weighted, each with its probability 1/3."),
        (math.log(3) / 3, "that is one of three terms; they are added up."),
        (math.log(26), "that is blind guessing among 26 letters; the rule leaves three."),
        (math.log(2), "that would be two letters, each with probability 1/2."),
        (0.5623, "that is the loss of the language in the chapter; here there are three steps."),
        (0, "0 is what a cheat reaches. Who cannot see the next letter has to share it out."),
        (3, "3 is the number of letters; the loss is its natural logarithm."),
    ],
)


def key_padding(answer: object) -> Verdict:
    """Grade a padding mask for ``nn.MultiheadAttention``, made of lengths.

    Parameters
    ----------
    answer : callable
        ``answer(valid_lens, len_k)`` with lengths ``(batch,)``; returns a boolean
        ``(batch, len_k)``, True = ignore.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> key_padding(lambda valid_lens, len_k: torch.arange(len_k) < valid_lens[:, None])
    Not yet: True stands at the real keys. The layer ignores where its mask is True.
    """

    def positions(len_k: int) -> Tensor:
        return torch.arange(len_k)

    def ignored(valid_lens: Tensor, len_k: int) -> Tensor:
        return positions(len_k) >= valid_lens[:, None]

    def turned_only(valid_lens: Tensor, len_k: int) -> Tensor:
        return ~masking.length_mask(valid_lens, len_k)

    mistakes = [
        (
            lambda valid_lens, len_k: ~ignored(valid_lens, len_k),
            "True stands at the real keys. The layer ignores where its mask is True.",
        ),
        (
            masking.length_mask,
            "that is this book's mask. The layer ignores where its mask is True, and wants no axis "
            "for the queries.",
        ),
        (
            turned_only,
            "the meaning is right, the shape is not: the layer wants (batch, len_k), without an "
            "axis for the queries.",
        ),
        (
            lambda valid_lens, len_k: turned_only(valid_lens, len_k).squeeze(),
            "squeeze() without an axis takes away the batch as well where it is 1: squeeze(1).",
        ),
        (
            lambda valid_lens, len_k: positions(len_k) > valid_lens[:, None],
            "the first key of the padding is left in: positions count from 0, so a length of 2 "
            "allows the positions 0 and 1.",
        ),
        (
            lambda valid_lens, len_k: positions(len_k) >= valid_lens[:, None] - 1,
            "the last real key is ignored, too: with a length of 2 the positions 0 and 1 are real.",
        ),
        (
            lambda valid_lens, len_k: (
                positions(len_k) >= torch.where(valid_lens == 0, len_k, valid_lens)[:, None] - 1
            ),
            "the last real key is ignored, too, and for a length of 0 only the last of all.",
        ),
        (
            lambda valid_lens, len_k: positions(len_k) != valid_lens[:, None] - 1,
            "every key but the last real one is ignored: >=, not !=.",
        ),
        *(
            (
                lambda valid_lens, len_k, of_all=of_all: positions(len_k) >= of_all(valid_lens),
                "there is one row for the whole batch; each sequence has a row of its own.",
            )
            for of_all in (torch.max, torch.min, lambda valid_lens: valid_lens[0])
        ),
        *(
            (
                lambda valid_lens, len_k, width=width: ignored(valid_lens, width),
                "the mask is equally wide for every len_k; it has len_k columns.",
            )
            for width in (3, 4, 5)
        ),
        (
            lambda valid_lens, len_k: positions(len_k) < len_k - valid_lens[:, None],
            "that ignores keys at the left; the padding stands at the right.",
        ),
        (
            lambda valid_lens, len_k: ignored(valid_lens, len_k)[:, None].expand(-1, len_k, -1),
            "there is a row for each query; the layer wants one row per sequence.",
        ),
        (
            lambda valid_lens, len_k: torch.zeros(len(valid_lens), len_k, dtype=torch.bool),
            "nothing is ignored.",
        ),
        (
            lambda valid_lens, len_k: positions(len_k) >= valid_lens,
            "positions and lengths lie along the same axis: valid_lens[:, None] gives each length "
            "a row.",
        ),
        (
            lambda valid_lens, len_k: positions(len_k) == valid_lens[:, None],
            "only the first key of the padding is ignored: >=, not ==.",
        ),
        (
            lambda valid_lens, len_k: positions(len_k) != valid_lens[:, None],
            "every key but one is ignored: >=, not !=.",
        ),
        (
            lambda valid_lens, len_k: ignored(valid_lens, int(valid_lens.max())),
            "the mask ends at the longest sequence of the batch; len_k says how wide it is.",
        ),
        (
            lambda valid_lens, len_k: (positions(len_k) < valid_lens[:, None]).flip(-1),
            "what is ignored is as many keys as are real, at the right; the padding is the rest.",
        ),
    ]
    cases = [
        (torch.tensor([2, 3]), 4),
        (torch.tensor([1, 5, 0]), 5),
        (torch.tensor([2]), 3),
        (torch.tensor([4, 1, 3, 2, 0], dtype=torch.int32), 7),
    ]
    return grade(answer, ignored, cases, mistakes, axes=["sequence", "key"])


def masked_softmax(answer: object) -> Verdict:
    """Grade a masked softmax.

    Parameters
    ----------
    answer : callable
        ``answer(scores, mask)`` with scores ``(..., len_q, len_k)`` and a boolean mask that
        broadcasts to them, True = may attend; returns the weights.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> masked_softmax(lambda scores, mask: scores.masked_fill(~mask, -1e9).softmax(dim=-1))
    Not yet: the fill is a number. A row with nothing to attend to is shared out over the padding, \
and scores below the fill lose to it.
    """

    def right(scores: Tensor, mask: Tensor) -> Tensor:
        return masking.masked_softmax(scores, mask=mask)

    def filled(number: float) -> Callable[..., Tensor]:
        return lambda scores, mask: scores.masked_fill(~mask, number).softmax(dim=-1)

    def along(axis: int) -> Callable[..., Tensor]:
        return lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(dim=axis)

    def after(scores: Tensor, mask: Tensor) -> Tensor:
        return scores.softmax(dim=-1) * mask

    def divided_again(scores: Tensor, mask: Tensor) -> Tensor:
        kept = after(scores, mask)
        return kept / kept.sum(dim=-1, keepdim=True)

    def exponentials(scores: Tensor, mask: Tensor) -> Tensor:
        kept = scores.exp().masked_fill(~mask, 0.0)
        return kept / kept.sum(dim=-1, keepdim=True)

    def multiplied(scores: Tensor, mask: Tensor) -> Tensor:
        kept = scores.exp() * mask
        return kept / kept.sum(dim=-1, keepdim=True)

    def shifted(scores: Tensor, mask: Tensor, least: float) -> Tensor:
        highest = scores.nan_to_num(-1e30).amax(dim=-1, keepdim=True)
        kept = (scores - highest).exp().masked_fill(~mask, 0.0)
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=least)

    def over_sum(kept: Tensor, least: float) -> Tensor:
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=least)

    def below_one(scores: Tensor, mask: Tensor, most: Callable[[Tensor], Tensor]) -> Tensor:
        filled = scores.masked_fill(~mask, -torch.inf)
        kept = (filled - most(filled)).exp()
        return (kept / kept.sum(dim=-1, keepdim=True)).where(mask, 0.0)

    def lowest(scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)

    as_number = (
        "the fill is a number. A row with nothing to attend to is shared out over the padding, "
        "and scores below the fill lose to it."
    )
    mistakes = [
        (filled(-torch.inf), "a row with nothing to attend to is NaN; it should be 0."),
        *((filled(number), as_number) for number in (-1e4, -1e6, -1e9, -1e10, -1e20, -1e30)),
        (
            lowest,
            "an empty row is shared out evenly over the padding. It should be 0.",
        ),
        *(
            (
                lambda scores, mask, number=number: filled(number)(scores, mask) * mask,
                "the fill is a number: a row whose scores lie below it loses all its weight.",
            )
            for number in (-1e6, -1e9)
        ),
        *(
            (filled(number), "e to the power of 0 is 1: hidden keys keep a share.")
            for number in (0.0, -1e-6, 1e-9)
        ),
        (
            lambda scores, mask: (scores * mask).softmax(dim=-1),
            "hidden scores become 0, and e to the power of 0 is 1; where NaN stood, NaN stays.",
        ),
        (lambda scores, mask: scores.softmax(dim=-1), "the mask has no effect."),
        (
            after,
            "the mask comes after the softmax: the rows no longer sum to 1, and NaN under the "
            "mask has already spread.",
        ),
        (
            lambda scores, mask: scores.softmax(dim=-1).masked_fill(~mask, 0.0),
            "the mask comes after the softmax: the rows no longer sum to 1, and NaN under the "
            "mask has already spread.",
        ),
        *(
            (
                wrong,
                "the mask is added to the scores, and what is added to NaN stays NaN: put the "
                "fill in the scores' place.",
            )
            for wrong in (
                lambda s, m: (s + torch.where(m, 0.0, -torch.inf)).softmax(dim=-1),
                lambda s, m: (s - 1e9 * ~m).softmax(dim=-1),
                lambda s, m: (s - 1e9 * ~m).softmax(dim=-1) * m,
                lambda s, m: (s + m.to(s.dtype).log()).softmax(dim=-1).where(m, 0.0),
            )
        ),
        *(
            (
                wrong,
                "the mask is added as 1 and 0, and hidden keys keep a share: hidden scores must "
                "become −infinity.",
            )
            for wrong in (
                lambda s, m: (s + m).softmax(dim=-1),
                lambda s, m: (s - (~m).to(s.dtype)).softmax(dim=-1),
            )
        ),
        (
            lambda scores, mask: (scores + ~mask * -torch.inf).softmax(dim=-1),
            "0 times infinity is NaN: masked_fill puts −infinity at the hidden keys alone.",
        ),
        (
            lambda scores, mask: scores.masked_fill(~mask, -torch.inf).log_softmax(dim=-1),
            "that is the logarithm of the weights.",
        ),
        (
            lambda scores, mask: (
                scores.float().masked_fill(~mask, -torch.inf).softmax(dim=-1).where(mask, 0.0)
            ),
            "float32 has no room for large scores of float64: keep the dtype of the scores.",
        ),
        (
            lambda scores, mask: (
                scores.masked_fill(~mask, -torch.inf)
                .flatten(-2)
                .softmax(dim=-1)
                .view_as(scores)
                .where(mask, 0.0)
                .nan_to_num(0.0)
            ),
            "one softmax is taken over the whole table; each query has its own.",
        ),
        (
            lambda scores, mask: below_one(scores, mask, torch.amax),
            "one largest score is subtracted from all rows. A row far below it becomes 0 over 0: "
            "subtract each row's own.",
        ),
        (
            lambda scores, mask: over_sum(
                (scores - scores.amax(dim=-1, keepdim=True)).exp().where(mask, 0.0), 1e-38
            ),
            "hidden scores count before they are hidden: 900 takes everything, NaN the row. Fill "
            "them first.",
        ),
        *(
            (
                lambda scores, mask, least=least: over_sum(
                    scores.softmax(dim=-1).where(mask, 0.0), least
                ),
                "hidden scores count before they are hidden: 900 takes everything, NaN the row. "
                "Fill them first.",
            )
            for least in (1e-6, 1e-8, 1e-9, 1e-12)
        ),
        *(
            (
                lambda scores, mask, least=least: over_sum(scores.exp().where(mask, 0.0), least),
                "e to the power of a large score is infinity, and of a very low one 0: leave the "
                "exponentials to torch.softmax.",
            )
            for least in (1e-9, 1e-12, 1e-30)
        ),
        (
            lambda scores, mask: scores.masked_fill(~mask, torch.inf).softmax(dim=-1),
            "hidden scores become +infinity: the hidden keys take all, and the rows are NaN.",
        ),
        (
            lambda scores, mask: right(scores, mask).masked_fill(~mask, -torch.inf).softmax(dim=-1),
            "softmax is taken twice: its weights lie close together as scores.",
        ),
        (
            lambda scores, mask: (
                scores.softmax(dim=-1).masked_fill(~mask, -torch.inf).softmax(dim=-1)
            ),
            "softmax is taken twice: mask the scores, and take it once.",
        ),
        *(
            (
                lambda scores, mask, least=least: shifted(scores, mask, least),
                "a row whose largest score is hidden has a small sum; it is not to be raised.",
            )
            for least in (1.0, 1e-3, 1e-6)
        ),
        (
            lambda scores, mask: scores[mask.expand_as(scores)].softmax(dim=-1),
            "scores[mask] is one long list: the rows are gone. Fill the scores, keep their shape.",
        ),
        (
            divided_again,
            "the mask comes after the exponentials. A hidden score of 900 has then taken "
            "everything, and 0 is divided by 0.",
        ),
        *(
            (
                wrong,
                "e to the power of 900 is infinity, and an empty row divides 0 by 0: leave the "
                "exponentials to torch.softmax.",
            )
            for wrong in (exponentials, multiplied)
        ),
        *(
            (
                lambda scores, mask, base=base: base(scores, ~mask),
                "the mask is the wrong way round: here True = may attend.",
            )
            for base in (right, filled(-torch.inf), filled(-1e9))
        ),
        (along(-2), "the softmax runs over the queries (dim=-2). Keys lie along dim=-1."),
        (along(0), "the softmax runs over the first axis (dim=0). Keys lie along dim=-1."),
        (along(1), "the softmax runs over axis 1, whatever it is. Keys lie along dim=-1."),
        (
            lambda scores, mask: scores.masked_fill(~mask, -torch.inf),
            "these are the scores, filled: the softmax is missing.",
        ),
    ]
    return grade(answer, right, _scores_and_masks(), mistakes, axes=["query", "key"])


def packed_mask(answer: object) -> Verdict:
    """Grade a causal mask for several documents packed into one row.

    Parameters
    ----------
    answer : callable
        ``answer(documents)`` with the document number of each token, integers
        ``(batch, length)``; returns a boolean ``(batch, length, length)``, True = may attend.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> packed_mask(lambda documents: documents.unsqueeze(-1) == documents.unsqueeze(-2))
    Not yet: within its document a token sees the tokens after it: the causal mask is missing.
    """

    def same(documents: Tensor) -> Tensor:
        return documents.unsqueeze(-1) == documents.unsqueeze(-2)

    def causal(documents: Tensor) -> Tensor:
        return masking.causal_mask(documents.shape[-1])

    def packed(documents: Tensor) -> Tensor:
        return same(documents) & causal(documents)

    mistakes = [
        (
            lambda documents: causal(documents).expand(*documents.shape, -1),
            "a token still reads the documents before its own: the causal mask alone knows "
            "nothing of documents.",
        ),
        (
            causal,
            "the causal mask alone knows nothing of documents, and is one mask for all rows of "
            "the batch.",
        ),
        (
            same,
            "within its document a token sees the tokens after it: the causal mask is missing.",
        ),
        (
            lambda documents: same(documents) | causal(documents),
            "the two masks are joined by or: a key that passes one of them is let in; it must "
            "pass both.",
        ),
        (
            lambda documents: same(documents) ^ causal(documents),
            "the two masks are joined by exclusive or; a key must pass both: &.",
        ),
        (
            lambda documents: same(documents) & causal(documents).mT,
            "each token sees itself and what comes after it: the causal mask is the wrong way up.",
        ),
        (
            lambda documents: packed(documents).tril(diagonal=-1),
            "a token does not see itself, and the first token of a document sees nothing: its "
            "own position belongs to it.",
        ),
        (
            lambda documents: ~packed(documents),
            "the mask is the wrong way round: True stands at the keys to hide, and here "
            "True = may attend.",
        ),
        (
            lambda documents: ~same(documents) & causal(documents),
            "a token sees the other documents and not its own: == became !=.",
        ),
        (
            lambda documents: documents.unsqueeze(-1) >= documents.unsqueeze(-2),
            "documents are compared by <=: a token sees every document with a smaller number, and "
            "what comes after it in its own.",
        ),
        (
            lambda documents: (
                (documents.unsqueeze(-1) >= documents.unsqueeze(-2)) & causal(documents)
            ),
            "documents are compared by <=: a token sees the documents with a smaller number.",
        ),
        (
            lambda documents: (
                ((documents.unsqueeze(-1) - documents.unsqueeze(-2)).abs() <= 1) & causal(documents)
            ),
            "a token sees the neighbouring document, too: the numbers must be equal.",
        ),
        (
            lambda documents: (
                (documents.unsqueeze(-1) <= documents.unsqueeze(-2)) & causal(documents)
            ),
            "documents are compared by >=: a token sees the documents with a larger number.",
        ),
        (
            lambda documents: same(documents).tril(1),
            "the token after it is seen, too: the causal mask reaches one too far.",
        ),
        *(
            (
                lambda documents, shift=shift: (
                    packed(documents) & (documents != 0).unsqueeze(shift)
                ),
                "document 0 is taken for padding; it is a document like any other.",
            )
            for shift in (-1, -2)
        ),
        (
            lambda documents: packed(documents) & (documents == 0).unsqueeze(-2),
            "only document 0 is seen; each token sees its own.",
        ),
        *(
            (
                lambda documents, cut=cut: _blocks_by_number(documents, cut),
                "the documents are laid out by their numbers; they stand in any order in a row.",
            )
            for cut in (torch.Tensor.tril, torch.Tensor.bool)
        ),
        (
            lambda documents: (documents.unsqueeze(-1) == torch.arange(documents.shape[1])).tril(),
            "a document's number is compared with positions; compare it with those of the keys.",
        ),
        (
            lambda documents: packed(documents) & ((documents == 0) | (documents == 1))[:, None],
            "only the documents 0 and 1 are seen; a document may have any number.",
        ),
        (
            lambda documents: packed(documents).triu(-1),
            "a token sees itself and one before it; it sees all before it in its document.",
        ),
        (
            lambda documents: (documents.unsqueeze(1) == documents.unsqueeze(0)).tril(),
            "the rows of the batch are compared with each other; compare each row with itself, "
            "documents[:, :, None] == documents[:, None, :].",
        ),
        (
            lambda documents: (documents == documents).tril(),
            "every token is compared with itself alone: one of the two needs an axis of its own.",
        ),
        (
            lambda documents: (
                (
                    documents.unsqueeze(-1) * documents.unsqueeze(-2)
                    == documents.unsqueeze(-1).square()
                )
                & causal(documents)
            ),
            "numbers are multiplied instead of compared, and 0 times anything is 0: use ==.",
        ),
        *(
            (
                lambda documents, reach=reach: packed(documents).triu(-reach),
                "a token sees a few before it; it sees all before it in its document.",
            )
            for reach in (2, 3)
        ),
    ]
    cases = [
        (torch.tensor([[0, 0, 0, 1, 1]]),),
        (torch.tensor([[0, 1, 1, 1], [0, 0, 1, 1]]),),
        (torch.tensor([[7, 7, 2, 2, 2, 4]]),),
        (torch.tensor([[3], [5], [3]]),),
        (torch.tensor([[9, 8, 7], [4, 4, 4]]),),
        (torch.tensor([[6, 6, 6, 6, 6, 0, 0]]),),
    ]
    return grade(answer, packed, cases, mistakes, axes=["query", "key"])


def _blocks_by_number(documents: Tensor, cut: Callable[[Tensor], Tensor]) -> Tensor:
    counts = [row.unique(return_counts=True)[1].tolist() for row in documents]
    blocks = [[cut(torch.ones(count, count)) for count in row] for row in counts]
    return torch.stack([torch.block_diag(*row) for row in blocks]).bool()  # type: ignore[no-untyped-call]


quiz = Quiz(
    Choice(
        "On texts that it has never seen, a model predicts the next token better than anyone "
        "can who knows only the past. Why?",
        [
            "It has learned its training texts by heart.",
            "It sees the token that it is to predict.",
            "It is large, and was trained for a long time.",
        ],
        "b",
        {
            "a": "these texts are new to it, so there is nothing to remember.",
            "b": "no other explanation is left: look for a causal mask that is missing or leaks.",
            "c": "size and training lead to the best possible loss, but never below it.",
        },
    ),
    Number(
        "A query scores three keys with ln 2, 0 and ln 5. A mask hides the third. What is the "
        "weight of the first?",
        2 / 3,
        tolerance=0.005,
        because="the exponentials are 2 and 1, the third is 0, and 2/3 = 0.667.",
        mistakes=[
            (
                0.25,
                "the hidden 5 is still in the sum: it must go before the softmax, not after.",
            ),
            (0.5, "a hidden score becomes −∞, not 0: e to the power of 0 is 1."),
            (1 / 3, "that is the weight of the second key."),
            (2, "that is the exponential; divide it by the sum of those that are left."),
            (0.693, "that is the score, ln 2; softmax is still to come."),
        ],
    ),
    Choice(
        "Your mask is True at the real keys. You hand it to `nn.MultiheadAttention` as "
        "`key_padding_mask`. What happens?",
        [
            "The padding gets no weight, as it should.",
            "PyTorch raises an error.",
            "Only the padding gets weight.",
        ],
        "c",
        {
            "a": "True means may attend in this book and in `F.scaled_dot_product_attention`; "
            "this layer means the opposite.",
            "b": "shape and type are right, so nothing complains.",
            "c": "this layer ignores where its mask is True, and says nothing. Try two equal keys.",
        },
    ),
)


def _scores_and_masks() -> list[tuple[Tensor, Tensor]]:
    """Return scores with masks that broadcast to them: empty rows, NaN, 900 and very low rows."""
    normal, double = draws(11), draws(12, torch.float64)
    inf, nan = torch.inf, torch.nan
    spoiled = normal(2, 3, 5)
    spoiled[..., 3], spoiled[0, 0, 4] = nan, inf
    low = torch.tensor([[-3e30, -3e30, 5.0], [0.0, 1.0, 900.0]])
    three_of_five = torch.arange(5) < 3
    some = torch.arange(7) % 3 != draws(13)(2, 3, 5, 1).sign().long() + 1
    return [
        (torch.tensor([[1.0, 0.0, 2.0]]), torch.tensor([[True, True, False]])),
        (torch.tensor([[1.0, 2.0], [0.0, 3.0]]), torch.tensor([[False, False], [True, False]])),
        (torch.zeros(2, 3), torch.zeros(3, dtype=torch.bool)),
        (spoiled, three_of_five),
        (low, torch.tensor([[True, True, False], [True, True, False]])),
        (low.double() * 1e200, torch.tensor([[True, True, False], [False, False, False]])),
        (torch.tensor([[900.0, 0.0, 900.0], [900.0, 899.0, 0.0]]), masking.causal_mask(2, 3)),
        (normal(3, 5, 2), masking.length_mask(torch.tensor([2, 0, 1]), 2)),
        (normal(2, 3, 5, 7), some),
        (double(2, 5, 5), masking.causal_mask(5)),
        (normal(1, 7, 3), torch.ones(1, 1, 3, dtype=torch.bool)),
    ]
