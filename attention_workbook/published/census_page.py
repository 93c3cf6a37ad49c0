"""The book's page of the census, written from ``census.json`` and ``census.toml``.

python -m attention_workbook.published > book/census.md
"""

import re
import textwrap
from collections import Counter, defaultdict
from statistics import median
from typing import Any

from attention_workbook.published.census import KINDS, NOT_TRIED, RELEASES

VERSIONS = sorted(RELEASES, key=lambda version: [int(part) for part in version.split(".")])
MODELS = sorted({row["model"] for release in RELEASES.values() for row in release["models"]})
CONTRACTS: list[str] = max(
    (row["kept"] for release in RELEASES.values() for row in release["models"] if "kept" in row),
    key=len,
)
CROSSED = {
    "a window": re.compile("window"),
    "a chunk or a block": re.compile("chunk|block|local_attn|tile|segment"),
    "buckets of distances": re.compile("bucket"),
}
PAGE = """# A census of causal models

Which contracts do the causal models of a released library keep? Every row below is an architecture
of [transformers](https://github.com/huggingface/transformers), made small and with random weights,
and run through [`check_model`](check-your-own.md#check-a-whole-model), with its plain and with its
fused attention. A mistake in a mask or in a cache does not need trained weights to show.

{releases}

A text is long enough to cross one default of 128 tokens, and the chunks, windows and blocks that a
model's configuration names, most of which have 16 tokens here.

{time}

Count another release yourself, in an environment that has it:

```sh
python tools/census.py attention_workbook/published/census.json
python -m attention_workbook.published > book/census.md
```

Names of models after the file count only those; the other rows stay as they are.

## The table

- **kept 9 of 11** means that nine contracts were tested and kept. Where the cell says nothing
  else, the other two [could not be tested](#what-was-not-tested-and-why).
- **broken** names what broke, and links to the public report of that mistake.
- **by design** names promises that this architecture does not make.
- **not judged** counts the contracts in which something moved without a public report that we know
  of. A small random model is not what anyone runs, so we say no more.
- **–** means that the release has no such model, or that it
  [could not be made small](#models-that-were-not-tried).

The last column tells how long the longest text was, and what it crossed, in the newest release that
has the model.

{table}

## How many kept what

An architecture keeps a contract if both of its attentions do, as far as they could be tested. Some
of the others make no such promise: the table above tells which.

{contracts}

So many architectures were given a text that crosses the default, and each of the sizes that their
configurations name:

{lengths}

## What was not tested, and why

A release is named where the reason does not hold in all that have the model. Names are given
without “ForCausalLM”.

{untested}

## Models that were not tried

{untried}
"""


def page() -> str:
    """Return the page of the census as Markdown: a row for each architecture."""
    return PAGE.format(
        releases=_releases(),
        time=_time(),
        table=_table(
            ["Architecture", *VERSIONS, "Tokens, and what they cross"],
            [
                [model, *(_cell(version, model) for version in VERSIONS), _bound(model)]
                for model in MODELS
            ],
        ),
        contracts=_contracts(),
        lengths=_lengths(),
        untested=_untested(),
        untried=_untried(),
    )


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _checked(version: str, model: str = "") -> list[dict[str, Any]]:
    """Return the rows of a release that were made: one for each attention of a model."""
    rows = RELEASES[version]["models"]
    return [row for row in rows if "kept" in row and model in ("", row["model"])]


def _size(row: dict[str, Any]) -> int:
    return int(row["bound"].split(" tokens")[0])


def _releases() -> str:
    head = ["Release", "PyTorch", "Counted on", "Models tried", "Kept all that was tested"]
    rows = []
    for version in VERSIONS:
        release, checked = RELEASES[version], _checked(version)
        tried = {row["model"] for row in checked}
        unbroken = tried - {row["model"] for row in checked if row["broken"]}
        known = len({row["model"] for row in release["models"]})
        torch_version = release["torch"].partition("+")[0]
        counts = [f"{len(tried)} of {known}", str(len(unbroken))]
        rows.append([version, torch_version, release["date"], *counts])
    return _table(head, rows)


def _time() -> str:
    """Say how long a check takes, and which take long."""
    rows = [row for version in VERSIONS for row in _checked(version)]
    slowest: dict[str, float] = {}
    for row in sorted(rows, key=lambda row: row["seconds"]):
        slowest[_short(row["model"])] = row["seconds"]
    slow = [f"{name} up to {seconds:.0f} s" for name, seconds in slowest.items() if seconds > 9]
    middle = median(row["seconds"] for row in rows)
    sentence = (
        f"Half of the checks take less than {middle:.1f} s of a processor; the longest are those "
        f"of {', '.join(slow)}. None was stopped."
    )
    return "\n".join(textwrap.wrap(sentence, 100))


def _short(model: str) -> str:
    return model.removesuffix("ForCausalLM")


def _cell(version: str, model: str) -> str:
    """Return what a release makes of an architecture, both of its attentions together."""
    rows = _checked(version, model)
    if not rows:
        return "–"
    outcomes = [_outcome(rows, contract)[0] for contract in CONTRACTS]
    kept = f"kept {outcomes.count('kept')} of {len(outcomes)}"
    broken = sorted({name for row in rows for name in row["broken"]})
    if not broken:
        return kept
    name = _short(model)
    for kind in KINDS:
        if name in kind["models"] and {*kind["contracts"]} & {*broken}:
            if issue := kind.get("issues", {}).get(name):
                number = issue.rpartition("/")[2]
                layer = next((x for row in rows for x in _layers(row)), "")
                return f"{kept}; **broken**: {'; '.join(broken)}{layer} ([{number}]({issue}))"
            if kind.get("design"):
                return f"{kept}; by design: {'; '.join(broken)}"
    return f"{kept}; not judged: {len(broken)}"


def _layers(row: dict[str, Any]) -> list[str]:
    """Return the first layer at fault, where a sentence names it."""
    sentences = [text.partition("; first in ")[2] for text in row["broken"].values()]
    return [f"; first in {layer.split(' ')[0]}" for layer in sentences if layer]


def _bound(model: str) -> str:
    """Return the length of the longest text and what it crossed, in the newest release."""
    rows = next((rows for version in reversed(VERSIONS) if (rows := _checked(version, model))), [])
    if not rows:
        return "–"
    longest = max(rows, key=_size)
    crossed = longest["bound"].partition("(crossed: ")[2].partition(")")[0]
    return f"{_size(longest)}" + (f": {crossed.replace('_', ' ')}" if crossed else "")


def _outcome(rows: list[dict[str, Any]], contract: str) -> tuple[str, str]:
    """Return "kept", "broken" or "not tested" for both attentions together, and why not tested."""
    if any(contract in row["broken"] for row in rows):
        return "broken", ""
    if any(contract in row["kept"] for row in rows):
        return "kept", ""
    return "not tested", _reason(next(row["not_tested"][contract] for row in rows))


def _reason(text: str) -> str:
    """Return why a contract was not tested, without the numbers of one model."""
    if "the logits at position" in text and not text.startswith("nothing"):
        return "what moved is too little to tell a mistake from rounding"
    if text.startswith("the call raises"):
        return text.partition(":")[0]
    return text.partition(";")[0]


def _outcomes(contract: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Return what became of a contract, by model and by release."""
    return {
        model: {
            version: _outcome(rows, contract)
            for version in VERSIONS
            if (rows := _checked(version, model))
        }
        for model in MODELS
    }


def _contracts() -> str:
    rows = []
    for contract in CONTRACTS:
        outcomes = _outcomes(contract).values()
        cells = [contract]
        for version in VERSIONS:
            counts = Counter(found[version][0] for found in outcomes if version in found)
            names = {"kept": "kept", "broken": "not kept", "not tested": "not tested"}
            cells.append(", ".join(f"{counts[x]} {y}" for x, y in names.items() if counts[x]))
        rows.append(cells)
    return _table(["Contract", *VERSIONS], rows)


def _lengths() -> str:
    rows = [["the default of 128 tokens"], *([what] for what in CROSSED)]
    for version in VERSIONS:
        checked = _checked(version)
        rows[0].append(str(len({row["model"] for row in checked if _size(row) > 128})))
        for cells, name in zip(rows[1:], CROSSED.values(), strict=True):
            cells.append(str(len({row["model"] for row in checked if name.search(row["bound"])})))
    return _table(["Crossed", *VERSIONS], rows)


def _untested() -> str:
    parts = []
    for contract in CONTRACTS:
        reasons: dict[str, list[str]] = defaultdict(list)
        for model, found in sorted(_outcomes(contract).items()):
            versions: dict[str, list[str]] = defaultdict(list)
            for version, (outcome, reason) in found.items():
                if outcome == "not tested":
                    versions[reason].append(version)
            for reason, named in versions.items():
                which = "" if len(named) == len(found) else f" ({', '.join(named)})"
                reasons[reason].append(_short(model) + which)
        if reasons:
            rows = [
                [reason.replace("|", "or"), str(len(models)), ", ".join(models)]
                for reason, models in sorted(reasons.items(), key=lambda x: -len(x[1]))
            ]
            table = _table(["Reason", "Models", "Which"], rows)
            parts.append(f"### Not tested: {contract}\n\n{table}")
    return "\n\n".join(parts)


def _untried() -> str:
    rows = []
    for model in MODELS:
        found = {
            version: next(row for row in RELEASES[version]["models"] if row["model"] == model)
            for version in VERSIONS
            if not _checked(version, model)
            and any(row["model"] == model for row in RELEASES[version]["models"])
        }
        if found:
            rows.append([model, ", ".join(found), _why_not(model, [*found.values()][-1])])
    return _table(["Architecture", "Releases", "Why"], rows)


def _why_not(model: str, row: dict[str, Any]) -> str:
    if counted := [version for version in VERSIONS if _checked(version, model)]:
        return f"The sizes of that count did not fit it; it was tried in {', '.join(counted)}."
    if sentence := NOT_TRIED.get(_short(model)):
        return str(sentence)
    error = row["not_made"][:120].replace("`", "'").replace("|", "or")
    return f"`{error}`"
