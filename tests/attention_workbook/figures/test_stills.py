"""The stills: one for each state that the book shows, each as the figure draws it now."""

import re
import xml.etree.ElementTree

import pytest

from attention_workbook.figures import MaskLab, SoftLookup, SoftmaxSaturation
from attention_workbook.figures.still_pictures import FOLDER, figure_html, path_of, still_of
from website import ROOT, stills
from website.pictures import same_drawing

WANTED = stills.states_to_draw(stills.pages())
STORE = "run .venv/bin/python tools/notebooks.py --stills"


def test_a_still_stands_for_each_state_that_the_book_shows_and_for_no_other():
    wanted = {path_of(*state).name for state in WANTED}
    assert {path.name for path in FOLDER.iterdir()} == wanted, STORE


@pytest.mark.browser
def test_stored_stills_are_what_is_drawn(chromium):
    folder = ROOT / "_build" / "stills"
    folder.mkdir(parents=True, exist_ok=True)
    differ = []
    for state, svg in zip(WANTED, stills.draw(WANTED, chromium), strict=True):
        stored = path_of(*state)
        if not stored.is_file() or not same_drawing(stored.read_text(encoding="utf-8"), svg):
            (folder / stored.name).write_text(svg, encoding="utf-8")
            differ.append(stored.name)
    assert not differ, f"look at {', '.join(differ)} in {folder}: if they are right, {STORE}"


def test_notebooks_hold_the_stored_stills():
    for path in stills.pages():
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb" and "attention-widget" in text:
            notebook = stills.read(path)
            for data in stills.bundles(notebook):
                markup = "".join(data["text/html"])
                assert stills.refreshed(markup) == markup, f"{path.name}: {STORE}"


@pytest.mark.parametrize("state", WANTED, ids=lambda state: path_of(*state).stem)
def test_a_still_needs_nothing_else_and_can_be_read(state):
    still = still_of(*state)
    assert still, STORE
    root = xml.etree.ElementTree.fromstring(still.svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert 500 < float(root.get("width")) <= 672 and 80 < float(root.get("height")) < 1200
    body = still.svg.partition("</style>")[2]
    assert not re.search(r'var\(|="[^"]*(NaN|undefined)| on\w+=|href="(?!data:image/png)', body)
    assert {*re.findall(r"url\(#(\w+)\)", body)} <= {*re.findall(r'id="(\w+)"', body)}
    assert not re.search(r"\d\.\d{5}", body), "no more digits than can be seen"
    assert len(re.findall(r"<(?:text|path|rect|circle|line)\b", body)) > 8
    assert still.title and still.words.endswith((".", "?"))
    assert re.search(r"\d|“[Ii]t”", still.words), "the words hold the numbers"


def test_a_state_that_the_book_does_not_show_says_so_in_one_sentence():
    unknown, shown = SoftLookup(temperature=3.0).to_html(), SoftLookup().to_html()
    assert "<img" not in unknown and "There is no still picture of this state" in unknown
    assert "<img" in shown and "There is no still" not in shown


@pytest.mark.browser
def test_drawing_is_the_state_s_and_a_failure_is_named(chromium):
    one, other = (stills.state_of(SoftmaxSaturation(d=d)) for d in (64, 128))
    assert len({*stills.draw([one, other, one], chromium)}) == 2
    with pytest.raises(RuntimeError, match=r"SoftmaxSaturation.*a score is not finite"):
        stills.draw([(one[0], one[1].replace('"temperature":1.0', '"temperature":0'))], chromium)


def test_without_its_ground_a_still_stands_on_the_page():
    whole, bare = (figure_html(*WANTED[0], ground=ground) for ground in (True, False))
    assert "ground" in whole and "ground" not in bare


def test_in_the_dark_scores_have_letters_that_can_be_read_on_the_dark_map():
    masks = still_of(*stills.state_of(MaskLab())).svg
    highest = re.search(r'<text [^>]*fill="#ffffff"[^>]* class="(dark\d+)">1.47<', masks)
    assert f".{highest[1]}{{fill:initial}}" in masks  # black
