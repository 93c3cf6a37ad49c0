"""The graders of "Learn where to look": right answers in many styles, wrong ones and why."""

import torch
import torch.nn.functional as F

from attention_lib import masked_softmax, scaled_dot_product_attention
from attention_lib.checks import learned_alignment as check
from tests.checks.tables import judged

# Exact match.


def right(scores, digits):
    return scores.argmax(dim=-1) == digits


def exact(scores, digits):
    return right(scores, digits).all(dim=-1).double().mean()


def exact_by_sum(scores, digits):
    return (right(scores, digits).sum(dim=-1) == digits.shape[1]).float().mean()


def exact_by_loop(scores, digits):
    count = 0
    for date, wanted in zip(scores, digits, strict=True):
        count += [int(row.argmax()) for row in date] == wanted.tolist()
    return count / len(digits)


def exact_by_product(scores, digits):
    return right(scores, digits).double().prod(dim=1).mean()


def exact_by_counting_mistakes(scores, digits):
    return 1 - (scores.max(-1).indices != digits).any(1).sum() / len(digits)


def odds(scores, digits):
    return scores.softmax(-1).gather(-1, digits[..., None])[..., 0].double()


EXACT = [
    (lambda s, d: right(s, d).double().mean(), "share of digits"),
    (lambda s, d: right(s, d).any(-1).double().mean(), "one right digit is not enough"),
    (lambda s, d: right(s, d).all(0).double().mean(), "for each place"),
    (lambda s, d: right(s, d).double().mean(0).prod(), "multiplied"),
    (lambda s, d: right(s, d).all(-1).double(), "take the mean"),
    (lambda s, d: right(s, d).all(-1).sum().double(), "how many dates"),
    (lambda s, d: 1 - exact(s, d), "dates that are wrong"),
    (lambda s, d: exact(-s, d), "no date comes out right"),
    (lambda s, d: exact(s[..., 1:], d), "no date comes out right"),
    (lambda s, d: exact(s[:, :7], d[:, :7]), "the last digit is left out"),
    (lambda s, d: exact(s[:, 1:], d[:, 1:]), "the first digit is left out"),
    (lambda s, d: exact(s[:, :4], d[:, :4]), "only the year"),
    (lambda s, d: odds(s, d).prod(-1).mean(), "mean probability of the right date"),
    (lambda s, d: odds(s, d).mean(), "mean probability of the right digit"),
    (lambda s, d: right(s, d).all(-1), "True and False come back"),
    (lambda s, d: (s == d).all(), "Error"),
    (lambda s, d: None, "Write it"),
]


# Cross-attention.


def look(queries, states, W_k, W_v, valid_lens):
    keys, values = states @ W_k.mT, states @ W_v.mT
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    weights = masked_softmax(scores, valid_lens)
    return weights @ values, weights


def look_by_library(queries, states, W_k, W_v, valid_lens):
    queries = queries.expand(len(states), -1, -1)
    return scaled_dot_product_attention(
        queries, F.linear(states, W_k), F.linear(states, W_v), valid_lens
    )


def look_by_einsum(queries, states, W_k, W_v, valid_lens):
    scores = torch.einsum("qd,dm,bkm->bqk", queries, W_k, states) / queries.shape[-1] ** 0.5
    padding = torch.arange(states.shape[1]) >= valid_lens[:, None, None]
    weights = scores.masked_fill(padding, float("-inf")).softmax(-1)
    return torch.einsum("bqk,bkm,vm->bqv", weights, states, W_v), weights


def look_one_by_one(queries, states, W_k, W_v, valid_lens):
    outputs, weights = [], torch.zeros(len(states), len(queries), states.shape[1]).to(states)
    for i, (state, length) in enumerate(zip(states, valid_lens.tolist(), strict=True)):
        state = state[:length]
        weights[i, :, :length] = (queries @ (state @ W_k.T).T / W_k.shape[0] ** 0.5).softmax(-1)
        outputs.append(weights[i, :, :length] @ state @ W_v.T)
    return [torch.stack(outputs), weights]


def with_lengths(change):
    return lambda q, s, k, v, n: look(q, s, k, v, change(n, s.shape[1]))


def with_weights(change):
    def answer(queries, states, W_k, W_v, valid_lens):
        weights = change(queries @ (states @ W_k.mT).mT / len(W_k) ** 0.5, valid_lens)
        return weights @ (states @ W_v.mT), weights

    return answer


def valid(scores, lens):
    return torch.arange(scores.shape[-1]) < lens[:, None, None]


LOOK = [
    (lambda *a: look(*a)[0], "the output alone"),
    (lambda *a: look(*a)[::-1], "wrong order"),
    (with_weights(lambda s, n: masked_softmax(s * 1.0, n) * 0 + 1 / s.shape[-1]), "Given "),
    (lambda q, s, k, v, n: look(q * len(k) ** 0.5, s, k, v, n), "not divided"),
    (lambda q, s, k, v, n: look(q / len(k) ** 0.5, s, k, v, n), "divided by d_k, not"),
    (lambda q, s, k, v, n: look(q * (len(k) / k.shape[1]) ** 0.5, s, k, v, n), "root of d_model"),
    (with_lengths(lambda n, length: 0 * n + length), "padding gets weight"),
    (with_lengths(lambda n, length: n + 1), "one position of the padding"),
    (with_lengths(lambda n, length: n - 1), "the last character is masked"),
    (with_weights(lambda s, n: (s * valid(s, n)).softmax(-1)), "e to the 0 is 1"),
    (with_weights(lambda s, n: s.softmax(-1) * valid(s, n)), "after softmax"),
    (
        with_weights(lambda s, n: s.masked_fill(~valid(s, n), -torch.inf).softmax(1).nan_to_num()),
        "over the queries",
    ),
    (lambda q, s, k, v, n: (look(q, s, k, v, n)[1] @ s, look(q, s, k, v, n)[1]), "the states"),
    (lambda q, s, k, v, n: look(q, s, k, k, n), "the keys are summed"),
    (lambda q, s, k, v, n: look(-q, s, k, v, n), "minus sign"),
    (lambda q, s, k, v, n: look(q, s[:1], k, v, n[:1]), "only the first of the batch"),
    (lambda q, s, k, v, n: look(q, s, v, k, n), "W_k and W_v have changed places"),
    (lambda q, s, k, v, n: look(q, s, k.T, v, n), "Error"),
    (lambda q, s, k, v, n: look(q @ k, s, k, v, n), "Error"),
]


# A hidden key.


def hidden(weights, key):
    left = weights.clone()
    left[..., key] = 0
    return left / left.sum(dim=-1, keepdim=True)


def hidden_by_share(weights, key):
    one = weights[..., key, None]
    return torch.where(torch.arange(weights.shape[-1]) == key, 0.0, weights / (1 - one))


def hidden_by_softmax(weights, key):
    scores = weights.log()
    scores[..., key] = float("-inf")
    return scores.softmax(dim=-1)


def hidden_by_mask(weights, key):
    return masked_softmax(weights.log(), mask=torch.arange(weights.shape[-1]) != key)


def hidden_by_parts(weights, key):
    before, one, after = weights.split([key, 1, weights.shape[-1] - key - 1], dim=-1)
    return torch.cat([before, torch.zeros_like(one), after], dim=-1) / (1 - one)


def in_place(weights, key):
    weights[..., key] = 0
    return weights / weights.sum(-1, keepdim=True)


def put(weights, key, value):
    return weights.index_fill(-1, torch.tensor([key]), value)


def to_the_largest(weights, key):
    left = put(weights, key, 0)
    return left + weights[..., key, None] * F.one_hot(left.argmax(-1), weights.shape[-1])


HIDDEN = [
    (lambda w, k: w.clone(), "nothing is hidden"),
    (lambda w, k: put(w, k, 0), "do not sum to 1"),
    (lambda w, k: put(w, k, 0).softmax(-1), "a second softmax"),
    (lambda w, k: put(w, k, -torch.inf).softmax(-1), "softmax is taken of weights"),
    (lambda w, k: put(w + w[..., k, None] / (w.shape[-1] - 1), k, 0), "in equal parts"),
    (
        lambda w, k: (
            put(w, k, 0) + w[..., k, None] * F.one_hot(put(w, k, 0).argmax(-1), w.shape[-1])
        ),
        "goes to one key",
    ),
    (lambda w, k: put(w, k, 0) / put(w, k, 0).sum(-2, keepdim=True), "the columns are divided"),
    (lambda w, k: put(w, k, 0) / put(w, k, 0).sum(), "the whole table"),
    (lambda w, k: hidden(w.mT, k).mT, "Given "),
    (lambda w, k: hidden(w, (k + 1) % w.shape[-1]), "the key after it"),
    (lambda w, k: hidden(w, k - 1), "the key before it"),
    (lambda w, k: hidden(w, k)[..., torch.arange(w.shape[-1]) != k], "cut out"),
    (lambda w, k: put(w, k, 0) / w[..., k, None], "weight that was hidden"),
    (lambda w, k: put(w, k, 0) * (1 - w[..., k, None]), "multiplied"),
    (lambda w, k: w / (1 - w[..., k, None]), "keeps a weight"),
    (in_place, "changed its input"),
    (lambda w, k: w[k], "xpected shape"),
]


test_right, test_wrong = judged(
    [
        *((check.exact_match, f) for f in (exact, exact_by_sum, exact_by_loop, exact_by_product)),
        (check.exact_match, exact_by_counting_mistakes),
        *(
            (check.cross_attention, f)
            for f in (look, look_by_library, look_by_einsum, look_one_by_one)
        ),
        *((check.without_key, f) for f in (hidden, hidden_by_share, hidden_by_softmax)),
        *((check.without_key, f) for f in (hidden_by_mask, hidden_by_parts)),
        *((check.better_score, letter) for letter in ("b", " B ")),
    ],
    [
        *((check.exact_match, *row) for row in EXACT),
        *((check.cross_attention, *row) for row in LOOK),
        *((check.without_key, *row) for row in HIDDEN),
        (check.better_score, "a", "less than the seeds"),
        (check.better_score, "c", "does not mean"),
        (check.better_score, 2, "is expected"),
    ],
)


def test_the_quiz_can_be_passed():
    assert check.quiz("b", 0.99**8, "b")
    assert not check.quiz("a", 0.99, "c")
