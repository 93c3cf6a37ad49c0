"""Every chapter keeps every rule of website/rules.py, and every rule can be broken."""

import functools
import re

import pytest

from tests.small_chapter import (
    CAPTION,
    CLAIM,
    ERROR,
    FIGURE,
    HINT,
    IDEA,
    NUMBERS,
    SOLVED,
    STUB,
    TASK,
    chapter,
    printed,
    raised,
    shown,
)
from website import ROOT, minutes, notebooks, rules
from website.book import disagreements

CHAPTERS = notebooks.chapters()


@functools.cache
def read(path):
    return notebooks.normalise(notebooks.read(path), path.stem)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_keeps_the_rules(path):
    complaints = [said for rule in rules.RULES for said in rule(path.name, read(path))]
    assert not complaints, "\n" + "\n".join(complaints)


def test_contents_and_folder_agree():
    assert CHAPTERS and disagreements() == []


def test_the_glossary_is_bilingual():
    assert [*rules.glossary_lacks((ROOT / "book" / "glossary.md").read_text("utf-8"))] == []
    assert [*rules.glossary_lacks("# Glossary\n\n## query\n\nWhat asks.\n")] != []


def outputs(*outputs):
    return {"outputs": list(outputs)}


def html(text):
    return outputs(shown(text_html=text))


BROKEN = {
    rules.every_cell_was_run: [(NUMBERS, {"execution_count": None})],
    rules.nothing_hides_from_the_comparison_with_a_fresh_run: [
        (NUMBERS, {"metadata": {"tags": ["nbval-skip"]}}),
        (NUMBERS, {"source": "# NBVAL_IGNORE_OUTPUT\n1"}),
        (NUMBERS, {"source": "weights;\n"}),
    ],
    rules.errors_stand_only_where_they_are_the_lesson: [
        (NUMBERS, outputs(raised("ValueError", "no"))),
        (ERROR, outputs()),
    ],
    rules.a_measurement_is_followed_by_its_claim: [(CLAIM, outputs(printed("1.5\n")))],
    rules.a_name_is_assigned_once: [
        (CLAIM, {"source": source})
        for source in ("weights = 2", "a, (weights, *b) = f()", "def weights():\n    return 1")
    ],
    rules.random_numbers_have_a_seed: [
        (CLAIM, {"source": source})
        for source in ("x = torch.randn(2)", "np.random.rand()", "random.random()")
    ],
    rules.code_runs_anywhere: [
        (CLAIM, {"source": source})
        for source in ("!ls", "warnings.filterwarnings('ignore')", "M.from_pretrained('gpt2')")
    ],
    rules.outputs_load_and_run_nothing: [
        (NUMBERS, outputs(shown(application_javascript="alert(1)"))),
        (NUMBERS, html("<script>1</script>")),
        (NUMBERS, html("<p onclick = 'go()'>")),
        (NUMBERS, html("<img src=//example.org/a.png>")),
        (NUMBERS, html("<a href='&#106;ava&#10;script:go()'>")),
        (NUMBERS, html("<p style='background: u\\72 l(//example.org)'>")),
        (NUMBERS, outputs(shown(**{"image_svg+xml": "<svg><script>1</script></svg>"}))),
    ],
    rules.outputs_say_the_same_on_every_machine: [
        (NUMBERS, outputs(printed("<Line2D at 0x7f3a2c1b5d90>"))),
        (NUMBERS, outputs(printed("File /home/ada/book/x.py"))),
        (NUMBERS, outputs(printed(r"C:\Users\ada"))),
        (ERROR, outputs(raised("OSError", "no '/srv/data/x'"))),
        (NUMBERS, html("<p>0.1234</p>")),
        (NUMBERS, outputs(printed("1.23456e-06"))),
        (NUMBERS, outputs(printed("UserWarning: lazy\n", "stderr"))),
    ],
    rules.pictures_have_alt_text_and_a_numbered_caption: [
        (FIGURE, {"metadata": {}}),
        (CAPTION, {"source": "**Figure 2.** Half and half."}),
    ],
    rules.prose_reads_the_same_everywhere: [
        (IDEA, {"source": source})
        for source in (
            *("```{note}\nText\n```", "See {cite}`a`.", "(label)=\n## The idea", "Text[^1]"),
            *("![a](a.png)", "<div>a</div>", "<!-- a -->", "[a](http://example.org)"),
            "<details><summary>Hint</summary>\nText\n\n</details>",
            "<details><summary>Hint</summary>\n\nText",
        )
    ],
    rules.exercises_are_whole: [
        (TASK, {"source": "### Exercise 1: Try\n\nDo it."}),
        (HINT, {"source": "Look again."}),
        (STUB, outputs(printed("Not yet: no."))),
        (SOLVED, outputs(printed("Not yet: no."))),
    ],
}
CASES = [
    pytest.param(rule, *case, id=f"{rule.__name__}-{number}")
    for rule, cases in BROKEN.items()
    for number, case in enumerate(cases)
]


def test_a_good_chapter_breaks_no_rule():
    assert {*BROKEN} == {*rules.RULES}
    assert [said for rule in rules.RULES for said in rule("halves", chapter())] == []


@pytest.mark.parametrize(("rule", "index", "fields"), CASES)
def test_a_chapter_that_breaks_a_rule_is_told_where(rule, index, fields):
    said = rule("halves.ipynb", chapter(index, **fields))
    assert said and all(re.match(r"halves\.ipynb, cell \d+.*: \w", one) for one in said)


ALLOWED = (
    '<a href="https://example.org">read</a><img src="data:image/png;base64,AAAA">',
    "<p>onclick='a' &lt;script> url(a.png)</p><style>b { fill: url(#a) }</style>",
)


@pytest.mark.parametrize("text", ALLOWED)
def test_what_loads_nothing_is_allowed(text):
    assert rules.outputs_load_and_run_nothing("halves", chapter(NUMBERS, **html(text))) == []


def test_a_chapter_says_its_minutes():
    assert minutes.minutes(chapter(IDEA, source="word " * 300)) == (10, 10)
    said = minutes.filled_in(chapter(IDEA, source="**Time:** a while"))["cells"][IDEA]["source"]
    assert said == "**Time:** 5 minutes, and 10 for the exercises."
