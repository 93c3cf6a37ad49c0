"""Part I to take along, as EPUB and, where a Chromium is, as PDF: what ``make ebook`` calls.

Both editions are made from the built pages. What is folded there (hints, solutions, some code)
stands at the end, linked both ways; what answers a prediction is open; a stub is followed by
room to write. Formulas are MathML in the EPUB and KaTeX's own HTML in the PDF, whose look then does
not depend on the machine's fonts. The same pages give the same EPUB, byte for byte.
"""

import html
import itertools
import posixpath
import re
import uuid
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote

import yaml
from bs4 import BeautifulSoup, Tag
from bs4.element import PreformattedString

from attention_lib import palette
from website import ROOT, book, browser

TITLE, PART = "The Attention Workbook", "Part I: the mechanism"
NAME = "attention-workbook-part-1"
SITE, TARGET = ROOT / "_build" / "html", ROOT / "_build" / "ebook"
STYLE, PRINT = (Path(__file__).with_name(f"ebook{kind}.css") for kind in ("", "_print"))
FONTS = ("typeface/source-*.woff2", "mathematics/fonts/KaTeX_[AC]*-Regular.woff2")
ALIVE = (  # of no use without a screen
    ".headerlink, .always, .why, .to-run, .attention-how, .attention-parts, .plain, .compare, "
    "form, progress, script"
)
KEPT = {"id", "href", "lang", "class", "type", "start", "colspan", "rowspan"}  # of attributes
DARK = r'<style>.*?</style>|<(title|desc)>.*?</\1>|<rect id="ground".*?/>| class="dark\d+"'
PAPER = f'<rect width="100%" height="100%" fill="{palette.LIGHT["paper"]}"/>'
XHTML = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en">
<head><title>{title}</title><link rel="stylesheet" href="ebook.css"/></head>
<body>
{body}
</body>
</html>
"""
CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{identifier}</dc:identifier>
<dc:title>{title}</dc:title>
<dc:creator>{author}</dc:creator>
<dc:language>en</dc:language>
<dc:rights>Text and figures: CC BY 4.0; code: MIT License</dc:rights>
<meta property="dcterms:modified">{date}T00:00:00Z</meta>
<meta property="schema:accessMode">textual</meta>
<meta property="schema:accessMode">visual</meta>
<meta property="schema:accessModeSufficient">textual</meta>
<meta property="schema:accessibilityFeature">alternativeText</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
</metadata>
<manifest>
{manifest}
</manifest>
<spine>
{spine}
</spine>
</package>
"""


class Markup(PreformattedString):
    """Markup that is written as it stands: SVG, whose names have capitals."""

    PREFIX = SUFFIX = ""


@dataclass
class Page:
    """A page of an edition: the name of its file, its heading and its content."""

    name: str
    title: str
    content: Tag


class Edition:
    """The pages of Part I, cleaned of what needs a screen and linked to one another."""

    def __init__(self, paper=False, site=SITE):
        self.site, self.paper, self.numbers = site, paper, itertools.count()
        self.config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
        self.address = self.config["html"]["baseurl"].rstrip("/")
        self.chapters = [posixpath.basename(name) for name in dict(book.parts())[PART]]
        names = ["twenty-minutes", *self.chapters, "glossary", "bibliography"]
        pages = [self.page(name) for name in names]
        folded = [page for page in map(unfold, pages) if page.content.section]
        self.pages = [*pages[:-2], *folded, *pages[-2:]]
        self.places = {  # the file in which an id stands
            tag["id"]: page.name for page in self.pages for tag in with_ids(page.content)
        }
        for page in self.pages:
            self.link(page.content)

    def page(self, name):
        """Return a page of the site as one of the edition, with ids that no other page has."""
        text = (self.site / "book" / f"{name}.html").read_text(encoding="utf-8")
        content = BeautifulSoup(text, "html.parser").article.extract()
        for code in content("pre"):
            simplify(code)
        for formula in content(class_="katex"):
            set_formula(formula, self.paper)
        leave_room(content)
        for tag in content.select(ALIVE):
            tag.decompose()
        for guess in content.select(".prediction"):
            question = guess.span.get_text().removeprefix("What do you think?")
            choices = [tag.get_text() for tag in guess("button")]
            if all(len(choice) == 1 for choice in choices):  # letters of what the text lists
                choices = []
            text = f"{question} {' · '.join(choices)}".strip()
            if text:
                guess.insert_before(element("p", text, "guess"))
            guess.decompose()
        if name in self.chapters:
            content.h1.insert(0, f"{self.chapters.index(name) + 1}. ")
        for picture in content.select("img"):
            picture.replace_with(Markup(self.drawing(picture)))
        content["id"] = ""
        for tag in with_formulas_left_alone(content):
            self.plain(tag, name)
        return Page(name, content.h1.get_text(), content)

    def plain(self, tag, name):
        """Leave of a tag's attributes what both editions need, and give it its page's ids."""
        tag.attrs = {key: value for key, value in tag.attrs.items() if key in KEPT}
        if "id" in tag.attrs:
            tag["id"] = f"{name}--{tag['id']}".removesuffix("--")
        href = tag.get("href", "")
        if href and ":" not in href:
            place, _, part = href.partition("#")
            target = posixpath.basename(place).removesuffix(".html") or name
            tag["href"] = f"#{target}--{part}".removesuffix("--")
            tag["data-site"] = href if place else f"{name}.html{href}"

    def drawing(self, picture):
        """Return a picture as SVG that stands in the page, where the book's typefaces reach it."""
        source = picture["src"]
        if source.startswith("data:"):
            svg = unquote(source.partition(",")[2])
        else:
            svg = (self.site / "book" / source).read_text(encoding="utf-8")
        svg = re.sub(DARK, "", svg[svg.index("<svg") :], flags=re.S)
        svg = re.sub(r'(?<= id=")|(?<=url\(#)|(?<=href="#)', f"p{next(self.numbers)}-", svg)
        svg = re.sub(r'font-family="[^"]*"', 'font-family="Book Sans"', svg)
        svg = svg.replace("base64, ", "base64,").strip()
        opening, rest = svg.removeprefix("<svg").split(">", 1)
        label = html.escape(picture["alt"])
        ground = "" if self.paper else PAPER
        return f'<svg role="img" aria-label="{label}"{opening}>{ground}{rest}'

    def link(self, content):
        """Let links lead where things stand now, or to the website; others become plain text."""
        for tag in content.select("a[href^='#']"):
            name, site = tag["href"].removeprefix("#"), tag.attrs.pop("data-site", None)
            name = name if name in self.places else name.partition("--")[0]
            file = self.places.get(name)
            if file:
                inside = f"{file}.xhtml" if name == file else f"{file}.xhtml#{name}"
                tag["href"] = f"#{name}" if self.paper else inside
            elif self.address:
                tag["href"] = f"{self.address}/book/{site}"
            else:
                tag.unwrap()

    def front(self):
        """Return the content of the title page, which says where the figures move."""
        site = f' at <a href="{self.address}">{self.address}</a>' if self.address else ""
        return (
            f'<section class="front"><h1>{TITLE}</h1>\n<p class="subtitle">{PART}</p>\n'
            "<p>With <em>Attention in twenty minutes</em> before it, glossary and bibliography "
            "after it.</p>\n<p>The figures stand still here. On the book's website"
            f"{site} they move, and there you can do what a task asks you to press, to drag or to "
            "run.</p>\n<p>Hints, solutions and some code stand after the last chapter: "
            "→ leads there, ↩ back. What answers a prediction follows it at once, so guess before "
            "you read on.</p>\n"
            f"<p>Version {version('attention-lib')}. "
            f"© {self.config['copyright']} {self.config['author']}. "
            "Text and figures: CC BY 4.0; code: MIT License.</p></section>"
        )

    def contents(self):
        """Return the table of contents: pages, and the sections of chapters."""
        lines = []
        for page in self.pages:
            detailed = page.name in self.chapters and not self.paper
            sections = page.content.select("h2") if detailed else []
            below = "".join(f"<li>{self.to(tag.parent, tag)}</li>" for tag in sections)
            lines.append(f"<li>{self.to(page.content, page.content.h1)}")
            lines.append(f"<ol>{below}</ol></li>" if below else "</li>")
        return "<h1>Contents</h1>\n<ol class='contents'>{}</ol>".format("\n".join(lines))

    def to(self, place, heading):
        """Return a link to a place as HTML."""
        link = anchor("", place["id"], heading.get_text().strip())
        del link["id"]
        holder = element("div")
        holder.append(link)
        self.link(holder)
        return str(link)


def with_formulas_left_alone(content):
    """Return a page's elements without those of formulas."""
    formulas = [content(class_="katex"), content("math")]
    inside = {
        id(tag) for found in formulas for formula in found for tag in [formula, *formula(True)]
    }
    return [content, *(tag for tag in content(True) if id(tag) not in inside)]


def simplify(code):
    """Leave of the marks of a highlighter those of comments and keywords."""
    for token in code("span"):
        if not {"c1", "k", "kn"} & {*token.get("class", [])}:
            token.unwrap()


def with_ids(content):
    return [content, *content.find_all(id=True)]


def element(name, text="", classes=""):
    """Return an element that holds a text."""
    tag = BeautifulSoup("", "html.parser").new_tag(name, string=text or None)
    if classes:
        tag["class"] = classes.split()
    return tag


def anchor(name, target, text):
    """Return a link, with an id to be found by."""
    tag = element("a", text)
    tag["id"], tag["href"] = name, f"#{target}"
    return tag


def leave_room(content):
    """Put room to write in place of what says that nothing is written yet."""
    for tag in content.select(".attention-code, .attention-exercise"):
        if not tag.select_one(".attention-asked"):
            lines = "room lines" if "attention-code" in tag["class"] else "room"
            tag.replace_with(element("div", "", lines))


def set_formula(formula, paper):
    """Leave one of a formula's two forms: KaTeX's own on paper, else MathML."""
    if paper:
        formula.select_one(".katex-mathml").decompose()
        return
    mathml = formula.math
    mathml["alttext"] = mathml.annotation.extract().get_text().strip()
    mathml.semantics.unwrap()
    if table := mathml.find("mtable", width=True):  # KaTeX's way to set a number to the right
        _, shown, _, number = table.mtr.find_all("mtd", recursive=False)
        formula.find_parent("div").insert(0, element("span", number.get_text(), "number"))
        shown.name = "mrow"
        table.replace_with(shown)
    for negative in mathml.find_all("mtext", string=re.compile("\u2063")):
        negative.decompose()
    for application in mathml.find_all("mo", string="\u2061"):  # some readers draw it as a box
        space = element("mspace")
        space["width"] = "0" if application.find_next(string=True) == "(" else "0.17em"
        application.replace_with(space)
    for minus in mathml.find_all("mo", string="−"):  # of a number, not between two
        if (before := minus.find_previous_sibling()) and before.name == "mo":
            minus["form"] = "prefix"
    formula.replace_with(mathml)


def unfold(page):
    """Move what is folded on a page to another, which is returned."""
    content = element("article")
    content["id"] = f"{page.name}-folded"
    content.append(element("h1", f"{page.title}: hints, solutions, code"))
    for number, details in enumerate(page.content.select("details")):
        summary = details.summary.extract().get_text().strip()
        kind = "Code" if "hide" in details.get("class", []) else summary
        heading = details.find_previous(["h1", "h2", "h3"]).get_text()
        if question := details.find_parent(class_="attention-quiz") and details.find_parent("li"):
            heading = f"{heading}, question {len(question.find_previous_siblings('li')) + 1}"
        here, there = f"{page.name}--fold-{number}", f"{page.name}--folded-{number}"
        place, above = element("p", "", "fold"), element("h2", f"{heading}: {kind} ")
        place.append(anchor(here, there, f"→ {kind}"))
        above.append(anchor(there, here, "↩"))
        details.replace_with(place)
        details.name, details.attrs = "section", {}
        details.insert(0, above)
        content.append(details)
    return Page(content["id"], content.h1.get_text(), content)


def faces(site):
    """Return the files of the typefaces."""
    return sorted(path for kind in FONTS for path in (site / "_static").glob(kind))


def write_epub(path, site=SITE):
    """Write the EPUB: pages, table of contents, style and typefaces in one archive."""
    edition = Edition(site=site)
    nav = f'<nav epub:type="toc">{edition.contents()}</nav>'
    bodies = {"front": (TITLE, edition.front()), "contents": ("Contents", nav)}
    bodies |= {page.name: (page.title, str(page.content)) for page in edition.pages}
    manifest, files = ['<item id="style" href="ebook.css" media-type="text/css"/>'], {}
    for name, (title, body) in bodies.items():
        files[f"{name}.xhtml"] = XHTML.format(title=html.escape(title), body=body)
        signs = {"mathml": "<math", "svg": "<svg", "nav": "<nav"}
        properties = " ".join(key for key, sign in signs.items() if sign in body)
        says = f' properties="{properties}"' if properties else ""
        manifest.append(
            f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"{says}/>'
        )
    files["ebook.css"] = STYLE.read_text(encoding="utf-8")
    for font in faces(site):
        files[font.name] = font.read_bytes()
        manifest.append(f'<item id="{font.stem}" href="{font.name}" media-type="font/woff2"/>')
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    package = PACKAGE.format(
        identifier=uuid.uuid5(uuid.NAMESPACE_URL, f"{TITLE}, {PART}"),
        title=f"{TITLE}, {PART}",
        author=edition.config["author"],
        date=citation.get("date-released", f"{edition.config['copyright']}-01-01"),
        manifest="\n".join(manifest),
        spine="\n".join(f'<itemref idref="{name}"/>' for name in bodies),
    )
    files = {"META-INF/container.xml": CONTAINER, "book.opf": package} | files
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        day = (1980, 1, 1, 0, 0, 0)  # the same in each archive
        archive.writestr(zipfile.ZipInfo("mimetype", day), "application/epub+zip")
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, day)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)


def write_pdf(path, site=SITE):
    """Let Chromium print all pages as one."""
    edition = Edition(paper=True, site=site)
    static = (site / "_static").as_uri()
    style = (STYLE.read_text(encoding="utf-8") + PRINT.read_text(encoding="utf-8")).replace(
        "url(source", f"url({static}/typeface/source"
    )
    body = "\n".join(
        [edition.front(), edition.contents(), *(str(p.content) for p in edition.pages)]
    )
    sheet = path.with_suffix(".html")
    mathematics = f'<link rel="stylesheet" href="{static}/mathematics/katex.css">'
    sheet.write_text(
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{TITLE}, {PART}</title>'
        f"{mathematics}<style>{style}</style>{body}",
        encoding="utf-8",
    )
    with browser.chromium() as chromium:
        page = chromium.new_page()
        page.goto(sheet.as_uri())
        page.evaluate("document.fonts.ready")
        page.pdf(path=path, outline=True, tagged=True, prefer_css_page_size=True)
    sheet.unlink()


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    write_epub(TARGET / f"{NAME}.epub")
    print(f"Part I is in _build/ebook/{NAME}.epub.")
    if browser.path_of_chromium():
        write_pdf(TARGET / f"{NAME}.pdf")
        print(f"To print: _build/ebook/{NAME}.pdf.")
    else:
        print(f"There is no PDF: it is printed by a Chromium. {browser.MISSING}")


if __name__ == "__main__":
    main()
