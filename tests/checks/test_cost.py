"""The graders of "Count the cost": what is right in many styles, what is wrong and why."""

# ruff: noqa: E741, the letters of the chapter: m, l, t

import math

import pytest
import torch

from attention_lib import AdditiveScore, cost, generator
from attention_lib.checks import cost as check
from tests.checks.tables import judged

# A step of the online softmax.


def step_by_factor(largest, normaliser, total, scores, values):
    new = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
    factor, powers = torch.exp(largest - new), torch.exp(scores - new)
    return new, normaliser * factor + powers.sum(-1, keepdim=True), total * factor + powers @ values


def step_by_library(largest, normaliser, total, scores, values):
    eye = torch.eye(scores.shape[1], dtype=scores.dtype)  # scores are dot products with it
    block = cost.read_block(scores, eye, values, scale=1.0)
    return tuple(cost.merge(cost.Tally(largest, normaliser, total), block))


def step_key_by_key(largest, normaliser, total, scores, values):
    for i in range(scores.shape[1]):
        new = torch.maximum(largest, scores[:, i : i + 1])
        power, factor = torch.exp(scores[:, i : i + 1] - new), torch.exp(largest - new)
        largest, normaliser = new, normaliser * factor + power
        total = total * factor + power * values[i]
    return largest, normaliser, total


def step_by_joined_columns(largest, normaliser, total, scores, values):
    new = torch.cat([largest, scores], dim=1).max(dim=1, keepdim=True).values
    powers = (torch.cat([largest, scores], dim=1) - new).exp()
    sums = torch.cat([powers[:, :1] * normaliser, powers[:, 1:]], dim=1).sum(dim=1, keepdim=True)
    return [new, sums, powers[:, :1] * total + powers[:, 1:] @ values]


def step_query_by_query(largest, normaliser, total, scores, values):
    rows = [
        step_by_factor(largest[i], normaliser[i], total[i], scores[i], values)
        for i in range(len(scores))
    ]
    return tuple(torch.stack(parts) for parts in zip(*rows, strict=True))


def step(*, sums=True, totals=True, own=False, new=torch.maximum, sign=1):
    def answer(m, l, t, s, v):
        now = new(m, s.amax(-1, keepdim=True))
        f = torch.exp(sign * (m - now))
        p = torch.exp(s - (s.amax(-1, keepdim=True) if own else now))
        return (
            now,
            l * (f if sums else 1) + p.sum(-1, keepdim=True),
            t * (f if totals else 1) + p @ v,
        )

    return answer


def powers_of_two(m, l, t, s, v):
    now = torch.maximum(m, s.amax(-1, keepdim=True))
    f, p = torch.exp2(m - now), torch.exp2(s - now)
    return now, l * f + p.sum(-1, keepdim=True), t * f + p @ v


def in_place(m, l, t, s, v):
    now = torch.maximum(m, s.amax(-1, keepdim=True))
    p = torch.exp(s - now)
    l.mul_(torch.exp(m - now)).add_(p.sum(-1, keepdim=True))
    return now, l, t * torch.exp(m - now) + p @ v


STEP = [
    (step(sums=False, totals=False), "still counts from the old largest score"),
    (step(totals=False), "the total is not"),
    (step(sums=False), "the normaliser is not"),
    (step(sign=-1), "upside down"),
    (step(new=lambda m, s: s), "the larger of two"),
    (step(new=lambda m, s: m), "a block may hold a larger one"),
    (step(own=True), "the block's own largest score"),
    (lambda *a: (*step()(*a)[:2], step()(*a)[2] / step()(*a)[1]), "divided already"),
    (lambda *a: step()(*a)[2] / step()(*a)[1], "that is the output"),
    (lambda m, l, t, s, v: (
        torch.maximum(m, s.amax(-1, keepdim=True)),
        l * m.exp() + s.exp().sum(-1, keepdim=True),
        t * m.exp() + s.exp() @ v,
    ), "900 overflows"),
    (lambda m, l, t, s, v: step()(m - math.inf, l * 0, t * 0, s, v), "forgotten"),
    (lambda m, l, t, s, v: (m, l, t), "has no effect"),
    (lambda m, l, t, s, v: step(new=lambda m, s: torch.maximum(m, s.max()))(m, l, t, s, v),
     "a largest score of its own"),
    (lambda m, l, t, s, v: (*step()(m, l, t, s, v)[:2],
                            t * (m - step()(m, l, t, s, v)[0]).exp() + s.softmax(-1) @ v),
     "divided by its own sum"),
    (powers_of_two, "should be"),
    (in_place, "changed its input"),
    (lambda m, l, t, s, v: step()(m, l, t, s, v)[:2], "expected"),
    (lambda m, l, t, s, v: step()(m, l, t, s, v)[::-1], "in the wrong order"),
]  # fmt: skip


# Two outputs of a kernel.


def merge_by_logaddexp(output_a, log_sum_a, output_b, log_sum_b):
    joint = torch.logaddexp(log_sum_a, log_sum_b)
    safe = joint.masked_fill(joint == -torch.inf, 0.0)
    shares = torch.exp(log_sum_a - safe), torch.exp(log_sum_b - safe)
    return output_a * shares[0] + output_b * shares[1], joint


def merge_by_largest(output_a, log_sum_a, output_b, log_sum_b):
    logs = torch.stack([log_sum_a, log_sum_b])
    top = logs.amax(0).nan_to_num(neginf=0.0)
    sums = torch.exp(logs - top)
    mixed = output_a * sums[0] + output_b * sums[1]
    return torch.where(sums.sum(0) > 0, mixed / sums.sum(0), 0.0), top + sums.sum(0).log()


def merge_by_sigmoid(output_a, log_sum_a, output_b, log_sum_b):
    empty = torch.isneginf(log_sum_a) & torch.isneginf(log_sum_b)
    share = torch.sigmoid(torch.where(empty, 0.0, log_sum_a - log_sum_b))
    output = share * output_a + (1 - share) * output_b
    return torch.where(empty, 0.0, output), torch.logaddexp(log_sum_a, log_sum_b)


def merge_by_tallies(output_a, log_sum_a, output_b, log_sum_b):
    def tally(output, log_sum):
        seen = (log_sum > -torch.inf).to(output.dtype)
        return cost.Tally(log_sum, seen, output * seen)

    both = cost.merge(tally(output_a, log_sum_a), tally(output_b, log_sum_b))
    return both.output, both.largest + both.normaliser.log()


def merge_by_softmax(output_a, log_sum_a, output_b, log_sum_b):
    shares = torch.softmax(torch.stack([log_sum_a, log_sum_b]), dim=0).nan_to_num(0.0)
    return (shares * torch.stack([output_a, output_b])).sum(0), torch.stack(
        [log_sum_a, log_sum_b]
    ).logsumexp(0)


def merge(share, log_sum=torch.logaddexp):
    def answer(a, la, b, lb):
        of_a, of_b = share(la, lb)
        return a * of_a + b * of_b, log_sum(la, lb)

    return answer


def fair(la, lb):
    joint = torch.logaddexp(la, lb).nan_to_num(neginf=0.0, posinf=math.inf)
    return torch.exp(la - joint), torch.exp(lb - joint)


MERGED = [
    (merge(lambda la, lb: (0.5, 0.5)), "plain mean"),
    (merge(lambda la, lb: (1, 1)), "the outputs are added"),
    (merge(lambda la, lb: fair(lb, la)), "exchanged"),
    (merge(lambda la, lb: (la / (la + lb), lb / (la + lb))), "in proportion to the logarithms"),
    (merge(lambda la, lb: (la.exp() / (la.exp() + lb.exp()), lb.exp() / (la.exp() + lb.exp()))),
     "900 overflows"),
    (merge(lambda la, lb: (torch.exp(la - torch.logaddexp(la, lb)),
                           torch.exp(lb - torch.logaddexp(la, lb)))), "minus -inf is NaN"),
    (merge(lambda la, lb: torch.softmax(torch.stack([la, lb]), dim=0)), "minus -inf is NaN"),
    (merge(lambda la, lb: (torch.exp(la - torch.maximum(la, lb).nan_to_num(neginf=0)),
                           torch.exp(lb - torch.maximum(la, lb).nan_to_num(neginf=0)))),
     "do not sum to 1"),
    (merge(lambda la, lb: ((la > lb).float(), (la <= lb).float())), "gets all"),
    (merge(lambda la, lb: fair(la / 2, lb / 2)), "half the logarithms"),
    (merge(fair, lambda la, lb: la + lb), "logarithms of sums are not added"),
    (merge(fair, torch.maximum), "the larger logarithm"),
    (merge(fair, lambda la, lb: la.exp() + lb.exp()), "that is the sum"),
    (lambda a, la, b, lb: merge(fair)(a, la, b, lb)[0], "for the next merge"),
    (lambda a, la, b, lb: merge(fair)(a, la, b, lb)[::-1], "wrong order"),
    (lambda a, la, b, lb: (a, la), "the second block has no effect"),
]  # fmt: skip


OPERATIONS = [
    (6_144_000, "that is half"),
    (6_144_000.0, "two products"),
    (2 * 6000 * 128, "that is one head"),
    (8 * 2 * 90_000 * 128, "only the 20 queries ask"),
    (8 * 2 * 320**2 * 128, "two sequences"),
    (8 * 2 * 400 * 128, "meets all 300 keys"),
    (8 * 6000 * 64, "the multiplications alone"),
    (64 * 2 * 6000 * 128, "counted twice"),
    (48_000, "the number of pairs"),
    (2 * 6000 * 64, "one product of one head"),
    (16 * 320 * 128, "20 × 300 pairs, not 20 + 300"),
    (12_288_010, "too large"),
    (-1, "too small"),
    (float("nan"), "NaN is not a number"),
    ("many", "a number is expected"),
]
TOKEN = 48 * 8 * 2 * 128 * 2
CACHE = [
    (TOKEN, "that is one token"),
    (8192 * TOKEN // 2, "that is half: keys and values"),
    (8192 * TOKEN // 4, "are missing"),
    (8192 * TOKEN * 2, "4 bytes a number is float32"),
    (8192 * TOKEN * 4, "query heads leave noth"),
    (8192 * TOKEN // 48, "that is one layer"),
    (8192 * TOKEN // 8, "one key-value head a layer"),
    (8192 * TOKEN * 5, "query heads leave nothing"),
    (8192 * TOKEN * 3 // 2, "queries are not kept"),
    (8192**2 * 48 * 8 * 2, "weights are not kept"),
    (8192 * TOKEN * 8, "16 bits"),
    (1.6, "too small"),
    (8192 * TOKEN + 1000, "too large"),
    (None, "a number is expected"),
    (torch.tensor([1, 2]), "a number is expected"),
]
SUM = 8 * 512 * 512 * 256 * 4
ADDITIVE = [
    (SUM // 4, "in float32 each takes 4 bytes"),
    (SUM // 256, "one number a pair"),
    (SUM // 8, "one sequence"),
    (SUM * 16, "too large"),
    (8 * 512 * 256 * 4, "one number a query"),
    (SUM // 2, "half precision"),
    (2 * SUM, "that is double"),
    (8 * 512 * 512, "the number of pairs"),
    (SUM * 8, "32 bits"),
    (SUM + 5000, "too large"),
    (float("inf"), "too large"),
    ("2 GB", "a number is expected"),
    (0, "too small"),
]

RIGHT = [
    *[(check.one_step, answer) for answer in (
        step_by_factor, step_by_library, step_key_by_key, step_by_joined_columns,
        step_query_by_query)],
    *[(check.merged_outputs, answer) for answer in (
        merge_by_logaddexp, merge_by_largest, merge_by_sigmoid, merge_by_tallies,
        merge_by_softmax)],
    *[(check.cross_operations, answer) for answer in (
        12_288_000, 12_288_000.0, torch.tensor(12_288_000), 1.2288e7)],
    *[(check.cache_of_a_context, answer) for answer in (
        1_610_612_736, 1.5 * 2**30, torch.tensor(1_610_612_736),
        8192 * cost.cache_bytes(48, 8, 128))],
    *[(check.additive_bytes, answer) for answer in (
        2_147_483_648, 2**31, float(2**31), torch.tensor(2**31))],
]  # fmt: skip
WRONG = [
    (grader, answer, said)
    for grader, answers in (
        (check.one_step, STEP),
        (check.merged_outputs, MERGED),
        (check.cross_operations, OPERATIONS),
        (check.cache_of_a_context, CACHE),
        (check.additive_bytes, ADDITIVE),
    )
    for answer, said in answers
]
test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)


def test_numbers_are_what_is_measured():
    [queries, keys] = torch.zeros(1, 8, 20, 64), torch.zeros(1, 8, 300, 64)
    attend = torch.nn.functional.scaled_dot_product_attention
    assert check.cross_operations(cost.measured_cost(attend, queries, keys, keys).flops)
    score = AdditiveScore(4, 4, 256)

    def added(queries, keys):
        return score.W_q(queries)[:, :, None] + score.W_k(keys)[:, None]

    few = added(*torch.zeros(2, 2, 16, 4)).nbytes  # a quarter of the sequences, 1/32 of the length
    assert check.additive_bytes(few * 4 * 32 * 32)


def test_a_merge_of_real_blocks_passes_its_own_check():
    queries, keys, values = torch.randn(3, 6, 4, generator=generator(0), dtype=torch.float64)
    halves = [cost.read_block(queries, keys[i : i + 3], values[i : i + 3]) for i in (0, 3)]
    given = [x for h in halves for x in (h.output, h.largest + h.normaliser.log())]
    output, _ = merge_by_logaddexp(*given)
    torch.testing.assert_close(output, cost.attend_in_blocks(queries, keys, values, 6))


@pytest.mark.parametrize("grader", [check.one_step, check.merged_outputs])
def test_a_stub_is_not_judged(grader):
    assert repr(grader(lambda *given: ...)) == "Write it, then run this cell."
    assert repr(grader(...)) == "Write it, then run this cell."


def test_quiz():
    assert check.quiz("b", "c", 10)
    said = repr(check.quiz("a", "b", 16))
    assert "the same operations" in said and "unimportant keys" in said and "future" in said
    counted = sum(key <= query for query in range(4) for key in range(4))
    assert counted == check.quiz.questions[2].right
