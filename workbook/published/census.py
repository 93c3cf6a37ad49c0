"""The census: which contracts the causal models of a released library break.

``tools/census.py`` makes every causal model of a release of transformers, small and with random
weights, runs :func:`~attention_contracts.check_model` on it, and writes ``census.json``.
``census.toml`` holds what a person made of the broken ones. The book's page is written from both::

    python -m workbook.published > book/census.md
"""

import html
import json
import tomllib
from pathlib import Path
from typing import Any

__all__ = ["Census"]

_SOURCE = Path(__file__)
RELEASES = json.loads(_SOURCE.with_suffix(".json").read_text(encoding="utf-8"))
KINDS = tomllib.loads(_SOURCE.with_suffix(".toml").read_text(encoding="utf-8"))["kinds"]


class Census:
    """A release of transformers: its causal models, and what is broken in them.

    Parameters
    ----------
    version : str
        A release that was counted.

    Raises
    ------
    ValueError
        If it was not.

    Examples
    --------
    >>> census = Census("5.23.0")
    >>> census.checked, census.known
    (147, 181)
    >>> census.kinds["not explained yet"]
    ['DeepseekV4', 'NemotronH']
    """

    def __init__(self, version: str) -> None:
        if version not in RELEASES:
            raise ValueError(f"version: expected one of {', '.join(RELEASES)}, got {version!r}")
        self.version, rows = version, RELEASES[version]["models"]
        self.known = len({row["model"] for row in rows})
        self.checked = len({row["model"] for row in rows if "kept" in row})
        self.broken = {
            (row["model"], row["attention"]): row["broken"] for row in rows if row.get("broken")
        }
        self.kinds: dict[str, list[str]] = {kind["name"]: [] for kind in KINDS}
        for (model, _), contracts in self.broken.items():
            name = model.removesuffix("ForCausalLM")
            kind = next(
                kind["name"]
                for kind in KINDS
                if name in kind["models"] and {*kind["contracts"]} & contracts.keys()
            )
            if name not in self.kinds[kind]:
                self.kinds[kind].append(name)

    def __repr__(self) -> str:
        broken = len({model for model, _ in self.broken})
        lines = [
            f"{self.version}: {self.checked} of {self.known} checked, {broken} break something"
        ]
        lines += [f"{kind}: {', '.join(names)}" for kind, names in self.kinds.items() if names]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first, *rows = repr(self).splitlines()
        body = "".join(
            f'<tr><th scope="row">{html.escape(kind)}</th><td>{html.escape(names)}</td></tr>'
            for kind, _, names in (row.partition(": ") for row in rows)
        )
        return f"<table><caption>{html.escape(first)}</caption><tbody>{body}</tbody></table>"


INTRODUCTION = """# A census of causal models

Which contracts do the causal models of a released library keep? Every row below is an architecture
of [transformers](https://github.com/huggingface/transformers), made small and with random weights,
and run through [`check_model`](check-your-own.md#check-a-whole-model). A mistake in a mask or in a
cache does not need trained weights to show.

- **kept 9** means that nine contracts were tested and kept; the others could not be tested.
- **broken** names what broke, and links to the public report of that mistake.
- **by design** names a promise that this architecture does not make.
- **not judged** means that something moved and that we know of no public report. A small random
  model is not what anyone runs, so we say no more.
- **–** means that the model could not be made small, or was not tried in this release.

| Release | Counted on | Models tried | Kept all that was tested | Length of the texts |
|---|---|---|---|---|
{releases}

Count another release yourself, in an environment that has it:

```sh
python tools/census.py workbook/published/census.json
python -m workbook.published > book/census.md
```

Names of models after the file narrow the count to those, as in the two releases with long texts.
"""


def page() -> str:
    """Return the page of the census as Markdown: a row for each architecture."""
    releases = sorted(RELEASES, key=lambda version: [int(part) for part in version.split(".")])
    models = sorted({row["model"] for release in RELEASES.values() for row in release["models"]})
    lines = [_release(version) for version in releases]
    table = [
        f"| Architecture | {' | '.join(releases)} |",
        "|---|" + "---|" * len(releases),
        *(
            f"| {name} | {' | '.join(_cell(version, name) for version in releases)} |"
            for name in models
        ),
    ]
    introduction = INTRODUCTION.format(releases="\n".join(lines))
    return "\n".join([introduction, "## The table", "", *table]) + "\n"


def _release(version: str) -> str:
    release = RELEASES[version]
    checked = [row for row in release["models"] if "kept" in row]
    tried = {row["model"] for row in checked}
    unbroken = tried - {row["model"] for row in checked if row["broken"]}
    bounds = {row["bound"].split(" tokens")[0] for row in checked if "bound" in row}
    sizes = sorted(map(int, bounds)) or [12]
    lengths = " to ".join(str(size) for size in dict.fromkeys((sizes[0], sizes[-1]))) + " tokens"
    date = release.get("date", "2026")
    return f"| {version} | {date} | {len(tried)} | {len(unbroken)} | {lengths} |"


def _cell(version: str, model: str) -> str:
    """Return what a release makes of an architecture, both of its attentions together."""
    rows = [row for row in RELEASES[version]["models"] if row["model"] == model and "kept" in row]
    if not rows:
        return "–"
    broken = sorted({name for row in rows for name in row["broken"]})
    if not broken:
        return f"kept {min(len(row['kept']) for row in rows)}"
    name = model.removesuffix("ForCausalLM")
    for kind in KINDS:
        if name in kind["models"] and {*kind["contracts"]} & {*broken}:
            if issue := kind.get("issues", {}).get(name):
                number = issue.rpartition("/")[2]
                layer = next((x for row in rows for x in _layers(row)), "")
                return f"**broken**: {'; '.join(broken)}{layer} ([{number}]({issue}))"
            if kind.get("design"):
                return f"by design: {'; '.join(broken)}"
    return "not judged"


def _layers(row: dict[str, Any]) -> list[str]:
    """Return the first layer at fault, where a sentence names it."""
    sentences = [text.partition("; first in ")[2] for text in row["broken"].values()]
    return [f"; first in {layer.split(' ')[0]}" for layer in sentences if layer]
