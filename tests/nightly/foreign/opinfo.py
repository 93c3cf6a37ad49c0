"""Compute PyTorch's own samples of scaled_dot_product_attention with the library.

    python tests/nightly/foreign/opinfo.py

It runs in the environment of ``requirements.txt`` beside it, which has what PyTorch's tests need,
and prints the differences. PyTorch's ``is_causal`` starts in the upper left and the library's in
the lower right, so the mask is given; samples with dropout are compared without it.
"""

import json
import warnings

import torch
import torch.nn.functional as F

from attention_lib import combine_masks, scaled_dot_product_attention
from attention_lib.attention import attend
from attention_lib.scoring import scaled_dot_scores


def difference(dtype, sample):
    """Return the largest difference between the two, with weights and without, in epsilons."""
    queries, (keys, values) = sample.input, sample.args
    options = dict(sample.kwargs) | {"dropout_p": 0.0}
    expected = F.scaled_dot_product_attention(queries, keys, values, **options)
    mask = options.get("attn_mask")
    bias = None
    if mask is not None and mask.dtype != torch.bool:
        mask, bias = None, mask
    if options.get("is_causal"):
        shape = (queries.shape[-2], keys.shape[-2])
        mask = combine_masks(mask, torch.ones(shape, dtype=torch.bool).tril())
    if bias is not None:
        output, _ = attend(lambda q, k: scaled_dot_scores(q, k) + bias, queries, keys, values, mask)
        return (output - expected).abs().max().item() / torch.finfo(dtype).eps
    worst = 0.0
    for need_weights in (True, False):
        output, _ = scaled_dot_product_attention(
            queries, keys, values, mask=mask, scale=options.get("scale"), need_weights=need_weights
        )
        worst = max(worst, (output - expected).abs().max().item())
    return worst / torch.finfo(dtype).eps


def main():
    from torch.testing._internal.common_methods_invocations import op_db

    [operator] = [x for x in op_db if x.name == "nn.functional.scaled_dot_product_attention"]
    found = {}
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        for number, sample in enumerate(operator.sample_inputs("cpu", dtype)):
            name = f"{dtype} {number}"
            try:
                found[name] = difference(dtype, sample)
            except Exception as error:
                found[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
