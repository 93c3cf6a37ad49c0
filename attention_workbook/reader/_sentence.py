"""A sentence for the reader, and what bounds it."""

from typing import NamedTuple

NOTHING = "(nothing)"  # stands before every sentence: what *it* means if it means none of its words
LONGEST = 20  # tokens, NOTHING among them
PEOPLE = ("i", "he", "she", "they", "tom", "the man", "the woman", "my mother", "my father")
CLEAR = 0.9  # from here on the answer is clear


class Sentence(NamedTuple):
    """A sentence and what its *it* means.

    Attributes
    ----------
    words : tuple of str
        The words, after :data:`NOTHING` at position 0.
    meant : int
        Position of the word that *it* most probably means; 0 if none.
    frame : str
        The frame of the grammar that it was made by.
    answers : tuple of (int, float)
        Positions that may be meant, and how probably; together 1. None: ``meant`` alone.
    said : str
        The adjective that is said of *it*; empty if it is none.

    Examples
    --------
    >>> from attention_workbook.reader import draw
    >>> sentence = draw(1, seed=0)[0]
    >>> round(sum(share for _, share in sentence.answers), 9)
    1.0
    """

    words: tuple[str, ...]
    meant: int
    frame: str
    answers: tuple[tuple[int, float], ...] = ()
    said: str = ""

    @property
    def it(self) -> int:
        """Position of the word *it*."""
        return self.words.index("it")

    @property
    def clear(self) -> bool:
        """Whether people agree on what *it* means."""
        return not self.answers or max(share for _, share in self.answers) >= CLEAR

    def __str__(self) -> str:
        return " ".join(self.words[1:])
