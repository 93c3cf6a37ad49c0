"""What nbval leaves out: the form of a notebook, its outputs, its pictures."""

import json
import re
from pathlib import Path

from attention_workbook.classroom.copies import SOLUTION
from website import notebooks
from website.harmless import harms
from website.pictures import KINDS, SVG
from website.rules.anatomy import imports_alone, is_folded_solution
from website.rules.reading import rule


@rule
def every_cell_was_run_in_order(notebook):
    for count, cell in enumerate(notebook.code, 1):
        if not cell.source.strip():
            yield cell, "the cell is empty: delete it"
        elif cell.raw["execution_count"] != count:
            stored_count = cell.raw["execution_count"]
            yield cell, f"In [{stored_count}] stands where In [{count}] belongs: run make notebooks"


@rule
def errors_stand_only_where_they_are_the_lesson(notebook):
    for cell in notebook.code:
        raised = [output for output in cell.outputs if output["output_type"] == "error"]
        if raised and "raises-exception" not in cell.tags:
            yield cell, f"raises {raised[0]['ename']}: mend it, or tag the cell raises-exception"
        if "raises-exception" in cell.tags and not raised:
            yield cell, "is tagged raises-exception and raises nothing: drop the tag"


@rule
def the_form_is_canonical(notebook):
    canonical = notebooks.to_text(notebooks.normalise(notebook.raw, Path(notebook.name).stem))
    if json.loads(canonical) != json.loads(
        notebooks.to_text(notebooks.nbformat.from_dict(notebook.raw))
    ):
        yield None, "is not in canonical form (metadata, counts, widget state): run make notebooks"


@rule
def outputs_hold_only_text_html_and_pictures(notebook):
    allowed = {"text/plain", "text/html", *KINDS, notebooks.WIDGET_VIEW}
    for cell in notebook.code:
        for data in cell.mimes:
            for mime in sorted({*data} - allowed):
                yield cell, f"an output is {mime}: show it as text, HTML, PNG or SVG"


@rule
def widgets_have_html(notebook):
    for cell in notebook.code:
        if any(notebooks.WIDGET_VIEW in data and "text/html" not in data for data in cell.mimes):
            yield cell, "a widget without text/html vanishes from the website: give it one"


@rule
def outputs_load_and_run_nothing(notebook):
    for cell in notebook.code:
        for data in cell.mimes:
            for mime in ("text/html", SVG):
                if harmful := harms("".join(data.get(mime, ""))):
                    kind = mime.rpartition("/")[2].partition("+")[0].upper()
                    yield cell, f"its {kind} loads or runs something ({harmful[0]}): take that out"


@rule
def outputs_name_no_address_and_no_path(notebook):
    for cell in notebook.code:
        for text in cell.texts():
            if match := re.search(r"0x[0-9a-fA-F]{6,}", text):
                yield cell, f"shows an address in memory, {match[0]}: print its value"
            if match := re.search(r"(?:^|[\s\"'(=])(/[\w.-]+/[\w./-]+|[A-Z]:\\\S+)", text):
                yield cell, f"shows a path of one machine ({match[1]}): print a name instead"


@rule
def outputs_warn_of_nothing(notebook):
    for cell in notebook.code:
        if "nbval-ignore-output" in cell.tags:
            continue
        for output in cell.outputs:
            if output.get("name") == "stderr":
                warning = "".join(output["text"]).strip().splitlines()[0]
                yield cell, f"writes to stderr ({warning}): mend the cause"


@rule
def cells_do_not_end_in_a_semicolon(notebook):
    for cell in notebook.code:
        if cell.source.rstrip().endswith(";"):
            yield cell, "ends in ';', which nbval runs as if it were not there: end in plt.show()"


TAGS = {"hide-input", "hide-cell", "nbval-ignore-output", "raises-exception"}


@rule
def tags_are_known_and_mean_what_they_say(notebook):
    for cell in notebook.cells:
        for tag in {*cell.tags} - (TAGS if cell.kind == "code" else set()):
            yield cell, f"tag {tag!r}: only code cells have tags, {', '.join(sorted(TAGS))}"
        if "hide-input" in cell.tags and not (cell.outputs or imports_alone(cell)):
            yield cell, "is tagged hide-input and neither shows nor imports: show its code"
        before = notebook.cells[cell.number - 2].source
        if "hide-cell" in cell.tags and not is_folded_solution(before):
            yield cell, f"is tagged hide-cell and follows no cell from {SOLUTION} to </details>"
        if comment := re.search(r"#\s*(NBVAL_\w+|PYTEST_VALIDATE\w+)", cell.source):
            yield cell, f"comment {comment[1]} hides it from nbval: use a tag"


MEASURED = re.compile(r"\d\s*(?:[num\u00b5\u03bc]?s|min|[kKMGT]?i?B|it/s)\b")


@rule
def what_is_not_compared_is_a_measurement_with_a_claim(notebook):
    for cell in notebook.code:
        if "nbval-ignore-output" not in cell.tags:
            continue
        output = " ".join(cell.texts())
        if not MEASURED.search(output) and not cell.pictures:
            yield cell, "is not compared, but measures no time and no memory: drop the tag"
        claim = next((after for after in notebook.after(cell) if after.kind == "code"), None)
        claimed = (
            " ".join(claim.texts()) if claim and "nbval-ignore-output" not in claim.tags else ""
        )
        if "True" not in claimed or "False" in claimed:
            yield cell, "is not compared: let the next code cell print its claim as True"


@rule
def numbers_have_at_most_three_decimals(notebook):
    """In scientific notation (``1.25e-06``) as well. An error says what the library says, but
    with more than six decimals what it says depends on the processor."""
    for cell in notebook.code:
        for text in cell.texts(errors=False):
            if number := re.search(r"\d+\.\d{4,}", without_tags(text)):
                yield cell, f"prints {number[0]}…: at most three decimals, as show(tensor)"
        for output in cell.outputs:
            if number := re.search(r"\d+\.\d{7,}", output.get("evalue", "")):
                yield cell, f"its error says {number[0]}…: round what it says"


def without_tags(text):
    return re.sub(r"<(?:[^<>\"']|\"[^\"]*\"|'[^']*')+>", " ", text)


@rule
def pictures_have_alt_text_that_says_the_finding(notebook):
    for cell in notebook.code:
        alt = cell.raw["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        drawn = cell.pictures
        if drawn and (len(alt) < 25 or " " not in alt or re.search(r"\.(png|svg|jpe?g)$", alt)):
            yield cell, "mystnb.image.alt must say the picture's finding in at least 25 characters"
        if drawn > 1:
            yield cell, f"{drawn} pictures share one alt text: draw one a cell"
        if alt and not drawn:
            yield cell, "has alt text and no picture: drop it, or draw"


@rule
def pictures_have_numbered_captions(notebook):
    drawn = [cell for cell in notebook.code if cell.pictures]
    for number, cell in enumerate(drawn, 1):
        after = "".join(cell.source for cell in notebook.after(cell)[:1])
        if not re.match(rf"\*\*Figure {number}\.\*\* \S", after):
            yield cell, f"the next cell must start with '**Figure {number}.** ' and say the finding"
