"""Graders for the chapter on many heads.

Examples
--------
>>> layer_parameters(3 * 512**2)
Not yet: W_o is forgotten: the matrix that joins the heads.
>>> both_at_once(1)
Not yet: the weights of one head sum to 1 over the whole row: it cannot give 1 twice.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named, causal
from attention_lib.checks._questions import Choice, Number, Quiz
from attention_lib.multihead import merge_heads, split_heads

__all__ = [
    "both_at_once",
    "layer_parameters",
    "merge",
    "multi_head",
    "quiz",
    "share_of_head",
]

D_MODEL, NUM_HEADS = 512, 8
D_K = D_MODEL // NUM_HEADS

layer_parameters = Number(
    "The parameters of a layer of width 512 with eight heads and no biases",
    4 * D_MODEL**2,
    because="four matrices of 512 × 512, whatever the number of heads.",
    mistakes=[
        (3 * D_MODEL**2, "W_o is forgotten: the matrix that joins the heads."),
        (
            4 * D_MODEL**2 * NUM_HEADS,
            "the heads share the width: together they have one W_q of 512 × 512, not eight.",
        ),
        (4 * D_MODEL * D_K, "that is one head; there are eight, each as wide as 64."),
        (3 * D_MODEL * D_K, "that is one head without its part of W_o; there are eight."),
        (4 * D_MODEL**2 + 4 * D_MODEL, "the layer has no biases."),
        (D_MODEL**2, "that is one matrix; the layer has W_q, W_k, W_v and W_o."),
        (D_MODEL * D_K, "that is one matrix of one head; there are four of each, and eight heads."),
        (4 * D_K**2, "a head's matrices take all 512 numbers of a word: they are 512 × 64."),
        (2 * D_MODEL**2, "that is two of the four matrices."),
        (4 * D_MODEL, "a matrix of the layer has 512 × 512 numbers."),
    ],
)

both_at_once = Number(
    "One query must read two tokens. Two heads give each its weight of 1. What is the largest "
    "weight that one head can give to both of them alike?",
    0.5,
    because="a row of weights sums to 1, and two equal parts of it are halves.",
    mistakes=[
        (1, "the weights of one head sum to 1 over the whole row: it cannot give 1 twice."),
        (2, "a weight is at most 1."),
        (0.25, "half of it would go to other tokens; give it all to the two."),
        (0.5**0.5, "it is the weights that sum to 1, not their squares."),
        (50, "a weight lies between 0 and 1: write 0.5."),
        (0, "a head can look at two tokens: it must share its weight between them."),
    ],
)


def merge(answer: object) -> Verdict:
    """Grade a function that joins heads.

    Parameters
    ----------
    answer : callable
        ``answer(x)`` takes ``(batch, num_heads, len, d_k)`` and returns
        ``(batch, len, num_heads * d_k)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> merge(merge_heads)
    Correct: 6 cases agree.
    """
    mistakes: Named = [
        (
            lambda x: x.reshape(x.shape[0], x.shape[2], -1),
            "the axes were not swapped, so one position gets numbers of another.",
        ),
        (
            lambda x: x.permute(0, 2, 3, 1).flatten(-2),
            "the heads are interleaved: column 1 of each head, then column 2; they should be "
            "blocks.",
        ),
        (lambda x: x.sum(dim=1), "the heads were added up; they stand side by side."),
        (lambda x: x.mean(dim=1), "the heads were averaged; they stand side by side."),
        (lambda x: x[:, 0], "that is the first head alone; all stand side by side."),
        (lambda x: x.transpose(1, 2), "the axes are swapped, but the last two are not yet one."),
        (lambda x: x.flatten(1, 2), "the heads stand one below the other, not side by side."),
        (
            lambda x: merge_heads(x.flip(1)),
            "the heads stand in reverse order.",
        ),
        (
            lambda x: x.permute(2, 0, 1, 3).flatten(-2),
            "the positions come before the batch.",
        ),
        (lambda x: x.amax(dim=1), "the largest of the heads is taken; they stand side by side."),
        (
            lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1),
            "`view` cannot join axes that a transpose has moved: use `reshape`, or `flatten`.",
        ),
        *(
            (
                wrong,
                f"axes {axes} are swapped before they are joined; it is 1 and 2, heads and len.",
            )
            for axes, wrong in (
                ("2 and 3", lambda x: x.transpose(2, 3).reshape(x.shape[0], x.shape[2], -1)),
                ("0 and 1", lambda x: x.transpose(0, 1).reshape(x.shape[0], x.shape[2], -1)),
                ("1 and 3", lambda x: x.transpose(1, 3).reshape(x.shape[0], x.shape[2], -1)),
                ("1 and 3", lambda x: x.transpose(1, 3).flatten(-2)),
            )
        ),
        (lambda x: x.flatten(1), "all of a sentence is one row; each position keeps its own."),
        (lambda x: x.flatten(0, 1), "the heads stand below each other, in the batch's axis."),
        (lambda x: torch.cat(x.unbind(0), dim=-1), "the batch is joined; it is the heads."),
        (
            lambda x: x.transpose(1, 2).reshape(x.shape[0], -1, x.shape[2]),
            "the two sizes of the result have changed places: (batch, len, num_heads * d_k).",
        ),
        (
            lambda x: x.permute(1, 2, 0, 3).reshape(x.shape[0], x.shape[2], -1),
            "the batch stands among the heads when the axes are joined: it comes first and stays "
            "there.",
        ),
        *(
            (wrong, "the last head is left out; all of them stand side by side.")
            for wrong in (
                lambda x: merge_heads(x[:, :-1]),
                lambda x: torch.cat([x[:, head] for head in range(x.shape[1] - 1)], dim=-1),
            )
        ),
        (
            lambda x: x[:, 0].repeat(1, 1, x.shape[1]),
            "the first head stands there again and again; each has its own place.",
        ),
        *(
            (wrong, "two heads are joined, whatever their number.")
            for wrong in (
                lambda x: torch.cat([x[:, 0], x[:, 1]], dim=-1),
                lambda x: merge_heads(x[:, :2]),
            )
        ),
        (lambda x: x.squeeze(1), "squeeze takes away an axis of length 1; the heads are several."),
    ]
    shapes = [(1, 2, 2, 1), (1, 2, 3, 2), (2, 3, 5, 7), (3, 5, 2, 3), (2, 1, 7, 4), (1, 4, 3, 1)]
    cases = [(_count(*shape),) for shape in shapes]
    return grade(answer, merge_heads, cases, mistakes, axes=["position", "column"])


def share_of_head(answer: object) -> Verdict:
    """Grade what one head contributes to the output of its layer.

    Parameters
    ----------
    answer : callable
        ``answer(outputs, W_o, i)`` takes the heads' outputs ``(batch, num_heads, len, d_v)``, the
        matrix ``(num_heads * d_v, d_model)`` and the number of a head, and returns the part
        ``(batch, len, d_model)`` that head ``i`` has in ``merge_heads(outputs) @ W_o``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> share_of_head(lambda outputs, W_o, i: outputs[:, i])
    Not yet: W_o is forgotten: this is the output of the head before it.
    """

    def rows(W_o: Tensor, i: int, d_v: int) -> Tensor:
        return W_o[i * d_v : (i + 1) * d_v]

    def reference(outputs: Tensor, W_o: Tensor, i: int) -> Tensor:
        return outputs[:, i] @ rows(W_o, i, outputs.shape[-1])

    mistakes: Named = [
        (
            lambda outputs, W_o, i: outputs[:, i],
            "W_o is forgotten: this is the output of the head before it.",
        ),
        (
            lambda outputs, W_o, i: merge_heads(outputs) @ W_o,
            "that is the whole output, the sum over all heads.",
        ),
        (
            lambda outputs, W_o, i: merge_heads(outputs) @ W_o / outputs.shape[1],
            "that is the whole output, divided by the number of heads: a head's share is its own.",
        ),
        (
            lambda outputs, W_o, i: reference(outputs, W_o, i) / outputs.shape[1],
            "heads are added, not averaged: do not divide by their number.",
        ),
        (
            lambda outputs, W_o, i: outputs[:, i] @ W_o[i :: outputs.shape[1]],
            "the rows of W_o are taken in turns; a head's rows are a block.",
        ),
        (
            lambda outputs, W_o, i: outputs[:, i] @ rows(W_o, 0, outputs.shape[-1]),
            "every head is given the first rows of W_o; each has its own block.",
        ),
        (
            lambda outputs, W_o, i: outputs[:, i] @ W_o[i : i + outputs.shape[-1]],
            "the block of W_o starts at row i; it starts at row i · d_v.",
        ),
        (
            lambda outputs, W_o, i: outputs[:, i] @ W_o[i * outputs.shape[1] :][: outputs.shape[1]],
            "the block of W_o has num_heads rows, from row i · num_heads; it has d_v rows, from "
            "row i · d_v.",
        ),
        (
            lambda outputs, W_o, i: (
                outputs[:, i] @ rows(W_o, (i + 1) % outputs.shape[1], outputs.shape[-1])
            ),
            "the rows of W_o belong to the head after it; head i meets its own.",
        ),
        (
            lambda outputs, W_o, i: reference(outputs, W_o, (i - 1) % outputs.shape[1]),
            "that is the head before: heads are counted from 0.",
        ),
        (
            lambda outputs, W_o, i: (
                merge_heads(outputs)[..., i :: outputs.shape[1]] @ rows(W_o, i, outputs.shape[-1])
            ),
            "the columns of the joined heads are taken in turns; a head's columns are a block.",
        ),
        (
            lambda outputs, W_o, i: reference(outputs[..., :-1], _but_last(outputs, W_o), i),
            "the head's last column is left out, and the row of W_o that it meets.",
        ),
        (
            lambda outputs, W_o, i: outputs.mean(dim=1) @ rows(W_o, i, outputs.shape[-1]),
            "the heads are averaged before W_o; only head i meets its rows.",
        ),
        (
            lambda outputs, W_o, i: reference(outputs, W_o, i).sum(dim=1),
            "the positions are added up; each has a share of its own.",
        ),
        (
            lambda outputs, W_o, i: reference(outputs[:1], W_o, i),
            "only the first sentence of the batch comes back.",
        ),
        (
            lambda outputs, W_o, i: outputs[:, i] @ W_o,
            "the shapes do not meet: a head has d_v columns, and W_o has num_heads · d_v rows. "
            "Head i meets its own d_v of them.",
        ),
        (
            lambda outputs, W_o, i: outputs[:, i - 1] @ rows(W_o, i - 1, outputs.shape[-1]),
            "that is the head before: heads are counted from 0.",
        ),
        (
            lambda outputs, W_o, i: outputs.sum(dim=1) @ rows(W_o, i, outputs.shape[-1]),
            "the heads are added up before W_o; only head i meets its rows.",
        ),
        (
            lambda outputs, W_o, i: merge_heads(outputs) @ W_o - reference(outputs, W_o, i),
            "that is what all other heads contribute.",
        ),
        (
            lambda outputs, W_o, i: outputs[i] @ rows(W_o, i, outputs.shape[-1]),
            "the first axis is the batch: head i is outputs[:, i].",
        ),
        (
            lambda outputs, W_o, i: outputs[:, 0] @ rows(W_o, i, outputs.shape[-1]),
            "the first head is taken, whichever is asked for.",
        ),
        (
            lambda outputs, W_o, i: outputs[..., i] @ W_o,
            "outputs[..., i] is column i of every head; head i is outputs[:, i].",
        ),
        (
            lambda outputs, W_o, i: outputs[:, :, i] @ rows(W_o, i, outputs.shape[-1]),
            "outputs[:, :, i] is position i of every head; head i is outputs[:, i].",
        ),
        (
            lambda outputs, W_o, i: outputs[:, i] @ W_o[i],
            "W_o[i] is one row; a head meets d_v of them.",
        ),
        *(
            (wrong, "columns of W_o are taken; what comes from a head meets its rows.")
            for wrong in (
                lambda outputs, W_o, i: (
                    outputs[:, i] @ W_o[:, i * outputs.shape[-1] :][:, : outputs.shape[-1]].T
                ),
                lambda outputs, W_o, i: outputs[:, i] @ rows(W_o.T, i, outputs.shape[-1]),
                lambda outputs, W_o, i: outputs[:, i] @ W_o.chunk(outputs.shape[1], dim=1)[i],
                lambda outputs, W_o, i: outputs[:, i] @ W_o.T.chunk(outputs.shape[1])[i],
            )
        ),
        (
            lambda outputs, W_o, i: (merge_heads(outputs) @ W_o)[..., i * outputs.shape[-1] :][
                ..., : outputs.shape[-1]
            ],
            "a block of the whole output is cut out; a head has a share in every column of it.",
        ),
        (
            lambda outputs, W_o, i: reference(outputs, W_o, outputs.shape[1] - 1 - i),
            "the heads are counted from the last.",
        ),
        (
            lambda outputs, W_o, i: torch.stack(
                [reference(outputs, W_o, j) for j in range(i + 1)]
            ).sum(dim=0),
            "the shares of all heads up to i are added up; head i has its own.",
        ),
        (
            lambda outputs, W_o, i: (
                (outputs * (torch.arange(outputs.shape[1]) == i).view(-1, 1, 1)).reshape(
                    outputs.shape[0], outputs.shape[2], -1
                )
                @ W_o
            ),
            "the heads are joined without swapping the axes: merge_heads swaps them.",
        ),
    ]
    normal, double = draws(21), draws(22, torch.float64)
    cases = [
        (_count(1, 2, 1, 2), _count(4, 1), 1),
        (normal(2, 3, 5, 7), normal(21, 11), 2),
        (normal(3, 5, 2, 3), normal(15, 7), 1),
        (normal(2, 4, 3, 2), normal(8, 8), 0),
        (normal(5, 3, 2, 4), normal(12, 5), 1),
        (double(1, 2, 3, 5), double(10, 3), 1),
    ]
    return grade(answer, reference, cases, mistakes, axes=["position", "column"])


def multi_head(answer: object) -> Verdict:
    """Grade a whole layer of multi-head attention, without a mask.

    Parameters
    ----------
    answer : callable
        ``answer(X, W_q, W_k, W_v, W_o, num_heads)`` takes ``(batch, len, d_model)`` and four
        matrices ``(d_model, d_model)`` that are applied from the right, and returns
        ``(batch, len, d_model)``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def one_wide_head(X, W_q, W_k, W_v, W_o, num_heads):
    ...     return scaled_dot_product_attention(X @ W_q, X @ W_k, X @ W_v)[0] @ W_o
    >>> multi_head(one_wide_head)
    Not yet: that is one head of the whole width: nothing is cut into num_heads.
    """
    Cut = Callable[[Tensor, int], Tensor]
    Join = Callable[[Tensor], Tensor]

    def layer(
        cut: Cut = split_heads,
        join: Join = merge_heads,
        *,
        root: Callable[[int, int], float] = lambda d_k, d_model: d_k**0.5,
        soften: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(dim=-1),
        use: str = "qkvo",
        transposed: bool = False,
    ) -> Callable[..., Any]:
        """A layer; ``use`` says which matrix stands for which, "1" is none."""

        def attend(
            X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, num_heads: int
        ) -> Any:
            matrices = W_q, W_k, W_v, W_o
            given = dict(zip("qkvo", [W.mT if transposed else W for W in matrices], strict=True))
            given["1"] = torch.eye(X.shape[-1], dtype=X.dtype)
            Q, K, V = (cut(X @ given[name], num_heads) for name in use[:3])
            weights = soften(Q @ K.mT / root(Q.shape[-1], X.shape[-1]))
            return join(weights @ V) @ given[use[3]]

        return attend

    def straight(x: Tensor, num_heads: int) -> Tensor:
        return x.reshape(x.shape[0], num_heads, x.shape[1], -1)

    def straight_back(x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], x.shape[2], -1)

    def interleaved(x: Tensor, num_heads: int) -> Tensor:
        return x.reshape(*x.shape[:2], -1, num_heads).permute(0, 3, 1, 2)

    def unswapped(x: Tensor, num_heads: int) -> Tensor:
        return x.reshape(*x.shape[:2], num_heads, -1)

    def weights(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n: int) -> Tensor:
        parts = (split_heads(X @ W, n) for W in (W_q, W_k, W_v))
        return torch.as_tensor(scaled_dot_product_attention(*parts)[1])

    mistakes: Named = [
        (
            layer(lambda x, num_heads: split_heads(x, 1)),
            "that is one head of the whole width: nothing is cut into num_heads.",
        ),
        (
            layer(straight),
            "the columns are not cut first: a head gets whole vectors of some places. Cut the "
            "width into (num_heads, d_k), then swap the axes.",
        ),
        (
            layer(join=straight_back),
            "the heads are joined without swapping the axes back, so one position gets numbers of "
            "another.",
        ),
        (
            layer(straight, straight_back),
            "splitting and joining are both straight reshapes: a head is a stretch of the "
            "sentence, and no word sees the rest of it. Swap the axes, both times.",
        ),
        (
            layer(interleaved),
            "the heads are interleaved when they are cut, and blocks when they are joined.",
        ),
        (
            layer(interleaved, lambda x: x.permute(0, 2, 3, 1).flatten(-2)),
            "the heads are interleaved: head 0 gets every num_heads-th column. A head is a block "
            "of neighbours.",
        ),
        (
            layer(unswapped, lambda x: x.flatten(-2)),
            "the axes are not swapped: the heads of one word attend to each other. The positions "
            "must come just before d_k.",
        ),
        (
            layer(join=lambda x: x.permute(0, 2, 3, 1).flatten(-2)),
            "the heads are blocks when they are cut, and interleaved when they are joined.",
        ),
        (
            lambda X, W_q, W_k, W_v, W_o, n: (
                scaled_dot_product_attention(X @ W_q * n**0.5, X @ W_k, X @ W_v)[0] @ W_o
            ),
            "that is one head of the whole width: nothing is cut into num_heads.",
        ),
        (
            lambda X, W_q, W_k, W_v, W_o, n: layer()(
                X, *(W * _own_block(W, n) for W in (W_q, W_k, W_v)), W_o, n
            ),
            "the words are cut before they are projected: a head's matrices take the whole word.",
        ),
        (
            layer(join=lambda x: torch.cat([merge_heads(x[:, :-1]), 0 * x[:, -1]], dim=-1)),
            "the last head brings nothing: a loop over the heads ends one too early.",
        ),
        (
            layer(join=lambda x: x.sum(dim=1).repeat(1, 1, x.shape[1])),
            "the heads are added up; they stand side by side.",
        ),
        (
            layer(lambda x, n: x.reshape(*x.shape[:-1], 2, -1).transpose(1, 2)),
            "the width is cut into two heads, whatever num_heads is.",
        ),
        (
            layer(
                root=lambda d_k, d_model: 1,
                soften=lambda scores: (scores / scores.shape[-1] ** 0.5).softmax(dim=-1),
            ),
            "the scores are divided by the root of the sentence's length; it must be that of d_k.",
        ),
        (layer(root=lambda d_k, d_model: 1), "the scores are not divided by the square root of "
            "d_k."),
        (
            layer(root=lambda d_k, d_model: d_model**0.5),
            "the scores are divided by the root of d_model; it must be the width of one head.",
        ),
        (layer(root=lambda d_k, d_model: d_k), "the scores are divided by d_k, not by its square "
            "root."),
        (
            layer(root=lambda d_k, d_model: (d_model // d_k) ** 0.5),
            "the scores are divided by the root of num_heads; it must be that of d_k.",
        ),
        (layer(soften=partial(torch.softmax, dim=-2)), "softmax runs over the queries (dim=-2). "
            "Keys lie along the last axis: dim=-1."),
        (layer(soften=partial(torch.softmax, dim=1)), "softmax runs over the heads (dim=1). Keys "
            "lie along the last axis: dim=-1."),
        (layer(soften=lambda scores: scores), "the softmax is missing: the values are summed with "
            "scores."),
        (layer(use="qkv1"), "W_o is forgotten: it mixes what the heads have found."),
        (layer(use="qk1o"), "W_v is forgotten: these are the plain vectors, weighted."),
        (layer(use="11vo"), "W_q and W_k are forgotten: plain vectors are compared."),
        (layer(use="kqvo"), "queries and keys are exchanged."),
        (layer(use="qqvo"), "the keys are made with W_q; they have a matrix of their own, W_k."),
        (layer(use="qkko"), "the values are made with W_k; they have a matrix of their own, W_v."),
        (layer(transposed=True), "the matrices are transposed: here they are applied as X @ W."),
        (weights, "these are the weights. The output is the values, summed with them, joined, "
            "times W_o."),
        (
            layer(soften=lambda scores: causal(scores).softmax(dim=-1)),
            "a causal mask hides the later words; nothing is hidden here.",
        ),
        (
            lambda X, *Ws: layer()(X, *Ws) / Ws[-1],
            "the output is divided by num_heads; W_o adds the heads up as they are.",
        ),
        (
            lambda X, W_q, W_k, W_v, W_o, n: layer(use="qkv1")(X @ W_o, W_q, W_k, W_v, W_o, n),
            "W_o comes first; it is applied last, to the joined heads.",
        ),
        (
            lambda X, W_q, W_k, W_v, W_o, n: (
                weights(X, W_q, W_k, W_v, W_o, n).mean(dim=1) @ (X @ W_v) @ W_o
            ),
            "the heads' weights are averaged; each head sums its own columns with its own weights.",
        ),
        (
            layer(soften=lambda scores: scores.softmax(dim=-1).softmax(dim=-1)),
            "softmax is taken twice: its weights lie close together as scores.",
        ),
    ]  # fmt: skip
    cases = []
    for seed, (batch, length, num_heads, d_k) in enumerate(
        ((1, 2, 2, 1), (2, 3, 2, 5), (3, 5, 3, 2), (1, 7, 1, 3), (2, 4, 5, 3))
    ):
        random = draws(50 + seed, torch.float64 if seed in (2, 4) else torch.float32)
        d_model = num_heads * d_k
        matrices = [random(d_model, d_model) for _ in range(4)]
        cases.append((random(batch, length, d_model), *matrices, num_heads))
    return grade(answer, layer(), cases, mistakes, axes=["batch", "position", "column"])


quiz = Quiz(
    Choice(
        "What can two heads of half the width do that one head of the full width cannot?",
        [
            "learn more: they have more parameters",
            "give two tokens a weight near 1 each",
            "be right more often, because two opinions are averaged",
        ],
        "b",
        {
            "a": "the width is divided among the heads, so the number of parameters is the same.",
            "b": "a row of weights sums to 1, so one head that looks at two tokens must mix them. "
            "Two heads have two rows.",
            "c": "heads are not averaged, and they need not answer the same question: W_o adds up "
            "what each of them has found.",
        },
    ),
    Number(
        "The numbers 0 to 23 fill 4 positions of width 6, row by row. They are split into 3 heads. "
        "Which number stands in head 1, position 2, column 0? (All are counted from 0.)",
        14,
        because="position 2 holds 12 to 17, and head 1 owns its columns 2 and 3: 14 and 15.",
        mistakes=[
            (12, "that is the wrong reshape, straight to the shape: cut the columns first."),
            (15, "six columns make three heads of two columns, not two heads of three."),
            (10, "that is head 2, position 1."),
            (6, "that is counted from 1. Position 2 is the third row, head 1 the second head."),
            (16, "that is head 2. Head 1 owns the columns 2 and 3."),
        ],
    ),
    Choice(
        "What does `W_o` do with the outputs of the heads?",
        [
            "it takes their average",
            "it chooses the head that fits a token best",
            "it gives each head rows of its own, and adds up what they make of it",
        ],
        "c",
        {
            "a": "an average would treat all heads alike. Here each head's columns meet rows of "
            "their own.",
            "b": "the same matrix serves all tokens, so it cannot choose a head for each.",
            "c": "side by side, head 0's columns meet the first rows, head 1's the next, and a "
            "product of matrices is the sum of these parts. So a head can be taken out of the sum.",
        },
    ),
)


def _but_last(outputs: Tensor, W_o: Tensor) -> Tensor:
    """Return the matrix without the last row of each head."""
    return W_o.reshape(*outputs.shape[1::2], -1)[:, :-1].flatten(0, 1)


def _own_block(W: Tensor, num_heads: int) -> Tensor:
    """Return 1 where a head's columns meet its own rows, 0 elsewhere."""
    head = torch.arange(len(W)) * num_heads // len(W)
    return (head.unsqueeze(-1) == head).to(W.dtype)


def _count(*shape: int) -> Tensor:
    """Return 0, 1, 2 … in a shape: each number says where it was."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)
