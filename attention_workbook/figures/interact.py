"""Sliders for a function of the reader's: a view for a kernel, a still for a page without one."""

import contextlib
import html
import inspect
import io
import math
import numbers
import traceback
from collections.abc import Callable
from typing import Any

try:
    import ipywidgets
    from ipywidgets import VBox
except ModuleNotFoundError:
    ipywidgets, VBox = None, object

__all__ = ["interact"]

VIEW = "application/vnd.jupyter.widget-view+json"
Kind = tuple[str, dict[str, Any]]  # a class of ipywidgets, and what limits its values


def interact(function: Callable[..., object], **controls: tuple[float, ...] | list[Any]) -> "Still":
    """Give a function sliders; each move runs the function again and shows its output.

    Like ``ipywidgets.interact``. A page without a kernel shows the sliders' values, the output
    for them, and a note that moving them needs a kernel. Where ipywidgets is not installed, a
    notebook shows that, too.

    Parameters
    ----------
    function : callable
        Prints its result. Every argument has a default, where its slider starts.
    **controls
        For each argument with a slider: ``(lowest, highest)`` or ``(lowest, highest, step)`` in
        numbers, or a list of choices. The other arguments keep their defaults.

    Returns
    -------
    Still
        Shown if it is the last line of a cell; an ``ipywidgets.VBox`` where there is ipywidgets.

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
    starts = _starts(function, controls)
    kinds = {name: _kind(name, controls[name], start) for name, start in starts.items()}
    return Interact(function, starts, kinds) if ipywidgets else Still(function, starts)


class Still:
    """What a function prints for its sliders' values, and what it takes to move them."""

    _needs = "For sliders: pip install ipywidgets, restart the kernel, run this cell again."

    def __init__(self, function: Callable[..., object], values: dict[str, Any]) -> None:
        self._function, self._values = function, values
        self._text = self._printed()  # an error at the start is the cell's own

    def _printed(self) -> str:
        """Run the function at the sliders' values; return what it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self._function(**self._values)
        return printed.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        return f"interact({self._function.__name__}, {values})"

    def to_html(self) -> str:
        """Return the sliders' values, what the function prints, what is needed to move them."""
        values = ", ".join(f"{name} = {value}" for name, value in self._values.items())
        return (
            f'<div class="attention-still"><p><strong>{html.escape(values)}</strong></p>'
            f"{self._shown_text()}<p>{self._needs}</p></div>"
        )

    def _shown_text(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return {"text/html": self.to_html(), "text/plain": repr(self)}


class Interact(Still, VBox):  # type: ignore[misc]
    """The sliders of a function, and below them what it prints."""

    # ipywidgets 7 would display itself through this method, and leave the still out.
    _ipython_display_ = None
    _needs = "Open the notebook to move the sliders: they need a running kernel."

    def __init__(
        self, function: Callable[..., object], values: dict[str, Any], kinds: dict[str, Kind]
    ) -> None:
        Still.__init__(self, function, values)
        self._shown = ipywidgets.HTML(self._shown_text())
        style, sliders = {"description_width": "initial"}, []
        for name, (kind, limits) in kinds.items():
            make = getattr(ipywidgets, kind)
            slider = make(description=name, value=values[name], style=style, **limits)
            slider.observe(self._moved, "value")
            sliders.append(slider)
        VBox.__init__(self, [*sliders, self._shown])

    def _moved(self, change: Any) -> None:
        self._values[change["owner"].description] = change["new"]
        try:
            self._text = self._printed()
        except Exception as error:  # the reader's own: it is shown in place of the result
            report = traceback.TracebackException.from_exception(error)
            del report.stack[:2]  # without our two lines
            self._text = "".join(report.format()).rstrip("\n")
        self._shown.value = self._shown_text()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        view = {"model_id": self.model_id, "version_major": 2, "version_minor": 0}
        return {VIEW: view, **super()._repr_mimebundle_()}


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


def _kind(name: str, control: Any, start: Any) -> Kind:
    """Return the kind of slider that an argument gets, and its limits."""
    if isinstance(control, list) and start in control:
        return "SelectionSlider", {"options": control}
    if isinstance(control, tuple) and len(control) in (2, 3):
        numeric = all(map(_is_number, (*control, start)))
        if numeric and control[0] <= start <= control[1] and all(x > 0 for x in control[2:]):
            whole = all(isinstance(number, numbers.Integral) for number in (*control, start))
            limits = dict(zip(("min", "max", "step"), control, strict=False))
            return "IntSlider" if whole else "FloatSlider", limits
    raise ValueError(
        f"{name}: expected (lowest, highest), (lowest, highest, step) or a list of choices, with "
        f"the default {start!r} among them; got {control!r}"
    )


def _is_number(value: Any) -> bool:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return number and math.isfinite(value)
