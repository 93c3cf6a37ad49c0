"""Speed and memory of attention_lib against PyTorch and the textbook form, as ratios in one run.

``python -m benchmarks`` prints a table: ours divided by theirs, so 1.00 is a draw and less is
better. The two take turns within every measurement, and the median of the ratios is printed, so
that a busy machine disturbs both alike. Memory is the peak of the tensors alive at once, forward
and backward; what a kernel keeps for itself is not seen.
"""

import statistics
import time
import weakref
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attention_lib import (
    AdditiveAttention,
    DotProductAttention,
    MultiHeadAttention,
    causal_mask,
    device,
    generator,
    length_mask,
    scaled_dot_product_attention,
)

SECONDS = 1.0  # for each ratio of times
BATCH, NUM_HEADS, D_K, D_MODEL = 4, 8, 64, 512
SHORT, LONG = 256, 1024


class Row(NamedTuple):
    """Two functions of the same tensors, which mostly return the same output."""

    what: str
    ours: object
    against: str
    theirs: object
    tensors: list
    same: bool = True


def drawn(*shape):
    """Draw queries, keys and values of one shape."""
    seeded = generator(0)
    return [torch.randn(shape, generator=seeded).to(device()).requires_grad_() for _ in range(3)]


def textbook(queries, keys, values, mask=None):
    """Attend as every text writes it down, weights and all."""
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ values


def first(attend, *tensors, **options):
    """Call what returns (output, weights), and return the output."""
    return attend(*tensors, **options)[0]


def rows():
    """List what is compared with what."""
    lens = torch.linspace(SHORT // 2, SHORT, BATCH, device=device()).long()
    padding = length_mask(lens, SHORT)  # (BATCH, 1, SHORT)
    causal, long_causal = (causal_mask(length, device=device()) for length in (SHORT, LONG))
    tensors, long_tensors = (drawn(BATCH, NUM_HEADS, length, D_K) for length in (SHORT, LONG))
    for what, ours, mask, given in (
        (f"no mask, {SHORT}", {}, None, tensors),
        (f"causal mask, {SHORT}", {"mask": causal}, causal, tensors),
        (f"valid lengths, {SHORT}", {"valid_lens": lens}, padding.unsqueeze(1), tensors),
        (f"causal mask, {LONG}", {"mask": long_causal}, long_causal, long_tensors),
    ):
        function = partial(first, scaled_dot_product_attention, **ours)
        fused = partial(function, need_weights=False)
        yield Row(
            f"function, {what}",
            fused,
            "F.scaled_dot_product_attention",
            partial(F.scaled_dot_product_attention, attn_mask=mask),
            given,
        )
        yield Row(
            f"function with weights, {what}",
            function,
            "textbook form",
            partial(textbook, mask=mask),
            given,
        )
    yield Row(f"function, {what}", fused, "the same with weights", function, given)

    tensors = drawn(BATCH, SHORT, D_MODEL)
    theirs = nn.MultiheadAttention(D_MODEL, NUM_HEADS, batch_first=True).to(device())
    ours = MultiHeadAttention.from_torch(theirs)
    hidden = ~padding.squeeze(1)
    for name, options, their_options in (
        ("no mask", {}, {}),
        ("valid lengths", {"valid_lens": lens}, {"key_padding_mask": hidden}),
    ):
        for need_weights in (False, True):
            yield Row(
                f"multi-head{' with weights' * need_weights}, {name}, {SHORT}",
                partial(first, ours, need_weights=need_weights, **options),
                "nn.MultiheadAttention",
                partial(
                    first,
                    theirs,
                    need_weights=need_weights,
                    average_attn_weights=False,
                    **their_options,
                ),
                tensors,
            )

    tensors = drawn(BATCH, SHORT, D_K)
    additive = AdditiveAttention(D_K, D_K, D_K).to(device())
    yield Row(
        f"additive with {D_K} hidden, {SHORT}",
        partial(first, additive),
        "dot product with weights",
        partial(first, DotProductAttention()),
        tensors,
        same=False,
    )


def storages(nested):
    """Return the memory behind all tensors in nested lists, by its address."""
    tensors = (x for x in tree_leaves(nested) if isinstance(x, torch.Tensor))
    return {x.untyped_storage()._cdata: x.untyped_storage() for x in tensors}


class Peak(TorchDispatchMode):
    """Follow the bytes of all tensors made inside, and remember the most that lived at once."""

    def __init__(self):
        super().__init__()
        self.bytes = self.peak = 0
        self.known = set()

    def forget(self, key, size):
        self.bytes -= size
        self.known.discard(key)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        given = set(storages((args, kwargs)))
        for key, storage in storages(result).items():
            if key not in given and key not in self.known:
                self.known.add(key)
                self.bytes += storage.nbytes()
                self.peak = max(self.peak, self.bytes)
                weakref.finalize(storage, self.forget, key, storage.nbytes())
        return result


def forward(attend, tensors):
    with torch.no_grad():
        return attend(*tensors)


def both_ways(attend, tensors):
    return torch.autograd.grad(attend(*tensors).sum(), tensors)


def seconds(call, *arguments):
    """Time one call, the GPU's work included."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    wait()
    start = time.perf_counter()
    call(*arguments)
    wait()
    return time.perf_counter() - start


def ratio_of_times(call, row):
    """Return the median of ours divided by theirs, the two taking turns."""
    ratios, end = [], time.perf_counter() + SECONDS
    for attend in (row.ours, row.theirs):
        call(attend, row.tensors)
    while len(ratios) < 3 or time.perf_counter() < end:
        ours, theirs = (seconds(call, attend, row.tensors) for attend in (row.ours, row.theirs))
        ratios.append(ours / theirs)
    return statistics.median(ratios)


def peak(attend, tensors):
    """Return the bytes of the tensors that lived at once, forward and backward."""
    with Peak() as found:
        both_ways(attend, tensors)
    return found.peak


def main():
    """Print the table."""
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {device()}, {torch.get_num_threads()} threads")
    print(f"batch {BATCH}, {NUM_HEADS} heads of {D_K}; ours divided by theirs\n")
    print(f"{'ours, number of keys':<46}{'against':<32}{'forward':>8}{'and back':>9}{'memory':>8}")
    for row in rows():
        if row.same:
            ours, theirs = (attend(*row.tensors) for attend in (row.ours, row.theirs))
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
        times = [ratio_of_times(call, row) for call in (forward, both_ways)]
        memory = peak(row.ours, row.tensors) / peak(row.theirs, row.tensors)
        print(f"{row.what:<46}{row.against:<32}{times[0]:>8.2f}{times[1]:>9.2f}{memory:>8.2f}")


if __name__ == "__main__":
    main()
