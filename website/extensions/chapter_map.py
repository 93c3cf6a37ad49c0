"""The map of the chapters: ``{chapter-map}`` on a page becomes the list of all, part by part.

Each is there with its title, the sentence under it, and its minutes, all from its notebook; which
parts there are and what is in them says ``_toc.yml``. So a chapter that is listed there is on the
map.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from website import book, minutes


def entry(number, path):
    """The lines of Markdown that show one chapter."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    title, *paragraphs = "".join(notebook["cells"][0]["source"]).split("\n\n")
    sentence = " ".join(re.sub(r"\*\*[^*]+\*\*", "", paragraphs[0]).split()) if paragraphs else ""
    reading = minutes.rounded(minutes.reading(notebook))
    practice = minutes.exercises(notebook)
    takes = f"{reading} minutes, exercises {practice}" if practice else f"{reading} minutes"
    return [
        f"{number}. [{title.removeprefix('# ')}]({path.name}) *{takes}*",
        "",
        f"{'':{len(str(number)) + 2}}{sentence}",
        "",
    ]


class ChapterMap(SphinxDirective):
    """``{chapter-map}``: one section a part, one numbered line a chapter."""

    def run(self):
        root, number, parts = Path(self.env.srcdir), 0, []
        for caption, names in book.parts(root):
            paths = [path for name in names if (path := root / f"{name}.ipynb").is_file()]
            if not paths:
                continue
            part = nodes.section(ids=[nodes.make_id(caption)], names=[caption])
            part += nodes.title(text=caption)
            lines = []
            for number, path in enumerate(paths, number + 1):  # noqa: B020  (numbers go on)
                lines += entry(number, path)
            self.state.nested_parse(StringList(lines, self.get_source_info()[0]), 0, part)
            for row, item in enumerate(part.findall(nodes.list_item), number - len(paths) + 1):
                item["classes"].append(f"row-{row}")
            parts.append(part)
        return parts


def count(app, config):
    """Let ``workbook.css_t`` know how many rows the map has."""
    root = Path(app.srcdir)
    names = (root / f"{name}.ipynb" for _, names in book.parts(root) for name in names)
    config.html_context["rows"] = sum(path.is_file() for path in names)


def setup(app):
    app.add_directive("chapter-map", ChapterMap)
    app.connect("config-inited", count)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
