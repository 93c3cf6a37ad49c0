"""Attentions and a model that are wrong in one line: the mistake is found, and its name is said."""

import math
import re
import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_contracts as contracts

DATA = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text(encoding="utf-8"))
MUTANTS = DATA["mutants"]
SHORT = 8  # most mistakes show in so few tokens, and a long sequence takes most of the time


def padding(valid_lens, length):
    return {"real": torch.arange(length, device=valid_lens.device) < valid_lens[:, None]}


OPTIONS = {
    "plain": {"documents": lambda ids: {"ids": ids}, "d_k": 16},
    "layer": {"documents": lambda ids: {"ids": ids}},
    "decoder": {},
}


@cache
def broken(source, kind, length):
    """Return what is broken in a source: for each contract, all that the report says."""
    world = {"torch": torch, "math": math, "F": F, "nn": nn, "SimpleNamespace": SimpleNamespace}
    exec(source, world)
    torch.manual_seed(0)
    if kind == "model":
        report = contracts.check_model(world["Model"](), 50)
    else:
        attend = world["Layer"]() if "Layer" in world else world["attend"]
        options = {"causal": True, "padding": padding, "strict": True, "length": length}
        options |= OPTIONS[kind]
        report = contracts.check(attend, **options)
    return {finding.name: f"{finding.says}; {finding.means}" for finding in report.broken}


@pytest.mark.parametrize("name", DATA["sources"])
def test_the_right_ones_break_nothing_that_they_promise(name):
    """Padding may hold no NaN, an empty row is NaN, scores are scaled late: strict alone counts."""
    strict = {"padding, NaN", "empty rows", "large scores, float16"}
    assert set(broken(DATA["sources"][name], name, 130)) <= strict


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found_and_the_report_names_the_mistake(name):
    mutant = MUTANTS[name]
    kind = mutant["of"]
    right = DATA["sources"][kind]
    assert right.count(mutant["old"]) == mutant.get("places", 1), "the edit is not where it was"
    length = mutant.get("length", SHORT)
    wrong = broken(right.replace(mutant["old"], mutant["new"]), kind, length)
    news = {name: text for name, text in wrong.items() if name not in broken(right, kind, length)}
    assert any(re.search(mutant["told"], text) for text in news.values()), news
