"""The census: which contracts the causal models of a released library break.

``tools/census.py`` makes every causal model of a release of transformers, small and with random
weights, runs :func:`~attention_contracts.check_model` on it, and writes ``census.json``.
``census.toml`` holds what a person made of the broken ones, and ``census_page`` writes the book's
page from both.
"""

import html
import json
import tomllib
from pathlib import Path

__all__ = ["Census"]

_SOURCE = Path(__file__)
RELEASES = json.loads(_SOURCE.with_suffix(".json").read_text(encoding="utf-8"))
_JUDGED = tomllib.loads(_SOURCE.with_suffix(".toml").read_text(encoding="utf-8"))
KINDS, NOT_TRIED = _JUDGED["kinds"], _JUDGED["not_tried"]


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
    (148, 181)
    >>> census.kinds["not explained yet"]
    ['DeepseekV4', 'Moshi']
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
