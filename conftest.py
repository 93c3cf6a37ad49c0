"""What nbval leaves out: it compares each cell's text and HTML, this adds the pictures.

nbval has just run the cell when these hooks see it, so nothing is run twice. Another matplotlib
than the pinned one draws other pictures: there ATTENTION_COMPARE_PICTURES=0 leaves them out.
"""

import base64
import os
from unittest.mock import patch

import pytest
from nbval.plugin import IPyNbCell

from website.notebooks import kernel_environment, pictures
from website.pictures import KINDS, PNG, SVG, bare, same_shown

FOLDER = "_build/pictures"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Start nbval's kernels as ``make notebooks`` starts its own; leave pictures to the next."""
    if not isinstance(item, IPyNbCell):
        return (yield)
    item.parent.skip_compare = tuple({*item.parent.skip_compare, *KINDS})
    with patch.dict(os.environ, kernel_environment(), clear=True):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a cell whose pictures are not those stored; both are written down to be looked at."""
    result = yield
    compared = os.environ.get("ATTENTION_COMPARE_PICTURES", "1") == "1"
    if isinstance(item, IPyNbCell) and item.options["check"] and compared:
        stored, fresh = (
            [bare(data) for data in pictures({"outputs": outputs})]
            for outputs in (item.cell.outputs, item.test_outputs)
        )
        if len(stored) != len(fresh):
            item.raise_cell_error(f"{len(stored)} pictures are stored, the cell draws {len(fresh)}")
        for number, pair in enumerate(zip(stored, fresh, strict=True), 1):
            if not same_shown(*pair):
                name = f"{item.path.stem}-{item.cell_num}-{number}"
                for when, data in zip(("stored", "fresh"), pair, strict=True):
                    write_down(data, item.config.rootpath / FOLDER / f"{name}-{when}")
                item.raise_cell_error(
                    f"Picture {number} is not the one stored: see {FOLDER}/{name}-*; "
                    "if the fresh one is right, run make notebooks"
                )
    return result


def write_down(data, path):
    """Write a picture, in each of its kinds, where it can be looked at."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if PNG in data:
        path.with_suffix(".png").write_bytes(base64.b64decode(data[PNG]))
    if SVG in data:
        path.with_suffix(".svg").write_text("".join(data[SVG]), encoding="utf-8")
