"""Train the aligners anew: ``python -m attention_workbook.alignment [--seeds 3] [--store]``."""

import argparse
import itertools
import sys
import time

import torch

from attention_workbook.alignment import (
    SCORES,
    Run,
    exact_match,
    examples,
    save_aligner,
    split_dates,
    train_aligner,
)
from attention_workbook.alignment.training import STORED

RATES = (5e-3, 1e-2)  # the stored weights are those of the first
PROMISED = 0.99  # of the scaled dot product; the other scores are there to be compared


def main() -> int:
    """Print a table of scores and seeds; return 1 if one misses what the book promises of it."""
    parser = argparse.ArgumentParser(description="Train the aligners of the book anew.")
    parser.add_argument("--seeds", type=int, default=3, help="train seeds 0 to SEEDS - 1")
    parser.add_argument("--scores", nargs="+", default=[*SCORES], choices=[*SCORES])
    parser.add_argument("--store", action="store_true", help="store the weights of seed 0")
    options = parser.parse_args()
    torch.set_num_threads(1)  # processor time is then that of one core
    test = examples(split_dates()[1])
    missed = False
    print("score      rate  seed  seconds   exact")
    for score in options.scores:
        runs, aligners = [], []
        for rate, seed in itertools.product(RATES, range(options.seeds)):
            start = time.process_time()
            aligners.append(train_aligner(score, seed, rate=rate))
            seconds = time.process_time() - start
            runs.append(Run(score, seed, seconds, exact_match(aligners[-1], test), rate))
            line = f"{score:8}  {rate:5.3f}  {seed:4}  {seconds:7.1f}  {runs[-1].exact:6.4f}"
            print(line, flush=True)
            missed |= score == "scaled" and runs[-1].exact < PROMISED
            if options.store:
                save_aligner(aligners[0], STORED, runs)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
