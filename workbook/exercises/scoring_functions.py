"""Graders for the exercises of "Score every pair".

Examples
--------
>>> scaled_scores(lambda queries, keys: queries @ keys.mT / keys.shape[-1])
Not yet: the scale is the width itself, and not its root.
>>> gaussian_by_product(lambda q, k: -(q[:, :, None] - k[:, None]).square().sum(dim=-1) / 2).passed
False
"""

from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from workbook.exercises import draws, exercise, questions
from workbook.exercises._cases import PAIRS, STEEP_PAIRS

__all__ = ["frugal_additive_scores", "gaussian_by_product", "quiz", "scaled_scores"]

(quiz,) = questions("scoring_functions")


@exercise(
    axes="batch query key",
    cases=[*PAIRS, *STEEP_PAIRS],
)
def scaled_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Return the scaled dot product of every query with every key, ``(batch, len_q, len_k)``."""
    return queries @ keys.mT / queries.shape[-1] ** 0.5


class _LeftPyTorch(Exception):
    """A tensor went where nobody watches."""


class _Watch(TorchDispatchMode):
    """See every tensor that PyTorch makes.

    ``largest`` is the size of the largest, ``subtracted`` how many numbers are differences: made
    by a subtraction, or by an addition of vectors as wide as the first argument.
    """

    def __init__(self, answer: Callable[..., Any], *arguments: Tensor) -> None:
        super().__init__()
        self.width, self.largest, self.subtracted, self.left = arguments[0].shape[-1], 0, 0, ""
        doors = ("numpy", "__array__", "__dlpack__", "tolist")
        exits: dict[str, Any] = {name: self._closed(name) for name in doors}
        try:
            with patch.multiple(Tensor, **exits), redirect_stdout(StringIO()), self:
                answer(*arguments)
        except _LeftPyTorch as error:
            self.left = (
                f"the numbers are right, but a tensor leaves PyTorch through .{error}(), and how "
                "much is made there cannot be seen. Stay with tensors."
            )

    @staticmethod
    def _closed(name: str) -> Callable[..., Any]:
        def closed(*_: Any, **__: Any) -> Any:
            raise _LeftPyTorch(name)

        return closed

    def judged(self, fine: bool, said: str) -> tuple[bool, str]:
        """Return whether little is made, and what to say of it."""
        if self.left or not fine:
            return False, self.left or said
        return True, f"Largest tensor made: {self.largest} numbers."

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        result = function(*arguments, **(keywords or {}))
        for made in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(made, Tensor):
                numbers = made.untyped_storage().nbytes() // made.element_size()
                self.largest = max(self.largest, numbers)
                name = function.overloadpacket.__name__.strip("_")
                vectors = made.shape[-1:] == (self.width,)
                if name in ("sub", "rsub") or (name == "add" and vectors):
                    self.subtracted += made.numel()
        return result


def _less_mean(scores: Tensor, *_: Tensor) -> Tensor:
    """Return scores without what softmax cancels: each row's mean becomes 0."""
    return scores - scores.mean(dim=-1, keepdim=True) if scores.dim() else scores


def _no_differences(answer: Callable[..., Any]) -> tuple[bool, str]:
    normal = draws(0)
    watch = _Watch(answer, normal(2, 31, 23), normal(2, 29, 23))
    differences = 2 * 31 * 29 * 23
    return watch.judged(
        watch.subtracted < differences,
        "the weights are right, but the differences of all pairs are made. For 2 times 31 queries "
        f"and 29 keys of width 23 they are {differences} numbers; a matrix product makes "
        f"{2 * 31 * 29}.",
    )


@exercise(
    settle=_less_mean,
    settled="With each row's mean subtracted",
    axes="batch query key",
    cases=PAIRS,
    also=_no_differences,
    mistakes=[
        (
            " - squares[:, None] / 2",
            "",
            "these are the dot product's weights. Softmax cancels the query's squared length, but "
            "not the keys'.",
        ),
        (
            "squares[:, None]",
            "squares.sqrt()[:, None]",
            "the key's length is taken there, and not its square.",
        ),
        (
            "scores = queries @ keys.mT - squares[:, None] / 2",
            "scores = -torch.cdist(queries, keys) / 2",
            "the distance is not squared.",
        ),
        (
            "_less_mean(scores)",
            "_less_mean(scores.softmax(dim=-1))",
            "these are the weights. Scores are asked for; the softmax comes afterwards.",
        ),
    ],
)
def gaussian_by_product(queries: Tensor, keys: Tensor) -> Tensor:
    """Return scores with the Gaussian's weights, ``(batch, len_q, len_k)``."""
    squares = keys.square().sum(dim=-1)
    scores = queries @ keys.mT - squares[:, None] / 2
    return _less_mean(scores)


_normal, _double = draws(0), draws(1, torch.float64)


def _sides(random: Callable[..., Tensor], *sizes: int) -> tuple[Tensor, ...]:
    batch, len_q, len_k, d_q, d_k, num_hiddens = sizes
    matrices = (random(num_hiddens, d_q), random(num_hiddens, d_k), random(num_hiddens))
    return (random(batch, len_q, d_q), random(batch, len_k, d_k), *matrices)


def _little_memory(answer: Callable[..., Any]) -> tuple[bool, str]:
    watch = _Watch(answer, *_sides(_normal, 2, 7, 5, 3, 2, 11))
    allowed = 2 * 7 * 11  # key by key
    return watch.judged(
        watch.largest <= allowed,
        f"the numbers are right, but for 7 queries, 5 keys and 11 hidden units a tensor of "
        f"{watch.largest} numbers is made; {allowed} are enough.",
    )


@exercise(
    axes="batch query key",
    cases=[
        _sides(_normal, 1, 1, 2, 2, 1, 2),
        _sides(_normal, 2, 7, 5, 3, 2, 11),
        _sides(_double, 2, 3, 7, 5, 2, 11),
        _sides(_normal, 1, 2, 5, 3, 4, 7),
    ],
    special={
        "where hidden features are large": (
            100 * _normal(3, 1, 5),
            900 * _normal(3, 3, 7),
            _normal(2, 5),
            _normal(2, 7),
            _normal(2),
        ),
    },
    also=_little_memory,
    mistakes=[
        (" @ w_v", " @ w_v.abs()", "`w_v` has lost its signs; use its numbers as they are."),
        (
            ".tanh()",
            "",
            "the tanh is missing, so the query moves all scores of its row by the same amount.",
        ),
        (
            {".tanh()": "", "dim=-1)": "dim=-1).tanh()"},
            "the tanh comes after `w_v`. It belongs to each hidden feature, before "
            "they are summed.",
        ),
        (
            "(hidden_q + key[:, None]).tanh()",
            "(hidden_q.tanh() + key[:, None].tanh())",
            "the tanh is taken of each side alone. It belongs to their sum: query and key must "
            "meet inside it.",
        ),
        (".tanh()", ".relu()", "relu stands where tanh is asked for."),
        (".tanh()", ".sigmoid()", "sigmoid stands where tanh is asked for."),
        (
            " @ w_v",
            "[..., 1:] @ w_v[1:]",
            "the first hidden feature is left out; the loop must run over all of them.",
        ),
        (
            " @ w_v",
            "[..., :-1] @ w_v[:-1]",
            "the last hidden feature is left out; the loop must run over all of them.",
        ),
        (
            " @ w_v",
            "[..., -1:] @ w_v[-1:]",
            "only the last hidden feature counts; add them up, one after the other.",
        ),
    ],
)
def frugal_additive_scores(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """Return additive scores ``(batch, len_q, len_k)``."""
    hidden_q = queries @ W_q.T
    hidden_k = keys @ W_k.T
    columns = [(hidden_q + key[:, None]).tanh() @ w_v for key in hidden_k.unbind(1)]
    return torch.stack(columns, dim=-1)
