"""A cache of keys and values, so that a decoder computes each position once."""

import weakref
from typing import Any

import torch
from torch import Tensor

from attention_lib.arguments import (
    require_alike,
    require_count,
    require_float,
    require_ids,
    require_tensor,
    shape_of,
)

__all__ = ["KeyValueCache"]


class KeyValueCache:
    """The keys and values of all positions so far, for one causal self-attention layer.

    Hand a :class:`~attention_lib.multihead.MultiHeadAttention` only the new tokens, one or
    several at a time, and its cache. The layer then returns what a pass over the whole
    sequence under a causal mask would return for these tokens. Each layer needs a cache of its
    own, and all calls run without gradients.

    Parameters
    ----------
    window : int, optional
        Number of keys that a query sees at most, its own included, as in
        :func:`~attention_lib.masking.window_mask`. Older keys are forgotten. ``None`` keeps
        them all.

    Raises
    ------
    TypeError, ValueError
        If ``window`` is not a whole number of at least 1.

    Notes
    -----
    ``len(cache)`` is the number of positions so far, forgotten ones included: the position of
    the next token, which is the ``offset`` of a
    :class:`~attention_lib.positions.PositionalEncoding`. An empty cache is false, so test for
    ``cache is None``.

    Memory is allocated ahead: at most half as much again as is needed, and 16 keys. A window
    keeps room for one eighth more keys than it shows. When that room is full, the window moves
    back to its start, so the keys stay in order and a step stays cheap.

    Examples
    --------
    >>> from attention_lib.multihead import MultiHeadAttention
    >>> layer, cache = MultiHeadAttention(8, num_heads=2), KeyValueCache()
    >>> x = torch.ones(1, 3, 8)
    >>> with torch.no_grad():
    ...     prompt, _ = layer(x, x, x, cache=cache)
    ...     token = torch.zeros(1, 1, 8)
    ...     output, weights = layer(token, token, token, cache=cache)
    >>> len(cache), weights.shape
    (4, torch.Size([1, 2, 1, 4]))
    """

    def __init__(self, window: int | None = None) -> None:
        if window is not None:
            require_count("window", window)
        self.window = window
        self.reset()

    def reset(self) -> None:
        """Forget all keys and values and release their memory; the next position is 0."""
        self._length = 0
        self._end = 0  # in the buffers, the newest key stands before this index
        self._buffers: tuple[Tensor, ...] = ()  # keys and values: (batch, num_kv_heads, room, d_k)
        self._layer: weakref.ref[object] | None = None

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        window = "" if self.window is None else f"window={self.window}, "
        return f"{type(self).__name__}({window}length={self._length})"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_layer": None}  # a copy may serve a copy of the layer

    def number_visible(self, len_q: int) -> int:
        """Return how many keys the next ``len_q`` positions may see, their own included."""
        num_old = self._length if self.window is None else min(self._length, self.window - 1)
        return num_old + len_q

    def extend(
        self, keys: Tensor, values: Tensor, layer: object | None = None
    ) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new positions.

        Parameters
        ----------
        keys, values : torch.Tensor
            Shapes ``(batch, num_kv_heads, len, d_k)`` and ``(batch, num_kv_heads, len, d_v)``.
        layer : object, optional
            The layer that they belong to. A second layer is refused: it needs its own cache.

        Returns
        -------
        keys, values : torch.Tensor
            Those that the new positions may see, the new ones last: all so far, or with a
            window the last ``window - 1 + len``. They are views, valid until the next call.

        Raises
        ------
        TypeError, ValueError
            If batch, heads, width, dtype, device or layer are not those of the cache, or if a
            gradient would be needed.
        """
        self._require_fitting(keys, values)
        if layer is not None:
            self._bind(layer)
        num_new, num_visible = keys.shape[2], self.number_visible(keys.shape[2])
        if not self._buffers or self._end + num_new > self._buffers[0].shape[2]:
            self._make_room(num_visible - num_new, num_visible, keys, values)
        for buffer, x in zip(self._buffers, (keys, values), strict=True):
            buffer.narrow(2, self._end, num_new).copy_(x)
        self._end += num_new
        self._length += num_new
        all_keys, all_values = self._buffers
        first = self._end - num_visible
        return all_keys.narrow(2, first, num_visible), all_values.narrow(2, first, num_visible)

    def crop(self, length: int) -> None:
        """Go back to the first ``length`` positions, as after a draft that was refused.

        Parameters
        ----------
        length : int
            From 0 to ``len(cache)``.

        Raises
        ------
        TypeError, ValueError
            If ``length`` is out of range, or the window has forgotten keys that the next position
            would see.

        Examples
        --------
        >>> cache = KeyValueCache()
        >>> _ = cache.extend(torch.ones(1, 2, 5, 4), torch.ones(1, 2, 5, 4))
        >>> cache.crop(3)
        >>> cache
        KeyValueCache(length=3)
        """
        require_count("length", length, minimum=0)
        if length > self._length:
            raise ValueError(f"length: expected at most len(cache) = {self._length}, got {length}")
        num_needed = length if self.window is None else min(length, self.window - 1)
        end = max(self._end - (self._length - length), 0)
        if end < num_needed:
            raise ValueError(
                f"length: expected a position whose window of {self.window} keys is still held, "
                f"got {length}"
            )
        self._length, self._end = length, end

    def reorder(self, rows: Tensor) -> None:
        """Keep these sequences of the batch, in this order, as beam search does after each step.

        Parameters
        ----------
        rows : torch.Tensor
            Integers of shape ``(new_batch,)``, from 0 to before ``batch``. A row may be repeated
            or left out.

        Raises
        ------
        TypeError, ValueError
            If ``rows`` is no tensor of integers with one axis.

        Examples
        --------
        >>> cache = KeyValueCache()
        >>> keys = torch.arange(3.0).reshape(3, 1, 1, 1)  # a batch of three
        >>> _ = cache.extend(keys, keys)
        >>> cache.reorder(torch.tensor([2, 2, 0, 1]))
        >>> cache.extend(keys.new_zeros(4, 1, 0, 1), keys.new_zeros(4, 1, 0, 1))[0].flatten()
        tensor([2., 2., 0., 1.])
        """
        require_tensor("rows", rows, "(new_batch,)", rank=1)
        require_ids("rows", rows, "(new_batch,)")
        with torch.inference_mode(False):  # what is made in inference mode, only it can write
            self._buffers = tuple(buffer.index_select(0, rows) for buffer in self._buffers)

    def _bind(self, layer: object) -> None:
        """Refuse any layer but the first."""
        if self._layer is None:
            self._layer = weakref.ref(layer)
        elif self._layer() is not layer:
            raise ValueError("cache: expected one cache for each layer, got that of another layer")

    def _make_room(self, num_old: int, num_needed: int, keys: Tensor, values: Tensor) -> None:
        """Move the last ``num_old`` keys to the start of new buffers with enough room."""
        room = num_needed + num_needed // 2 + 16
        if self.window is not None:
            room = max(num_needed, min(room, self.window + self.window // 8 + 1))
        with torch.inference_mode(False):  # what is made in inference mode, only it can write
            buffers = [x.new_empty(*x.shape[:2], room, x.shape[3]) for x in (keys, values)]
        for buffer, old_buffer in zip(buffers, self._buffers, strict=False):
            old = old_buffer.narrow(2, self._end - num_old, num_old)
            buffer.narrow(2, 0, num_old).copy_(old)
        self._buffers, self._end = tuple(buffers), num_old

    def _require_fitting(self, keys: Tensor, values: Tensor) -> None:
        for name, x in (("keys", keys), ("values", values)):
            require_float(name, x, "(batch, num_kv_heads, len, width)", rank=4)
        if values.shape[:-1] != keys.shape[:-1]:
            raise ValueError(
                "values: expected the shape of keys but for the width, "
                f"{(*keys.shape[:-1], values.shape[-1])}, got {shape_of(values)}"
            )
        if torch.is_grad_enabled() and (keys.requires_grad or values.requires_grad):
            raise ValueError(
                "cache: expected a call without gradients, under torch.no_grad(), "
                "got keys or values that need one"
            )
        for name, x, buffer in zip(("keys", "values"), (keys, values), self._buffers, strict=False):
            batch, heads, _, width = buffer.shape
            expected = (batch, heads, x.shape[2], width)
            if tuple(x.shape) != expected:
                raise ValueError(
                    f"{name}: expected the shape of the cache, {expected}, got {shape_of(x)}"
                )
            require_alike("the cache", buffer, name, x)
