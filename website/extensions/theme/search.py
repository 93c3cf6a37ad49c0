"""The texts that the search page looks through, in place of Sphinx's index.

Sphinx's stems English words and cannot split Chinese ones; it finds pages, not sections. Here each
section of each page stands with its heading and its prose, and ``search.js`` ranks them. A term of
the glossary has its Chinese name with it; formulas stand as one would type them. What people type
where the book says it in other words stands in ``website/searched.yml``.

Of the first 60 questions in ``tests/website/queries.json``, MiniSearch 7.2 answered 30 rightly with
its first result (fields weighed, stop words left out, fuzzy matching); a test says how many this
does. Of 110 more, whose writer had not seen the others, 77 were right before they were looked at:
expect that of a question that nobody has tried.
"""

import json
import re
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes

from website.extensions.chapters.text import plain

# The heading stands by itself; raw HTML is no text, a displayed formula cannot be typed, and a
# chapter's code would weigh as much as its prose.
NOT_PROSE = (nodes.title, nodes.raw, nodes.math_block, nodes.literal_block)
INDEX = "_static/search-index.js"
RARELY_LOOKED_FOR = ("/api-workbook", "/api-contracts")  # what the names of these pages take
LONGEST = 1500  # characters of a section's prose; few sections have more
SEARCHED = Path(__file__).resolve().parents[2] / "searched.yml"
SIGNS = {
    **{"top": "ᵀ", "sqrt": "√", "infty": "∞", "cdot": "·", "times": "×", "le": "≤", "ge": "≥"},
    **{"approx": "≈", "to": "→", "dots": "…", "ldots": "…", "sum": "∑", "in": "∈", "pm": "±"},
    **{"alpha": "α", "lambda": "λ", "sigma": "σ", "theta": "θ", "tau": "τ", "mu": "μ", "pi": "π"},
}
WORDS = ("exp", "log", "ln", "max", "min", "tanh", "sin", "cos", "softmax")


def typed(tex):
    """Return a formula as one would type it, without the commands of TeX."""
    text = re.sub(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", tex)
    text = re.sub(
        r"\\([a-zA-Z]+) ?",
        lambda command: SIGNS.get(command[1]) or (f"{command[1]} " if command[1] in WORDS else ""),
        text,
    )
    return re.sub(r"\\[^a-zA-Z]|[{}]|(?<=\W)_|\^", "", text)


def sections(doctree, pieces=None):
    """Yield heading, anchor, prose and names of each section, and of each function and class.

    ``pieces`` is how many pieces of a section's prose are enough: of a function, its signature and
    what it does.
    """
    for section in doctree.findall(is_section):
        heading, anchor = _heading(section)
        prose = " ".join(" ".join([*_prose(section)][:pieces]).split())[:LONGEST]
        yield [heading, anchor, prose, also_called(section)]


def is_section(node):
    """Whether a node has a place of its own among the results."""
    described = isinstance(node, addnodes.desc) and node["objtype"] in ("function", "class")
    return described or isinstance(node, nodes.section)


def _heading(section):
    if isinstance(section, nodes.section):
        return plain(section.next_node(nodes.title).astext()), section["ids"][0]
    signature = section.next_node(addnodes.desc_signature)
    return signature["fullname"], signature["ids"][0]


def also_called(section):
    """Return the other names of what a section defines: the glossary's, bold after the heading."""
    first = section.next_node(nodes.paragraph)
    if "glossary" not in (section.source or "") or first is None or first.parent is not section:
        return []
    return [name.astext() for name in first.children if isinstance(name, nodes.strong)]


def _text_of(node):
    """Return the text of a paragraph, its formulas as one would type them."""
    if isinstance(node, nodes.math):
        return typed(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    return "".join(_text_of(child) for child in node.children)


def _prose(node):
    """Yield the texts below a node, those of its paragraphs, without sections within."""
    for child in node.children:
        if isinstance(child, nodes.TextElement) and not isinstance(child, NOT_PROSE):
            yield _text_of(child)
        elif not is_section(child) and not isinstance(child, NOT_PROSE):
            yield from _prose(child)


def collect(app, pagename, templatename, context, doctree):
    """Keep a page's sections; let the search page load them."""
    if doctree is not None:
        pieces = 2 if any(kind in pagename for kind in RARELY_LOOKED_FOR) else None
        app.env.searchable[pagename] = list(sections(doctree, pieces))
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
    root, within = app.config.root_doc, app.env.toctree_includes
    names = [page for name in within.get(root, []) for page in [name, *within.get(name, [])]]
    pages = {
        name: app.env.searchable[name] for name in [root, *names] if app.env.searchable.get(name)
    }
    for place, phrases in yaml.safe_load(SEARCHED.read_text(encoding="utf-8")).items():
        page, anchor = place.split("#")
        for section in pages.get(f"book/{page}", []):
            if section[1] == anchor:
                section[-1].extend(phrases)
    pages = [
        [app.builder.get_target_uri(name), sections_of_page]
        for name, sections_of_page in pages.items()
    ]
    text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    (Path(app.outdir) / INDEX).write_text(f"window.searchIndex = {text};\n", encoding="utf-8")


def setup(app):
    app.connect("builder-inited", begin)
    app.connect("html-page-context", collect)
    app.connect("build-finished", write)
