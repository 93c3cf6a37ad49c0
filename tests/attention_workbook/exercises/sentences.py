"""Wrong answers, and a piece of what they hear, in the notebook and in the page."""

import importlib
import linecache
import math

import torch
import torch.nn.functional as F

import attention_lib

_STEPS = """
def f(query, keys, values):
    def output(q):
        return (keys @ q / len(q) ** 0.5).softmax(0) @ values
    columns = []
    for i in range(len(query)):
        step = torch.zeros_like(query)
        step[i] = {0}
        columns.append((output(query + step) - output(query - step)) / (2 * {0}))
    return torch.stack(columns, -1)
"""
_MASKED = "def f(scores, mask):\n    return {}\n"

# chapter, exercise, code, and a piece of the verdict
SAID = [
    (
        "masking",
        "masked_softmax",
        _MASKED.format("scores.masked_fill(mask, -torch.inf).softmax(dim=-1)"),
        "Not yet: the mask is turned round",
    ),
    (
        "masking",
        "masked_softmax",
        _MASKED.format("scores.masked_fill(mask, -1e9).softmax(dim=-1)"),
        "Not yet: the mask is turned round",
    ),
    (
        "masking",
        "masked_softmax",
        _MASKED.format("scores.masked_fill(mask, -torch.inf).softmax(dim=-1).nan_to_num(0)"),
        "swapped. Also, with that mended, it is wrong where a hidden score is NaN or infinity.",
    ),
    (
        "one_head",
        "cross_head",
        "def f(target, source, W_q, W_k, W_v):\n    keys = source @ W_k\n"
        "    scores = target @ W_q @ keys.mT / keys.shape[-2] ** 0.5\n"
        "    return scores.softmax(-1) @ (source @ W_v)\n",
        "`source.shape[-2]` is the number of rows of `source`; the scale is the root of a width",
    ),
    (
        "variance",
        "unit_scores",
        "def f(queries, keys, std):\n"
        "    return queries @ keys.mT / (std**2 * keys.shape[-2] ** 0.5)\n",
        "`keys.shape[-2]` is the number of keys; the scale is the root of a width",
    ),
    (
        "soft_lookup",
        "hard_lookup",
        "def f(scores):\n    return F.one_hot(scores.argmax(-1))\n",
        "give it the number of keys, too. Then look at rows in which two keys tie.",
    ),
    (
        "soft_lookup",
        "hard_lookup",
        "def f(scores):\n    return F.one_hot(scores.argmax(-1), scores.shape[-1]).float()\n",
        "a tie is not shared",
    ),
    ("softmax_gradient", "query_gradient", _STEPS.format("1e-2"), "every number is nearly right."),
    ("softmax_gradient", "query_gradient", _STEPS.format("1e-6"), "wrong in float32: a difference"),
    (
        "softmax_gradient",
        "query_gradient",
        "def f(query, keys, values):\n    p = (keys @ query / len(query) ** 0.5).softmax(0)\n"
        "    return (values * p[:, None]).T @ keys / len(query) ** 0.5\n",
        "no mean is subtracted",
    ),
    (
        "softmax_gradient",
        "softmax_backward",
        "def f(weights, gradient):\n    return weights * (1 - weights) * gradient\n",
        "that is the diagonal of `J` alone",
    ),
    (
        "masks_in_use",
        "window_rule",
        "def f(len_q, len_k, window):\n"
        "    i = torch.arange(len_q)[:, None] + len_k - len_q\n"
        "    return (i - torch.arange(len_k)).abs() < window\n",
        "the window reaches to both sides",
    ),
    (
        "kernels",
        "regression",
        "def f(queries, keys, values, bandwidth):\n"
        "    distances = (queries[:, None] - keys).abs()\n"
        "    return (-distances / (2 * bandwidth**2)).softmax(1) @ values\n",
        "the distance stands where its square belongs.",
    ),
    (
        "one_head",
        "cross_head",
        "def f(target, source, W_q, W_k, W_v):\n    keys = source @ W_k\n"
        "    weights = (target @ W_q @ keys.mT).softmax(-1)\n"
        "    return weights @ (source @ W_v)\n",
        "the scale is missing: the scores are not divided by the root of the width.",
    ),
    (
        "flash_attention",
        "one_step",
        "def f(largest, total, mixture, scores, values):\n"
        "    new = torch.maximum(largest, scores.amax(-1, keepdim=True))\n"
        "    old = (largest - new).exp()\n"
        "    weights = (scores - new).exp()\n"
        "    return new, old * total, old * mixture + weights @ values\n",
        "a term made of `largest` and `scores` is not added, and should be.",
    ),
]


def answer(code):
    """The function of a code, whose lines can be shown."""
    name = f"<sentences {hash(code)}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    world = {"torch": torch, "F": F, "math": math, **vars(attention_lib), "__name__": "answer"}
    exec(compile(code, name, "exec"), world)
    return world["f"]


def verdict(chapter, exercise, code):
    """What the notebook says of an answer."""
    module = importlib.import_module(f"attention_workbook.exercises.{chapter}")
    return repr(getattr(module, exercise)(answer(code)))
