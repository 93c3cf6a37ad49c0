"""Attentions that are wrong in one line: ``check`` finds the mistake and says what it means."""

import math
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_contracts as contracts

DATA = tomllib.loads(
    (Path(__file__).parents[1] / "contracts" / "mutants.toml").read_text(encoding="utf-8")
)
MUTANTS = DATA["mutants"]
# One mutant may stay unseen, and only with a reason.
MOST_MISSED = 1


def made(source):
    """Return the attention that a source defines."""
    world = {"torch": torch, "math": math, "F": F, "nn": nn}
    exec(source, world)
    torch.manual_seed(0)
    return world["Layer"]() if "Layer" in world else world["attend"]


@cache
def broken(source):
    """Return what ``check`` finds broken in a source: for each contract, all that it says."""
    report = contracts.check(
        made(source),
        causal=True,
        padding=lambda lens: {"real": torch.arange(7, device=lens.device) < lens[:, None]},
        documents=lambda ids: {"ids": ids},
        d_k=16,
        strict=True,
    )
    return {finding.name: f"{finding.says}; {finding.means}" for finding in report.broken}


def found(mutant):
    """Return what is broken in a mutant and not in the attention that it was made from."""
    right = DATA["sources"][mutant["of"]]
    assert right.count(mutant["old"]) >= 1, "the edit finds nothing to change"
    wrong = right.replace(mutant["old"], mutant["new"])
    return {name: said for name, said in broken(wrong).items() if name not in broken(right)}


@pytest.mark.parametrize("name", DATA["sources"])
def test_the_right_ones_break_nothing_that_they_promise(name):
    """The padding of both may hold no NaN, and both answer an empty row with NaN."""
    assert set(broken(DATA["sources"][name])) <= {"padding, NaN", "empty rows"}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found_and_the_reader_is_told_what_it_means(name):
    mutant = MUTANTS[name]
    said = found(mutant)
    if "missed" in mutant:
        assert not said, f"it is found now: {said}"
    else:
        assert any(re.search(mutant["told"], text) for text in said.values()), said


def test_nearly_all_mutants_are_found():
    assert len(MUTANTS) == 27
    assert sum("missed" in mutant for mutant in MUTANTS.values()) <= MOST_MISSED
