"""Training, testing, storing."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from attention_lib.arguments import require_a, require_each
from attention_workbook._training import (
    Watch,
    bytes_of,
    fit,
    load,
    numbers_of,
    require_path,
    require_training,
    restore,
    store,
)
from attention_workbook.reader.network import Reader, Vocabulary
from attention_workbook.reader.sentences import Sentence, split

__all__ = ["accuracy", "load_reader", "save_reader", "train_reader"]

STORED = Path(__file__).with_name("weights.safetensors")
DESCRIPTION = ("words", "num_heads")  # in the order of the checksum
LEXICON = "lexicon"
# The heads that the figure of the reader draws: in that of layer 1 *it* looks at the nouns, in that
# of layer 2 at the last word. A test patches activations to see that only the second decides.
FOLLOWED = (0, 0)
RATE = 1.2e-2
SHARPENING = 1.3  # On sentences that people wrote the reader was right more often than it said.


def encode(
    vocabulary: Vocabulary, sentences: Sequence[Sentence], name: str = "sentences"
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Ids, padded with 0 to equal length; numbers of words; places of *it*; places meant.

    Refuse what are no such sentences, by the ``name`` of the argument.
    """
    for number, item in enumerate(require_each(name, sentences, Sentence)):
        if "it" not in item.words or item.meant not in range(len(item.words)):
            expected = "words, one of them “it”, and the place of one"
            raise ValueError(f"{name}[{number}]: expected {expected}, got {item!r}")
    rows = [torch.tensor(vocabulary.encode(sentence.words, own=True)) for sentence in sentences]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    valid_lens = torch.tensor([len(row) for row in rows])
    it = torch.tensor([sentence.it for sentence in sentences])
    return ids, valid_lens, it, torch.tensor([sentence.meant for sentence in sentences])


def lexicon_mark() -> str:
    """Return what stands for the words of the whole lexicon, with their checksum."""
    return f"{LEXICON} {hashlib.sha256(' '.join(Vocabulary().words).encode()).hexdigest()[:16]}"


def answers_of(sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
    """Return the places that may be meant and how probably, each ``(sentences, 4)``."""
    choices = [
        (*(sentence.answers or ((sentence.meant, 1.0),)), *[(0, 0.0)] * 3)[:4]
        for sentence in sentences
    ]
    places = torch.tensor([[place for place, _ in answers] for answers in choices])
    return places, torch.tensor([[share for _, share in answers] for answers in choices])


def train_reader(
    seed: int = 0,
    *,
    train: Sequence[Sentence] | None = None,
    steps: int = 11_000,
    batch: int = 192,
    progress: bool = True,
    watch: Watch | None = None,
    device: torch.device | str = "cpu",
) -> Reader:
    """Train a reader.

    The loss of a sentence is the surprise: minus the logarithm of the weight that *it* gives to
    the word it means. Where either of two words may be meant, it is the mean of both, as probable
    as they are: the reader learns to be unsure. A reader of the whole lexicon is made a little
    surer at the end, by larger scores.

    Parameters
    ----------
    seed : int
        Decides the first weights and the batches.
    train : sequence of Sentence, optional
        What to learn from; the first half of :func:`~attention_workbook.reader.split` by default.
        The reader
        knows the whole lexicon then, otherwise the words of these sentences.
    steps, batch : int
        How many steps, of how many sentences.
    progress : bool
        Whether a bar shows how far it is.
    watch : callable, optional
        Called after each step with its number and loss.
    device : torch.device, optional
        Where it is trained, and stays; the CPU by default. Random numbers are drawn on the CPU.

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
    >>> from attention_workbook.reader import draw, read
    >>> few = draw(100, small=True)
    >>> reader = train_reader(train=few, steps=2, progress=False)
    >>> read(reader, str(few[0])).words[1:] == few[0].words[1:]
    True
    """
    require_training(seed, steps, batch, progress, watch)
    if train is not None:
        require_each("train", train, Sentence)
    vocabulary = Vocabulary() if train is None else words_in(train)
    threads, surer = (2, SHARPENING) if train is None else (1, 1.0)
    train = split()[0] if train is None else train
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        reader = Reader(vocabulary).to(device)
    generator = torch.Generator().manual_seed(seed)
    ids, valid_lens, it, _ = (x.to(device) for x in encode(reader.vocabulary, train, "train"))
    places, shares = (x.to(device) for x in answers_of(train))
    rows = torch.arange(batch, device=device)

    def surprise() -> Tensor:
        chosen = torch.randint(len(ids), (batch,), generator=generator).to(device)
        longest = int(valid_lens[chosen].max())
        scores = reader(ids[chosen, :longest], valid_lens[chosen]).scores  # (batch, len, len)
        logs = scores[rows, it[chosen]].log_softmax(dim=-1)  # (batch, len)
        log_probabilities: Tensor = logs.gather(-1, places[chosen])  # (batch, 4)
        return -torch.mean((shares[chosen] * log_probabilities).sum(dim=-1))

    fit(reader, surprise, steps, rate=RATE, threads=threads, progress=progress, watch=watch)
    reader.W_q.weight.data *= surer
    return reader


def words_in(sentences: Sequence[Sentence]) -> Vocabulary:
    """Return a vocabulary of the words of sentences, in the lexicon's order."""
    all_words = Vocabulary()
    ids = {
        number for sentence in sentences for number in all_words.encode(sentence.words, own=True)
    }
    return Vocabulary([word for number, word in enumerate(all_words.words) if number in ids])


@torch.no_grad()
def accuracy(reader: Reader, sentences: Sequence[Sentence]) -> float:
    """Return the share of sentences of which a reader says rightly what *it* means.

    Sentences in which either word may be meant do not count.

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
    >>> from attention_workbook.reader import draw
    >>> accuracy(load_reader(), draw(300, seed=1, held_out=True)) > 0.9
    True
    """
    require_a("reader", reader, Reader)
    require_each("sentences", sentences, Sentence)
    clear = [sentence for sentence in sentences if sentence.clear]
    device = reader.embedding.weight.device
    ids, valid_lens, it, meant = (x.to(device) for x in encode(reader.vocabulary, clear))
    rows = torch.arange(len(ids), device=device)
    scores = reader(ids, valid_lens).scores[rows, it]  # (sentences, len)
    return float((scores.argmax(-1) == meant).double().mean())


def save_reader(reader: Reader, path: str | Path) -> None:
    """Store a reader's weights and words in a ``.safetensors`` file, with their checksum.

    The numbers are rounded to 8 bits, with one scale for each matrix. A vocabulary that is the
    whole lexicon is not written out.

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
    words = reader.vocabulary.words
    words_or_mark = lexicon_mark() if words == Vocabulary().words else " ".join(words)
    description = words_or_mark, json.dumps(reader.num_heads)
    store(reader, path, dict(zip(DESCRIPTION, description, strict=True)), bytes_of)


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
    >>> len(reader.vocabulary) > 1000
    True
    """
    if require_path("path", path).is_dir():
        raise ValueError(f"path: expected a file, got the folder {path}")
    tensors, description = load(path, DESCRIPTION, "save_reader")
    if "scales" not in tensors or len(tensors["scales"]) != len(tensors) - 1:
        raise ValueError(f"{path}: the weights of something else: no scale for each matrix")
    tensors = numbers_of(tensors)
    d_model = tensors["embedding.weight"].shape[-1]
    if description["words"].startswith(LEXICON) and description["words"] != lexicon_mark():
        raise ValueError(
            f"{path}: trained on another lexicon; python -m attention_workbook.reader --store"
        )
    vocabulary = Vocabulary(
        None if description["words"] == lexicon_mark() else description["words"].split()
    )
    return restore(Reader(vocabulary, d_model, json.loads(description["num_heads"])), tensors, path)
