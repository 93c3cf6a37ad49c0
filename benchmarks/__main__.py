"""Speed of attention_lib against PyTorch's kernel, PyTorch's layer and the textbook's lines.

``python -m benchmarks`` prints a table of ratios, ours divided by theirs: 1.00 is a draw, less is
better. All calls of a row take turns in one process, so that a busy machine slows them alike; the
table shows the median ratio with its quartiles, forward and forward with the way back.
``--lengths 64 256`` measures fewer lengths, ``--seconds 0.1`` spends less time on a row.
"""

import argparse
import statistics
import time
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from attention_lib import (
    MultiHeadAttention,
    causal_mask,
    device,
    generator,
    length_mask,
    scaled_dot_product_attention,
)

D_K = 64
PAIRS = 2**21  # of queries and keys: the longer the sequences, the fewer heads and batches


def textbook(queries, keys, values, mask=None):
    """Attend as every text writes it down."""
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ values, weights


def output_of(attend, *tensors, **options):
    """Call what returns (output, weights), and return the output."""
    return attend(*tensors, **options)[0]


def draw_inputs(*shape):
    """Draw queries, keys and values of one shape."""
    seeded = generator(0)
    return [torch.randn(shape, generator=seeded).to(device()).requires_grad_() for _ in range(3)]


def cases(length):
    """Yield what is compared at one length: a row's name, its tensors, our call, theirs by name."""
    batch = max(1, min(4, PAIRS // (8 * length**2)))
    num_heads = max(1, min(8, PAIRS // (batch * length**2)))
    tensors = draw_inputs(batch, num_heads, length, D_K)
    lens = torch.linspace(length // 2, length - 1, batch, device=device()).long()
    causal, valid = causal_mask(length, device=device()), length_mask(lens, length)
    attend = partial(output_of, scaled_dot_product_attention)
    plain, kernel = partial(output_of, textbook), F.scaled_dot_product_attention
    valid_heads = valid.unsqueeze(1)  # the same for all heads
    for name, options, call_of_kernel, mask in (
        ("no mask", {}, kernel, None),
        ("causal", {"causal": True}, partial(kernel, is_causal=True), causal),
        ("lengths", {"valid_lens": lens}, partial(kernel, attn_mask=valid_heads), valid_heads),
    ):
        theirs = {"kernel": call_of_kernel, "textbook": partial(plain, mask=mask)}
        yield name, tensors, partial(attend, need_weights=False, **options), theirs
        with_weights = partial(attend, **options)
        yield f"{name}, weights", tensors, with_weights, {"textbook": theirs["textbook"]}
    layer = nn.MultiheadAttention(num_heads * D_K, num_heads, batch_first=True).to(device())
    ours = partial(output_of, MultiHeadAttention.from_torch(layer), need_weights=False)
    theirs = partial(output_of, layer, need_weights=False)
    tensors = draw_inputs(batch, length, num_heads * D_K)
    yield "layer", tensors, ours, {"layer": theirs}
    hidden = partial(theirs, key_padding_mask=~valid.squeeze(1))
    yield "layer, lengths", tensors, partial(ours, valid_lens=lens), {"layer": hidden}


def forward(call, tensors):
    with torch.no_grad():
        return call(*tensors)


def both_ways(call, tensors):
    return torch.autograd.grad(call(*tensors).sum(), tensors)


def seconds_of(way, call, tensors, times):
    """Return the time of one call; on a processor its own time, whatever else is running."""
    on_gpu = device().type == "cuda"
    clock = time.perf_counter if on_gpu else time.process_time
    start = clock()
    for _ in range(times):
        way(call, tensors)
    if on_gpu:
        torch.cuda.synchronize()
    return (clock() - start) / times


def ratios(way, tensors, ours, theirs, seconds):
    """Let ours and theirs take turns until the time is spent; return a list of ratios for each."""
    calls = [ours, *theirs.values()]
    once = max(seconds_of(way, call, tensors, 1) for call in calls + calls)  # warms up, too
    times = max(1, min(200, int(0.02 / once)))
    rounds, begin = [], time.monotonic()
    while len(rounds) < 4 or time.monotonic() - begin < seconds:
        turns = calls if len(rounds) % 2 else calls[::-1]  # who goes first changes
        spent = {call: seconds_of(way, call, tensors, times) for call in turns}
        rounds.append([spent[ours] / spent[call] for call in theirs.values()])
    return dict(zip(theirs, zip(*rounds, strict=True), strict=True))


def measured(length, seconds):
    """Measure all cases of one length; yield a row for each that ours is held against."""
    for name, tensors, ours, theirs in cases(length):
        output = forward(ours, tensors)
        for call in theirs.values():
            torch.testing.assert_close(forward(call, tensors), output, rtol=1e-3, atol=1e-3)
        found = {way: ratios(way, tensors, ours, theirs, seconds) for way in (forward, both_ways)}
        for against in theirs:
            row = {"what": name, "length": length, "against": against}
            yield row | {way.__name__: spread(found[way][against]) for way in found}


def spread(numbers):
    """Return the median and the quartiles, rounded."""
    return [round(number, 3) for number in statistics.quantiles(numbers, n=4)]


def main():
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=(64, 256, 1024, 4096))
    parser.add_argument("--seconds", type=float, default=1.0, help="for a row, one way")
    parser.add_argument("--threads", type=int, default=1, help="one disturbs others least")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{'ours':<20}{'keys':>6}  {'against':<10}{'forward':>18}{'and back':>20}")
    for length in options.lengths:
        for row in measured(length, options.seconds):
            low, middle, high = row["forward"]
            back_low, back, back_high = row["both_ways"]
            print(
                f"{row['what']:<20}{length:>6}  {row['against']:<10}"
                f"{middle:6.2f} [{low:.2f} {high:.2f}]{back:8.2f} [{back_low:.2f} {back_high:.2f}]",
                flush=True,
            )


if __name__ == "__main__":
    main()
