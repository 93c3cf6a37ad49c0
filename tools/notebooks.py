"""Run notebooks and store them: what ``make notebooks`` calls; :mod:`website.notebooks` does it.

``.venv/bin/python tools/notebooks.py --help`` says how.
"""

from website.notebooks import main

if __name__ == "__main__":
    main()
