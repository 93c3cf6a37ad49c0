"""How a number is read from what a person wrote; ``exercise.js`` reads as this module does."""

import math
import re
from collections.abc import Callable
from typing import Any

__all__ = ["digits_of", "number_of", "read_numbers", "slip_in"]


_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_WRITTEN = re.compile(rf"([+-]?{_NUMBER})(?:\s*/\s*({_NUMBER}))?\s*(%?)", re.ASCII)


def read_numbers(text: str, question: str = "") -> list[float]:
    """Return the numbers that a text can mean, the likeliest first; none if it is no number.

    It is a decimal, a fraction or a percentage. A comma groups digits or stands before decimals,
    and a unit that the question names may follow.

    Examples
    --------
    >>> read_numbers("69 %"), read_numbers("1/4"), read_numbers("2e9"), read_numbers("two")
    ([0.69], [0.25], [2000000000.0], [])
    >>> read_numbers("655,360"), read_numbers("150 tiles", "How many tiles are there?")
    ([655360.0, 655.36], [150.0])
    """
    plain = re.sub("[−–]", "-", text.strip().lower().lstrip("≈~= "))
    plain = re.sub(r"(?<=\d)[\s_](?=\d{3}(?!\d))", "", plain)
    written = _without_unit(plain, question.lower())
    grouped = re.sub(
        r"(?<![\d.,])[1-9]\d{0,2}(,\d{3})+(?![\d,])", lambda x: x[0].replace(",", ""), written
    )
    readings = [_value(grouped), _value(re.sub(r",(?=\d)", ".", written))]
    return [value for value in dict.fromkeys(readings) if value is not None]


def _without_unit(text: str, question: str) -> str:
    """Return a text without a unit at its end that the question names."""
    unit = re.search(r"(?<=[\d)%.\s])\s*([a-z]+)$", text)
    if unit and re.search(rf"\b{unit[1].removesuffix('s')}s?\b", question):
        return text[: unit.start()]
    return text


def _value(text: str) -> float | None:
    """Return what a number, a fraction or a percentage is worth; None for any other text."""
    written = _WRITTEN.fullmatch(text)
    if not written or not (divisor := float(written[2] or 1)):
        return None
    return float(written[1]) / divisor / (100 if written[3] else 1)


def number_of(answer: Any, question: str = "") -> list[float]:
    """Return the numbers that an answer can mean: one of Python, NumPy or PyTorch, or a text.

    Examples
    --------
    >>> number_of(0.5), number_of("1/2"), number_of(10**400), number_of(True), number_of([1])
    ([0.5], [0.5], [inf], [], [])
    """
    if isinstance(answer, str):
        return read_numbers(answer, question)
    if hasattr(answer, "item"):
        try:
            answer = answer.item()
        except (RuntimeError, ValueError, TypeError):
            return []
    if isinstance(answer, bool | complex):
        return []
    try:
        return [float(answer)]
    except OverflowError:
        return [math.inf if answer > 0 else -math.inf]
    except (TypeError, ValueError):
        return []


def digits_of(number: float) -> int:
    """Return how many significant digits a number is written with.

    Examples
    --------
    >>> digits_of(2.15e9), digits_of(0.044), digits_of(1024.0)
    (3, 2, 4)
    """
    digits = repr(float(number)).split("e")[0].replace("-", "").replace(".", "")
    return len(digits.strip("0"))


# what people do to a right number, and what is said of it
_SLIPS: list[tuple[Callable[[float], float], str]] = [
    (lambda x: -x, "that has the wrong sign."),
    (lambda x: 1 / x, "that is upside down: divide 1 by it."),
    (lambda x: 1 - x if 0 < x < 1 else math.nan, "that is 1 minus the right number."),
    (lambda x: x * x, "that is the square of the right number: a root is missing."),
    (lambda x: abs(x) ** 0.5, "that is a root of the right number: one root too many."),
    (lambda x: math.exp(min(x, 99)), "a logarithm is still to be taken."),
    (lambda x: math.log(abs(x)), "that is the logarithm of the right number."),
]
_FACTORS = [*range(2, 17), *(2**n for n in range(5, 31)), *(10**n for n in range(2, 13))]


def slip_in(number: float, right: float) -> str:
    """Say which usual slip makes a number of the right one, or how far it is; "" if neither.

    Examples
    --------
    >>> slip_in(4.0, 0.25), slip_in(24, 12)
    ('that is upside down: divide 1 by it.', 'that is 2 times the right number.')
    >>> slip_in(12.5, 12), slip_in(500, 12), slip_in(20, 12)
    ('that is too large, by less than a tenth.', 'that is more than ten times too large.', '')
    """
    if not right or not math.isfinite(number):
        return ""
    if right == round(right) and abs(number - right) == 1:
        return f"that is one too {'many' if number > right else 'few'}."

    def is_near(value: float) -> bool:
        return abs(number - value) <= 2e-3 * abs(value)

    for change, sentence in _SLIPS:
        if is_near(change(right)):
            return sentence
    for factor in _FACTORS:
        if is_near(right * factor):
            return f"that is {factor} times the right number."
        if is_near(right / factor):
            return f"the right number is {factor} times as large."
    ratio = number / right
    side = "large" if number > right else "small"
    if 0.9 < ratio < 1.1:
        return f"that is too {side}, by less than a tenth."
    if ratio > 10 or 0 < ratio < 0.1:
        return f"that is more than ten times too {'large' if ratio > 1 else 'small'}."
    return ""
