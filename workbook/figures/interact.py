"""Sliders for a function of the reader's: a view for a kernel, a still for a page without one."""

import contextlib
import inspect
import io
import math
import numbers
import traceback
from collections.abc import Callable
from typing import Any

import ipywidgets

from workbook.figures._markup import tag

__all__ = ["interact"]

VIEW = "application/vnd.jupyter.widget-view+json"


def interact(
    function: Callable[..., object], **controls: tuple[float, ...] | list[Any]
) -> "Interact":
    """Give a function sliders; each move runs the function again and shows its output.

    Like ``ipywidgets.interact``. A page without a kernel shows the sliders' values, the output
    for them, and a note that moving them needs a kernel.

    Parameters
    ----------
    function : callable
        Prints its result. Every argument has a default, where its slider starts.
    **controls
        For each argument with a slider: ``(lowest, highest)`` or ``(lowest, highest, step)`` in
        numbers, or a list of choices. The other arguments keep their defaults.

    Returns
    -------
    ipywidgets.VBox
        Shown if it is the last line of a cell.

    Raises
    ------
    TypeError
        If ``function`` is not callable, an argument has no default, or there is no control or one
        for a missing argument.
    ValueError
        If a control is of another kind, or does not include the argument's default.

    Examples
    --------
    >>> def squares(count=3):
    ...     print([i * i for i in range(count)])
    >>> interact(squares, count=(1, 9))
    interact(squares, count=3)
    """
    return Interact(function, controls)


class Interact(ipywidgets.VBox):  # type: ignore[misc]
    """The sliders of a function, and below them what it prints; see ``notebook.interact``."""

    # ipywidgets 7 would display itself through this method, and leave the still out.
    _ipython_display_ = None

    def __init__(self, function: Callable[..., object], controls: dict[str, Any]) -> None:
        self._function = function
        starts = _starts(function, controls)
        self._sliders = {name: _slider(name, controls[name], starts[name]) for name in starts}
        self._text = self._printed()  # an error at the start is the cell's own
        self._shown = ipywidgets.HTML()
        self._show()
        for slider in self._sliders.values():
            slider.observe(self._moved, "value")
        super().__init__([*self._sliders.values(), self._shown])

    def _printed(self) -> str:
        """Run the function at the sliders' values; return what it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self._function(**{name: slider.value for name, slider in self._sliders.items()})
        return printed.getvalue().rstrip("\n")

    def _moved(self, change: object) -> None:
        try:
            self._text = self._printed()
        except Exception as error:  # the reader's own: it is shown in place of the result
            told = traceback.TracebackException.from_exception(error)
            del told.stack[:2]  # without our two lines
            self._text = "".join(told.format()).rstrip("\n")
        self._show()

    def _show(self) -> None:
        self._shown.value = tag("pre", self._text)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={slider.value!r}" for name, slider in self._sliders.items())
        return f"interact({self._function.__name__}, {values})"

    def to_html(self) -> str:
        """Return the still: the sliders' values, what the function prints, what is needed."""
        values = ", ".join(f"{name} = {slider.value}" for name, slider in self._sliders.items())
        return str(
            tag(
                "div",
                tag("p", tag("strong", values)),
                tag("pre", self._text),
                tag("p", "Open the notebook to move the sliders: they need a running kernel."),
                class_="attention-still",
            )
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        view = {"model_id": self.model_id, "version_major": 2, "version_minor": 0}
        return {VIEW: view, "text/html": self.to_html(), "text/plain": repr(self)}


def _starts(function: Callable[..., object], controls: dict[str, Any]) -> dict[str, Any]:
    """Return the values that the function's arguments start with: their defaults."""
    if not callable(function):
        raise TypeError(f"function: expected a function, got {type(function).__name__}")
    if not controls:
        raise TypeError("controls: expected a control for one argument at least, got none")
    arguments = inspect.signature(function).parameters
    for name in controls:
        if name not in arguments:
            raise TypeError(f"{name}: no such argument; there are {', '.join(arguments)}")
    for name, argument in arguments.items():
        if argument.default is argument.empty:
            raise TypeError(f"{name}: expected a default, which is where its slider starts")
    return {name: arguments[name].default for name in controls}


def _slider(name: str, control: Any, start: Any) -> Any:
    """Return the slider of one argument."""
    about = {"description": name, "value": start, "style": {"description_width": "initial"}}
    if isinstance(control, list) and start in control:
        return ipywidgets.SelectionSlider(options=control, **about)
    if isinstance(control, tuple) and len(control) in (2, 3):
        numeric = all(map(_is_number, (*control, start)))
        if numeric and control[0] <= start <= control[1] and all(x > 0 for x in control[2:]):
            whole = all(isinstance(number, numbers.Integral) for number in (*control, start))
            kind = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
            return kind(**dict(zip(("min", "max", "step"), control, strict=False)), **about)
    raise ValueError(
        f"{name}: expected (lowest, highest), (lowest, highest, step) or a list of choices, with "
        f"the default {start!r} among them; got {control!r}"
    )


def _is_number(value: Any) -> bool:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return number and math.isfinite(value)
