"""How an attention is called: found by its type, or by its signature."""

import copy
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Extra = Callable[[Tensor], dict[str, Any]]
Mask = Tensor | None


@dataclass(frozen=True)
class Adapted:
    """An attention as ``call(queries, keys, values, allowed, real)``.

    ``allowed`` is boolean, ``(batch, len_q, len_k)``, True = may attend, or ``None``; ``real`` is
    boolean ``(batch, len_k)``, True = no padding, or ``None``; the real keys come first. With
    ``single`` the call reads its queries alone; with ``maskable`` it takes any mask, else only what
    the caller of ``check`` says.
    """

    call: Callable[..., Any]
    kind: str
    single: bool = False
    maskable: bool = False


def adapt(attend: Any, padding: Extra | None, documents: Extra | None) -> Adapted:
    """Find out how an attention is called."""
    if padding is not None or documents is not None:
        return _given(attend, padding)
    if attend is F.scaled_dot_product_attention:
        return Adapted(_function, "PyTorch's function, True = may attend", maskable=True)
    if isinstance(attend, nn.MultiheadAttention):
        return Adapted(partial(_layer, attend), "PyTorch's layer, True = ignore", maskable=True)
    if isinstance(attend, nn.Module) and type(attend).__module__.startswith("transformers."):
        kind = "a layer of transformers, its mask added to the scores"
        return Adapted(_hugging_face(attend), kind, single=True, maskable=True)
    if {"valid_lens", "mask"} <= parameters(attend).keys():
        kind = "valid_lens and mask, True = may attend"
        return Adapted(partial(_ours, attend), kind, maskable=True)
    return _given(attend, None)


def _given(attend: Any, padding: Extra | None) -> Adapted:
    """Call with what the caller says; a single required argument means one input."""
    named = parameters(attend).values()
    places = [x for x in named if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
    anything = any(x.kind is x.VAR_POSITIONAL for x in named)
    told = {} if padding is None else padding(torch.ones(1, dtype=torch.long))
    required = [x.name for x in places if x.default is x.empty]
    inputs = [name for name in required if name not in told]
    single = len(inputs) == 1 or (anything and not places and isinstance(attend, nn.Module))

    def call(queries: Tensor, keys: Tensor, values: Tensor, allowed: Mask, real: Mask) -> Any:
        if real is None and inputs != required:
            real = torch.ones(keys.shape[0], keys.shape[-2], dtype=torch.bool)
        # Left out where it can be, so that other lengths than those of the mask can be tried.
        more = {}
        if padding is not None and real is not None:
            more = padding(real.sum(dim=-1).to(queries.device))
        return attend(queries, **more) if single else attend(queries, keys, values, **more)

    return Adapted(call, "one input" if single else "queries, keys, values", single=single)


def parameters(attend: Any) -> dict[str, inspect.Parameter]:
    """Return the arguments of a call, by name."""
    try:
        of = attend.forward if isinstance(attend, nn.Module) else attend
        return dict(inspect.signature(of).parameters)
    except (TypeError, ValueError):  # a builtin
        return {}


def _merged(allowed: Mask, real: Mask, several: bool) -> Tensor | None:
    """Return one mask ``(batch, 1, len_q, len_k)``; the second axis only with heads."""
    if real is not None:
        allowed = real.unsqueeze(-2) if allowed is None else allowed & real.unsqueeze(-2)
    return allowed.unsqueeze(1) if several and allowed is not None else allowed


def _function(queries: Tensor, keys: Tensor, values: Tensor, allowed: Mask, real: Mask) -> Tensor:
    mask = _merged(allowed, real, queries.dim() == 4)
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def _ours(
    attend: Any, queries: Tensor, keys: Tensor, values: Tensor, allowed: Mask, real: Mask
) -> Any:
    valid_lens = None if real is None else real.sum(dim=-1)
    mask = _merged(allowed, None, queries.dim() == 4)
    try:
        return attend(queries, keys, values, valid_lens, mask=mask)
    except ValueError:  # heads inside: the mask lacks their axis
        mask = None if mask is None else mask.unsqueeze(1)
        return attend(queries, keys, values, valid_lens, mask=mask)


def _layer(
    layer: Any, queries: Tensor, keys: Tensor, values: Tensor, allowed: Mask, real: Mask
) -> Any:
    hidden = None
    if allowed is not None:
        each = (~allowed).expand(queries.shape[0], -1, -1)
        hidden = each.repeat_interleave(layer.num_heads, dim=0)
    if not layer.batch_first:
        queries, keys, values = (x.transpose(0, 1) for x in (queries, keys, values))
    padded = None if real is None else ~real
    options = {"attn_mask": hidden, "key_padding_mask": padded, "average_attn_weights": False}
    output, weights = layer(queries, keys, values, **options)
    return (output if layer.batch_first else output.transpose(0, 1)), weights


def _hugging_face(layer: nn.Module) -> Callable[..., Any]:
    named = parameters(layer)
    rotary: Any = None
    if "position_embeddings" in named:
        home = vars(sys.modules[type(layer).__module__])
        [kind, *_] = [home[name] for name in home if name.endswith("RotaryEmbedding")]
        rotary = kind(config=layer.config)

    def call(queries: Tensor, keys: Tensor, values: Tensor, allowed: Mask, real: Mask) -> Any:
        batch, length = queries.shape[:2]
        mask = queries.new_zeros(batch, 1, length, length)
        seen = _merged(allowed, real, several=True)
        if seen is not None:
            mask = mask.masked_fill(~seen, torch.finfo(mask.dtype).min)
        more = {"attention_mask": mask}
        if rotary is not None:
            places = torch.arange(length, device=queries.device).expand(batch, -1)
            more["position_embeddings"] = rotary.to(queries.device)(queries, places)
        result = layer(queries, **{name: given for name, given in more.items() if name in named})
        if not isinstance(result, tuple):
            return result
        # Some return a cache or a bias in the second place, where others have weights.
        second = result[1] if len(result) > 1 else None
        if isinstance(second, Tensor) and second.dim() == 4 and second.shape[-1] == length:
            return result[0], second
        return result[0]

    return call


def input_width(attend: Any) -> int | None:
    """Return the width of a module's input, as far as its attributes or weights say it."""
    if not isinstance(attend, nn.Module):
        return None
    config = getattr(attend, "config", None)
    names = ("embed_dim", "hidden_size", "d_model", "dim", "embed_size", "n_embd", "all_head_size")
    for holder in (attend, config):
        for name in names:
            if isinstance(found := getattr(holder, name, None), int) and found > 0:
                return found
    linear = (x.in_features for x in attend.modules() if isinstance(x, nn.Linear))
    return next(linear, None)


def without_projections(module: Any, width: int) -> Any:
    """Return a copy whose square matrices are the identity, stacked ones too, without biases.

    What has no matrices is returned as it is.
    """
    if not isinstance(module, nn.Module) or all(x.dim() != 2 for x in module.parameters()):
        return module
    plain = copy.deepcopy(module)
    with torch.no_grad():
        for weight in plain.parameters():
            rows, columns = (*weight.shape, 0, 0)[:2] if weight.dim() == 2 else (0, 0)
            one = torch.eye(width, dtype=weight.dtype, device=weight.device)
            if columns == width and rows % width == 0:
                weight.copy_(one.repeat(rows // width, 1))
            elif rows == width and columns % width == 0:
                weight.copy_(one.repeat(1, columns // width))
        for name, bias in plain.named_parameters():
            if bias.dim() == 1 and name.rpartition(".")[2] in ("bias", "in_proj_bias"):
                bias.zero_()
    return plain
