"""The graders of "The bug museum": right answers in many styles, wrong ones and what they hear."""

import numpy as np
import torch

from attention_lib import causal_mask, masked_softmax
from attention_lib.checks import bug_museum as check
from tests.checks.tables import judged

# Are the values read?


def reads(attend, queries, keys, values):
    before = attend(queries, keys, values)
    return not torch.allclose(before, attend(queries, keys, values + 1))


def reads_by_noise(attend, queries, keys, values):
    noise = torch.randn(values.shape, generator=torch.Generator().manual_seed(1))
    moved = attend(queries, keys, values + noise) - attend(queries, keys, values)
    return moved.abs().max() > 1e-4


def reads_by_zeros(attend, queries, keys, values):
    same = attend(queries, keys, values).isclose(attend(queries, keys, values * 0))
    return bool((~same).any())


def reads_by_slope(attend, queries, keys, values):
    leaf = values.clone().requires_grad_()
    output = attend(queries, keys, leaf)
    if not output.requires_grad:
        return False
    slope = torch.autograd.grad(output.sum(), leaf, allow_unused=True)[0]
    return slope is not None and bool((slope != 0).any())


def reads_by_numpy(attend, queries, keys, values):
    one, two = (attend(queries, keys, v).numpy() for v in (values, 2 * values + 1))
    return not np.allclose(one, two)


def moved(attend, before, after):
    return not torch.allclose(attend(*before), attend(*after))


def moved_at(place):
    return lambda a, q, k, v: not a(q, k, v)[place].allclose(a(q, k, v + 1)[place])


def moved_by(place):
    def test(attend, queries, keys, values):
        others = values.clone()
        others[place] += 10.0
        return moved(attend, (queries, keys, values), (queries, keys, others))

    return test


READS = [
    (lambda a, q, k, v: True, "that every attention reads"),
    (lambda a, q, k, v: False, "that no attention reads"),
    (lambda *x: not reads(*x), "swapped"),
    (lambda a, q, k, v: moved(a, (q, k, v), (q, k + 1, v)), "you change the keys"),
    (lambda a, q, k, v: moved(a, (q, k, v), (q + 1, k, v)), "you change the queries"),
    (lambda a, q, k, v: moved(a, (q, k, v), (q, k + 1, v + 1)), "the keys, too"),
    (lambda a, q, k, v: moved(a, (q, k, v), (q + 1, k + 1, v + 1)), "every attention reads"),
    (lambda a, q, k, v: moved(a, (q, k, k), (q, k + 1, k + 1)), "the keys, too"),
    (lambda a, q, k, v: not a(q, k, v).isclose(a(q, k, v + 1)).any(), "one number that stays"),
    (moved_at(-1), "only the last sample of the output"),
    (moved_at((slice(None), -1)), "only the last row of each sample of the output"),
    (moved_by((0, 0, 0)), "only the first number of the values"),
    (moved_by(-1), "only the last sample of the values"),
    (moved_by((slice(None), -1)), "only the last row of each sample of the values"),
    (lambda a, q, k, v: moved(a, (q, k, v), (q, k, v.clone())), "no attention reads"),
    (lambda a, q, k, v: a(q, k, v).shape == v.shape, "every attention reads"),
    (lambda a, q, k, v: reads(a, q, k, v).real + 0, "expected"),
    (lambda a, q, k, v: "yes", "expected"),
    (lambda a, q, k, v: v.add_(1) is None, "changed its input"),
    (lambda a, q, k, v: a(q, k), "TypeError"),
    (True, "a function is expected"),
]


# Does each sample stand alone?


def alone(attend, queries, keys, values):
    together = attend(queries, keys, values)
    parts = [attend(queries[i : i + 1], keys[i : i + 1], values[i : i + 1]) for i in range(3)]
    return torch.allclose(together, torch.cat(parts), atol=1e-5)


def alone_by_split(attend, *inputs):
    parts = [attend(*sample) for sample in zip(*(x.split(1) for x in inputs), strict=True)]
    return (torch.cat(parts) - attend(*inputs)).abs().max() < 1e-5


def alone_by_loop(attend, queries, keys, values):
    whole = attend(queries, keys, values)
    for i in range(len(queries)):
        own = attend(queries[i][None], keys[i][None], values[i][None])[0]
        if not torch.allclose(own, whole[i], atol=1e-5):
            return False
    return True


def alone_by_repeating(attend, *inputs):
    """A batch of copies of one sample gives that sample's output."""
    whole = attend(*inputs)
    copies = [attend(*(x[[i]] for x in inputs)) for i in range(len(inputs[0]))]
    return all(bool(a.isclose(b, atol=1e-5).all()) for a, b in zip(whole, copies, strict=True))


def alone_by_numpy(attend, *inputs):
    parts = [attend(*(x[i : i + 1] for x in inputs)).numpy() for i in range(len(inputs[0]))]
    return np.allclose(attend(*inputs).numpy(), np.concatenate(parts), atol=1e-5)


def only(sample):
    def test(attend, *inputs):
        own = attend(*(x[sample] for x in inputs))
        return torch.allclose(attend(*inputs)[sample], own, atol=1e-5)

    return test


def alone_at(place):
    def test(attend, *inputs):
        parts = [attend(*(x[i : i + 1] for x in inputs)) for i in range(3)]
        return torch.allclose(attend(*inputs)[place], torch.cat(parts)[place], atol=1e-5)

    return test


def others_still(change):
    """The last sample is another one; do the others stay as they were?"""

    def test(attend, *inputs):
        others = [x.clone() for x in inputs]
        for x in others:
            x[-1] = change(x[-1])
        return torch.allclose(attend(*inputs)[:-1], attend(*others)[:-1], atol=1e-5)

    return test


def shuffled(attend, *inputs):
    order = torch.tensor([2, 0, 1])
    return torch.allclose(attend(*inputs)[order], attend(*(x[order] for x in inputs)), atol=1e-5)


def loosely(attend, *inputs):
    parts = [attend(*(x[i : i + 1] for x in inputs)) for i in range(3)]
    return torch.allclose(attend(*inputs), torch.cat(parts), atol=100.0)


def one_is_enough(attend, *inputs):
    return any(only(slice(i, i + 1))(attend, *inputs) for i in range(3))


ALONE = [
    (lambda *_: True, "no mixing anywhere"),
    (lambda *_: False, "mixing everywhere"),
    (lambda *x: not alone(*x), "swapped"),
    (only(slice(0, 1)), "only the first sample"),
    (only(slice(2, 3)), "only the last sample"),
    (only(slice(0, 3)), "no mixing anywhere"),
    (only(slice(0, 2)), "two samples are given together"),
    (one_is_enough, "one sample that stays"),
    (alone_at((..., 0)), "only the first column of the output"),
    (alone_at((..., -1)), "only the last column of the output"),
    (alone_at((slice(None), -1)), "only the last row of each sample of the output"),
    (others_still(lambda x: x + 1), "you change the last sample"),
    (others_still(torch.zeros_like), "you change the last sample"),
    (others_still(lambda x: x.cos()), "you change the last sample"),
    (shuffled, "shuffled"),
    (loosely, "no mixing anywhere"),
    (lambda a, *x: a(*x).shape == x[0].shape, "no mixing anywhere"),
    (lambda a, *x: a(*x), "expected"),
    (lambda a, *x: "no", "expected"),
    (lambda a, q, k, v: alone(a, q, k), "TypeError"),
    (0.5, "a function is expected"),
]


# The induction head.


def induction(tokens):
    matches = tokens[:, None] == tokens.roll(1)
    matches[:, 0] = False
    return masked_softmax(torch.zeros(matches.shape), mask=matches & causal_mask(len(tokens)))


def induction_by_loops(tokens):
    weights = torch.zeros(len(tokens), len(tokens))
    for i in range(len(tokens)):
        found = [j for j in range(1, i + 1) if tokens[j - 1] == tokens[i]]
        for j in found:
            weights[i, j] = 1 / len(found)
    return weights


def induction_by_clamp(tokens):
    same = torch.zeros(len(tokens), len(tokens))
    same[:, 1:] = (tokens[:, None] == tokens[:-1]).float()
    same = same.tril()
    return same / same.sum(dim=-1, keepdim=True).clamp(min=1)


def induction_by_one_hot(tokens):
    what = torch.nn.functional.one_hot(tokens).double()
    before = torch.cat([torch.zeros_like(what[:1]), what[:-1]])
    scores = (what @ before.T).tril()
    return (scores / scores.sum(dim=-1, keepdim=True)).nan_to_num(0.0).float()


def induction_by_numpy(tokens):
    t = tokens.numpy()
    same = np.tril(np.pad(t[:, None] == t[None, :-1], ((0, 0), (1, 0)))).astype(np.float32)
    return torch.from_numpy(same / np.maximum(same.sum(axis=1, keepdims=True), 1))


def share(mask):
    return masked_softmax(torch.zeros(mask.shape), mask=mask)


def same(tokens):
    return (tokens[:, None] == tokens) & causal_mask(len(tokens))


def after(tokens):
    return induction(tokens) > 0


def place_before(tokens):
    return torch.ones(len(tokens), len(tokens)).tril(-1).triu(-1)


INDUCTION = [
    (lambda t: torch.eye(len(t)), "each token reads itself"),
    (lambda t: share(same(t)), "hold the same token"),
    (lambda t: share(same(t).tril(-1)), "earlier places"),
    (lambda t: after(t).float(), "not shared out"),
    (lambda t: after(t), "the mask"),
    (lambda t: share((t[:, None] == t.roll(1)).tril()), "no predecessor"),
    (lambda t: share((t[:, None] == t.roll(1)) & (torch.arange(len(t)) > 0)), "later keys"),
    (lambda t: induction(t).T, "rows and columns"),
    (lambda t: torch.where(after(t).cumsum(-1) == 1, after(t), 0.0), "only the first match"),
    (lambda t: torch.where(after(t).flip(-1).cumsum(-1).flip(-1) == 1, after(t), 0.0), "the last"),
    (lambda t: after(t).float().softmax(-1), "do not match get weight"),
    (lambda t: after(t) / after(t).sum(-1, keepdim=True), "0 over 0"),
    (lambda t: share(after(t).tril(-1)), "may read itself"),
    (place_before, "one place back"),
    (lambda t: induction(t)[None], "shape"),
    (lambda t: t.roll(1), "shape"),
]

RIGHT = [
    (check.name_the_bug, "b"),
    (check.name_the_bug, "B"),
    *[(check.row_sum, x) for x in (0.65, 1 - 0.35, torch.tensor(0.65), np.float64(0.65))],
    *[
        (check.reads_values, answer)
        for answer in (reads, reads_by_noise, reads_by_zeros, reads_by_slope, reads_by_numpy)
    ],
    *[
        (check.batch_independent, answer)
        for answer in (alone, alone_by_split, alone_by_loop, alone_by_repeating, alone_by_numpy)
    ],
    *[
        (check.induction_weights, answer)
        for answer in (induction, induction_by_loops, induction_by_clamp, induction_by_one_hot,
                       induction_by_numpy)
    ],
]  # fmt: skip

SUM = [
    (1, "one is subtracted"), (0, "not once"), (0.35, "taken away"), (1.35, "not added"),
    (-0.35, "second row alone"), (0.35 / 0.65, "no division"), (-0.65, "the sign"),
    (1.65, "1 − 0.35"), (0.325, "no mean"), (0.1225, "not squared"), (0.8, "0.2 times"),
    (65, "per cent"), (0.6, "too small"), (0.7, "too large"), ("0.65", "a number is expected"),
]  # fmt: skip

WRONG = [
    (check.name_the_bug, "a", "a wrong window"),
    (check.name_the_bug, "c", "a wrong layout"),
    (check.name_the_bug, "d", "has been checked"),
    (check.name_the_bug, "left_padding_by_place", "is expected"),
    *[(check.row_sum, *row) for row in SUM],
    *[(check.reads_values, *row) for row in READS],
    *[(check.batch_independent, *row) for row in ALONE],
    *[(check.induction_weights, *row) for row in INDUCTION],
]

test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)


def test_stubs_are_told_to_be_written():
    for grader, stub in (
        (check.name_the_bug, ...),
        (check.row_sum, ...),
        (check.reads_values, lambda attend, queries, keys, values: ...),
        (check.batch_independent, lambda attend, queries, keys, values: ...),
        (check.induction_weights, lambda tokens: ...),
    ):
        assert repr(grader(stub)) == "Write it, then run this cell."


def test_the_quiz():
    assert check.quiz("b", "b", "b")
    assert not check.quiz("a", "b", "b")


def test_no_message_holds_an_address():
    """The attentions that are judged wrongly are called by their names."""
    verdict = check.batch_independent(lambda attend, *x: alone(attend, *x) or "scale" in str(x))
    said = repr(verdict) + repr(check.reads_values(lambda *x: "yes"))
    assert "0x" not in said
