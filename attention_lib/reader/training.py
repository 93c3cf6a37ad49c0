"""Training, testing, storing."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from tqdm.auto import tqdm

from attention_lib.reader.network import Reader, Vocabulary
from attention_lib.reader.sentences import Sentence, split

__all__ = ["accuracy", "load_reader", "save_reader", "train_reader"]

STORED = Path(__file__).with_name("weights.safetensors")


def encode(
    vocabulary: Vocabulary, sentences: Sequence[Sentence]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Ids, padded with 0 to equal length; numbers of words; places of *it*; places meant."""
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
    watch: Callable[[int, float], None] | None = None,
) -> Reader:
    """Train a reader.

    Each step draws a batch in which all frames are equally frequent. The loss is the surprise:
    minus the logarithm of the weight that *it* gives to the word it means.

    Parameters
    ----------
    seed : int
        Decides the first weights and the batches.
    train : sequence of Sentence, optional
        What to learn from; the first half of :func:`~attention_lib.reader.split` by default.
    steps, batch : int
        How many steps, of how many sentences.
    progress : bool
        Whether a bar shows how far it is.
    watch : callable, optional
        Called after each step with its number and loss.

    Returns
    -------
    Reader

    Examples
    --------
    >>> reader = train_reader(steps=2, progress=False)
    >>> sum(parameter.numel() for parameter in reader.parameters()) < 60_000
    True
    """
    train = split()[0] if train is None else train
    if not train:
        raise ValueError("train: expected at least one sentence, got none")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        reader = Reader(Vocabulary())
    generator = torch.Generator().manual_seed(seed)
    ids, valid_lens, it, meant = encode(reader.vocabulary, train)
    frequency = Counter(sentence.frame for sentence in train)
    share = torch.tensor([1 / frequency[sentence.frame] for sentence in train])
    optimizer = torch.optim.AdamW(reader.parameters(), betas=(0.9, 0.98), weight_decay=0.3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, steps, pct_start=0.1)
    with tqdm(range(1, steps + 1), disable=not progress, desc="training") as bar:
        for step in bar:
            chosen = share.multinomial(batch, replacement=True, generator=generator)
            scores = reader(ids[chosen], valid_lens[chosen]).scores  # (batch, len, len)
            loss = F.cross_entropy(scores[torch.arange(batch), it[chosen]], meant[chosen])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            bar.set_postfix(loss=f"{loss.item():.4f}", refresh=False)
            if watch:
                watch(step, loss.item())
    return reader.eval()


@torch.no_grad()
def accuracy(reader: Reader, sentences: Sequence[Sentence]) -> float:
    """Return the share of sentences of which a reader says rightly what *it* means.

    Examples
    --------
    >>> train, test = split()
    >>> accuracy(load_reader(), test) >= 0.99
    True
    """
    ids, valid_lens, it, meant = encode(reader.vocabulary, sentences)
    scores = reader(ids, valid_lens).scores[torch.arange(len(ids)), it]  # (sentences, len)
    return float((scores.argmax(-1) == meant).double().mean())


def save_reader(reader: Reader, path: str | Path) -> None:
    """Store a reader's weights and words in a ``.safetensors`` file, with their checksum.

    The numbers are rounded to float16, half the bytes; what it concludes stays the same.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.safetensors"
    >>> save_reader(Reader(), path)
    >>> load_reader(path).num_heads
    (4, 2)
    """
    tensors = {
        name: tensor.half().cpu().contiguous() for name, tensor in reader.state_dict().items()
    }
    words, heads = json.dumps(reader.vocabulary.words), json.dumps(reader.num_heads)
    metadata = {"words": words, "num_heads": heads}
    save_file(tensors, path, metadata={**metadata, "sha256": _checksum(tensors, metadata)})


def _checksum(tensors: dict[str, Tensor], metadata: dict[str, str]) -> str:
    digest = hashlib.sha256(json.dumps([metadata["words"], metadata["num_heads"]]).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()


def load_reader(path: str | Path = STORED) -> Reader:
    """Load a reader: that of the book, or one that :func:`save_reader` stored.

    Raises
    ------
    ValueError
        If the file is damaged, or holds the weights of something else.

    Examples
    --------
    >>> reader = load_reader()
    >>> len(reader.vocabulary) >= 60
    True
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path}: no whole safetensors file ({error})") from None
    if not {"words", "num_heads", "sha256"} <= metadata.keys():
        raise ValueError(
            f"{path}: not written by save_reader: its words or its checksum are missing"
        )
    if _checksum(tensors, metadata) != metadata["sha256"]:
        raise ValueError(f"{path}: damaged: the weights do not fit the checksum stored with them")
    if "embedding.weight" not in tensors:
        raise ValueError(f"{path}: the weights of something else: there is no embedding.weight")
    d_model = tensors["embedding.weight"].shape[-1]
    reader = Reader(
        Vocabulary(json.loads(metadata["words"])), d_model, json.loads(metadata["num_heads"])
    )
    expected = {name: tuple(tensor.shape) for name, tensor in reader.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise ValueError(
                f"{path}: the weights of something else: for {name} expected shape "
                f"{expected.get(name, 'none')}, got {found.get(name, 'none')}"
            )
    reader.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return reader.eval()
