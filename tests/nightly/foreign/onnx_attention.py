"""Compute the node tests of ONNX's operator Attention with the library; print the differences.

    python tests/nightly/foreign/onnx_attention.py

It runs in the environment of ``requirements.txt`` beside it. The cases are made by the package
onnx, whose reference implementation is in NumPy.
"""

import json
import warnings
from unittest.mock import patch

import torch

from attention_lib import combine_masks, length_mask, merge_heads, scaled_dot_product_attention
from attention_lib.attention import attend
from attention_lib.multihead import split_heads
from attention_lib.scoring import scaled_dot_scores, soft_cap

AFTER_SOFTMAX = 3  # the mode in which the operator returns its weights
ROUNDING = {torch.float16: (5e-3, 1e-3), torch.bfloat16: (2e-2, 4e-3)}  # relative, absolute
NAMES = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")


def order(len_q, len_k, before, causal, left, right):
    """Return which keys each query may see, with so many keys before the first query."""
    if not (causal or left >= 0 or right >= 0):
        return None
    places = torch.arange(len_q)[:, None] + before  # (len_q, 1), or (batch, 1, len_q, 1)
    back = places - torch.arange(len_k)
    seen = torch.ones_like(back, dtype=torch.bool)
    seen &= (back >= 0) | (not causal)
    seen &= (back <= left) | (left < 0)
    return seen & ((-back <= right) | (right < 0))


def attention(inputs, options):
    """Return what the operator returns: the output, keys and values with the past, the weights."""
    queries, keys, values = inputs["Q"], inputs["K"], inputs["V"]
    flat = queries.dim() == 3
    if flat:
        queries = split_heads(queries, options["q_num_heads"])
        keys, values = (split_heads(x, options["kv_num_heads"]) for x in (keys, values))
    lens, past = inputs.get("nonpad_kv_seqlen"), inputs.get("past_key")
    if past is not None:
        keys = torch.cat([past, keys], dim=2)
        values = torch.cat([inputs["past_value"], values], dim=2)
    len_q, len_k = queries.shape[2], keys.shape[2]
    before = 0 if past is None else past.shape[2]
    if past is None and lens is not None:
        before = lens.reshape(-1, 1, 1, 1) - len_q
    windows = (options.get("left_window_size", -1), options.get("right_window_size", -1))
    mask = order(len_q, len_k, before, options.get("is_causal", 0) == 1, *windows)
    if lens is not None:
        mask = combine_masks(mask, length_mask(lens, len_k).unsqueeze(1))
    bias = inputs.get("attn_mask")
    if bias is not None and bias.shape[-1] < len_k:
        fill = False if bias.dtype == torch.bool else -torch.inf
        bias = torch.nn.functional.pad(bias, (0, len_k - bias.shape[-1]), value=fill)
    if bias is not None and bias.dtype == torch.bool:
        mask, bias = combine_masks(mask, bias), None
    elif bias is not None:
        mask, bias = combine_masks(mask, bias != -torch.inf), bias.nan_to_num(neginf=0.0)
    scale, cap = options.get("scale"), options.get("softcap")
    if bias is None and not cap:
        output, weights = scaled_dot_product_attention(
            queries, keys, values, mask=mask, scale=scale
        )
    else:

        def score(queries, keys):
            scores = scaled_dot_scores(queries, keys, scale)
            scores = soft_cap(scores, cap) if cap else scores
            return scores if bias is None else scores + bias

        times = queries.shape[1] // keys.shape[1]
        memory = (x.repeat_interleave(times, dim=1) for x in (keys, values))
        output, weights = attend(score, queries, *memory, mask=mask)
    return (merge_heads(output) if flat else output), keys, values, weights


def tensor(array):
    """Return an array as a tensor; NumPy itself has no bfloat16."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.astype("float32")).bfloat16()
    return torch.from_numpy(array.copy())


def difference(case):
    """Return the largest difference from what a case expects, in units of its tolerance."""
    [node] = case.model.graph.node
    options = {x.name: x.f if x.type == 1 else x.i for x in node.attribute}
    names = [name for name, given in zip(NAMES, node.input, strict=False) if given]
    arrays, expected = case.data_sets[0]
    inputs = {name: tensor(array) for name, array in zip(names, arrays, strict=True)}
    outputs = dict(zip(("Y", "keys", "values", "weights"), attention(inputs, options), strict=True))
    wanted = [name for name, given in zip(outputs, node.output, strict=False) if given]
    worst = 0.0
    for name, array in zip(wanted, expected, strict=True):
        if name == "weights" and options.get("qk_matmul_output_mode") != AFTER_SOFTMAX:
            continue
        right = tensor(array).double()
        rtol, atol = ROUNDING.get(outputs[name].dtype, (case.rtol, 1e-6))
        error = (outputs[name].double() - right).abs() / (atol + rtol * right.abs())
        worst = max(worst, error.max().item())
    return worst


def differences(cases):
    """Return the difference of each case, by its name, or what stopped it."""
    found = {}
    for case in cases:
        try:
            found[case.name] = difference(case)
        except Exception as error:
            found[case.name] = f"{type(error).__name__}: {error}"
    return found


def twice_the_scale(right):
    def faulty(queries, keys, values, mask=None, scale=None):
        scale = 2 * (scale or queries.shape[-1] ** -0.5)
        return right(queries, keys, values, mask=mask, scale=scale)

    return faulty


def from_the_upper_left(right):
    return lambda len_q, len_k, before, *rule: right(len_q, len_k, 0, *rule)


def no_padding(right):
    return lambda lens, len_k: torch.ones(len(lens), 1, len_k, dtype=torch.bool)


# Mistakes made on purpose, by the function that each of them wraps.
FAULTS = {
    "scaled_dot_product_attention": twice_the_scale,
    "order": from_the_upper_left,
    "length_mask": no_padding,
}


def main():
    from onnx.backend.test.case.node import collect_testcases

    cases = [x for x in collect_testcases("Attention") if not x.name.endswith("_expanded")]
    noticed = {}
    for part, fault in FAULTS.items():
        with patch.dict(globals(), {part: fault(globals()[part])}):
            found = differences(cases).values()
        noticed[fault.__name__] = sum(isinstance(x, str) or x > 1 for x in found)
    print(json.dumps({"differences": differences(cases), "noticed": noticed}))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
