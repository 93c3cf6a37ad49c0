"""The text, the training, the storing in eight bits, and the writing."""

import hashlib
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib.arguments import require_a, require_bool, require_count
from attention_workbook import _training
from attention_workbook._training import Watch
from attention_workbook.writer.network import WINDOW, LanguageModel

__all__ = [
    "load_writer",
    "measured",
    "prose",
    "save_writer",
    "split_prose",
    "surprise",
    "train_writer",
    "write",
]

STORED = Path(__file__).with_name("weights.safetensors")
MEASURED = Path(__file__).with_name("measured.json")
# Of prose.txt. What is trained and measured here, was trained and measured on this very text.
SHA256 = "7ee9ae804538313165b8df5f56daeb816c6196e9a7e857a11f1750bc823894e4"
DESCRIPTION = ("letters", "num_heads")  # in the order of the checksum


@cache
def prose() -> str:
    """Return the text that the model learns from: the book's own prose, as it once stood.

    It was taken from the Markdown of the chapters, of their questions and of the pages for
    contributors, without formulas, tables and code, and it stays as it is when the book changes.

    Examples
    --------
    >>> prose().splitlines()[0]
    'Attention in twenty minutes'
    """
    raw = Path(__file__).with_name("prose.txt").read_bytes()
    if hashlib.sha256(raw).hexdigest() != SHA256:
        raise ValueError("prose.txt: expected the text that the writer was trained on, got another")
    return raw.decode("ascii")


def split_prose(text: str | None = None) -> tuple[str, str]:
    """Hold out every tenth paragraph of a text.

    Return what to learn from, and what is held out. Paragraphs stand one a line; they are those
    of :func:`prose` by default.

    Examples
    --------
    >>> split_prose("a\\nb\\nc\\nd\\ne\\nf\\ng\\nh\\ni\\nj\\nk")[1]
    'j'
    """
    require_a("text", text := prose() if text is None else text, str)
    paragraphs = text.splitlines()
    learned = [paragraph for number, paragraph in enumerate(paragraphs, 1) if number % 10]
    return "\n".join(learned), "\n".join(paragraphs[9::10])


def train_writer(
    model: LanguageModel,
    text: str | None = None,
    *,
    seed: int = 0,
    steps: int = 200,
    batch: int = 16,
    progress: bool = True,
    watch: Watch | None = None,
) -> LanguageModel:
    """Train a language model, and return it.

    Each step draws stretches of :data:`~attention_workbook.writer.network.WINDOW` letters and one
    letter
    more. The loss is the surprise at each letter but the first, minus the logarithm of the
    probability it was given, in nats, averaged over the batch.

    Parameters
    ----------
    model : LanguageModel
        Its weights are changed, wherever they stand at the beginning, and on whatever device.
    text : str, optional
        What to learn from, in the model's letters; by default that of :func:`split_prose`.
    seed : int
        Decides the stretches.
    steps, batch : int
        How many steps, of how many stretches.
    progress, watch
        As in :func:`~attention_workbook.copying.train_copier`.

    Examples
    --------
    >>> model = LanguageModel("be nort,", d_model=16)
    >>> model = train_writer(model, "to be or not to be, " * 10, steps=2, progress=False)
    """
    _training.require_training(seed, steps, batch, progress, watch)
    ids = _ids(model, split_prose()[0] if text is None else text)
    generator = torch.Generator().manual_seed(seed)

    def loss() -> Tensor:
        starts = torch.randint(len(ids) - WINDOW, (batch, 1), generator=generator)
        places = starts + torch.arange(WINDOW + 1)  # drawn on the CPU
        return _surprise(model, ids[places.to(ids.device)])

    return _training.fit(model, loss, steps, progress=progress, watch=watch)


def _ids(model: LanguageModel, text: str) -> Tensor:
    """Return the ids of a text that is long enough for at least one stretch."""
    require_a("model", model, LanguageModel)
    ids = torch.tensor(model.encode(text), device=model.embedding.weight.device)
    if len(ids) <= WINDOW:
        raise ValueError(f"text: expected more than {WINDOW} letters, got {len(ids)}")
    return ids


def _surprise(model: LanguageModel, stretches: Tensor) -> Tensor:
    """Minus the logarithm of each letter's probability, given those before it; the mean."""
    logits = model(stretches[:, :-1])[0]  # (batch, len, letters)
    return F.cross_entropy(logits.flatten(0, 1), stretches[:, 1:].flatten())


@torch.no_grad()
def surprise(model: LanguageModel, text: str) -> float:
    """Return a model's mean surprise at the letters of a text, in nats.

    The text is read in stretches of :data:`~attention_workbook.writer.network.WINDOW` letters,
    each anew;
    what is left at the end is not read.

    Examples
    --------
    >>> surprise(load_writer(), split_prose()[1]) < 1.4
    True
    """
    stretches = _ids(model, text).unfold(0, WINDOW + 1, WINDOW)
    parts = [stretches[start : start + 32] for start in range(0, len(stretches), 32)]
    return sum(float(_surprise(model, part)) * len(part) for part in parts) / len(stretches)


def save_writer(model: LanguageModel, path: str | Path) -> None:
    """Store a model in eight bits, with its letters and a checksum, as a safetensors file.

    Of each matrix there are whole numbers from -127 to 127, and a scale for each row. Vectors stay
    as they are, in float32.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/mine.safetensors"
    >>> save_writer(LanguageModel("abc", d_model=8, num_heads=2, num_layers=1), path)
    >>> load_writer(path).letters
    'abc'
    """
    require_a("model", model, LanguageModel)
    description = dict(zip(DESCRIPTION, (model.letters, str(model.num_heads)), strict=True))
    _training.store(model, _training.require_path("path", path), description, _rounded)


def _rounded(model: nn.Module) -> dict[str, Tensor]:
    """Return matrices as bytes and a scale for each row; vectors as they are."""
    tensors = {}
    for name, x in model.state_dict().items():
        if x.dim() == 2:
            tensors[f"{name}.scale"] = scale = x.abs().amax(dim=1, keepdim=True) / 127
            x = (x / scale.clamp(min=1e-30)).round().to(torch.int8)
        tensors[name] = x.cpu().contiguous()
    return tensors


def load_writer(path: str | Path = STORED) -> LanguageModel:
    """Load a model: the book's own, or one that :func:`save_writer` stored.

    Examples
    --------
    >>> sum(parameter.numel() for parameter in load_writer().parameters()) < 400_000
    True
    """
    tensors, description = _training.load(
        _training.require_path("path", path), DESCRIPTION, "save_writer"
    )
    num_layers = sum(name.endswith("W_q.weight") for name in tensors)
    d_model = tensors["embedding.weight"].shape[1]
    model = LanguageModel(
        description["letters"], d_model, int(description["num_heads"]), num_layers
    )
    weights = {
        name: x.float() * tensors[f"{name}.scale"] if f"{name}.scale" in tensors else x
        for name, x in tensors.items()
        if not name.endswith(".scale")
    }
    return _training.restore(model, weights, path)


@cache
def measured() -> dict[str, Any]:
    """Return what ``python -m attention_workbook.writer --store`` measured when it trained; losses
    in nats.

    ``whole``: step, loss in training since the row before, and held-out loss; ``fifth``: the same
    where it learns from a fifth of the text. ``samples``: step, held-out loss, text.
    ``best``: held-out loss of the book's model, before it was stored and after. ``drawn``:
    temperature and text of this model. ``seeds``: held-out losses after 150 steps.

    Examples
    --------
    >>> sorted(measured())
    ['best', 'drawn', 'fifth', 'samples', 'seeds', 'whole']
    """
    return dict(json.loads(MEASURED.read_text(encoding="utf-8")))


def _next(logits: Tensor, temperature: float, generator: torch.Generator | None) -> int:
    """Draw the next letter from its scores ``(letters,)``."""
    if temperature == 0:
        return int(logits.argmax())
    probabilities = (logits.cpu().double() / temperature).softmax(dim=-1)
    return int(torch.multinomial(probabilities, 1, generator=generator))


@torch.no_grad()
def write(
    model: LanguageModel,
    text: str,
    length: int = 100,
    *,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    cached: bool = True,
) -> str:
    """Let a model continue a text.

    Parameters
    ----------
    model : LanguageModel
    text : str
        The beginning, at least one letter.
    length : int
        How many letters to write.
    temperature, generator
        At 1 each letter is drawn with the probability that the model gives it, at 0 the most
        probable one is taken.
    cached : bool
        Whether keys and values are kept from letter to letter. ``False`` reads the whole text anew
        for every letter, and writes the same.

    Examples
    --------
    >>> from attention_workbook.writer import load_writer
    >>> write(load_writer(), "The quer", 1, temperature=0)
    'The query'
    """
    require_a("model", model, LanguageModel)
    require_count("length", length)
    require_bool("cached", cached)
    if not isinstance(temperature, int | float) or not 0 <= temperature < math.inf:
        raise ValueError(f"temperature: expected a number from 0 on, got {temperature!r}")
    ids = model.encode(text)
    if not ids:
        raise ValueError("text: expected a beginning of at least one letter, got ''")
    caches = model.new_caches() if cached else None
    unread_ids = ids
    for _ in range(length):
        unread = torch.tensor([unread_ids if cached else ids], device=model.embedding.weight.device)
        ids.append(_next(model(unread, caches)[0][0, -1], temperature, generator))
        unread_ids = ids[-1:]
    return model.decode(ids)
