"""What nbval leaves out: it compares each cell's text and HTML, this adds the pictures.

nbval has just run the cell when these hooks see it, so nothing is run twice.
"""

import base64
import os
from unittest.mock import patch

import pytest
from nbval.plugin import IPyNbCell

from website.notebooks import kernel_environment, pictures
from website.pictures import same_picture


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Start nbval's kernels as ``make notebooks`` starts its own."""
    if not isinstance(item, IPyNbCell):
        return (yield)
    with patch.dict(os.environ, kernel_environment(), clear=True):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a cell whose pictures are not those stored; both are written down to be looked at."""
    result = yield
    if isinstance(item, IPyNbCell) and item.options["check"]:
        stored, fresh = (
            [base64.b64decode(data["image/png"]) for data in pictures({"outputs": outputs})]
            for outputs in (item.cell.outputs, item.test_outputs)
        )
        if len(stored) != len(fresh):
            item.raise_cell_error(f"{len(stored)} pictures are stored, the cell draws {len(fresh)}")
        for number, pair in enumerate(zip(stored, fresh, strict=True), 1):
            if not same_picture(*pair):
                folder = item.config.rootpath / "_build" / "pictures"
                folder.mkdir(parents=True, exist_ok=True)
                name = f"{item.path.stem}-{item.cell_num}-{number}"
                for kind, png in zip(("stored", "fresh"), pair, strict=True):
                    (folder / f"{name}-{kind}.png").write_bytes(png)
                item.raise_cell_error(
                    f"Picture {number} is not the one stored: see {folder / name}-*.png; "
                    "if the fresh one is right, run make notebooks"
                )
    return result
