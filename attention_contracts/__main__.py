"""Check an attention or a model by its name: ``attention-contracts module:name``.

The exit code is 0 if the report is true, 1 if it is not, and 2 for a wrong call or an error in what
is checked.
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

from attention_contracts import architectures
from attention_contracts._check import check, is_model
from attention_contracts._check_model import check_model
from attention_contracts._report import Report, first_line

OF_ATTENTIONS = ("causal", "window", "width", "heads", "lengths", "scale", "like", "strict")
OF_MODELS = ("vocab_size", "bidirectional", "attention")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check what the arguments name, print the report, and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        report = _report(options)
    except Exception as error:  # whatever an import, a constructor or a first call may raise
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        print(f"attention-contracts: {kind}{first_line(error)}", file=sys.stderr)
        return 2
    print(json.dumps(report.as_dict(), indent=1) if options.json else report)
    return 0 if report else 1


def _report(options: argparse.Namespace) -> Report:
    published = options.name.partition(":")[0] == "transformers" and not options.name.endswith("()")
    if published:
        subject = architectures.model(options.name.partition(":")[2], options.attention or "eager")
    else:
        subject = named(options.name)
    shared = {"length": options.length, "require": options.require}
    of_model = published or options.model or options.vocab_size is not None or is_model(subject)
    for name in OF_ATTENTIONS if of_model else OF_MODELS:
        if getattr(options, name):
            of = "attentions" if of_model else "models"
            raise ValueError(f"--{name.replace('_', '-')} is for {of} alone")
    if of_model:
        causal = not options.bidirectional
        return check_model(subject, options.vocab_size, causal=causal, **shared)
    return check(
        subject,
        options.causal,
        window=options.window,
        d_k=options.width,
        num_heads=options.heads,
        lengths=options.lengths or (7, 4, 6),
        scale=options.scale,
        like=None if options.like is None else named(options.like),
        strict=options.strict,
        **shared,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="attention-contracts",
        description="Test an attention or a model: kept, broken, not tested and why.",
    )
    parser.add_argument(
        "name",
        help="package.module:name of a function, a module, or a class or function that makes one "
        "without arguments (write name() for a function that makes one); or transformers:llama, "
        "for a small one with random weights of any causal architecture",
    )
    parser.add_argument("--length", type=int, help="up to how many positions; else for seconds")
    parser.add_argument(
        "--require",
        type=lambda names: names.split(";" if ";" in names else ","),
        default=(),
        help="contracts that have to be tested, as causality,padding (; where names have a comma)",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    attentions = parser.add_argument_group("for an attention")
    attentions.add_argument("--causal", action="store_true", help="later keys must not be read")
    attentions.add_argument("--window", type=int, help="how many keys a query may read")
    attentions.add_argument("--width", type=int, help="width of the inputs")
    attentions.add_argument("--heads", type=int, help="inputs have an axis of so many heads")
    attentions.add_argument("--lengths", type=numbers, help="of the sequences, as 7,4,6")
    attentions.add_argument("--scale", type=float, help="the right factor on the dot product")
    attentions.add_argument("--like", help="package.module:name of a reference to compare with")
    attentions.add_argument(
        "--strict", action="store_true", help="count NaN, empty rows, fewer queries, float16"
    )
    models = parser.add_argument_group("for a model")
    models.add_argument("--model", action="store_true", help="token ids in, logits out")
    models.add_argument("--vocab-size", type=int, help="of a model without a configuration")
    models.add_argument("--bidirectional", action="store_true", help="it is not causal")
    models.add_argument("--attention", help="of transformers: eager (the default) or sdpa")
    return parser


def numbers(text: str) -> tuple[int, ...]:
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
