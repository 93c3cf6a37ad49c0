"""The base of every figure with sliders: its state and its HTML."""

from pathlib import Path
from typing import Any

import traitlets

from attention_workbook.figures.bundle import (
    FOLDER,
    as_json,
    module_source,
    page_source,
    stylesheet,
)
from attention_workbook.figures.still_pictures import figure_html

Bundle = tuple[dict[str, Any], dict[str, Any]]

try:
    from anywidget import AnyWidget
except ModuleNotFoundError:

    class AnyWidget(traitlets.HasTraits):  # type: ignore[no-redef]
        """In anywidget's place where it is not installed: figures stand still, and say why."""

        def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
            missing = (
                "For sliders: run %pip install anywidget, reload this page in the browser, then "
                "restart the kernel and run all cells."
            )
            return {"text/plain": repr(self), "text/html": f"<p>{missing}</p>"}, {}


class Figure(AnyWidget):
    """Base of all figures with sliders; README.md beside this file has the recipe.

    A subclass names its view in ``_script`` (a file of this folder) and declares its traits with
    ``.tag(sync=True)``. What it looks like, moving and at rest, its title and its words are the
    view's.
    """

    _script: str
    _css = stylesheet()
    # ipywidgets 7 would display itself through this method, and leave the still picture out.
    _ipython_display_ = None

    task = traitlets.Unicode(help="What to do, where a chapter asks something of its own.")
    task.tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name, trait in vars(cls).items():
            if isinstance(trait, traitlets.TraitType) and hasattr(AnyWidget, name):
                raise TypeError(f"{cls.__name__}.{name}: ipywidgets uses this name itself")
        if "_script" in vars(cls):
            cls._esm = module_source(cls.script())
        super().__init_subclass__(**kwargs)

    def __init__(self, **traits: Any) -> None:
        unknown = sorted(set(traits) - set(self.trait_names()))
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no trait {unknown[0]!r}; "
                f"its traits are {', '.join(self.state())}."
            )
        super().__init__(**traits)

    @classmethod
    def script(cls) -> Path:
        """Return the file of the figure's view."""
        return FOLDER / cls._script

    def state(self) -> dict[str, Any]:
        """Return the figure's own traits and their values, in the order they were declared."""
        return {
            name: getattr(self, name)
            for cls in reversed(type(self).__mro__)
            if issubclass(cls, Figure)
            for name, trait in vars(cls).items()
            if isinstance(trait, traitlets.TraitType) and trait.metadata.get("sync")
            if not name.startswith("_") and (name != "task" or self.task)
        }

    def to_html(self) -> str:
        """Return the figure as HTML: a still picture that the host script brings to life."""
        return figure_html(type(self).__name__, as_json(self.state()))

    def fetched(self) -> dict[str, Any]:
        """Return the traits that a page fetches when its reader asks for them."""
        return {}

    def save(self, path: str | Path) -> None:
        """Write the figure to one HTML file that opens in any browser, with no network."""
        state = self.state()
        if not state.get("wanted", True):  # what a page would fetch goes into the file
            state |= self.fetched() | {"wanted": True}
        name = type(self).__name__
        page = page_source(figure_html(name, as_json(state)), self.script(), name)
        Path(path).write_text(page, encoding="utf-8")

    def __repr__(self) -> str:
        plain = {k: v for k, v in self.state().items() if isinstance(v, (int, float, str))}
        shown = {k: v for k, v in plain.items() if v != ""}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        bundle, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**bundle, "text/html": self.to_html() + bundle.get("text/html", "")}, metadata
