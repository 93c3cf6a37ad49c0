"""The book's typefaces, cut down to what the book writes and sent with the site.

Source Serif 4 sets the text, Source Sans 3 signs and figures, Source Code Pro the code: from npm
(tools/npm) at exact versions, with their licence, the SIL Open Font License. Of each file only the
characters stay that some page shows, and since a file that was changed may not bear the reserved
name "Source", they are called as the style sheet calls them. Until one is there, for up to three
seconds, a face of the reader's machine stands in for it, stretched to the same size: next to
nothing moves.
"""

import base64
import html
import io
import re
import tomllib
from pathlib import Path

from fontTools import subset

from website import npm

FOLDER = "typeface"
FAMILIES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# The weights that each style serves, and what it adds to the name of a face that a machine has.
# The italics of 400 serve bold words, too. A family without italics is slanted by the browser.
STYLES = {"400-normal": ("400", ""), "400-italic": ("400 700", " Italic")}
STYLES["600-normal"] = ("600 700", " Bold")


def rules():
    """Return the rules ``@font-face`` of the families and of what stands in for them."""
    faces = []
    for family, settings in FAMILIES.items():
        package, size = settings["package"], settings["size"]
        for place, (style, width) in enumerate(settings["widths"].items()):
            weight, suffix = STYLES[style]
            kind = f"font-style: {style.partition('-')[2]}; font-weight: {weight};"
            faces.append(
                f'@font-face {{ font-family: "{family}"; {kind} font-display: fallback; '
                f'size-adjust: {size:.1%}; src: url("{FOLDER}/{package}-{style}.woff2") '
                'format("woff2"); }'
            )
            for name, widths in settings["local"].items():
                adjust = size * width / widths[place]
                up, down = (settings[part] * size / adjust for part in ("ascent", "descent"))
                faces.append(
                    f'@font-face {{ font-family: "{family} {name}"; {kind} '
                    f'src: local("{name}{suffix}"); size-adjust: {adjust:.1%}; ascent-override: '
                    f"{up:.1%}; descent-override: {down:.1%}; line-gap-override: 0%; }}"
                )
    return "\n".join(faces)


def families(family):
    """Return a family and what stands in for it, in order, as ``font-family`` takes them."""
    local = (f"{family} {name}" for name in FAMILIES[family]["local"])
    return ", ".join(f'"{name}"' for name in (family, *local))


def cut(source, target, characters, family):
    """Write a font of another name that has these characters of one, with its joins and spaces.

    Return whose the original is, in the words that its licence wants to be kept.
    """
    options = subset.Options(flavor="woff2", hinting=False, name_IDs=[0, 1, 2, 13, 14])
    options.layout_features = ["ccmp", "kern", "liga", "locl", "mark", "tnum"]
    font = subset.load_font(source, options)
    cutter = subset.Subsetter(options)
    cutter.populate(text="".join(sorted(characters)))
    cutter.subset(font)
    for record in font["name"].names:
        if record.nameID == 1:
            record.string = family
    subset.save_font(font, target, options)
    return font["name"].getDebugName(0)


def with_its_face(svg):
    """Return a picture that brings the letters it writes: a page's faces do not reach into it."""
    settings = FAMILIES[family := "Book Sans"]
    words = html.unescape(" ".join(re.findall("<text[^>]*>([^<]*)<", svg)))
    if not words or "@font-face" in svg:
        return svg
    package, faces = npm.package(f"@fontsource/{settings['package']}"), []
    for style, weight in (("400-normal", "400"), ("600-normal", "600 700")):
        if style == "600-normal" and not re.search('font-weight="(?:bold|[67]00)"', svg):
            continue
        font = io.BytesIO()
        source = package / "files" / f"{package.name}-latin-{style}.woff2"
        cut(source, font, set(words), family)
        data = base64.b64encode(font.getvalue()).decode()
        faces.append(
            f'@font-face {{ font-family: "{family}"; font-weight: {weight}; size-adjust: '
            f'{settings["size"]:.1%}; src: url("data:font/woff2;base64,{data}"); }}'
        )
    svg = svg.replace('font-family="', f"font-family=\"'{family}', ", 1)
    return svg.replace("<style>", f"<style>{''.join(faces)}", 1)


def configure(app, config):
    """Let ``given.css_t`` have the rules."""
    config.html_context["typeface"] = {name: families(name) for name in FAMILIES}
    config.html_context["typeface"]["rules"] = rules()


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
    notices = {}
    for family, settings in FAMILIES.items():
        package = npm.package(f"@fontsource/{settings['package']}")
        for style in settings["widths"]:
            file = f"{package.name}-{style}.woff2"
            source = package / "files" / file.replace(style, f"latin-{style}")
            notices[family] = cut(source, target / file, app.env.characters, family)
    lines = [f"{family}, changed: {notice}\n" for family, notice in notices.items()]
    text = "".join(lines) + open_font_licence()
    (target / "LICENSE.txt").write_text(text, encoding="utf-8")


def open_font_licence():
    """Return the SIL Open Font License, without the name that the package puts before it."""
    text = (npm.package("@fontsource/source-serif-4") / "LICENSE").read_text(encoding="utf-8")
    return text[text.index("\nThis Font Software") :]


def setup(app):
    app.connect("config-inited", configure)
    app.connect("builder-inited", begin)
    app.connect("html-page-context", collect)
    app.connect("build-finished", write)
