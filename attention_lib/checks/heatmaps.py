"""Graders for the exercises of the chapter on heatmaps.

Examples
--------
>>> brightest_cell(1.0)
Not yet: 1.0 is what the colour bar says, and it belongs to another panel: that is the lie.
>>> after_dropout("c").passed
True
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention_lib._arguments import shape_of
from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade, is_unwritten
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number, Quiz

__all__ = [
    "after_dropout",
    "brightest_cell",
    "quiz",
    "rollout",
    "same_output",
    "sureness",
    "value_weighted",
]

brightest_cell = Number(
    "The weight of the brightest cell",
    0.3,
    because="the brightest colour of a stretched panel is its own largest weight, 0.30.",
    mistakes=[
        (1.0, "1.0 is what the colour bar says, and it belongs to another panel: that is the lie."),
        (0.2, "0.2 is the width of the range."),
        (0.1, "0.1 is the darkest cell."),
        (1 / 3, "0.1 is one third of 0.3; the colours run from 0.10 to 0.30 here.", 0.004),
        (30, "a weight lies between 0 and 1: write 0.30."),
    ],
)

after_dropout = Choice(
    "One row of four maps, each over four keys. Which one shows weights after dropout of 0.1?",
    [
        "`0.70  0.05  0.10  0.15`",
        "`0.25  0.25  0.25  0.25`",
        "`0.78  0.00  0.11  0.17`",
        "`0.82  0.00  0.18  0.00`",
    ],
    "c",
    {
        "a": "it sums to 1 and holds no zero: these are weights as softmax makes them.",
        "b": "a head that looks everywhere alike has this row; dropout did not touch it.",
        "c": "it sums to 1.06, one key is exactly 0, and what is left was divided by 0.9: 0.70, "
        "0.10 and 0.15 before.",
        "d": "its zeros are masked keys: the rest sums to 1.",
    },
)


def sureness(answer: object) -> Verdict:
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

    def largest(weights: Tensor) -> Tensor:
        return weights.amax(dim=-1)  # (batch, num_heads, len_q)

    def counted(found: Tensor, real: Tensor) -> Tensor:
        return (found * real.unsqueeze(1)).sum(dim=(0, 2)) / real.sum()

    def reference(weights: Tensor, real: Tensor) -> Tensor:
        return counted(largest(weights), real)

    def mean_of_means(weights: Tensor, real: Tensor) -> Tensor:
        by_sentence = (largest(weights) * real.unsqueeze(1)).sum(dim=2)
        return (by_sentence / real.sum(dim=1, keepdim=True)).mean(dim=0)

    mistakes: Named = [
        (lambda weights, real: largest(weights).mean(dim=(0, 2)), "padded queries still count."),
        (
            lambda weights, real: (largest(weights) * real.unsqueeze(1)).mean(dim=(0, 2)),
            "the sum is right; divide by the number of real tokens, not of places.",
        ),
        (
            mean_of_means,
            "that is the mean of each sentence's mean: a short sentence counts as much as a long "
            "one. Here every real token counts alike.",
        ),
        (
            lambda weights, real: reference(weights, real).mean(),
            "that is one number for all heads; keep their axis.",
        ),
        (
            lambda weights, real: reference(weights, ~real),
            "the padded queries are counted, and the real ones left out: real is True at words.",
        ),
        (
            lambda weights, real: (largest(weights) * real.unsqueeze(1)).sum(dim=(0, 2)),
            "that is the sum; divide it by the number of real tokens.",
        ),
        (
            lambda weights, real: counted(weights.amax(dim=-2), real),
            "the largest weight of each column is taken, over the queries; a row is a query.",
        ),
        (
            lambda weights, real: counted(weights.amin(dim=-1), real),
            "the smallest weight of each row is taken.",
        ),
        (
            lambda weights, real: counted(weights.mean(dim=-1), real),
            "the mean weight of a row says nothing: it is 1 / len_k, whatever the head does.",
        ),
        (
            lambda weights, real: counted(weights.argmax(dim=-1), real),
            "argmax gives the key's place, not its weight.",
        ),
        (
            lambda weights, real: (
                (largest(weights) * real.unsqueeze(1)).sum(dim=(0, 2))
                / (real.sum() * weights.shape[1])
            ),
            "the number of heads is counted, too: each head has its own mean.",
        ),
        (
            lambda weights, real: counted(
                (weights * real[:, None, None, :]).amax(dim=-1), torch.ones_like(real)
            ),
            "real is laid over the keys. It is about queries, and padded queries still count.",
        ),
        (
            lambda weights, real: counted((weights * real[:, None, None, :]).amax(dim=-1), real),
            "the padded keys are left out, too; the largest weight of a row may stand anywhere.",
        ),
        *(
            (wrong, "that is not the mean over all real tokens of the batch: divide by real.sum().")
            for wrong in (
                lambda weights, real: (
                    (largest(weights) * real.unsqueeze(1)).sum(dim=(0, 2)) / len(real)
                ),
                lambda weights, real: (
                    (largest(weights) * real.unsqueeze(1)).sum(dim=(0, 2)) / real.shape[1]
                ),
                lambda weights, real: (
                    (largest(weights) * real.unsqueeze(1)).sum(dim=(0, 2)) / real.sum(dim=-1).max()
                ),
            )
        ),
        (
            lambda weights, real: (largest(weights) * real).sum(dim=(0, 2)) / real.sum(),
            "real is (batch, len_q) and the heads stand between: real[:, None] lines up.",
        ),
        (
            lambda weights, real: (largest(weights) * real.unsqueeze(1)).amax(dim=(0, 2)),
            "the surest query of all is taken; all real queries count.",
        ),
        (
            lambda weights, real: (
                (largest(weights) * real.unsqueeze(1)).sum(dim=(0, 1)) / real.sum()
            ),
            "the heads are summed, and the places kept; it is the other way round.",
        ),
        (
            lambda weights, real: (
                (largest(weights) * real.unsqueeze(1)).sum(dim=2) / real.sum(dim=1, keepdim=True)
            ),
            "that is a mean for each sentence; one for each head is asked for.",
        ),
        (
            lambda weights, real: (weights.mean(dim=1).amax(dim=-1) * real).sum() / real.sum(),
            "the heads' maps are averaged first; each head has a sureness of its own.",
        ),
        (
            lambda weights, real: (
                (weights * real[:, None, :, None]).sum(dim=(0, 2)) / real.sum()
            ).amax(dim=-1),
            "the rows are averaged before the largest weight is taken; take it in each row.",
        ),
        (
            lambda weights, real: counted(torch.special.entr(weights).sum(dim=-1), real),
            "that is the mean entropy; the largest weight of each row is asked for.",
        ),
        (
            lambda weights, real: counted(weights.square().sum(dim=-1), real),
            "the squares of a row are summed; its largest weight is asked for.",
        ),
        (
            lambda weights, real: largest(weights).transpose(1, 2)[real].median(dim=0).values,
            "that is the median; the mean is asked for.",
        ),
    ]
    cases = []
    for seed, (batch, num_heads, length) in enumerate([(1, 1, 2), (2, 3, 5), (3, 2, 7), (4, 5, 6)]):
        scores = 2 * draws(40 + seed, torch.float64 if seed == 2 else torch.float32)(
            batch, num_heads, length, length
        )
        real = torch.arange(length) < torch.arange(1, 1 + batch).unsqueeze(-1)
        cases.append((torch.softmax(scores, dim=-1), real.roll(seed % 2, dims=-1)))
    return grade(answer, reference, cases, mistakes, axes=["head"])


def rollout(answer: object) -> Verdict:
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

    def product(
        mix: Callable[[Tensor, Tensor], Tensor],
        order: Callable[[Tensor], Tensor] = lambda weights: weights,
    ) -> Callable[[Tensor], Tensor]:
        def rolled(weights: Tensor) -> Tensor:
            total = torch.eye(weights.shape[-1], dtype=weights.dtype)
            for layer in order(weights):
                total = mix(layer, torch.eye(len(layer), dtype=layer.dtype)) @ total
            return total

        return rolled

    def half(layer: Tensor, identity: Tensor) -> Tensor:
        return (layer + identity) / 2

    def identity(weights: Tensor) -> Tensor:
        return torch.eye(weights.shape[-1], dtype=weights.dtype)

    def once(weights: Tensor) -> Tensor:
        plain = product(lambda layer, identity: layer)(weights)
        return half(plain, torch.eye(len(plain), dtype=plain.dtype))

    def elementwise(weights: Tensor) -> Tensor:
        return half(weights, torch.eye(weights.shape[-1], dtype=weights.dtype)).prod(dim=0)

    def sums(layer: Tensor, identity: Tensor) -> Tensor:
        total = layer + identity
        return total / total.sum(dim=0, keepdim=True)

    mistakes: Named = [
        (
            lambda weights: weights.mean(dim=0),
            "layers follow one another, so they multiply; a mean treats them as alternatives.",
        ),
        (
            lambda weights: weights.sum(dim=0),
            "layers follow one another, so they multiply; a sum treats them as alternatives.",
        ),
        (
            product(lambda layer, identity: layer),
            "the residual path is missing: each layer also passes its input on.",
        ),
        (
            product(lambda layer, identity: layer, lambda weights: weights.flip(0)),
            "the residual path is missing, and the order is reversed.",
        ),
        (
            product(lambda layer, identity: layer + identity),
            "the rows sum to more than 1: halve the sum of weights and identity.",
        ),
        (
            product(half, lambda weights: weights.flip(0)),
            "the order is reversed: the last layer stands leftmost.",
        ),
        (
            product(lambda layer, identity: layer.mT / 2 + identity / 2),
            "the weights are transposed: rows are queries, and sum to 1.",
        ),
        (
            product(half, lambda weights: weights[1:]),
            "the first layer is left out, or its residual path.",
        ),
        (product(half, lambda weights: weights[:-1]), "the last layer is left out."),
        (once, "the identity is mixed in once, at the end; every layer has its residual path."),
        (elementwise, "the layers are multiplied entry by entry; a matrix product follows paths."),
        (lambda weights: weights[0], "that is the first layer alone."),
        (lambda weights: weights[-1], "that is the last layer alone."),
        (
            lambda weights: half(
                weights.mean(dim=0), torch.eye(weights.shape[-1], dtype=weights.dtype)
            ),
            "layers follow one another, so they multiply; a mean treats them as alternatives.",
        ),
        (
            product(lambda layer, identity: layer / 2 + 0.5),
            "a half is added to every cell; the identity is 1 on the diagonal and 0 elsewhere.",
        ),
        (product(sums), "the columns are normalised; it is the rows that sum to 1."),
        (
            lambda weights: product(half)(weights).mT,
            "the result is transposed: row i says where place i comes from.",
        ),
        (
            lambda weights: product(half)(weights)[-1],
            "that is the last row; every place has one.",
        ),
        (
            lambda weights: weights.prod(dim=0),
            "the layers are multiplied entry by entry; a matrix product follows paths.",
        ),
        (
            lambda weights: half(weights[-1], identity(weights)),
            "that is the last layer alone, with its residual path.",
        ),
        (
            lambda weights: torch.linalg.matrix_power(
                half(weights.mean(dim=0), identity(weights)), len(weights)
            ),
            "layers follow one another, so they multiply; a mean treats them as alternatives.",
        ),
        (
            lambda weights: weights.amax(dim=0),
            "layers follow one another, so they multiply; the largest treats them as alternatives.",
        ),
        (
            product(lambda layer, identity: (layer + identity).softmax(dim=-1)),
            "the weights went through softmax already: the sum with the identity is halved.",
        ),
        (
            product(lambda layer, identity: layer - identity),
            "the identity is subtracted; the residual path adds.",
        ),
        *(
            (
                product(partial(torch.lerp, weight=part)),
                "weights and identity have unequal parts; each is a half.",
            )
            for part in (0.9, 0.8, 0.75, 0.7, 0.6, 0.4, 0.3, 0.25, 0.2, 0.1)
        ),
        (
            lambda weights: torch.nn.functional.normalize(
                product(lambda layer, identity: layer + identity)(weights), p=1, dim=0
            ),
            "the columns are normalised; it is the rows that sum to 1.",
        ),
        (
            lambda weights: torch.stack(
                [product(half)(weights[: n + 1]) for n in range(len(weights))]
            ),
            "that is a map for each layer; the last one, of all of them, is asked for.",
        ),
        (
            lambda weights: product(half)(weights) * (1 - identity(weights)),
            "the diagonal is set to 0; what a place keeps of itself belongs to its row.",
        ),
    ]
    cases = [(torch.tensor([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.25, 0.75]]]),)]
    for layers, length in ((2, 3), (3, 5), (4, 7), (1, 3)):
        scores = draws(layers)(layers, length, length)
        cases.append((torch.softmax(2 * scores, dim=-1),))
    return grade(answer, product(half), cases, mistakes, axes=["row", "column"])


def value_weighted(answer: object) -> Verdict:
    """Grade a map that shows how much each key brings: its weight times its value's length.

    Parameters
    ----------
    answer : callable
        ``answer(weights, values)`` takes ``(batch, len_q, len_k)`` and ``(batch, len_k, d_v)``,
        and returns ``(batch, len_q, len_k)``.

    Returns
    -------
    Verdict

    Notes
    -----
    Kobayashi et al. (2020), "Attention is Not Only a Weight".

    Examples
    --------
    >>> value_weighted(lambda weights, values: weights)
    Not yet: that is the weight alone; the length of the value is missing.
    """

    def times(lengths: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda weights, values: weights.mul(lengths(values).unsqueeze(-2))

    def norms(values: Tensor) -> Tensor:
        return values.square().sum(dim=-1).sqrt()

    mistakes: Named = [
        (
            lambda weights, values: weights,
            "that is the weight alone; the length of the value is missing.",
        ),
        (times(lambda v: v.square().sum(dim=-1)), "the length is squared: its root is missing."),
        (times(lambda v: v.abs().sum(dim=-1)), "the entries' sizes are summed; a length is the "
            "root of the sum of squares."),
        (times(lambda v: v.sum(dim=-1)), "the entries are summed, and cancel; a length is the "
            "root of the sum of squares."),
        (times(lambda v: v.amax(dim=-1)), "the largest entry is taken; a length is the root of "
            "the sum of squares."),
        (times(lambda v: v.mean(dim=-1)), "the entries are averaged; a length is the root of the "
            "sum of squares."),
        (times(lambda v: v.square().mean(dim=-1).sqrt()), "the mean of the squares is taken; a "
            "length is the root of their sum."),
        (times(lambda v: v.norm(dim=-1) / v.norm(dim=-1).sum(dim=-1, keepdim=True)), "the lengths "
            "are divided by their sum."),
        (
            lambda weights, values: times(norms)(weights, values)
            / times(norms)(weights, values).sum(dim=-1, keepdim=True),
            "the rows are made to sum to 1 again, and so hide how much a query gets in all.",
        ),
        (
            lambda weights, values: weights * values.norm(dim=-1),
            "the lengths are (batch, len_k), and do not line up with (batch, len_q, len_k): give "
            "them an axis for the queries with unsqueeze(-2).",
        ),
        (
            lambda weights, values: weights * values.norm(dim=-1, keepdim=True),
            "the lengths lie along the queries' axis, (batch, len_k, 1). They belong along the "
            "last one, (batch, 1, len_k).",
        ),
        (
            lambda weights, values: weights * values.norm(dim=-2, keepdim=True),
            "the length of each column is taken, over the keys. A value is a row.",
        ),
        (times(lambda v: v.flatten(1).norm(dim=-1, keepdim=True).expand(-1, v.shape[1])), "one "
            "length is taken for all values; each key's value has its own."),
        (
            lambda weights, values: weights * values.norm(),
            "one length is taken for all values; each key's value has its own.",
        ),
        (times(lambda v: 1 / v.norm(dim=-1)), "the weights are divided by the lengths."),
        (times(lambda v: v.norm(dim=-1).sqrt()), "the root is taken twice: norm has it already."),
        (times(lambda v: v[..., 0]), "the first entry is taken; a length is the root of the sum of "
            "squares."),
        (times(lambda v: v.norm(dim=-1) / v.norm(dim=-1).amax(dim=-1, keepdim=True)), "the lengths "
            "are divided by the largest of them."),
        (
            lambda weights, values: weights + norms(values).unsqueeze(-2),
            "the lengths are added to the weights; they are multiplied.",
        ),
        (
            lambda weights, values: weights @ norms(values).unsqueeze(-1),
            "what the keys bring is summed already; each key has a cell of its own.",
        ),
        (
            lambda weights, values: weights @ torch.nn.functional.normalize(values, dim=-1),
            "that is an output of vectors of length 1; what each key brings is asked for.",
        ),
        (
            lambda weights, values: weights @ values,
            "that is the output; what each key brings is asked for, before the sum.",
        ),
        (
            lambda weights, values: (weights @ values).norm(dim=-1),
            "that is the length of the output; what each key brings is asked for.",
        ),
        (
            lambda weights, values: weights.unsqueeze(-1) * values.unsqueeze(-3),
            "these are the vectors that are summed; their lengths are asked for.",
        ),
    ]  # fmt: skip
    normal, double = draws(51), draws(52, torch.float64)

    def weights(scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=-1)

    cases = [
        (torch.tensor([[[0.75, 0.25]]]), torch.tensor([[[0.0, 0.0], [3.0, -4.0]]])),
        (weights(normal(2, 3, 5)), normal(2, 5, 7)),
        (weights(normal(3, 7, 2)), 100 * normal(3, 2, 3)),
        (weights(double(2, 4, 6)), double(2, 6, 1)),
        (torch.eye(3).unsqueeze(0), normal(1, 3, 3)),
    ]
    return grade(answer, times(norms), cases, mistakes, axes=["query", "key"])


def same_output(answer: object) -> Verdict:
    """Grade other weights with the same output: a second map for one result.

    Parameters
    ----------
    answer : callable
        ``answer(weights, values)`` takes ``(len_q, len_k)`` and ``(len_k, d_v)`` with
        ``len_k > d_v + 1``, and returns other weights ``(len_q, len_k)``: none negative, every
        row sums to 1 and differs from the given one by at least 0.01 somewhere, and the output
        ``weights @ values`` is the same.

    Returns
    -------
    Verdict

    Notes
    -----
    Brunner et al. (2020), "On Identifiability in Transformers".

    Examples
    --------
    >>> same_output(lambda weights, values: weights)
    Not yet: row 0 is what was given: no weight moves by 0.01. Given weights = \
[[0.25, 0.25, 0.25, 0.25]], values = [[1], [2], [3], [4]].
    """
    if answer is ...:
        return Verdict.unwritten()
    if not callable(answer):
        return Verdict(False, f"a function is expected, not {type(answer).__name__}.")
    cases = [(torch.full((1, 4), 0.25), torch.tensor([[1.0], [2.0], [3.0], [4.0]]))]
    for seed, (len_q, len_k, d_v) in enumerate([(3, 7, 2), (5, 6, 3), (1, 11, 9), (2, 5, 3)]):
        normal = draws(60 + seed, torch.float64)
        cases.append((torch.softmax(normal(len_q, len_k) / 2, dim=-1), normal(len_k, d_v)))
    rows = torch.tensor([[0.03, 0.94, 0.03], [0.485, 0.03, 0.485]], dtype=torch.float64)
    cases.append((rows, torch.arange(3.0, dtype=torch.float64).unsqueeze(-1)))  # little room
    for weights, values in cases:
        given = weights.clone(), values.clone()
        try:
            found = answer(*given)
        except Exception as error:  # whatever the reader's code raises is shown to the reader
            found = error
        if is_unwritten(answer, found):
            return Verdict.unwritten()
        said = _not_another_map(found, weights, values)
        if not all(torch.equal(*pair) for pair in zip(given, (weights, values), strict=True)):
            said = "the function changed its input"
        if said:
            small = weights.numel() + values.numel() <= 8
            shown = (
                f"weights = {weights.tolist()}, values = {values.int().tolist()}"
                if small
                else f"weights of shape {shape_of(weights)}, values of shape {shape_of(values)}"
            )
            return Verdict(False, f"{said}. Given {shown}.")
    return Verdict(True, f"{len(cases)} outputs have a second map.")


def _not_another_map(found: object, weights: Tensor, values: Tensor) -> str:
    """Say what keeps a result from being other weights with the same output."""
    if isinstance(found, Exception):
        return f"it raised {type(found).__name__}: {found}"
    if not isinstance(found, Tensor):
        return f"a tensor is expected, not {type(found).__name__}"
    if found.shape != weights.shape:
        return f"expected shape {shape_of(weights)}, got {shape_of(found)}"
    found, weights, values = found.detach().double(), weights.double(), values.double()
    if found.isnan().any():
        return "the weights hold NaN"
    for row, (new, old) in enumerate(zip(found, weights, strict=True)):
        if new.min() < -1e-6:
            return f"row {row}: the weight of key {int(new.argmin())} is {new.min():.3g}: negative"
        if abs(new.sum() - 1) > 1e-5:
            return f"row {row}: the weights sum to {new.sum():.5g}, not to 1"
        moved = (new @ values - old @ values).abs()
        if moved.max() > 1e-4:
            column = int(moved.argmax())
            got, should = (new @ values)[column], (old @ values)[column]
            return f"row {row}, column {column}: the output is {got:.4g}, should be {should:.4g}"
        if (new - old).abs().max() < 0.01 - 1e-6:
            return f"row {row} is what was given: no weight moves by 0.01"
    return ""


quiz = Quiz(
    Choice(
        "You check the weights before you draw them, and one row sums to 0. What does it mean?",
        [
            "a mistake: a row of weights always sums to 1",
            "all keys of this query are masked",
            "the values of these keys are zero",
        ],
        "b",
        {
            "a": "softmax makes rows that sum to 1, but with every key masked there is nothing to "
            "share out.",
            "b": "a query with nothing to attend to gets weights 0, and its row is hatched.",
            "c": "the values come in after the weights, and do not change them.",
        },
    ),
    Number(
        "In four heads, a word gives a key the weights .9, .1, .1 and .1. PyTorch's layer returns "
        "one weight for the four, unless you ask for each. Which?",
        0.3,
        because="it is their mean, 1.2 / 4 = .3. None of the four heads has such a weight.",
        mistakes=[
            (0.9, "that is the largest. It is the one that you would want to see."),
            (1.2, "that is the sum, and a weight is at most 1."),
            (0.1, "that is the weight in the middle; the mean is larger."),
        ],
    ),
    Choice(
        "In one head, the row of “it” has a bright cell. You exchange what this head brings to "
        "“it”, and the answer stays. What follows?",
        [
            "the exchange went wrong: so bright a cell must matter",
            "the model can do without this head",
            "this answer does not depend on what “it” gathers in this head",
        ],
        "c",
        {
            "a": "a bright cell says how much of a value comes in, not what is made of it.",
            "b": "only one row was tested. The head has a row for every other word, and those may "
            "be needed: without head 1.2 four answers in ten are wrong.",
            "c": "that is what was changed, and nothing more. The answer may come in elsewhere.",
        },
    ),
)
