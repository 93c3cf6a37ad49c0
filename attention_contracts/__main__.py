"""Check an attention or a model by its name: ``python -m attention_contracts module:name``.

The exit code is 0 if nothing is broken, 1 if something is, 2 for a wrong call.
"""

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from functools import reduce
from typing import Any

from torch import nn

from attention_contracts import check, check_model


def main(arguments: Sequence[str] | None = None) -> int:
    """Check what the arguments name, print the report, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m attention_contracts",
        description="Test an attention or a model: kept, broken, not tested and why.",
    )
    parser.add_argument(
        "name",
        help="package.module:name of a function, a module, or a class or function that makes one "
        "without arguments (write name() for a function that makes one)",
    )
    parser.add_argument("--causal", action="store_true", help="later keys must not be read")
    parser.add_argument(
        "--strict", action="store_true", help="count NaN, empty rows, fewer queries"
    )
    parser.add_argument("--model", action="store_true", help="token ids in, logits out")
    parser.add_argument("--vocab-size", type=int, help="of a model without a configuration")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    given = parser.parse_args(arguments)
    try:
        subject = named(given.name)
        if given.model or given.vocab_size is not None:
            report = check_model(subject, given.vocab_size)
        else:
            report = check(subject, given.causal, strict=given.strict)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.as_dict(), indent=1) if given.json else report)
    return 0 if report else 1


def named(name: str) -> Any:
    """Return what ``package.module:name`` names; a class of modules, or ``name()``, is called."""
    path, _, attribute = name.removesuffix("()").partition(":")
    if not (path and attribute):
        raise ValueError(f"name: expected package.module:name, got {name!r}")
    sys.path.insert(0, os.getcwd())
    found: Any = reduce(getattr, attribute.split("."), importlib.import_module(path))
    makes = isinstance(found, type) and issubclass(found, nn.Module)
    return found() if makes or name.endswith("()") else found


if __name__ == "__main__":
    sys.exit(main())
