"""Train the writer anew, and measure it: ``python -m attention_workbook.writer [--store] [PART
…]``."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from attention_workbook import writer
from attention_workbook.writer.training import MEASURED, STORED

PROMISED = 1.4  # nats a letter of the stored model, on held-out text
SAMPLED = {10, 50, 200, 1000}  # steps after which a sample is kept
TEXT, HELD_OUT = writer.split_prose()


def new(seed: int = 0, d_model: int = 96) -> writer.LanguageModel:
    """Return an untrained model that knows the letters of the book."""
    torch.manual_seed(seed)
    return writer.LanguageModel("".join(sorted({*writer.prose()})), d_model)


def trained(steps: int, seed: int = 0, d_model: int = 96) -> writer.LanguageModel:
    return writer.train_writer(new(seed, d_model), steps=steps, seed=seed)


def curve(share: int, steps: int) -> dict[str, Any]:
    """Train on a share of the text: the losses on the way and, of all the text, samples."""
    model, since, losses, samples = new(), [], [], []

    def watch(step: int, loss: float) -> None:
        since.append(loss)
        if step in SAMPLED or step % 50 == 0:
            losses.append([step, round(sum(since) / len(since), 3), held_out(model)])
            since.clear()
        if share == 1 and step in SAMPLED:
            draw = torch.Generator().manual_seed(step)
            text = writer.write(model, "\n", 160, temperature=0.8, generator=draw)
            samples.append([step, losses[-1][-1], text[1:]])

    writer.train_writer(model, TEXT[: len(TEXT) // share], steps=steps, watch=watch)
    return {"whole": losses, "samples": samples} if share == 1 else {"fifth": losses}


def held_out(model: writer.LanguageModel) -> float:
    return round(writer.surprise(model, HELD_OUT), 3)


def best(steps: int, path: str | Path) -> dict[str, Any]:
    """Train the model of the book, store it in eight bits, and let it write at temperatures."""
    writer.save_writer(model := trained(steps), path)
    stored = writer.load_writer(path)
    return {"best": [held_out(model), held_out(stored)], "drawn": drawn(stored)}


def drawn(model: writer.LanguageModel) -> list[tuple[float, str]]:
    """Let a model write at several temperatures, from the same beginning."""
    samples = []
    for seed, temperature in enumerate((0.5, 0.7, 1.0, 1.5)):
        draw = torch.Generator().manual_seed(seed)
        text = writer.write(model, "The query ", 120, temperature=temperature, generator=draw)
        samples.append((temperature, text))
    return samples


def main() -> int:
    """Train, print losses; return 1 if the stored model misses what the book promises."""
    parser = argparse.ArgumentParser(description="Train the writer of the book anew.")
    parser.add_argument("parts", nargs="*", default=["best", "whole", "fifth", "seeds"])
    parser.add_argument("--store", action="store_true", help="store what was trained and measured")
    options = parser.parse_args()
    path = STORED if options.store else Path(tempfile.mkdtemp(), STORED.name)
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "best": lambda: best(1500, path),
        "whole": lambda: curve(1, 3000),
        "fifth": lambda: curve(5, 1800),
        "seeds": lambda: {"seeds": [held_out(trained(150, seed)) for seed in range(5)]},
    }
    measured: dict[str, Any] = {}
    for part in options.parts:
        started = time.perf_counter()
        measured |= (new := parts[part]())
        print(f"{part}, {(time.perf_counter() - started) / 60:.1f} minutes: {new}", flush=True)
        if options.store:
            stored = json.loads(MEASURED.read_text("utf-8")) if MEASURED.exists() else {}
            MEASURED.write_text(json.dumps(stored | measured, indent=0) + "\n", encoding="utf-8")
    return int("best" in measured and measured["best"][-1] > PROMISED)


if __name__ == "__main__":
    sys.exit(main())
