"""What a head does: ablate it, patch its output, weigh what it looks at."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from attention_lib.arguments import is_index, require_a, require_each
from attention_lib.masking import length_mask
from attention_lib.multihead import MultiHeadAttention, split_heads
from attention_workbook.reader.network import Reader, Reading, read
from attention_workbook.reader.sentences import Sentence
from attention_workbook.reader.training import encode

__all__ = ["patch", "read_without", "value_norms", "without_head"]


def without_head(
    reader: Reader, layer: int, head: int, mean_over: Sequence[Sentence] | None = None
) -> Reader:
    """Return a copy of a reader in which one head is ablated.

    The head still looks, so that its map can be drawn, but its output no longer depends on where.
    At every word it is 0 or, by ``mean_over``, always the same vector.

    Parameters
    ----------
    reader : Reader
        It stays as it is.
    layer, head : int
        Counted from 0. The pointing head is none of them: without it there is no answer.
    mean_over : sequence of Sentence, optional
        Ablation by the mean: the head brings to every word its mean output over all words of
        these sentences. Without them it brings 0.

    Raises
    ------
    TypeError, ValueError
        If ``reader`` is none, or has no such head, or cannot read the sentences.

    Examples
    --------
    >>> from attention_workbook.reader import accuracy, draw, load_reader
    >>> reader, test = load_reader(), draw(300, seed=1, held_out=True)
    >>> accuracy(without_head(reader, layer=1, head=0), test) < accuracy(reader, test)
    True
    >>> by_mean = without_head(reader, layer=1, head=0, mean_over=draw(100))
    """
    columns = _columns(reader, layer, head)
    reader = copy.deepcopy(reader)
    output = _attention(reader, layer).W_o
    with torch.no_grad():
        if mean_over is not None:
            mean = _mean_output(reader, layer, mean_over)[columns]
            output.bias = nn.Parameter(output.weight[:, columns] @ mean)
        output.weight[:, columns] = 0
    return reader


def patch(
    reader: Reader,
    text: str,
    other: str,
    layer: int,
    head: int | None,
    word: str | Sequence[str],
) -> Reading:
    """Read a sentence, with what a head brings to a word patched in from another sentence.

    This is activation patching. If the conclusion turns into that of the other sentence, then this
    head carried to this word what decides.

    Parameters
    ----------
    reader : Reader
    text, other : str
        Two sentences; ``text`` is read, ``other`` lends.
    layer, head : int
        Counted from 0, the pointing head left out. With ``None`` for the head, all heads of the
        layer.
    word : str or sequence of str
        One word or several. They must stand in both sentences, not necessarily in the same places.

    Returns
    -------
    Reading
        Of ``text``.

    Raises
    ------
    TypeError, ValueError
        If ``reader`` is none or has no such head, if it cannot read a sentence, or if the word is
        not in both.

    Examples
    --------
    >>> from attention_workbook.reader import load_reader
    >>> tired = "the animal did not cross the street because it was too tired"
    >>> wide = "the animal did not cross the street because it was too wide"
    >>> reader = load_reader()
    >>> reading = read(reader, wide)
    >>> reading.words[reading.meant]
    'street'
    >>> reading = patch(reader, wide, tired, layer=1, head=0, word="it")
    >>> reading.words[reading.meant]
    'animal'
    """
    columns = _columns(reader, layer, head)
    require_a("other", other, str)
    words = [word] if isinstance(word, str) else require_each("word", word, str)
    lender, taker = (
        torch.tensor([_place(reader, sentence, each) for each in words])
        for sentence in (other, text)
    )
    lent: list[Tensor] = []

    def lend(joined: Tensor) -> Tensor:  # (1, len, d_model), the heads side by side
        lent.append(joined[0, lender, columns])
        return joined

    def take(joined: Tensor) -> Tensor:
        joined = joined.clone()
        joined[0, taker, columns] = lent[0]
        return joined

    output = _attention(reader, layer).W_o
    with _changed(output, lend):
        read(reader, other)
    with _changed(output, take):
        return read(reader, text)


def read_without(reader: Reader, text: str, lines: Sequence[tuple[int, str, str]]) -> Reading:
    """Read a sentence in which some words may not look at some others.

    In all heads of the layer the word's other weights grow until they sum to 1 again.

    Parameters
    ----------
    reader : Reader
    text : str
    lines : sequence of (int, str, str)
        What is cut: the layer, counted from 1, the word that looks, and the word at which it may
        not look. A word that stands in the sentence more than once is cut at each place.

    Raises
    ------
    TypeError, ValueError
        If ``reader`` is none, if it cannot read the sentence, if it has no such layer, or if a word
        is not in the sentence.

    Examples
    --------
    >>> from attention_workbook.reader import load_reader
    >>> wide = "the animal did not cross the street because it was too wide"
    >>> str(read_without(load_reader(), wide, [(2, "it", "wide")]))
    'it = animal (0.961)'
    """
    require_a("reader", reader, Reader)
    words = reader.vocabulary.parse(text)
    masks: dict[int, Tensor] = {}
    for layer, query, key in lines:
        if not is_index(layer - 1, len(reader.num_heads)):
            raise ValueError(
                f"lines: expected a layer from 1 to {len(reader.num_heads)}, got {layer}"
            )
        if missing := {query, key} - {*words}:
            raise ValueError(f"lines: expected words of “{text}”, got “{missing.pop()}”")
        queries, keys = (torch.tensor([word == end for word in words]) for end in (query, key))
        open_cells = ~(queries[:, None] & keys)  # (len_q, len_k)
        masks[layer - 1] = masks.get(layer - 1, open_cells) & open_cells
    with ExitStack() as cuts:
        for layer, mask in masks.items():
            cuts.enter_context(_masked(_attention(reader, layer), mask))
        return read(reader, text)


@torch.no_grad()
def value_norms(reader: Reader, reading: Reading) -> tuple[Tensor, ...]:
    """Return how long the vector is that each word hands on, for each head of each layer.

    A weight says how much a word is looked at; weight times this norm says how much comes of it.
    The vector of head :math:`h` is :math:`W_o^h W_v^h x`.

    Parameters
    ----------
    reader : Reader
    reading : Reading
        What this reader made of a sentence.

    Returns
    -------
    tuple of Tensor
        One for each layer but the pointing one, ``(num_heads, len)``.

    Raises
    ------
    TypeError
        If these are no reader and no reading.

    Examples
    --------
    >>> from attention_workbook.reader import load_reader
    >>> reading = read(load_reader(), "the animal did not cross the street because it was too wide")
    >>> [tuple(layer.shape) for layer in value_norms(load_reader(), reading)]
    [(4, 13), (2, 13)]
    """
    require_a("reader", reader, Reader)
    require_a("reading", reading, Reading)
    norms = []
    for layer, heads in enumerate(reader.num_heads):
        attention = _attention(reader, layer)
        values = attention.W_v(reading.states[layer].unsqueeze(0))  # (1, len, d_model)
        values = split_heads(values, heads)[0]  # (num_heads, len, d_k)
        outputs = attention.W_o.weight.view(-1, *values.shape[::2])  # (d_model, num_heads, d_k)
        norms.append(torch.einsum("hld,mhd->hlm", values, outputs).norm(dim=-1))
    return tuple(norms)


def _attention(reader: Reader, layer: int) -> MultiHeadAttention:
    return cast(MultiHeadAttention, reader.attentions[layer])


def _mean_output(reader: Reader, layer: int, sentences: Sequence[Sentence]) -> Tensor:
    """The heads of a layer side by side, ``(d_model,)``, as the mean over all words."""
    ids, valid_lens, *_ = encode(reader.vocabulary, sentences, "mean_over")
    words = length_mask(valid_lens, ids.shape[1])[:, 0]  # (batch, len)
    outputs: list[Tensor] = []

    def note(joined: Tensor) -> Tensor:  # (batch, len, d_model)
        outputs.append(joined)
        return joined

    with _changed(_attention(reader, layer).W_o, note):
        reader(ids, valid_lens)
    return outputs[0][words].mean(dim=0)


def _columns(reader: Reader, layer: int, head: int | None) -> slice:
    """The columns of ``W_o`` that belong to a head, or all."""
    require_a("reader", reader, Reader)
    if not is_index(layer, len(reader.num_heads)):
        raise ValueError(f"layer: expected 0 to {len(reader.num_heads) - 1}, got {layer!r}")
    if head is None:
        return slice(None)
    heads = reader.num_heads[layer]
    if not is_index(head, heads):
        raise ValueError(f"head: expected 0 to {heads - 1} in layer {layer}, got {head!r}")
    d_k = reader.embedding.embedding_dim // heads
    return slice(head * d_k, (head + 1) * d_k)


def _place(reader: Reader, text: str, word: str) -> int:
    words = reader.vocabulary.parse(text)
    if word not in words:
        raise ValueError(f"word: expected a word of “{text}”, got “{word}”")
    return words.index(word)


@contextmanager
def _changed(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Within the block, ``module`` gets ``change(x)`` where it would get ``x``."""
    handle = module.register_forward_pre_hook(lambda _, inputs: (change(inputs[0]),))
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _masked(attention: MultiHeadAttention, mask: Tensor) -> Iterator[None]:
    """Within the block, an attention layer is called with ``mask``."""
    handle = attention.register_forward_pre_hook(
        lambda _, inputs, options: (inputs, options | {"mask": mask}), with_kwargs=True
    )
    try:
        yield
    finally:
        handle.remove()
