"""One decoding step with a KeyValueCache against a cache written by hand, as a ratio in one run.

``python -m benchmarks.decoding`` prints, for several numbers of cached keys, the median of the
ratios of process time (ours divided by the other) and their quartiles. Both use the same
projections and PyTorch's fused kernel; they take turns.
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F

from attention_lib import (
    KeyValueCache,
    MultiHeadAttention,
    merge_heads,
    rotate_by_position,
    split_heads,
)

D_MODEL, NUM_HEADS, STEPS = 512, 8, 20


class ByHand:
    """Buffers that are long enough, and an index; as many decoders have it."""

    def __init__(self, layer, room, rotary):
        self.layer, self.length, self.rotary = layer, 0, rotary
        shape = (1, layer.num_kv_heads, room, D_MODEL // NUM_HEADS)
        self.keys, self.values = torch.empty(shape), torch.empty(shape)

    def __call__(self, x):
        layer, end = self.layer, self.length + x.shape[1]
        queries = split_heads(layer.W_q(x), layer.num_heads)
        keys = split_heads(layer.W_k(x), layer.num_kv_heads)
        if self.rotary:
            positions = torch.arange(self.length, end)
            queries, keys = (rotate_by_position(t, positions) for t in (queries, keys))
        self.keys[:, :, self.length : end] = keys
        self.values[:, :, self.length : end] = split_heads(layer.W_v(x), layer.num_kv_heads)
        self.length = end
        output = F.scaled_dot_product_attention(
            queries,
            self.keys[:, :, :end],
            self.values[:, :, :end],
            is_causal=x.shape[1] > 1,
            enable_gqa=layer.num_kv_heads < layer.num_heads,
        )
        return layer.W_o(merge_heads(output))


def seconds(step, token):
    start = time.process_time()
    step(token)
    return time.process_time() - start


@torch.no_grad()
def ratios(num_keys, num_kv_heads, rotary, rounds):
    """Time ``STEPS`` steps after ``num_keys`` keys, ours and by hand in turn."""
    turn = rotate_by_position if rotary else None
    layer = MultiHeadAttention(D_MODEL, NUM_HEADS, num_kv_heads=num_kv_heads, rotary=turn)
    prompt, tokens = torch.randn(1, num_keys, D_MODEL), torch.randn(STEPS, 1, 1, D_MODEL)
    found = []
    for _ in range(rounds):
        cache = KeyValueCache()

        def ours(x, cache=cache):
            return layer(x, x, x, cache=cache, need_weights=False)[0]

        by_hand = ByHand(layer, num_keys + STEPS, rotary)
        torch.testing.assert_close(ours(prompt), by_hand(prompt), rtol=1e-4, atol=1e-5)
        times = {ours: [], by_hand: []}
        for token in tokens:
            for step, spent in times.items():
                spent.append(seconds(step, token))
        found.append(statistics.median(times[ours]) / statistics.median(times[by_hand]))
    return found[1:]  # the first round warms up


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoding", description=__doc__)
    parser.add_argument("--keys", type=int, nargs="+", default=(100, 1000, 4000))
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for rotary in (False, True):
        for num_kv_heads in (8, 2):
            for num_keys in options.keys:
                found = ratios(num_keys, num_kv_heads, rotary, options.rounds)
                low, middle, high = statistics.quantiles(found, n=4)
                kind = f"{'rotary, ' if rotary else ''}{num_kv_heads} key heads"
                print(f"{kind:<24}{num_keys:>6} keys  {middle:.2f} [{low:.2f} {high:.2f}]")


if __name__ == "__main__":
    main()
