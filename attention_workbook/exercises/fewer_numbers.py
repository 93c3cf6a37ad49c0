"""Graders for the exercises of the chapter on caches with fewer numbers."""

from torch import Tensor

from attention_workbook.exercises import draws, exercise, makes, questions

__all__ = ["absorbed", "four_bits", "least_heads", "quiz"]

four_bits, least_heads, quiz = questions("fewer_numbers")

_normal = draws(91)


def _latent(heads: int, len_q: int, len_k: int, d_k: int, d_latent: int) -> tuple[Tensor, ...]:
    W_k, W_v = _normal(heads, d_k, d_latent), _normal(heads, d_k + 1, d_latent)
    return _normal(heads, len_q, d_k), _normal(len_k, d_latent), W_k, W_v


@exercise(
    axes="head query column",
    cases=[_latent(2, 1, 3, 2, 5), _latent(3, 2, 5, 4, 7), _latent(5, 1, 7, 3, 2)],
    rules=[
        makes(
            lambda step, shape, stored: stored < 5 * 11 * 7,  # heads × tokens × width
            case=_latent(5, 1, 11, 7, 3),
            sentence="the numbers are right, but keys or values of all heads and tokens are made. "
            "Absorb their matrices.",
        )
    ],
)
def absorbed(queries: Tensor, latents: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    """Return the output of heads that share latent vectors, ``(num_heads, len_q, d_v)``."""
    scores = queries @ W_k @ latents.mT / queries.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ latents @ W_v.mT
