"""Speed and memory of attention_lib against PyTorch and the textbook form, as ratios in one run.

``python -m benchmarks`` measures, prints a table and leaves ``benchmarks/results/attention.json``
(with machine and versions) and ``attention.svg``. Ratios are ours divided by theirs: 1.00 is a
draw, less is better. Ours and theirs take turns, so that a busy machine disturbs both alike; of
each row the median of the ratios stands there, and the quartiles beside it. Memory is the peak of
the tensors alive at once, forward and backward, inputs included; what a kernel keeps for itself
is not seen.

``--lengths 64 256`` measures fewer lengths, ``--rounds 5`` fewer turns.
"""

import argparse
import json
import platform
import statistics
import time
import weakref
from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.benchmark import Timer
from tqdm import tqdm

from attention_lib import (
    AdditiveScore,
    MultiHeadAttention,
    causal_mask,
    device,
    gaussian_scores,
    generator,
    length_mask,
    scaled_dot_product_attention,
)

RESULTS = Path(__file__).parent / "results"
LENGTHS = (64, 256, 1024, 2048, 4096)
NUM_HEADS, D_K, D_MODEL = 8, 64, 512


class Row(NamedTuple):
    """Two functions, each with its tensors, which mostly return the same output."""

    what: str
    length: int
    ours: object
    against: str
    theirs: object
    tensors: list
    their_tensors: list | None = None


def textbook(queries, keys, values, mask=None):
    """Attend as every text writes it down, weights and all."""
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ values


def cut(attend, length, queries, keys, values):
    """Call what gets only the keys that count."""
    return attend(queries, keys[..., :length, :], values[..., :length, :])


def first(attend, *tensors, **options):
    """Call what returns (output, weights), and return the output."""
    return attend(*tensors, **options)[0]


def drawn(*shape):
    """Draw queries, keys and values of one shape."""
    seeded = generator(0)
    return [torch.randn(shape, generator=seeded).to(device()).requires_grad_() for _ in range(3)]


def rows(length):
    """List what is compared with what at one length."""
    batch = max(1, min(4, 4096 // length))
    tensors = drawn(batch, NUM_HEADS, length, D_K)
    kernel, fused = (
        F.scaled_dot_product_attention,
        partial(first, scaled_dot_product_attention, need_weights=False),
    )
    with_weights = partial(first, scaled_dot_product_attention)
    causal = causal_mask(length, device=device())
    # what, our arguments, the kernel's best call, the textbook's mask
    cases = [
        ("no mask", {}, kernel, None),
        ("causal", {"mask": causal}, partial(kernel, is_causal=True), causal),
    ]
    for percent in (25, 50):
        lens = torch.full((batch,), length * percent // 100, device=device())
        mask = length_mask(lens, length).unsqueeze(1)
        best = partial(cut, kernel, length * percent // 100)
        cases.append((f"{percent} % valid", {"valid_lens": lens}, best, mask))
    lens = torch.linspace(length // 2, length - 1, batch, device=device()).long()
    ragged = length_mask(lens, length).unsqueeze(1)
    best = partial(cut, partial(kernel, attn_mask=ragged[..., : lens.max()]), int(lens.max()))
    cases.append(("ragged", {"valid_lens": lens}, best, ragged))
    for what, ours, theirs, mask in cases:
        yield Row(what, length, partial(fused, **ours), "kernel", theirs, tensors)
        plain = partial(textbook, mask=mask)
        yield Row(what, length, partial(fused, **ours), "textbook", plain, tensors)
        yield Row(
            f"{what}, weights", length, partial(with_weights, **ours), "textbook", plain, tensors
        )

    spoiled = [x.detach().clone() for x in tensors]
    for x in spoiled[1:]:
        x.masked_fill_(~ragged.transpose(-2, -1), float("nan"))
    spoiled = [x.requires_grad_() for x in spoiled]
    for name, attend in (("", fused), (", weights", with_weights)):
        attend = partial(attend, valid_lens=lens)
        yield Row(f"NaN in padding{name}", length, attend, "clean", attend, spoiled, tensors)

    tensors = drawn(batch, length, D_MODEL)
    layer = nn.MultiheadAttention(D_MODEL, NUM_HEADS, batch_first=True).to(device())
    ours, hidden = MultiHeadAttention.from_torch(layer), ~ragged.flatten(0, -2)
    for name, options, theirs in (
        ("", {}, {}),
        (", ragged", {"valid_lens": lens}, {"key_padding_mask": hidden}),
    ):
        for need_weights in (False, True):
            yield Row(
                f"multi-head{name}{', weights' * need_weights}",
                length,
                partial(first, ours, need_weights=need_weights, **options),
                "nn.MultiheadAttention",
                partial(
                    first, layer, need_weights=need_weights, average_attn_weights=False, **theirs
                ),
                tensors,
            )
    if length <= 512:
        yield from scores_of(length)


def scores_of(length):
    """List the scores that the textbook gives an axis of memory too many."""
    queries, keys, _ = drawn(2, length, D_K)
    exact = partial(torch.cdist, compute_mode="donot_use_mm_for_euclid_dist")
    yield Row(
        "Gaussian score",
        length,
        gaussian_scores,
        "cdist, squared",
        lambda queries, keys: -(exact(queries, keys) ** 2) / 2,
        [queries, keys],
    )
    score = AdditiveScore(D_K, D_K, 256).to(device())

    def plain(queries, keys):
        hidden = score.W_q(queries).unsqueeze(-2) + score.W_k(keys).unsqueeze(-3)
        return score.w_v(torch.tanh(hidden)).squeeze(-1)

    yield Row("additive score, 256 hidden", length, score, "textbook", plain, [queries, keys])


# --- how it is measured ----------------------------------------------------------------------


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


def peak(attend, tensors):
    """Return the bytes that lived at once, inputs included, forward and backward."""
    with Peak() as found:
        both_ways(attend, tensors)
    return found.peak + sum(x.nbytes for x in tensors)


def ratios_of_times(call, row, rounds):
    """Return the median of ours divided by theirs, its quartiles, and our seconds."""
    their_tensors = row.their_tensors or row.tensors
    # On a processor its own time: what others do there counts for neither.
    clock = {} if device().type == "cuda" else {"timer": time.process_time}
    timers = [
        Timer("call(*given)", globals={"call": call, "given": given}, **clock)
        for given in ((row.ours, row.tensors), (row.theirs, their_tensors))
    ]
    once = max(timer.timeit(1).median for timer in timers)  # the first call warms up
    number = max(1, min(200, int(0.05 / once)))
    ratios, ours = [], []
    for _ in range(rounds):
        seconds = [timer.timeit(number).median for timer in timers]
        ratios.append(seconds[0] / seconds[1])
        ours.append(seconds[0])
        theirs, again = (timer.timeit(number).median for timer in reversed(timers))
        ratios.append(again / theirs)  # who goes first changes, too
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {"ratio": middle, "quartiles": [low, high], "seconds": statistics.median(ours)}


def measured(row, rounds):
    """Measure one row."""
    their_tensors = row.their_tensors or row.tensors
    ours, theirs = (forward(row.ours, row.tensors), forward(row.theirs, their_tensors))
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3)
    return {
        "what": row.what,
        "length": row.length,
        "against": row.against,
        "forward": ratios_of_times(forward, row, rounds),
        "both_ways": ratios_of_times(both_ways, row, rounds),
        "memory": peak(row.ours, row.tensors) / peak(row.theirs, their_tensors),
    }


def machine():
    """Say where and with what this was measured."""
    return {
        "date": date.today().isoformat(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": str(device()),
        "processor": platform.processor() or platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }


def line(found):
    """Write a measured row as a line of the table."""
    times = [
        f"{found[way]['ratio']:6.2f} [{found[way]['quartiles'][0]:.2f} "
        f"{found[way]['quartiles'][1]:.2f}]"
        for way in ("forward", "both_ways")
    ]
    return (
        f"{found['what']:<28}{found['length']:>5}  {found['against']:<22}"
        f"{times[0]:>20}{times[1]:>20}{found['memory']:>8.2f}"
    )


def plot(results):
    """Draw forward ratios against length, one panel a rival."""
    import matplotlib.pyplot as plt

    rivals = ["kernel", "textbook", "nn.MultiheadAttention", "clean"]
    figure, axes = plt.subplots(1, len(rivals), figsize=(13, 4), sharey=True, layout="constrained")
    for ax, rival in zip(axes, rivals, strict=True):
        found = [row for row in results if row["against"] == rival]
        for what in dict.fromkeys(row["what"] for row in found):
            line = [(row["length"], row["forward"]) for row in found if row["what"] == what]
            ratios = [way["ratio"] for _, way in line]
            spread = [
                [way["ratio"] - way["quartiles"][0] for _, way in line],
                [way["quartiles"][1] - way["ratio"] for _, way in line],
            ]
            lengths = [length for length, _ in line]
            ax.errorbar(lengths, ratios, spread, marker="o", capsize=2, label=what)
        ax.axhline(1.0, color="black", linewidth=0.8)
        ax.set(title=f"against {rival}", xlabel="length", xscale="log", yscale="log")
        ax.legend(fontsize=7)
    axes[0].set_ylabel("time of ours / theirs, forward")
    figure.savefig(RESULTS / "attention.svg")


def main():
    """Measure, print the table, and leave JSON and plot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--rounds", type=int, default=10, help="turns, two ratios each")
    options = parser.parse_args()
    torch.manual_seed(0)
    made = [row for length in options.lengths for row in rows(length)]
    results = []
    print(f"{'ours':<28}{'keys':>5}  {'against':<22}{'forward':>20}{'and back':>20}{'memory':>8}")
    with tqdm(made, unit="row") as progress:
        for row in progress:
            progress.set_description(f"{row.what}, {row.length}")
            results.append(measured(row, options.rounds))
            progress.write(line(results[-1]))
    RESULTS.mkdir(exist_ok=True)
    report = {"machine": machine(), "results": results}
    (RESULTS / "attention.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    plot(results)


if __name__ == "__main__":
    main()
