"""Published models: the sizes and the choices of their attention, each with its source."""

import html
import tomllib
from dataclasses import dataclass
from pathlib import Path

import torch

from attention_lib.arguments import require_count
from attention_workbook.cost import cache_bytes, latent_cache_bytes

__all__ = ["MODELS", "Model", "Table"]


@dataclass(frozen=True)
class Model:
    """A published model, as its configuration and its code describe it.

    Parameters
    ----------
    name, year : str, int
        Its name, and when it was published.
    heads : int
        Query heads of a layer.
    layers : list of dict
        Groups of layers that keep something for a token; ``models.toml`` says how.
    positions, norm, scale, sink : str
        Where positions enter, what is normalised, what divides the scores, and what may take
        weight from all keys.
    sizes, code : str
        Links to the source of the sizes, and to that of the rest.

    Examples
    --------
    >>> from attention_workbook.published import MODELS
    >>> [MODELS[0].cache_bytes(length) for length in (1, 8192)]
    [131072, 1073741824]
    >>> gemma = next(model for model in MODELS if model.name == "Gemma 3 27B")
    >>> gemma.cache_bytes(1025) - gemma.cache_bytes(1024)  # 52 of its 62 layers forget a token
    81920
    """

    name: str
    year: int
    heads: int
    layers: list[dict[str, int]]
    positions: str
    norm: str
    scale: str
    sink: str
    sizes: str
    code: str

    def cache_bytes(self, length: int, dtype: torch.dtype = torch.bfloat16) -> int:
        """Return the bytes that a sequence of this length leaves in the cache."""
        require_count("length", length)
        return sum(
            _of_a_token(group, dtype) * min(length, group.get("window", length))
            for group in self.layers
        )

    def _cells(self) -> list[str]:
        links = " · ".join(
            f'<a href="{html.escape(link)}">{word}</a>'
            for link, word in ((self.sizes, "sizes"), (self.code, "code"))
        )
        properties = (self.positions, self.norm, self.scale, self.sink)
        return [
            f"{html.escape(self.name)} ({self.year})<br>{links}",
            str(self.heads),
            html.escape(self._kept_numbers()),
            f"{self.cache_bytes(1):,}".replace(",", "\u202f"),
            *map(html.escape, properties),
        ]

    def _kept_numbers(self) -> str:
        return "; ".join(map(_in_words, self.layers))


def _of_a_token(group: dict[str, int], dtype: torch.dtype) -> int:
    if "latent" in group:
        return latent_cache_bytes(group["layers"], group["latent"], group["rotary"], dtype=dtype)
    return cache_bytes(group["layers"], group["keys"], group["width"], dtype=dtype)


def _in_words(group: dict[str, int]) -> str:
    if "latent" in group:
        return f"{group['layers']} layers: {group['latent']} + {group['rotary']} numbers"
    window = f", window {group['window']}" if "window" in group else ""
    return f"{group['layers']} layers: {group['keys']} heads of {group['width']}{window}"


_FILE = Path(__file__).with_suffix(".toml")
MODELS = [Model(**row) for row in tomllib.loads(_FILE.read_text(encoding="utf-8"))["models"]]


class Table:
    """Models as a table: HTML in a notebook, text elsewhere.

    Examples
    --------
    >>> print(Table(MODELS[:1]))
    Llama 3 8B (2024) | 32 layers: 8 heads of 128 | 131072 bytes a token
    """

    HEADS = (
        *("Model", "Query heads", "A token leaves", "Bytes"),
        *("Positions", "Normalised", "Scale", "Sink or gate"),
    )

    def __init__(self, models: list[Model]) -> None:
        self.models = models

    def __repr__(self) -> str:
        return "\n".join(
            f"{x.name} ({x.year}) | {x._kept_numbers()} | {x.cache_bytes(1)} bytes a token"
            for x in self.models
        )

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{text}</th>' for text in self.HEADS)
        body = "".join(
            f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{c}</td>" for c in others) + "</tr>"
            for first, *others in (model._cells() for model in self.models)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
