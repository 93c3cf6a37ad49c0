"""Tokens are drawn as they are, in a font that has their characters."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import font_manager

from attention_lib import plots
from tests.plots.drawing import new_axes, texts_of


def test_tokens_are_text_and_no_mathematics():
    tokens = ["$x$", "$", "_", "\\frac", "<img onerror=alert(1)>", "\n", "\t"]
    ax = plots.heatmap(new_axes(), np.eye(7), tokens, tokens)
    ax.figure.canvas.draw()
    assert texts_of(ax.get_xticklabels()) == [*tokens[:5], "↵", "⇥"]
    labels = [*ax.get_xticklabels(), *ax.get_yticklabels()]
    assert not any(label.get_parse_math() for label in labels)


@pytest.fixture
def only_bundled_fonts(monkeypatch):
    bundled = [
        entry
        for entry in font_manager.fontManager.ttflist
        if Path(entry.fname).is_relative_to(mpl.get_data_path())
    ]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", bundled)


@pytest.mark.usefixtures("only_bundled_fonts")
def test_without_a_font_tokens_become_code_points_with_a_warning():
    axes = new_axes()
    with pytest.warns(UserWarning, match="keys: no installed font has 人 智; drawn as U\\+4EBA"):
        ax = plots.heatmap(axes, [[0.5, 0.5]], ["rén"], ["人", "智"])
    assert texts_of(ax.get_xticklabels()) == ["U+4EBA", "U+667A"]
    assert texts_of(ax.get_yticklabels()) == ["rén"]
    ax.figure.canvas.draw()  # warnings are errors here: no glyph is missing


@pytest.mark.usefixtures("only_bundled_fonts")
def test_another_installed_font_is_used_where_it_has_the_glyphs():
    token = "⌒"  # in DejaVu Sans Mono, not in DejaVu Sans
    ax = plots.heatmap(new_axes(), [[1.0]], ["a"], [token])
    assert texts_of(ax.get_xticklabels()) == [token]
    fonts = ax.get_xticklabels()[0].get_fontfamily()
    assert fonts[0] == "DejaVu Sans"
    assert any(
        font_manager.get_font(font_manager.findfont(font)).get_char_index(ord(token))
        for font in fonts
    )
    ax.figure.canvas.draw()
