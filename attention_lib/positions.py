"""Positions: without them, attention does not know the order of its keys.

Sinusoidal positions are added to the vectors. Rotary positions rotate queries and keys, so that
their score depends on the distance between them.
"""

import torch
from torch import Tensor, nn

from attention_lib.arguments import (
    broadcasts_to,
    float64_device,
    require_count,
    require_device,
    require_even,
    require_float,
    require_positive,
    require_queries_and_keys,
    require_tensor,
    require_width,
    shape_of,
)
from attention_lib.scoring import scaled_dot_scores

__all__ = [
    "PositionalEncoding",
    "rotary_frequencies",
    "rotary_scores",
    "rotate_by_position",
    "sinusoidal_positions",
]


def sinusoidal_positions(length: int, d_model: int) -> Tensor:
    r"""Return one vector for each position, made of sines and cosines of falling frequency.

    The shape is ``(length, d_model)``, ``d_model`` even, in the default dtype and on the default
    device. Row :math:`i` holds :math:`\sin(i\,\omega_j)` in column :math:`2j` and
    :math:`\cos(i\,\omega_j)` in column :math:`2j+1`, with
    :math:`\omega_j = 10000^{-2j/d_\text{model}}`. Moving by a fixed offset rotates each
    such pair by a fixed angle. Vaswani et al. (2017), section 3.5.

    Examples
    --------
    >>> sinusoidal_positions(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    require_even("d_model", d_model)
    # In float64: at large positions float32 angles would lose their digits.
    default = torch.get_default_device()
    device = float64_device(default)
    positions = torch.arange(length, dtype=torch.float64, device=device).unsqueeze(-1)
    angles = positions * _frequencies(d_model, 10_000.0, device)  # (length, d_model / 2)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (length, d_model / 2, 2)
    return waves.flatten(-2).to(torch.get_default_dtype()).to(default)


class PositionalEncoding(nn.Module):
    """Add sinusoidal positions to a sequence of vectors.

    Parameters
    ----------
    d_model : int
        Width of the vectors; even.
    max_len : int
        Number of positions; longer sequences are refused.
    dropout : float
        Probability that a coordinate of the sum is dropped, in training only.

    Raises
    ------
    TypeError, ValueError
        In ``forward``, if ``x`` or ``offset`` do not fit, or the last position is not below
        ``max_len``.

    Notes
    -----
    Vaswani et al. (2017), section 3.5. ``forward(x, offset=0)`` takes the position of the first
    vector; a decoder passes the number of tokens before it, ``len(cache)``. The positions are not
    in the state dict. After ``to_empty``, ``reset_parameters`` computes them again.

    Examples
    --------
    >>> encoding = PositionalEncoding(d_model=4)
    >>> encoding(torch.zeros(1, 2, 4))
    tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8415, 0.5403, 0.0100, 0.9999]]])
    >>> encoding(torch.zeros(1, 1, 4), offset=1)  # the second word, by itself
    tensor([[[0.8415, 0.5403, 0.0100, 0.9999]]])
    """

    positions: Tensor  # (max_len, d_model)

    def __init__(self, d_model: int, max_len: int = 1024, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", sinusoidal_positions(max_len, d_model), persistent=False)

    def reset_parameters(self) -> None:
        """Compute the positions again, where they are and in their dtype."""
        with torch.device("cpu"):
            self.positions.copy_(sinusoidal_positions(*self.positions.shape))

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Return ``x``, shape ``(..., length, d_model)``, plus the positions from ``offset`` on."""
        max_len, d_model = self.positions.shape
        require_float("x", x, "(..., length, d_model)", min_rank=2)
        require_width("x", x, d_model, "d_model")
        require_count("offset", offset, minimum=0)
        end = offset + x.shape[-2]
        if end > max_len:
            raise ValueError(
                f"x: expected at most max_len = {max_len} positions, "
                f"got {shape_of(x)} after offset {offset}"
            )
        output: Tensor = self.dropout(x + self.positions[offset:end].to(x.dtype))
        return output


def rotary_frequencies(d_k: int, base: float = 10_000.0) -> Tensor:
    r"""Return the angle by which each pair of coordinates is rotated per position.

    For pair :math:`j` it is :math:`\omega_j = \text{base}^{-2j/d_k}` radians, so that the slowest
    pair is rotated by about ``1 / base``. The shape is ``(d_k / 2,)``, float64, on the CPU. A width
    ``d_k`` that is odd and a base that is not positive are refused. Su et al. (2021), equation 15.

    Examples
    --------
    >>> rotary_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    require_even("d_k", d_k)
    return _frequencies(d_k, base, torch.device("cpu"))


def _frequencies(d_k: int, base: float, device: torch.device) -> Tensor:
    require_positive("base", base)
    exponents = torch.arange(0, d_k, 2, dtype=torch.float64, device=device) / d_k  # (d_k / 2,)
    frequencies: Tensor = float(base) ** -exponents
    return frequencies


def rotate_by_position(
    x: Tensor, positions: Tensor | None = None, *, base: float = 10_000.0, layout: str = "pairs"
) -> Tensor:
    r"""Rotate queries or keys by their positions (rotary positions, RoPE).

    Pair :math:`j` of the vector at position :math:`i` is rotated by the angle
    :math:`i\,\omega_j`. Lengths do not change, and the dot product of a rotated query and a
    rotated key depends only on the difference of their positions.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(..., length, d_k)``, ``d_k`` even.
    positions : torch.Tensor, optional
        The position of each vector; numbers that broadcast to ``(..., length)``. ``None`` means
        0, 1, 2 and so on.
    base : float
        As in :func:`rotary_frequencies`.
    layout : str
        The coordinates that form a pair: ``"pairs"`` takes ``(2j, 2j+1)``, ``"halves"`` takes
        ``(j, j + d_k/2)``. Queries, keys and the weights trained with them must share one
        layout; the two differ by a permutation of the coordinates.

    Returns
    -------
    torch.Tensor
        Shape and dtype of ``x``.

    Raises
    ------
    TypeError, ValueError
        If ``x`` is not a floating-point tensor of even width, ``positions`` do not broadcast or
        are on another device, or ``layout`` is neither of the two.

    Notes
    -----
    Su et al. (2021), equation 34. The angles are computed in float64: in float32 those of far
    positions would lose their digits. As ``rotary=`` of a
    :class:`~attention_lib.multihead.MultiHeadAttention`, this function or a ``functools.partial``
    of it rotates the queries and keys of each head.

    Examples
    --------
    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> rotate_by_position(x)  # (length, d_k): rotated by 0 and by 1 radian
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    require_float("x", x, "(..., length, d_k)", min_rank=2)
    require_even("the width of x", x.shape[-1])
    if layout not in ("pairs", "halves"):
        raise ValueError(f"layout: expected 'pairs' or 'halves', got {layout!r}")
    device = float64_device(x.device)
    if positions is None:
        positions = torch.arange(x.shape[-2], device=device)
    else:
        require_tensor("positions", positions, "(..., length)")
        require_device("x", x.device, "positions", positions)
    if not broadcasts_to(positions.shape, x.shape[:-1]):
        raise ValueError(
            "positions: expected a shape that broadcasts to (..., length) of x, "
            f"{tuple(x.shape[:-1])}, got {shape_of(positions)}"
        )
    positions = positions.to(device).double().unsqueeze(-1)  # (..., length, 1)
    angles = positions * _frequencies(x.shape[-1], base, device)  # (..., length, d_k / 2)
    cos, sin = angles.cos().to(x.dtype).to(x.device), angles.sin().to(x.dtype).to(x.device)
    half = x.shape[-1] // 2
    pair_axis, pair_shape = (-1, (half, 2)) if layout == "pairs" else (-2, (2, half))
    first, second = x.reshape(*x.shape[:-1], *pair_shape).unbind(pair_axis)
    rotated = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=pair_axis)
    return rotated.flatten(-2)


def rotary_scores(
    queries: Tensor,
    keys: Tensor,
    query_positions: Tensor | None = None,
    key_positions: Tensor | None = None,
    *,
    scale: float | None = None,
    base: float = 10_000.0,
    layout: str = "pairs",
) -> Tensor:
    r"""Score by scaled dot products of queries and keys that are rotated by their positions.

    Parameters
    ----------
    queries, keys : torch.Tensor
        Shapes ``(..., len_q, d_k)`` and ``(..., len_k, d_k)``, ``d_k`` even.
    query_positions, key_positions : torch.Tensor, optional
        Positions that broadcast to ``(..., len_q)`` and ``(..., len_k)``. By default keys stand
        at 0, 1, 2 and so on, and the last query stands at the last key.
    scale : float, optional
        The factor on the dot product; ``None`` means ``1 / sqrt(d_k)``.
    base, layout
        As in :func:`rotate_by_position`.

    Returns
    -------
    torch.Tensor
        Scores, shape ``(..., len_q, len_k)``.

    Raises
    ------
    TypeError, ValueError
        As :func:`rotate_by_position` and :func:`~attention_lib.scoring.scaled_dot_scores`.

    Notes
    -----
    Su et al. (2021), equation 16.

    Examples
    --------
    >>> same = torch.ones(4, 2)  # one vector at four positions
    >>> rotary_scores(same, same)  # (len_q, len_k): only the distance matters
    tensor([[ 1.4142,  0.7641, -0.5885, -1.4001],
            [ 0.7641,  1.4142,  0.7641, -0.5885],
            [-0.5885,  0.7641,  1.4142,  0.7641],
            [-1.4001, -0.5885,  0.7641,  1.4142]])
    """
    require_queries_and_keys(queries, keys)
    if query_positions is None:
        len_q, len_k = queries.shape[-2], keys.shape[-2]
        query_positions = torch.arange(len_k - len_q, len_k, device=queries.device)
    queries = rotate_by_position(queries, query_positions, base=base, layout=layout)
    keys = rotate_by_position(keys, key_positions, base=base, layout=layout)
    return scaled_dot_scores(queries, keys, scale)
