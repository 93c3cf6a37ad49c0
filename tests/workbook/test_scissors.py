"""The figure Scissors: its cuts are PyTorch's, what it claims holds, and hands can cut and mend."""

import pytest
import torch
import traitlets

from workbook.figures.scissors import CHOICES, SENTENCE, Scissors
from workbook.reader import load_reader, read

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


@pytest.mark.parametrize("cuts", ["1:12", "3:1-1", "tired", 7])
def test_a_cut_that_is_no_line_is_refused(cuts):
    with pytest.raises(traitlets.TraitError, match="cuts must be lines such as '1:12-7 2:9-12'"):
        Scissors(cuts=cuts)


def test_a_sentence_with_other_words_brings_all_words():
    figure = Scissors(text="The puppy chased the kitten because it was hungry.")
    assert figure.wanted and " puppy" in figure.read_as
    assert len(figure.packed) > 2 * len(Scissors().packed)


# ---------------------------------------------------------------- in a browser


def place_of(page, line):
    """The middle of a line on the screen."""
    return page.evaluate(
        """(number) => {
          const path = document.querySelectorAll('.attention-scissors-lines > path')[number];
          const point = path.getPointAtLength(path.getTotalLength() * 0.06);
          const place = point.matrixTransform(path.getScreenCTM());
          return [place.x, place.y];
        }""",
        lines(SENTENCE).index(line),
    )


def cuts(page):
    return page.evaluate("attentionWidgets.model(document.querySelector('figure')).get('cuts')")


@pytest.mark.browser
@pytest.mark.parametrize("width", [860, 390])
def test_a_click_cuts_a_line_and_another_mends_it(show, width):
    page = show(Scissors(), width=width)
    place = place_of(page, (1, 9, 12))
    page.mouse.click(*place)
    page.settle()
    assert cuts(page) == "2:9-12"
    assert page.locator(".attention-finding").inner_text() == (
        "Without “it” → “tired” in layer 2, “it” still means the animal (probability 0.97)."
    )
    page.mouse.click(*place)
    page.settle()
    assert cuts(page) == "" and page.figure().read("cuts") == 0
    assert page.errors == []


@pytest.mark.browser
def test_the_keyboard_finds_the_line_that_decides(show):
    page = show(Scissors(), more=True)
    page.get_by_label("The lines of").select_option("“tired” in layer 1")
    page.settle()
    page.get_by_role("button", name="street 0.29").press("Enter")
    page.get_by_text("None of the other 181 lines decides alone.").first.wait_for()
    assert cuts(page) == TIRED_READS_STREET
    assert page.figure().read("meant") == 7
    assert page.locator("[data-found]").count() == 1
    page.get_by_role("button", name="Undo").press("Enter")
    page.settle()
    assert cuts(page) == "" and page.figure().read("meant") == 2


@pytest.mark.browser
def test_a_swipe_cuts_the_lines_that_it_crosses(show):
    page = show(Scissors())
    x, y = place_of(page, (1, 9, 12))
    page.mouse.move(x - 25, y)
    page.mouse.down()
    page.mouse.move(x, y, steps=3)
    page.mouse.move(x + 25, y, steps=3)
    page.mouse.up()
    page.settle()
    assert "2:9-12" in cuts(page).split()


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
          while (performance.now() < end && !seen.at(-1)?.[1]) {
            await new Promise(requestAnimationFrame);
            seen.push([
              Number(document.querySelector('.attention-lamp-bulb').getAttribute('cx')),
              document.querySelector('.attention-finding').textContent.startsWith('Without'),
            ]);
          }
          return seen;
        }""",
        TIRED_READS_STREET,
    )
    places = [place for place, _ in said]
    first, last = places[0], places[-1]
    assert last - first > 200
    assert not any(knows for place, knows in said if place < last - 1)
    assert said[-1][1]
