"""The book's typeface, Source Serif 4, cut down to what the book writes and sent with the site.

Its files come from npm (tools/npm) at an exact version; its licence is the SIL Open Font License,
which goes along. Of each file only the characters stay that some page shows. A page asks for it
first. Until it is there, for up to three seconds, a face of the reader's machine stands in for it,
stretched to the same size: nothing waits, and next to nothing moves.
"""

import shutil
import sys
from pathlib import Path

from fontTools import subset
from sphinx.errors import ExtensionError

PACKAGE = Path(sys.prefix) / "npm" / "node_modules" / "@fontsource" / "source-serif-4"
FOLDER = "typeface"
STYLES = {
    "400-normal": (0.479, "400", ""),
    "400-italic": (
        0.441,
        "400 700",
        " Italic",
    ),  # among bold words, too: none is slanted by machine
    "600-normal": (0.486, "600 700", " Bold"),
}
ASCENT, DESCENT = 1.036, 0.335  # of Source Serif 4, in em, as above the mean width of a letter
# Faces that machines have: the mean width of their letters in each of the styles, in em. The widths
# are those of fonts in English text, as @capsizecss/metrics lists them.
LOCAL = {
    "Georgia": (0.446, 0.455, 0.519),
    "Times New Roman": (0.406, 0.408, 0.433),
    "Liberation Serif": (0.406, 0.408, 0.433),
    "Noto Serif": (0.481, 0.469, 0.512),
    "DejaVu Serif": (0.519, 0.519, 0.573),
}


def rules():
    """Return the rules ``@font-face`` of the typeface and of what stands in for it."""
    faces = []
    for place, (style, (width, weight, suffix)) in enumerate(STYLES.items()):
        kind = f"font-style: {style.partition('-')[2]}; font-weight: {weight};"
        faces.append(
            f'@font-face {{ font-family: "Book"; {kind} font-display: fallback; '
            f'src: url("{FOLDER}/{style}.woff2") format("woff2"); }}'
        )
        for name, widths in LOCAL.items():
            adjust = width / widths[place]
            faces.append(
                f'@font-face {{ font-family: "Book {name}"; {kind} src: local("{name}{suffix}"); '
                f"size-adjust: {adjust:.1%}; ascent-override: {ASCENT / adjust:.1%}; "
                f"descent-override: {DESCENT / adjust:.1%}; line-gap-override: 0%; }}"
            )
    return "\n".join(faces)


def families():
    """Return the families of these rules, in order, as ``font-family`` takes them."""
    return ", ".join(f'"{name}"' for name in ("Book", *(f"Book {name}" for name in LOCAL)))


def cut(source, target, characters):
    """Write a font that has these characters of another, and joins and spaces them as it does."""
    options = subset.Options(flavor="woff2", hinting=False, name_IDs=[0, 1, 2, 13, 14])
    options.layout_features = ["ccmp", "kern", "liga", "locl", "mark", "tnum"]
    font = subset.load_font(source, options)
    cutter = subset.Subsetter(options)
    cutter.populate(text="".join(sorted(characters)))
    cutter.subset(font)
    subset.save_font(font, target, options)


def configure(app, config):
    """Let ``workbook.css_t`` have the rules."""
    config.html_context["typeface"] = {"rules": rules(), "families": families()}


def begin(app):
    app.env.characters = set(map(chr, range(0x20, 0x7F)))  # what readers type, too


def collect(app, pagename, templatename, context, doctree):
    """Keep the characters of a page."""
    app.env.characters |= {*context.get("body", ""), *context.get("title", "")}


def write(app, error):
    """Cut the files into the site, and copy the licence beside them."""
    if error or app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / FOLDER
    target.mkdir(parents=True, exist_ok=True)
    for style in STYLES:
        source = PACKAGE / "files" / f"source-serif-4-latin-{style}.woff2"
        cut(source, target / f"{style}.woff2", app.env.characters)
    shutil.copy(PACKAGE / "LICENSE", target / "LICENSE.txt")


def setup(app):
    if not PACKAGE.is_dir():
        raise ExtensionError("Source Serif 4 is not installed: run make, which installs it.")
    app.connect("config-inited", configure)
    app.connect("builder-inited", begin)
    app.connect("html-page-context", collect)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
