"""The figure SentenceReader: the reader's own numbers, in the page as in PyTorch."""

import itertools
import json

import pytest
import torch
import traitlets

from attention_workbook.figures.sentence_reader import EXAMPLES, SentenceReader
from attention_workbook.reader import Reader, Vocabulary, draw, load_reader, read, words_of
from attention_workbook.reader.lexicon import lexicon
from tests.attention_workbook.figures.test_figures_in_python import attribute

SCRIPT = "_sentence/reading.js"
HEADS = [-1, 1, 2, 3, 4, 0, -1, 2]  # one for each of the examples
ASKING = [-1, 2, 3, 0, 5, 1, -1, 18]  # the last is no word of its sentence: then *it* asks
UNREADABLE = [
    "",
    "  ,. ",
    "the animal was tired",
    "it was it",
    "The fox didn’t cross the roud because it was too tired.",
    "the animel did not cross the street because it was too tired",
    "the python slept because it was xqzw",
    "the stretchful terrier slept because it was tired",
    "it was " + "too " * 20 + "wide",
]
WRITTEN = [
    "The dog didn't cross the road because it was too busy!",
    "It's dark; the boys can’t see the foxes’ den-like hole.",
    "She'd run, they've run and I'll run: cannot, won't, I'm.",
    "the BIGGEST dog chased carries crossing stopped hottest prettier",
    "naïve café 3rd x_y",
    "The dog dont bark, it cant; its too tired and wasnt vacant, couldnt, wont; its tail",
]
COMPOUNDS = """
doghouse windowsills qkvhouse dogqkv dog-house double-decker dog-it quickly happily --
hated planes framed kids
"""


def plain(figure):
    """The figure's state as JSON can hold it."""
    return figure.state() | {"packed": list(figure.packed)}


def in_page(function):
    """JavaScript that gives a figure's state to a function of its module."""
    bytes_again = "packed: new Uint8Array(state.packed)"
    return f"(state, ...rest) => {function}({{ ...state, {bytes_again} }}, ...rest)"


def test_javascript_agrees_with_pytorch(node):
    hold_weights(node, count=50)


def hold_weights(node, count):
    """Read so many drawn sentences in JavaScript and in PyTorch."""
    texts = [str(sentence) for sentence in draw(count, seed=7)]
    figure = SentenceReader(wanted=True)
    seen = node(
        SCRIPT,
        """(state, texts) => {
            state.packed = new Uint8Array(state.packed);
            return texts.map((text) => measure({ ...state, text }));
        }""",
        [[plain(figure), texts]],
        ["measure"],
    )[0]
    largest, reader = 0.0, load_reader()
    for text, found in zip(texts, seen, strict=True):
        reading = read(reader, text)
        assert found["words"] == list(reading.words), text
        assert (found["it"], found["meant"]) == (reading.it, reading.meant), text
        for mine, layer in zip(found["layers"], reading.weights, strict=True):
            largest = max(largest, (torch.tensor(mine) - layer).abs().max().item())
    assert largest < 1e-5


def test_figure_shows_a_reader_trained_by_oneself(node):
    torch.manual_seed(0)
    reader = Reader(Vocabulary(), 12, (3, 2, 1))  # float32 numbers, other sizes
    figure = SentenceReader(reader, text=EXAMPLES[2], head=4)
    assert figure.scales == []
    (seen,) = node(SCRIPT, in_page("measure"), [[plain(figure)]], ["measure"])
    reading = read(reader, EXAMPLES[2])
    assert seen["meant"] == reading.meant
    for mine, layer in zip(seen["layers"], reading.weights, strict=True):
        assert torch.allclose(torch.tensor(mine), layer, atol=1e-5)


MEANT = dict(
    zip(
        EXAMPLES,
        ["animal", "unsure", "road", "trophy", "ball", "goat", "pizza", "fence"],
        strict=True,
    )
)


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_is_read_right(text):
    reading = read(load_reader(), text)
    sure = reading.probability >= 0.75
    assert (reading.words[reading.meant] if sure else "unsure") == MEANT[text]


@pytest.mark.parametrize("text", UNREADABLE, ids=lambda text: text[:20] or "empty")
def test_what_cannot_be_read_gets_the_same_sentence_in_both_worlds(node, text):
    figure = SentenceReader(wanted=True)
    program = """(state, text) => {
        try { return parse(text, state); } catch (error) { return error.message; }
    }"""
    (said,) = node(SCRIPT, program, [[plain(figure), text]], ["parse"])
    with pytest.raises(traitlets.TraitError, match=r"SentenceReader\.text") as refused:
        figure.text = text
    assert said in str(refused.value)
    assert figure.text == EXAMPLES[0]  # nothing is lost


def test_a_head_or_a_reader_that_is_none_is_refused():
    with pytest.raises(traitlets.TraitError, match=r"SentenceReader\.head"):
        SentenceReader(head=7)
    with pytest.raises(traitlets.TraitError, match=r"SentenceReader\.word"):
        SentenceReader(word=20)
    with pytest.raises(TypeError, match="reader: expected a Reader"):
        SentenceReader(reader=torch.nn.Linear(2, 2))


def test_words_and_base_forms_are_the_same_in_both_worlds(node):
    figure, vocabulary = SentenceReader(wanted=True), Vocabulary()
    forms = [word + end for word in vocabulary.words[1:] for end in ("s", "ed", "ing", "er", "ly")]
    nouns = vocabulary.words[1::7]
    forms += [a + b for a, b in zip(nouns, nouns[5:], strict=False)] + COMPOUNDS.split()
    program = """(state, texts, forms) => {
        const lexicon = readLexicon(state);
        return [texts.map((text) => wordsOf(text)), forms.map((form) => idOf(form, lexicon))];
    }"""
    names = ["readLexicon", "wordsOf", "idOf"]
    ((words, ids),) = node("_shared/index.js", program, [[plain(figure), WRITTEN, forms]], names)
    assert words == [words_of(text) for text in WRITTEN]
    for form, number in zip(forms, ids, strict=True):
        base = vocabulary.base(form)
        assert number == (-1 if base is None else vocabulary.words.index(base)), form


def test_a_word_with_a_better_one_keeps_its_vector_in_training_and_says_how_it_is_read():
    vocabulary, better = Vocabulary(), lexicon().better
    assert better["girl"] == "people" and {*better, *better.values()} <= {*vocabulary.words}
    for word, base in better.items():
        assert vocabulary.encode([word]) == vocabulary.encode([base], own=True)
        assert vocabulary.encode([word], own=True) == [vocabulary.words.index(word)]
    forms = "hated hate,planes plane,framed used,lifted lift,professor people,girls people"
    for form, base in (pair.split() for pair in forms.split(",")):
        assert vocabulary.base(form) == base  # no hat, no plan, no picture
    assert vocabulary.replaced(["girl", "saw", "went"]) == [("girl", "people")]


def exchange(page, word, other):
    """Click a word, and another one in the menu that opens."""
    page.get_by_label(f"Swap “{word}”").click()
    page.get_by_role("option", name=other, exact=True).click()


@pytest.mark.browser
def test_changing_tired_to_wide_turns_the_conclusion(show):
    page = show(SentenceReader(), more=True)
    figure = page.figure()
    assert figure.read("meant") == 2 and figure.read("weight_2") > 0.9
    page.get_by_label("Read “wide” in place of “tired”").click()
    page.settle()
    assert figure.read("meant") == 7 and figure.read("weight_7") > 0.9
    assert "and means street" in page.locator(".attention-finding").inner_text()
    page.get_by_role("button", name="Reset").click()
    page.settle()
    assert figure.read("meant") == 2


SWING = """async (button) => {
  button.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const seen = [];
  const start = performance.now();
  while (performance.now() - start < 900) {
    await new Promise(requestAnimationFrame);
    const [arc] = document.querySelectorAll(".attention-arcs [data-strand=output]");
    const isWhole = arc && !arc.hasAttribute("stroke-dasharray");
    seen.push([isWhole, arc?.getPointAtLength(arc.getTotalLength()).x]);
  }
  return seen;
}"""


@pytest.mark.browser
def test_the_answer_swings_from_word_to_word_when_one_is_exchanged(show):
    """It is whole in every frame, and passes over what lies between the two nouns."""
    page = show(SentenceReader(), reduced_motion="no-preference")
    page.wait_for_timeout(300)
    animal, street = (
        page.locator(f"[data-place='{place}']").evaluate(
            "word => word.x.baseVal.value + word.width.baseVal.value / 2"
        )
        for place in (2, 7)
    )
    wide = page.get_by_label("Read “wide” in place of “tired”")
    whole, ends = zip(*wide.evaluate(SWING), strict=True)
    assert all(whole) and list(ends) == sorted(ends)
    assert [ends[0], ends[-1]] == pytest.approx([animal, street], abs=60)
    assert any(animal + 60 < end < street - 60 for end in ends)


@pytest.mark.browser
def test_another_sentence_is_drawn_in_three_steps(show):
    page = show(SentenceReader(), reduced_motion="no-preference")
    page.locator(".attention-typed").fill("The ball broke the table because it was too heavy.")
    page.locator(".attention-typed").press("Enter")
    finding = page.locator(".attention-finding")
    for said in ("“It” looks at “", "”, then at “", "”, and means ball."):
        finding.filter(has_text=said).wait_for(timeout=3000)
    assert finding.inner_text().endswith("and means ball.")


@pytest.mark.browser
def test_the_way_to_it_is_drawn_step_by_step(show):
    drawn = {}
    for hop in (1, 2, 3):
        page = show(SentenceReader(hop=hop))
        arcs = page.locator(".attention-arcs path")
        strands = arcs.evaluate_all("(paths) => paths.map((path) => path.dataset.strand)")
        drawn[hop] = [strands.count("weight"), strands.count("output")]
    first, second, third = drawn.values()
    assert first[0] < second[0] == third[0]
    assert (first[1], second[1], third[1]) == (0, 0, 1)


PLAYED = """async () => {
  const frames = [];
  const start = performance.now();
  while (!frames.at(-1)?.[2].includes("means street") && performance.now() - start < 9000) {
    const time = await new Promise(requestAnimationFrame);
    const pill = document.querySelector("[data-option][aria-haspopup]")?.dataset.option;
    if (pill) frames.push([time, pill, document.querySelector(".attention-finding").textContent]);
  }
  return frames;
}"""


@pytest.mark.browser
def test_a_cover_plays_once_and_then_exchanges_the_pair_itself(show):
    page = show(SentenceReader(hop=0), reduced_motion="no-preference")
    seen = page.evaluate(PLAYED)
    stood = [time for time, _, said in seen if said.endswith("and means animal.")]
    assert stood[-1] - stood[0] > 1500  # long enough to be read
    for _, pill, said in seen:  # the sentence never speaks of the other word
        assert {"tired": "wide", "wide": "tired"}[pill] not in said
    page.locator(".attention-task", has_text="Your turn").wait_for(timeout=1000)
    page.wait_for_timeout(1500)
    assert page.figure().read("meant") == 7


@pytest.mark.browser
def test_a_cover_leaves_the_word_to_a_reader_who_has_begun(show):
    page = show(SentenceReader(hop=0), reduced_motion="no-preference")
    page.locator(".attention-typed").press("Shift")
    page.wait_for_timeout(4500)
    assert page.figure().read("meant") == 2
    assert page.locator(".attention-task").inner_text().startswith("Your turn")


@pytest.mark.browser
def test_a_cover_stands_at_its_end_for_readers_who_want_less_motion(show):
    page = show(SentenceReader(hop=0))
    assert page.figure().read("meant") == 2
    assert page.locator(".attention-finding").inner_text().endswith("and means animal.")
    assert page.locator(".attention-task").inner_text().startswith("Your turn")


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 700, 1100])
def test_words_and_arcs_stay_in_the_picture(show, width):
    """In one row or in lines, no word lies on another and no arc leaves the picture."""
    for text in (EXAMPLES[0], EXAMPLES[3], "it was raining"):
        page = show(SentenceReader(text=text), width=width)
        picture, *boxes = page.evaluate(
            """() => ["svg", ".attention-word, .attention-arcs path"].flatMap((which) =>
              [...document.querySelectorAll(`.attention-sentence ${which}`)])
              .filter((node) => getComputedStyle(node).visibility !== "hidden")
              .map((node) => [node.getBoundingClientRect().toJSON(), node.localName])"""
        )
        inside = picture[0]
        for box, kind in boxes:
            assert box["left"] >= inside["left"] - 1 and box["right"] <= inside["right"] + 1, kind
            assert box["top"] >= inside["top"] - 1 and box["bottom"] <= inside["bottom"] + 1, kind
        words = [box for box, kind in boxes if kind == "rect"]
        for a, b in itertools.pairwise(words):
            assert a["right"] <= b["left"] + 1 or a["bottom"] <= b["top"] + 1


@pytest.mark.browser
def test_nothing_gives_the_answer_away_before_it_is_drawn(show):
    """Of the moving figure, from its first frame to the last: words, readouts and highlights."""
    page = show(SentenceReader(hop=0), reduced_motion="no-preference", more=True)
    seen = page.evaluate(
        """async () => {
          const frames = [];
          const end = performance.now() + 12000;
          while (performance.now() < end) {
            await new Promise(requestAnimationFrame);
            const arcs = [...document.querySelectorAll('.attention-arcs [data-strand=output]')];
            const view = document.querySelector('.attention-view').cloneNode(true);
            const words = view.querySelectorAll('.attention-samples, .attention-cells-of-words');
            for (const part of words) part.remove();
            const told = view.textContent.match(/.{0,40}(means animal|meansanimal).{0,9}/)?.[0]
              ?? document.querySelector('[data-meant=true]')?.outerHTML;
            frames.push({
              isDrawn: arcs.some((arc) => !arc.getAttribute('stroke-dasharray')),
              told: told ?? '',
            });
            if (frames.at(-1).isDrawn && frames.at(-1).told) break;
          }
          return frames;
        }"""
    )
    assert seen[-1]["isDrawn"] and seen[-1]["told"] and len(seen) > 20
    assert [frame["told"] for frame in seen if not frame["isDrawn"] and frame["told"]] == []


@pytest.mark.browser
def test_a_word_is_exchanged_by_keyboard(show):
    page = show(SentenceReader())
    page.get_by_label("Swap “tired”").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("w")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    chosen = page.evaluate("document.activeElement.textContent")
    assert chosen.startswith("w")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Swap “tired”"
    page.keyboard.press("Enter")
    for _ in range(20):
        if page.evaluate("document.activeElement.textContent") == "wide":
            break
        page.keyboard.press("w")
    page.keyboard.press("Enter")
    page.settle()
    assert page.figure().read("meant") == 7


def test_words_that_few_readers_type_come_when_they_are_asked_for():
    figure = SentenceReader()
    assert (figure.read_as, figure.wanted) == ("", False)
    for text in (*EXAMPLES, "the dog did not cross the road because it was too wide"):
        assert not SentenceReader(text=text).wanted, text
    figure.text = "the puppy did not cross the road because it was too wide"
    assert figure.wanted and " puppy" in figure.read_as
    assert SentenceReader().fetched() == {"read_as": figure.read_as}
    assert SentenceReader(load_reader()).read_as == figure.read_as  # a page could fetch others only


@pytest.mark.browser
def test_a_page_fetches_its_words_for_a_sentence_that_may_need_them(show):
    page = show(
        SentenceReader(), address="#SentenceReader.text=the puppy slept because it was tired"
    )
    page.get_by_text("reads “puppy” as “dog”").first.wait_for()
    assert page.figure().read("meant") == 2 and page.errors == []


@pytest.mark.browser
def test_the_finding_names_the_place_before_the_sentence_where_the_reader_is_unsure(show):
    page = show(SentenceReader(text="the dog slept because it was cold"), more=True)
    finding = page.locator(".attention-finding").inner_text()
    assert ", and is unsure: none of these words 0.5" in finding
    assert page.locator("[data-readout=meant]").inner_text() == "unsure"


def saved_state(figure, folder):
    figure.save(folder / "reader.html")
    return json.loads(attribute((folder / "reader.html").read_text(encoding="utf-8"), "data-state"))


def test_a_file_has_all_words_and_the_figure_stays_as_it_was(tmp_path):
    figure = SentenceReader()
    saved = saved_state(figure, tmp_path)
    assert " puppy" in saved["read_as"] and saved["wanted"]
    assert (figure.read_as, figure.wanted) == ("", False)


def test_a_file_of_a_reader_of_ones_own_has_the_words_of_that_reader(tmp_path):
    reader = Reader(Vocabulary(word for word in Vocabulary().words if word != "dog"), 12, (3, 2))
    text = "the animal did not cross the street because it was too tired"
    read_as = saved_state(SentenceReader(reader, text=text, wanted=False), tmp_path)["read_as"]
    assert (
        read_as
        == SentenceReader(reader, text=text).read_as
        != SentenceReader().fetched()["read_as"]
    )


@pytest.mark.browser
def test_typing_a_sentence_reads_it_and_an_unknown_word_is_named(show):
    page = show(SentenceReader(head=2))
    figure = page.figure()
    field = page.locator(".attention-typed")
    field.fill("The wolf feared the bear because it was fierce.")
    field.press("Enter")
    page.settle()
    assert figure.read("meant") == 5  # the bear
    field.fill("The wolf feared the baer because it was fierce.")
    field.press("Enter")
    page.settle()
    assert (
        "does not know the word “baer”. Try “" in page.locator("[role=alert]:visible").inner_text()
    )
    assert figure.read("meant") == 5
    page.locator(".attention-tries button").first.click()
    page.settle()
    assert page.locator("[role=alert]:visible").count() == 0


@pytest.mark.browser
def test_an_unknown_word_is_named_when_all_words_have_just_come(show):
    page = show(SentenceReader())
    field = page.locator(".attention-typed")
    field.fill("the trophy did not fit in the suitcase because it was too biiig")
    field.press("Enter")
    page.get_by_text("does not know the word “biiig”").wait_for(timeout=5000)
    page.settle()
    assert page.get_by_text("does not know the word “biiig”").is_visible()
    assert field.input_value().endswith("biiig")


@pytest.mark.browser
def test_an_address_with_an_unknown_word_says_so_and_leaves_a_sentence_to_read(show):
    page = show(SentenceReader(), address="#SentenceReader.text=the zzz slept because it was tired")
    page.settle()
    assert (
        "does not know the word “zzz”" in page.locator(".attention-own [role=alert]").inner_text()
    )
    assert page.locator(".attention-finding").inner_text().endswith("and means animal.")
    assert page.locator(".attention-word").count() > 5 and page.errors == []


@pytest.mark.browser
def test_known_words_are_one_click_away(show):
    page = show(SentenceReader())
    page.get_by_label("More").click()
    page.locator(".attention-known summary").click()
    page.locator(".attention-known", has_text="Read as dog: ").wait_for()  # the list is made now
    assert "tired" in page.locator(".attention-known").inner_text()


@pytest.mark.browser
def test_the_reader_reads_when_the_text_changes_and_only_then(show):
    """Its forward pass takes roots by the hundred, and nothing else takes any."""
    page = show(SentenceReader(head=0), more=True)
    page.evaluate(
        "() => { const root = Math.sqrt; window.roots = 0;"
        " Math.sqrt = (x) => { window.roots += 1; return root(x); }; }"
    )
    for trait, value in (("word", 3), ("word", 8)):
        page.figure().set(trait, value)
    page.get_by_label("layer 1, head 2").click()
    page.settle()
    assert "In layer 1, head 2" in page.locator(".attention-finding").inner_text()
    assert page.evaluate("roots") == 0
    exchange(page, "tired", "wide")
    page.settle()
    assert page.evaluate("roots") > 100
    assert "“It” means street" in page.locator(".attention-finding").inner_text()


@pytest.mark.browser
def test_the_sample_that_is_read_is_marked(show):
    """A sentence of the reader's own is none of them."""
    texts = (SentenceReader().text, "the dog did not cross the street because it was too wide")
    for text, marked in zip(texts, ([texts[0]], []), strict=True):
        page = show(SentenceReader(text=text), more=True)
        samples = page.locator(".attention-sample")
        assert samples.count() == len(SentenceReader().examples)
        assert page.locator(".attention-sample[aria-pressed=true]").all_inner_texts() == marked
