"""The figure pack: complete, named once each, with words, and readable by itself."""

import json
import xml.etree.ElementTree

import pytest

from website import ROOT, figure_pack


@pytest.mark.site
def test_the_pack_holds_every_figure_of_the_book(site, tmp_path):
    """Each picture is there as SVG and PNG, and in the list, with its licence."""
    pictures = figure_pack.all_pictures()
    names = [picture.name for picture in pictures]
    assert len({*names}) == len(names)
    assert all(picture.alt for picture in pictures)
    stored = sum(
        "image/svg+xml" in output.get("data", {})
        for path in (ROOT / "book").glob("*.ipynb")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", [])
    )
    shown = [
        page.select("figure.attention-widget, figure.attention-step")
        for page in site.pages.values()
    ]
    assert len(names) == stored + sum(map(len, shown))

    figure_pack.write(pictures, tmp_path)
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    for name in names:
        xml.etree.ElementTree.parse(tmp_path / f"{name}.svg")
        png = (tmp_path / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG") and len(png) > 5000, name
        assert f'href="{name}.svg"' in index
    assert index.count("CC BY 4.0") == len(pictures)
