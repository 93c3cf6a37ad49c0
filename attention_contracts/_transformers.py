"""How a layer of transformers is called, alone or inside a wrapper as PEFT makes one."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attention_contracts._adapters import MASK_LIKE, Adapted, Mask, merged, parameters

CACHES = ("cache", "past_key_values", "past_key_value", "layer_past")


def layer_in(attend: Any) -> nn.Module | None:
    """Return the layer of transformers that is called: itself, or what a wrapper hands on to."""
    if not isinstance(attend, nn.Module):
        return None
    if type(attend).__module__.startswith("transformers."):
        return attend
    named = parameters(attend).values()
    if named and all(x.kind in (x.VAR_POSITIONAL, x.VAR_KEYWORD) for x in named):
        for submodule in attend.modules():
            kind = type(submodule)
            if kind.__module__.startswith("transformers.") and "Attention" in kind.__name__:
                return submodule
    return None


def adapt(attend: nn.Module, layer: nn.Module) -> Adapted:
    """Call a layer with its mask and its rotary positions."""
    named = parameters(layer)
    mask = next((name for name in ("attention_mask", "mask") if name in named), None)
    unused = [name for name in named if MASK_LIKE.search(name) and name != mask]
    cache = next((name for name in CACHES if name in named), None)
    caller = _Caller(attend, layer, mask)
    kind = "a layer of transformers, " + (f"{mask} added to the scores" if mask else "no mask")
    return Adapted(
        caller,
        kind,
        single=True,
        maskable=mask is not None,
        unused=tuple(unused),
        step=partial(caller.step, cache) if cache and mask else None,
        shifted=(lambda places: partial(caller, start=places)) if caller.rotary else None,
        lengthened=caller.lengthened(),
    )


class _Caller:
    """A layer of transformers as a call of queries, keys, values and two masks."""

    def __init__(self, attend: nn.Module, layer: nn.Module, mask: str | None) -> None:
        self.attend, self.layer, self.mask = attend, layer, mask
        self.named = parameters(layer)
        self.rotary = _rotary(layer) if "position_embeddings" in self.named else None

    def lengthened(self) -> float:
        """Return the length of a vector of length 1 after it was turned."""
        if self.rotary is None:
            return 1.0
        weight = next(self.layer.parameters())
        x = torch.zeros(1, 1, 1, dtype=weight.dtype, device=weight.device)
        cosine = self.rotary(x, torch.zeros(1, 1, dtype=torch.long, device=weight.device))
        cosine = cosine[0] if isinstance(cosine, tuple) else cosine
        return float(cosine.abs().max())

    def __call__(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        allowed: Mask,
        real: Mask,
        start: int = 0,
    ) -> Any:
        result = self.run(queries, merged(allowed, real, several=True), queries.shape[1], start)
        if not isinstance(result, tuple):
            return result
        # Some return a cache or a bias of positions in the second place, others weights.
        candidates = result[2:] if "position_bias" in self.named else result[1:2]
        for weights in candidates:
            if isinstance(weights, Tensor) and weights.dim() == 4:
                return result[0], weights
        return result[0]

    def step(self, name: str, x: Tensor, cache: Any, allowed: Tensor) -> tuple[Tensor, Any]:
        """Give more tokens to a cache, which is made at the first call."""
        transformers = sys.modules["transformers"]
        cache = transformers.DynamicCache() if cache is None else cache
        start = allowed.shape[-1] - x.shape[1]
        result = self.run(x, allowed.unsqueeze(1), allowed.shape[-1], start, {name: cache})
        return (result[0] if isinstance(result, tuple) else result), cache

    def run(
        self,
        x: Tensor,
        visible: Tensor | None,
        len_k: int,
        start: int,
        more: dict[str, Any] | None = None,
    ) -> Any:
        """Call with a mask that is added, and positions from ``start`` on."""
        batch, length = x.shape[:2]
        arguments: dict[str, Any] = dict(more or {})
        if self.mask is not None:
            added = x.new_zeros(batch, 1, length, len_k)
            if visible is not None:
                added = added.masked_fill(~visible, torch.finfo(x.dtype).min)
            arguments[self.mask] = added
        places = torch.arange(start, start + length, device=x.device).expand(batch, -1)
        if self.rotary is not None:
            arguments["position_embeddings"] = self.rotary(x, places)
        elif "position_ids" in self.named:
            arguments["position_ids"] = places
        return self.attend(x, **arguments)


def _rotary(layer: Any) -> Callable[[Tensor, Tensor], Any]:
    """Return what makes a layer's rotary positions, from the module that it is defined in."""
    home = vars(sys.modules[type(layer).__module__])
    config = layer.config
    kinds = [
        home[name] for name in home if name.endswith("RotaryEmbedding") and "Vision" not in name
    ]
    if not kinds:
        raise ValueError("attend: expected a rotary embedding beside the layer, got none")
    module = kinds[0](config=config)
    more: dict[str, Any] = {}
    if "layer_type" in parameters(module):  # one set of frequencies for each kind of layer
        types = getattr(config, "layer_types", None) or [None]
        layer_type = getattr(layer, "layer_type", None) or getattr(layer, "attention_type", None)
        more["layer_type"] = layer_type or types[getattr(layer, "layer_idx", 0) or 0]

    def embed(x: Tensor, places: Tensor) -> Any:
        return module.to(x.device)(x, places, **more)

    return embed
