"""The public calls of the library and the workbook: a TOML file a module, a section a name.

The tests of signatures, of right and wrong calls and of devices are made from it::

    [top_share]
    signature = "(weights, k)"
    right = "top_share(W, 2)"
    wrong = [
      ["top_share(W, 0)", "ValueError: k: expected at least 1, got 0"],
    ]

``right`` is a call, or a list of calls, that must run. ``wrong`` has one call for each kind of
fault of each argument, with the whole message. Calls use the names of the module and those of
:func:`at_hand`. A section may have besides:

``layer``
    Makes a layer, which the right calls use as ``layer``.
``forward``, ``from_torch``, …
    The signature of a method.
``device``
    "inputs": all results of the right calls are on the device of their inputs, as
    ``test_devices.py`` checks; so it is in ``attention_lib.toml`` unless "cpu" is stated.
``unchecked``
    Why no call, or no wrong call of some argument, is shown.

Figures are tried with all their settings in ``tests/attention_workbook/figures``.
"""

import importlib
import inspect
import tomllib
from pathlib import Path

import torch

FOLDER = Path(__file__).parent
MODULES = {
    **{name: f"attention_lib.{name}" for name in ("palette", "plots")},
    **{
        name: f"attention_workbook.{name}"
        for name in (
            *("copying", "cost", "pictures", "published", "reader"),
            "writer",
        )
    },
    "attention_lib": "attention_lib",
    "contracts": "attention_contracts",
}
TABLE = {
    file: tomllib.loads((FOLDER / f"{file}.toml").read_text(encoding="utf-8")) for file in MODULES
}
ROWS = {(file, name): row for file, rows in TABLE.items() for name, row in rows.items()}


def module(file):
    """Return the module whose names a file of the table lists."""
    return importlib.import_module(MODULES[file])


def member(file, name):
    """Return a public function or class."""
    return getattr(module(file), name)


def public(file):
    """Return the names that a file of the table must list: functions and classes, each once."""
    return {name for name in module(file).__all__ if hasattr(member(file, name), "__name__")}


def signature(function):
    """Return a signature without its types."""
    parameters = inspect.signature(function).parameters.values()
    return str(inspect.Signature([x.replace(annotation=x.empty) for x in parameters]))


def right_calls(row):
    """Return the right calls of a row as a list."""
    calls = row.get("right", [])
    return [calls] if isinstance(calls, str) else calls


def at_hand(file, where="cpu"):
    """Return the names that the calls of a file use; tensors are on the device ``where``."""
    names = dict(vars(module("attention_lib"))) | dict(vars(module(file)))
    tensors = {
        "x": torch.ones(2, 3, 4, device=where),
        "y": torch.ones(2, 5, 4, device=where),
        "W": torch.full((3, 4), 0.25, device=where),
        "ids": torch.tensor([[1, 2, 0]]).to(where),
        "lens": torch.tensor([1, 2]).to(where),
        "mask": torch.ones(3, 5, dtype=torch.bool, device=where),
    }
    return (
        names | tensors | {"torch": torch, "where": where, "NAN": float("nan"), "INF": float("inf")}
    )
