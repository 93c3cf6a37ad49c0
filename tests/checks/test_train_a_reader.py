"""The graders of "Train a reader": right answers in many styles, wrong ones and what they hear."""

import numpy as np
import torch
import torch.nn.functional as F

from attention_lib.checks import train_a_reader as check
from tests.checks.tables import judged

# The loss of the pointing head.


def row(scores, it):
    return scores[torch.arange(len(scores)), it]


def loss(scores, it, meant):
    return F.cross_entropy(row(scores, it), meant)


def loss_by_gather(scores, it, meant):
    index = it.view(-1, 1, 1).expand(-1, 1, scores.shape[-1])
    rows = scores.gather(1, index).squeeze(1).log_softmax(dim=-1)
    return -rows.gather(1, meant.unsqueeze(1)).mean()


def loss_by_loop(scores, it, meant):
    surprises = [
        s[i].logsumexp(0) - s[i, m] for s, i, m in zip(scores, it, meant, strict=True)
    ]  # fmt: skip
    return torch.stack(surprises).mean()


def loss_by_one_hot(scores, it, meant):
    target = F.one_hot(meant, scores.shape[-1]).to(scores.dtype)
    return -(row(scores, it).log_softmax(-1) * target).sum() / len(scores)


def loss_by_nll(scores, it, meant):
    return F.nll_loss(scores.log_softmax(-1)[torch.arange(len(it)), it], meant)


def weight(scores, it, meant):
    return row(scores, it).softmax(-1)[torch.arange(len(it)), meant]


LOSS = [
    (lambda s, i, m: F.cross_entropy(s[:, 0], m), "row 0 is taken"),
    (lambda s, i, m: F.cross_entropy(row(s.mT, i), m), "the column of it"),
    (lambda s, i, m: loss(s, m, i), "swapped"),
    (lambda s, i, m: loss(s, i, m) * len(s), "the sum over the batch"),
    (lambda s, i, m: F.cross_entropy(row(s, i), m, reduction="none"), "one number for each"),
    (lambda s, i, m: F.cross_entropy(row(s, i).softmax(-1), m), "softmax is taken twice"),
    (lambda s, i, m: -weight(s, i, m).mean(), "the logarithm is missing"),
    (lambda s, i, m: -row(s, i)[torch.arange(len(i)), m].mean(), "minus the mean score"),
    (lambda s, i, m: -weight(s, i, m).mean().log(), "logarithm of the mean weight"),
    (lambda s, i, m: F.cross_entropy(s.mT, m[:, None].expand(-1, s.shape[1])), "all words are"),
    (lambda s, i, m: -loss(s, i, m), "wrong sign"),
    (lambda s, i, m: loss(s, i, m) / np.log(2), "in bits"),
    (lambda s, i, m: (row(s, i).argmax(-1) == m).double().mean(), "no slope"),
    (lambda s, i, m: loss(s[:1], i[:1], m[:1]), "Given "),
    (lambda s, i, m: F.cross_entropy(s[:, i], m), "one row from each"),
]


# The split.


def chosen(held_out, nouns, adjective):
    return held_out[nouns, adjective.unsqueeze(-1)].all(dim=-1)


def chosen_by_loop(held_out, nouns, adjective):
    return torch.tensor(
        [
            all(bool(held_out[i, j]) for i in row)
            for row, j in zip(nouns.tolist(), adjective.tolist(), strict=True)
        ]
    )


def chosen_by_sum(held_out, nouns, adjective):
    return held_out[nouns, adjective[:, None]].sum(-1) == nouns.shape[1]


def chosen_by_columns(held_out, nouns, adjective):
    found = torch.ones(len(nouns), dtype=torch.bool)
    for noun in nouns.T:
        found = found & held_out[noun, adjective]
    return found


def chosen_by_identity(held_out, nouns, adjective):
    """An entry of a tensor is a tensor: it is never the constant True."""
    found = torch.zeros(len(nouns), dtype=torch.bool)
    for sentence, (row, j) in enumerate(zip(nouns, adjective, strict=True)):
        found[sentence] = all(held_out[i, j] is True for i in row)
    return found


SPLIT = [
    (chosen_by_identity, "no sentence is tested on"),
    (lambda h, n, a: h[n, a[:, None]].any(-1), "one pair held out is not enough"),
    (lambda h, n, a: h[n[:, 0], a], "only the first noun"),
    (lambda h, n, a: h[n[:, -1], a], "only the last noun"),
    (lambda h, n, a: ~h[n, a[:, None]].any(-1), "to learn from"),
    (lambda h, n, a: ~chosen(h, n, a), "all the others"),
    (lambda h, n, a: h[n, a[:, None]], "one answer for each pair"),
    (lambda h, n, a: h[n].any(-1).all(-1), "the adjective is not looked at"),
    (lambda h, n, a: h[:, a].any(0), "the nouns are not looked at"),
    (lambda h, n, a: h[n, a[:, None]].sum(-1), "how many pairs"),
    (lambda h, n, a: chosen(h, n, a).long(), "as numbers 0 and 1"),
    (lambda h, n, a: chosen(h, n, a).tolist(), "tensor is expected"),
    (lambda h, n, a: h[n, a].all(-1), "do not line up"),
    (lambda h, n, a: h[a[:, None], n].all(-1), "have changed places"),
]


# The ablation.


def ablated(weight, num_heads, head):
    d_k = weight.shape[1] // num_heads
    weight = weight.clone()
    weight[:, head * d_k : (head + 1) * d_k] = 0
    return weight


def ablated_by_view(weight, num_heads, head):
    parts = weight.clone().view(len(weight), num_heads, -1)
    parts[:, head] = 0
    return parts.view_as(weight)


def ablated_by_mask(weight, num_heads, head):
    own = torch.arange(weight.shape[1]) // (weight.shape[1] // num_heads) == head
    return torch.where(own, 0.0, weight)


def ablated_by_chunks(weight, num_heads, head):
    parts = weight.chunk(num_heads, dim=1)
    return torch.cat([0 * x if i == head else x for i, x in enumerate(parts)], dim=1)


def in_place(weight, num_heads, head):
    d_k = weight.shape[1] // num_heads
    weight[:, head * d_k : (head + 1) * d_k] = 0
    return weight


ABLATION = [
    (lambda w, n, h: w.clone(), "nothing is set to 0"),
    (lambda w, n, h: ablated(w.mT, n, h).mT, "rows are set to 0"),
    (lambda w, n, h: w * (torch.arange(len(w)) % n != h), "side by side"),
    (lambda w, n, h: w * (torch.arange(len(w)) != h), "one column is set to 0"),
    (lambda w, n, h: w * (torch.arange(len(w)) != h)[:, None], "one row is set to 0"),
    (lambda w, n, h: w - ablated(w, n, h), "all other heads"),
    (lambda w, n, h: ablated(w, n, (h + 1) % n), "the head after it"),
    (lambda w, n, h: ablated(w, n, (h - 1) % n), "the head before it"),
    (lambda w, n, h: 0 * w, "all heads are taken away"),
    (lambda w, n, h: w[:, torch.arange(len(w)) // (len(w) // n) != h], "cut out"),
    (in_place, "changed its input"),
    (lambda w, n, h: ablated(w, n, h).mT, "transposed"),
    (lambda w, n, h: w[:, h], "xpected shape (2, 2), got (2,)"),
    (lambda w, n, h: None, "Write it"),
]


def test_a_relay_needs_two_layers():
    assert check.head_that_relays("b")


test_right, test_wrong = judged(
    [
        *((check.pointing_loss, f) for f in (loss, loss_by_gather, loss_by_loop, loss_by_one_hot)),
        (check.pointing_loss, loss_by_nll),
        *(
            (check.held_out_sentences, f)
            for f in (chosen, chosen_by_loop, chosen_by_sum, chosen_by_columns)
        ),
        *((check.without_columns, f) for f in (ablated, ablated_by_view, ablated_by_mask)),
        (check.without_columns, ablated_by_chunks),
        *((check.loss_of_a_guess, x) for x in (2.565, 2.57, np.log(13), torch.tensor(13.0).log())),
    ],
    [
        *((check.pointing_loss, *row) for row in LOSS),
        *((check.held_out_sentences, *row) for row in SPLIT),
        *((check.without_columns, *row) for row in ABLATION),
        (check.loss_of_a_guess, 13, "number of words"),
        (check.loss_of_a_guess, -2.565, "it is positive"),
        (check.loss_of_a_guess, 1 / 13, "the weight"),
        (check.loss_of_a_guess, 3.7, "base 2"),
        (check.loss_of_a_guess, 1.114, "base 10"),
        (check.loss_of_a_guess, 2.485, "ln 12"),
        (check.loss_of_a_guess, 2.0, "too small"),
        (check.head_that_relays, "a", "directly"),
        (check.head_that_relays, "c", "no head of layer 1"),
    ],
)
