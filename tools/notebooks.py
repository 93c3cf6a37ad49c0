"""Run notebooks and store them: what ``make notebooks`` calls; :mod:`website.notebooks` does it.

``.venv/bin/python tools/notebooks.py --help`` says how.
"""

from pathlib import Path

from website import belongs_here
from website.notebooks import main

if __name__ == "__main__":
    belongs_here(Path(__file__).resolve().parent.parent)
    main()
