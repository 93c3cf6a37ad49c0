"""How a number is read from what a person wrote; ``exercise.js`` reads as this module does."""

import math
import re
from collections.abc import Callable
from typing import Any

__all__ = ["digits_of", "number_of", "read_numbers"]


def _above_0(log: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: log(x) if x > 0 else -math.inf if x == 0 else math.nan


def _power(base: float, exponent: float) -> float:
    try:
        result = base**exponent
    except (OverflowError, ZeroDivisionError):
        return math.inf
    return math.nan if isinstance(result, complex) else result


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "ln": _above_0(math.log),
    "log2": _above_0(math.log2),
    "log10": _above_0(math.log10),
    "exp": lambda x: _power(math.e, x),
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
}
_FUNCTIONS |= {"log": _FUNCTIONS["ln"], "lg": _FUNCTIONS["log10"], "√": _FUNCTIONS["sqrt"]}
_CONSTANTS = {"e": math.e, "pi": math.pi, "π": math.pi, "nan": math.nan, "inf": math.inf}
_SIGNS = {"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "÷": "/", ":": "/", "**": "^"}
_POWERS = {small: str(n) for n, small in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"⁻": "-"}
_PARTS = {"½": "(1/2)", "⅓": "(1/3)", "⅔": "(2/3)", "¼": "(1/4)", "¾": "(3/4)"}
_BYTES = {"k": 1, "m": 2, "g": 3, "t": 4}
_TOKEN = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|[a-zπ]+\d*|[√^*/+()%-])")


def read_numbers(text: str, question: str = "") -> list[float]:
    """Return the numbers that a text can mean, the likeliest first; none if it is no number.

    Arithmetic is worked out, and a unit that the question names may follow. A comma groups digits
    or stands before decimals, and ``ln 1/3`` is either of the two that people mean by it.

    Examples
    --------
    >>> read_numbers("69 %"), read_numbers("1/sqrt(4)"), read_numbers("2^31"), read_numbers("½")
    ([0.69], [0.5], [2147483648.0], [0.5])
    >>> read_numbers("655,360"), read_numbers("2 GiB", "How many bytes?"), read_numbers("two")
    ([655360.0, 655.36], [2147483648.0], [])
    """
    plain = text.strip().lower().lstrip("≈~= ")
    for sign, simple in {**_SIGNS, **_PARTS}.items():
        plain = plain.replace(sign, simple)
    plain = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda x: "^" + "".join(_POWERS[c] for c in x[0]), plain)
    plain = re.sub(r"(?<=\d)[\s_\u00a0\u202f](?=\d{3}(?!\d))", "", plain)
    plain, factor = _without_unit(plain, question.lower())
    readings: list[float] = []
    for commas in (_grouped, _decimal):
        written = commas(plain)
        for loose in (False, True) if written is not None else ():
            value = _Reader(written or "", loose).value()
            if value is not None and not any(value * factor == other for other in readings):
                readings.append(value * factor)
    return readings[:1] if any(map(math.isnan, readings)) else readings


def _grouped(text: str) -> str | None:
    """Take commas out where each of them groups three digits."""
    whole = re.sub(
        r"(?<![\d.,])[1-9]\d{0,2}(,\d{3})+(?![\d,])", lambda x: x[0].replace(",", ""), text
    )
    return None if "," in whole else whole


def _decimal(text: str) -> str | None:
    """Read each comma as a decimal point."""
    return re.sub(r",(?=\d)", ".", text)


def _without_unit(text: str, question: str) -> tuple[str, float]:
    """Return a text without a unit at its end that the question names, and the unit's size."""
    unit = re.search(r"(?<=[\d)%.\s])\s*([a-z]+)$", text)
    if not unit or unit[1] in {*_FUNCTIONS, *_CONSTANTS}:
        return text, 1.0
    number, name = text[: unit.start()], unit[1]
    size = re.fullmatch(r"([kmgt]?)(i?)b(?:ytes?)?", name)
    if size and "byte" in question:
        return number, float((1024 if size[2] else 1000) ** _BYTES.get(size[1], 0))
    named = re.search(rf"\b{name.removesuffix('s')}s?\b", question)
    return (number, 1.0) if named else (text, 1.0)


class _Reader:
    """Arithmetic by recursive descent; ``loose`` lets ``ln 1/3`` be the logarithm of 1/3."""

    def __init__(self, text: str, loose: bool) -> None:
        self.tokens: list[str] = []
        self.loose = loose
        at, text = 0, text.rstrip()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                self.tokens = ["?"]
                break
            self.tokens.append(token[1])
            at = token.end()
        self.at = 0

    def value(self) -> float | None:
        """Return what the whole text is worth; None if it is no arithmetic."""
        try:
            total = self.sum()
        except (SyntaxError, ValueError):
            return None
        return total if self.at == len(self.tokens) else None

    def next(self, *wanted: str) -> str:
        """Take the next token if it is one of these, else return an empty text."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        self.at += token in wanted
        return token if token in wanted else ""

    def sum(self) -> float:
        total = self.product()
        while sign := self.next("+", "-"):
            total += self.product() if sign == "+" else -self.product()
        return total

    def product(self) -> float:
        total = self.signed()
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if sign := self.next("*", "/"):
                other = self.signed()
                total = total * other if sign == "*" else _divided(total, other)
            elif token == "(" or token in _FUNCTIONS or token in _CONSTANTS:
                total *= self.power()  # 2 ln 3, 2π
            else:
                break
        return total

    def signed(self) -> float:
        if sign := self.next("+", "-"):
            return self.signed() * (-1 if sign == "-" else 1)
        return self.power()

    def power(self) -> float:
        base = self.single()
        while self.next("%"):
            base /= 100
        return _power(base, self.signed()) if self.next("^") else base

    def single(self) -> float:
        if self.next("("):
            inside = self.sum()
            if not self.next(")"):
                raise SyntaxError("a bracket is open")
            return inside
        if name := self.next(*_FUNCTIONS):
            bracket = self.tokens[self.at : self.at + 1] == ["("]
            if bracket:
                return _FUNCTIONS[name](self.single())
            return _FUNCTIONS[name](self.product() if self.loose else self.power())
        if name := self.next(*_CONSTANTS):
            return _CONSTANTS[name]
        number = self.tokens[self.at] if self.at < len(self.tokens) else "?"
        self.at += 1
        return float(number)


def _divided(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a)
    return a / b


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
