"""Each test draws on figures of its own, in the book's style."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import pytest

from attention_lib import plots


@pytest.fixture(autouse=True)
def clean_figures():
    plots.use_style()
    yield
    plt.close("all")
    mpl.rcdefaults()
