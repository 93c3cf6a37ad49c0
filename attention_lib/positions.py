"""Positions: attention alone does not know the order of its keys.

Sinusoidal positions are added to the vectors; rotary positions turn queries and keys, so that
their score depends on how far apart they stand.
"""

import torch
from torch import Tensor, nn

from attention_lib._arguments import (
    require_count,
    require_float,
    require_positive,
    require_probability,
    require_queries_and_keys,
    require_same_device,
    require_size,
    require_tensor,
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
    r"""Return one vector a position, made of sines and cosines of falling frequency.

    Row :math:`i` holds :math:`\sin(i\,\omega_j)` in column :math:`2j` and
    :math:`\cos(i\,\omega_j)` in column :math:`2j+1`, with
    :math:`\omega_j = 10000^{-2j/d_\text{model}}`. Moving by a fixed offset rotates each
    such pair by a fixed angle.

    Parameters
    ----------
    length : int
        Number of positions.
    d_model : int
        Width of the vectors; even.

    Returns
    -------
    torch.Tensor
        Shape ``(length, d_model)``, in the default dtype, on the CPU.

    Raises
    ------
    TypeError, ValueError
        If an argument is no whole number of at least 1, or ``d_model`` is odd.

    Notes
    -----
    Vaswani et al. (2017), section 3.5.

    Examples
    --------
    >>> sinusoidal_positions(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    require_count("length", length)
    require_count("d_model", d_model)
    if d_model % 2:
        raise ValueError(
            f"d_model: expected an even width (pairs of sine and cosine), got {d_model}"
        )
    # In float64: at large positions float32 angles would lose their digits.
    positions = torch.arange(length, dtype=torch.float64).unsqueeze(-1)  # (length, 1)
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64)  # (d_model / 2,)
    angles = positions * 10000.0 ** (-pairs / d_model)  # (length, d_model / 2)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (length, d_model / 2, 2)
    return waves.flatten(-2).to(torch.get_default_dtype())


class PositionalEncoding(nn.Module):
    """Add sinusoidal positions to a sequence of vectors.

    Parameters
    ----------
    d_model : int
        Width of the vectors; even.
    max_len : int
        Longest sequence that will come.
    dropout : float
        Probability that a coordinate of the sum is dropped, in training only.

    Raises
    ------
    TypeError
        In ``forward``, if ``x`` is no floating-point tensor.
    ValueError
        In ``forward``, if ``x`` has too few axes, another width or device, or more than
        ``max_len`` positions.

    Notes
    -----
    Vaswani et al. (2017), section 3.5. The positions move with the module from device to
    device and are no part of its state dict.

    Examples
    --------
    >>> encoding = PositionalEncoding(d_model=4)
    >>> encoding(torch.zeros(1, 2, 4))
    tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8415, 0.5403, 0.0100, 0.9999]]])
    """

    positions: Tensor  # (max_len, d_model)

    def __init__(self, d_model: int, max_len: int = 1024, dropout: float = 0.0) -> None:
        super().__init__()
        require_count("max_len", max_len)
        require_probability("dropout", dropout)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", sinusoidal_positions(max_len, d_model), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x`` plus the positions; shape ``(..., length, d_model)``."""
        require_float("x", x, min_rank=2, axes="(..., length, d_model)")
        require_same_device("the module's positions", self.positions, "x", x)
        max_len, d_model = self.positions.shape
        require_size("x", x, -1, d_model, "features (d_model)")
        length = x.shape[-2]
        if length > max_len:
            raise ValueError(
                f"x: expected at most max_len = {max_len} positions, got {shape_of(x)}"
            )
        output: Tensor = self.dropout(x + self.positions[:length].to(x.dtype))
        return output


def rotary_frequencies(d_k: int, base: float = 10_000.0) -> Tensor:
    r"""Return by how much each pair of coordinates turns from one position to the next.

    Pair :math:`j` turns by :math:`\omega_j = \text{base}^{-2j/d_k}` radians.

    Parameters
    ----------
    d_k : int
        Width of queries and keys; even.
    base : float
        The slowest pair turns about ``1 / base`` radians a position.

    Returns
    -------
    torch.Tensor
        Shape ``(d_k / 2,)``, float64, on the CPU, in radians.

    Raises
    ------
    TypeError, ValueError
        If ``d_k`` is no even whole number of at least 2, or ``base`` is not positive.

    Notes
    -----
    Su et al. (2021), equation 15.

    Examples
    --------
    >>> rotary_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    require_count("d_k", d_k, minimum=2)
    require_positive("base", base)
    if d_k % 2:
        raise ValueError(f"d_k: expected an even width (pairs that turn), got {d_k}")
    return _frequencies(d_k, base, torch.device("cpu"))


def _frequencies(d_k: int, base: float, device: torch.device) -> Tensor:
    exponents = torch.arange(0, d_k, 2, dtype=torch.float64, device=device) / d_k  # (d_k / 2,)
    frequencies: Tensor = float(base) ** -exponents
    return frequencies


def rotate_by_position(
    x: Tensor,
    positions: Tensor | None = None,
    *,
    base: float = 10_000.0,
    layout: str = "pairs",
) -> Tensor:
    r"""Turn queries or keys by their positions (rotary positions, RoPE).

    Pair :math:`j` of the vector at position :math:`i` is turned by the angle
    :math:`i\,\omega_j`. The dot product of a turned query and a turned key then depends on the
    difference of their positions alone, and no length changes.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(..., length, d_k)``, ``d_k`` even.
    positions : torch.Tensor, optional
        The position of each vector; numbers that broadcast to ``(..., length)``. By default 0,
        1, 2 and so on.
    base : float
        As in :func:`rotary_frequencies`.
    layout : str
        Which coordinates are a pair: ``"pairs"`` takes ``(2j, 2j+1)``, ``"halves"`` takes
        ``(j, j + d_k/2)``. Queries and keys must share it, and so must the weights that made
        them: the two differ by one permutation of the coordinates.

    Returns
    -------
    torch.Tensor
        Shape and dtype of ``x``.

    Raises
    ------
    TypeError, ValueError
        If ``x`` is no floating-point tensor of even width, ``positions`` do not broadcast or lie
        on another device, or ``layout`` is neither.

    Notes
    -----
    Su et al. (2021), equation 34. Angles are formed in float64: in float32 the angles of far
    positions would lose their digits.

    Examples
    --------
    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> rotate_by_position(x)  # (length, d_k): turned by 0 and by 1 radian
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    return _turned("x", x, "positions", positions, base, layout)


def _turned(
    x_name: str, x: Tensor, name: str, positions: Tensor | None, base: float, layout: str
) -> Tensor:
    require_float(x_name, x, min_rank=2, axes="(..., length, d_k)")
    if x.shape[-1] % 2 or x.shape[-1] == 0:
        raise ValueError(
            f"{x_name}: expected an even width d_k (pairs that turn), got {shape_of(x)}"
        )
    require_positive("base", base)
    frequencies = _frequencies(x.shape[-1], base, x.device)  # (d_k / 2,)
    if layout not in ("pairs", "halves"):
        raise ValueError(f"layout: expected 'pairs' or 'halves', got {layout!r}")
    if positions is None:
        positions = torch.arange(x.shape[-2], device=x.device)
    require_tensor(name, positions, axes="(..., length)")
    if positions.dtype == torch.bool or positions.is_complex():
        raise TypeError(f"{name}: expected real numbers, got dtype {positions.dtype}")
    require_same_device(x_name, x, name, positions)
    try:
        positions = positions.expand(x.shape[:-1])
    except RuntimeError:
        raise ValueError(
            f"{name}: expected a shape that broadcasts to {tuple(x.shape[:-1])} "
            f"(..., length), got {shape_of(positions)}"
        ) from None
    angles = positions.double().unsqueeze(-1) * frequencies  # (..., length, d_k / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    half = x.shape[-1] // 2
    axis, shape = (-1, (half, 2)) if layout == "pairs" else (-2, (2, half))
    first, second = x.reshape(*x.shape[:-1], *shape).unbind(axis)  # (..., length, d_k / 2) each
    turned = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=axis)
    return turned.flatten(-2)


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
    r"""Score by scaled dot products of queries and keys that are turned by their positions.

    Parameters
    ----------
    queries, keys : torch.Tensor
        Shapes ``(..., len_q, d_k)`` and ``(..., len_k, d_k)``, ``d_k`` even.
    query_positions, key_positions : torch.Tensor, optional
        Positions that broadcast to ``(..., len_q)`` and ``(..., len_k)``. By default keys stand
        at 0, 1, 2 and so on, and the last query stands at the last key, as decoding with a
        cache needs.
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
    >>> rotary_scores(same, same)  # (len_q, len_k): the distance decides
    tensor([[ 1.4142,  0.7641, -0.5885, -1.4001],
            [ 0.7641,  1.4142,  0.7641, -0.5885],
            [-0.5885,  0.7641,  1.4142,  0.7641],
            [-1.4001, -0.5885,  0.7641,  1.4142]])
    """
    require_queries_and_keys(queries, keys)
    if query_positions is None:
        len_q, len_k = queries.shape[-2], keys.shape[-2]
        query_positions = torch.arange(len_k - len_q, len_k, device=queries.device)
    turned_queries = _turned("queries", queries, "query_positions", query_positions, base, layout)
    turned_keys = _turned("keys", keys, "key_positions", key_positions, base, layout)
    return scaled_dot_scores(turned_queries, turned_keys, scale)
