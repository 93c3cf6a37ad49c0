"""The gate's own checks can fail: on imports and on a website that is not whole."""

import pytest

from tests.test_imports import MAY_IMPORT, circle, misdirected
from tests.website.conftest import Site
from tests.website.test_site import (
    dead_references,
    loads_from_elsewhere,
    pictures_without_words,
    repeated_ids,
)


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("scoring", "import numpy", "attention_lib.scoring must not import numpy"),
        ("scoring", "from attention_lib.masking import x", "must not import attention_lib.masking"),
        ("masking", "def f():\n    from matplotlib import pyplot", "must not import matplotlib"),
        ("attention", "from attention_lib import plots", "must not import attention_lib.plots"),
        ("attention", "from attention_lib import length_mask", "must not import attention_lib"),
        ("attention", "from . import masking", "must not import ."),
        (
            "masking",
            "from attention_workbook import museum",
            "must not import attention_workbook.museum",
        ),
        (
            "plots.one",
            "from attention_lib.scoring import dot_scores",
            "import attention_lib.scoring",
        ),
        ("palette", "import numpy", "must not import numpy"),
        ("utils", "x = 1", "attention_lib.utils has no place"),
    ],
)
def test_import_in_the_wrong_direction_is_found(module, line, complaint):
    modules = dict.fromkeys(MAY_IMPORT, "")
    assert misdirected(modules) == []
    [said] = misdirected(modules | {f"attention_lib.{module}": line})
    assert complaint in said


def test_circular_import_is_found():
    one, two = "from attention_lib import two", "def f():\n    import attention_lib.one"
    modules = {"attention_lib": "", "attention_lib.one": one, "attention_lib.two": two}
    assert {*circle(modules)} == {"attention_lib.one", "attention_lib.two"}


def test_the_checks_see_a_website_that_is_not_whole(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "index.html").write_text(
        '<p id="a"></p><p id="a"></p><a href="part/page.html#here"></a><a href="#a"></a>'
        '<a href="part/page.html#gone"></a><a href="none.html"></a><img src="none.png" alt="">'
        '<a href="https://elsewhere.test/"></a><script src="https://elsewhere.test/a.js"></script>'
    )
    (tmp_path / "part" / "page.html").write_text(
        '<p id="here"></p><a href="../index.html"></a><a href="../"></a><a href="?q=1#nowhere"></a>'
        '<link href="//elsewhere.test/a.css"><a class="brand"><img src="data:,A" alt=""></a>'
        '<img src="data:,A" alt="A finding that says what is seen">'
        '<img src="data:,B" alt="A finding that says what is seen">'
    )
    site = Site(tmp_path)
    assert list(dead_references(site)) == [
        "index.html: <a> names 'part/page.html#gone', and part/page.html has no such anchor",
        "index.html: <a> names 'none.html', and there is no such file",
        "index.html: <img> names 'none.png', and there is no such file",
        "part/page.html: <a> names '?q=1#nowhere', and part/page.html has no such anchor",
    ]
    assert list(repeated_ids(site)) == ["index.html: the id 'a' stands 2 times"]
    assert list(pictures_without_words(site)) == [
        "index.html: the alt text of <img src='none.png'> is ''",
        "part/page.html: two pictures have the alt text 'A finding that says what is seen'",
    ]
    assert list(loads_from_elsewhere(site)) == [
        "index.html: <script> loads 'https://elsewhere.test/a.js'",
        "part/page.html: <link> loads '//elsewhere.test/a.css'",
    ]
