"""Traits that refuse a wrong value in words: what was expected, and what came."""

import numbers
import reprlib
from typing import Any

import numpy as np
import traitlets

DTYPES = ("float16", "bfloat16", "float32", "float64")


class Real(traitlets.Float[float, float]):
    """A number between ``min`` and ``max``."""

    def validate(self, obj: Any, value: Any) -> Any:
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if number and self.min <= value <= self.max:  # NaN is not
            return float(value)
        raise refusal(obj, self.name, f"a number from {self.min:g} to {self.max:g}", value)


class Whole(traitlets.Int[int, int]):
    """A whole number between ``min`` and ``max``."""

    def validate(self, obj: Any, value: Any) -> Any:
        number = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if number and self.min <= value <= self.max:
            return int(value)
        raise refusal(obj, self.name, f"a whole number from {self.min} to {self.max}", value)


class Switch(traitlets.Bool[bool, bool]):
    """True or False, and no number that passes for one."""

    def validate(self, obj: Any, value: Any) -> Any:
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        raise refusal(obj, self.name, "True or False", value)


class OneOf(traitlets.Enum[Any]):
    """One of the given numbers or strings."""

    def validate(self, obj: Any, value: Any) -> Any:
        if isinstance(value, (numbers.Real, str)) and not isinstance(value, bool):
            for allowed in self.values or ():
                if value == allowed:
                    return allowed
        raise refusal(obj, self.name, f"one of {', '.join(map(repr, self.values or ()))}", value)


class Numbers(traitlets.List[Any]):
    """An array of numbers between ``min`` and ``max``, as lists; it has a fixed shape."""

    def __init__(
        self,
        default: Any = traitlets.Undefined,
        *,
        shape: tuple[int, ...],
        min: float,
        max: float,
    ) -> None:
        self.shape, self.min, self.max = shape, min, max
        super().__init__(default_value=default)

    def validate(self, obj: Any, value: Any) -> Any:
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.shape == self.shape and ((self.min <= array) & (array <= self.max)).all():
            return array.tolist()  # NaN is not between them
        count = " × ".join(map(str, self.shape))
        expected = f"{count} numbers from {self.min:g} to {self.max:g}"
        raise refusal(obj, self.name, expected, value)


def refusal(obj: object, name: str | None, expected: str, value: object) -> traitlets.TraitError:
    """Return the TraitError that says what a trait expects and what came."""
    return traitlets.TraitError(
        f"{type(obj).__name__}.{name} must be {expected}; got {reprlib.repr(value)}."
    )
