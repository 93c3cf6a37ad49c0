"""Build the website: what ``make book`` calls; :mod:`website.book` does it."""

from pathlib import Path

from website import belongs_here
from website.book import main

if __name__ == "__main__":
    belongs_here(Path(__file__).resolve().parent.parent)
    main()
