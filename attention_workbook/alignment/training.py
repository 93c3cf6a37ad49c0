"""Training, testing, storing."""

import datetime
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_workbook._training import (
    Watch,
    fit,
    load,
    require_path,
    require_training,
    restore,
    store,
)
from attention_workbook.alignment.dates import FORMATS, split_dates, write_date
from attention_workbook.alignment.network import Aligner, Characters, require_score
from attention_workbook.arguments import require_a, require_each, require_positive

__all__ = [
    "Run",
    "exact_match",
    "examples",
    "load_aligner",
    "measured_runs",
    "save_aligner",
    "train_aligner",
]

STORED = Path(__file__).parent  # one file for each score, that of seed 0
DESCRIPTION = ("characters", "num_heads", "runs", "score")  # in the order of the checksum


class Run(NamedTuple):
    """One training, as it was measured.

    Attributes
    ----------
    score : str
    seed : int
    seconds : float
        Of one processor core.
    exact : float
        The share of held-out dates of which all eight digits are right.
    rate : float
        The highest learning rate.

    Examples
    --------
    >>> Run("dot", 0, 30.0, 0.995).rate
    0.005
    """

    score: str
    seed: int
    seconds: float
    exact: float
    rate: float = 5e-3


def examples(
    dates: Sequence[datetime.date], generator: torch.Generator | None = None
) -> list[tuple[str, str]]:
    """Write each date once, and beside it the eight digits that have to be read.

    Parameters
    ----------
    dates : sequence of datetime.date
    generator : torch.Generator, optional
        Draws the format of each; without one, the formats take turns.

    Returns
    -------
    list of (str, str)

    Raises
    ------
    TypeError
        If these are no dates, or ``generator`` no ``torch.Generator``.

    Examples
    --------
    >>> examples([datetime.date(2010, 11, 12)])
    [('2010-11-12', '20101112')]
    """
    dates = require_each("dates", dates, datetime.date, minimum=0)
    chosen = torch.arange(len(dates)) % len(FORMATS)
    if generator is not None:
        require_a("generator", generator, torch.Generator)
        chosen = torch.randint(len(FORMATS), (len(dates),), generator=generator)
    return [
        (write_date(date, FORMATS[number]), f"{date:%Y%m%d}")
        for date, number in zip(dates, chosen.tolist(), strict=True)
    ]


def encode(
    characters: Characters, pairs: Sequence[tuple[str, str]], name: str = "pairs"
) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, padded with 0 to equal length; numbers of characters; digits ``(examples, 8)``.

    Refuse what are no such pairs, by the ``name`` of the argument.
    """
    for number, pair in enumerate(require_each(name, pairs, tuple)):
        if [*map(type, pair)] != [str, str] or not re.fullmatch("[0-9]{8}", pair[1]):
            raise ValueError(f"{name}[{number}]: expected a text and eight digits, got {pair!r}")
    rows = [torch.tensor(characters.encode(text)) for text, _ in pairs]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    valid_lens = torch.tensor([len(row) for row in rows])
    return ids, valid_lens, torch.tensor([[int(digit) for digit in digits] for _, digits in pairs])


def train_aligner(
    score: str = "scaled",
    seed: int = 0,
    *,
    train: Sequence[tuple[str, str]] | None = None,
    steps: int = 1000,
    batch: int = 256,
    rate: float = 5e-3,
    progress: bool = True,
    watch: Watch | None = None,
    device: torch.device | str = "cpu",
) -> Aligner:
    """Train an aligner.

    The loss is the surprise at a digit, minus the logarithm of the probability it was given,
    averaged over the eight digits and the batch.

    Parameters
    ----------
    score : str
        Which of :data:`~attention_workbook.alignment.network.SCORES` the eight queries use.
    seed : int
        Decides the first weights, the formats and the batches.
    train : sequence of (str, str), optional
        Texts and their digits; by default :func:`examples` of all dates to learn from.
    steps, batch : int
        How many steps, of how many dates.
    rate : float
        The highest learning rate; it rises to this in a tenth of the steps and then falls.
    progress : bool
        Whether a bar shows how far it is.
    watch : callable, optional
        Called after each step with its number and loss.
    device : torch.device, optional
        Where it is trained, and stays; the CPU by default. Random numbers are drawn on the CPU.

    Returns
    -------
    Aligner

    Raises
    ------
    TypeError, ValueError
        If there is no such score, if ``train`` holds no texts with eight digits each, or if
        something else is of the wrong kind.

    Examples
    --------
    >>> aligner = train_aligner(train=[("12.11.2010", "20101112")], steps=2, progress=False)
    >>> sum(parameter.numel() for parameter in aligner.parameters()) < 20_000
    True
    """
    require_training(seed, steps, batch, progress, watch)
    require_positive("rate", rate)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        aligner = Aligner(score).to(device)
    generator = torch.Generator().manual_seed(seed)
    train = examples(split_dates()[0], generator) if train is None else train
    ids, valid_lens, digits = (x.to(device) for x in encode(aligner.characters, train, "train"))

    def surprise() -> Tensor:
        chosen = torch.randint(len(train), (batch,), generator=generator).to(device)
        lengths = valid_lens[chosen]
        digit_scores, _ = aligner(ids[chosen, : lengths.max()], lengths)  # (batch, 8, 10)
        return F.cross_entropy(digit_scores.flatten(0, 1), digits[chosen].flatten())

    desc = f"training, {score}"
    return fit(aligner, surprise, steps, rate=rate, desc=desc, progress=progress, watch=watch)


@torch.no_grad()
def read_digits(aligner: Aligner, pairs: Sequence[tuple[str, str]]) -> Tensor:
    """Whether each digit of each example is read rightly, ``(examples, 8)``."""
    device = aligner.embedding.weight.device
    ids, valid_lens, digits = (x.to(device) for x in encode(aligner.characters, pairs))
    parts = [slice(start, start + 1024) for start in range(0, len(ids), 1024)]
    return torch.cat([aligner(ids[x], valid_lens[x])[0].argmax(-1) for x in parts]) == digits


def exact_match(aligner: Aligner, pairs: Sequence[tuple[str, str]]) -> float:
    """Return the share of examples of which an aligner reads all eight digits rightly.

    Parameters
    ----------
    aligner : Aligner
    pairs : sequence of (str, str)
        Texts and their digits, at least one.

    Raises
    ------
    TypeError, ValueError
        If ``aligner`` is none, or ``pairs`` hold no texts that it can read with eight digits each.

    Examples
    --------
    >>> _, test = split_dates()
    >>> exact_match(load_aligner(), examples(test)) >= 0.99
    True
    """
    require_a("aligner", aligner, Aligner)
    return float(read_digits(aligner, pairs).all(dim=-1).double().mean())


def file_of(score: str, folder: str | Path = STORED) -> Path:
    """Where the aligner with a score is stored."""
    require_score(score)
    return require_path("folder", folder) / f"{score}.safetensors"


def save_aligner(aligner: Aligner, folder: str | Path, runs: Sequence[Run] = ()) -> None:
    """Store an aligner in a folder, as ``SCORE.safetensors``, with its checksum.

    The numbers are rounded to float16, half the bytes.

    Parameters
    ----------
    aligner : Aligner
    folder : str or path
    runs : sequence of Run, optional
        What was measured when it and its like were trained.

    Raises
    ------
    TypeError, ValueError
        If ``aligner`` or one of the runs is none, or ``folder`` no folder that exists.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save_aligner(Aligner("dot"), folder, [Run("dot", 0, 30.0, 0.995)])
    >>> load_aligner("dot", folder).score, measured_runs("dot", folder)[0].seconds
    ('dot', 30.0)
    """
    require_a("aligner", aligner, Aligner)
    runs = require_each("runs", runs, Run, minimum=0)
    if not require_path("folder", folder).is_dir():
        raise ValueError(f"folder: expected a folder that exists, got {folder}")
    heads = str(aligner.attention.num_heads)
    description = aligner.characters.known, heads, json.dumps(runs), aligner.score
    store(aligner, file_of(aligner.score, folder), dict(zip(DESCRIPTION, description, strict=True)))


def load_aligner(score: str = "scaled", folder: str | Path = STORED) -> Aligner:
    """Load an aligner: one of the book's three, or one that :func:`save_aligner` stored.

    Parameters
    ----------
    score : str
        Which of :data:`~attention_workbook.alignment.network.SCORES` its eight queries use.
    folder : str or path, optional
        Where it was stored; the book's own by default.

    Raises
    ------
    FileNotFoundError
        If nothing was stored there for this score.
    TypeError, ValueError
        If there is no such score, if ``folder`` is no path, or if the file is damaged or holds the
        weights of something else.

    Examples
    --------
    >>> sum(parameter.numel() for parameter in load_aligner("dot").parameters()) < 20_000
    True
    """
    path = file_of(score, folder)
    tensors, description = load(path, DESCRIPTION, "save_aligner")
    if description["score"] != score:
        raise ValueError(f"{path}: the weights of something else: {description['score']!r}")
    characters = Characters(description["characters"])
    d_model = tensors["embedding.weight"].shape[-1]
    aligner = Aligner(score, characters, d_model, int(description["num_heads"]))
    return restore(aligner, tensors, path)


def measured_runs(score: str, folder: str | Path = STORED) -> list[Run]:
    """Return what was measured when the aligners with a score were trained: a run a rate and seed.

    Parameters
    ----------
    score : str
    folder : str or path, optional
        Where they were stored; the book's own by default.

    Raises
    ------
    FileNotFoundError, TypeError, ValueError
        As :func:`load_aligner`.

    Examples
    --------
    >>> sorted({run.rate for run in measured_runs("dot")})
    [0.005, 0.01]
    """
    _, description = load(file_of(score, folder), DESCRIPTION, "save_aligner")
    return [Run(*run) for run in json.loads(description["runs"])]
