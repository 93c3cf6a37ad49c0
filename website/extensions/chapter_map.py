"""The map of the chapters: ``{chapter-map}`` on a page becomes the list of all, part by part.

Each is there with its title, the sentence under it, and its minutes, all from its notebook; which
parts there are and what is in them says ``_toc.yml``. So a chapter that is listed there is on the
map. The role ``{hours}`` says how long a part takes: {hours}`Part I` is "5 hours of reading and 3
hours of exercises".
"""

import json
import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective, SphinxRole

from website import book, minutes


def entry(number, path):
    """The lines of Markdown that show one chapter."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    title, *paragraphs = "".join(notebook["cells"][0]["source"]).split("\n\n")
    sentence = " ".join(re.sub(r"\*\*[^*]+\*\*", "", paragraphs[0]).split()) if paragraphs else ""
    reading = minutes.rounded(minutes.reading(notebook))
    practice = minutes.exercises(notebook)
    takes = f"{reading} min to read" + (f", {practice} min of exercises" if practice else "")
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
            parts.append(part)
        return parts


def total(root, part):
    """How long the chapters of a part take, in words; ``part`` is how its caption begins."""
    names = next(names for caption, names in book.parts(root) if caption.startswith(f"{part}:"))
    texts = [(root / f"{name}.ipynb").read_text(encoding="utf-8") for name in names]
    chapters = [json.loads(text) for text in texts]
    reading = minutes.hours(sum(minutes.rounded(minutes.reading(one)) for one in chapters))
    practice = minutes.hours(sum(map(minutes.exercises, chapters)))
    return f"{reading} of reading and {practice} of exercises"


class Hours(SphinxRole):
    """{hours}`Part I`: how long its chapters take."""

    def run(self):
        return [nodes.Text(total(Path(self.env.srcdir), self.text))], []


def setup(app):
    app.add_directive("chapter-map", ChapterMap)
    app.add_role("hours", Hours())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
