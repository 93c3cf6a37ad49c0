"""What check finds in the museum's exhibits: the defect, and nothing once they are repaired."""

import pytest

import attention_contracts as contracts
from attention_lib.masking import length_mask
from attention_workbook import museum
from attention_workbook.museum.judging import Bound
from attention_workbook.museum.right import WINDOW

# Those that check cannot judge, and why not.
NO_CHECK = {
    "no_projections": "a plain attention is right by itself",
    "rotary_halves": "either layout is right for some weights",
    "left_padding_by_place": "check pads on the right; check_model pads on both sides",
    "fast_path": "outputs at padding, which nobody may read",
}


def checked(attend, one, strict):
    """Return what check finds broken, with and without the causal mask."""
    found = set()
    d_q, d_k, d_v = one.widths
    for causal in (False, True):
        try:
            report = contracts.check(
                Bound(attend, causal=causal),
                causal,
                padding=lambda lens, n: {"real": length_mask(lens, n).squeeze(1)},
                window=WINDOW if "window" in attend.__name__ else None,
                d_q=d_q,
                d_k=d_k,
                d_v=d_v,
                lengths=(7, 4, 6)[: max(one.batch, 2)],
                strict=strict,
            )
        except ValueError as error:
            found.add(str(error).partition(":")[0])
        else:
            found |= {finding.name for finding in report.broken}
    return found


@pytest.mark.parametrize("name", sorted({*museum.EXHIBITS} - {*NO_CHECK}))
def test_check_catches_the_exhibit_and_not_its_repaired_form(name):
    one = museum.EXHIBITS[name]
    assert checked(one.broken, one, True) - checked(one.repaired, one, True)


@pytest.mark.parametrize(
    "one",  # not the encoder, which reads its queries alone and says that it reads all three
    {x.repaired: x for x in museum.EXHIBITS.values() if x.name != "fast_path"}.values(),
    ids=lambda one: one.repaired.__name__,
)
def test_check_has_no_complaint_about_a_repaired_form(one):
    assert checked(one.repaired, one, False) == set()
