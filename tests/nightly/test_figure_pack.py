"""Every figure of the book is written, where the gate writes each twelfth."""

import pytest

from tests.website.test_figure_pack import write
from website import figure_pack


@pytest.mark.site
def test_every_figure_is_written(site, tmp_path):
    write(figure_pack.all_pictures(), tmp_path / "pack")
