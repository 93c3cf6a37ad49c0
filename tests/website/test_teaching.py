"""The teachers' page: what it quotes, labels, minutes, exercises and numbers, is in the book."""

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from website import ROOT, book, copies, notebooks
from website.minutes import LEVEL

TEXT = (ROOT / "book" / "teaching.md").read_text(encoding="utf-8")
LETTERS = re.compile(r"head (?=\d)")  # tiles are named by a head's number
LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+)\.(?:ipynb|md)(?:#[\w-]+)?\)")
TASK = re.compile(r"Exercise (\d)(?: of (?:chapter (\d+)|the same chapter))?(?: \((\d+)\b)?")
CHAPTERS = dict(enumerate(book.parts()[1][1], 1))  # of Part I, by number
# Where what stands on screens is written.
SHOWN = [
    *(ROOT / "attention_workbook" / "figures").rglob("*.js"),
    *(ROOT / "website" / "theme").glob("*.html"),
    *(ROOT / "page_python").glob("*.js"),
    *(ROOT / "page_python" / "micropython").rglob("*.py"),
]


def is_chapter(name):
    return (ROOT / f"{name}.ipynb").is_file()


def prose(page):
    if not is_chapter(f"book/{page}"):
        return (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")
    cells = json.loads((ROOT / "book" / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def tasks(page):
    """The minutes of a chapter's exercises, by number."""
    found = {}
    for part in re.split(r"^### ", prose(page), flags=re.MULTILINE)[1:]:
        if number := re.match(r"Exercise (\d)", part):
            found[int(number[1])] = int(LEVEL.search(part)[1])
    return found


def sections():
    """Each part of the page below a heading of its own, with the chapter that the heading names."""
    for part in re.split(r"^#{1,3} ", TEXT, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        link = LINK.search(heading)
        yield heading, link and link[2], text


def test_links_name_pages_by_their_titles_and_numbers():
    for heading, page, text in sections():
        for name, target in LINK.findall(f"{heading}\n{text}"):
            if name[0].isupper() and name != "On paper":
                assert prose(target).startswith(f"# {name}"), f"{target} is not called {name}"
        if number := re.match(r"Chapter (\d+)", heading):
            assert CHAPTERS[int(number[1])] == f"book/{page}"
    for number, page in re.findall(r"(\d+) · \[[^\]]+\]\(([\w-]+)\.ipynb\)", TEXT):
        assert CHAPTERS[int(number)] == f"book/{page}"


def test_exercises_exist_and_take_the_minutes_that_are_quoted():
    quoted = 0
    for _, chapter, text in sections():
        page = chapter
        for line in text.splitlines():
            linked = LINK.findall(line) if line.startswith("|") else []
            page = chapter or (linked[0][1] if linked else page)
            for number, other, minutes in TASK.findall(line):
                own = CHAPTERS[int(other)].removeprefix("book/") if other else page
                if own is None:
                    continue  # "Exercise 1", said of any chapter
                exercises = tasks(own)
                assert int(number) in exercises, f"{own} has no Exercise {number}: {line}"
                assert minutes in ("", str(exercises[int(number)])), f"{own}: {line}"
                quoted += bool(minutes)
    assert quoted > 12


def test_the_points_of_a_chapter_are_those_of_its_exercises():
    [(number, points)] = re.findall(r"chapter (\d) comes to (\d+)", TEXT)
    graded = copies.exercises(notebooks.read(ROOT / f"{CHAPTERS[int(number)]}.ipynb"))
    assert sum(one.points for one in graded) == int(points)


def test_what_is_quoted_stands_in_the_chapter_or_on_a_control():
    shown = "\n".join(path.read_text(encoding="utf-8") for path in SHOWN)
    labels = re.findall(r"\*\*([^*]+):\*\*", TEXT)  # of the page's own entries
    every = "\n".join(prose(Path(name).name) for name in book.contents() if name != "book/teaching")
    for heading, page, text in sections():
        where = shown + (prose(page) if page and is_chapter(f"book/{page}") else every)
        for label in re.findall(r'"([^"]+)"', text):
            written = {label, label.replace("*it*", "“it”"), *LETTERS.findall(label)}
            assert label in labels or any(one in where for one in written), f"{heading}: {label!r}"


# What the page says of figures: an address, a readout's name, its value, and the page's words.
SENTENCE = quote("The animal did not cross the street because it was too ")
NUMBERS = [
    ("masking.html#MaskLab.fill=0", "spilled", 0.284, "28.4 %"),
    ("masking.html#MaskLab.fill=-1", "spilled", 0.128, "with −1 still 12.8 %"),
    ("masking.html#MaskLab.fill=-1e6", "spilled", 0, "−10⁶ and −∞ let nothing through"),
    ("masking.html#MaskLab.fill=-inf", "spilled", 0, "−10⁶ and −∞ let nothing through"),
    ("masking.html#MaskLab.fill=-inf&MaskLab.causal=true&MaskLab.left=true", "nan_cells", 10, ""),
    ("masking.html#MaskLab.fill=-1e9&MaskLab.causal=true&MaskLab.left=true", "spilled", 0.4, ""),
    ("variance.html#SoftmaxSaturation.d=64", "max_weight", 0.931, "0.931"),
    ("variance.html#SoftmaxSaturation.d=128", "max_weight", 0.981, "0.981"),
    (
        f"index.html#SentenceReader.text={SENTENCE}wide",
        "probability",
        0.9992,
        "with probability 1.00",
    ),
    (
        f"index.html#SentenceReader.text={SENTENCE}dangerous",
        "probability",
        0.6434,
        "0.64 for the animal",
    ),
]


@pytest.mark.site
@pytest.mark.browser
def test_figures_show_the_numbers_that_are_quoted(visit):
    frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    with visit("404.html", reduced_motion="reduce") as seen:
        for address, readout, value, words in NUMBERS:
            assert words in TEXT
            seen.go(f"book/{address}")  # a page that is open takes the new settings
            output = seen.page.locator(f"[data-readout={readout}]").first
            output.wait_for(state="attached")
            seen.page.evaluate(frames)
            shown = float(output.get_attribute("data-value"))
            assert abs(shown - value) < 6e-4, f"{address}: {readout} is {shown}"
