"""What every contract does: check inputs, call, replace positions, compare outputs."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor

from attention_lib._arguments import require_finite, require_float, shape_of
from attention_lib.contracts._report import NotTested

Attend = Callable[[Tensor, Tensor, Tensor], Any]  # returns the output, or (output, weights)


def along_the_first_axis(x: Tensor, size: float) -> Tensor:
    """Return vectors of this length along the first coordinate, as many as ``x`` has."""
    along = torch.zeros_like(x)
    along[..., 0] = size
    return along


def require_inputs(attend: object, queries: Tensor, keys: Tensor, values: Tensor) -> None:
    if not callable(attend):
        raise TypeError(f"attend: expected a callable (queries, keys, values), got {attend!r}")
    for name, x in (("queries", queries), ("keys", keys), ("values", values)):
        require_float(name, x, min_rank=2, axes="(..., len, width)")


def require_poison(poison: object) -> None:
    if poison is not None and (isinstance(poison, bool) or not isinstance(poison, int | float)):
        raise TypeError(f'poison: expected a number as float("nan"), or None, got {poison!r}')


def require_tolerance(tolerance: object) -> None:
    """Refuse what is no number of at least 0."""
    require_finite("tolerance", tolerance)
    if float(cast(float, tolerance)) < 0:
        raise ValueError(f"tolerance: expected at least 0, got {tolerance!r}")


def with_gradients(attend: Callable[..., Any], *tensors: Tensor) -> tuple[list[Tensor], Tensor]:
    """Call with copies that require gradients; return them and the output."""
    leaves = [x.detach().clone().requires_grad_() for x in tensors]
    with torch.enable_grad():
        return leaves, output_of(attend(*leaves), tensors[0])


def output_and_weights(attend: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, Tensor]:
    """Call, and return output and weights, which there have to be."""
    result = called(attend, *tensors)
    weights = result[1] if isinstance(result, tuple) and len(result) > 1 else None
    if not isinstance(weights, torch.Tensor):
        raise TypeError("attend: expected (output, weights), got no weights")
    return output_of(result, tensors[0]), weights


def called(attend: Callable[..., Any], *tensors: Tensor) -> Any:
    """Call without gradients; an assertion inside the attention is no broken contract."""
    with torch.no_grad():
        try:
            return attend(*tensors)
        except AssertionError as error:
            said = str(error).strip().partition("\n")[0]
            raise NotTested(f"the call raises AssertionError: {said}") from error


def output_for(attend: Callable[..., Any], *tensors: Tensor) -> Tensor:
    return output_of(called(attend, *tensors), tensors[0]).clone()


def output_of(result: Any, queries: Tensor) -> Tensor:
    """Return the output, alone or the first of several, of the shape that it has to have."""
    output = result[0] if isinstance(result, tuple) else result
    if not isinstance(output, torch.Tensor) or output.dim() < 2:
        got = shape_of(output) if isinstance(output, torch.Tensor) else type(output).__name__
        raise TypeError(
            f"attend: expected an output (..., len_q, d_v), or (output, weights), got {got}"
        )
    if output.shape[-2] != queries.shape[-2]:
        raise ValueError(
            f"attend: expected one output a query, {queries.shape[-2]} on axis -2, "
            f"got {shape_of(output)}"
        )
    return output


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def normal_like(x: Tensor) -> Tensor:
    """Return normal numbers like ``x``, the same ones on every device."""
    return torch.randn(x.shape, generator=seeded(), device="cpu").to(x)


def everywhere(x: Tensor) -> Tensor:
    """Return True for every position."""
    return torch.ones((), dtype=torch.bool, device=x.device)


def positions_from(length: int, start: int, device: torch.device) -> Tensor:
    """Return True at the positions from ``start`` on, shape ``(length, 1)``."""
    return (torch.arange(length, device=device) >= start).unsqueeze(-1)


def replaced(x: Tensor, where: Tensor, poison: float | None) -> Tensor:
    """Return a copy with other numbers at the positions where ``where`` is True."""
    if poison is not None:
        return x.masked_fill(where, poison)
    # At least 1 away from what stood there: no replacement can happen to be the same.
    return torch.where(where, x + 1 + normal_like(x).abs() * 3, x)


def movement(
    before: Tensor, after: Tensor, tolerance: float | None
) -> tuple[tuple[int, ...], str] | None:
    """Return where the largest movement beyond the tolerance is, and its size in words."""
    if tolerance is not None:
        require_tolerance(tolerance)
    try:
        torch.testing.assert_close(after, before, equal_nan=True, rtol=tolerance, atol=tolerance)
    except AssertionError:
        change = (after.double() - before.double()).abs()
        change = change.masked_fill(after.isnan() & before.isnan(), 0.0)
        change = change.nan_to_num(nan=float("inf"))
        place = torch.unravel_index(change.argmax(), change.shape)
        size = change.max().item()
        how = "became NaN or infinite" if size == float("inf") else f"moved by {size:.3g}"
        return tuple(int(i) for i in place), how
    return None


def must_move(before: Tensor, after: Tensor, reason: str, tolerance: float | None = None) -> None:
    """Demand a movement, the positive control of a contract that demands none elsewhere."""
    if not movement(before, after, tolerance):
        raise NotTested(reason)
