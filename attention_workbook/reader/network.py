"""The network: two layers of attention, and one head more that points at the word meant."""

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.arguments import require_a, require_count, require_each
from attention_lib.masking import length_mask, masked_softmax
from attention_lib.multihead import AddNorm, MultiHeadAttention
from attention_lib.positions import PositionalEncoding
from attention_lib.scoring import scaled_dot_scores
from attention_workbook._training import require_ids
from attention_workbook.reader._sentence import LONGEST, NOTHING
from attention_workbook.reader.lexicon import lexicon
from attention_workbook.reader.sentences import all_words

__all__ = ["MAX_LEN", "Pass", "Reader", "Reading", "Vocabulary", "read", "words_of"]

MAX_LEN = LONGEST


class Vocabulary:
    """The words that a reader knows, and their numbers.

    Parameters
    ----------
    words : iterable of str, optional
        The words; those of the lexicon by default. The id of a word is its place. Other forms
        of a word ("crossed", "bigger") share its id.

    Attributes
    ----------
    words : tuple of str

    Raises
    ------
    TypeError, ValueError
        If ``words`` are no sequence of strings, or none.

    Examples
    --------
    >>> vocabulary = Vocabulary(["(nothing)", "it", "was", "dark"])
    >>> vocabulary.parse("It was dark.")
    ('(nothing)', 'it', 'was', 'dark')
    >>> vocabulary.encode(["it", "was"])
    [1, 2]
    """

    def __init__(self, words: Iterable[str] | None = None) -> None:
        words = (NOTHING, *all_words()) if words is None else require_each("words", words, str)
        self.words = tuple(dict.fromkeys(words))
        self._ids = {word: number for number, word in enumerate(self.words)}
        book_lexicon = lexicon()
        better = {word: base for word, base in book_lexicon.better.items() if base in self._ids}
        forms = {word: better.get(base, base) for word, base in book_lexicon.forms.items()}
        self.forms = {word: base for word, base in forms.items() if word not in self._ids} | better
        read_as = {word: better.get(base, base) for word, base in book_lexicon.read_as.items()}
        self.read_as = {word: base for word, base in read_as.items() if base in self._ids}
        self.compared = {word for word in self.words if word in book_lexicon.group_of}
        self.named = {word for word in self.words if word in book_lexicon.kinds_of} - self.compared
        self.acted = self.named if "used" in self._ids else set()

    def __len__(self) -> int:
        return len(self.words)

    def base(self, word: str) -> str | None:
        """Return the known word that a word is read as: "crossed" as "cross", "puppy" as "dog".

        A compound in no list is read as its last part, the past of a noun as a verb.

        Examples
        --------
        >>> vocabulary = Vocabulary()
        >>> [vocabulary.base(word) for word in ("crossed", "bigger", "puppies", "framed", "xyz")]
        ['cross', 'big', 'dog', 'used', None]
        >>> [vocabulary.base(word) for word in ("snackbox", "dog-friend")]
        ['box', 'people']
        """
        base_form = self._uninflected(word)
        if base_form is not None:
            return base_form
        for ending, instead in ENDINGS:
            stem = word.removesuffix(ending)
            if stem == word or len(stem) < 2:
                continue
            compares = ending in COMPARING
            candidates = [stem + end for end in instead]
            if ending not in ("s", "es") and stem[-1] == stem[-2]:
                candidates.append(stem[:-1])  # bigger
            for base in map(self._uninflected, candidates):
                if base is not None and (base in self.compared or not compares):
                    return "used" if ending == "ed" and base in self.acted else base  # "framed"
        return self._last_part(word)

    def _last_part(self, word: str) -> str | None:
        """The known word that the last part of a compound is read as."""
        if "-" in word:
            base = self.base(word.rsplit("-", 1)[1])
            return base if base in self.compared | self.named else None
        for end in range(3, len(word) - 2):
            first, noun = (
                self._uninflected(x) or self._uninflected(x.removesuffix("s"))
                for x in (word[:end], word[end:])
            )
            if first and noun in self.named:
                return noun
        return None

    def _uninflected(self, word: str) -> str | None:
        """The known word that an uninflected word, or an irregular form, is read as."""
        word = self.forms.get(word, word)
        word = word if word in self._ids else self.read_as.get(word, word)
        return word if word in self._ids else None

    def replaced(self, words: Iterable[str]) -> list[tuple[str, str]]:
        """Return the words that another word stands for, with that word; not those inflected.

        Examples
        --------
        >>> Vocabulary().replaced(["the", "puppies", "crossed"])
        [('puppies', 'dog')]
        """
        bases = ((word, self.base(word) or word) for word in words)
        return [
            (word, base)
            for word, base in bases
            if (word in self._ids) == (word in self.forms)
            if word in self.read_as or base[:2] != word[:2]
        ]

    def encode(self, words: Iterable[str], *, own: bool = False) -> list[int]:
        """Return the ids of words that are known, in whichever form; ``own`` as in training.

        Raises
        ------
        TypeError, ValueError
            If ``words`` are no sequence of strings, or one of them is not known.
        """
        ids = []
        for word in require_each("words", words, str, minimum=0):
            base = word if own and word in self._ids else self.base(word)
            if base is None:
                raise ValueError(f"words: expected words that are known, got {word!r}")
            ids.append(self._ids[base])
        return ids

    def near(self, word: str) -> list[str]:
        """Return up to three known words to try for an unknown one.

        They are spelled nearly like it, the nearest first.

        Raises
        ------
        TypeError
            If ``word`` is no string.
        """
        if not isinstance(word, str):
            raise TypeError(f"word: expected a word, got {word!r}")
        known = [*self.words[1:], *self.read_as]
        return difflib.get_close_matches(word, known, n=3)

    def parse(self, text: str) -> tuple[str, ...]:
        """Cut a sentence into its words, with :data:`NOTHING` before them.

        Capitals and punctuation go, contractions are written out.

        Raises
        ------
        TypeError
            If ``text`` is no string.
        ValueError
            If it is empty, too long, holds a word that is not known, or not exactly one "it".
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected a sentence, got {type(text).__name__}")
        words = words_of(text)
        if not words:
            raise ValueError("The sentence is empty: write a few words, one of them “it”.")
        for word in words:
            if self.base(word) in (None, NOTHING):
                near = " or ".join(f"“{other}”" for other in self.near(word))
                hint = f"Try {near}." if near else "No word that it knows looks like it."
                raise ValueError(f"The model does not know the word “{word}”. {hint}")
        if len(words) >= MAX_LEN:
            raise ValueError(
                f"The sentence has {len(words)} words; the reader takes at most {MAX_LEN - 1}."
            )
        if words.count("it") != 1:
            count = words.count("it") or "none"
            raise ValueError(f"The sentence needs exactly one “it”; this one has {count}.")
        return (NOTHING, *words)


# Endings of the forms of a word, and what stands in their place in its base form.
ENDINGS = (
    ("ies", ("y",)),
    ("es", ("e", "")),
    ("s", ("",)),
    ("ied", ("y",)),
    ("ed", ("e", "")),
    ("ing", ("e", "")),
    ("iest", ("y",)),
    ("est", ("", "e")),
    ("ier", ("y",)),
    ("er", ("", "e")),
    ("ily", ("y",)),
    ("ly", ("", "le")),
)
COMPARING = ("iest", "est", "ier", "er", "ily", "ly")  # of adjectives; others of verbs and nouns

# What is written together, and its parts.
CONTRACTIONS = (
    (r"\b(ca|wo|do|\w+[ds])nt", r"\1n't"),
    ("can't", "can not"),
    ("cannot", "can not"),
    ("won't", "will not"),
    ("n't", " not"),
    ("it's", "it is"),
    ("'ll", " will"),
    ("'d", " would"),
    ("'ve", " has"),
    ("'re", " is"),
    ("'m", " is"),
    ("'s", ""),
    (r"\bits(?= (?:too|so|very|not)\b)", "it is"),
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters, contractions written out.

    Examples
    --------
    >>> words_of("It's dark: the dog can’t see!")
    ['it', 'is', 'dark', 'the', 'dog', 'can', 'not', 'see']
    """
    require_a("text", text, str)
    text = text.lower().replace("’", "'")
    for short, long in CONTRACTIONS:
        text = re.sub(rf"{short}(?![\w'])", long, text)
    return re.findall(r"[^\W_]+(?:-[^\W_]+)*", text)


class Pass(NamedTuple):
    """What a reader computes on the way.

    Attributes
    ----------
    scores : Tensor
        Shape ``(batch, len, len)``: how much each word points at each, before softmax; minus
        infinity at padding.
    weights : tuple of Tensor
        One for each layer, ``(batch, num_heads, len, len)``. The last is that of the pointing
        head, the softmax of ``scores``.
    states : tuple of Tensor
        What goes into each layer, ``(batch, len, d_model)``; the last is what asks in the
        pointing head, the first what it asks.

    Examples
    --------
    >>> ids = torch.zeros(7, 5, dtype=torch.long)
    >>> Reader()(ids).states[0].shape
    torch.Size([7, 5, 40])
    """

    scores: Tensor
    weights: tuple[Tensor, ...]
    states: tuple[Tensor, ...]


class Reader(nn.Module):
    r"""Two layers of attention without a feed-forward part, then one head that points.

    The words are embedded and given positions, :math:`X_0`. In each layer every word attends to
    all words, in several heads, and what it gathers is added and normalised. Then one head points:
    its query is *it* with all that it has gathered, its keys are the words as they came in, and it
    has no values. Its weights are the probabilities that *it* means each word,

    .. math:: \mathrm{softmax}\left(\frac{W_q x_\text{it}\,(X_0 W_k^\top)^\top}{\sqrt{d}}\right).

    A word as it came in knows nothing of the others, so *it* has to find out by itself what to ask
    for. Training tells the pointing head what *it* means; no other head is told where to look.

    Parameters
    ----------
    vocabulary : Vocabulary, optional
        The words it knows; those of the grammar by default.
    d_model : int
        Width of all vectors.
    num_heads : sequence of int
        Heads of each layer before the pointing one.

    Attributes
    ----------
    vocabulary : Vocabulary
    embedding : torch.nn.Embedding
    positions : PositionalEncoding
    attentions : torch.nn.ModuleList of MultiHeadAttention
    add_norms : torch.nn.ModuleList of AddNorm
    W_q, W_k : torch.nn.Linear
        Queries and keys of the pointing head.

    Raises
    ------
    TypeError, ValueError
        If ``vocabulary`` is none, or ``num_heads`` no sequence of divisors of ``d_model``.

    Examples
    --------
    >>> reader = Reader()
    >>> scores, weights, states = reader(torch.zeros(1, 5, dtype=torch.long))
    >>> [tuple(layer.shape) for layer in weights]
    [(1, 4, 5, 5), (1, 2, 5, 5), (1, 1, 5, 5)]
    """

    def __init__(
        self,
        vocabulary: Vocabulary | None = None,
        d_model: int = 40,
        num_heads: Sequence[int] = (4, 2),
    ) -> None:
        super().__init__()
        self.vocabulary = Vocabulary() if vocabulary is None else vocabulary
        require_a("vocabulary", self.vocabulary, Vocabulary)
        require_count("d_model", d_model)
        self.num_heads = tuple(require_each("num_heads", num_heads, int, minimum=0))
        self.embedding = nn.Embedding(len(self.vocabulary), d_model)
        nn.init.normal_(self.embedding.weight, std=0.3)  # positions must be heard beside words
        self.positions = PositionalEncoding(d_model, max_len=MAX_LEN)
        self.attentions = nn.ModuleList(MultiHeadAttention(d_model, h) for h in self.num_heads)
        self.add_norms = nn.ModuleList(AddNorm(d_model) for _ in self.num_heads)
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)

    def forward(self, ids: Tensor, valid_lens: Tensor | None = None) -> Pass:
        """Read a batch.

        Parameters
        ----------
        ids : Tensor
            Word numbers, ``(batch, len)``.
        valid_lens : Tensor, optional
            How many of them are words, ``(batch,)``; the rest is padding.

        Raises
        ------
        TypeError, ValueError
            If ``ids`` are no word numbers, more than :data:`MAX_LEN` in a row, or do not fit
            ``valid_lens``.
        """
        require_ids("ids", ids, self.embedding.weight, MAX_LEN)
        x = self.positions(self.embedding(ids))  # (batch, len, d_model)
        states, weights = [x], []
        for attention, add_norm in zip(self.attentions, self.add_norms, strict=True):
            gathered, layer_weights = attention(x, x, x, valid_lens)
            x = add_norm(x, gathered)
            states.append(x)
            weights.append(layer_weights)  # (batch, num_heads, len, len)
        scores = scaled_dot_scores(self.W_q(x), self.W_k(states[0]))  # (batch, len, len)
        if valid_lens is not None:
            words = length_mask(valid_lens, ids.shape[1])  # (batch, 1, len)
            scores = scores.masked_fill(~words, -math.inf)
        weights.append(masked_softmax(scores, valid_lens).unsqueeze(1))
        return Pass(scores, tuple(weights), tuple(states))


class Reading(NamedTuple):
    """What a reader makes of one sentence.

    Attributes
    ----------
    words : tuple of str
        The words, after :data:`NOTHING` at position 0.
    weights : tuple of Tensor
        For each layer ``(num_heads, len, len)``, queries down, keys across; last the pointing head.
    states : tuple of Tensor
        What goes into each layer, ``(len, d_model)``.

    Examples
    --------
    >>> from attention_workbook.reader import load_reader
    >>> reading = read(load_reader(), "the fox chased the goat because it was weak")
    >>> reading.words[reading.meant], reading.probability > 0.9
    ('goat', True)
    """

    words: tuple[str, ...]
    weights: tuple[Tensor, ...]
    states: tuple[Tensor, ...]

    @property
    def it(self) -> int:
        """Position of the word *it*."""
        return self.words.index("it")

    @property
    def probabilities(self) -> Tensor:
        """Of each word, how probably *it* means it; ``(len,)``."""
        return self.weights[-1][0, self.it]

    @property
    def meant(self) -> int:
        """Position of the word that *it* most probably means; 0 if none."""
        return int(self.probabilities.argmax())

    @property
    def probability(self) -> float:
        """How probably *it* means that word."""
        return float(self.probabilities.max())

    def __str__(self) -> str:
        return f"it = {self.words[self.meant]} ({self.probability:.3f})"


@torch.no_grad()
def read(reader: Reader, text: str) -> Reading:
    """Read one sentence.

    Parameters
    ----------
    reader : Reader
        A trained one; :func:`~attention_workbook.reader.load_reader` brings that of the book.
    text : str
        A sentence that holds "it" once. Capitals and punctuation do not count.

    Returns
    -------
    Reading

    Raises
    ------
    TypeError, ValueError
        If ``reader`` is none, or the text no sentence that it can read; the message says why.

    Examples
    --------
    >>> from attention_workbook.reader import load_reader
    >>> reader = load_reader()
    >>> reading = read(reader, "The animal did not cross the street because it was too tired.")
    >>> reading.words[reading.meant]
    'animal'
    """
    require_a("reader", reader, Reader)
    words = reader.vocabulary.parse(text)
    ids = torch.tensor([reader.vocabulary.encode(words)], device=reader.embedding.weight.device)
    _, weights, states = reader(ids)
    return Reading(words, tuple(w[0] for w in weights), tuple(x[0] for x in states))
