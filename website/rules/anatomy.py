"""How a chapter is built."""

import ast
import re

from attention_workbook.classroom.copies import SOLUTION
from website import minutes
from website.rules.reading import rule, under


@rule
def the_title_is_the_one_heading_of_its_level(notebook):
    headings = [heading for cell in notebook.prose for heading in cell.headings]
    titles = [text for level, text, _ in headings if level == 1]
    if len(titles) != 1 or headings[0][0] != 1 or notebook.cells[0].kind != "markdown":
        yield None, f"needs one '# Title', at its start; has {titles}"


def imports_alone(cell):
    """Whether a cell imports, says how many threads there are, and may set the figures' style."""
    body = cell.tree.body if cell.tree else []
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    other_lines = [ast.unparse(node) for node in body if node not in imports]
    settings = ["torch.set_num_threads(1)", "plots.use_style()"]
    return bool(imports) and other_lines in (settings, settings[:1])


PART_I, LATER_PARTS = 40, 50  # minutes of a chapter's text, at most
LONGER = {"one-block.ipynb": 60, "write-a-text.ipynb": 60}  # where a model is built and trained


@rule
def minutes_are_computed_and_few(notebook):
    """By :mod:`website.minutes`."""
    line = minutes.line(notebook.raw)
    for cell in notebook.prose:
        stated = minutes.TIME.search(cell.source)
        if stated and stated[0] != line:
            yield cell, f"says {stated[0]!r}, computed is {line!r}: run make notebooks"
    takes = minutes.reading(notebook.raw)
    usual = PART_I if notebook.part.startswith("Part I:") else LATER_PARTS
    most = LONGER.get(notebook.name, usual)
    if takes > most:
        yield (
            None,
            f"its text takes {takes:.1f} minutes (by website/minutes.py) and may take {most}: "
            "shorten it, or move an idea or a figure to another chapter",
        )


def is_folded_solution(source):
    """Whether a text is the text of a solution and nothing else, folded."""
    return source.startswith(f"{SOLUTION}\n") and source.endswith("\n</details>")


UNWRITTEN = "Write it, then run this cell."


@rule
def exercises_have_a_stub_a_hint_a_grader_and_a_solution(notebook):
    parts = under(3, notebook.sections.get("Exercises", []))
    parts.pop("Quiz", None)
    matches = [re.match(r"Exercise (\d+): \S", text) for text in parts]
    numbers = [int(match[1]) for match in matches if match]
    if len(matches) < 3 or numbers != [*range(1, len(matches) + 1)]:
        yield (
            None,
            "needs '### Exercise 1: …', '### Exercise 2: …' and so on under '## Exercises', one an "
            f"objective at least; has {[*parts]}",
        )
        return
    for title, cells in parts.items():
        outputs = {c: [text.strip() for text in c.texts()] for c in cells if c.kind == "code"}
        stubs = [cell for cell in outputs if "hide-cell" not in cell.tags]
        solutions = [cell for cell in outputs if "hide-cell" in cell.tags]
        prose = [cell.source for cell in cells if cell.kind == "markdown"]
        text = "\n".join(prose)
        reason = next((source for source in prose if is_folded_solution(source)), "")
        required = {
            "a line '●○○ 5 minutes' (or ●●○, ●●●: how hard, how long)": minutes.LEVEL.search(text),
            "a hint: <details><summary>Hint</summary>": "<details><summary>Hint</summary>" in text,
            f"a stub, 'answer = ...', whose grader says {UNWRITTEN!r}": any(
                UNWRITTEN in outputs[cell] for cell in stubs
            ),
            f"a cell from {SOLUTION} to </details> that gives the reason in a sentence": (
                len(reason.split()) >= 5 + len(SOLUTION.split()) + 1
            ),
            "a solution, tagged hide-cell, whose grader says 'Correct:'": any(
                "Correct:" in " ".join(outputs[cell]) for cell in solutions
            ),
        }
        yield from (
            (cells[0], f"{title!r} lacks {part}")
            for part, is_there in required.items()
            if not is_there
        )
