"""The map of the chapters: ``{chapter-map}`` on a page becomes the list of all, part by part.

Each is there with its title, the sentence under it, and its minutes, all from its notebook; which
parts there are and what is in them says ``_toc.yml``. So a chapter that is listed there is on the
map. Part I is the book; the other parts are folded below it. The role ``{sittings}`` says how a
part can be read: {sittings}`Part I` is "8 sittings of 25 to 40 minutes".
"""

import json
import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole

from website import book, minutes


def entry(number, path):
    """The lines of Markdown that show one chapter."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    title, *paragraphs = "".join(notebook["cells"][0]["source"]).split("\n\n")
    sentence = " ".join(re.sub(r"\*\*[^*]+\*\*", "", paragraphs[0]).split()) if paragraphs else ""
    reading, practice = minutes.minutes(notebook)
    time = f"{reading} min to read"
    if practice:
        time = f"{reading} min to read, {practice} min of exercises"
    return [
        f"{number}. [{title.removeprefix('# ')}]({path.name}) *{time}*",
        "",
        f"{'':{len(str(number)) + 2}}{sentence}",
        "",
    ]


# What the parts after the first are for; they are folded.
FURTHER = {
    "Part II": "One question each. Come for the one that you have, or that your code has.",
    "Part III": "Operations, bytes and caches, and how models spend fewer of them.",
    "Part IV": "Train the models, open them, and test what others have built.",
    "Appendix": "Attention, half a century early.",
}


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
            purpose = FURTHER.get(caption.partition(":")[0])
            if purpose:
                count = f"{len(paths)} chapters" if len(paths) > 1 else "1 chapter"
                summary = f"<details><summary>{purpose} {count}.</summary>"
                part += nodes.raw("", summary, format="html")
            self.state.nested_parse(StringList(lines, self.get_source_info()[0]), 0, part)
            if purpose:
                part += nodes.raw("", "</details>", format="html")
            parts.append(part)
        return parts


def sittings(root, part):
    """How many sittings a part takes, one a chapter; ``part`` is how its caption begins."""
    parts = dict(book.parts(root))
    names = (name for caption in parts if caption.startswith(f"{part}:") for name in parts[caption])
    paths = [path for name in names if (path := root / f"{name}.ipynb").is_file()]
    if not paths:
        raise ExtensionError(
            f"_toc.yml: expected chapters in a part called '{part}: …', "
            f"got {', '.join(parts) or 'no parts'}"
        )
    times = [minutes.minutes(json.loads(path.read_text(encoding="utf-8")))[0] for path in paths]
    return f"{len(times)} sittings of {min(times)} to {max(times)} minutes"


class Sittings(SphinxRole):
    """{sittings}`Part I`: how its chapters can be read."""

    def run(self):
        return [nodes.Text(sittings(Path(self.env.srcdir), self.text))], []


def setup(app):
    app.add_directive("chapter-map", ChapterMap)
    app.add_role("sittings", Sittings())
