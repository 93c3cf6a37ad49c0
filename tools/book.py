"""Build the website: what ``make book`` calls; :mod:`website.book` does it."""

from website.book import main

if __name__ == "__main__":
    main()
