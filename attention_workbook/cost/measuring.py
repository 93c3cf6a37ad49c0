"""Costs as they are measured: operations counted, bytes followed, exponents fitted."""

import math
import weakref
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC2701  no public name has it
from torch.utils._pytree import tree_leaves  # noqa: PLC2701
from torch.utils.flop_counter import FlopCounterMode

from attention_lib.arguments import require_tensor
from attention_workbook.cost.counting import Cost

__all__ = ["Exponent", "fitted_exponent", "measured_cost", "peak_bytes"]


def measured_cost(call: Callable[..., object], *tensors: Tensor) -> Cost:
    """Return what a call costs, in the words of :class:`Cost`, forward.

    Operations are counted with PyTorch's plain attention in place of its fused kernel, which
    its counter takes for nothing. Bytes are those of the call as it is.

    Parameters
    ----------
    call : callable
        ``call(*tensors)`` returns anything made of tensors.
    *tensors : torch.Tensor
        What it is given; copies that need a gradient are given, the tensors stay as they are.

    Examples
    --------
    >>> a, b = torch.ones(2, 3), torch.ones(3, 5)
    >>> measured_cost(torch.matmul, a, b)
    Cost(flops=60, moved=124, kept=84)
    """
    leaves = with_gradients(call, tensors)
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        call(*leaves)
    saved_bytes: dict[tuple[int, int, int], int] = {}

    def count_once(tensor: Tensor) -> Tensor:  # the same numbers once, however they are viewed
        storage = tensor.untyped_storage()
        place = storage._cdata, int(tensor.storage_offset()), tensor.numel()
        saved_bytes[place] = min(tensor.nbytes, storage.nbytes())
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(count_once, lambda tensor: tensor),
        _Moved() as moved,
    ):
        result = call(*leaves)  # held, so that no two storages have one address
    del result
    return Cost(int(counter.get_total_flops()), moved.bytes, sum(saved_bytes.values()))


def peak_bytes(call: Callable[..., object], *tensors: Tensor) -> int:
    """Return the bytes of all tensors that live at once in a call, what it is given included.

    Parameters
    ----------
    call, *tensors
        As in :func:`measured_cost`; to measure both ways, let it call ``torch.autograd.grad``.

    Returns
    -------
    int
        What a kernel keeps for itself is not seen.

    Examples
    --------
    >>> peak_bytes(lambda x: (x + 1).sum(), torch.zeros(100))
    804
    """
    leaves = with_gradients(call, tensors)
    with _Peak() as living:
        call(*leaves)
    inside: int = living.peak
    return inside + sum(x.nbytes for x in leaves)


def with_gradients(call: object, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors as leaves that need a gradient, where there can be one."""
    if not callable(call):
        raise TypeError(f"call: expected a callable, got {call!r}")
    for number, tensor in enumerate(tensors):
        require_tensor(f"tensors[{number}]", tensor)
    return [x.detach().requires_grad_(x.is_floating_point()) for x in tensors]


class Exponent(NamedTuple):
    """The power by which a cost grows with a size.

    Parameters
    ----------
    power : float
        2 means that twice the size costs four times as much.
    spread : float
        Standard error of the power: how far the points scatter about the line.

    Examples
    --------
    >>> print(Exponent(1.98, 0.03))
    1.98 ± 0.03
    """

    power: float
    spread: float

    def __str__(self) -> str:
        return f"{self.power:.2f} ± {self.spread:.2f}"


def fitted_exponent(sizes: Sequence[float], costs: Sequence[float]) -> Exponent:
    r"""Fit :math:`\text{cost} = c\cdot\text{size}^p`: a straight line through the logarithms.

    Parameters
    ----------
    sizes, costs : sequence of float
        At least three of each, positive; not all sizes alike.

    Raises
    ------
    TypeError, ValueError
        If these are no numbers, too few, not as many of one as of the other, or not all are
        positive.

    Notes
    -----
    Least squares, with the textbook's standard error of a slope.

    Examples
    --------
    >>> print(fitted_exponent([1, 2, 4], [3, 12, 48]))
    2.00 ± 0.00
    """
    for name, series in (("sizes", sizes), ("costs", costs)):
        is_sequence = hasattr(series, "__len__") and getattr(series, "ndim", 1) > 0
        if not (
            is_sequence and all(isinstance(x, Real) and not isinstance(x, bool) for x in series)
        ):
            raise TypeError(f"{name}: expected a sequence of numbers, got {series!r}")
    if len(sizes) != len(costs) or len({*sizes}) < 3:
        raise ValueError(
            "sizes, costs: expected as many costs as sizes, at least three different ones, got "
            f"{len(sizes)} and {len(costs)}"
        )
    if not all(0 < number < math.inf for number in (*sizes, *costs)):
        raise ValueError(f"sizes, costs: expected positive numbers, got {[*sizes]} and {[*costs]}")
    x, y = ([math.log(number) for number in numbers] for numbers in (sizes, costs))
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    width = sum((a - middle_x) ** 2 for a in x)
    power = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)) / width
    residuals = [b - middle_y - power * (a - middle_x) for a, b in zip(x, y, strict=True)]
    return Exponent(
        power, math.sqrt(sum(residual**2 for residual in residuals) / (len(x) - 2) / width)
    )


def _tensors(nested: object) -> list[Tensor]:
    return [x for x in tree_leaves(nested) if isinstance(x, Tensor)]


def _storages(nested: object) -> dict[int, torch.UntypedStorage]:
    """Return the memory behind all tensors in nested lists, by its address."""
    storages = (x.untyped_storage() for x in _tensors(nested))
    return {storage._cdata: storage for storage in storages}


class _Moved(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Add up the bytes that operations read and write; a view moves none."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        given, made = (args, kwargs), result
        is_view = {*_storages(made)} <= {*_storages(given)} and not func._schema.is_mutable
        if not is_view:
            self.bytes += sum(x.nbytes for x in (*_tensors(given), *_tensors(made)))
        return result


class _Peak(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Follow the bytes of all tensors made inside, and remember the most that lived at once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = self.peak = 0
        self.known: set[int] = set()

    def forget(self, key: int, size: int) -> None:
        self.bytes -= size
        self.known.discard(key)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        given_storages = {*_storages((args, kwargs))}
        for key, storage in _storages(result).items():
            if key not in given_storages and key not in self.known:
                self.known.add(key)
                self.bytes += storage.nbytes()
                self.peak = max(self.peak, self.bytes)
                weakref.finalize(storage, self.forget, key, storage.nbytes())
        return result
