"""Graders for the exercises of the chapter that trains the reader.

Examples
--------
>>> loss_of_a_guess(13)
Not yet: 13 is the number of words; the loss is the logarithm of it.
>>> head_that_relays("a").passed
False
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number, Quiz

__all__ = [
    "head_that_relays",
    "held_out_sentences",
    "loss_of_a_guess",
    "pointing_loss",
    "quiz",
    "without_columns",
]

loss_of_a_guess = Number(
    "The loss of a reader that gives each of 13 words the same weight",
    2.565,
    tolerance=0.006,
    because="the word meant has the weight 1/13, and −ln(1/13) = ln 13 = 2.565.",
    mistakes=[
        (13, "13 is the number of words; the loss is the logarithm of it."),
        (-2.565, "the loss is minus the logarithm of a weight below 1: it is positive."),
        (1 / 13, "1/13 is the weight; the loss is minus its logarithm.", 0.004),
        (3.700, "that is the logarithm to base 2; the loss takes the natural one."),
        (1.114, "that is the logarithm to base 10; the loss takes the natural one."),
        (2.639, "that is ln 14; there are 13 words in all."),
        (12 / 13, "that is the weight that goes elsewhere; the loss is minus a logarithm.", 0.004),
        (2.485, "that is ln 12; the place before the sentence counts, too."),
    ],
)

head_that_relays = Choice(
    "You exchange what one head brings to one word. In which case did news reach “it” by a relay?",
    [
        "layer 1 at “it” turns the answer, layer 2 at “it” does not",
        "layer 1 at “because” turns the answer, layer 1 at “it” does not",
        "layer 1 turns the answer nowhere",
    ],
    "b",
    {
        "a": "what “it” gathers in layer 1 comes to it directly.",
        "b": "“because” gathers it in layer 1, and “it” can only have it from there, in layer 2.",
        "c": "then the news needs no head of layer 1, or comes by several at once.",
    },
)


def pointing_loss(answer: object) -> Verdict:
    """Grade the loss of the pointing head: the mean surprise at what *it* means.

    Parameters
    ----------
    answer : callable
        ``answer(scores, it, meant)`` takes ``(batch, len, len)`` and whole numbers ``(batch,)``
        twice, and returns one number.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> pointing_loss(lambda scores, it, meant: F.cross_entropy(scores[:, 0], meant))
    Not yet: row 0 is taken in every sentence; each has its own place of it.
    """

    def row(scores: Tensor, it: Tensor) -> Tensor:
        return scores[torch.arange(len(scores)), it]  # (batch, len)

    def reference(scores: Tensor, it: Tensor, meant: Tensor) -> Tensor:
        return F.cross_entropy(row(scores, it), meant)

    def gathered(rows: Tensor, meant: Tensor) -> Tensor:
        return rows.gather(-1, meant.unsqueeze(-1)).squeeze(-1)

    def hot(scores: Tensor, meant: Tensor) -> Tensor:
        return F.one_hot(meant, scores.shape[-1]).to(scores.dtype)

    mistakes: Named = [
        (
            lambda scores, it, meant: F.cross_entropy(scores[:, 0], meant),
            "row 0 is taken in every sentence; each has its own place of it.",
        ),
        (
            lambda scores, it, meant: F.cross_entropy(row(scores.mT, it), meant),
            "the column of it is taken, who looks at it; its row is where it looks.",
        ),
        (
            lambda scores, it, meant: F.cross_entropy(row(scores, meant), it),
            "it and meant are swapped: it asks, and meant is the right answer.",
        ),
        (
            lambda scores, it, meant: F.cross_entropy(row(scores, it), meant, reduction="sum"),
            "that is the sum over the batch; take the mean.",
        ),
        (
            lambda scores, it, meant: F.cross_entropy(row(scores, it), meant, reduction="none"),
            "that is one number for each sentence; take their mean.",
        ),
        (
            lambda scores, it, meant: F.cross_entropy(row(scores, it).softmax(-1), meant),
            "softmax is taken twice: cross_entropy wants scores, not weights.",
        ),
        (
            lambda scores, it, meant: -gathered(row(scores, it).softmax(-1), meant).mean(),
            "that is minus the mean weight; the logarithm is missing.",
        ),
        (
            lambda scores, it, meant: -gathered(row(scores, it), meant).mean(),
            "that is minus the mean score; softmax is missing, and its logarithm.",
        ),
        (
            lambda scores, it, meant: -gathered(row(scores, it).softmax(-1), meant).mean().log(),
            "that is the logarithm of the mean weight; take the mean of the logarithms.",
        ),
        (
            lambda scores, it, meant: F.cross_entropy(
                scores.flatten(0, 1), meant.repeat_interleave(scores.shape[1])
            ),
            "all words are asked for what it means; only the row of it counts.",
        ),
        (
            lambda scores, it, meant: -gathered(row(scores.log_softmax(-2), it), meant).mean(),
            "softmax runs over the queries (dim=-2). Keys lie along the last axis: dim=-1.",
        ),
        (
            lambda scores, it, meant: -gathered(row(scores.log_softmax(0), it), meant).mean(),
            "softmax runs over the batch (dim=0). Keys lie along the last axis: dim=-1.",
        ),
        (
            lambda scores, it, meant: (
                -gathered(row(scores.flatten(1).log_softmax(-1).view_as(scores), it), meant).mean()
            ),
            "one softmax is taken over the whole table of a sentence; each row has its own.",
        ),
        *(
            (
                lambda scores, it, meant, weights=weights: (
                    -gathered(weights(row(scores, it)).log(), meant).mean()
                ),
                "e to the power of a large score is infinity, and the logarithm of 0 is, too: "
                "leave both to cross_entropy or log_softmax.",
            )
            for weights in (
                lambda rows: rows.exp() / rows.exp().sum(-1, keepdim=True),
                lambda rows: rows.softmax(-1),
            )
        ),
        *(
            (
                lambda scores, it, meant, little=little: (
                    -gathered((row(scores, it).softmax(-1) + little).log(), meant).mean()
                ),
                "something is added to the weights before their logarithm; log_softmax needs it "
                "nowhere.",
            )
            for little in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-9, 1e-12)
        ),
        (
            lambda scores, it, meant: reference(scores, it, meant) / torch.tensor(2.0).log(),
            "that is in bits; the loss takes the natural logarithm.",
        ),
        (
            lambda scores, it, meant: (row(scores, it).argmax(-1) == meant).double().mean(),
            "that is the share of right answers, which has no slope to follow.",
        ),
        (
            lambda scores, it, meant: (row(scores, it).argmax(-1) != meant).double().mean(),
            "that is the share of wrong answers, which has no slope to follow.",
        ),
        (
            lambda scores, it, meant: F.mse_loss(row(scores, it).softmax(-1), hot(scores, meant)),
            "that is the squared error of the weights; the loss is the mean surprise.",
        ),
        (
            lambda scores, it, meant: F.binary_cross_entropy_with_logits(
                row(scores, it), hot(scores, meant)
            ),
            "every word is judged alone, as by a sigmoid; softmax shares one weight among them.",
        ),
        *(
            (
                wrong,
                "every sentence is asked at all the places of it: scores[torch.arange(batch), it] "
                "takes one row from each.",
            )
            for wrong in (
                lambda scores, it, meant: F.cross_entropy(scores[:, it], meant),
                lambda scores, it, meant: F.cross_entropy(scores[it], meant),
                lambda scores, it, meant: F.cross_entropy(
                    scores[:, it].flatten(0, 1), meant.repeat(len(it))
                ),
            )
        ),
        (
            lambda scores, it, meant: gathered(row(scores, it).softmax(-1), meant).mean(),
            "that is the mean weight of the right word; the loss is minus its logarithm.",
        ),
        (
            lambda scores, it, meant: 1 - gathered(row(scores, it).softmax(-1), meant).mean(),
            "that is the weight that goes elsewhere; the loss is minus a logarithm.",
        ),
        *(
            (
                lambda scores, it, meant, part=part: F.cross_entropy(
                    row(scores, it), meant, label_smoothing=part
                ),
                "label smoothing gives wrong words a share of the target; here it has none.",
            )
            for part in (0.05, 0.1, 0.2)
        ),
        (
            lambda scores, it, meant: reference(scores, it - 1, meant),
            "the row before it is taken; places count from 0.",
        ),
    ]
    cases = [
        (torch.tensor([[[0.0, 1.0], [2.0, 5.0]]]), torch.tensor([1]), torch.tensor([0])),
    ]
    for seed, (batch, length) in enumerate([(2, 5), (7, 3), (3, 11)]):
        normal = draws(70 + seed, torch.float64 if seed == 1 else torch.float32)
        it = normal(batch, length).argmax(-1)
        meant = normal(batch, length).argmax(-1)
        cases.append((3 * normal(batch, length, length), it, meant))
    cases.append((100 * draws(74)(2, 4, 4), torch.tensor([3, 0]), torch.tensor([1, 2])))
    return grade(answer, reference, cases, mistakes)


def held_out_sentences(answer: object) -> Verdict:
    """Grade the compositional split: a sentence is tested on if all its pairs are held out.

    Parameters
    ----------
    answer : callable
        ``answer(held_out, nouns, adjective)`` takes booleans ``(all_nouns, all_adjectives)``,
        the numbers of each sentence's nouns ``(sentences, nouns)`` and of its adjective
        ``(sentences,)``, and returns booleans ``(sentences,)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> held_out_sentences(lambda table, nouns, adjective: table[nouns, adjective[:, None]].any(-1))
    Not yet: one pair held out is not enough: the sentence's other pair was trained on.
    """

    def pairs(held_out: Tensor, nouns: Tensor, adjective: Tensor) -> Tensor:
        return held_out[nouns, adjective.unsqueeze(-1)]  # (sentences, nouns)

    mistakes: Named = [
        (
            lambda held_out, nouns, adjective: pairs(held_out, nouns, adjective).any(-1),
            "one pair held out is not enough: the sentence's other pair was trained on.",
        ),
        (
            lambda held_out, nouns, adjective: pairs(held_out, nouns, adjective)[:, 0],
            "only the first noun is looked at; each noun makes a pair with the adjective.",
        ),
        (
            lambda held_out, nouns, adjective: pairs(held_out, nouns, adjective)[:, -1],
            "only the last noun is looked at; each noun makes a pair with the adjective.",
        ),
        (
            lambda held_out, nouns, adjective: ~pairs(held_out, nouns, adjective).any(-1),
            "these are the sentences to learn from: none of their pairs is held out.",
        ),
        (
            lambda held_out, nouns, adjective: ~pairs(held_out, nouns, adjective).all(-1),
            "these are all the others; True belongs to the sentences that are tested.",
        ),
        (
            pairs,
            "that is one answer for each pair; a sentence needs one for all: all(dim=-1).",
        ),
        (
            lambda held_out, nouns, adjective: held_out[nouns].any(-1).all(-1),
            "the adjective is not looked at; a pair is a noun with its adjective.",
        ),
        (
            lambda held_out, nouns, adjective: held_out[:, adjective].any(0),
            "the nouns are not looked at; a pair is a noun with its adjective.",
        ),
        (
            lambda held_out, nouns, adjective: pairs(held_out, nouns, adjective).sum(-1),
            "that is how many pairs are held out; are they all?",
        ),
        *(
            (
                lambda held_out, nouns, adjective, of_rows=of_rows: of_rows(held_out[nouns]),
                "the adjective is not looked at; a pair is a noun with its adjective.",
            )
            for of_rows in (
                lambda rows: rows.all(-1).all(-1),
                lambda rows: rows.any(-1).any(-1),
                lambda rows: rows[..., 0].all(-1),
            )
        ),
        *(
            (
                lambda held_out, nouns, adjective, few=few: few(
                    pairs(held_out, nouns, adjective).sum(-1)
                ),
                f"{what} is not all of them: a sentence may have any number of nouns.",
            )
            for few, what in (
                (lambda count: count == 1, "one pair"),
                (lambda count: count == 2, "two pairs"),
                (lambda count: count % 2 == 1, "an odd number of pairs"),
            )
        ),
        (
            lambda held_out, nouns, adjective: (
                pairs(held_out, nouns, adjective).any(-1)
                & ~pairs(held_out, nouns, adjective).all(-1)
            ),
            "these are the sentences with some of their pairs held out; all must be.",
        ),
        (
            lambda held_out, nouns, adjective: held_out[:, adjective].all(0),
            "the nouns are not looked at; a pair is a noun with its adjective.",
        ),
        (
            lambda held_out, nouns, adjective: held_out[
                nouns, adjective[: nouns.shape[1]].expand_as(nouns)
            ].all(-1),
            "the adjectives of the first sentences are taken for all: adjective[:, None] gives "
            "each sentence its own.",
        ),
        (
            lambda held_out, nouns, adjective: held_out[
                adjective.unsqueeze(-1).clamp(max=len(held_out) - 1),
                nouns.clamp(max=held_out.shape[1] - 1),
            ].all(-1),
            "the table's rows are nouns, its columns adjectives: they have changed places.",
        ),
        (
            lambda held_out, nouns, adjective: (
                pairs(held_out, nouns, adjective).double().mean(-1) > 0.5
            ),
            "most of the pairs is not all of them: one that was trained on is enough.",
        ),
        (
            lambda held_out, nouns, adjective: pairs(held_out, nouns[:, :2], adjective).all(-1),
            "only the first two nouns are looked at; a sentence may have more.",
        ),
        (
            lambda held_out, nouns, adjective: held_out[nouns, adjective].all(-1),
            "nouns and adjectives do not line up: adjective[:, None] gives each sentence a row.",
        ),
        (
            lambda held_out, nouns, adjective: held_out[adjective.unsqueeze(-1), nouns].all(-1),
            "the table's rows are nouns, its columns adjectives: they have changed places.",
        ),
        *(
            (
                lambda held_out, nouns, adjective, few=few: few(pairs(held_out, nouns, adjective)),
                "all sentences are judged together; each has its own answer: all(dim=-1).",
            )
            for few in (torch.all, lambda found: found.all(0))
        ),
        (
            lambda held_out, nouns, adjective: torch.ones(len(nouns), dtype=torch.bool),
            "every sentence is tested on.",
        ),
        (
            lambda held_out, nouns, adjective: torch.zeros(len(nouns), dtype=torch.bool),
            "no sentence is tested on.",
        ),
    ]
    cases = [
        (
            torch.tensor([[True, False, True], [False] * 3, [True, False, True]]),
            torch.tensor([[0, 2], [0, 1], [1, 1]]),
            torch.tensor([0, 1, 2]),
        )
    ]
    for seed, (all_nouns, all_adjectives, sentences, nouns) in enumerate(
        [(5, 7, 11, 2), (3, 13, 8, 3), (11, 4, 17, 2)]
    ):
        normal = draws(80 + seed)
        cases.append(
            (
                normal(all_nouns, all_adjectives) > -0.5,
                normal(sentences, nouns, all_nouns).argmax(-1),
                normal(sentences, all_adjectives).argmax(-1),
            )
        )
    return grade(answer, lambda held_out, nouns, adjective: pairs(
        held_out, nouns, adjective).all(-1), cases, mistakes, axes=["sentence"])  # fmt: skip


def without_columns(answer: object) -> Verdict:
    """Grade an ablation: the output matrix with one head's columns set to 0.

    Parameters
    ----------
    answer : callable
        ``answer(weight, num_heads, head)`` takes ``W_o.weight``, ``(d_model, d_model)``, and
        returns a copy in which the head brings nothing.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> without_columns(lambda weight, num_heads, head: weight.clone())
    Not yet: nothing is set to 0.
    """

    def zeroed(weight: Tensor, num_heads: int, head: int, axis: int, stride: bool) -> Tensor:
        d_k = weight.shape[axis] // num_heads
        own = torch.arange(weight.shape[axis])
        own = own % num_heads == head if stride else own // d_k == head
        return weight.masked_fill(own if axis else own.unsqueeze(-1), 0)

    def reference(weight: Tensor, num_heads: int, head: int) -> Tensor:
        return zeroed(weight, num_heads, head, 1, False)

    def changed(columns: Callable[[int, int, int], tuple[int, int]]) -> Callable[..., Tensor]:
        def without(weight: Tensor, num_heads: int, head: int) -> Tensor:
            first, end = columns(weight.shape[1], num_heads, head)
            place = torch.arange(weight.shape[1])
            return weight.masked_fill((place >= first) & (place < end), 0)

        return without

    def one_column(weight: Tensor, num_heads: int, head: int) -> Tensor:
        return weight.index_fill(1, torch.tensor([head]), 0)

    def first_rows(weight: Tensor, num_heads: int, head: int) -> Tensor:
        return weight.index_fill(0, torch.tensor([head]), 0)

    mistakes: Named = [
        (lambda weight, num_heads, head: weight.clone(), "nothing is set to 0."),
        (
            lambda weight, num_heads, head: zeroed(weight, num_heads, head, 0, False),
            "the head's rows are set to 0. A Linear multiplies by columns: what comes from a head "
            "meets its columns.",
        ),
        (
            lambda weight, num_heads, head: zeroed(weight, num_heads, head, 1, True),
            "every num_heads-th column is taken; a head's columns stand side by side.",
        ),
        (
            lambda weight, num_heads, head: weight.index_fill(
                1, torch.arange(head, weight.shape[1], weight.shape[1] // num_heads), 0
            ),
            "every d_k-th column is taken; a head's columns stand side by side.",
        ),
        (one_column, "one column is set to 0; a head has d_model / num_heads of them."),
        (first_rows, "one row is set to 0; a head has d_model / num_heads columns."),
        (
            lambda weight, num_heads, head: weight - reference(weight, num_heads, head),
            "all other heads are taken away, and this one is kept.",
        ),
        (
            lambda weight, num_heads, head: reference(weight, num_heads, (head + 1) % num_heads),
            "the head after it is taken away: heads are counted from 0.",
        ),
        (
            lambda weight, num_heads, head: reference(weight, num_heads, (head - 1) % num_heads),
            "the head before it is taken away: heads are counted from 0.",
        ),
        (
            lambda weight, num_heads, head: torch.zeros_like(weight),
            "all heads are taken away.",
        ),
        (
            lambda weight, num_heads, head: weight[
                :, reference(torch.ones_like(weight), num_heads, head)[0] != 0
            ],
            "the columns are cut out; set them to 0, so that the shape stays.",
        ),
        *(
            (changed(columns), sentence)
            for columns, sentence in (
                (
                    lambda width, n, head: (0, (head + 1) * width // n),
                    "all heads up to it are taken away; it is one.",
                ),
                (
                    lambda width, n, head: (head * width // n, width),
                    "all heads from it on are taken away; it is one.",
                ),
                (
                    lambda width, n, head: (head * n, (head + 1) * n),
                    "num_heads columns are taken away; a head has d_model / num_heads of them.",
                ),
                (
                    lambda width, n, head: (head, head + width // n),
                    "the columns start at head; they start at head * d_k.",
                ),
                (
                    lambda width, n, head: (head * width // n, (head + 1) * width // n + 1),
                    "one column too many is taken away: a slice ends before its last number.",
                ),
                (
                    lambda width, n, head: (head * width // n, (head + 1) * width // n - 1),
                    "the head's last column is left: a slice ends before its last number.",
                ),
                (
                    lambda width, n, head: ((n - 1 - head) * width // n, (n - head) * width // n),
                    "the heads are counted from the last; the first columns are head 0's.",
                ),
            )
        ),
        (
            lambda weight, num_heads, head: weight.where(
                (zeroed(weight, num_heads, head, 0, False) != 0)
                | (reference(weight, num_heads, head) != 0),
                0,
            ),
            "one block on the diagonal is set to 0; a head reaches every row.",
        ),
        (
            lambda weight, num_heads, head: zeroed(
                reference(weight, num_heads, head), num_heads, head, 0, False
            ),
            "rows are set to 0 as well; what comes from a head meets its columns alone.",
        ),
        (
            lambda weight, num_heads, head: (weight + reference(weight, num_heads, head)) / 2,
            "the columns are halved; set them to 0.",
        ),
        (
            lambda weight, num_heads, head: (
                reference(weight, num_heads, head) * num_heads / (num_heads - 1)
            ),
            "the other heads are made larger in return; they stay as they are.",
        ),
        (
            lambda weight, num_heads, head: weight.chunk(num_heads, dim=1)[head],
            "that is what the head brings; it is to be taken away from the matrix.",
        ),
        (
            lambda weight, num_heads, head: torch.cat(
                [
                    part.mean().expand_as(part) if number == head else part
                    for number, part in enumerate(weight.chunk(num_heads, dim=1))
                ],
                dim=1,
            ),
            "the columns are set to their mean; set them to 0.",
        ),
        *(
            (
                lambda weight, num_heads, head, fill=fill: weight.where(
                    reference(weight, num_heads, head) == weight, fill
                ),
                f"the columns are set to {what}; set them to 0.",
            )
            for fill, what in ((1.0, "1"), (-torch.inf, "−infinity"))
        ),
    ]
    cases = [(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 2, 1)]
    for seed, (d_model, num_heads, head) in enumerate([(6, 3, 0), (15, 5, 3), (28, 4, 2)]):
        normal = draws(90 + seed, torch.float64 if seed == 1 else torch.float32)
        cases.append((normal(d_model, d_model), num_heads, head))
    return grade(answer, reference, cases, mistakes, axes=["row", "column"])


quiz = Quiz(
    Choice(
        "Why are whole pairs of a noun and an adjective held out, and not sentences by chance?",
        [
            "so that the test has words which the reader has never seen",
            "so that a reader that only remembers pairs cannot pass the test",
            "so that every frame is tested equally often",
        ],
        "b",
        {
            "a": "every word of the test was in the training. It is the pairs that were not.",
            "b": "with sentences held out by chance, “wide” and “street” would have been seen "
            "together, in another sentence.",
            "c": "how often a frame is tested has nothing to do with what has been seen of it.",
        },
    ),
    Number(
        "“It” gives the right word the weight .5, and all others together .5. What is the loss "
        "of this sentence, to two decimals?",
        0.69,
        tolerance=0.01,
        because="−ln .5 = .693, however the other half is spread: the loss sees one weight only.",
        mistakes=[
            (0.5, "that is the weight. The loss is minus its logarithm."),
            (0.3, "that is the logarithm to the base 10. Take the natural one."),
            (1, "that is the logarithm to the base 2. Take the natural one."),
            (-0.69, "the loss is minus the logarithm: it is positive."),
            (2.56, "that is ln 13, the loss if 13 words share the weight equally."),
        ],
    ),
    Choice(
        "You take a head away, and the share of right answers stays. What follows?",
        [
            "the head does nothing",
            "for these sentences it is not needed, as long as the other heads are there",
            "all heads that pass this test can be taken away together",
        ],
        "b",
        {
            "a": "it may do what another head does as well, and that one is still there.",
            "b": "that is what was tried. Other sentences were not, and no other head was missing.",
            "c": "each was tried alone. Two may stand in for each other, until both are gone.",
        },
    ),
)
