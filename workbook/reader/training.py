"""Training, testing, storing."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lib._arguments import require_a, require_each
from workbook._training import Watch, fit, require_path, require_training, restore, store, stored
from workbook.reader.network import Reader, Vocabulary
from workbook.reader.sentences import Sentence, split

__all__ = ["accuracy", "load_reader", "save_reader", "train_reader"]

STORED = Path(__file__).with_name("weights.safetensors")
TOLD = ("words", "num_heads")  # in the order of the checksum


def encode(
    vocabulary: Vocabulary, sentences: Sequence[Sentence], name: str = "sentences"
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Ids, padded with 0 to equal length; numbers of words; places of *it*; places meant.

    Refuse what are no such sentences, by the ``name`` of the argument.
    """
    for number, one in enumerate(require_each(name, sentences, Sentence)):
        if "it" not in one.words or one.meant not in range(len(one.words)):
            wanted = "words, one of them “it”, and the place of one"
            raise ValueError(f"{name}[{number}]: expected {wanted}, got {one!r}")
    rows = [torch.tensor(vocabulary.encode(sentence.words)) for sentence in sentences]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    valid_lens = torch.tensor([len(row) for row in rows])
    it = torch.tensor([sentence.it for sentence in sentences])
    return ids, valid_lens, it, torch.tensor([sentence.meant for sentence in sentences])


def train_reader(
    seed: int = 0,
    *,
    train: Sequence[Sentence] | None = None,
    steps: int = 700,
    batch: int = 128,
    progress: bool = True,
    watch: Watch | None = None,
) -> Reader:
    """Train a reader.

    Each step draws a batch in which all frames are equally frequent. The loss is the surprise:
    minus the logarithm of the weight that *it* gives to the word it means.

    Parameters
    ----------
    seed : int
        Decides the first weights and the batches.
    train : sequence of Sentence, optional
        What to learn from; the first half of :func:`~workbook.reader.split` by default.
    steps, batch : int
        How many steps, of how many sentences.
    progress : bool
        Whether a bar shows how far it is.
    watch : callable, optional
        Called after each step with its number and loss.

    Returns
    -------
    Reader

    Raises
    ------
    TypeError, ValueError
        If ``train`` holds no sentences that a reader can read, or something else is of the wrong
        kind.

    Examples
    --------
    >>> reader = train_reader(steps=2, progress=False)
    >>> sum(parameter.numel() for parameter in reader.parameters()) < 60_000
    True
    """
    require_training(seed, steps, batch, progress, watch)
    train = split()[0] if train is None else train
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        reader = Reader(Vocabulary())
    generator = torch.Generator().manual_seed(seed)
    ids, valid_lens, it, meant = encode(reader.vocabulary, train, "train")
    frequency = Counter(sentence.frame for sentence in train)
    share = torch.tensor([1 / frequency[sentence.frame] for sentence in train])

    def surprise() -> Tensor:
        chosen = share.multinomial(batch, replacement=True, generator=generator)
        scores = reader(ids[chosen], valid_lens[chosen]).scores  # (batch, len, len)
        return F.cross_entropy(scores[torch.arange(batch), it[chosen]], meant[chosen])

    return fit(
        reader,
        surprise,
        steps,
        weight_decay=0.3,
        desc="training",
        progress=progress,
        watch=watch,
    )


@torch.no_grad()
def accuracy(reader: Reader, sentences: Sequence[Sentence]) -> float:
    """Return the share of sentences of which a reader says rightly what *it* means.

    Parameters
    ----------
    reader : Reader
    sentences : sequence of Sentence
        At least one.

    Raises
    ------
    TypeError, ValueError
        If ``reader`` is none, or ``sentences`` are none that it can read.

    Examples
    --------
    >>> train, test = split()
    >>> accuracy(load_reader(), test) >= 0.99
    True
    """
    require_a("reader", reader, Reader)
    ids, valid_lens, it, meant = encode(reader.vocabulary, sentences)
    scores = reader(ids, valid_lens).scores[torch.arange(len(ids)), it]  # (sentences, len)
    return float((scores.argmax(-1) == meant).double().mean())


def save_reader(reader: Reader, path: str | Path) -> None:
    """Store a reader's weights and words in a ``.safetensors`` file, with their checksum.

    The numbers are rounded to float16, half the bytes; what it concludes stays the same.

    Raises
    ------
    TypeError, ValueError
        If ``reader`` is none, or ``path`` no file in a folder that exists.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.safetensors"
    >>> save_reader(Reader(), path)
    >>> load_reader(path).num_heads
    (4, 2)
    """
    require_a("reader", reader, Reader)
    if not require_path("path", path).parent.is_dir():
        raise ValueError(f"path: expected a file in a folder that exists, got {path}")
    told = json.dumps(reader.vocabulary.words), json.dumps(reader.num_heads)
    store(reader, path, dict(zip(TOLD, told, strict=True)))


def load_reader(path: str | Path = STORED) -> Reader:
    """Load a reader: that of the book, or one that :func:`save_reader` stored.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TypeError, ValueError
        If ``path`` is no file, or the file is damaged, or holds the weights of something else.

    Examples
    --------
    >>> reader = load_reader()
    >>> len(reader.vocabulary) >= 60
    True
    """
    if require_path("path", path).is_dir():
        raise ValueError(f"path: expected a file, got the folder {path}")
    tensors, told = stored(path, TOLD, "save_reader")
    d_model = tensors["embedding.weight"].shape[-1]
    words, num_heads = (json.loads(told[name]) for name in TOLD)
    return restore(Reader(Vocabulary(words), d_model, num_heads), tensors, path)
