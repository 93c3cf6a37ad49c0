"""website/minutes.py: a chapter's minutes, counted by hand."""

import pytest

from website import minutes

PNG = {"output_type": "display_data", "data": {"image/png": ""}}
SVG = {"output_type": "display_data", "data": {"image/svg+xml": ["<svg/>"]}}
WIDGET = {"data": {"text/html": ['<figure class="attention-widget">', "</figure>"]}}
TABLE = {"data": {"text/html": "<table></table>"}}


def markdown(source):
    return {"cell_type": "markdown", "source": source}


def code(source, *outputs, tags=()):
    return {
        "cell_type": "code",
        "source": source,
        "metadata": {"tags": [*tags]},
        "outputs": [*outputs],
    }


COUNTED = {
    "words": ([markdown("word " * 120)], 1),
    "a formula is one": ([markdown("word " * 118 + "$a + b$ $$\na + b\n$$")], 1),
    "lines of a list": ([markdown(["word\n"] * 120)], 1),
    "shown lines": ([code("a\n\nb\nc\n \nd")], 2),
    "folded lines": ([code("a\nb\nc\nd", tags=["hide-input"])], 0),
    "figures": ([code("", PNG, SVG), code("", WIDGET, tags=["hide-input"])], 7.5),
    "a table is none": ([code("", TABLE, {"output_type": "stream", "text": ""})], 0),
    "before the first heading": ([markdown("# One\n\n" + "word " * 116 + "\n\n## Two")], 1),
    "exercises": (
        [markdown("## Exercises\n\n" + "word " * 120), code("a\nb\nc\nd", PNG), markdown("more")],
        0,
    ),
    "after the exercises": ([markdown("## Exercises\n\nno\n\n## Summary\n\n" + "w " * 118)], 1),
}


@pytest.mark.parametrize(("cells", "counted"), COUNTED.values(), ids=COUNTED)
def test_prose_code_and_figures_count_and_the_rest_does_not(cells, counted):
    assert round(minutes.reading({"cells": cells}), 2) == round(1.4 * counted, 2)


@pytest.mark.parametrize(("exact", "said"), [(0, 0), (0.1, 5), (25, 25), (25.01, 30)])
def test_minutes_are_rounded_up_to_five(exact, said):
    assert minutes.rounded(exact) == said
    assert minutes.rounded(sum([exact / 10] * 10)) == said, "whatever a float adds"


def test_a_chapter_says_its_minutes():
    time = "**Time:** a while"
    cells = [
        markdown(f"## Objectives\n\n{time}\n\n" + "word " * 700),
        markdown("## Exercises\n\n### Exercise 1: Go\n\n●●○ 10 minutes\n\n20 minutes"),
        markdown("### Exercise 2: Go on\n\n●●● 15 minutes, and more"),
    ]
    filled = minutes.filled_in({"cells": cells})
    said = "**Time:** 10 minutes, and 25 for the exercises."
    assert f"\n\n{said}\n\n" in filled["cells"][0]["source"]
    assert minutes.filled_in(filled) == filled


def test_a_notebook_that_says_no_minutes_is_left_alone():
    cells = [markdown("The **Time:** of day"), code("**Time:**")]
    assert minutes.filled_in({"cells": [dict(cell) for cell in cells]}) == {"cells": cells}
