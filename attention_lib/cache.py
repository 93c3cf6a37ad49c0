"""A cache of keys and values, so that a decoder computes each position once."""

from typing import Any

import torch
from torch import Tensor, nn

from attention_lib._arguments import (
    require_count,
    require_float,
    require_mask_for,
    require_same_kind,
    shape_of,
)
from attention_lib.masking import causal_mask, combine_masks, window_mask

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

    Memory is allocated ahead, at most half as much again as is needed. A window keeps room for
    one eighth more keys than it shows. When that room is full, the window moves back to its
    start, so the keys stay in order and a step stays cheap.

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
        self._layer: int | None = None

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        window = "" if self.window is None else f"window={self.window}, "
        return f"{type(self).__name__}({window}length={self._length})"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_layer": None}  # a copy may serve a copy of the layer

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new positions.

        Parameters
        ----------
        keys, values : torch.Tensor
            Shapes ``(batch, num_kv_heads, len, d_k)`` and ``(batch, num_kv_heads, len, d_v)``.

        Returns
        -------
        keys, values : torch.Tensor
            Those that the new positions may see, the new ones last: all so far, or with a
            window the last ``window - 1 + len``. They are views, valid until the next call.

        Raises
        ------
        TypeError, ValueError
            If batch, heads, width, dtype or device are not those of the cache, or if a gradient
            would be needed.
        """
        self._require_fitting(keys, values)
        new, seen = keys.shape[2], self.number_seen(keys.shape[2])
        if not self._buffers or self._end + new > self._buffers[0].shape[2]:
            self._make_room(seen - new, seen, keys, values)
        for buffer, x in zip(self._buffers, (keys, values), strict=True):
            buffer.narrow(2, self._end, new).copy_(x)
        self._end += new
        self._length += new
        all_keys, all_values = self._buffers
        first = self._end - seen
        return all_keys.narrow(2, first, seen), all_values.narrow(2, first, seen)

    def number_seen(self, len_q: int) -> int:
        """Return how many keys the next ``len_q`` positions may see, their own included."""
        old = self._length if self.window is None else min(self._length, self.window - 1)
        return old + len_q

    def mask_for(
        self,
        layer: nn.Module,
        shape: tuple[int, int, int, int],
        device: torch.device,
        valid_lens: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor | None:
        """Return which of the keys that ``extend`` will return each new query may see.

        ``shape`` is that of the scores of the new positions alone,
        ``(batch, num_heads, len_q, len_k)``.
        """
        batch, num_heads, len_q, len_k = shape
        if self._layer not in (None, id(layer)):
            raise ValueError("cache: expected one cache for each layer, got that of another layer")
        if len_k != len_q:
            raise ValueError(
                f"keys: expected the positions of the queries, {len_q}, with a cache, got {len_k}"
            )
        if valid_lens is not None:
            raise ValueError(
                "valid_lens: expected None with a cache, where prompts are padded on the left and "
                f"mask= hides the padding, got {type(valid_lens).__name__}"
            )
        self._layer = id(layer)
        seen, causal = self.number_seen(len_q), None
        if self.window is not None and seen > self.window:
            causal = window_mask(len_q, seen, window=self.window, device=device)
        elif len_q > 1:
            causal = causal_mask(len_q, seen, device)
        if mask is None:
            return causal
        per_head = isinstance(mask, Tensor) and mask.dim() == 4
        total = self._length + len_q
        require_mask_for((batch, *((num_heads,) if per_head else ()), len_q, total), device, mask)
        mask = mask.unsqueeze(1) if mask.dim() == 3 else mask  # alike in every head
        return combine_masks(causal, mask if mask.shape[-1] == 1 else mask[..., total - seen :])

    def _make_room(self, old: int, seen: int, keys: Tensor, values: Tensor) -> None:
        """Move the last ``old`` keys to the start of new buffers, with room for ``seen`` keys."""
        room = seen + seen // 2 + 16
        if self.window is not None:
            room = max(seen, min(room, self.window + self.window // 8 + 1))
        # What is made in inference mode cannot be written outside of it.
        with torch.inference_mode(False):
            buffers = [x.new_empty(*x.shape[:2], room, x.shape[3]) for x in (keys, values)]
        for buffer, before in zip(buffers, self._buffers, strict=False):
            buffer.narrow(2, 0, old).copy_(before.narrow(2, self._end - old, old))
        self._buffers, self._end = tuple(buffers), old

    def _require_fitting(self, keys: Tensor, values: Tensor) -> None:
        for name, x in (("keys", keys), ("values", values)):
            require_float(name, x, rank=4, axes="(batch, num_kv_heads, len, width)")
        if values.shape[:-1] != keys.shape[:-1]:
            raise ValueError(
                f"values: expected batch, heads and length of keys, {shape_of(keys)}, "
                f"got {shape_of(values)}"
            )
        if torch.is_grad_enabled() and (keys.requires_grad or values.requires_grad):
            raise ValueError(
                "cache: expected a call under torch.no_grad() or torch.inference_mode(), "
                "got keys or values that need a gradient"
            )
        for name, x, buffer in zip(("keys", "values"), (keys, values), self._buffers, strict=False):
            batch, heads, _, width = buffer.shape
            if (x.shape[0], x.shape[1], x.shape[3]) != (batch, heads, width):
                raise ValueError(
                    f"{name}: expected what the cache holds, ({batch}, {heads}, len, {width}), "
                    f"got {shape_of(x)}; cache.reset() empties the cache"
                )
            require_same_kind("the cache", buffer, name, x)
