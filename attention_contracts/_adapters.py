"""How an attention is called: found by its type, or by its signature."""

import copy
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Extra = Callable[..., dict[str, Any]]
Mask = Tensor | None
MASK_LIKE = re.compile(r"mask|padding|valid_len|lengths?$|seq_?lens?|cu_seqlens", re.I)


@dataclass(frozen=True)
class Adapted:
    """An attention as ``call(queries, keys, values, allowed, real)``.

    ``allowed`` is boolean, ``(batch, len_q, len_k)``, True = may attend, or ``None``; ``real`` is
    boolean ``(batch, len_k)``, True = no padding, or ``None``; the real keys come first. With
    ``single`` the call reads its queries alone; with ``maskable`` it takes any mask, else only what
    the caller of ``check`` says. ``unused`` are arguments that look like masks and get nothing.
    ``step(x, cache, allowed)`` gives more of one input to a cache and returns the output and the
    cache; ``shifted`` is the call with all positions moved by so many places. Rotary positions may
    also lengthen vectors, as YaRN's do: ``lengthened`` is by how much.
    """

    call: Callable[..., Any]
    kind: str
    single: bool = False
    maskable: bool = False
    unused: tuple[str, ...] = ()
    step: Callable[..., tuple[Tensor, Any]] | None = None
    shifted: Callable[[int], Callable[..., Any]] | None = None
    lengthened: float = 1.0


def by_signature(attend: Any, padding: Extra | None, documents: Extra | None) -> Adapted:
    """Call with what the caller says; a single required argument means one input."""
    named = parameters(attend).values()
    places = [x for x in named if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
    anything = any(x.kind is x.VAR_POSITIONAL for x in named)
    named_by_caller: set[str] = set()
    if padding is not None:
        named_by_caller |= {*padding(torch.ones(1, dtype=torch.long), 4)}
    required = [x.name for x in places if x.default is x.empty]
    inputs = [name for name in required if name not in named_by_caller]
    single = len(inputs) == 1 or (anything and not places and isinstance(attend, nn.Module))
    if documents is not None:
        named_by_caller |= {*documents(torch.zeros(1, 4, dtype=torch.long))}

    def call(queries: Tensor, keys: Tensor, values: Tensor, allowed: Mask, real: Mask) -> Any:
        len_k = keys.shape[-2]
        if real is None and inputs != required:
            real = torch.ones(keys.shape[0], len_k, dtype=torch.bool, device=keys.device)
        # Left out where it can be, so that an attention without its mask can be compared.
        more = {}
        if padding is not None and real is not None:
            more = padding(real.sum(dim=-1).to(queries.device), len_k)
        return attend(queries, **more) if single else attend(queries, keys, values, **more)

    unused = [x.name for x in named if MASK_LIKE.search(x.name) and x.name not in named_by_caller]
    kind = "one input" if single else "queries, keys, values"
    return Adapted(call, kind, single=single, unused=tuple(unused))


def bound(attend: Any, **options: Any) -> Any:
    """Return an attention with some arguments given; of a module, a module of the same parts."""
    if not isinstance(attend, nn.Module):
        return partial(attend, **options)
    module = copy.copy(attend)
    forward = vars(attend).get("forward") or partial(type(attend).forward, module)
    module.forward = partial(forward, **options)
    return module


def parameters(attend: Any) -> dict[str, inspect.Parameter]:
    """Return the arguments of a call, by name."""
    try:
        function = attend.forward if isinstance(attend, nn.Module) else attend
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin
        return {}


def merged(allowed: Mask, real: Mask, several: bool) -> Tensor | None:
    """Return one mask ``(batch, 1, len_q, len_k)``; the second axis only with heads."""
    if real is not None:
        allowed = real.unsqueeze(-2) if allowed is None else allowed & real.unsqueeze(-2)
    return allowed.unsqueeze(1) if several and allowed is not None else allowed


def function(queries: Tensor, keys: Tensor, values: Tensor, allowed: Mask, real: Mask) -> Tensor:
    mask = merged(allowed, real, queries.dim() == 4)
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def with_lengths_and_mask(
    attend: Any, queries: Tensor, keys: Tensor, values: Tensor, allowed: Mask, real: Mask
) -> Any:
    valid_lens = None if real is None else real.sum(dim=-1)
    mask = merged(allowed, None, queries.dim() == 4)
    try:
        return attend(queries, keys, values, valid_lens, mask=mask)
    except ValueError:  # heads inside: the mask lacks their axis
        mask = None if mask is None else mask.unsqueeze(1)
        return attend(queries, keys, values, valid_lens, mask=mask)


def layer(
    layer: Any, queries: Tensor, keys: Tensor, values: Tensor, allowed: Mask, real: Mask
) -> Any:
    hidden = None
    if allowed is not None:
        for_each_sample = (~allowed).expand(queries.shape[0], -1, -1)
        hidden = for_each_sample.repeat_interleave(layer.num_heads, dim=0)
    if not layer.batch_first:
        queries, keys, values = (x.transpose(0, 1) for x in (queries, keys, values))
    padded = None if real is None else ~real
    options = {"attn_mask": hidden, "key_padding_mask": padded, "average_attn_weights": False}
    output, weights = layer(queries, keys, values, **options)
    return (output if layer.batch_first else output.transpose(0, 1)), weights


def input_widths(attend: Any) -> tuple[int, int, int] | None:
    """Return the widths of a module's inputs, as far as its attributes or weights say them."""
    if not isinstance(attend, nn.Module):
        return None
    if isinstance(attend, nn.MultiheadAttention):
        return attend.embed_dim, attend.kdim, attend.vdim
    configs = [
        x for module in attend.modules() if (x := getattr(module, "config", None)) is not None
    ]
    names = ("embed_dim", "hidden_size", "d_model", "dim", "embed_size", "n_embd", "all_head_size")
    for holder in (attend, *configs[:1]):
        for name in names:
            if isinstance(width := getattr(holder, name, None), int) and width > 0:
                return (width,) * 3
    linear = [x.in_features for x in attend.modules() if isinstance(x, nn.Linear)]
    return (linear[0],) * 3 if linear else None


def without_projections(module: Any, width: int) -> Any:
    """Return a copy whose square matrices are the identity, stacked ones too, without biases.

    What has no matrices is returned as it is.
    """
    if not isinstance(module, nn.Module) or all(x.dim() != 2 for x in module.parameters()):
        return module
    copied = copy.deepcopy(module)
    with torch.no_grad():
        for weight in copied.parameters():
            rows, columns = (*weight.shape, 0, 0)[:2] if weight.dim() == 2 else (0, 0)
            identity = torch.eye(width, dtype=weight.dtype, device=weight.device)
            if columns == width and rows % width == 0:
                weight.copy_(identity.repeat(rows // width, 1))
            elif rows == width and columns % width == 0:
                weight.copy_(identity.repeat(1, columns // width))
        for name, bias in copied.named_parameters():
            if bias.dim() == 1 and name.rpartition(".")[2] in ("bias", "in_proj_bias"):
                bias.zero_()
    return copied
