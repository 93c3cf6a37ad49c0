"""How a number is read from what a person wrote; ``exercise.js`` reads as this module does."""

import math
import re
from typing import Any

__all__ = ["digits_of", "number_of", "read_numbers"]


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
