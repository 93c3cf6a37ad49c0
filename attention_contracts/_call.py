"""What contracts do with an attention: call it, change its inputs, compare its outputs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from attention_contracts._arguments import require_finite, require_float, shape_of
from attention_contracts._report import NotTested, first_line

Attend = Callable[..., Any]  # returns the output, or a tuple of output, weights and more
ALL, FIRST = slice(None), slice(1)  # places along axis -2
NAMES = ("queries", "keys", "values")


@dataclass(frozen=True)
class Movement:
    """The place in an output that moved most, and how far, in words."""

    where: tuple[int, ...]
    how: str

    @property
    def query(self) -> int:
        return self.where[-2]

    def __str__(self) -> str:
        return f"the output of query {self.query} at {self.where} {self.how}"


@dataclass
class Call:
    """An attention and its inputs. Contracts change the inputs and compare the outputs.

    With ``single`` the attention reads its queries alone, as keys and values, too.
    """

    attend: Attend
    inputs: tuple[Tensor, ...]
    tolerance: float | None = None
    single: bool = False
    late: Sequence[str] = ()  # parameters that had no shape before the first call
    each: tuple[Tensor, ...] = ()  # what else is given, one entry a sample

    def __post_init__(self) -> None:
        if not callable(self.attend):
            raise TypeError(
                f"attend: expected a callable (queries, keys, values), got {self.attend!r}"
            )
        for name, x in zip(NAMES, self.inputs, strict=True):
            require_float(name, x, min_rank=2, axes="(..., len, width)")
        if self.tolerance is not None:
            require_finite("tolerance", self.tolerance)
            if self.tolerance < 0:
                raise ValueError(f"tolerance: expected at least 0, got {self.tolerance!r}")

    @property
    def lengths(self) -> tuple[int, int]:
        """The numbers of queries and of keys."""
        return self.inputs[0].shape[-2], self.inputs[1].shape[-2]

    @cached_property
    def original(self) -> Tensor:
        """The output for the inputs as they are."""
        return self.output(*self.inputs)

    def output(self, *inputs: Tensor) -> Tensor:
        """Return the output for other inputs."""
        return output_for(self.attend, *inputs, *self.each)

    def changed(
        self,
        queries: slice | Tensor | None = None,
        keys: slice | Tensor | None = None,
        values: slice | Tensor | None = None,
        *,
        poison: float | None = None,
    ) -> Tensor:
        """Return the output with other numbers at these places; a single input takes them all."""
        places = [*map(_mask, self.inputs, (queries, keys, values))]
        if self.single:
            places = [places[0] | places[1] | places[2]] * 3
        pairs = zip(self.inputs, places, strict=True)
        return self.output(*(replaced(x, where, poison) for x, where in pairs))

    def moved(
        self, output: Tensor, at: slice = ALL, original: Tensor | None = None
    ) -> Movement | None:
        """Return where the outputs at some places moved most, and how; see :func:`movement`."""
        original = self.original if original is None else original
        return movement(original[..., at, :], output[..., at, :], self.tolerance)

    def moves(
        self, output: Tensor, reason: str, at: slice = ALL, original: Tensor | None = None
    ) -> None:
        """Demand that they moved: the positive control of a contract on what stays."""
        if not self.moved(output, at, original):
            raise NotTested(reason)

    def output_and_weights(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return output and weights, which there have to be."""
        inputs = inputs or self.inputs
        result = called(self.attend, *inputs)
        weights = result[1] if isinstance(result, tuple) and len(result) > 1 else None
        if not isinstance(weights, Tensor):
            raise TypeError("attend: expected (output, weights), got no weights")
        return output_of(result, inputs[0]), weights

    def with_gradients(self) -> tuple[list[Tensor], Tensor]:
        """Call with copies of the inputs that require gradients; return them and the output."""
        leaves = [x.detach().clone().requires_grad_() for x in self.inputs]
        with torch.enable_grad():
            return leaves, output_of(self.attend(*leaves), self.inputs[0])


def require_poison(poison: object) -> None:
    """Refuse anything but a number, or None."""
    if poison is not None and (isinstance(poison, bool) or not isinstance(poison, int | float)):
        raise TypeError(f'poison: expected a number as float("nan"), or None, got {poison!r}')


def called(attend: Attend, *tensors: Tensor) -> Any:
    """Call without gradients. An assertion inside the attention is no broken contract."""
    with torch.no_grad():
        try:
            return attend(*tensors)
        except AssertionError as error:
            raise NotTested(f"the call raises AssertionError: {first_line(error)}") from error


def output_for(attend: Attend, *tensors: Tensor) -> Tensor:
    return output_of(called(attend, *tensors), tensors[0]).clone()


def output_of(result: Any, queries: Tensor) -> Tensor:
    """Return the output, alone or the first of several, of the shape that it has to have."""
    output = result[0] if isinstance(result, tuple | list) and result else result
    if not isinstance(output, Tensor) or output.dim() < 2:
        got = shape_of(output) if isinstance(output, Tensor) else type(output).__name__
        raise TypeError(
            f"attend: expected an output (..., len_q, d_v), or (output, weights), got {got}"
        )
    if output.shape[-2] != queries.shape[-2]:
        raise ValueError(
            f"attend: expected one output a query, {queries.shape[-2]} on axis -2, "
            f"got {shape_of(output)}"
        )
    return output


def _mask(x: Tensor, where: slice | Tensor | None) -> Tensor:
    """Return True at the places named, ``(len, 1)`` unless a mask is given."""
    if isinstance(where, Tensor):
        return where
    mask = torch.zeros(x.shape[-2], 1, dtype=torch.bool, device=x.device)
    if where is not None:
        mask[where] = True
    return mask


def along(x: Tensor, coordinate: int, size: float) -> Tensor:
    """Return vectors of this length along one coordinate, as many as ``x`` has."""
    vectors = torch.zeros_like(x)
    vectors[..., coordinate] = size
    return vectors


def normal_like(x: Tensor) -> Tensor:
    """Return normal numbers like ``x``, the same ones on every device."""
    return torch.randn(x.shape, generator=torch.Generator().manual_seed(0), device="cpu").to(x)


def replaced(x: Tensor, where: Tensor, poison: float | None = None) -> Tensor:
    """Return a copy with other numbers where ``where`` is True."""
    if poison is not None:
        return x.masked_fill(where, poison)
    # At least 1 away from what stood there: no replacement can happen to be the same.
    return torch.where(where, x + 1 + normal_like(x).abs() * 3, x)


def movement(expected: Tensor, output: Tensor, tolerance: float | None = None) -> Movement | None:
    """Return where the largest movement beyond the tolerance is, and its size in words."""
    relative, absolute = (tolerance, tolerance) if tolerance is not None else _none(output.dtype)
    if output.isclose(expected, relative, absolute, equal_nan=True).all():
        return None
    change = (output.double() - expected.double()).abs().nan_to_num(torch.inf, posinf=torch.inf)
    change = change.masked_fill(output.isnan() & expected.isnan(), 0.0)
    place = torch.unravel_index(change.argmax(), change.shape)
    size = change.max().item()
    how = "became NaN or infinite" if size == float("inf") else f"moved by {size:.3g}"
    return Movement(tuple(int(i) for i in place), how)


def _none(dtype: torch.dtype) -> tuple[float, float]:
    """Return which differences, relative and absolute, are none: those of ``torch.testing``."""
    relative = {torch.float16: 1e-3, torch.bfloat16: 1.6e-2, torch.float32: 1.3e-6}.get(dtype, 1e-7)
    return relative, 1e-7 if dtype == torch.float64 else 1e-5


@contextmanager
def mode(module: object, *, training: bool) -> Iterator[None]:
    """Put a module into a mode, and each of its parts back after; ignore what is no module."""
    modules = module.modules() if isinstance(module, nn.Module) else ()
    modes = [(each, each.training) for each in modules]
    try:
        for each, _ in modes:  # train() may be the module's own, and take data
            each.training = training
        yield
    finally:
        for each, training_before in modes:
            each.training = training_before
