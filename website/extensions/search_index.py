"""The texts that the search page looks through, in place of Sphinx's index.

Sphinx's stems English words and cannot split Chinese ones; it finds pages, not sections. Here each
section of each page stands with its heading, its prose and its code, and ``search.js`` ranks them.
"""

import json
from pathlib import Path

from docutils import nodes

from website.extensions.workbook_pages import plain

OTHER = (nodes.title, nodes.raw)  # the heading stands by itself; raw HTML is no text
FILE = "_static/search-index.js"


def sections(doctree):
    """Yield each section's heading, anchor, prose and code, without those of sections within."""
    for section in doctree.findall(nodes.section):
        prose, code = [], []
        _gather(section, prose, code)
        heading = plain(section.next_node(nodes.title).astext())
        yield [heading, section["ids"][0], *(" ".join(" ".join(p).split()) for p in (prose, code))]


def _gather(node, prose, code):
    for child in node.children:
        if isinstance(child, nodes.literal_block):
            code.append(child.astext())
        elif isinstance(child, nodes.TextElement) and not isinstance(child, OTHER):
            prose.append(child.astext())
        elif not isinstance(child, (nodes.section, *OTHER)):
            _gather(child, prose, code)


def collect(app, pagename, templatename, context, doctree):
    """Keep a page's sections; let the search page load them."""
    if doctree is not None:
        app.env.searchable[pagename] = list(sections(doctree))
    if pagename == "search":
        app.add_js_file("search-index.js", loading_method="defer")
        app.add_js_file("search.js", loading_method="defer")


def begin(app):
    app.env.searchable = {}
    app.builder.search = False  # Sphinx's own index; the page comes by html_additional_pages


def write(app, error):
    """Write all pages' sections, in the order of the contents."""
    if error or app.builder.format != "html":
        return
    pages = [
        [app.builder.get_target_uri(name), app.env.searchable[name]]
        for name in app.env.toctree_includes.get(app.config.root_doc, [])
        if app.env.searchable.get(name)
    ]
    text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    (Path(app.outdir) / FILE).write_text(f"window.searchIndex = {text};\n", encoding="utf-8")


def setup(app):
    app.connect("builder-inited", begin)
    app.connect("html-page-context", collect)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
