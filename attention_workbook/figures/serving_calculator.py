"""Serving calculator: how many users a machine serves at once, by what its cache keeps."""

import re
from typing import Any

import traitlets

from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Switch, Whole, refusal

OWN = "my own numbers"


class _Name(traitlets.Unicode[str, str]):
    """The name of a published model, or the words for numbers of one's own."""

    def validate(self, obj: Any, value: Any) -> Any:
        names = [OWN, *(name for name, *_ in obj.models)]
        if isinstance(value, str) and value in names:
            return value
        raise refusal(obj, self.name, f"one of {', '.join(map(repr, names))}", value)


class ServingCalculator(Figure):
    """Bytes a token leaves in the cache, and how many users fit into a machine's memory.

    The models are those of ``attention_workbook.published.MODELS``. The cache holds 2 bytes a
    number, or 1
    with ``eight_bits``.

    Parameters
    ----------
    model : str
        A published model's name, or ``"my own numbers"``: then ``layers``, ``kv_heads`` and
        ``width`` count.
    layers, kv_heads, width : int
        Layers, key heads of a layer, and the width of a head's keys and values.
    context : int
        Tokens that each user's text has, 256 to 1048576.
    memory, weights : int
        Of the machine, and what the model's weights take of it, in GB (10⁹ bytes).
    windows : bool
        Whether three layers of four forget all but the last 1024 tokens.
    latent : bool
        Whether each layer keeps one vector of 512 + 64 numbers for all heads.
    eight_bits : bool
        Whether a number takes one byte.

    Raises
    ------
    traitlets.TraitError
        If a value is none of these; the message says what was expected.

    Examples
    --------
    >>> ServingCalculator(model="DeepSeek-V3", context=65536).memory
    80
    """

    _script = "serving_calculator.js"

    model = _Name("Llama 3 8B").tag(sync=True)
    layers = Whole(32, min=1, max=512).tag(sync=True)
    kv_heads = Whole(8, min=1, max=512).tag(sync=True)
    width = Whole(128, min=1, max=4096).tag(sync=True)
    context = Whole(8192, min=256, max=2**20).tag(sync=True)
    memory = Whole(80, min=1, max=20_000).tag(sync=True)
    weights = Whole(16, min=0, max=20_000).tag(sync=True)
    windows = Switch(False).tag(sync=True)
    latent = Switch(False).tag(sync=True)
    eight_bits = Switch(False).tag(sync=True)
    models: traitlets.List[list[Any]] = traitlets.List(read_only=True).tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        from attention_workbook.published import MODELS

        self.set_trait(
            "models",
            [
                [model.name, [*map(_numbers, model.layers)], _weights(model.name)]
                for model in MODELS
            ],
        )
        super().__init__(**traits)


def _weights(name: str) -> int:
    """Return the GB of a model's weights at 2 bytes a parameter, by the billions in its name."""
    billions = re.search(r"([0-9]+)b", name.lower())
    return 2 * int(billions[1]) if billions else 2 * 671  # DeepSeek-V3, by its report


def _numbers(group: dict[str, int]) -> list[int]:
    """Return a group of layers: how many, the numbers that a token leaves in each, the window."""
    if "latent" in group:
        numbers = group["latent"] + group["rotary"]
    else:
        numbers = 2 * group["keys"] * group["width"]
    return [group["layers"], numbers, group.get("window", 0)]
