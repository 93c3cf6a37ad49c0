"""The card that goes with a link: its figure, its words, its size."""

import io

import numpy as np
from PIL import Image

from attention_workbook.figures import MaskLab
from website import stills
from website.extensions.link_cards import card, first_still

SENTENCE = "A mask says which keys a query may look at. " * 9


def pixels(*cards):
    pngs = stills.rasterised(list(cards), 1200)
    return [np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), int) for png in pngs]


def test_a_card_shows_the_figure_of_its_page_and_else_a_mask():
    still = first_still(f"<p>words</p>{MaskLab().to_html()}")
    assert first_still("<p>words</p>") is None and "leaked weight" in still.words
    with_figure, without, other = pixels(
        card("Book", "Mask & softmax", SENTENCE, still),
        card("Book", "Mask & softmax", SENTENCE),
        card("Book", "Another title", SENTENCE),
    )
    assert with_figure.shape == without.shape == (630, 1200, 3)
    differs = (with_figure != without).any(axis=(0, 2))
    assert differs[640:1160].mean() > 0.9 and not differs[:640].any()
    assert (without != other).any(axis=(0, 2))[:640].any()


def test_words_stay_on_the_card_beside_the_figure():
    (seen,) = pixels(card("Book", "A title of more than one line, and wide", SENTENCE, None))
    written = (seen != seen[300, 10]).any(axis=2)
    assert written[:600, 60:620].any() and not written[:600, 620:690].any()
    assert not written[600:615].any()
