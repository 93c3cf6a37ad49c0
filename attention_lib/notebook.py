"""The first lines of every chapter: a device, a seeded generator, and a way to show a tensor."""

from numbers import Integral

import numpy as np
import torch
from torch import Tensor

__all__ = ["device", "generator", "show"]


def device() -> torch.device:
    """Return the device of what is large: an NVIDIA or AMD GPU if there is one, else the CPU.

    Chapters that train or measure compute there; tiny examples stay on the CPU. Apple's GPU is not
    chosen: it has no float64. TF32 is switched off, so that all give the same printed digits.

    Examples
    --------
    >>> device().type in ("cuda", "cpu")
    True
    """
    torch.set_float32_matmul_precision("highest")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def generator(seed: int) -> torch.Generator:
    """Return a seeded random generator on the CPU, on every device.

    Numbers are drawn on the CPU and then moved, so that every machine draws the same.

    Parameters
    ----------
    seed : int
        Any whole number.

    Raises
    ------
    TypeError
        If ``seed`` is not a whole number.
    ValueError
        If ``seed`` has more than 63 bits.

    Examples
    --------
    >>> a, b = (torch.randn(3, generator=generator(0)) for _ in range(2))
    >>> torch.equal(a, b)
    True
    """
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise TypeError(f"seed: expected a whole number, got {seed!r}")
    if not abs(seed) < 2**63:
        raise ValueError(f"seed: expected a whole number of at most 63 bits, got {seed}")
    return torch.Generator(device="cpu").manual_seed(int(seed))


def show(tensor: Tensor, decimals: int = 3) -> None:
    """Print a tensor with a fixed number of decimals.

    Rounding hides the differences between machines, the sign of a zero included.

    Parameters
    ----------
    tensor : torch.Tensor
        Any shape, dtype and device.
    decimals : int
        Digits after the point, for floating-point tensors.

    Raises
    ------
    TypeError, ValueError
        If ``tensor`` is not a dense tensor or is on the meta device, or if ``decimals`` is not a
        whole number of at least 0.

    Examples
    --------
    >>> show(torch.tensor([[0.7512, 0.2488], [float("nan"), -0.0001]]))
    [[0.751 0.249]
     [  nan 0.000]]
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor: expected a torch.Tensor, got {type(tensor).__name__}")
    if tensor.is_nested or tensor.layout != torch.strided:
        got = "a nested one" if tensor.is_nested else f"layout {tensor.layout}"
        raise TypeError(f"tensor: expected a dense tensor, got {got}")
    if tensor.is_meta:
        raise ValueError("tensor: expected a tensor with numbers, got one on the meta device")
    if isinstance(decimals, bool) or not isinstance(decimals, int):
        raise TypeError(f"decimals: expected a whole number, got {decimals!r}")
    if decimals < 0:
        raise ValueError(f"decimals: expected at least 0, got {decimals}")
    tensor = tensor.detach().cpu()
    if tensor.is_floating_point():
        tensor = tensor.double().round(decimals=decimals) + 0.0  # -0.0 + 0.0 is 0.0
    print(
        np.array2string(
            tensor.numpy(),
            precision=decimals,
            floatmode="fixed",
            suppress_small=True,
            max_line_width=100,
            separator=" ",
        )
    )
