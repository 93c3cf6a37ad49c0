"""Heatmap explorer: the weights of any number of layers and heads, cell by cell."""

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from attention_workbook.figures._arrays import plain
from attention_workbook.figures._figure import Figure
from attention_workbook.figures._traits import Whole, refusal

_SENTENCE = tuple(["the", "cat", "sat", "on", "the", "mat", "because", "it", "was", "tired"])
_AXES = ("layer", "head", "query", "key")
_MOST_WEIGHTS = 2**24
_FINE_WEIGHTS = 2**16  # up to here a weight has 24 bits, and the numbers are exact to 1e-6
_ROOM = 1_800_000  # bytes of packed weights; base64 adds a third, and the page stays under 3 MB
_MOST_PASTED = 64  # rows and columns


def _example() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two layers of four heads made by hand, and their causal mask."""
    place = np.arange(len(_SENTENCE))
    ahead = place[:, None] - place  # how far the key lies before the query
    near = -np.abs(ahead) / 2
    back = -3.0 * np.abs(ahead - 1)
    first = np.where(place == 0, 2.5, 0.0) + 0 * near
    same = np.array([[3.0 * (a == b) for b in _SENTENCE] for a in _SENTENCE])
    same[_SENTENCE.index("it"), _SENTENCE.index("cat")] = 3.5
    scores = np.array([[back, same, near, first], [back / 3, near + same, near / 8, 2 * first]])
    powers = np.exp(np.where(ahead >= 0, scores, -np.inf))
    return (powers / powers.sum(axis=-1, keepdims=True)).round(6), ahead >= 0


class _Place(Whole):
    """A position on an axis of the weights, in the table that Python was given or in the pasted
    one; ``max`` is that of the figure's own example."""

    def __init__(self, axis: int, default: int = 0, **options: Any) -> None:
        self.axis = axis
        length = (2, 4, len(_SENTENCE), len(_SENTENCE))[axis]
        super().__init__(default, min=default, max=length - 1, **options)

    def validate(self, obj: Any, value: Any) -> Any:
        most = max(obj.shape[self.axis], obj._shape()[self.axis]) - 1
        bounded = Whole(min=self.default_value, max=most)
        bounded.name = self.name
        return bounded.validate(obj, value)


class _Pasted(traitlets.Unicode[str, str]):
    """A table of weights as text, a line for each query; or nothing."""

    def validate(self, obj: Any, value: Any) -> Any:
        try:
            _read_text(value)
        except (AttributeError, TypeError, ValueError):
            expected = f"at most {_MOST_PASTED} lines of as many numbers from 0 to 1"
            raise refusal(obj, self.name, expected, value) from None
        return value


class HeatmapExplorer(Figure):
    r"""Attention weights as a heatmap: choose layer and head, point at a cell, read its numbers.

    The colours run from weight 0 to weight 1, whatever the weights are. Masked cells are hatched.

    Parameters
    ----------
    weights : tensor or array of float, or tuple of them
        Weights from 0 to 1, shape ``(num_heads, len_q, len_k)`` or
        ``(layers, num_heads, len_q, len_k)``; or one entry a layer, each
        ``(1, num_heads, len_q, len_k)``, as the ``attentions`` of a Hugging Face model are.
        Without them the figure shows an example made by hand.
    tokens : sequence of str, optional
        The tokens where queries and keys are the same. Without any, positions are numbered.
    queries, keys : sequence of str, optional
        The tokens of each, where they differ: ``len_q`` and ``len_k`` of them.
    mask : tensor or array of bool, optional
        True = may attend; broadcasts to the shape of ``weights``. A masked cell whose weight is
        not 0 shows the weight's colour in its middle: a leak.
    head_names : sequence of str, optional
        What the heads are called, as many as there are; without it they are numbered.
    layer, head, query, key : int
        The cell that is read, counted from 0. These are traits: they can be set, observed, linked.
    beside : int
        A head that stands beside the one that is read; -1 for none.
    pasted, typed : str
        Weights that the reader of the page has put in place of these, a line for each query; and
        tokens, with blanks between, which name the positions where they are as many.

    Raises
    ------
    traitlets.TraitError
        If weights are not finite, lie outside 0 to 1, have another shape or are none at all;
        if tokens are empty or not as many as the weights have rows or columns; if the mask is
        not boolean or does not broadcast; if the cell is not there. The message says which.

    Notes
    -----
    A weight is kept as the nearest multiple of 1/``levels``, exact to 1e-6 up to 65 536 weights.
    Beyond that it has the 12 to 8 bits that the page has room for: an error of at most 1/8190 to
    1/510. 0 and 1 stay exact. The last bits of float32 weights differ between machines; round
    them first where the stored text must not.

    Examples
    --------
    >>> HeatmapExplorer([[[1.0, 0.0], [0.25, 0.75]]], ["we", "look"], query=1)
    HeatmapExplorer(layer=0, head=0, query=1, key=0, beside=-1)
    """

    _script = "heatmap_explorer.js"

    shape: traitlets.List[int] = traitlets.List(read_only=True).tag(sync=True)
    query_tokens: traitlets.List[str] = traitlets.List(read_only=True).tag(sync=True)
    key_tokens: traitlets.List[str] = traitlets.List(read_only=True).tag(sync=True)
    packed = traitlets.Bytes(read_only=True).tag(sync=True)
    packed_mask = traitlets.Bytes(read_only=True).tag(sync=True)
    layer = _Place(0).tag(sync=True)
    head = _Place(1).tag(sync=True)
    query = _Place(2).tag(sync=True)
    key = _Place(3).tag(sync=True)
    head_names: traitlets.List[str] = traitlets.List(read_only=True).tag(sync=True)
    beside = _Place(1, -1).tag(sync=True)
    pasted = _Pasted("").tag(sync=True)
    typed: traitlets.Unicode[str, str | bytes] = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        weights: ArrayLike | None = None,
        tokens: Sequence[str] | None = None,
        *,
        queries: Sequence[str] | None = None,
        keys: Sequence[str] | None = None,
        mask: ArrayLike | None = None,
        head_names: Sequence[str] | None = None,
        **cell: Any,
    ) -> None:
        if weights is None:
            if any(argument is not None for argument in (tokens, queries, keys, mask)):
                raise _refusal("weights", "given where tokens or a mask are", "none")
            weights, mask = _example()
            tokens = _SENTENCE
            query_place, key_place = map(_SENTENCE.index, ("it", "cat"))
            cell = {"head": 1, "query": query_place, "key": key_place} | cell
        weights = _read_weights(weights)
        *_, len_q, len_k = weights.shape
        names = ("queries", "keys")
        if tokens is not None:
            if queries is not None or keys is not None:
                raise _refusal("tokens", "given alone, or queries and keys instead", "both")
            names, queries, keys = ("tokens", "tokens"), tokens, tokens
        queries = _read_tokens(names[0], queries, len_q)
        keys = _read_tokens(names[1], keys, len_k)
        for name, value in {
            "shape": list(weights.shape),
            "query_tokens": queries,
            "key_tokens": keys,
            "packed": _pack(weights),
            "packed_mask": _pack_mask(_read_mask(mask, weights.shape)),
            "head_names": []
            if head_names is None
            else _read_tokens("head_names", head_names, weights.shape[1]),
        }.items():
            self.set_trait(name, value)
        super().__init__(**cell)

    def _shape(self) -> list[int]:
        """Return the shape of what is shown."""
        pasted_rows = _read_text(self.pasted)
        return [1, 1, len(pasted_rows), len(pasted_rows[0])] if pasted_rows else self.shape


# ---------------------------------------------------------------- reading what is given


def _refusal(name: str, expected: str, got: object) -> traitlets.TraitError:
    return traitlets.TraitError(f"HeatmapExplorer.{name} must be {expected}; got {got}.")


def _array(name: str, value: Any) -> NDArray[Any]:
    """Return a tensor or array, of any float dtype and on any device, as a numpy array."""
    try:
        return np.asarray(plain(value))
    except ValueError:
        raise _refusal(name, "an array whose rows have equal lengths", "a ragged one") from None


def _read_weights(argument: Any) -> NDArray[Any]:
    """Return weights as ``(layers, num_heads, len_q, len_k)``, or refuse them."""
    expected = "(num_heads, len_q, len_k) or (layers, num_heads, len_q, len_k)"
    if isinstance(argument, (tuple, list)) and any(layer is None for layer in argument):
        raise _refusal("weights", "arrays", "None; a model must be asked for its attentions")
    if (
        isinstance(argument, (tuple, list))
        and argument
        and all(hasattr(x, "shape") for x in argument)
    ):
        layers = [_array("weights", layer) for layer in argument]
        shapes = list(dict.fromkeys(layer.shape for layer in layers))
        if len(shapes) > 1:
            shown = " and ".join(map(str, shapes[:2]))
            raise _refusal("weights", "layers of one shape", f"shapes {shown}")
        if layers[0].ndim == 4:
            if len(layers[0]) != 1:
                raise _refusal(
                    "weights",
                    "of one sequence, each layer (1, num_heads, len_q, len_k)",
                    f"layers of shape {shapes[0]}",
                )
            layers = [layer[0] for layer in layers]
        argument = np.stack(layers)
    weights = _array("weights", argument)
    if weights.dtype.kind not in "fiu":
        raise _refusal("weights", "numbers", f"dtype {weights.dtype}")
    if weights.ndim not in (3, 4) or weights.size == 0:
        raise _refusal("weights", f"{expected}, none of them 0", f"shape {weights.shape}")
    if weights.size > _MOST_WEIGHTS:
        count = f"{weights.size}: choose some of the layers or heads"
        raise _refusal("weights", f"at most {_MOST_WEIGHTS} numbers", count)
    weights = weights.reshape((-1, *weights.shape[-3:])).astype(np.float64)
    outside = ~((weights >= -1e-6) & (weights <= 1 + 1e-6))
    if outside.any():
        place = tuple(np.argwhere(outside)[0].tolist())
        where = ", ".join(f"{axis} {i}" for axis, i in zip(_AXES, place, strict=True))
        raise _refusal("weights", "numbers from 0 to 1", f"{weights[place]} at {where}")
    return weights.clip(0, 1)


def _read_tokens(name: str, tokens: Any, count: int) -> list[str]:
    if tokens is None:
        return [str(position) for position in range(count)]
    tokens = tokens.tolist() if isinstance(tokens, np.ndarray) else tokens
    if not isinstance(tokens, (list, tuple)) or not all(isinstance(x, str) for x in tokens):
        raise _refusal(name, "a list of strings", repr(tokens)[:60])
    if len(tokens) != count:
        raise _refusal(name, f"as many as the weights have, {count}", len(tokens))
    if "" in tokens:
        raise _refusal(name, "not empty", f"'' at position {list(tokens).index('')}")
    return [str(token) for token in tokens]


def _read_text(text: str) -> list[list[float]]:
    """Return the rows of a table of weights that was pasted; brackets and commas are let be."""
    lines = [line.split() for line in re.sub(r"[][(),;]", " ", text).splitlines()]
    rows = [[float(part.replace("−", "-")) for part in line] for line in lines if line]
    sizes = {len(row) for row in rows} or {0}
    if len(sizes) > 1 or max(len(rows), *sizes) > _MOST_PASTED:
        raise ValueError(text)
    if not all(0 <= number <= 1 for row in rows for number in row):
        raise ValueError(text)
    return rows


def _read_mask(argument: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    if argument is None:
        return np.broadcast_to(True, shape)
    mask = _array("mask", argument)
    if mask.dtype != bool:
        raise _refusal("mask", "boolean, True = may attend", f"dtype {mask.dtype}")
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        expected = f"one that broadcasts to the weights' {shape}"
        raise _refusal("mask", expected, f"shape {mask.shape}") from None


# ---------------------------------------------------------------- packing


def _pack(weights: NDArray[Any]) -> bytes:
    """Return weights in whole steps, packed.

    One byte for the bits of a weight; then for each head the length in bytes (four, little end
    first), the order of its code (one), and the code words, the highest bit first.
    """
    for bits in (24,) if weights.size <= _FINE_WEIGHTS else range(12, 7, -1):
        codes = np.floor(weights * (2**bits - 1) + 0.5).astype(np.int32)
        heads = [_golomb(table.ravel(), bits) for layer in codes for table in layer]
        packed = bytes([bits]) + b"".join(
            struct.pack("<IB", len(data), order) + data for order, data in heads
        )
        if len(packed) <= _ROOM:
            break
    return packed


def _golomb(codes: NDArray[Any], bits: int) -> tuple[int, bytes]:
    """Return the best order of an exponential Golomb code (Teuhola 1978), and the code words.

    The word of ``c`` in order ``k`` is ``c + 2**k`` in binary, behind a 0 for each of its bits
    beyond the first ``k + 1``.
    """

    def lengths(order: int) -> NDArray[Any]:
        return np.asarray(np.frexp(codes + 2**order)[1])  # of the binary number, exactly

    order = min(range(bits), key=lambda order: 2 * lengths(order).sum() - order * codes.size)
    binary, length = codes + 2**order, lengths(order)
    ends = np.cumsum(2 * length - 1 - order)
    stream = np.zeros(ends[-1], dtype=np.uint8)
    for bit in range(length.max()):
        is_long_enough = length > bit
        stream[ends[is_long_enough] - 1 - bit] = binary[is_long_enough] >> bit & 1
    return order, np.packbits(stream).tobytes()


def _pack_mask(mask: NDArray[Any]) -> bytes:
    """Return the mask as bits, once where it is the same for all heads; nothing if all may."""
    if mask.all():
        return b""
    tables = mask.reshape(-1, mask[0, 0].size)
    same = (tables == tables[0]).all()
    return np.packbits(tables[:1] if same else tables, axis=1).tobytes()
