"""Graders for the chapter on masks that models use.

Examples
--------
>>> reach(24)
Not yet: 6 · 4 counts the query's own key once in each layer; it is one key, not six.
>>> window_rule(lambda len_q, len_k, window: masking.causal_mask(len_q, len_k))
Not yet: nothing is too far away: that is the causal mask.
"""

import torch
from torch import Tensor

from attention_lib import masking
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number, Quiz

__all__ = [
    "prefix_rule",
    "quiz",
    "reach",
    "restarting_positions",
    "skipped_blocks",
    "window_rule",
]

reach = Number(
    "A model has 6 layers, and each query sees 4 keys, its own included. Of how many positions "
    "can the last query of a long text know?",
    19,
    because="each layer adds 3 positions further back, and its own is one: 6 · 3 + 1 = 19.",
    mistakes=[
        (24, "6 · 4 counts the query's own key once in each layer; it is one key, not six."),
        (25, "a window of 4 keys reaches 3 further back: its own key is one of the four."),
        (18, "its own position is missing."),
        (4, "that is one layer. The keys that it sees have seen keys, too."),
        (7, "that is two layers."),
        (16, "that is five layers."),
        (22, "that is seven layers."),
        (20, "each layer adds 3 positions, and the query's own counts once."),
        (10, "news travels 3 positions further in each layer, not 1."),
        (6, "that is the number of layers."),
        (4096, "4 to the power of 6 counts the paths; many lead to the same position."),
        (12, "that is two thirds of it: each layer adds 4 − 1 = 3 positions."),
    ],
)


def window_rule(answer: object) -> Verdict:
    """Grade the mask of a sliding window, aligned to the lower right.

    Parameters
    ----------
    answer : callable
        ``answer(len_q, len_k, window)`` with ``len_q`` at most ``len_k``; returns a boolean
        ``(len_q, len_k)``, True = may attend.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> window_rule(lambda len_q, len_k, window: masking.window_mask(len_q, len_k, window=window))
    Correct: 6 cases agree.
    """

    def behind(len_q: int, len_k: int, start: int | None = None) -> Tensor:
        start = len_k - len_q if start is None else start
        return torch.arange(start, start + len_q)[:, None] - torch.arange(len_k)

    def right(len_q: int, len_k: int, window: int) -> Tensor:
        return (behind(len_q, len_k) >= 0) & (behind(len_q, len_k) < window)

    mistakes: Named = [
        (
            lambda len_q, len_k, window: right(len_q, len_k, window + 1),
            "each query sees one key too many: its own key is one of the window.",
        ),
        (
            lambda len_q, len_k, window: right(len_q, len_k, window - 1),
            "each query sees one key too few: the window is its own key and window − 1 before it.",
        ),
        (
            lambda len_q, len_k, window: right(len_q, len_k, len_k),
            "nothing is too far away: that is the causal mask.",
        ),
        (
            lambda len_q, len_k, window: behind(len_q, len_k) < window,
            "keys that lie ahead are open: the distance must not be negative, either.",
        ),
        (
            lambda len_q, len_k, window: behind(len_q, len_k).abs() < window,
            "the window is open on both sides; it should look back only.",
        ),
        (
            lambda len_q, len_k, window: (
                (behind(len_q, len_k, 0) >= 0) & (behind(len_q, len_k, 0) < window)
            ),
            "the first query stands at the first key. With a cache the last query stands at the "
            "last key, so the first stands at len_k - len_q.",
        ),
        (
            lambda len_q, len_k, window: ~right(len_q, len_k, window),
            "the mask is the wrong way round: True = may attend.",
        ),
        (
            lambda len_q, len_k, window: (
                (-behind(len_q, len_k) >= 0) & (-behind(len_q, len_k) < window)
            ),
            "the window looks ahead: i − j is the query's position less the key's.",
        ),
        (
            lambda len_q, len_k, window: (
                (behind(len_q, len_k) > 0) & (behind(len_q, len_k) <= window)
            ),
            "the query does not see its own key, which is one of the window.",
        ),
        (
            lambda len_q, len_k, window: (
                (behind(len_q, len_k) > 0) & (behind(len_q, len_k) < window)
            ),
            "the query does not see its own key: the distance 0 is inside.",
        ),
        (
            lambda len_q, len_k, window: behind(len_q, len_k) >= window,
            "what is open is what lies beyond the window.",
        ),
        (
            lambda len_q, len_k, window: (torch.arange(len_k) >= len_k - window).expand(
                len_q, len_k
            ),
            "every query has the window of the last one.",
        ),
        (
            lambda len_q, len_k, window: right(len_k, len_k, window),
            "there is a row for each key; the mask has one for each query.",
        ),
        (
            lambda len_q, len_k, window: (
                (behind(len_q, len_k) >= 0)
                & (
                    torch.arange(len_k - len_q, len_k)[:, None] // window
                    == torch.arange(len_k) // window
                )
            ),
            "the row is cut into blocks; a window moves on with each query.",
        ),
        *(
            (
                lambda len_q, len_k, window, start=start: (
                    (behind(len_q, len_k, start(len_q, len_k)) >= 0)
                    & (behind(len_q, len_k, start(len_q, len_k)) < window)
                ),
                sentence,
            )
            for start, sentence in (
                (lambda q, k: k - q + 1, "every query stands one place too far to the right."),
                (lambda q, k: q - k, "len_k − len_q is the wrong way round: queries stand late."),
            )
        ),
        (
            lambda len_q, len_k, window: right(len_q, len_q, window),
            "there is a column for each query; the mask has one for each key.",
        ),
        (
            lambda len_q, len_k, window: behind(len_q, len_k) == window - 1,
            "only the key at the far end of the window is open.",
        ),
        (
            lambda len_q, len_k, window: behind(len_q, len_k).abs() <= window // 2,
            "half of the window lies ahead; it should look back only.",
        ),
        *(
            (
                lambda len_q, len_k, window, width=width: right(len_q, len_k, width),
                "the window has one width, whatever is given.",
            )
            for width in (2, 3, 4, 5)
        ),
    ]
    cases = [(4, 4, 2), (5, 5, 3), (2, 7, 3), (1, 6, 4), (3, 5, 1), (7, 11, 5)]
    return grade(answer, right, cases, mistakes, axes=["query", "key"])


def prefix_rule(answer: object) -> Verdict:
    """Grade a causal mask in which every query may read the whole prefix of its sequence.

    Parameters
    ----------
    answer : callable
        ``answer(prefix_lens, length)`` with integers ``(batch,)``; returns a boolean
        ``(batch, length, length)``, True = may attend.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> prefix_rule(lambda prefix_lens, length: masking.causal_mask(length))
    Not yet: the prefix opens nothing: that is the causal mask, and one for all sequences.
    """

    def prefix(prefix_lens: Tensor, length: int) -> Tensor:
        return masking.length_mask(prefix_lens, length)  # (batch, 1, length)

    def causal(length: int) -> Tensor:
        return masking.causal_mask(length)

    def right(prefix_lens: Tensor, length: int) -> Tensor:
        return causal(length) | prefix(prefix_lens, length)

    def whole(mask: Tensor, length: int) -> Tensor:
        return mask.expand(-1, length, -1)

    mistakes: Named = [
        (
            lambda prefix_lens, length: causal(length),
            "the prefix opens nothing: that is the causal mask, and one for all sequences.",
        ),
        (
            lambda prefix_lens, length: causal(length).expand(len(prefix_lens), -1, -1),
            "the prefix opens nothing: that is the causal mask.",
        ),
        (
            lambda prefix_lens, length: causal(length) & prefix(prefix_lens, length),
            "joined by and, the prefix closes all keys that come after it. One of the two rules "
            "is enough: or.",
        ),
        (
            lambda prefix_lens, length: causal(length) ^ prefix(prefix_lens, length),
            "joined by exclusive or, what both rules open is closed.",
        ),
        (
            lambda prefix_lens, length: whole(prefix(prefix_lens, length), length),
            "only the prefix is open; what comes after it reads its own past, too.",
        ),
        (
            lambda prefix_lens, length: prefix(prefix_lens, length),
            "only the prefix is open, and the mask has one row for all queries.",
        ),
        (
            lambda prefix_lens, length: causal(length) | ~prefix(prefix_lens, length),
            "what comes after the prefix is open to all; it should be the prefix.",
        ),
        (
            lambda prefix_lens, length: ~right(prefix_lens, length),
            "the mask is the wrong way round: True = may attend.",
        ),
        (
            lambda prefix_lens, length: (
                causal(length) | prefix((prefix_lens + 1).clamp(max=length), length)
            ),
            "the prefix is one key too long: a length of 2 has the positions 0 and 1.",
        ),
        (
            lambda prefix_lens, length: (
                causal(length) | prefix((prefix_lens - 1).clamp(min=0), length)
            ),
            "the prefix is one key too short: a length of 2 has the positions 0 and 1.",
        ),
        (
            lambda prefix_lens, length: causal(length) | prefix(prefix_lens, length).mT,
            "the queries of the prefix read everything. The prefix is a matter of keys: all may "
            "read it.",
        ),
        (
            lambda prefix_lens, length: causal(length).mT | prefix(prefix_lens, length),
            "the causal mask is the wrong way up: each token reads what comes after it.",
        ),
        (
            lambda prefix_lens, length: causal(length).tril(-1) | prefix(prefix_lens, length),
            "after the prefix a token does not read itself.",
        ),
        (
            lambda prefix_lens, length: whole(
                causal(length) | prefix(prefix_lens[:1], length), length
            ).expand(len(prefix_lens), -1, -1),
            "every sequence gets the prefix of the first.",
        ),
        (
            lambda prefix_lens, length: torch.ones(
                len(prefix_lens), length, length, dtype=torch.bool
            ),
            "everything is open: what comes after the prefix reads only its past.",
        ),
        (
            lambda prefix_lens, length: (
                torch.ones(length, length, dtype=torch.bool).tril(1) | prefix(prefix_lens, length)
            ),
            "the token after it is seen, too: the causal mask reaches one too far.",
        ),
        (
            lambda prefix_lens, length: (
                causal(length) | prefix(prefix_lens.amax().expand_as(prefix_lens), length)
            ),
            "every sequence gets the longest prefix; each has its own.",
        ),
        (
            lambda prefix_lens, length: causal(length) | prefix(prefix_lens, length).flip(-1),
            "the prefix is laid at the end of the row; it stands at the beginning.",
        ),
        (
            lambda prefix_lens, length: torch.where(
                prefix(prefix_lens, length).mT,
                prefix(prefix_lens, length),
                causal(length) & ~prefix(prefix_lens, length),
            ),
            "what comes after the prefix does not read it; it may read the whole prefix.",
        ),
    ]
    cases = [
        (torch.tensor([2]), 4),
        (torch.tensor([3, 1]), 5),
        (torch.tensor([0, 4, 6]), 6),
        (torch.tensor([1, 5, 2, 7]), 7),
    ]
    return grade(answer, right, cases, mistakes, axes=["sequence", "query", "key"])


def restarting_positions(answer: object) -> Verdict:
    """Grade positions that begin at 0 in each document of a packed row.

    Parameters
    ----------
    answer : callable
        ``answer(documents)`` with integers ``(batch, length)``, equal ones side by side; returns
        integers ``(batch, length)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> restarting_positions(lambda documents: torch.arange(documents.shape[1]))
    Not yet: the count runs through the whole row; each document begins at 0 again.
    """

    def before(documents: Tensor) -> Tensor:
        return masking.document_mask(documents) & masking.causal_mask(documents.shape[-1])

    def right(documents: Tensor) -> Tensor:
        return before(documents).sum(dim=-1) - 1

    def begins(documents: Tensor) -> Tensor:
        """Say where a document begins."""
        new = torch.ones_like(documents, dtype=torch.bool)
        new[:, 1:] = documents[:, 1:] != documents[:, :-1]
        return new

    def places(documents: Tensor) -> Tensor:
        return torch.arange(documents.shape[-1]).expand(documents.shape)

    mistakes: Named = [
        (places, "the count runs through the whole row; each document begins at 0 again."),
        (
            lambda documents: torch.arange(documents.shape[-1]),
            "the count runs through the whole row; each document begins at 0 again.",
        ),
        (
            lambda documents: right(documents) + 1,
            "the first token of a document has position 1; positions count from 0.",
        ),
        (
            lambda documents: masking.document_mask(documents).sum(dim=-1),
            "that is the length of the token's document: only tokens before it count.",
        ),
        (
            lambda documents: masking.document_mask(documents).sum(dim=-1) - 1,
            "that is the last position of the document, for all its tokens: only tokens before "
            "it count.",
        ),
        (
            lambda documents: before(documents).sum(dim=-2) - 1,
            "the tokens are counted from the end of the document: the sum runs over queries.",
        ),
        (
            lambda documents: before(documents).sum(dim=-2),
            "the tokens are counted from the end of the document: the sum runs over queries.",
        ),
        (
            lambda documents: places(documents) - documents,
            "subtract where the document begins, not its number.",
        ),
        (lambda documents: documents, "that is the number of the document."),
        (
            lambda documents: right(documents[:1]).expand(documents.shape),
            "every row gets the positions of the first.",
        ),
        (
            lambda documents: torch.zeros_like(documents),
            "every token has position 0: count inside the document.",
        ),
        (
            lambda documents: (documents == documents[:, :1]).cumsum(dim=-1) - 1,
            "only the first document is counted.",
        ),
        (
            lambda documents: right(documents.flatten()).view(documents.shape),
            "the count runs on from one row to the next; each row has documents of its own.",
        ),
        *(
            (
                lambda documents, count=count: count(documents, begins(documents)),
                sentence,
            )
            for count, sentence in (
                (
                    lambda d, new: new.cumsum(dim=-1) - 1,
                    "that counts the documents; count the tokens in each.",
                ),
                (
                    lambda d, new: (~new).cumsum(dim=-1),
                    "the count does not begin again: it only stands still where a document begins.",
                ),
                (
                    lambda d, new: (~new).long(),
                    "every token but the first has position 1: the count goes on.",
                ),
                (
                    lambda d, new: places(d).masked_fill(new, 0),
                    "only the first token of a document begins again; the next count on from it.",
                ),
                (
                    lambda d, new: places(d) - places(d).masked_fill(~new, 0).cummax(dim=0).values,
                    "what is looked for along the batch (dim=0) lies along the row.",
                ),
                (
                    lambda d, new: places(d) % (d + 1),
                    "the remainder by a document's number says nothing of where it begins.",
                ),
                (
                    lambda d, new: places(d) - (d != d[:, :1]) * (d == d[:, :1]).sum(-1, True),
                    "the first document's length is taken from all others; each begins where the "
                    "one before it ends.",
                ),
                (
                    lambda d, new: (
                        places(d) - (d == 1).int().argmax(dim=-1, keepdim=True) * (d == 1)
                    ),
                    "only the document with the number 1 begins again; each one does.",
                ),
                (
                    lambda d, new: right(d.mT).mT,
                    "the tokens are counted down the batch; a document lies along its row.",
                ),
            )
        ),
    ]
    cases = [
        (torch.tensor([[0, 0, 0, 1, 1]]),),
        (torch.tensor([[0, 0, 1, 2, 2, 2], [0, 1, 1, 1, 1, 1]]),),
        (torch.tensor([[7, 7, 7, 3], [3, 7, 7, 7], [5, 5, 2, 2]]),),
        (torch.tensor([[4, 1, 1, 1, 9, 9, 0]]),),
    ]
    return grade(answer, right, cases, mistakes, axes=["row", "place"])


def skipped_blocks(answer: object) -> Verdict:
    """Grade the share of blocks in which nothing may be read.

    Parameters
    ----------
    answer : callable
        ``answer(mask, size)`` with a boolean ``(len_q, len_k)`` and a block size that divides
        both; returns one number from 0 to 1.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> skipped_blocks(lambda mask, size: (~mask).double().mean())
    Not yet: that is the share of hidden pairs; a block goes only if all its pairs are hidden.
    """

    def tiles(mask: Tensor, size: int) -> Tensor:
        len_q, len_k = mask.shape
        return mask.reshape(len_q // size, size, len_k // size, size)

    def share(open_blocks: Tensor) -> Tensor:
        return 1 - open_blocks.double().mean()

    def right(mask: Tensor, size: int) -> Tensor:
        return share(tiles(mask, size).any(dim=-1).any(dim=1))

    mistakes: Named = [
        (
            lambda mask, size: (~mask).double().mean(),
            "that is the share of hidden pairs; a block goes only if all its pairs are hidden.",
        ),
        (
            lambda mask, size: mask.double().mean(),
            "that is the share of open pairs; a block goes only if all its pairs are hidden.",
        ),
        (
            lambda mask, size: 1 - right(mask, size),
            "that is the share of blocks that are computed; those that are skipped are asked for.",
        ),
        (
            lambda mask, size: share(tiles(mask, size).all(dim=-1).all(dim=1)),
            "a block with one hidden pair is counted as skipped. One open pair is enough to have "
            "it computed: any, not all.",
        ),
        (
            lambda mask, size: tiles(mask, size).all(dim=-1).all(dim=1).double().mean(),
            "that is the share of blocks that are open throughout.",
        ),
        (
            lambda mask, size: (~tiles(mask, size).any(dim=-1).any(dim=1)).sum().double(),
            "that is the number of skipped blocks: divide by the number of all.",
        ),
        (
            lambda mask, size: 100 * right(mask, size),
            "that is in per cent; a share from 0 to 1 is asked for.",
        ),
        (
            lambda mask, size: share(mask[::size, ::size]),
            "only the first pair of each block is looked at.",
        ),
        (
            lambda mask, size: share(mask[size - 1 :: size, size - 1 :: size]),
            "only the last pair of each block is looked at.",
        ),
        (
            lambda mask, size: share(tiles(mask, size).any(dim=-1)),
            "that counts pieces of one query each: a block has `size` queries as well.",
        ),
        (
            lambda mask, size: share(tiles(mask, size).any(dim=1)),
            "that counts pieces of one key each: a block has `size` keys as well.",
        ),
        (
            lambda mask, size: share(mask.reshape(-1, size, size).any(dim=-1).any(dim=-1)),
            "reshape(-1, size, size) makes blocks of numbers that follow one another, not of "
            "rows and columns side by side.",
        ),
        (
            lambda mask, size: (
                (~tiles(mask, size).any(dim=-1).any(dim=1)).sum().double() / mask.numel()
            ),
            "divide by the number of blocks, not by the number of pairs.",
        ),
        (
            lambda mask, size: torch.tensor((1 - size / len(mask)) / 2, dtype=torch.double),
            "that formula holds for the causal mask alone.",
        ),
        (
            lambda mask, size: share(
                mask[::size, ::size]
                | mask[size - 1 :: size, ::size]
                | mask[::size, size - 1 :: size]
                | mask[size - 1 :: size, size - 1 :: size]
            ),
            "only the corners of each block are looked at.",
        ),
        (
            lambda mask, size: share(
                tiles(mask, size).transpose(1, 2).flatten(2)[..., :: size + 1].any(dim=-1)
            ),
            "only the diagonal of each block is looked at.",
        ),
        *(
            (
                lambda mask, size, blocks=blocks: blocks(~tiles(mask, size).any(dim=-1).any(dim=1)),
                sentence,
            )
            for blocks, sentence in (
                (torch.sum, "that is the number of skipped blocks: divide by the number of all."),
                (
                    lambda skipped: (~skipped).sum(),
                    "that is the number of blocks that are computed; the share of the others is "
                    "asked for.",
                ),
                (
                    lambda skipped: skipped.sum() / len(skipped),
                    "divided by the number of rows of blocks; divide by that of all blocks.",
                ),
                (
                    lambda skipped: skipped.any().double(),
                    "that says whether any block is skipped; which share is asked for.",
                ),
            )
        ),
        *(
            (
                lambda mask, size, pieces=pieces: share(pieces(mask, size).any(dim=-1)),
                sentence,
            )
            for pieces, sentence in (
                (lambda mask, size: mask, "that is the share of queries that see nothing."),
                (lambda mask, size: mask.T, "that is the share of keys that nobody sees."),
                (
                    lambda mask, size: mask.reshape(-1, size * mask.shape[1]),
                    "those are bands of whole rows; a block is `size` keys wide as well.",
                ),
            )
        ),
        (
            lambda mask, size: (tiles(mask, size).double().mean(dim=(1, 3)) < 0.5).double().mean(),
            "a block that is open in less than half is counted as skipped: any pair is enough to "
            "have it computed.",
        ),
        (
            lambda mask, size: share(tiles(mask, size).any(dim=2).any(dim=0)),
            "the axes of the blocks are reduced, and those inside a block are kept: it is the "
            "other way round.",
        ),
        (
            lambda mask, size: share(
                mask.reshape(size, len(mask) // size, size, mask.shape[1] // size)
                .any(dim=3)
                .any(dim=1)
            ),
            "size and number of blocks have changed places in the reshape.",
        ),
        (
            lambda mask, size: right(mask[:, : len(mask)], size),
            "only a square of the mask is looked at.",
        ),
    ]
    stripes = torch.zeros(6, 8, dtype=torch.bool)
    stripes[1, 6] = stripes[4, 0] = True
    one_row = torch.zeros(4, 6, dtype=torch.bool)
    one_row[0] = True
    centres = torch.zeros(6, 6, dtype=torch.bool)
    centres[1, 1] = centres[4, 3] = True
    cases = [
        (masking.causal_mask(4), 2),
        (stripes, 2),
        (one_row, 2),
        (masking.window_mask(12, window=3), 4),
        (masking.window_mask(6, 12, window=2), 3),
        (masking.document_mask(torch.tensor([0, 0, 0, 1, 1, 1, 1, 2, 2])), 3),
        (torch.zeros(4, 4, dtype=torch.bool), 2),
        (masking.causal_mask(3), 1),
        (centres, 3),
    ]

    def judged(mask: Tensor, size: int) -> object:
        """Take a number of any kind, float32 among them."""
        given = answer(mask, size)  # type: ignore[operator]
        real = isinstance(given, Tensor) and given.is_floating_point()
        number = isinstance(given, int | float) and not isinstance(given, bool)
        return torch.as_tensor(given, dtype=torch.double) if real or number else given

    return grade(judged if callable(answer) else answer, right, cases, mistakes)


quiz = Quiz(
    Choice(
        "A prefix is joined to a causal mask by *and*. What can the tokens after it read?",
        ["the prefix and their own past", "the prefix alone", "nothing at all"],
        "b",
        {
            "a": "that is what *or* would give.",
            "b": "a key must now pass both rules, and only the prefix does.",
            "c": "the keys of the prefix lie before them and pass both rules.",
        },
    ),
    Number(
        "flash-attention is called with `window_size=(7, 0)`. How many keys does a late query see?",
        8,
        because="seven before it, and its own.",
        mistakes=[
            (7, "it counts the keys before the query; its own comes on top."),
            (15, "0 says that nothing ahead is seen."),
            (6, "it counts the keys before the query, and its own comes on top."),
        ],
    ),
    Choice(
        "Texts are padded on the left and masked correctly. For which positions does it not "
        "matter that they are counted from the start of the row?",
        ["sinusoidal ones, added to the tokens", "learned ones, added", "rotary ones"],
        "c",
        {
            "a": "the text then begins in the middle of the sines.",
            "b": "the text then begins with the vectors of later places.",
            "c": "their score depends on the difference alone, and a shift leaves it.",
        },
    ),
)
