"""On the page a solution folds as a whole, its reason together with its code."""

import pytest

from website import copies, notebooks

CHAPTERS = notebooks.chapters()


@pytest.mark.site
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_solution_is_one_fold(path, site):
    folds = site.pages[f"book/{path.stem}.html"].select("section > details.solution")
    assert len(folds) == len(copies.exercises(notebooks.read(path)))
    for fold in folds:
        assert not fold.has_attr("open")
        assert fold.select("p"), f"{path.stem}: a solution without its reason"
        assert fold.select("div.cell pre"), f"{path.stem}: a solution without its code"
        assert not fold.select("details"), f"{path.stem}: a fold in a fold"
        assert not fold.find_next_siblings(), f"{path.stem}: something is left outside"
