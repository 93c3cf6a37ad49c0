"""What every figure with sliders shares on the Python side: traits, scripts, the still picture.

A figure's view is written once, as a plain ES module that begins with one ``import { … } from
"./_shared.js";`` and ends with ``export default { render };``. Jupyter loads a module as one text
(relative imports do not resolve there); a page opened from a folder loads classic scripts only.
:func:`module_source` and :func:`script_source` make both out of the same file.
"""

import base64
import html
import json
import math
import numbers
import re
import reprlib
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from urllib.parse import quote

import numpy as np
import traitlets

from attention_lib import palette

try:
    from anywidget import AnyWidget
except ModuleNotFoundError:

    class AnyWidget(traitlets.HasTraits):
        """In anywidget's place where it is not installed: figures stand still, and say why."""

        def _repr_mimebundle_(self, **kwargs):
            missing = "For sliders: pip install anywidget, restart the kernel, run this cell again."
            return {"text/plain": repr(self), "text/html": tag("p", missing)}, {}


DTYPES = ("float16", "bfloat16", "float32", "float64")

_HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./_shared\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def as_expression(module):
    """Return a module without imports as an expression: an object of what it exports."""
    names = ", ".join(_EXPORTED.findall(module))
    return f"(() => {{\n{_EXPORT.sub('', module)}\nreturn {{ {names} }};\n}})()"


def shared_source():
    """Return the shared helpers as a JavaScript expression."""
    return as_expression((_HERE / "_shared.js").read_text(encoding="utf-8"))


def _figure_source(script):
    source = (_HERE / script).read_text(encoding="utf-8")
    return _EXPORT.sub("", _IMPORT.sub(r"const \1 = shared;", source))


def module_source(script):
    """Return a figure's view as one ES module that imports nothing (for Jupyter)."""
    return f"const shared = {shared_source()};\n{_figure_source(script)}"


def script_source(name, script):
    """Return a figure's view as a classic script that registers ``name`` with the host page."""
    body = _figure_source(script).replace("\nexport default ", "\nreturn ")
    return f"attentionWidgets.register({json.dumps(name)}, (shared) => {{\n{body}}});\n"


def stylesheet():
    """Return the one stylesheet of all figures: the palette's colours, then the rules."""
    light = palette.css_variables(palette.LIGHT) | {
        "--aw-on-light": palette.LIGHT["ink"],
        "--aw-on-dark": palette.LIGHT["paper"],
    }
    dark = palette.css_variables(palette.DARK)
    changed = {name: value for name, value in dark.items() if value != light[name]}
    rules = (_HERE / "figure.css").read_text(encoding="utf-8")
    for theme, variables in (("light", light), ("dark", changed)):
        declarations = " ".join(f"{name}: {value};" for name, value in variables.items())
        rules = rules.replace(f"/* colours: {theme} */", declarations)
    return rules


class Markup(str):
    """Text that is markup already; :func:`tag` escapes every other text."""


def tag(name, *children, **attributes):
    """Return an HTML or SVG element as :class:`Markup`.

    Children and attribute values are escaped unless they are markup. ``class_`` becomes
    ``class`` and ``stroke_width`` becomes ``stroke-width``; an attribute that is None is left
    out. Floats are rounded to three decimals, so that the text is the same on every machine.

    Examples
    --------
    >>> tag("text", "<b>", x=0.1 + 0.2, text_anchor="end")
    '<text x="0.3" text-anchor="end">&lt;b&gt;</text>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(child if isinstance(child, Markup) else _escape(child) for child in children)
    return Markup(f"<{name}{pairs}>" if name == "img" else f"<{name}{pairs}>{inner}</{name}>")


def fixed(value, digits=3):
    """Return a number with so many decimals, as ``fixed`` of ``_shared.js`` does.

    Examples
    --------
    >>> fixed(0.0625), fixed(-1.5, 1), fixed(-0.0001)
    ('0.063', '−1.5', '0.000')
    """
    text = f"{Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def short(value, digits=3):
    """Return a number with at most so many significant digits, as ``short`` of ``_shared.js``.

    Examples
    --------
    >>> short(1 / 32), short(2048), short(-0.5)
    ('0.0313', '2050', '−0.5')
    """
    text = f"{Context(digits, ROUND_HALF_UP).create_decimal(Decimal(value)):f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def rounded(array, dtype):
    """Return an array rounded to one of ``DTYPES``, ties to even, as PyTorch does.

    The half types are rounded by way of float32; bfloat16, which numpy lacks, is kept in it.
    """
    with np.errstate(over="ignore", under="ignore"):
        if dtype == "float64":
            return np.asarray(array, np.float64)
        single = np.asarray(array).astype(np.float32)
        if dtype != "bfloat16":
            return single.astype(dtype)
    bits = single.view(np.uint32)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(single), single, nearest.view(np.float32))


def rounded_softmax(scores, dtype):
    """Return softmax along the last axis as PyTorch computes it on a CPU in one of ``DTYPES``.

    The half types are computed in float32 and rounded at the end. A row of -inf gives NaN.

    Examples
    --------
    >>> rounded_softmax([0.0, -100.0], "float16").tolist()
    [1.0, 0.0]
    """
    working = np.float64 if dtype == "float64" else np.float32
    scores = rounded(scores, dtype).astype(working)
    with np.errstate(invalid="ignore", under="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return rounded(powers / powers.sum(axis=-1, keepdims=True), dtype)


def _escape(value):
    if isinstance(value, (float, np.floating)):
        value = f"{round(float(value), 3) + 0.0:.3f}".rstrip("0").rstrip(".")
    return html.escape(str(value))


def map_color(share, stops=palette.WEIGHT_MAP):
    """Return a map's colour at 0…1, as ``colorMap`` of ``_shared.js`` does.

    Examples
    --------
    >>> map_color(0.0), map_color(0.025), map_color(1.0)
    ('#440154', '#460a5d', '#fde725')
    """
    place = min(max(float(share), 0.0), 1.0) * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    parts = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops[low : low + 2]]
    mixed = [math.floor(a + (place - low) * (b - a) + 0.5) for a, b in zip(*parts, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _pattern(name, ground, line, strokes):
    return tag(
        "pattern",
        tag("rect", width=8, height=8, fill=palette.LIGHT[ground]),
        tag("path", d=strokes, stroke=palette.LIGHT[line], stroke_width=1.2, fill="none"),
        id=name,
        width=8,
        height=8,
        patternUnits="userSpaceOnUse",
    )


_PATTERNS = tag(
    "defs",
    _pattern("masked", "mask", "mask_line", "M-2 2L2 -2M0 8L8 0M6 10L10 6"),
    _pattern("nan", "nan", "paper", "M2 2L6 6M6 2L2 6"),
)


def svg(*children, width, height):
    """Return a picture of this size on the palette's paper.

    ``url(#masked)`` and ``url(#nan)`` fill what is masked and what is not a number.
    """
    return tag(
        "svg",
        _PATTERNS,
        tag("rect", width=width, height=height, rx=10, fill=palette.LIGHT["paper"]),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        font_family="system-ui, sans-serif",
        font_size=13,
    )


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


class Figure(AnyWidget):
    """Base of all figures with sliders; see :mod:`attention_lib.widgets` for the recipe.

    A subclass names its view in ``_script``, declares its traits with ``.tag(sync=True)``, and
    says what it looks like at rest in :meth:`picture` and :meth:`words`.
    """

    _css = stylesheet()
    # ipywidgets 7 would display itself through this method, and leave the still picture out.
    _ipython_display_ = None

    def __init_subclass__(cls, **kwargs):
        for name, trait in vars(cls).items():
            if isinstance(trait, traitlets.TraitType) and hasattr(AnyWidget, name):
                raise TypeError(f"{cls.__name__}.{name}: ipywidgets uses this name itself")
        if "_script" in vars(cls):
            cls._esm = module_source(cls._script)
        super().__init_subclass__(**kwargs)

    def __init__(self, **traits):
        unknown = sorted(set(traits) - set(self.trait_names()))
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no trait {unknown[0]!r}; "
                f"its traits are {', '.join(self.state())}."
            )
        super().__init__(**traits)

    def state(self):
        """Return the figure's own traits and their values, in the order they were declared."""
        names = [
            name
            for cls in reversed(type(self).__mro__)
            if issubclass(cls, Figure)
            for name, trait in vars(cls).items()
            if isinstance(trait, traitlets.TraitType) and trait.metadata.get("sync")
            if not name.startswith("_")
        ]
        return {name: getattr(self, name) for name in names}

    def picture(self):
        """Return the still picture of the present state, made by :func:`svg`."""
        raise NotImplementedError

    def words(self):
        """Return what the still picture shows, its numbers included, in sentences."""
        raise NotImplementedError

    def to_html(self):
        """Return the figure as HTML: a still picture that the host script brings to life."""
        picture = "data:image/svg+xml," + quote(_whole(self.picture()), safe=" =:/;,'()")
        return _whole(
            tag(
                "figure",
                tag("img", src=picture, alt=f"Still picture of {self!r}"),
                tag("figcaption", self.words()),
                class_="attention-widget",
                data_widget=type(self).__name__,
                data_state=json.dumps(
                    self.state(),
                    default=_binary,
                    ensure_ascii=False,
                    allow_nan=False,
                    separators=(",", ":"),
                ),
            )
        )

    def __repr__(self):
        shown = {k: v for k, v in self.state().items() if isinstance(v, (int, float, str))}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"

    def _repr_mimebundle_(self, **kwargs):
        bundle, metadata = super()._repr_mimebundle_(**kwargs)
        return {**bundle, "text/html": self.to_html() + bundle.get("text/html", "")}, metadata


def _binary(value):
    """Return bytes as JSON; the host script makes a DataView of them, as Jupyter does."""
    return {"base64": base64.b64encode(value).decode("ascii")}


def _whole(text):
    """Return the text without lone surrogates, which no page could be written with."""
    return text.encode("utf-8", "replace").decode("utf-8")
