"""How the book becomes a website, in the order in which make comes by.

``book`` holds _toc.yml against the files and builds; ``notebooks`` runs chapters and stores them
in one form; ``pictures`` says whether two show the same; ``minutes`` computes how long a chapter
takes; ``rules`` are those of the chapters; ``inert`` finds what stored HTML would load or run.
``stills`` draws figures at rest, in ``browser``; ``copies`` and ``classroom`` make notebooks for a
class; ``npm`` has what the build takes from npm; ``seed_shift`` shifts the seeds of tests.
``extensions`` is what the build adds to Sphinx; ``theme`` and ``static`` are what pages look like.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def belongs_here(root=ROOT):
    """Refuse, in a sentence, to work on one checkout with the ``.venv`` of another.

    The library is installed there as a link: notebooks and pages would show the other checkout.
    Whoever means it puts this checkout first, by PYTHONPATH.
    """
    environment = Path(sys.prefix)
    first = os.environ.get("PYTHONPATH", "").split(os.pathsep)[0]
    if environment.name == ".venv" and environment.parent != root and first != str(root):
        sys.exit(
            f"This command is of the checkout {root}, but its Python belongs to "
            f"{environment.parent}: run {root}/.venv/bin/python instead, or make."
        )
