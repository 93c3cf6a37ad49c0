"""The benchmark compares equal calculations: `measured` refuses a case whose outputs differ."""

from benchmarks.__main__ import measured


def test_every_row_is_measured_on_equal_outputs():
    rows = list(measured(16, seconds=0.0))
    assert {row["against"] for row in rows} == {"kernel", "textbook", "layer"}
    assert all(low <= middle <= high for low, middle, high in (row["forward"] for row in rows))
