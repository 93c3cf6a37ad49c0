"""The map of the chapters: ``{chapter-map}`` on a page becomes the list of all, part by part.

Each is a line with its title and its minutes, both from its notebook; which parts there are and
what is in them says ``_toc.yml``. So a chapter that is listed there is on the map. Part I is the
book; the other parts are folded below it. The role ``{sittings}`` says how a part can be read:
{sittings}`Part I` is "8 chapters of 25 to 40 minutes".
"""

import json
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole

from website import book, minutes


def entry(number, path):
    """The line of Markdown that shows one chapter."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    title = "".join(notebook["cells"][0]["source"]).partition("\n")[0].removeprefix("# ")
    reading, practice = minutes.minutes(notebook)
    time = f"{reading} min"
    if practice:
        time = f"{reading} + {practice} min"
    return f"{number}. [{title}]({path.name}) *{time}*"


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
            lines = [entry(number + i, path) for i, path in enumerate(paths, 1)]
            number += len(paths)
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
    """How many chapters a part has, and how long; ``part`` is how its caption begins."""
    parts = dict(book.parts(root))
    names = (name for caption in parts if caption.startswith(f"{part}:") for name in parts[caption])
    paths = [path for name in names if (path := root / f"{name}.ipynb").is_file()]
    if not paths:
        raise ExtensionError(
            f"_toc.yml: expected chapters in a part called '{part}: …', "
            f"got {', '.join(parts) or 'no parts'}"
        )
    times = [minutes.minutes(json.loads(path.read_text(encoding="utf-8")))[0] for path in paths]
    return f"{len(times)} chapters of {min(times)} to {max(times)} minutes"


class Sittings(SphinxRole):
    """{sittings}`Part I`: how its chapters can be read."""

    def run(self):
        return [nodes.Text(sittings(Path(self.env.srcdir), self.text))], []


def setup(app):
    app.add_directive("chapter-map", ChapterMap)
    app.add_role("sittings", Sittings())
