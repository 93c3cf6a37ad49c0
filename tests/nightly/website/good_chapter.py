"""A chapter that keeps every rule of website/rules, and ways to change it in one place."""

import copy
import io
import json
import re

from PIL import Image

from website import notebooks, pictures, rules

PICTURE = io.BytesIO()
Image.new("RGB", (4, 3), "white").save(PICTURE, format="png")
PNG = pictures.encode(PICTURE.getvalue())


def markdown(source):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source, *outputs, tags=(), alt=None):
    metadata = {"tags": list(tags)} if tags else {}
    metadata |= {"mystnb": {"image": {"alt": alt}}} if alt else {}
    cell = {"cell_type": "code", "metadata": metadata, "source": source}
    return cell | {"execution_count": 1, "outputs": list(outputs)}


def printed(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def shown(**data):
    data = {mime.replace("_", "/"): value for mime, value in data.items()}
    return {"output_type": "display_data", "metadata": {}, "data": data}


def raised(name, message):
    return {"output_type": "error", "ename": name, "evalue": message, "traceback": []}


def folded(reason):
    return f"<details><summary>Solution</summary>\n\n{reason}\n\n</details>"


def exercise(number, title):
    task = f"### Exercise {number}: {title}\n\n●○○ 5 minutes\n\nDo it."
    hint = "<details><summary>Hint</summary>\n\nLook again.\n\n</details>"
    return [
        markdown(task),
        code(f"answer_{number} = ...", printed(f"{rules.UNWRITTEN}\n")),
        markdown(hint),
        markdown(folded("Each key answers half of it, so turn it round.")),
        code(f"solution_{number} = 1 / {number}", printed("Correct: it is."), tags=["hide-cell"]),
    ]


BULLETS = "- you can look up;\n- you can mix;\n- you can mask."
NEEDED = "**Before:** the product of two matrices."
TIME = "**Time:** 10 minutes, and 23 for the exercises."
WIDGET = '<figure class="attention-widget" data-state="1.23456"><svg></svg></figure>'
QUIZ = '<ol class="attention-quiz"><li>What?</li></ol>'
SVG = '<svg><path d="M 1.23456 2" clip-path="url(#p1)"/></svg>'
GOOD = [
    markdown("# Look up softly\n\nA dictionary answers one key.\n\n**Make all keys answer.**"),
    code(
        "from attention_workbook.figures import SoftLookup\n\nSoftLookup()",
        shown(text_html=WIDGET, text_plain="SoftLookup()"),
        tags=["hide-input"],
    ),
    markdown(f"## Objectives\n\n{BULLETS}\n\n{NEEDED}\n\n{TIME}"),
    code(
        "import torch\n\nfrom attention_lib import plots, show\n\n"
        "torch.set_num_threads(1)\nplots.use_style()",
        tags=["hide-input"],
    ),
    markdown(
        "## The idea\n\nA [query](glossary.md#query-1) asks, as [before](other.ipynb#the-code)."
    ),
    code("weights = torch.tensor([0.75, 0.25])\nshow(weights)", printed("[0.750 0.250]\n")),
    markdown("## The code\n\n$$\\alpha = 1 \\tag{1}$$\n\n| a | b |\n|---|---|\n| $x_1$ | `{a}` |"),
    code("def mix(weights, values):\n    return weights @ values\n\n\nassert callable(mix)"),
    markdown("## The picture\n\nSee [Bahdanau et al., 2015](bibliography.md#bahdanau2015)."),
    code(
        "fig, ax = plots.subplots()\nplots.show()",
        shown(image_png=PNG, text_plain="<Figure size 560x350 with 1 Axes>"),
        tags=["hide-input"],
        alt="The first key takes three quarters of the weight",
    ),
    markdown("**Figure 1.** The first key takes three quarters."),
    code("plots.table(weights)", printed("0.75\n"), tags=["hide-input"]),
    markdown("## What it costs\n\nMore keys, more work; see [above](#the-code)."),
    code("print(time_of(mix))", printed("12.3 ms\n"), tags=["nbval-ignore-output"]),
    code("print(1 < 2)", printed("True\n")),
    code("mix(1, 'a')", raised("TypeError", "got 0.123456"), tags=["raises-exception"]),
    markdown("## Exercises\n\n### Quiz\n\n●○○ 3 minutes\n\nThree questions."),
    code("check.quiz()", shown(text_html=QUIZ, text_plain="1. What?"), tags=["hide-input"]),
    *exercise(1, "Read the picture"),
    *exercise(2, "Change a line"),
    *exercise(3, "Write a variant"),
    *exercise(4, "Write it all"),
    markdown(f"## Summary\n\n{BULLETS}\n\nIt is `attention_lib`'s. Next: [another](other.ipynb)."),
]
TITLE, FIRST, OBJECTIVES, IMPORTS, IDEA, NUMBERS, CODE, BUILD, PICTURED, FIGURE, CAPTION, TABLE = (
    range(12)
)
COST, TIMED, CLAIM, ERROR, QUIZ_TASK, ASKED = range(12, 18)
TASK, ATTEMPT, HINT, SOLUTION, SOLVED = range(18, 23)
SECOND = TASK + 5  # the second exercise


def chapter(folder, change=None):
    """The chapter that keeps the rules, changed in one place."""
    raw = notebooks.normalise({"cells": copy.deepcopy(GOOD), "nbformat": 4, "metadata": {}}, "good")
    raw = json.loads(notebooks.to_text(raw))
    if change:
        change(raw["cells"])
    return rules.Notebook(raw, "good.ipynb", folder, "Part I: the mechanism", "other.ipynb")


def sets(index, **fields):
    return lambda cells: cells[index].update(fields)


def says(index, source):
    return sets(index, source=source)


def adds(index, source):
    return lambda cells: cells[index].update(
        source="".join(cells[index]["source"]) + "\n\n" + source
    )


def outputs(index, *outputs):
    return sets(index, outputs=list(outputs))


def metadata(index, **fields):
    return lambda cells: cells[index]["metadata"].update(fields)


def drops(index):
    return lambda cells: cells.pop(index)


def inserts(index, cell):
    return lambda cells: cells.insert(index, cell)


def renumber(cells):
    """Give the exercises, one of which went, their numbers in order."""
    titles = [cell for cell in cells if "### Exercise" in "".join(cell["source"])]
    for number, cell in enumerate(titles, 1):
        cell["source"] = re.sub(r"Exercise \d+", f"Exercise {number}", "".join(cell["source"]))


def alt(text):
    return metadata(FIGURE, mystnb={"image": {"alt": text}})


def html(text):
    return outputs(TABLE, shown(text_html=text))


def prints(text):
    return outputs(NUMBERS, printed(text))
