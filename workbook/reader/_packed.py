"""A reader's numbers as bytes, for the figures that run it in the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbook.reader.network import Reader


def packed(reader: Reader, words: Sequence[str]) -> dict[str, Any]:
    """Return the traits that hold a reader's numbers; of the words' vectors only those named.

    ``unpackReader`` of the figures' ``_shared/transformer.js`` reads them in this order. They
    travel as float16 where that changes none of them, else as float32.
    """
    state = reader.state_dict()
    names = []
    for layer in range(len(reader.num_heads)):
        names += [f"attentions.{layer}.W_{which}.weight" for which in "qkvo"]
        names += [f"add_norms.{layer}.norm.{which}" for which in ("weight", "bias")]
    names += ["W_q.weight", "W_k.weight"]
    vectors = state["embedding.weight"][reader.vocabulary.encode(words)]
    parts = [x.detach().cpu().double() for x in (vectors, *(state[name] for name in names))]
    numbers = np.concatenate([x.numpy().ravel() for x in parts])
    half = numbers.astype("<f2")
    exact = bool((half.astype(np.float64) == numbers).all())
    return {
        "packed": (half if exact else numbers.astype("<f4")).tobytes(),
        "bits": 16 if exact else 32,
        "width": reader.embedding.embedding_dim,
        "num_heads": list(reader.num_heads),
    }
