"""How long a chapter takes: computed, not felt.

Its text: 1.4 times (prose words / 120 + shown lines of code / 2 + 2.5 a figure), rounded up to 5
minutes. Fitted to seven chapters as careful first readings took them, 45 to 70 minutes each. Later,
reading straight through at 200 words a minute took four to nine tenths of what it says, and the
front page says so. Folded code and what stands under ``## Exercises`` do not count. Its
exercises: the minutes that they state, added up. ``make notebooks`` writes both into the chapter's
line ``**Time:** …``, and the front page adds them up for each part.
"""

import math
import re

HEADING = re.compile(r"^(?=## )", re.MULTILINE)
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
LEVEL = re.compile(r"^(●○○|●●○|●●●) (\d+) minutes\b", re.MULTILINE)  # of an exercise
TIME = re.compile(r"^\*\*Time:\*\*.*$", re.MULTILINE)
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
PICTURES = {"image/png", "image/svg+xml"}


def reading(notebook):
    """The minutes that a chapter's text takes, exactly. A formula counts as a word."""
    words = lines = figures = 0
    in_text = True
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for block in HEADING.split(source):
                if block.startswith("## "):
                    in_text = not block.startswith("## Exercises")
                words += in_text * len(FORMULA.sub(" x ", block).split())
        elif in_text and cell["cell_type"] == "code":
            if not FOLDED & {*cell["metadata"].get("tags", [])}:
                lines += sum(bool(line.strip()) for line in source.splitlines())
            figures += sum(map(is_figure, cell.get("outputs", [])))
    return 1.4 * (words / 120 + lines / 2 + 2.5 * figures)


def is_figure(output):
    data = output.get("data", {})
    return bool(PICTURES & {*data}) or "attention-widget" in "".join(data.get("text/html", ""))


def rounded(minutes):
    """Up to the next five."""
    return 5 * math.ceil(round(minutes, 6) / 5)


def exercises(notebook):
    """The minutes that a chapter's exercises state, added up."""
    prose = ("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    return sum(int(minutes) for text in prose for _, minutes in LEVEL.findall(text))


def line(notebook):
    """The line of a chapter that says its minutes."""
    read, practise = rounded(reading(notebook)), exercises(notebook)
    return f"**Time:** {read} minutes, and {practise} for the exercises."


def filled_in(notebook):
    """Give a notebook's line, where there is one, the minutes of today."""
    time_line = line(notebook)  # it has as many words whatever the numbers
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and TIME.search(cell["source"]):
            cell["source"] = TIME.sub(time_line, cell["source"], count=1)
            break
    return notebook
