"""The base of every figure with sliders: its state, its still picture, its HTML."""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import traitlets

from workbook.figures._bundle import FOLDER, module_source, page_source, stylesheet
from workbook.figures._markup import Markup, tag

Bundle = tuple[dict[str, Any], dict[str, Any]]

try:
    from anywidget import AnyWidget
except ModuleNotFoundError:

    class AnyWidget(traitlets.HasTraits):  # type: ignore[no-redef]
        """In anywidget's place where it is not installed: figures stand still, and say why."""

        def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
            missing = "For sliders: pip install anywidget, restart the kernel, run this cell again."
            return {"text/plain": repr(self), "text/html": tag("p", missing)}, {}


class Figure(AnyWidget):
    """Base of all figures with sliders; README.md beside this file has the recipe.

    A subclass names its view in ``_script`` (a file of this folder, or a whole path), its title in
    ``_title`` and what its reader is asked to do in ``_task`` (one sentence each, as in the view),
    declares its traits with ``.tag(sync=True)``, and says what it looks like at rest in
    :meth:`picture` and :meth:`words`.
    """

    _script: str | Path
    _title: str
    _task: str
    _css = stylesheet()
    # ipywidgets 7 would display itself through this method, and leave the still picture out.
    _ipython_display_ = None

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
            if not name.startswith("_")
        }

    def picture(self) -> Markup:
        """Return the still picture of the present state, made by :func:`svg`."""
        raise NotImplementedError

    def words(self) -> str:
        """Return what the still picture shows, its numbers included, in sentences."""
        raise NotImplementedError

    def still(self) -> Markup:
        """Return the still picture as an image that carries its own data."""
        picture = "data:image/svg+xml," + quote(_whole(self.picture()), safe=" =:/;,'()")
        return tag("img", src=picture, alt=f"Still picture of {self!r}")

    def to_html(self) -> str:
        """Return the figure as HTML: a still picture that the host script brings to life."""
        return self._html(self.state())

    def _html(self, state: dict[str, Any]) -> str:
        text = json.dumps(
            state, default=_binary, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        title, name = tag("strong", f"{self._title}."), type(self).__name__
        said = tag("figcaption", title, f" {self._task} {self.words()}")
        look = {"class_": "attention-widget", "data_widget": name, "data_state": text}
        return _whole(tag("figure", self.still(), said, **look))

    def fetched(self) -> dict[str, Any]:
        """Return the traits that a page fetches when its reader asks for them."""
        return {}

    def save(self, path: str | Path) -> None:
        """Write the figure to one HTML file that opens in any browser, with no network."""
        state = self.state()
        if not state.get("wanted", True):  # what a page would fetch goes into the file
            state |= self.fetched() | {"wanted": True}
        page = page_source(self._html(state), self.script(), self._title)
        Path(path).write_text(page, encoding="utf-8")

    def __repr__(self) -> str:
        plain = {k: v for k, v in self.state().items() if isinstance(v, (int, float, str))}
        shown = {k: v for k, v in plain.items() if v != ""}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        bundle, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**bundle, "text/html": self.to_html() + bundle.get("text/html", "")}, metadata


def _binary(value: bytes) -> dict[str, str]:
    """Return bytes as JSON; the host script makes a DataView of them, as Jupyter does."""
    return {"base64": base64.b64encode(value).decode("ascii")}


def _whole(text: str) -> str:
    """Return the text without lone surrogates, which no page could be written with."""
    return text.encode("utf-8", "replace").decode("utf-8")
