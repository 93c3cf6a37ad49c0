"""Old addresses with an anchor go on leading to their section when it moves to another page.

``website/moved.yml`` says where each went. The page of the old address keeps an element with the
old anchor; it is seen by those alone who come by it, and links to the new place, to which
``workbook.js`` goes on by itself.
"""

import functools
from pathlib import Path

import yaml
from sphinx.util import logging

FILE = Path(__file__).resolve().parent.parent / "moved.yml"
logger = logging.getLogger(__name__)


@functools.cache
def read():
    """Each old page and anchor with the new ones: ``(page, anchor): (page, anchor)``."""
    entries = yaml.safe_load(FILE.read_text(encoding="utf-8")) or {}
    return {tuple(old.split("#")): tuple(new.split("#")) for old, new in entries.items()}


def offer(app, pagename, templatename, context, doctree):
    """Give a page's template the anchors that have moved away from it."""
    context["moved"] = []
    for (page, anchor), (new_page, new_anchor) in read().items():
        if pagename != f"book/{page}":
            continue
        target = f"book/{new_page}"
        if target not in app.env.found_docs:
            logger.warning("moved.yml: %s#%s leads to %s, which is no page", page, anchor, new_page)
            continue
        address = app.builder.get_relative_uri(pagename, target) if target != pagename else ""
        title = app.env.titles[target].astext()
        context["moved"].append((anchor, f"{address}#{new_anchor}", title))


def setup(app):
    app.connect("html-page-context", offer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
