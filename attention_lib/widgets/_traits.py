"""Traits that refuse a wrong value in words: what was expected, and what came."""

import numbers
import reprlib

import numpy as np
import traitlets


class Real(traitlets.Float):
    """A number between ``min`` and ``max``."""

    def validate(self, obj, value):
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if number and self.min <= value <= self.max:  # NaN is not
            return float(value)
        raise refusal(obj, self.name, f"a number from {self.min:g} to {self.max:g}", value)


class Whole(traitlets.Int):
    """A whole number between ``min`` and ``max``."""

    def validate(self, obj, value):
        number = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if number and self.min <= value <= self.max:
            return int(value)
        raise refusal(obj, self.name, f"a whole number from {self.min} to {self.max}", value)


class Switch(traitlets.Bool):
    """True or False, and no number that passes for one."""

    def validate(self, obj, value):
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        raise refusal(obj, self.name, "True or False", value)


class OneOf(traitlets.Enum):
    """One of the given numbers or strings."""

    def validate(self, obj, value):
        if isinstance(value, (numbers.Real, str)) and not isinstance(value, bool):
            for allowed in self.values:
                if value == allowed:
                    return allowed
        raise refusal(obj, self.name, f"one of {', '.join(map(repr, self.values))}", value)


class Numbers(traitlets.List):
    """An array of numbers between ``min`` and ``max``, as lists; it has a fixed shape."""

    def __init__(self, default=traitlets.Undefined, *, shape, min, max):
        self.shape, self.min, self.max = shape, min, max
        super().__init__(default_value=default)

    def validate(self, obj, value):
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.shape == self.shape and ((self.min <= array) & (array <= self.max)).all():
            return array.tolist()  # NaN is not between them
        count = " × ".join(map(str, self.shape))
        expected = f"{count} numbers from {self.min:g} to {self.max:g}"
        raise refusal(obj, self.name, expected, value)


def refusal(obj, name, expected, value):
    """Return the TraitError that says what a trait expects and what came."""
    return traitlets.TraitError(
        f"{type(obj).__name__}.{name} must be {expected}; got {reprlib.repr(value)}."
    )
