"""Which tests are collected and in which order; and the pictures of notebooks, compared.

nbval compares each cell's text and HTML; the pictures are added here. nbval has just run the cell
when these hooks see it, so nothing is run twice. Another matplotlib than the pinned one draws other
pictures: there ATTENTION_COMPARE_PICTURES=0 leaves them out.
"""

import base64
import os
from unittest.mock import patch

import pytest
from nbval.plugin import IPyNbCell

from website import ROOT, belongs_here
from website.notebooks import kernel_environment, pictures
from website.pictures import KINDS, PNG, SVG, bare, same_shown

FOLDER = "_build/pictures"
ONE_BY_ONE = "_in_browser.py"
NIGHTLY = ROOT / "tests" / "nightly"

belongs_here()


def pytest_ignore_collect(collection_path, config):
    """Leave of tests/nightly what nobody names on the command line; ``make nightly`` names all."""
    if NIGHTLY in (collection_path, *collection_path.parents):
        named = {(ROOT / word.partition("::")[0]).resolve() for word in config.args}
        named = {path for path in named if NIGHTLY in (path, *path.parents)}
        above = {parent for path in named for parent in path.parents}
        if collection_path not in above and named.isdisjoint(
            (collection_path, *collection_path.parents)
        ):
            return True


def pytest_collection_modifyitems(items):
    """Notebooks first, files that drive a browser last, those that are dealt out singly at the end.

    Playwright, once started, runs an event loop in this thread, and notebooks need one of their
    own.
    """
    driving = {item.path for item in items if item.get_closest_marker("browser")}
    items.sort(
        key=lambda item: (
            item.path in driving,
            not isinstance(item, IPyNbCell),
            item.path.name.endswith(ONE_BY_ONE),
        )
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each file to one worker, since its tests share a kernel or what took long to make.

    The tests of ``*_in_browser.py`` share little: each goes to the next worker that is free, which
    keeps all of them busy to the end. (xdist's own groups do nothing under pytest 9.2.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return nodeid if file.endswith(ONE_BY_ONE) else file

    return ByFile(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.fixture(autouse=True)
def matplotlib_as_it_was(request):
    """Undo what an example in a docstring sets, such as the book's look, for the tests after it."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    import matplotlib

    with matplotlib.rc_context():
        yield


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
                    "if the fresh one is right, .venv/bin/python tools/notebooks.py "
                    f"book/{item.path.name} stores it"
                )
    return result


def write_down(data, path):
    """Write a picture, in each of its kinds, where it can be looked at."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if PNG in data:
        path.with_suffix(".png").write_bytes(base64.b64decode(data[PNG]))
    if SVG in data:
        path.with_suffix(".svg").write_text("".join(data[SVG]), encoding="utf-8")
