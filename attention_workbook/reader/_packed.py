"""A reader's numbers as bytes, for the figures that run it in the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_workbook.reader.network import Reader


def packed(reader: Reader, words: Sequence[str]) -> dict[str, Any]:
    """Return the traits that hold a reader's numbers; of the words' vectors only those named.

    ``unpackReader`` of the figures' ``_shared/transformer.js`` reads them in this order. They
    travel as bytes, with one of ``scales`` for each matrix, if the reader was stored so; else as
    float32.
    """
    state = reader.state_dict()
    names = ["embedding.weight"]
    for layer in range(len(reader.num_heads)):
        names += [f"attentions.{layer}.W_{which}.weight" for which in "qkvo"]
        names += [f"add_norms.{layer}.norm.{which}" for which in ("weight", "bias")]
    names += ["W_q.weight", "W_k.weight"]
    parts = [state[name].detach().cpu().float().numpy() for name in names]
    rounded = [_in_bytes(part) for part in parts]
    exact = all(scale for scale, _ in rounded)
    numbers = [whole for _, whole in rounded] if exact else parts
    vectors, *matrices = numbers
    vectors = vectors[reader.vocabulary.encode(words, own=True)]
    joined = np.concatenate([part.ravel() for part in (vectors, *matrices)])
    return {
        "packed": joined.astype("i1" if exact else "<f4").tobytes(),
        "scales": [scale for scale, _ in rounded] if exact else [],
        "width": reader.embedding.embedding_dim,
        "num_heads": list(reader.num_heads),
    }


def _in_bytes(part: NDArray[np.float32]) -> tuple[float, NDArray[np.float32]]:
    """Return the scale of a matrix and its numbers divided by it; 0 if they are no bytes."""
    about = np.float32(np.abs(part).max() / 127)
    for scale in (about, np.nextafter(about, np.float32(0)), np.nextafter(about, np.float32(2))):
        whole = np.rint(part / (scale or np.float32(1)))
        if (whole * scale == part).all():
            return float(scale) or 1.0, whole
    return 0.0, part
