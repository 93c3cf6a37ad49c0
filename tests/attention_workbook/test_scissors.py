"""The figure Scissors: its cuts are PyTorch's, what it claims holds, and hands can cut and mend."""

import re

import pytest
import torch

from attention_workbook.figures.scissors import CHOICES, SENTENCE, Scissors
from attention_workbook.reader import load_reader, read

CUTS = Scissors.script().parent / "_sentence" / "cuts.js"
NAMES = ["openReader", "openSentence", "readCut", "nameOfLine", "parseCuts", "decides"]
OPEN = (
    "(state, ...rest) => { state.packed = new Uint8Array(state.packed); const sentence ="
    " openSentence(state.text, openReader(state), state.longest); return "
)
TIRED_READS_STREET = "1:12-7"


def plain(figure):
    """The figure's state as JSON can hold it."""
    return figure.state() | {"packed": list(figure.packed)}


@torch.no_grad()
def read_with_cuts(text, cuts):
    """In PyTorch: how probable each word is the one meant, and the mean weights of both layers."""
    reader = load_reader()
    words = reader.vocabulary.parse(text)
    x = start = reader.positions(reader.embedding(torch.tensor([reader.vocabulary.encode(words)])))
    means = []
    for number, (attention, add_norm) in enumerate(
        zip(reader.attentions, reader.add_norms, strict=True)
    ):
        mask = torch.ones(len(words), len(words), dtype=torch.bool)
        for layer, query, key in cuts:
            if layer == number:
                mask[query, key] = False
        gathered, weights = attention(x, x, x, mask=mask)
        x = add_norm(x, gathered)
        means.append(weights[0].mean(0))
    it = words.index("it")
    scores = reader.W_q(x)[0, it] @ reader.W_k(start)[0].T / reader.embedding.embedding_dim**0.5
    return scores.softmax(-1), means


def lines(text):
    """All lines that can reach the answer, in the order of the figure."""
    length, it = len(text.split()) + 1, text.split().index("it") + 1
    first = [(0, query, key) for query in range(length) for key in range(length)]
    return [*first, *((1, it, key) for key in range(length))]


def test_single_cuts_agree_with_pytorch(node):
    hold_cuts(node, slice(None, None, 9))


def hold_cuts(node, which):
    """Hold the shares after some of the single cuts against PyTorch."""
    program = OPEN + "sentence.lines.map((line) => readCut(sentence, [line]).shares); }"
    ((cut,),) = (node(CUTS, program, [[plain(Scissors())]], NAMES),)
    assert len(cut) == len(lines(SENTENCE)) == 182
    for line, shares in zip(lines(SENTENCE)[which], cut[which], strict=True):
        expected, _ = read_with_cuts(SENTENCE, [line])
        assert torch.tensor(shares).sub(expected).abs().max() < 1e-5, line


@pytest.mark.parametrize(
    "cuts",
    [
        "1:12-7 1:12-12 2:9-12 2:9-7",
        " ".join(f"1:3-{key}" for key in range(13)),  # a word that reads nothing
        " ".join(f"2:9-{key}" for key in range(13)),
    ],
)
def test_many_cuts_agree_with_pytorch(node, cuts):
    program = OPEN + "readCut(sentence, parseCuts(state.cuts, sentence.lines)); }"
    (cut,) = node(CUTS, program, [[plain(Scissors(cuts=cuts))]], NAMES)
    pairs = [[int(part) for part in line.replace(":", "-").split("-")] for line in cuts.split()]
    severed = [(layer - 1, query, key) for layer, query, key in pairs]
    shares, means = read_with_cuts(SENTENCE, severed)
    assert torch.tensor(cut["shares"]).sub(shares).abs().max() < 1e-5
    weights = [means[layer][query, key] for layer, query, key in lines(SENTENCE)]
    assert torch.tensor(cut["weights"]).sub(torch.stack(weights)).abs().max() < 1e-5


# By last word, the lines that decide alone. The page and the figure say so.
DECISIVE = {
    "tired": ["1:12-7"],
    "hungry": ["1:12-7"],
    "wide": ["1:9-7", "1:12-2", "2:9-12"],
    "steep": ["2:9-12"],
}


def test_the_lines_that_decide_alone_are_those_that_the_text_names(node):
    program = OPEN + "sentence.lines.filter((line) => decides(line, sentence)).map(nameOfLine); }"
    figures = [Scissors(text=SENTENCE.replace("tired", word)) for word in DECISIVE]
    decisive = node(CUTS, program, [[plain(figure)] for figure in figures], NAMES)
    assert dict(zip(DECISIVE, decisive, strict=True)) == DECISIVE


FINDING = CUTS.with_name("finding.js")


def test_hints_go_from_the_layer_to_the_line_and_there_are_none_without_one(node):
    words = SENTENCE.replace("tired", "wide").split()
    sentence = {"words": ["(nothing)", *words], "whole": {"meant": 7}, "rivals": [2, 7]}
    lines = [[[0, 12, 7]], [[1, 9, 12]], [[0, 9, 7], [0, 12, 2], [1, 9, 12]], []]
    assert node(
        FINDING,
        "(...given) => hintsOf(...given).map(({ text }) => text)",
        [[sentence, decisive] for decisive in lines],
        ["hintsOf"],
    ) == [
        [
            "Look at layer 1: the line that decides is there.",
            "Look at what “wide” reads in layer 1.",
            "Cut only “wide” → “street” in layer 1.",
        ],
        [
            "Look at layer 2: the line that decides is there.",
            "Cut only “it” → “wide” in layer 2.",
        ],
        [
            "Look at layer 1: one of the 3 lines that decide is there.",
            "Look at what “it” reads in layer 1.",
            "Cut only “it” → “street” in layer 1.",
        ],
        [],
    ]
    assert node(FINDING, "taskOf", [[sentence, [], False]]) == [
        "No single line decides here: how many cuts make “it” mean the animal?"
    ]


def test_the_finding_names_the_cut_that_decides_among_several(node):
    street, animal, obvious = [0, 12, 7], [0, 12, 2], [1, 9, 12]
    program = (
        "(made, words, meant, decisive) => {"
        " const sentence = { words, lines: made, whole: { meant: 2 } };"
        " const alone = decisive.map((i) => made[i]);"
        " return findingOf(sentence, made, { meant, shares: words.map(() => 0.9) }, alone); }"
    )
    words = ["(nothing)", *SENTENCE.split()]
    for made, meant, decisive, said in (
        ([street, obvious], 7, [0], " Of these, “tired” → “street” in layer 1 decides alone."),
        ([street, animal], 2, [0], " Cut alone, “tired” → “street” in layer 1 turns the answer."),
        ([animal, obvious], 7, [], " None of these cuts decides alone."),
        ([animal, obvious], 2, [], ""),
    ):
        (finding,) = node(FINDING, program, [[made, words, meant, decisive]], ["findingOf"])
        still, noun = ("still ", "animal") if meant == 2 else ("", "street")
        after = "Done: after" if meant == 7 and not decisive else "After"  # no line does it alone
        expected = f"{after} 2 cuts, “it” {still}means the {noun} (probability 0.90).{said}"
        assert finding == expected


@pytest.mark.parametrize("width", [860, 652])
def test_a_label_covers_nothing_of_its_line(node, width):
    program = (
        "(words, width, lines) => { const layout = layoutOf(width, words);"
        " return pathsOf(layout, lines, lines.map(() => 1 / 13)).map((path) => {"
        "  const [[, box]] = tagMarks(['“animal” no longer reads “because”'], path, layout);"
        "  const within = ([x, y]) => x > box.x && x < box.x + box.width"
        "   && y > box.y && y < box.y + box.height;"
        "  return [...Array(41)].filter((_, i) => within(pointOf(path.points, i / 40))).length;"
        " }); }"
    )
    data = [[["(nothing)", *SENTENCE.split()], width, lines(SENTENCE)]]
    names = ["layoutOf", "pathsOf", "tagMarks", "pointOf"]
    (covered,) = node(CUTS.with_name("lines.js"), program, data, names)
    assert len(covered) == 182 and sum(covered) == 0


def test_the_obvious_line_does_not_decide():
    animal = SENTENCE.split().index("animal") + 1
    shares, _ = read_with_cuts(SENTENCE, [(1, 9, 12)])
    assert 0.96 < shares[animal] < 0.98


def test_the_lamp_hangs_between_animal_and_street_whatever_the_word(node):
    program = OPEN + "sentence.rivals; }"
    figures = [Scissors(text=SENTENCE.replace("tired", word)) for word in CHOICES]
    for figure, rivals in zip(
        figures, node(CUTS, program, [[plain(one)] for one in figures], NAMES), strict=True
    ):
        assert rivals == [2, 7], figure.text


def place_of(page, line, share=0.06):
    """A point of a line on the screen."""
    return page.evaluate(
        """([number, share]) => {
          const path = document.querySelectorAll('.attention-scissors-lines > path')[number];
          const point = path.getPointAtLength(path.getTotalLength() * share);
          const place = point.matrixTransform(path.getScreenCTM());
          return [place.x, place.y];
        }""",
        [lines(SENTENCE).index(line), share],
    )


def tag(page):
    """The lines of text of the label in the picture."""
    return page.locator(".attention-scissors-tag > text").all_text_contents()


def finding_of(page):
    return page.locator(".attention-finding").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("width", [860, 390])
def test_one_row_of_controls_is_in_sight_and_no_word_of_it_is_cut(show, width):
    page = show(Scissors(), width=width)
    row = page.locator(".attention-layout button").filter(visible=True)
    assert row.all_inner_texts() == ["tired", "wide", "Undo"]
    view = page.locator(".attention-view").bounding_box()
    boxes = [button.bounding_box() for button in row.all()]
    assert max(box["x"] + box["width"] for box in boxes) < view["x"] + view["width"]
    assert max(box["y"] for box in boxes) - min(box["y"] for box in boxes) < 8


@pytest.mark.browser
@pytest.mark.parametrize("width", [860, 390])
def test_a_click_cuts_a_line_and_another_mends_it(show, width):
    page = show(Scissors(), width=width)
    place = place_of(page, (1, 9, 12))
    page.mouse.click(*place)
    page.settle()
    assert page.get("cuts") == "2:9-12"
    assert finding_of(page) == (
        "Without “it” → “tired” in layer 2, “it” still means the animal (probability 0.97)."
    )
    page.mouse.click(*place)
    page.settle()
    assert page.get("cuts") == "" and page.figure().read("cuts") == 0
    assert page.errors == []


@pytest.mark.browser
def test_the_keyboard_finds_the_line_that_decides(show):
    page = show(Scissors(), more=True)
    page.get_by_label("The word that reads").select_option("tired in layer 1")
    page.settle()
    page.get_by_label("The word that it reads").select_option("street 0.29")
    page.settle()
    assert tag(page) == ["“tired” reads “street”, 0.29"]
    page.get_by_role("button", name="Cut", exact=True).press("Enter")
    page.get_by_text("None of the other 181 lines does that alone.").first.wait_for()
    assert page.get("cuts") == TIRED_READS_STREET
    assert finding_of(page).startswith("Done: without “tired” → “street” in layer 1")
    assert page.figure().read("meant") == 7
    assert page.locator("[data-found]").count() == 1
    page.get_by_role("button", name="Mend", exact=True).press("Enter")
    page.settle()
    assert page.get("cuts") == "" and page.figure().read("meant") == 2


def swipe(page, line, half=25):
    """Draw a stroke across a line, and across those beside it."""
    x, y = place_of(page, line)
    page.mouse.move(x - half, y)
    page.mouse.down()
    for share in (-0.4, 0, 0.4, 1):
        page.mouse.move(x + share * half, y)
    page.mouse.up()
    page.settle()


@pytest.mark.browser
def test_a_swipe_cuts_the_lines_that_it_crosses_and_undo_takes_it_back_at_once(show):
    page = show(Scissors(cuts="1:0-0"))
    swipe(page, (0, 7, 7), half=60)
    swiped = page.get("cuts")
    assert swiped.startswith("1:0-0 ") and len(swiped.split()) > 3
    swipe(page, (1, 9, 12))
    assert page.get("cuts") == f"{swiped} 2:9-12"
    undo = page.get_by_role("button", name="Undo")
    for before in (swiped, "1:0-0", ""):
        undo.click()
        page.settle()
        assert page.get("cuts") == before
    assert undo.get_attribute("aria-disabled") == "true"


@pytest.mark.browser
def test_a_finger_first_names_a_line_and_then_cuts_it(show):
    page = show(Scissors(), width=390, has_touch=True, is_mobile=True)
    assert "; a tap on a word" in page.locator(".attention-task").inner_text()
    x, y = place_of(page, (1, 9, 12))
    page.touchscreen.tap(x, y)
    page.settle()
    first, second = tag(page)
    assert re.fullmatch(r"“it” reads “tired”, 0\.\d\d", first) and second == "Tap again to cut"
    assert page.get("cuts") == ""
    page.touchscreen.tap(x + 4, y + 4)
    page.settle()
    assert page.get("cuts") == "2:9-12"
    assert tag(page) == []  # nothing covers what has changed
    page.touchscreen.tap(x, y)
    page.settle()
    assert tag(page) == ["“it” no longer reads “tired”", "Tap again to mend"]
    box = page.locator(".attention-scissors-tag > rect").bounding_box()
    page.touchscreen.tap(box["x"] + 8, box["y"] + box["height"] / 2)
    page.settle()
    assert page.get("cuts") == ""


@pytest.mark.browser
def test_the_finding_names_the_line_that_grew_and_leaves_the_second_cut_to_the_reader(show):
    page = show(Scissors(cuts=TIRED_READS_STREET))
    page.get_by_text(re.compile("lines? do(es)? that alone")).first.wait_for()
    assert finding_of(page).endswith("“tired” now reads “animal” more, 0.26 instead of 0.13.")
    page.set({"cuts": f"{TIRED_READS_STREET} 1:12-2"})
    assert page.figure().read("meant") == 2
    page.locator("summary").click()
    page.get_by_role("button", name="steep").click()
    page.set({"cuts": "2:9-12"})
    page.get_by_text(re.compile("lines? do(es)? that alone")).first.wait_for()
    assert finding_of(page).endswith("“it” now reads itself more, 0.20 instead of 0.01.")


def word_of(page, row, word):
    """The middle of a word on the screen, in the row of words before or after layer 1."""
    words = page.locator(".attention-scissors-names > text", has_text=re.compile(f"^{word}$"))
    box = words.nth(row).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.browser
@pytest.mark.parametrize("width", [860, 390])
def test_a_word_shows_what_it_reads_and_its_lines_are_grabbed_first(show, width):
    page = show(Scissors(), width=width)
    page.mouse.click(*word_of(page, 1, "tired"))
    page.settle()
    assert page.get("cuts") == ""
    marked = page.locator(".attention-scissors-lines > [data-look]")
    assert marked.count() == 13
    assert page.get_by_label("The word that reads").input_value() == "12"
    x, y = place_of(page, (0, 12, 7), 0.5)
    page.mouse.move(x, y)
    page.settle()
    assert tag(page)[0].startswith("“tired” reads ")
    page.mouse.move(2, 2)
    page.mouse.click(*word_of(page, 0, "tired"))
    page.settle()
    assert marked.count() == 0 and page.get("cuts") == ""


def swipe_down(page, x, y, far=63):
    touch = page.context.new_cdp_session(page.page)
    for kind, down in [("touchStart", 0), *(("touchMove", far * i / 7) for i in range(1, 8))]:
        place = {"x": x, "y": y + down}
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [place]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(200)


@pytest.mark.browser
def test_on_a_phone_a_swipe_along_the_screen_cuts_lines_and_beside_them_scrolls(show):
    room = {"test.css": "body { margin: 0; } main { padding-block: 600px 1500px; }"}
    page = show(Scissors(), width=390, has_touch=True, is_mobile=True, files=room)
    page.evaluate("scrollTo(0, 560)")
    x, y = place_of(page, (1, 9, 12), 0.5)
    swipe_down(page, x, y - 30)
    assert "2:9-12" in page.get("cuts").split() and page.evaluate("scrollY") == 560
    before = page.get("cuts")
    swipe_down(page, *word_of(page, 0, "animal"))
    assert page.get("cuts") == before and page.evaluate("scrollY") < 560


@pytest.mark.browser
def test_on_a_phone_the_lists_follow_the_finger_and_stay_where_they_are(show):
    page = show(Scissors(), width=390, has_touch=True, is_mobile=True)
    page.locator("summary").tap()
    lists = page.get_by_role("group", name="A line")
    top = "getBoundingClientRect().top"
    within = f"(node) => node.{top} - node.closest('figure').{top}"
    place = lists.evaluate(within)
    page.get_by_label("The word that reads").select_option("did in layer 1")
    page.touchscreen.tap(*place_of(page, (1, 9, 12)))
    page.settle()
    assert [chosen.input_value() for chosen in lists.get_by_role("combobox").all()] == ["-1", "12"]
    page.get_by_role("button", name="Cut", exact=True).tap()
    page.settle()
    assert page.get("cuts") == "2:9-12"
    page.set({"cuts": "2:9-12 1:3-3"})
    page.get_by_text("Would a hint help?").first.wait_for()
    assert lists.evaluate(within) == place


@pytest.mark.browser
def test_a_hint_is_not_hidden_by_what_a_finger_has_lifted(show):
    page = show(Scissors(cuts="1:0-0"), width=390, has_touch=True, is_mobile=True)
    page.set({"cuts": "1:0-0 1:3-3"})
    hint = page.get_by_role("button", name="Hint")
    hint.wait_for()
    page.touchscreen.tap(*place_of(page, (1, 9, 12)))
    page.settle()
    assert len(tag(page)) == 2
    hint.tap()
    page.settle()
    assert tag(page) == []
    assert page.locator(".attention-scissors-lines > [data-look]").count() == 169


@pytest.mark.browser
def test_hints_lead_to_the_line_that_decides(show):
    page = show(Scissors())
    hint = page.locator(".attention-layout .attention-scissors-bar > button").last
    assert not hint.is_visible()
    for line in ("2:9-12", "2:9-12 1:3-3"):
        page.set({"cuts": line})
    hint.wait_for()
    assert finding_of(page).endswith(" Would a hint help?")
    for name, text, marked in (
        ("Hint", "Look at layer 1: the line that decides is there.", 169),
        ("Next hint", "Look at what “tired” reads in layer 1.", 13),
        ("Show it", "Cut only “tired” → “street” in layer 1.", 1),
    ):
        assert hint.inner_text() == name
        made = page.get("cuts")
        hint.press("Enter")
        page.settle()
        assert finding_of(page) == (f"Your 2 cuts are mended. {text}" if made else text)
        assert page.get("cuts") == ""
        assert page.locator(".attention-scissors-lines > [data-look]").count() == marked
    page.get_by_text("Cut only", exact=False).nth(1).wait_for(state="attached")  # is read out
    assert hint.inner_text() == "Cut it"
    hint.press("Enter")
    page.settle()
    assert page.get("cuts") == TIRED_READS_STREET and not hint.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Undo"
    assert "None of the other 181 lines does that alone." in finding_of(page)


@pytest.mark.browser
def test_all_of_the_figure_fits_into_a_low_window(show):
    page = show(Scissors(), width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.settle()
    assert page.locator(".attention-view").bounding_box()["height"] <= 720
    page.set_viewport_size({"width": 1280, "height": 900})
    page.settle()
    assert page.locator(".attention-frame > svg").bounding_box()["height"] == 420


@pytest.mark.browser
def test_the_address_holds_the_cuts(show):
    page = show(Scissors(), address=f"#Scissors.cuts={TIRED_READS_STREET}")
    assert page.figure().read("meant") == 7
    page = show(Scissors(), address="#Scissors.cuts=1:77-7 nonsense")
    assert page.figure().read("cuts") == 0 and page.errors == []


@pytest.mark.browser
def test_a_sentence_of_ones_own_fetches_the_words(show):
    page = show(Scissors(), more=True)
    field = page.get_by_label("A sentence of your own", exact=False)
    field.fill("The fox chased the goat because it was weak.")
    field.press("Enter")
    page.settle()
    text = "the fox chased the goat because it was weak"
    assert page.figure().read("meant") == read(load_reader(), text).meant
    field.fill("The fox chased the gaot because it was weak.")
    field.press("Enter")
    page.settle()
    assert "“gaot”" in page.locator(".attention-refusal:visible").inner_text()


@pytest.mark.browser
def test_the_lamp_moves_last_and_the_words_follow_it(show):
    page = show(Scissors())  # without its opening
    page.emulate_media(reduced_motion="no-preference")
    said = page.evaluate(
        """async (cuts) => {
          attentionWidgets.model(document.querySelector('figure')).set('cuts', cuts);
          const seen = [];
          const end = performance.now() + 6000;
          while (performance.now() < end && !seen.at(-1)?.[1].startsWith('Done')) {
            await new Promise(requestAnimationFrame);
            seen.push([
              Number(document.querySelector('.attention-lamp-bulb').getAttribute('cx')),
              document.querySelector('.attention-finding').textContent,
            ]);
          }
          return seen;
        }""",
        TIRED_READS_STREET,
    )
    first, last = said[0][0], said[-1][0]
    assert last - first > 200
    assert said[-1][1].startswith("Done: without")
    assert {sentence for place, sentence in said if first < place < last - 1} == {""}
