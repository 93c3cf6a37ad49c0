"""Graders for the chapter on heatmaps."""

import torch

from attention_lib.checks._grading import grade, grade_number

__all__ = ["brightest_cell", "rollout", "sureness"]


def brightest_cell(answer):
    """Grade the weight of the brightest cell in a panel stretched from 0.10 to 0.30.

    Parameters
    ----------
    answer : float
        The reader's number.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> brightest_cell(0.3)
    Correct: 0.3 it is.
    """
    mistakes = [
        (1.0, "1.0 is what the colour bar says, and it belongs to another panel: that is the lie."),
        (0.2, "0.2 is the width of the range."),
        (0.1, "0.1 is the darkest cell."),
    ]
    return grade_number(answer, 0.3, mistakes)


def sureness(answer):
    """Grade the mean of the largest weights over the real queries, for each head.

    Parameters
    ----------
    answer : callable
        ``answer(weights, real)`` takes ``(batch, num_heads, len_q, len_k)`` and booleans
        ``(batch, len_q)``, and returns ``(num_heads,)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> sureness(lambda weights, real: weights.amax(dim=-1).mean(dim=(0, 2)))
    Not yet: padded queries still count.
    """

    def largest(weights):
        return weights.amax(dim=-1)  # (batch, num_heads, len_q)

    def reference(weights, real):
        return (largest(weights) * real.unsqueeze(1)).sum(dim=(0, 2)) / real.sum()

    def by_all_places(weights, real):
        return (largest(weights) * real.unsqueeze(1)).mean(dim=(0, 2))

    def mean_of_means(weights, real):
        by_sentence = (largest(weights) * real.unsqueeze(1)).sum(dim=2)
        return (by_sentence / real.sum(dim=1, keepdim=True)).mean(dim=0)

    mistakes = [
        (lambda weights, real: largest(weights).mean(dim=(0, 2)), "padded queries still count."),
        (by_all_places, "the sum is right; divide by the number of real tokens, not of places."),
        (
            mean_of_means,
            "that is the mean of each sentence's mean: a short sentence counts as much as a long "
            "one. Here every real token counts alike.",
        ),
        (
            lambda weights, real: reference(weights, real).mean(),
            "that is one number for all heads; keep their axis.",
        ),
    ]
    cases = []
    for batch, num_heads, length in ((2, 3, 5), (3, 2, 7)):
        generator = torch.Generator().manual_seed(length)
        scores = torch.randn(batch, num_heads, length, length, generator=generator)
        real = torch.arange(length) < torch.arange(2, 2 + batch).unsqueeze(-1)
        cases.append((torch.softmax(2 * scores, dim=-1), real))
    return grade(answer, reference, cases, mistakes)


def rollout(answer):
    """Grade attention rollout.

    Parameters
    ----------
    answer : callable
        ``answer(weights)`` takes ``(layers, len, len)`` and returns ``(len, len)``.

    Returns
    -------
    Verdict

    Notes
    -----
    Abnar and Zuidema (2020), "Quantifying Attention Flow in Transformers".

    Examples
    --------
    >>> rollout(lambda weights: weights.mean(dim=0))
    Not yet: layers follow one another, so they multiply; a mean treats them as alternatives.
    """

    def product(weights, mix, first_layer_left=False):
        total = torch.eye(weights.shape[-1], dtype=weights.dtype)
        for layer in weights.flip(0) if first_layer_left else weights:
            total = mix(layer, torch.eye(len(layer), dtype=layer.dtype)) @ total
        return total

    def half(layer, identity):
        return (layer + identity) / 2

    mistakes = [
        (
            lambda weights: weights.mean(dim=0),
            "layers follow one another, so they multiply; a mean treats them as alternatives.",
        ),
        (
            lambda weights: product(weights, lambda layer, identity: layer),
            "the residual path is missing: each layer also passes its input on.",
        ),
        (
            lambda weights: product(weights, lambda layer, identity: layer + identity),
            "the rows sum to more than 1: halve the sum of weights and identity.",
        ),
        (
            lambda weights: product(weights, half, first_layer_left=True),
            "the order is reversed: the last layer stands leftmost.",
        ),
    ]
    cases = []
    for layers, length in ((2, 3), (3, 5), (4, 7)):
        generator = torch.Generator().manual_seed(layers)
        scores = torch.randn(layers, length, length, generator=generator)
        cases.append((torch.softmax(2 * scores, dim=-1),))
    return grade(answer, lambda weights: product(weights, half), cases, mistakes)
