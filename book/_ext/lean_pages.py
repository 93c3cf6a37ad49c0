"""Leave out of the site what the theme ships and this book does not use.

The theme brings its icons three times: as a script of 1.5 MB that draws them, as fonts, and as
style rules. This book needs a dozen, drawn in `_static/icons.css`; script, fonts and source maps
go. A test of the built site weighs every page, should the theme one day name them otherwise.
"""

import re
import shutil
from pathlib import Path

ICON_SCRIPT = re.compile(r"\s*<script[^>]*/fontawesome\.js[^>]*></script>")


def slim(app, error):
    """Take the icon script out of every page, and files that no page asks for out of the site."""
    if error or app.builder.format != "html":
        return
    root = Path(app.outdir)
    for path in root.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if ICON_SCRIPT.search(text):
            path.write_text(ICON_SCRIPT.sub("", text), encoding="utf-8")
    static = root / "_static"
    shutil.rmtree(static / "vendor" / "fontawesome", ignore_errors=True)
    for path in [*static.rglob("*.map"), static / "scripts" / "fontawesome.js"]:
        path.unlink(missing_ok=True)


def setup(app):
    app.connect("build-finished", slim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
