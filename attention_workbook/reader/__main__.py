"""Train the reader anew with five seeds: ``python -m attention_workbook.reader [--store]``."""

import argparse
import sys
import time

from attention_workbook.reader import accuracy, draw, save_reader, train_reader
from attention_workbook.reader.training import STORED

PROMISED = 0.97


def main() -> int:
    """Print a table of seeds; return 1 if one of them misses what the book promises."""
    parser = argparse.ArgumentParser(description="Train the reader of the book anew.")
    parser.add_argument("--seeds", type=int, default=5, help="train seeds 0 to SEEDS - 1")
    parser.add_argument("--store", action="store_true", help="store the weights of seed 0")
    options = parser.parse_args()
    test = draw(2000, seed=1, held_out=True)
    reached = []
    print("seed  seconds  accuracy")
    for seed in range(options.seeds):
        start = time.perf_counter()
        reader = train_reader(seed)
        seconds = time.perf_counter() - start
        reached.append(accuracy(reader, test))
        print(f"{seed:4}  {seconds:7.1f}  {reached[-1]:8.4f}", flush=True)
        if options.store and seed == 0:
            save_reader(reader, STORED)
    return int(min(reached) < PROMISED)


if __name__ == "__main__":
    sys.exit(main())
