"""Speed and memory of attention_lib against PyTorch and the textbook form, as ratios in one run.

``python -m benchmarks`` measures, prints a table and leaves ``benchmarks/results/attention.json``
(with machine and versions) and ``attention.svg``. Ratios are ours divided by theirs: 1.00 is a
draw, less is better. All that are compared take turns, so that a busy machine disturbs them alike;
of each row the median of the ratios stands there, and the quartiles beside it. Memory is the peak
of the tensors alive at once, forward and backward, inputs included; what a kernel keeps for itself
is not seen.

``--lengths 64 256`` measures fewer lengths, ``--seconds 0.1`` spends less time on each case. The
longer the sequences, the fewer heads: 2 million pairs of query and key, or a single head. Results
are written after every case, so a run may be stopped; ``--resume`` measures what the stored results
of this machine, with these versions, still lack. ``--store`` leaves what the chapter on cost
shows in ``attention_workbook/cost/measured.json``, too.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.benchmark import Timer

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
from attention_workbook import cost

RESULTS = Path(__file__).parent / "results"
LENGTHS = (64, 256, 1024, 2048, 4096)
D_K, PAIRS = 64, 2**21


class Case(NamedTuple):
    """What is called with the same intent, by name; and who is held against whom."""

    what: str
    length: int
    calls: dict[str, tuple[Callable, list]]
    against: list[tuple[str, str, str]]  # what the row is called, ours, theirs


def textbook(queries, keys, values, mask=None):
    """Attend as every text writes it down, weights and all."""
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ values


def cut(attend, length, queries, keys, values):
    """Call what gets only the keys that count."""
    return attend(queries, keys[..., :length, :], values[..., :length, :])


def output_of(attend, *tensors, **options):
    """Call what returns (output, weights), and return the output."""
    return attend(*tensors, **options)[0]


def draw_inputs(*shape):
    """Draw queries, keys and values of one shape."""
    seeded = generator(0)
    return [torch.randn(shape, generator=seeded).to(device()).requires_grad_() for _ in range(3)]


def cases(length):
    """List what is compared at one length."""
    batch = max(1, min(4, PAIRS // (8 * length**2)))
    num_heads = max(1, min(8, PAIRS // (batch * length**2)))
    tensors = draw_inputs(batch, num_heads, length, D_K)
    lens = torch.linspace(length // 2, length - 1, batch, device=device()).long()
    yield from function_cases(tensors, lens)
    yield from spoiled_cases(tensors, lens)
    yield from layer_cases(batch, num_heads, length, lens)
    if length <= 512:
        yield from scores_of(length)


def function_cases(tensors, lens):
    """List the function's calls: without a mask, causal, with lengths."""
    batch, _, length, _ = tensors[0].shape
    kernel = F.scaled_dot_product_attention
    fused = partial(output_of, scaled_dot_product_attention, need_weights=False)
    with_weights = partial(output_of, scaled_dot_product_attention)
    causal = causal_mask(length, device=device())
    # what, our arguments, the kernel's best call, the textbook's mask
    variants = [
        ("no mask", {}, kernel, None),
        ("causal", {"causal": True}, partial(kernel, is_causal=True), causal),
        ("a causal tensor", {"mask": causal}, partial(kernel, attn_mask=causal), causal),
    ]
    for percent in (25, 50, 100):
        valid = length * percent // 100
        equal_lens = torch.full((batch,), valid, device=device())
        mask = length_mask(equal_lens, length).unsqueeze(1)
        variants.append(
            (f"{percent} % valid", {"valid_lens": equal_lens}, partial(cut, kernel, valid), mask)
        )
    ragged = length_mask(lens, length).unsqueeze(1)
    best = partial(cut, partial(kernel, attn_mask=ragged[..., : lens.max()]), int(lens.max()))
    variants.append(("ragged", {"valid_lens": lens}, best, ragged))
    for what, arguments, best_kernel_call, mask in variants:
        calls = {
            "ours": partial(fused, **arguments),
            "weights": partial(with_weights, **arguments),
            "kernel": best_kernel_call,
            "textbook": partial(textbook, mask=mask),
        }
        yield Case(
            what,
            length,
            {name: (call, tensors) for name, call in calls.items()},
            [
                (what, "ours", "kernel"),
                (what, "ours", "textbook"),
                (f"{what}, weights", "weights", "textbook"),
            ],
        )


def spoiled_cases(tensors, lens):
    """List calls with NaN in the padding, against the same calls without."""
    length = tensors[0].shape[-2]
    ragged = length_mask(lens, length).unsqueeze(1)
    spoiled = [x.detach().clone() for x in tensors]
    for x in spoiled[1:]:
        x.masked_fill_(~ragged.transpose(-2, -1), float("nan"))
    spoiled = [x.requires_grad_() for x in spoiled]
    fused = partial(output_of, scaled_dot_product_attention, valid_lens=lens, need_weights=False)
    with_weights = partial(output_of, scaled_dot_product_attention, valid_lens=lens)
    yield Case(
        "NaN in padding",
        length,
        {
            "ours": (fused, spoiled),
            "clean": (fused, tensors),
            "weights": (with_weights, spoiled),
            "clean, weights": (with_weights, tensors),
        },
        [
            ("NaN in padding", "ours", "clean"),
            ("NaN in padding, weights", "weights", "clean, weights"),
        ],
    )


def layer_cases(batch, num_heads, length, lens):
    """List calls of the layer, against PyTorch's with the same weights."""
    d_model = num_heads * D_K
    hidden = ~length_mask(lens, length).squeeze(1)  # (batch, len)
    tensors = draw_inputs(batch, length, d_model)
    layer = nn.MultiheadAttention(d_model, num_heads, batch_first=True).to(device())
    ours = MultiHeadAttention.from_torch(layer)
    layer = partial(layer, average_attn_weights=False)
    for name, options, theirs in (
        ("multi-head", {}, {}),
        ("multi-head, ragged", {"valid_lens": lens}, {"key_padding_mask": hidden}),
    ):
        calls = {
            "ours": partial(output_of, ours, need_weights=False, **options),
            "weights": partial(output_of, ours, **options),
            "nn.MultiheadAttention": partial(output_of, layer, need_weights=False, **theirs),
            "nn.MultiheadAttention, weights": partial(output_of, layer, **theirs),
        }
        yield Case(
            name,
            length,
            {who: (call, tensors) for who, call in calls.items()},
            [
                (name, "ours", "nn.MultiheadAttention"),
                (f"{name}, weights", "weights", "nn.MultiheadAttention, weights"),
            ],
        )


def scores_of(length):
    """List the scores that the textbook gives an axis of memory too many."""
    queries, keys, _ = draw_inputs(2, length, D_K)
    exact = partial(torch.cdist, compute_mode="donot_use_mm_for_euclid_dist")
    score = AdditiveScore(D_K, D_K, 256).to(device())

    def squared(queries, keys):
        return -(exact(queries, keys) ** 2) / 2

    def plain(queries, keys):
        hidden = score.W_q(queries).unsqueeze(-2) + score.W_k(keys).unsqueeze(-3)
        return score.w_v(torch.tanh(hidden)).squeeze(-1)

    for what, ours, name, theirs in (
        ("Gaussian score", gaussian_scores, "cdist, squared", squared),
        ("additive score, 256 hidden", score, "textbook", plain),
    ):
        calls = {"ours": (ours, [queries, keys]), name: (theirs, [queries, keys])}
        yield Case(what, length, calls, [(what, "ours", name)])


# --- how it is measured ----------------------------------------------------------------------


def forward(attend, tensors):
    with torch.no_grad():
        return attend(*tensors)


def both_ways(attend, tensors):
    return torch.autograd.grad(attend(*tensors).sum(), tensors)


def peak(attend, tensors):
    """Return the bytes that lived at once, inputs included, forward and backward."""
    return cost.peak_bytes(lambda *given: both_ways(attend, given), *tensors)


def turns(way, calls, seconds):
    """Time all calls in turn, there and back again, until the time is spent; at least twice."""
    # On a processor its own time: what others do there counts for neither.
    clock = {} if device().type == "cuda" else {"timer": time.process_time}
    timers = {
        name: Timer("way(*call)", globals={"way": way, "call": call}, **clock)
        for name, call in calls.items()
    }
    once = {name: timer.timeit(1).median for name, timer in timers.items()}  # warms up, too
    number = {name: max(1, min(200, int(0.02 / once[name]))) for name in calls}
    times = {name: [] for name in calls}
    seconds_left, rounds = seconds, 0
    while seconds_left > 0 or rounds < 2:
        rounds += 1
        for order in (list(timers), list(timers)[::-1]):  # who goes first changes
            for name in order:
                times[name].append(timers[name].timeit(number[name]).median)
                seconds_left -= times[name][-1] * number[name]
    return times


def spread(numbers):
    """Return the median and the quartiles."""
    low, middle, high = statistics.quantiles(numbers, n=4)
    return {"median": middle, "quartiles": [low, high], "samples": len(numbers)}


def measured(case, seconds):
    """Measure one case; yield its rows."""
    outputs = {name: forward(*call) for name, call in case.calls.items()}
    for output in outputs.values():
        torch.testing.assert_close(output, outputs["ours"], rtol=1e-3, atol=1e-3)
    del outputs
    times = {way.__name__: turns(way, case.calls, seconds) for way in (forward, both_ways)}
    peaks = {name: peak(*call) for name, call in case.calls.items()}
    for what, ours, theirs in case.against:
        against = theirs.removesuffix(", weights")
        row = {"what": what, "length": case.length, "against": against}
        for way, times_of_call in times.items():
            pairs = zip(times_of_call[ours], times_of_call[theirs], strict=True)
            ratios = [a / b for a, b in pairs]
            row[way] = {
                "ratio": spread(ratios),
                "seconds": spread(times_of_call[ours]),
                "their_seconds": spread(times_of_call[theirs]),
            }
        row["memory"] = {
            "ratio": peaks[ours] / peaks[theirs],
            "bytes": peaks[ours],
            "their_bytes": peaks[theirs],
        }
        yield row


def machine():
    """Say where and with what this was measured."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
        processor = names[0] if names else processor
    if device().type == "cuda":
        processor = torch.cuda.get_device_name()
    return {
        "date": date.today().isoformat(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": str(device()),
        "processor": processor,
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }


def line(row):
    """Write a measured row as a line of the table."""
    times = []
    for way in ("forward", "both_ways"):
        ratio = row[way]["ratio"]
        low, high = ratio["quartiles"]
        times.append(f"{ratio['median']:6.2f} [{low:.2f} {high:.2f}]")
    return (
        f"{row['what']:<28}{row['length']:>5}  {row['against']:<22}"
        f"{times[0]:>20}{times[1]:>20}{row['memory']['ratio']:>8.2f}"
    )


def plot(results):
    """Draw forward ratios against length, one panel a rival."""
    import matplotlib.pyplot as plt

    rivals = ["kernel", "textbook", "nn.MultiheadAttention", "clean"]
    figure, axes = plt.subplots(1, len(rivals), figsize=(13, 4), sharey=True, layout="constrained")
    for ax, rival in zip(axes, rivals, strict=True):
        against_rival = [row for row in results if row["against"] == rival]
        for what in dict.fromkeys(row["what"] for row in against_rival):
            rows = sorted(
                (r for r in against_rival if r["what"] == what), key=lambda r: r["length"]
            )
            ratios = [row["forward"]["ratio"] for row in rows]
            medians = [ratio["median"] for ratio in ratios]
            reaches = [
                [ratio["median"] - ratio["quartiles"][0] for ratio in ratios],
                [ratio["quartiles"][1] - ratio["median"] for ratio in ratios],
            ]
            lengths = [row["length"] for row in rows]
            ax.errorbar(lengths, medians, reaches, marker="o", capsize=2, label=what)
        ax.axhline(1.0, color="black", linewidth=0.8)
        ax.set(title=f"against {rival}", xlabel="length", xscale="log", yscale="log")
        ax.legend(fontsize=7)
    axes[0].set_ylabel("time of ours / theirs, forward")
    figure.savefig(RESULTS / "attention.svg")
    plt.close(figure)


SHOWN = ("no mask", "causal", "25 % valid", "50 % valid")


def excerpt(report):
    """Return what the chapter on cost shows: forward, at the lengths that were measured fully."""
    needed_pairs = {(what, rival) for what in SHOWN for rival in ("kernel", "textbook")}
    measured_rows = {(row["length"], row["what"], row["against"]) for row in report["results"]}
    lengths = {
        n for n, *_ in measured_rows if all((n, *pair) in measured_rows for pair in needed_pairs)
    }
    rows = [
        {
            "what": row["what"],
            "length": row["length"],
            "against": row["against"],
            "ratio": round(row["forward"]["ratio"]["median"], 3),
            "quartiles": [round(q, 3) for q in row["forward"]["ratio"]["quartiles"]],
        }
        for row in report["results"]
        if row["what"] in SHOWN and row["length"] in lengths
    ]
    rows.sort(key=lambda row: (row["against"], SHOWN.index(row["what"]), row["length"]))
    return {"machine": report["machine"], "rows": rows}


def main():
    """Measure, print the table, and leave JSON and plot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--seconds", type=float, default=0.5, help="for a case, one way")
    parser.add_argument("--threads", type=int, default=1, help="one disturbs others least")
    parser.add_argument("--resume", action="store_true", help="keep the rows that are there")
    parser.add_argument("--store", action="store_true", help="store what the chapter shows")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    results = earlier() if options.resume else []
    done = {(row["what"], row["length"]) for row in results}
    to_measure = [
        case
        for length in options.lengths
        for case in cases(length)
        if not done.issuperset((what, length) for what, *_ in case.against)
    ]
    print(f"{'ours':<28}{'keys':>5}  {'against':<22}{'forward':>20}{'and back':>20}{'memory':>8}")
    for case in to_measure:
        for row in measured(case, options.seconds):
            results.append(row)
            print(line(row), flush=True)
        keep({"machine": machine(), "results": results}, options.store)
    plot(results)


def earlier():
    """Return the rows that this machine, with these versions, has stored."""
    stored = RESULTS / "attention.json"
    report = json.loads(stored.read_text(encoding="utf-8")) if stored.is_file() else {}
    this_machine = machine() | {"date": report.get("machine", {}).get("date")}
    return report["results"] if report.get("machine") == this_machine else []


def keep(report, store):
    """Write what was measured so far; with ``store`` what the chapter shows of it, too."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "attention.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if store:
        stored = Path(cost.__file__).with_name("measured.json")
        stored.write_text(json.dumps(excerpt(report)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
