"""Graders for the exercises of the chapter on linear attention."""

import math

import torch
from torch import Tensor

from attention_workbook.exercises import Rule, draws, exercise, questions
from attention_workbook.exercises.engine.rules import Trace

__all__ = ["delta_reads", "gated_delta", "in_two_chunks", "memory_bytes", "quiz"]

delta_reads, memory_bytes, quiz = questions("linear_attention")

_normal, _double = draws(51), draws(52, torch.float64)


def _unit(key: Tensor) -> Tensor:
    return torch.nn.functional.normalize(key, dim=-1)


@exercise(
    axes="key value",
    cases=[
        (torch.tensor([[2.0]]), torch.tensor([1.0]), torch.tensor([5.0]), 0.5, 1.0),
        (_normal(3, 2), _unit(_normal(3)), _normal(2), 0.9, 0.5),
        (_normal(5, 7), _unit(_normal(5)), _normal(7), 0.8, 1.0),
        (_normal(4, 3), _unit(_normal(4)), _normal(3), 1.0, 0.25),
        (_double(2, 5), _unit(_double(2)), _double(5), 0.6, 0.7),
    ],
    mistakes=[
        (
            "value - key @ faded",
            "value - key @ memory",
            "you subtract what the key held before the memory faded; subtract what it holds "
            "after that.",
        ),
        (
            "value - key @ faded",
            "value",
            "the value is written on top of what the key holds; write only the difference.",
        ),
        ("decay * memory", "memory", "the memory does not fade: multiply it by `decay` first."),
        ("rate * ", "", "`rate` has no effect: it scales what is written."),
        (
            "rate * key[:, None] * (value - key @ faded)",
            "key[:, None] * (rate * value - key @ faded)",
            "`rate` scales the value alone; it should scale the whole difference.",
        ),
        (
            "return faded",
            "return memory",
            "only what is read fades; the memory itself does not.",
        ),
        (
            "decay * memory",
            "(1 - decay) * memory",
            "`decay` is the share that stays, not the one that is lost.",
        ),
        *(
            (
                "faded + rate * key[:, None] * (value - key @ faded)",
                f"decay * (memory + rate * key[:, None] * {written})",
                f"what is written fades as well: let the memory fade first, then write{ending}",
            )
            for written, ending in (
                ("(value - key @ memory)", "."),
                ("value", ", and only the difference from what the key holds."),
            )
        ),
    ],
)
def gated_delta(memory: Tensor, key: Tensor, value: Tensor, decay: float, rate: float) -> Tensor:
    """Return the memory after one more write, ``(d_k, d_v)``."""
    faded = decay * memory
    return faded + rate * key[:, None] * (value - key @ faded)


def _numbers_in_tables(trace: Trace) -> int:
    """Return how many pairs of 22 tokens, or of 11, have got a product."""
    products = {"matmul", "mm", "bmm", "einsum", "tensordot", "inner", "linear"}
    tables = [
        shape for step, shape, _ in trace.tensors if step in products and {*shape[-2:]} <= {11, 22}
    ]
    return sum(math.prod(shape) for shape in tables)


@exercise(
    axes="query value",
    cases=[
        (torch.ones(2, 1), torch.ones(2, 1), torch.tensor([[1.0], [10.0]])),
        (_normal(4, 3), _normal(4, 3), _normal(4, 2)),
        (_normal(10, 5), _normal(10, 5), _normal(10, 7)),
        (_double(6, 2), _double(6, 2), _double(6, 3)),
    ],
    rules=[
        Rule(
            "the result is right, but a table of pairs reaches across the middle. What the first "
            "half leaves to the second is a matrix of d_k by d_v numbers.",
            lambda trace: _numbers_in_tables(trace) <= 2 * 11 * 11,
            case=(_normal(22, 3), _normal(22, 3), _normal(22, 2)),
            inside=True,
        )
    ],
    mistakes=[
        (
            "(later @ keys[half:].mT).tril() @ values[half:]",
            "later @ keys[half:].mT @ values[half:]",
            "the second chunk reads its own future: mask its table with `tril`.",
        ),
        (
            "later @ memory + ",
            "",
            "the second half never reads the memory that the first half wrote.",
        ),
        (
            "memory = keys[:half].mT @ values[:half]",
            "memory = keys.mT @ values",
            "the memory holds both halves: the second one counts its own words twice, and reads "
            "its future.",
        ),
        (
            "tril()",
            "triu()",
            "within a half each token meets itself and what comes after it: `tril` is wanted, not "
            "`triu`.",
        ),
    ],
)
def in_two_chunks(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return causal linear attention, ``(length, d_v)``, computed in two halves."""
    half = len(queries) // 2
    first, later = queries[:half], queries[half:]
    memory = keys[:half].mT @ values[:half]
    before = (first @ keys[:half].mT).tril() @ values[:half]
    after = later @ memory + (later @ keys[half:].mT).tril() @ values[half:]
    return torch.cat([before, after])
