"""How long a chapter takes: its text at forty words a minute, and the minutes of its exercises.

Forty is slow reading, with formulas, code and pictures on the way; seven chapters took careful
first readers 45 to 70 minutes each.
"""

import math
import re

LEVEL = re.compile(r"^(?:●○○|●●○|●●●) (\d+) minutes\b", re.MULTILINE)  # of an exercise
TIME = re.compile(r"^\*\*Time:\*\*.*$", re.MULTILINE)
FOLDED = {"hide-input", "hide-cell"}


def minutes(notebook):
    """Of its text, and of its exercises."""
    text = "\n".join(
        "".join(cell["source"])
        for cell in notebook["cells"]
        if not FOLDED & {*cell["metadata"].get("tags", [])}
    )
    read, _, tasks = text.partition("\n## Exercises")
    words = len(re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "x", read, flags=re.DOTALL).split())
    return 5 * math.ceil(words / 40 / 5), sum(map(int, LEVEL.findall(tasks)))


def filled_in(notebook):
    """Give a notebook's line of time, where there is one, the minutes of today."""
    read, tasks = minutes(notebook)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            line = f"**Time:** {read} minutes, and {tasks} for the exercises."
            cell["source"] = TIME.sub(line, "".join(cell["source"]), count=1)
    return notebook
