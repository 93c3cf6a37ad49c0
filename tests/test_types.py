"""Types help a caller: a checker accepts right calls and points at each wrong one."""

import contextlib
import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).resolve().parent.parent

PREAMBLE = """
import torch
from torch import Tensor, nn
from attention_lib import *
from attention_lib import contracts, notebook
x = torch.zeros(2, 3, 4)
lens = torch.tensor([1, 2])
"""
RIGHT = [
    "scores: Tensor = scaled_dot_scores(x, x, scale=None)",
    "weights: Tensor = masked_softmax(x, lens, mask=causal_mask(3, 4))",
    "mask: Tensor | None = combine_masks(None, length_mask(lens, 4))",
    "pair: tuple[Tensor, Tensor | None] = scaled_dot_product_attention(x, x, x, scale=0.5)",
    "layer: nn.Module = MultiHeadAttention(4, 2, bias=True)",
    "attend: nn.Module = Attention(AdditiveScore(4, 4, 8), dropout=0.1)",
    "encoded: Tensor = PositionalEncoding(4).forward(x)",
    "where: torch.device = notebook.device()",
    "drawn = torch.rand(3, generator=notebook.generator(0))",
    "notebook.show(x, decimals=2)",
]
# a wrong call, and mypy's name for what is wrong
WRONG = [
    ("dot_scores([[1.0]], x)", "arg-type"),
    ("gaussian_scores(x, x, bandwidth='wide')", "arg-type"),
    ("masked_softmax(x, [1, 2])", "arg-type"),
    ("masked_softmax(x, None, causal_mask(3))", "call-arg"),  # mask by its name alone
    ("masked_softmax(x, mask=True)", "arg-type"),
    ("length_mask(lens, 4.0)", "arg-type"),
    ("causal_mask('3')", "arg-type"),
    ("scaled_dot_product_attention(x, x)", "call-arg"),
    ("scaled_dot_product_attention(x, x, x, valid_len=lens)", "call-arg"),
    ("MultiHeadAttention(4, 2.0)", "arg-type"),
    ("MultiHeadAttention(4, 2, 0.1)", "call-arg"),
    ("Attention(3)", "arg-type"),
    ("sinusoidal_positions(3, None)", "arg-type"),
    ("entropy(weights=[0.5, 0.5])", "arg-type"),
    ("split_heads(x, '2')", "arg-type"),
    ("masked_softmax(x).shapes", "attr-defined"),
    ("scaled_dot_product_attention(x, x, x)[1].sum()", "union-attr"),  # it may be None
    ("notebook.generator('seed')", "arg-type"),
    ("notebook.show([1.0])", "arg-type"),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the checker says to each call: its line of code, and the names of the errors."""
    folder = tmp_path_factory.mktemp("elsewhere")
    path = folder / "calls.py"
    lines = [*PREAMBLE.splitlines(), *RIGHT, *(call for call, _ in WRONG)]
    path.write_text("\n".join(lines) + "\n")
    options = [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache'}"]
    with contextlib.chdir(folder):  # the library is found as installed, types by its py.typed
        said, complaint, _ = api.run([*options, str(path)])
    assert not complaint
    found = {line: [] for line in lines}
    for number, error in re.findall(r"calls\.py:(\d+): error: .*\[([\w-]+)\]$", said, re.MULTILINE):
        found[lines[int(number) - 1]].append(error)
    assert not any(found[line] for line in PREAMBLE.splitlines()), said
    return found


@pytest.mark.parametrize("call", RIGHT)
def test_a_right_call_passes(call, answers):
    assert answers[call] == []


@pytest.mark.parametrize(("call", "error"), WRONG, ids=[call for call, _ in WRONG])
def test_a_wrong_call_is_flagged(call, error, answers):
    assert error in answers[call]
