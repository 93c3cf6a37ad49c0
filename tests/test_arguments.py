"""Signatures, right calls and wrong calls of all public functions, from the table tests/calls."""

import inspect
import re
from functools import partial

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from attention_lib import (
    AdditiveAttention,
    AdditiveScore,
    Attention,
    BilinearScore,
    DotProductAttention,
    MultiHeadAttention,
    cosine_scores,
    dot_scores,
    gaussian_scores,
    padding_mask,
    scaled_dot_product_attention,
    scaled_dot_scores,
)
from tests import calls
from tests.calls import ROWS, TABLE
from tests.strategies import assert_blames, meta

WRONG = [
    (file, name, call, said)
    for (file, name), row in ROWS.items()
    for call, said in row.get("wrong", [])
]
STRICT = {"cost", "notebook"}  # where each argument has a wrong call
# Their wrong calls are in tests/attention_contracts and tests/plots/test_pictures.py.
ELSEWHERE = {"contracts", "plots"}
# tested below for all scores and all attentions at once
COMMON = {"others", "queries", "keys", "values", "valid_lens", "mask", "causal", "need_weights"}
# the argument, what was expected, and what came
BLAMES = r"(Type|Value|Runtime)Error: [^:]+: expected .*[^,;][,;]? got ."


def missing_rows(file, public):
    """A sentence for each public name without a row."""
    for name in sorted(public - {*TABLE[file]}):
        shown = calls.signature(calls.member(file, name))
        yield (
            f"{name} has no row in the table of public calls: add one to tests/calls/{file}.toml, "
            f'such as\n\n[{name}]\nsignature = "{shown}"\nright = "{name}(…)"  # a call that runs\n'
            f"wrong = [  # a call for each fault of each argument, and its message\n"
            f'  ["{name}(…)", "ValueError: argument: expected …, got …"],\n]\n\n'
            "(tests/calls/__init__.py explains the rest)"
        )


@pytest.mark.parametrize("file", TABLE)
def test_every_public_name_has_a_row(file):
    missing = [*missing_rows(file, calls.public(file))]
    assert not missing, "\n".join(missing)
    gone = {*TABLE[file]} - calls.public(file)
    assert not gone, f"take the rows {sorted(gone)} out of tests/calls/{file}.toml"


@pytest.mark.parametrize(
    ("file", "name"),
    [key for key in ROWS if calls.MODULES[key[0]].startswith("attention_lib")],
)
def test_signatures_are_those_in_the_table(file, name):
    row, owner = ROWS[file, name], calls.member(file, name)
    methods = [key for key in row if str(row[key]).startswith("(")]
    stated = {"signature": None} | {key: row[key] for key in methods}
    members = {key: owner if key == "signature" else getattr(owner, key) for key in stated}
    assert stated == {key: calls.signature(x) for key, x in members.items()}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Return the names that the calls of a file of the table use."""
    from attention_workbook import copying, reader, writer

    folder = tmp_path_factory.mktemp("calls")
    shared = {
        "np": np,
        "Figure": Figure,
        "folder": folder,
        "reader": reader.load_reader(),
        "copier": copying.load_copier(),
        "small": writer.LanguageModel("abc", d_model=8, num_heads=2, num_layers=1),
        "attend": lambda q, k, v: scaled_dot_product_attention(q, k, v),
    }

    def of(file, row):
        given = calls.at_hand(file) | shared | {"ax": Figure().subplots()}
        return given | ({"layer": eval(row["layer"], given)} if "layer" in row else {})

    return of


@pytest.mark.parametrize(("file", "name"), ROWS)
def test_right_calls_run_and_leave_their_inputs_alone(file, name, names):
    row = ROWS[file, name]
    assert {"right", "unchecked"} & {*row} or file in ELSEWHERE, (
        f"show a right call of {name} in tests/calls/{file}.toml"
    )
    given = names(file, row)
    before = {key: x.clone() for key, x in given.items() if isinstance(x, torch.Tensor)}
    for call in calls.right_calls(row):
        with matplotlib.rc_context():  # use_style() sets the style of all pictures after it
            made = eval(call, given)
        for x in made if isinstance(made, tuple) else (made,):
            assert not (isinstance(x, torch.Tensor) and x.isnan().any()), call
    assert all(torch.equal(x, given[key]) for key, x in before.items())


@pytest.mark.parametrize(("file", "name", "call", "said"), WRONG, ids=[row[2] for row in WRONG])
def test_a_wrong_call_gets_the_message_in_the_table(file, name, call, said, names):
    with pytest.raises(Exception) as raised:
        eval(call, names(file, ROWS[file, name]))
    assert f"{raised.type.__name__}: {raised.value}" == said


def test_every_message_says_what_was_expected_and_what_came():
    assert [said for *_, said in WRONG if not re.match(BLAMES, said)] == []


@pytest.mark.parametrize(("file", "name"), [key for key in ROWS if key[0] not in ELSEWHERE])
def test_every_argument_has_a_wrong_call(file, name):
    row, owner = ROWS[file, name], calls.member(file, name)
    taken = {*inspect.signature(owner).parameters} - COMMON
    blamed = {
        argument.partition("[")[0]
        for _, said in row.get("wrong", [])
        for argument in said.split(": ")[1].split(", ")
    }
    missing = taken - blamed if file in STRICT else taken if not blamed else set()
    if not issubclass(owner if inspect.isclass(owner) else object, tuple):  # a plain record
        assert not missing or "unchecked" in row, (
            f"show in tests/calls/{file}.toml what a wrong {sorted(missing)} of {name} hears, "
            "or say under 'unchecked' why nothing is checked"
        )


# --- what all scores and all attentions refuse alike -----------------------------

BATCH, LEN_Q, LEN_K, D = 2, 3, 5, 6
SCORES = [
    dot_scores,
    scaled_dot_scores,
    gaussian_scores,
    cosine_scores,
    BilinearScore(D, D),
    AdditiveScore(D, D, 7),
]
ATTENTIONS = [
    scaled_dot_product_attention,
    Attention(gaussian_scores),
    DotProductAttention(),
    AdditiveAttention(D, D, 7),
    MultiHeadAttention(D, 2),
]


def replaced(**bad):
    """Return right queries, keys and values, some of them replaced by wrong ones."""
    good = {"queries": (BATCH, LEN_Q, D), "keys": (BATCH, LEN_K, D), "values": (BATCH, LEN_K, D)}
    return {name: torch.ones(shape) for name, shape in good.items()} | bad


def ones(*shape, dtype=None):
    return torch.ones(shape, dtype=dtype)


# the argument that is replaced, by what, exception, argument that is named
QUERIES_AND_KEYS = [
    ("queries", [[1.0]], TypeError, "queries"),
    ("keys", None, TypeError, "keys"),
    ("queries", ones(BATCH, LEN_Q, D, dtype=torch.int64), TypeError, "queries"),
    ("keys", ones(BATCH, LEN_K, D, dtype=torch.bool), TypeError, "keys"),
    ("keys", ones(BATCH, LEN_K, D, dtype=torch.float64), TypeError, "keys"),
    ("queries", ones(D), ValueError, "queries"),
    ("keys", ones(D), ValueError, "keys"),
    ("keys", ones(BATCH, LEN_K, D + 1), ValueError, "keys"),
    ("queries", ones(BATCH, LEN_Q, 0), ValueError, "queries"),
    ("keys", meta(BATCH, LEN_K, D), ValueError, "keys"),
]
VALUES_AND_MASKS = [
    ("values", 1.0, TypeError, "values"),
    ("values", ones(BATCH, LEN_K, D, dtype=torch.int32), TypeError, "values"),
    ("values", ones(BATCH, LEN_K, D, dtype=torch.float16), TypeError, "values"),
    ("values", ones(D), ValueError, "values"),
    ("values", ones(BATCH, 7, D), ValueError, "values"),
    ("values", meta(BATCH, LEN_K, D), ValueError, "values"),
    ("valid_lens", ones(BATCH, LEN_K, dtype=torch.bool), TypeError, "valid_lens"),
    ("valid_lens", [1, 2], TypeError, "valid_lens"),
    ("valid_lens", torch.tensor([1.0, 2.0]), TypeError, "valid_lens"),
    ("valid_lens", torch.tensor([1, -2]), ValueError, "valid_lens"),
    ("valid_lens", torch.tensor([6, 1]), ValueError, "valid_lens"),
    ("valid_lens", torch.tensor(3), ValueError, "valid_lens"),
    ("valid_lens", torch.tensor([1, 2, 3]), ValueError, "valid_lens"),
    ("valid_lens", ones(BATCH, LEN_K, dtype=torch.int64), ValueError, "valid_lens"),
    ("valid_lens", meta(BATCH, dtype=torch.int64), ValueError, "valid_lens"),
    ("mask", ones(LEN_K, dtype=torch.int64), TypeError, "mask"),
    ("mask", ones(LEN_K), TypeError, "mask"),
    ("mask", [True] * LEN_K, TypeError, "mask"),
    ("mask", ones(LEN_Q, dtype=torch.bool), ValueError, "mask"),
    ("mask", ones(7, 1, LEN_Q, LEN_K, dtype=torch.bool), ValueError, "mask"),
    ("mask", meta(LEN_Q, LEN_K, dtype=torch.bool), ValueError, "mask"),
]


@pytest.mark.parametrize(("argument", "bad", "exception", "blamed"), QUERIES_AND_KEYS)
def test_every_score_refuses_wrong_queries_and_keys(argument, bad, exception, blamed):
    given = replaced(**{argument: bad})
    for score in SCORES:
        assert_blames(lambda score=score: score(given["queries"], given["keys"]), exception, blamed)


@pytest.mark.parametrize(
    ("argument", "bad", "exception", "blamed"), QUERIES_AND_KEYS + VALUES_AND_MASKS
)
def test_every_attention_refuses_wrong_arguments_with_and_without_weights(
    argument, bad, exception, blamed
):
    for attention in ATTENTIONS:
        for need_weights in (True, False):
            given = replaced(**{"need_weights": need_weights, argument: bad})
            assert_blames(lambda call=attention, given=given: call(**given), exception, blamed)


def test_every_score_refuses_leading_axes_that_do_not_broadcast():
    for score in SCORES:
        wrong = partial(score, ones(2, LEN_Q, D), ones(3, LEN_K, D))
        assert_blames(wrong, ValueError, "leading axes")


def test_numpy_numbers_are_whole_numbers():
    layer = MultiHeadAttention(np.int64(4), np.int32(2))
    assert layer(*[ones(1, 3, 4)] * 3)[0].shape == (1, 3, 4)
    assert padding_mask(torch.tensor([[5, 0]]), np.int64(5)).tolist() == [[[False, True]]]


def test_a_mask_cannot_take_the_place_of_the_lengths():
    for attention in ATTENTIONS:
        with pytest.raises(TypeError, match="positional"):
            attention(*replaced().values(), None, ones(LEN_Q, LEN_K, dtype=torch.bool))
