"""How a chapter is built."""

import ast
import re
from statistics import median

from website import minutes
from website.rules.code import walk
from website.rules.reading import rule, under
from workbook.classroom.copies import SOLUTION

BEFORE = ["Objectives", "The idea", "The code", "The picture"]
AFTER = ["Exercises", "Summary"]


@rule
def headings_stand_in_order(notebook):
    found = []
    for cell in notebook.prose:
        found += [(level, text) for level, text, _ in cell.headings]
    titles = [text for level, text in found if level == 1]
    if len(titles) != 1 or found[0][0] != 1 or notebook.cells[0].kind != "markdown":
        yield None, f"needs one '# Title', at its start; has {titles}"
    sections = [text for level, text in found if level == 2]
    if sections[:4] != BEFORE or sections[-2:] != AFTER or len({*sections}) < len(sections):
        fixed = ", ".join([*BEFORE, "…", *AFTER])
        yield None, f"the '##' headings must be {fixed}, each once; they are {', '.join(sections)}"
    elif len(sections) > len(BEFORE) + 3 + len(AFTER):
        further = sections[len(BEFORE) : -len(AFTER)]
        yield None, f"at most three further '##' sections; has {', '.join(further)}: give one away"


@rule
def the_title_makes_one_want_it_and_dares(notebook):
    """A sentence, and one in bold: what to try with the figure below."""
    title = notebook.cells[0]
    text = [inline.content for inline in title.inlines[1:]]
    dares = [dare for line in text for dare in re.findall(r"\*\*([^*]+)\*\*", line)]
    if not re.sub(r"\*\*[^*]+\*\*", "", " ".join(text)).strip(" .!?"):
        yield title, "the title needs a sentence that makes the reader want it"
    if len(dares) != 1 or len(dares[0].split()) < 3:
        yield title, "the title cell needs one dare to the figure below, a sentence in **bold**"


@rule
def the_figure_comes_first(notebook):
    """The second cell shows the chapter's figure with sliders, and does nothing else."""
    cell = notebook.cells[min(1, len(notebook.cells) - 1)]
    body = cell.tree.body if cell.kind == "code" and cell.tree else []
    shown = any("attention-widget" in "".join(data.get("text/html", "")) for data in cell.mimes)
    if not shown or "hide-input" not in cell.tags:
        yield cell, "must show the chapter's figure with sliders, and be tagged hide-input"
        return
    *imports, figure = body
    modules = [getattr(node, "module", None) or "" for node in imports]
    ours = all(module.partition(".")[0] in ("attention_lib", "workbook") for module in modules)
    if not (modules and ours and isinstance(figure, ast.Expr)):
        yield cell, "must be imports from attention_lib or workbook, then the figure"


@rule
def a_chapter_has_at_most_40_cells(notebook):
    practice = {part.number for part in notebook.sections.get("Exercises", [])}
    others = [cell for cell in notebook.cells if cell.number not in practice]
    if len(others) > 40:
        yield None, f"has {len(others)} cells without its exercises, at most 40: give some away"


@rule
def code_is_short(notebook):
    shown = []
    for cell in notebook.code:
        folded = {"hide-input", "hide-cell"} & {*cell.tags}
        lines, limit = len(cell.lines), 40 if folded else 15
        if lines > limit:
            kind = "folded" if folded else "shown"
            yield (
                cell,
                f"{lines} lines of {kind} code, at most {limit}: split it, or use the library",
            )
        shown += [] if folded else [lines]
    if shown and median(shown) > 5:
        yield None, f"the median shown cell has {median(shown):g} lines of code: at most 5"


def imports_alone(cell):
    """Whether a cell imports, says how many threads there are, and sets the figures' style."""
    body = cell.tree.body if cell.tree else []
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [ast.unparse(node) for node in body if node not in imports]
    return bool(imports) and others == ["torch.set_num_threads(1)", "plots.use_style()"]


@rule
def everything_is_imported_in_one_folded_cell(notebook):
    """Under the objectives; the figure before them brings its own import."""
    objectives = {part.number for part in notebook.sections.get("Objectives", [])}
    found = [cell for cell in notebook.code if cell.number in objectives]
    if len(found) != 1 or not imports_alone(found[0]) or "hide-input" not in found[0].tags:
        yield (
            found[0] if found else None,
            "between '## Objectives' and '## The idea' stands one cell, tagged hide-input: all "
            "imports, then torch.set_num_threads(1) and plots.use_style()",
        )
    for cell in notebook.code:
        body = cell.tree.body if cell.tree and cell not in found and cell.number != 2 else []
        if any(isinstance(node, ast.Import | ast.ImportFrom) for node in body):
            yield cell, "imports something: move that to the folded cell under '## Objectives'"


@rule
def objectives_and_summary_answer_each_other(notebook):
    for name in ("Objectives", "Summary"):
        cells = notebook.sections.get(name)
        if not cells:
            yield None, f"has no '## {name}'"
            continue
        tokens = [token for cell in cells for token in cell.tokens]
        bullets = sum(token.type == "list_item_open" and token.level == 1 for token in tokens)
        if bullets != 3:
            yield cells[0], f"{bullets} bullets: three objectives, and one for each in the summary"
        text = "\n".join(cell.source for cell in cells)
        for wanted, what in LACKS[name].items():
            if not re.search(wanted, text, re.MULTILINE):
                yield cells[0], f"'## {name}' lacks {what}"
    links = [target for cell in notebook.sections.get("Summary", []) for target in cell.links]
    following = notebook.following
    if following and following not in [link.partition("#")[0] for link in links]:
        yield None, f"'## Summary' names no next chapter: end it with a link to {following}"


LACKS = {
    "Objectives": {
        r"[Yy]ou can ": "'you can …': objectives are abilities",
        r"^\*\*Before:\*\* \S": "a line '**Before:** …' that says what is needed",
        minutes.TIME.pattern: "the line '**Time:** 25 minutes, and 15 for the exercises.'",
    },
    "Summary": {"attention_lib|workbook": "'attention_lib': say where the functions live now"},
}


MINUTES = 40  # of a chapter in Part I; the others take what they take, and say so


@rule
def minutes_are_computed_and_few(notebook):
    """By :mod:`website.minutes`."""
    said = [cell for cell in notebook.prose if minutes.TIME.search(cell.source)]
    line = minutes.line(notebook.raw)
    for cell in said:
        if (found := minutes.TIME.search(cell.source)[0]) != line:
            yield cell, f"says {found!r}, computed are {line!r}: run make notebooks"
    takes = minutes.reading(notebook.raw)
    if notebook.part.startswith("Part I:") and takes > MINUTES:
        yield None, f"takes {takes:.1f} minutes, at most {MINUTES}: give an idea away"


@rule
def the_code_is_held_against_the_library(notebook):
    cells = notebook.sections.get("The code", [])
    asserts = (isinstance(node, ast.Assert) for c in cells if c.kind == "code" for node in walk(c))
    if not any(asserts):
        yield None, "'## The code' asserts nothing: end it with an assert against attention_lib"


def is_folded_solution(source):
    """Whether a text is the text of a solution and nothing else, folded."""
    return source.startswith(f"{SOLUTION}\n") and source.endswith("\n</details>")


UNWRITTEN = "Write it, then run this cell."


@rule
def exercises_have_a_stub_a_hint_a_grader_and_a_solution(notebook):
    parts = under(3, notebook.sections.get("Exercises", []))
    parts.pop("Quiz", None)
    found = [re.match(r"Exercise (\d+): \S", text) for text in parts]
    numbers = [int(match[1]) for match in found if match]
    if len(found) < 3 or numbers != [*range(1, len(found) + 1)]:
        yield (
            None,
            "needs '### Exercise 1: …', '### Exercise 2: …' and so on under '## Exercises', one an "
            f"objective at least; has {[*parts]}",
        )
        return
    for title, cells in parts.items():
        said = {c: [text.strip() for text in c.texts()] for c in cells if c.kind == "code"}
        stubs = [cell for cell in said if "hide-cell" not in cell.tags]
        solutions = [cell for cell in said if "hide-cell" in cell.tags]
        prose = [cell.source for cell in cells if cell.kind == "markdown"]
        text = "\n".join(prose)
        reason = next((source for source in prose if is_folded_solution(source)), "")
        wanted = {
            "a line '●○○ 5 minutes' (or ●●○, ●●●: how hard, how long)": minutes.LEVEL.search(text),
            "a hint: <details><summary>Hint</summary>": "<details><summary>Hint</summary>" in text,
            f"a stub, 'answer = ...', whose grader says {UNWRITTEN!r}": any(
                UNWRITTEN in said[cell] for cell in stubs
            ),
            f"a cell from {SOLUTION} to </details> that gives the reason in a sentence": (
                len(reason.split()) >= 5 + len(SOLUTION.split()) + 1
            ),
            "a solution, tagged hide-cell, whose grader says 'Correct:'": any(
                "Correct:" in " ".join(said[cell]) for cell in solutions
            ),
        }
        yield from (
            (cells[0], f"{title!r} lacks {what}") for what, has in wanted.items() if not has
        )


@rule
def the_quiz_comes_first_and_can_be_answered(notebook):
    parts = under(3, notebook.sections.get("Exercises", []))
    if next(iter(parts), None) != "Quiz":
        yield None, "needs '### Quiz', the first thing under '## Exercises'"
        return
    text = "\n".join(cell.source for cell in parts["Quiz"] if cell.kind == "markdown")
    asked = [c for c in parts["Quiz"] if "attention-quiz" in "".join(map(str, c.mimes))]
    if not minutes.LEVEL.search(text):
        yield parts["Quiz"][0], "the quiz needs a line '●○○ 3 minutes'"
    if len(asked) != 1 or "hide-input" not in asked[0].tags:
        yield parts["Quiz"][0], "the quiz is one cell, exercise.quiz(), tagged hide-input"
