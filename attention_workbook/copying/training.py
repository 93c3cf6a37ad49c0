"""Texts that repeat, training on them, measuring, storing."""

import json
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib.arguments import require_a, require_count, require_each
from attention_workbook._training import (
    Watch,
    fit,
    load,
    require_path,
    require_training,
    restore,
    store,
)
from attention_workbook.copying.network import LETTERS, MAX_LEN, Copier

__all__ = [
    "Run",
    "draw_texts",
    "load_copier",
    "measure",
    "measured_runs",
    "save_copier",
    "train_copier",
]

STORED = Path(__file__).with_name("weights.safetensors")


class Run(NamedTuple):
    """What was measured of a copier.

    ``right`` is the share of the letters that it foretells, of those that can be known; ``loss``
    their mean cross-entropy in nats. ``previous`` and ``induction`` have a number for each layer:
    the mean weight on the place before, where the text is new, and the mean weight, where the text
    repeats, on all places that follow an earlier copy of the letter that asks.

    Examples
    --------
    >>> Run(2, 0, 0.9, 0.1, [1.0, 0.0], [0.0, 1.0]).previous[0]
    1.0
    """

    layers: int
    seed: int
    right: float
    loss: float
    previous: list[float]
    induction: list[float]


def draw_texts(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw random texts, each of which from some place on repeats what it said before.

    The stretch that is repeated has 5 to 15 letters and begins at one of the first 21 places, so
    that no fixed distance tells the next letter.

    Returns
    -------
    ids : Tensor
        Numbers of letters, ``(count, 40)``.
    starts : Tensor
        Where each text begins to repeat, ``(count,)``. From this letter on the next can be known.

    Raises
    ------
    TypeError, ValueError
        If ``count`` is no number of at least 1, or ``generator`` none.

    Examples
    --------
    >>> ids, starts = draw_texts(2, torch.Generator().manual_seed(0))
    >>> "".join(LETTERS[i] for i in ids[0].tolist()), int(starts[0])
    ('zrdzrrzyqvkasomhmpjwwjppdebupmhmpjwwjppd', 29)
    """
    require_count("count", count)
    require_a("generator", generator, torch.Generator)
    period = torch.randint(5, 16, (count, 1), generator=generator)
    begin = torch.randint(0, 21, (count, 1), generator=generator)
    letters = torch.randint(len(LETTERS), (count, MAX_LEN), generator=generator)
    place = torch.arange(MAX_LEN)
    source = torch.where(place < begin, place, begin + (place - begin) % period)  # (count, 40)
    return letters.gather(-1, source), (begin + period)[:, 0]


def _predictable(ids: Tensor, starts: Tensor) -> Tensor:
    """The places after which the next letter can be known, ``(count, len - 1)``."""
    return torch.arange(ids.shape[1] - 1, device=ids.device) >= starts[:, None]


def train_copier(
    seed: int = 0,
    num_layers: int = 2,
    *,
    steps: int = 1000,
    progress: bool = True,
    watch: Watch | None = None,
    device: torch.device | str = "cpu",
) -> Copier:
    """Train a copier to foretell the next letter where a text repeats.

    Parameters
    ----------
    seed : int
        Decides the first weights and the texts, of which there are 32 new ones at every step.
    num_layers, steps : int
    progress : bool
        Whether a bar shows how far it is.
    watch : callable, optional
        Called after each step with its number and loss.
    device : torch.device, optional
        Where it is trained, and stays; the CPU by default. Random numbers are drawn on the CPU.

    Raises
    ------
    TypeError, ValueError
        If something is of the wrong kind.

    Examples
    --------
    >>> len(train_copier(num_layers=3, steps=2, progress=False).attentions)
    3
    """
    require_training(seed, steps, 32, progress, watch)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        copier = Copier(num_layers).to(device)
    generator = torch.Generator().manual_seed(seed)

    def surprise() -> Tensor:
        ids, starts = (x.to(device) for x in draw_texts(32, generator))
        known = _predictable(ids, starts)
        return F.cross_entropy(copier(ids).scores[:, :-1][known], ids[:, 1:][known])

    return fit(copier, surprise, steps, progress=progress, watch=watch)


@torch.no_grad()
def measure(copier: Copier, ids: Tensor, starts: Tensor, seed: int = 0) -> Run:
    """Measure a copier on texts as :func:`draw_texts` draws them.

    ``seed``, what the copier was trained with, is handed on.

    Raises
    ------
    TypeError, ValueError
        If ``copier`` is none, or ``ids`` are no texts that it can read.

    Examples
    --------
    >>> run = measure(load_copier(), *draw_texts(200, torch.Generator().manual_seed(1)))
    >>> run.right > 0.8, run.previous[0] > run.previous[1], run.induction[1] > run.induction[0]
    (True, True, True)
    """
    require_a("copier", copier, Copier)
    reading = copier(ids)
    known, right = _predictable(ids, starts), ids[:, 1:]
    scores = reading.scores[:, :-1]
    fresh = (
        torch.arange(1, ids.shape[1], device=ids.device) < starts[:, None]
    )  # places 1 and on: (count, len - 1)
    before = F.pad(ids, (1, 0), value=-1)[:, :-2]  # the letter before each: (count, len - 1)
    follows = ids[:, :-1, None] == before[:, None]  # (count, len_q, len_k)
    previous = [
        layer_weights.diagonal(-1, -2, -1)[fresh].mean().item() for layer_weights in reading.weights
    ]
    induction = [
        (layer_weights[:, :-1, :-1] * follows).sum(-1)[known].mean().item()
        for layer_weights in reading.weights
    ]
    share = (scores.argmax(-1) == right)[known].double().mean().item()
    loss = F.cross_entropy(scores[known], right[known]).item()
    return Run(len(reading.weights), seed, share, loss, previous, induction)


def save_copier(copier: Copier, path: str | Path, runs: list[Run] | None = None) -> None:
    """Store a copier's weights in a ``.safetensors`` file, in float16, with their checksum.

    ``runs`` are what was measured when it and its like were trained.

    Raises
    ------
    TypeError, ValueError
        If ``copier`` or one of the runs is none, or ``path`` no file in a folder that exists.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.safetensors"
    >>> save_copier(Copier(num_layers=1), path)
    >>> len(load_copier(path).attentions), measured_runs(path)
    (1, [])
    """
    require_a("copier", copier, Copier)
    if not require_path("path", path).parent.is_dir():
        raise ValueError(f"path: expected a file in a folder that exists, got {path}")
    store(copier, path, {"runs": json.dumps(require_each("runs", runs or [], Run, minimum=0))})


def load_copier(path: str | Path = STORED) -> Copier:
    """Load a copier: that of the book, or one that :func:`save_copier` stored.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TypeError, ValueError
        If ``path`` is none, or the file is damaged, or holds the weights of something else.

    Examples
    --------
    >>> len(load_copier().attentions)
    2
    """
    tensors, _ = load(require_path("path", path), ["runs"], "save_copier")
    layers = {name.split(".")[1] for name in tensors if name.startswith("attentions.")}
    copier = Copier(max(len(layers), 1), tensors["embedding.weight"].shape[-1])
    return restore(copier, tensors, path)


def measured_runs(path: str | Path = STORED) -> list[Run]:
    """Return what was measured when copiers were trained: seeds 0 to 4, of two layers and of one.

    Raises
    ------
    FileNotFoundError, TypeError, ValueError
        As :func:`load_copier`.

    Examples
    --------
    >>> sorted({run.seed for run in measured_runs()})
    [0, 1, 2, 3, 4]
    """
    _, description = load(require_path("path", path), ["runs"], "save_copier")
    return [Run(*run) for run in json.loads(description["runs"])]
