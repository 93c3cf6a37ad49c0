"""Train the copiers anew: ``python -m attention_workbook.copying [--seeds 5] [--store]``."""

import argparse
import sys

import torch

from attention_workbook.copying import draw_texts, measure, save_copier, train_copier
from attention_workbook.copying.training import STORED

PROMISED = 0.85  # of the letters that can be known, by two layers; chance is 1 in 26


def main() -> int:
    """Print a table of layers and seeds; return 1 if a seed misses what the book promises."""
    parser = argparse.ArgumentParser(description="Train the copiers of the book anew.")
    parser.add_argument("--seeds", type=int, default=5, help="train seeds 0 to SEEDS - 1")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--store", action="store_true", help="store the two layers of seed 0")
    options = parser.parse_args()
    texts = draw_texts(1000, torch.Generator().manual_seed(10**6))
    runs, copiers = [], []
    print("layers  seed  right   loss  previous token  induction")
    for layers in (2, 1):
        for seed in range(options.seeds):
            copiers.append(train_copier(seed, layers, steps=options.steps))
            runs.append(run := measure(copiers[-1], *texts, seed))
            looks = "  ".join(f"{max(x):14.3f}" for x in (run.previous, run.induction))
            print(f"{layers:6}  {seed:4}  {run.right:.3f}  {run.loss:.3f}  {looks}", flush=True)
    if options.store:
        save_copier(copiers[0], STORED, runs)
    return int(min(run.right for run in runs if run.layers == 2) < PROMISED)


if __name__ == "__main__":
    sys.exit(main())
