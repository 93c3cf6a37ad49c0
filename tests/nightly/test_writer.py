"""The writer, at night: many texts in both worlds, what the chapter prints, the page's weight."""

import pytest
import torch

from attention_workbook.figures.writer import LONGEST, Writer
from attention_workbook.writer import load_writer, measured, prose, split_prose, surprise
from attention_workbook.writer.training import STORED
from tests.attention_workbook.test_writer import differences, seen_in_javascript
from tests.website.test_site_in_browser import weigh

PAGE = "book/one-block.html"


def test_javascript_agrees_with_pytorch_on_a_thousand_texts(node):
    """Of all lengths up to the longest, so that the window of 128 letters has to move."""
    text, draw = prose(), torch.Generator().manual_seed(0)
    starts = torch.randint(len(text) - LONGEST, (1000,), generator=draw).tolist()
    lengths = [LONGEST if i % 50 == 0 else 1 + 7 * i % 60 for i in range(1000)]
    figures = [
        Writer(text=text[start : start + length], head=i % 13)
        for i, (start, length) in enumerate(zip(starts, lengths, strict=True))
    ]
    for part in range(0, 1000, 100):
        chosen = figures[part : part + 100]
        assert max(differences(chosen, seen_in_javascript(node, chosen))) < 1e-4


def test_the_text_that_is_written_without_drawing_hangs_on_no_last_bit():
    model = load_writer()
    ids, caches = model.encode("The query "), model.new_caches()
    new = ids
    with torch.no_grad():
        for _ in range(75):
            first, second = model(torch.tensor([new]), caches)[0][0, -1].topk(2).values
            assert first - second > 0.01
            ids.append(int(model(torch.tensor([ids]))[0][0, -1].argmax()))
            new = ids[-1:]


def test_eight_bits_cost_nothing_that_is_measured():
    before, after = measured()["best"]
    assert abs(after - before) < 0.005
    assert abs(surprise(load_writer(), split_prose()[1]) - after) < 0.002
    assert STORED.stat().st_size < 400_000


@pytest.mark.site
@pytest.mark.browser
def test_the_page_is_light_until_the_reader_asks(visit):
    with visit(PAGE) as seen:
        seen.page.mouse.wheel(0, 100_000)
        seen.quiet()
        assert not any("Writer.data" in str(url) for url in seen.asked)
        assert sum(weigh(set(seen.asked))) <= 250_000
        seen.page.get_by_role("button", name="Write").first.click()
        letters = seen.page.locator(".attention-writing > text")
        letters.nth(40).wait_for(state="attached")  # a space is never visible
        assert sum("Writer.data" in str(url) for url in seen.asked) == 1
        assert seen.faults == []
