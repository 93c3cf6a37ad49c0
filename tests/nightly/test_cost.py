"""Every case of the benchmark compares equal calculations, on the fused and on the plain path."""

import pytest

from benchmarks import __main__ as benchmarks


@pytest.mark.parametrize("case", list(benchmarks.cases(16)), ids=lambda case: str(case)[:60])
def test_benchmark_compares_equal_calculations(case):
    rows = list(benchmarks.measured(case, 0.0))
    assert rows and all(row["memory"]["ratio"] > 0 for row in rows)
    assert all(row["forward"]["ratio"]["samples"] == 4 for row in rows)
    assert all(row["what"] in benchmarks.line(row) for row in rows)
