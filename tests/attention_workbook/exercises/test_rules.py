"""Rules of the way: right results are refused where a task forbids how they were made."""

import inspect

import pytest
import torch

from attention_lib import masked_softmax, scaled_dot_product_attention
from attention_workbook.exercises import (
    after_training,
    fewer_numbers,
    it_learns,
    linear_attention,
    masking,
    one_head,
    scoring_functions,
    soft_lookup,
    softmax_gradient,
    sparse_attention,
    train_a_reader,
    write_a_contract,
)
from attention_workbook.exercises.engine import rules
from attention_workbook.exercises.engine.exercise import Exercise
from attention_workbook.exercises.engine.running import Failure


def masked_softmax_by_hand(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


def helper(scores):
    return torch.nn.functional.softmax(scores, dim=-1)


def sink_by_appending(scores):
    sink = torch.zeros_like(scores[..., :1])
    return torch.cat([scores, sink], dim=-1).softmax(dim=-1)[..., :-1]


def all_scores(queries, keys, values, index, k):
    chosen = torch.zeros_like(index).scatter(-1, index.topk(k, dim=-1).indices, 1.0).bool()
    scores = (queries @ keys.mT / queries.shape[-1] ** 0.5).masked_fill(~chosen, -torch.inf)
    return scores.softmax(dim=-1) @ values


def second_half_by_a_table(queries, keys, values):
    (q1, q2), (k1, k2), (v1, v2) = (x.chunk(2) for x in (queries, keys, values))
    second = (q2 @ k1.mT) @ v1 + (q2 @ k2.mT).tril() @ v2
    return torch.cat([(q1 @ k1.mT).tril() @ v1, second])


def keys_of_heads(queries, latents, W_k, W_v):
    keys, values = latents @ W_k.mT, latents @ W_v.mT
    return (queries @ keys.mT / queries.shape[-1] ** 0.5).softmax(dim=-1) @ values


def by_differences(queries, keys, values, bandwidth):
    squares = (queries[:, :, None] - keys[:, None]).square().sum(dim=-1)
    return (-squares / 2 / bandwidth**2).softmax(dim=-1) @ values


def one_query_at_a_time(queries, keys, values, bandwidth):
    rows = [(keys - q[:, None]).square().sum(dim=-1) for q in queries.unbind(1)]
    return (-torch.stack(rows, dim=1) / 2 / bandwidth**2).softmax(dim=-1) @ values


def by_cdist(queries, keys, values, bandwidth):
    distances = torch.cdist(queries, keys, compute_mode="donot_use_mm_for_euclid_dist")
    return (-((distances / bandwidth) ** 2) / 2).softmax(dim=-1) @ values


def wide_additive(queries, keys, W_q, W_k, w_v):
    pairs = (queries @ W_q.T)[:, :, None] + (keys @ W_k.T)[:, None]
    return pairs.tanh() @ w_v


def by_the_matrix(weights, gradient):
    jacobian = torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)
    return (jacobian @ gradient.unsqueeze(-1)).squeeze(-1)


def cross_entropy(scores, it, meant):
    return torch.nn.functional.cross_entropy(scores[torch.arange(len(scores)), it], meant)


def by_two_calls(attend, queries, keys, values):
    other = values + torch.randn(values.shape, generator=torch.Generator().manual_seed(1))
    return not torch.allclose(attend(queries, keys, values), attend(queries, keys, other))


BROKEN = [
    (soft_lookup.lookup, lambda q, k, v, t: (q @ k.mT / t).softmax(-1) @ v, "a softmax of PyTorch"),
    (soft_lookup.lookup, lambda q, k, v, t: helper(q @ k.mT / t) @ v, "a softmax of PyTorch"),
    (
        soft_lookup.lookup,
        lambda q, k, v, t: scaled_dot_product_attention(q, k, v, scale=1 / t)[0],
        "a softmax of PyTorch",
    ),
    (
        it_learns.loss,
        lambda scores, targets: torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), targets.flatten()
        ),
        "`cross_entropy` or `nll_loss` made it",
    ),
    (one_head.head, one_head.head.right, "queries or keys are made"),
    (scoring_functions.nearest, by_differences, "the differences of all pairs"),
    (scoring_functions.nearest, one_query_at_a_time, "the differences of all pairs"),
    (scoring_functions.nearest, by_cdist, "PyTorch computes the distances"),
    (scoring_functions.frugal_additive_scores, wide_additive, "more than 154"),
    (masking.masked_softmax, lambda s, m: masked_softmax_by_hand(s, m), "`masked_softmax_by_hand`"),
    (masking.masked_softmax, lambda s, m: masked_softmax(s, mask=m), "the library's"),
    (after_training.softmax_with_sink, sink_by_appending, "a key is appended"),
    (softmax_gradient.softmax_backward, by_the_matrix, "the matrix `J` is made"),
    (fewer_numbers.absorbed, keys_of_heads, "keys or values of all heads"),
    (train_a_reader.pointing_loss, cross_entropy, "`cross_entropy` or a softmax"),
    (write_a_contract.reads_values, by_two_calls, "a single call"),
    (sparse_attention.fetching, all_scores, "is computed for all keys"),
    (
        linear_attention.in_two_chunks,
        lambda q, k, v: (q @ k.mT).tril() @ v,
        "reaches across the middle",
    ),
    (linear_attention.in_two_chunks, second_half_by_a_table, "reaches across the middle"),
]


@pytest.mark.parametrize(
    ("exercise", "answer", "said"),
    BROKEN,
    ids=[f"{exercise.__name__}, {said}" for exercise, _, said in BROKEN],
)
def test_a_right_result_by_a_forbidden_way_is_refused(exercise, answer, said):
    verdict = exercise(answer)
    assert not verdict
    assert said in verdict.message


@pytest.mark.parametrize(
    "exercise", {row[0].__name__: row[0] for row in BROKEN}.values(), ids=lambda x: x.__name__
)
def test_what_could_not_be_watched_is_no_pass(exercise, monkeypatch):
    monkeypatch.setattr(rules, "run", lambda answer, given: Failure(OSError("gone"), answer))
    verdict = exercise._right(exercise.right)
    assert not verdict
    assert "could not be checked: your function stops with an OSError: gone" in verdict.message


def test_tensors_that_leave_pytorch_cannot_be_watched():
    def by_numpy(queries, keys, W_q, W_k, w_v):
        import numpy as np

        pairs = (queries @ W_q.T).numpy()[:, :, None] + (keys @ W_k.T).numpy()[:, None]
        return torch.from_numpy(np.tanh(pairs) @ w_v.numpy())

    assert "leaves PyTorch through `" in scoring_functions.frugal_additive_scores(by_numpy).message


def test_many_tensors_in_one_cannot_be_watched():
    def by_vmap(queries, keys, W_q, W_k, w_v):
        hidden_q, hidden_k = queries @ W_q.T, keys @ W_k.T
        unit = torch.vmap(lambda q, k, w: w * (q[..., None] + k[:, None]).tanh(), in_dims=(2, 2, 0))
        return unit(hidden_q, hidden_k, w_v).sum(dim=0)

    said = scoring_functions.frugal_additive_scores(by_vmap).message
    assert "leaves PyTorch through `vmap`" in said


def test_a_helper_of_the_same_name_is_not_pytorchs():
    def softmax(scores):
        powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        return powers / powers.sum(dim=-1, keepdim=True)

    assert soft_lookup.lookup(lambda q, k, v, t: softmax(q @ k.mT / t) @ v)


def test_a_rule_is_looked_at_only_where_results_are_right():
    said = soft_lookup.lookup(lambda q, k, v, t: (q @ k.mT).softmax(dim=-1) @ v).message
    assert said.startswith("the temperature has no effect")


def test_every_rule_is_tried_here():
    import pkgutil
    from importlib import import_module

    from attention_workbook import exercises

    with_rules = set()
    for module in pkgutil.iter_modules(exercises.__path__):
        for value in vars(import_module(f"{exercises.__name__}.{module.name}")).values():
            if isinstance(value, Exercise) and value.rules:
                with_rules.add((inspect.getmodule(value.right).__name__, value.right.__name__))
    tried = {(inspect.getmodule(row[0].right).__name__, row[0].right.__name__) for row in BROKEN}
    assert with_rules == tried
