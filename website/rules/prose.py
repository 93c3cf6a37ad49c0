"""Links, Markdown and the glossary."""

import re
from itertools import pairwise

from website.harmless import harms
from website.rules.reading import anchors, rule, under

# Sets a part of a figure, or points at it: #SoftLookup.temperature=2, #SoftLookup:weights.
FIGURE_LINK = re.compile(r"#([A-Z]\w+)(?:-\d+)?(?:\.\w+=|:\w)")


@rule
def links_resolve(notebook):
    anchors_here = {
        anchor for cell in notebook.prose for level, _, anchor in cell.headings if level <= 3
    }
    for cell in notebook.prose:
        for target in cell.links:
            if target.startswith("https://"):
                continue
            if figure := FIGURE_LINK.match(target):
                if figure[1] not in notebook.figures:
                    yield cell, f"link {target}: there is no figure {figure[1]} in this chapter"
                continue
            file, _, anchor = target.partition("#")
            path = notebook.folder / file
            if ":" in file or file.startswith("/"):
                yield cell, f"link {target}: use https, or a file of the book"
            elif file and (not path.is_file() or path.suffix not in (".ipynb", ".md")):
                yield cell, f"link {target}: there is no such page"
            elif anchor and anchor not in (anchors(path) if file else anchors_here):
                yield cell, f"link {target}: there is no heading or entry '{anchor}'"


# Markdown that only some programs understand, and what it is
NOT_PORTABLE = {
    r"^:::": "a ':::' block",
    r"^\([^)]+\)=\s*$": "a '(label)='",
    r"^%( |$)": "a '%' comment",
    r"^\+\+\+": "a '+++' break",
    r"^\\begin\{": "mathematics without $$",
    r"\{\{.*\}\}": "a '{{substitution}}'",
    r"\[\^[^\]]+\]": "a footnote",
    r"(?<!\\)\{[#.][\w-]+": "an '{#attribute}'",
}


@rule
def prose_reads_the_same_everywhere(notebook):
    """JupyterLab, Colab, GitHub and the website: CommonMark, tables, mathematics and <details>."""
    for cell in notebook.prose:
        constructs = []
        if cell.number == 1 and cell.source.startswith("---"):
            constructs.append("front matter")
        for token in cell.tokens:
            if token.type == "fence" and token.info.startswith("{"):
                constructs.append(f"the directive {token.info}")
            if token.type == "math_block_label":
                constructs.append("a label after $$: number it with \\tag")
            if token.type == "html_block":
                constructs += unknown_html(token.content)
            if token.type == "inline":
                constructs += not_portable(token)
        if cell.raw.get("attachments"):
            constructs.append("an attachment: draw it in a code cell")
        for summary in re.finditer(r"</summary>[^\n]*\n(?=[^\n])", cell.source):
            constructs.append(f"no blank line after {summary[0].strip()}")
        if cell.source.count("<details") != cell.source.count("</details>"):
            constructs.append("a <details> that the cell does not close")
        yield from (
            (cell, f"not every reader's program understands {construct}")
            for construct in constructs
        )


def not_portable(inline):
    """What in a run of text only some programs understand; code and mathematics are left out."""
    text = "".join(
        "\n" if t.type in ("softbreak", "hardbreak") else t.content if t.type == "text" else "\0"
        for t in inline.children
    )
    for pattern, construct in NOT_PORTABLE.items():
        if re.search(pattern, text, flags=re.MULTILINE):
            yield construct
    for before, token in pairwise(inline.children):
        role = re.search(r"\{[\w:.+-]+\}$", before.content)
        if role and token.type == "code_inline":
            yield f"the role {role[0]}"
    for token in inline.children:
        if token.type == "image":
            yield "a linked picture: draw it in a code cell"
        if token.type == "html_inline":
            yield from unknown_html(token.content)


def unknown_html(html):
    for name in re.findall(r"<\s*/?\s*([a-zA-Z][\w-]*)|<!--", html):
        if name not in ("details", "summary", "br"):
            yield f"<{name or '!--'}>"
    yield from harms(html)


UNFINISHED = re.compile(
    r"\b(TODO|FIXME|XXX|TBD|WIP)\b|(?i:\blorem\b|\bplaceholder\b|\bcoming soon\b)"
)


def unfinished(text):
    return [match[0] for match in UNFINISHED.finditer(text)]


@rule
def nothing_is_left_unfinished(notebook):
    for cell in notebook.cells:
        for word in unfinished("\n".join([cell.source, *cell.texts()])):
            yield cell, f"says {word!r}: finish it, or leave it out"
        if not cell.source.strip():
            yield cell, "is empty: delete it"


CHINESE = re.compile("[\u4e00-\u9fff]")


def uncited(bibliography, text):
    """Entries that ``text`` names neither by a link nor, as the library, by author and year."""
    keys = re.findall(r"^@\w+\{(\w+),", bibliography, flags=re.MULTILINE)
    for key in keys:
        author, year = re.match(r"([a-z]+)(\d{4})", key).groups()
        linked = re.search(rf"#{key}\b", text)  # looked for first: it is quick, and nearly all are
        if not linked and not re.search(rf"(?i)\b{author}\b[^()]*\({year}\)", text):
            yield key


def glossary_is_bilingual(page):
    """Each term is a ``##`` heading in English; 简体中文 and a link to its chapter stand below."""
    terms = under(2, page.parts)
    if not terms:
        return [f"{page.name}: has no terms, each with a '##' heading"]
    complaints = []
    for term, parts in terms.items():
        links = [link for part in parts for link in part.links]
        text = "".join(part.source for part in parts)
        required = {
            "a heading in English alone": re.match("[A-Za-z]", term) and not CHINESE.search(term),
            "the term in 简体中文": CHINESE.search(text),
            "a link to its chapter": any(".ipynb" in link for link in links),
        }
        complaints += [
            f"{page.name}: {term!r} lacks {requirement}"
            for requirement, is_there in required.items()
            if not is_there
        ]
    return complaints
