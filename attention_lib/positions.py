"""Positions: attention alone does not know the order of its keys; sines and cosines tell it."""

import torch
from torch import Tensor, nn

from attention_lib._arguments import (
    require_count,
    require_float,
    require_same_device,
    require_size,
    shape_of,
)

__all__ = ["PositionalEncoding", "sinusoidal_positions"]


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
