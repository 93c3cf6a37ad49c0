"""The still pictures that stand here for the states the book shows, and the HTML that holds them.

A still is an SVG with what it shows in words, drawn by the figure's own JavaScript when notebooks
are stored (``website/stills.py``), so that a kernel needs no Node to show it.
"""

import hashlib
import html
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

__all__ = ["Still", "figure_html", "path_of", "still_of"]

FOLDER = Path(__file__).with_name("stills")
_GROUND = '<rect id="ground"'  # a line of its own
_NONE = (
    "There is no still picture of this state: stored are those that the book shows. "
    "With anywidget installed, the figure itself is here and can be moved."
)


class Still(NamedTuple):
    """A still picture: its SVG, the figure's title, and what it shows in sentences.

    >>> Still("<svg/>", "Two heads", "They differ.").image()
    '<img src="data:image/svg+xml,%3Csvg/%3E" alt="Still picture: Two heads">'
    """

    svg: str
    title: str
    words: str

    def image(self, ground: bool = True) -> str:
        """Return the picture as an HTML image that carries its own data.

        Without its ground it stands on that of the page, which says what is light and dark.
        """
        lines = self.svg.splitlines(keepends=True)
        svg = "".join(line for line in lines if ground or not line.startswith(_GROUND))
        data = "data:image/svg+xml," + quote(svg, safe=" =:/;,'()")
        return f'<img src="{data}" alt="Still picture: {html.escape(self.title)}">'


def path_of(name: str, state: str) -> Path:
    """Return the file of a figure's state, which is JSON as ``data-state`` has it.

    >>> path_of("Clock", "{}").name
    'Clock-44136fa355b3.svg'
    """
    digest = hashlib.sha256(state.encode()).hexdigest()
    return FOLDER / f"{name}-{digest[:12]}.svg"


def still_of(name: str, state: str) -> Still | None:
    """Return the still picture of a state; None for a state that the book does not show.

    >>> print(still_of("Clock", "{}"))
    None
    """
    path = path_of(name, state)
    if not path.is_file():
        return None
    svg = path.read_text(encoding="utf-8")
    title, words = (
        html.unescape(svg.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0])
        for tag in ("title", "desc")
    )
    return Still(svg, title, words)


def figure_html(name: str, state: str, ground: bool = True) -> str:
    """Return a figure as HTML: its state for the script that brings it to life, and its still.

    >>> figure_html("Clock", "{}")[:53]
    '<figure class="attention-widget" data-widget="Clock" '
    """
    still = still_of(name, state)
    if still:
        title = still.title if still.title.endswith("?") else f"{still.title}."
        shown = f"{still.image(ground)}<figcaption><strong>{html.escape(title)}</strong> "
        shown += f"{html.escape(still.words)}</figcaption>"
    else:
        shown = f"<figcaption>{_NONE}</figcaption>"
    return (
        f'<figure class="attention-widget" data-widget="{name}" '
        f'data-state="{html.escape(state)}">{shown}</figure>'
    )
