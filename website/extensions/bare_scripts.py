"""Sphinx extension: scripts and stylesheets of the site without comments and indentation.

Comments are for those who read the sources. In the scripts that every page with a figure loads they
are a quarter of the bytes.
"""

import re
from pathlib import Path

OWN_FILES = (
    "*.js",
    "*.css",
    "attention_*/*.js",
    "attention_*/*.css",
)  # not those of other projects
COMMENTS = {
    ".js": re.compile(r"^\s*(?://[^\n]*|/\*\*.*?\*/)\n", re.MULTILINE | re.DOTALL),
    ".css": re.compile(r"/\*.*?\*/", re.DOTALL),
}


def bare(text, suffix):
    """Return a script or a stylesheet without the comments that have lines of their own.

    Examples
    --------
    >>> bare("// Why.\\nif (a) {\\n  b(); // here\\n}\\n", ".js")
    'if (a) {\\nb(); // here\\n}\\n'
    """
    return re.sub(r"^[ ]+", "", COMMENTS[suffix].sub("", text), flags=re.MULTILINE)


def write(app, error):
    if app.builder.format != "html":
        return
    for pattern in OWN_FILES:
        for path in Path(app.outdir, "_static").glob(pattern):
            path.write_text(bare(path.read_text("utf-8"), path.suffix), "utf-8")


def setup(app):
    app.connect("build-finished", write, priority=900)  # after those that write scripts
    return {"parallel_read_safe": True, "parallel_write_safe": True}
