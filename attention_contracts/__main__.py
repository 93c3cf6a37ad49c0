"""Check an attention or a model by its name: ``attention-contracts module:name``.

The exit code is 0 if nothing is broken and all that is required was tested, 1 otherwise, and 2 for
a wrong call.
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

from attention_contracts._check import check, is_model
from attention_contracts._check_model import check_model


def main(arguments: Sequence[str] | None = None) -> int:
    """Check what the arguments name, print the report, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        subject = named(options.name)
        if options.model or options.vocab_size is not None or is_model(subject):
            report = check_model(
                subject,
                options.vocab_size,
                causal=not options.bidirectional,
                length=options.up_to,
                require=options.require,
            )
        else:
            like = None if options.like is None else named(options.like)
            report = check(
                subject,
                options.causal,
                window=options.window,
                d_k=options.width,
                num_heads=options.heads,
                lengths=options.lengths,
                up_to=options.up_to,
                scale=options.scale,
                like=like,
                strict=options.strict,
                require=options.require,
            )
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        print(f"attention-contracts: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.as_dict(), indent=1) if options.json else report)
    return 0 if report else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="attention-contracts",
        description="Test an attention or a model: kept, broken, not tested and why.",
    )
    parser.add_argument(
        "name",
        help="package.module:name of a function, a module, or a class or function that makes one "
        "without arguments (write name() for a function that makes one)",
    )
    parser.add_argument("--causal", action="store_true", help="later keys must not be read")
    parser.add_argument("--window", type=int, help="how many keys a query may read")
    parser.add_argument("--width", type=int, help="width of the inputs")
    parser.add_argument("--heads", type=int, help="give inputs with an axis of so many heads")
    parser.add_argument(
        "--lengths", type=_numbers, default=(7, 4, 6), help="of the sequences, as 7,4,6"
    )
    parser.add_argument("--up-to", type=int, default=130, help="length of the longest sequence")
    parser.add_argument("--scale", type=float, help="the right factor on the dot product")
    parser.add_argument("--like", help="package.module:name of a reference, to be compared with")
    parser.add_argument(
        "--require",
        type=lambda names: names.split(";" if ";" in names else ","),
        default=(),
        help="contracts that have to be tested, as causality,padding (; where names have a comma)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="count NaN, empty rows, fewer queries, float16"
    )
    parser.add_argument("--model", action="store_true", help="token ids in, logits out")
    parser.add_argument("--vocab-size", type=int, help="of a model without a configuration")
    parser.add_argument("--bidirectional", action="store_true", help="a model that is not causal")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def named(name: str) -> Any:
    """Return what ``package.module:name`` names; a class of modules, or ``name()``, is called."""
    path, _, attribute = name.removesuffix("()").partition(":")
    if not (path and attribute):
        raise ValueError(f"name: expected package.module:name, got {name!r}")
    sys.path.insert(0, os.getcwd())
    subject: Any = reduce(getattr, attribute.split("."), importlib.import_module(path))
    makes = isinstance(subject, type) and issubclass(subject, nn.Module)
    return subject() if makes or name.endswith("()") else subject


if __name__ == "__main__":
    sys.exit(main())
