"""Where anywidget is not installed, every figure keeps its traits and shows its still picture."""

import json
import subprocess
import sys

import pytest

from attention_workbook.figures.catalogue import FIGURES

SHOW_ALL = """
import json, sys
sys.modules["anywidget"] = None  # importing it now raises ModuleNotFoundError
from attention_workbook import figures
from attention_workbook.figures.catalogue import FIGURES
print(json.dumps([make()._repr_mimebundle_() for make in FIGURES.values()]))
figure, seen = figures.SoftLookup(), []
figure.observe(lambda change: seen.append(change["new"]), "temperature")
figure.temperature = 2.0
print(seen)
figure.temperature = 1000
"""


def test_figures_stand_still_and_say_what_to_install():
    done = subprocess.run([sys.executable, "-c", SHOW_ALL], capture_output=True, text=True)
    bundles, seen = done.stdout.splitlines()
    for name, (bundle, metadata) in zip(FIGURES, json.loads(bundles), strict=True):
        live, _ = FIGURES[name]()._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "text/html"}
        assert bundle["text/plain"] == live["text/plain"]
        still, said = bundle["text/html"].split("</figure>")
        assert f"{still}</figure>" == live["text/html"]
        assert "pip install anywidget" in said
        assert metadata == {}
    assert seen == "[2.0]"
    assert done.stderr.splitlines()[-1].endswith(
        "SoftLookup.temperature must be a number from 0.03125 to 32; got 1000."
    )


@pytest.mark.parametrize("name", FIGURES)
def test_where_it_is_installed_nothing_is_said(name):
    bundle, _ = FIGURES[name]()._repr_mimebundle_()
    assert bundle["text/html"].endswith("</figure>")
