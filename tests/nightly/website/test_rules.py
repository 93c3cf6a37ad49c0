"""Every rule of website/rules can be broken, and accepts what it does not forbid."""

import json

import pytest

from website import notebooks, rules
from website.book import disagreements

from .good_chapter import (
    ATTEMPT,
    BUILD,
    CAPTION,
    CLAIM,
    ERROR,
    FIGURE,
    FIRST,
    HINT,
    IDEA,
    IMPORTS,
    NUMBERS,
    OBJECTIVES,
    PNG,
    SECOND,
    SOLUTION,
    SOLVED,
    SVG,
    TABLE,
    TASK,
    TIMED,
    TITLE,
    adds,
    chapter,
    drops,
    folded,
    html,
    inserts,
    markdown,
    metadata,
    outputs,
    printed,
    prints,
    raised,
    renumber,
    says,
    sets,
    shown,
)


def test_difference_between_contents_and_folder_is_found(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "_toc.yml").write_text("root: book/index\nchapters:\n  - file: book/gone\n")
    for name in ("index.md", "extra.ipynb"):
        (tmp_path / "book" / name).write_text("{}")
    said = " ".join(disagreements(tmp_path))
    assert "book/gone" in said and "book/extra.ipynb" in said and "index" not in said


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A book/ for the links of the chapter that keeps the rules."""
    folder = tmp_path_factory.mktemp("book")
    other = {"cells": [markdown("# Other\n\n## The code")]}
    (folder / "other.ipynb").write_text(json.dumps(other))
    (folder / "glossary.md").write_text("# Glossary\n\n## query\n\n## Query\n\n(label)=\n")
    (folder / "bibliography.md").write_text("# Bibliography\n\n```{bibliography}\n```\n")
    (folder / "references.bib").write_text("@article{bahdanau2015,\n  title = {A},\n}\n")
    return folder


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_a_good_chapter_breaks_no_rule(rule, folder):
    assert rule(chapter(folder)) == []


VIEW = {"output_type": "display_data", "metadata": {}, "data": {notebooks.WIDGET_VIEW: {}}}
BROKEN = {
    rules.every_cell_was_run_in_order: [
        (sets(NUMBERS, execution_count=None), "cell 6 (code cell 3): In [None]"),
        (sets(NUMBERS, execution_count=7), "In [7] stands where In [3] belongs"),
        (says(NUMBERS, " \n"), "the cell is empty"),
    ],
    rules.errors_stand_only_where_they_are_the_lesson: [
        (outputs(NUMBERS, raised("ValueError", "no")), "raises ValueError"),
        (outputs(ERROR), "raises nothing"),
    ],
    rules.the_form_is_canonical: [
        (metadata(NUMBERS, collapsed=True), "run make notebooks"),
    ],
    rules.outputs_hold_only_text_html_and_pictures: [
        (outputs(NUMBERS, shown(image_jpeg="AA")), "image/jpeg"),
        (outputs(NUMBERS, shown(application_javascript="alert(1)")), "application/javascript"),
    ],
    rules.widgets_have_html: [(outputs(FIRST, VIEW), "vanishes")],
    rules.outputs_load_and_run_nothing: [
        (html("<script>1</script>"), "<script"),
        (html("<p onclick = 'go()'>"), "onclick"),
        (html('<img src="https://example.org/a.png">'), "src="),
        (html("<img src=//example.org/a.png>"), "src="),
        (html("<p style='background: url(a.png)'>"), "url("),
        (html('<p style="background: url(&quot;https://example.org/a.png&quot;)">'), "url("),
        (html('<image x="1" href="https://example.org/a.png"/>'), "href="),
        (html("<style>@import 'a.css';</style>"), "@import"),
        (html("<a href='javascript:go()'>"), "javascript:"),
        (html("<IFRAME>"), "IFRAME"),
        (html("<svg/onload=go()>"), "onload"),
        (html('<b title="a"onclick="go()">'), "onclick"),
        (html("<a href='&#106;ava&#10;script:go()'>"), "javascript:"),
        (html("<a href='data:text/html,x'>"), "href=data:"),
        (html("<p style='background: u\\72 l(//example.org)'>"), "url("),
        (html("<video src='a.mp4'></video>"), "src="),
        (html("<svg><a><animate attributeName='href'/></a></svg>"), "animate"),
        (html('<rect fill="url(https://example.org/a.svg#b)"/>'), "url("),
        (outputs(FIGURE, shown(**{"image_svg+xml": "<svg><script>1</script></svg>"})), "its SVG"),
    ],
    rules.outputs_name_no_address_and_no_path: [
        (prints("<Line2D at 0x7f3a2c1b5d90>"), "0x7f3a2c1b5d90"),
        (outputs(TABLE, shown(text_html="<p>0x7f3a2c1b5d90</p>")), "address"),
        (prints("File /home/ada/book/x.py"), "/home/ada/book/x.py"),
        (prints(r"C:\Users\ada"), r"C:\Users\ada"),
        (outputs(ERROR, raised("OSError", "no '/srv/data/x'")), "/srv/data/x"),
    ],
    rules.outputs_warn_of_nothing: [
        (outputs(NUMBERS, printed("UserWarning: lazy\n  f()", "stderr")), "UserWarning: lazy"),
    ],
    rules.cells_do_not_end_in_a_semicolon: [(says(NUMBERS, "weights = 1\nweights;\n"), "';'")],
    rules.tags_are_known_and_mean_what_they_say: [
        (metadata(NUMBERS, tags=["nbval-skip"]), "nbval-skip"),
        (metadata(IDEA, tags=["hide-cell"]), "only code cells"),
        (metadata(BUILD, tags=["hide-input"]), "neither shows nor imports"),
        (metadata(NUMBERS, tags=["hide-cell"]), "<summary>Solution</summary>"),
        (says(NUMBERS, "# NBVAL_IGNORE_OUTPUT\n1"), "NBVAL_IGNORE_OUTPUT"),
    ],
    rules.what_is_not_compared_is_a_measurement_with_a_claim: [
        (outputs(TIMED, printed("0.3\n")), "measures no time"),
        (outputs(CLAIM, printed("1.5\n")), "print its claim as True"),
    ],
    rules.numbers_have_at_most_three_decimals: [
        (prints("tensor([0.7512, 0.2488])"), "0.7512"),
        (prints("1.23456e-06"), "1.23456"),
        (outputs(TABLE, shown(text_html="<p class='a > b'>0.1234</p>")), "0.1234"),
        (outputs(ERROR, raised("AssertionError", "15.971729695676517")), "15.971729695676517"),
    ],
    rules.pictures_have_alt_text_that_says_the_finding: [
        (metadata(FIGURE, mystnb={}), "25 characters"),
        (metadata(NUMBERS, mystnb={"image": {"alt": "a" * 30}}), "no picture"),
        (outputs(FIGURE, *[shown(image_png=PNG)] * 2), "2 pictures"),
    ],
    rules.pictures_have_numbered_captions: [
        (says(CAPTION, "The first key takes it."), "Figure 1."),
    ],
    rules.the_title_is_the_one_heading_of_its_level: [
        (adds(IDEA, "# Another title"), "one '# Title'"),
    ],
    rules.minutes_are_computed_and_few: [
        (adds(IDEA, "word " * 1500), "computed is '**Time:** 35 minutes, and 23 for"),
        (adds(OBJECTIVES, "●○○ 4 minutes"), "and 27 for the exercises.': run make notebooks"),
        (adds(IDEA, "word " * 4000), " and may take 40: shorten it"),
    ],
    rules.exercises_have_a_stub_a_hint_a_grader_and_a_solution: [
        (lambda cells: cells.__delitem__(slice(SECOND, SECOND + 10)), "one an objective"),
        (lambda cells: cells.__delitem__(slice(SECOND, SECOND + 5)), "'### Exercise 1: …'"),
        (says(SECOND, "### Exercise 2: Go\n\n●○○ · 3 minutes"), "lacks a line '●○○ 5 minutes'"),
        (drops(HINT), "'Exercise 1: Read the picture' lacks a hint"),
        (outputs(ATTEMPT, printed("Not yet: no.")), "lacks a stub"),
        (says(SOLUTION, "Each key answers half of it, so turn it round."), "lacks a cell from"),
        (says(SOLUTION, folded("Turn it round.")), "the reason in a sentence"),
        (outputs(SOLVED, printed("Not yet: no.")), "'Correct:'"),
    ],
    rules.code_is_python_that_runs_anywhere: [
        (says(NUMBERS, "!pip install torch"), "runs a shell"),
        (says(NUMBERS, "warnings.filterwarnings('ignore')"), "hides warnings"),
        (says(NUMBERS, "model = Model.from_pretrained('gpt2')"), "downloads"),
        (says(NUMBERS, "def"), "no Python"),
    ],
    rules.functions_have_bodies: [
        (says(NUMBERS, "def f():\n    ..."), "f has no body: a reader's stub"),
        (says(NUMBERS, "def f():\n    'Do it.'\n    pass"), "f has no body"),
    ],
    rules.names_are_assigned_once: [
        (says(CLAIM, "weights = 2"), "weights was assigned in cell 6"),
        (says(CLAIM, "weights += 1"), "weights was assigned in cell 6"),
        (says(CLAIM, "a, (weights, *b) = f()"), "weights was assigned"),
        (
            says(CLAIM, "for i, weights in f():\n    print(i)"),
            "a loop overwrites weights of cell 6",
        ),
    ],
    rules.one_thing_has_one_name: [
        (says(CLAIM, "attn = 1"), "attn is weights"),
        (says(CLAIM, "out, attn_weights = mha(x)"), "attn_weights is weights"),
        (says(CLAIM, "B, T = x.shape"), "B is batch"),
    ],
    rules.links_resolve: [
        (says(IDEA, "[a](gone.ipynb)"), "gone.ipynb: there is no such page"),
        (says(IDEA, "[a](references.bib)"), "there is no such page"),
        (says(IDEA, "[a](other.ipynb#gone)"), "no heading or entry 'gone'"),
        (says(IDEA, "[a](glossary.md#key)"), "no heading or entry 'key'"),
        (says(IDEA, "[a](bibliography.md#nobody2020)"), "no heading or entry 'nobody2020'"),
        (says(IDEA, "[a](http://example.org)"), "use https"),
        (says(IDEA, "[a](/etc/hosts.md)"), "a file of the book"),
    ],
    rules.prose_reads_the_same_everywhere: [
        (says(IDEA, "```{note}\nText\n```"), "the directive {note}"),
        (says(IDEA, ":::{tip}\nText\n:::"), "':::'"),
        (says(IDEA, "See {cite}`a`."), "the role {cite}"),
        (says(IDEA, "(label)=\n## The idea"), "'(label)='"),
        (says(IDEA, "% a comment"), "'%' comment"),
        (says(IDEA, "+++"), "'+++'"),
        (says(IDEA, "{{ name }}"), "substitution"),
        (says(IDEA, "Text[^1]"), "a footnote"),
        (says(IDEA, "[a](#b){.c}"), "attribute"),
        (says(IDEA, "$$a$$ (label)"), "\\tag"),
        (says(IDEA, "\\begin{align}a\\end{align}"), "mathematics without $$"),
        (says(IDEA, "![a](a.png)"), "a linked picture"),
        (says(IDEA, "<details ontoggle='go()'>\n\na\n\n</details>"), "ontoggle"),
        (sets(IDEA, attachments={"a.png": {"image/png": "AAAA"}}), "an attachment"),
        (says(IDEA, "<div>a</div>"), "<div>"),
        (says(IDEA, "a <span>b</span>"), "<span>"),
        (says(IDEA, "<!-- a -->"), "<!-->"),
        (says(IDEA, "<details><summary>Hint</summary>\nText\n\n</details>"), "no blank line"),
        (says(IDEA, "<details><summary>Hint</summary>\n\nText"), "does not close"),
        (says(TITLE, "---\na: 1\n---\n# Title"), "front matter"),
    ],
    rules.nothing_is_left_unfinished: [
        (adds(IDEA, "TODO"), "'TODO'"),
        (adds(NUMBERS, "# FIXME"), "'FIXME'"),
        (adds(IDEA, "Lorem ipsum"), "'Lorem'"),
        (adds(IDEA, "A placeholder."), "'placeholder'"),
        (prints("coming soon"), "'coming soon'"),
        (says(IDEA, ""), "is empty"),
    ],
}


def cases(table):
    return [
        pytest.param(rule, *case, id=f"{rule.__name__}-{number}")
        for rule, broken in table.items()
        for number, case in enumerate(broken)
    ]


@pytest.mark.parametrize(("rule", "change", "complaint"), cases(BROKEN))
def test_a_chapter_that_breaks_a_rule_is_told(rule, change, complaint, folder):
    found = rule(chapter(folder, change))
    if complaint is None:
        assert found == []
        return
    assert any(complaint in sentence for sentence in found), found
    assert all(sentence.startswith("good.ipynb") for sentence in found)


def test_every_rule_is_broken_here():
    assert {*BROKEN} == {*rules.RULES}


ALLOWED = {
    rules.outputs_load_and_run_nothing: [
        (html('<a href="https://example.org">read</a>'),),
        (html('<img src="data:image/png;base64,AAAA"><use href="#a"/>'),),
        (html("<img src=\"data:image/svg+xml,<rect fill='url(%23masked)'/>\">"),),
        (html("<p>on a = b, at the source</p>"),),
        (html("<p>onclick='a' &lt;script> url(a.png)</p><i data-state='url(a)'></i>"),),
        (html("<style>b { fill: url(#a) }</style><rect fill='url(#masked)'/>"),),
        (outputs(FIGURE, shown(**{"image_svg+xml": SVG})),),
        (html("<image href=\"data:image/svg+xml,%3Cpath stroke='url(%23masked)'/%3E\"/>"),),
    ],
    rules.outputs_name_no_address_and_no_path: [
        (prints("1 / 2, (1/2), 0x1f, query/key, torch.float32"),),
        (html("<p>a</p><br/><b>/</b>"),),
    ],
    rules.outputs_hold_only_text_html_and_pictures: [
        (outputs(FIGURE, shown(**{"image_svg+xml": SVG})),),
    ],
    rules.pictures_have_numbered_captions: [(outputs(FIGURE, shown(**{"image_svg+xml": SVG})),)],
    rules.outputs_warn_of_nothing: [(outputs(TIMED, printed("9%|", "stderr")),)],
    rules.numbers_have_at_most_three_decimals: [
        (prints("1e-06 1.234e-06 0.125 torch 2.13.0 12345 10.000"),),
        (outputs(FIGURE, shown(**{"image_svg+xml": SVG})),),
        (outputs(ERROR, raised("ValueError", "got 0.123456")),),
    ],
    rules.what_is_not_compared_is_a_measurement_with_a_claim: [
        (outputs(TIMED, printed("dot  3 µs")),),
        (outputs(TIMED, printed("peak 1.5 GiB")),),
        (inserts(CLAIM, markdown("Which is quicker?")),),
    ],
    rules.code_is_python_that_runs_anywhere: [(says(TIMED, "%timeit mix(1, 2)"),)],
    rules.minutes_are_computed_and_few: [
        (adds(TASK, "word " * 1500),),
        (adds(SOLVED, "x\n" * 90),),
        (adds(IMPORTS, "import torch\n" * 90),),
    ],
    rules.exercises_have_a_stub_a_hint_a_grader_and_a_solution: [
        (lambda cells: cells.__delitem__(slice(SECOND, SECOND + 5)) or renumber(cells),),
        (outputs(ATTEMPT, shown(text_plain=rules.UNWRITTEN, text_html="<p>a</p>")),),
    ],
    rules.functions_have_bodies: [
        (says(CLAIM, "def f(x):\n    return ...  # your turn"),),
        (says(CLAIM, "class Odd(ValueError):\n    'Odd.'\n    a = 1"),),
    ],
    rules.names_are_assigned_once: [
        (says(CLAIM, "fig, ax = f()\n_, a = f()\n_, b = f()"),),
        (says(CLAIM, "for i in f():\n    print(i)\nfor i in f():\n    print(i)"),),
        (says(CLAIM, "def f(weights):\n    torch = weights\n    return torch"),),
        (says(CLAIM, "print([weights for weights in f()], lambda weights: weights)"),),
        (says(CLAIM, "weights[0] = 1\nmix.a = 2"),),
        (says(CLAIM, "total = 0\nfor i in f():\n    total += i\nwhile f():\n    total -= 1"),),
    ],
    rules.one_thing_has_one_name: [
        (says(CLAIM, "F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"),),
        (says(CLAIM, "Q, K, V = X @ W_q, X @ W_k, X @ W_v\ntorch.softmax(Q, dim=-1)"),),
        (says(CLAIM, "def relu(x):\n    return x\n\n\ndef pick(scores, k, dim):\n    return k"),),
        (says(CLAIM, "def field(ax, x, y, keys):\n    heads = hidden = x\n    return heads"),),
    ],
    rules.links_resolve: [
        (says(IDEA, "[a](https://example.org/x) [b](glossary.md#label) [c](#what-it-costs)"),),
        (says(IDEA, "`[a](gone.ipynb)`"),),
    ],
    rules.prose_reads_the_same_everywhere: [
        (says(IDEA, "`{a}` `:::` 5 % of `[^1]`, $x_{.5}^{\\{a\\}}$, a < b > c, 1. (a)= b"),),
        (says(IDEA, "$$\n\\begin{aligned}a\\end{aligned} \\tag{1}\n$$"),),
        (says(IDEA, "```python\n%timeit f()\n```"),),
        (says(IDEA, "<details><summary>Hint</summary>\n\nText<br>\n\n</details>"),),
    ],
    rules.nothing_is_left_unfinished: [(adds(IDEA, "Have little to do, and a WIPED slate."),)],
}


@pytest.mark.parametrize(("rule", "change"), cases(ALLOWED))
def test_a_rule_accepts_what_it_does_not_forbid(rule, change, folder):
    assert rule(chapter(folder, change)) == []


def test_chapters_after_part_one_take_fifty_minutes_at_most(folder):
    for words, complaints in ((2500, 1), (4000, 2)):  # the first is about the stated minutes
        longer = chapter(folder, adds(IDEA, "word " * words))
        longer.part = "Part II: deeper"
        assert len(rules.minutes_are_computed_and_few(longer)) == complaints


def test_broken_rules_of_pages_are_found(folder):
    (folder / "page.md").write_text("# Page\n\n[a](gone.md)\n\nTODO\n")
    page = rules.Notebook.page(folder / "page.md")
    assert rules.links_resolve(page) == ["page.md, cell 1: link gone.md: there is no such page"]
    assert rules.nothing_is_left_unfinished(page)


def test_uncited_bibliography_entry_is_found():
    bibliography = "@book{ada1843,\n}\n\n@misc{babbage1864,\n}\n\n@misc{turing1936zahlen,\n}\n"
    assert list(rules.uncited(bibliography, "Ada and others (1843), [B](b.md#babbage1864)")) == [
        "turing1936zahlen"
    ]


TERM = "## query\n\n查询. What asks. [Look up](other.ipynb)\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"# Glossary\n\n{TERM}", None),
        (f"# Glossary\n\n{TERM}\n## 键\n\n键 [Look up](other.ipynb)", "English"),
        (f"# Glossary\n\n{TERM}\n## key\n\n[Look up](other.ipynb)", "简体中文"),
        (f"# Glossary\n\n{TERM}\n## key\n\n键", "link to its chapter"),
        ("# Glossary", "no terms"),
    ],
)
def test_missing_glossary_entries_are_found(text, complaint, folder):
    (folder / "terms.md").write_text(text)
    found = rules.glossary_is_bilingual(rules.Notebook.page(folder / "terms.md"))
    assert complaint in found[0] if complaint else found == []
