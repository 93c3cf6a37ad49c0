"""Run the book's notebooks and store them in one canonical form.

python tools/notebooks.py                      run every chapter of _toc.yml
python tools/notebooks.py book/masking.ipynb   run these only
python tools/notebooks.py --fresh              keep no stored output: after a new matplotlib
python tools/notebooks.py --tidy               run nothing: mend what another program saved
python tools/notebooks.py --stills             run nothing: draw all figures' stills anew
"""

import argparse
import asyncio
import sys
from pathlib import Path

from website import ROOT, belongs_here, stills
from website.book import ends_in_a_sentence
from website.notebooks import listed_chapters, run_all, tidy


@ends_in_a_sentence
def main(root=ROOT):
    summary, _, usage = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="instead of those of _toc.yml")
    parser.add_argument("--fresh", action="store_true", help="keep no stored output")
    parser.add_argument("--tidy", action="store_true", help="run nothing, mend the form")
    parser.add_argument("--stills", action="store_true", help="run nothing, draw the stills anew")
    arguments = parser.parse_args()
    paths = [path.resolve() for path in arguments.notebooks] or listed_chapters(root)
    if missing := [str(path) for path in paths if not path.is_file()]:
        sys.exit(f"There is no such notebook: {', '.join(missing)}.")
    if arguments.stills:
        stills.store(root, anew=True)
        return
    if arguments.tidy:
        for path in paths:
            tidy(path)
        return
    try:
        failures = asyncio.run(run_all(paths, arguments.fresh))
    except KeyboardInterrupt:
        sys.exit("Stopped: each notebook is whole, stored anew or as it was.")
    stills.store(root)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    belongs_here(Path(__file__).resolve().parent.parent)
    main()
