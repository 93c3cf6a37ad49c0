"""The writer: a causal language model, its text, its storing, and its figure in the page."""

import pytest
import torch
import traitlets

from attention_workbook.figures.writer import Writer
from attention_workbook.writer import load_writer, prose, split_prose, write

SCRIPT = Writer.script()
MEASURE = """(packed, states, texts) => {
  const writer = createWriter(unpackModel(new Uint8Array(packed)));
  return texts.map((text, i) => measure({ ...states[i], text }, writer));
}"""


def seen_in_javascript(node, figures):
    states = [figure.state() | {"packed": None} for figure in figures]
    given = [[*Writer().fetched()["packed"]], states, [figure.text for figure in figures]]
    return node(SCRIPT, MEASURE, [given], ["createWriter", "unpackModel", "measure"])[0]


def differences(figures, found):
    """The largest difference of any score or weight between the two worlds."""
    for figure, seen in zip(figures, found, strict=True):
        for mine, theirs in ((figure.logits, seen["logits"]), (figure.weights, seen["weights"])):
            yield (torch.tensor(mine) - torch.tensor(theirs)).abs().max().item()


def test_javascript_reads_the_stored_numbers_as_pytorch_does(node):
    text = split_prose()[1]
    figures = [Writer(text=text[start : start + 200], head=start % 13) for start in (0, 900, 7001)]
    figures.append(Writer(text=figures[0].text[:90] + "?", place=40))  # begins as another one did
    assert max(differences(figures, seen_in_javascript(node, figures))) < 1e-4


def test_the_cache_changes_no_score():
    model, text = load_writer(), split_prose()[1][:200]
    ids, caches = torch.tensor([model.encode(text)]), model.new_caches()
    with torch.no_grad():
        parts = [model(part, caches)[0] for part in ids.split([150, 1, 1, 40, 8], dim=1)]
        assert torch.allclose(torch.cat(parts, dim=1), model(ids)[0], atol=1e-3)


def test_nothing_is_fetched_until_the_reader_asks():
    figure = Writer()
    assert len(figure.to_html()) < 20_000 and figure.packed == b""
    figure.wanted = True
    assert figure.packed == Writer().fetched()["packed"]
    assert len(figure.packed) < 400_000


def test_wrong_traits_are_refused_in_words():
    for wrong in ({"text": "ü"}, {"text": ""}, {"head": 13}, {"place": 401}, {"temperature": -1}):
        with pytest.raises(traitlets.TraitError, match=rf"Writer\.{next(iter(wrong))}"):
            Writer(**wrong)


def test_a_changed_text_is_refused(monkeypatch):
    monkeypatch.setattr("attention_workbook.writer.training.SHA256", "0" * 64)
    prose.cache_clear()
    with pytest.raises(ValueError, match=r"prose\.txt: expected the text"):
        prose()
    prose.cache_clear()


@pytest.mark.browser
def test_pressing_write_fetches_the_model_and_writes(show):
    page = show(Writer(temperature=0))
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    before = Writer().text
    page.get_by_role("button", name="Write").click()
    page.wait_for_function(
        "(n) => document.querySelectorAll('.attention-writing > text').length > n + 20",
        arg=len(before),
    )
    page.get_by_role("button", name="Stop").click()
    page.settle()
    assert [url.rpartition("/")[2] for url in asked] == ["Writer.data.js"]
    written = page.get("text")
    own = page.locator(".attention-writing > text:not(.attention-by-writer)").all_text_contents()
    assert "".join(own) == page.get_by_label("A beginning of your own").input_value() == before
    model = load_writer()
    assert written == write(model, Writer().text, len(written) - len(Writer().text), temperature=0)
    assert page.errors == []


@pytest.mark.browser
def test_a_click_on_a_letter_says_why_it_came(show):
    page = show(Writer())
    place = Writer().text.index("s,")
    page.locator(".attention-writing > text").nth(place).click()
    said = page.locator(".attention-finding")
    page.wait_for_function(
        "() => document.querySelector('.attention-finding').innerText.startsWith('Before')"
    )
    assert f"and most to “{likeliest(Writer(place=place))}”" in said.inner_text()
    assert "It gave “s” " in said.inner_text()


def likeliest(figure):
    return figure.letters[figure.logits.index(max(figure.logits))]


@pytest.mark.browser
def test_reset_lets_a_refused_text_go_and_a_later_draw_does_not(show):
    page = show(Writer())
    field, refusal = (
        page.get_by_label("A beginning of your own"),
        page.locator(".attention-refusal"),
    )
    field.fill("The 漢")
    page.figure().set("temperature", 1)  # draws anew, with the field left
    field.blur()
    page.figure().set("temperature", 1.5)
    assert refusal.inner_text() == "The writer has never seen “漢”."
    assert field.input_value() == "The 漢" and field.get_attribute("aria-invalid") == "true"
    page.get_by_role("button", name="Reset").click()
    page.settle()
    assert field.input_value() == Writer().text and not refusal.is_visible()
    assert field.get_attribute("aria-invalid") is None


@pytest.mark.browser
def test_numbers_that_cannot_be_fetched_are_spoken_of_and_asked_for_again(show):
    page = show(Writer())
    page.route("**/Writer.data.js", lambda route: route.abort())
    page.get_by_role("button", name="Write").click()
    page.get_by_text(
        "could not be fetched. Check the connection, then press Write again"
    ).first.wait_for()
    page.unroute("**/Writer.data.js")
    page.get_by_role("button", name="Write").click()
    page.wait_for_function(
        "(n) => document.querySelectorAll('.attention-writing > text').length > n",
        arg=len(Writer().text) + 5,
    )
    page.get_by_role("button", name="Stop").click()
