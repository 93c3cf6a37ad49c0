"""How the book becomes a website, in the order in which make comes by.

``book`` holds _toc.yml against the files and builds; ``notebooks`` runs chapters and stores them
in one form; ``pictures`` says whether two show the same; ``minutes`` computes how long a chapter
takes; ``reseed`` runs the chapters under other seeds; ``rules`` are those of the chapters.
``extensions`` is what the build adds to Sphinx; ``theme`` and ``static`` are what pages look like.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
