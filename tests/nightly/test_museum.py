"""What check finds in the museum's exhibits once they are repaired: nothing."""

import pytest

from tests.workbook.test_museum import checked
from workbook import museum


@pytest.mark.parametrize(
    "one",  # not the encoder, which reads its queries alone and says that it reads all three
    {x.repaired: x for x in museum.EXHIBITS.values() if x.name != "fast_path"}.values(),
    ids=lambda one: one.repaired.__name__,
)
def test_check_has_no_complaint_about_a_repaired_form(one):
    assert checked(one.repaired, one, False) == set()
