"""Graders for the chapter on one head."""

import torch

from attention_lib.checks._grading import grade, grade_number
from attention_lib.masking import padding_mask
from attention_lib.positions import sinusoidal_positions

__all__ = ["cross_mask", "masked_cells", "shifted"]


def masked_cells(answer):
    """Grade the number of masked cells of five queries and five keys, two of them padding.

    Parameters
    ----------
    answer : int
        The reader's number.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> masked_cells(10)
    Correct: 10 it is.
    """
    mistakes = [
        (16, "16 counts the rows of the padded queries as well; only keys are masked."),
        (4, "4 is where padded queries meet padded keys; real queries must not look there either."),
        (2, "2 is the number of padded places; each is hidden from every query."),
        (15, "15 is what may be attended to."),
    ]
    return grade_number(answer, 10, mistakes)


def cross_mask(answer):
    """Grade the mask of cross-attention, from the ids of target and source.

    Parameters
    ----------
    answer : callable
        ``answer(target_ids, source_ids)`` returns booleans ``(batch, len_q, len_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def cross_mask_of_source(target_ids, source_ids):
    ...     return padding_mask(source_ids).expand(-1, target_ids.shape[1], -1)
    >>> cross_mask(cross_mask_of_source)
    Correct: 3 cases agree.
    """

    def by_keys(target_ids, source_ids):
        return padding_mask(source_ids).expand(-1, target_ids.shape[1], -1)

    def by_queries(target_ids, source_ids):
        return padding_mask(target_ids).transpose(-2, -1).expand(-1, -1, source_ids.shape[1])

    def by_both(target_ids, source_ids):
        return by_keys(target_ids, source_ids) & by_queries(target_ids, source_ids)

    mistakes = [
        (by_queries, "that masks the queries' padding; the keys' padding is still looked at."),
        (lambda *ids: ~by_keys(*ids), "upside down: True means may attend, here it hides words."),
        (by_both, "padded queries need no mask: their rows become empty, and nobody reads them."),
        (
            lambda target_ids, source_ids: padding_mask(source_ids),
            "right, but spell out the shape (batch, len_q, len_k).",
        ),
    ]
    cases = [
        (torch.tensor([[5, 2, 0], [1, 3, 4]]), torch.tensor([[7, 7, 7, 0, 0], [8, 0, 0, 0, 0]])),
        (torch.tensor([[1, 0]]), torch.tensor([[3, 4, 5, 6, 0, 0, 0]])),
        (torch.tensor([[1, 2, 3, 0, 0]]), torch.tensor([[4, 0, 0]])),
    ]
    return grade(answer, by_keys, cases, mistakes)


def shifted(answer):
    """Grade the rotation of sinusoidal positions.

    Parameters
    ----------
    answer : callable
        ``answer(positions, delta)`` takes ``(len, d_model)`` and returns the vectors of the
        places ``delta`` further, in the same shape.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> shifted(lambda positions, delta: positions)
    Not yet: nothing is turned.
    """

    def turned(speeds, sign=1):
        def move(positions, delta):
            sin, cos = positions.unflatten(-1, (-1, 2)).unbind(dim=-1)
            angle = sign * delta * speeds(positions)
            moved = [
                sin * angle.cos() + cos * angle.sin(),
                cos * angle.cos() - sin * angle.sin(),
            ]
            return torch.stack(moved, dim=-1).flatten(-2)

        return move

    def own_speeds(positions):
        d_model = positions.shape[-1]
        return 10000.0 ** (-torch.arange(0, d_model, 2, dtype=positions.dtype) / d_model)

    def half_speeds(positions):
        d_model = positions.shape[-1]
        return 10000.0 ** (-torch.arange(d_model // 2, dtype=positions.dtype) / d_model)

    mistakes = [
        (lambda positions, delta: positions, "nothing is turned."),
        (
            turned(lambda positions: torch.ones((), dtype=positions.dtype)),
            "every pair turns at the same speed; only the first one has speed 1.",
        ),
        (turned(own_speeds, sign=-1), "turned backwards: that is the place delta before."),
        (turned(half_speeds), "the speed of pair j is 10000 to the -2j/d, not -j/d."),
        (
            lambda positions, delta: positions.roll(-delta, dims=0),
            "rolling the rows brings the first places to the end; turn each row instead.",
        ),
    ]
    cases = [
        (sinusoidal_positions(length, d_model).double(), delta)
        for length, d_model, delta in ((7, 6, 3), (11, 32, 1), (5, 10, 13))
    ]

    def reference(positions, delta):
        return turned(own_speeds)(positions, delta)

    return grade(answer, reference, cases, mistakes)
