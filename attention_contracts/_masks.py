"""The masks that contracts build for themselves, True = may attend, and sizes that code names."""

import re
from typing import Any

import torch
from torch import Tensor, nn

from attention_contracts._adapters import parameters
from attention_contracts._arguments import require_lengths

NAMES_A_SIZE = re.compile(
    r"chunk|window|block_?size|bucket|segment|tile|local_attn|index_topk|indexer_budget", re.I
)
COUNTS_LAYERS = re.compile(r"layers|pattern|types", re.I)


def within_length(valid_lens: Tensor, len_k: int) -> Tensor:
    """Let each query attend to the first ``valid_lens`` keys, ``(batch, len_k)`` of booleans."""
    require_lengths(valid_lens, len_k)
    return torch.arange(len_k, device=valid_lens.device) < valid_lens.unsqueeze(-1)


def visible(
    len_q: int, len_k: int, device: torch.device, *, causal: bool, window: int | None
) -> Tensor | None:
    """Return what order lets each query see, ``(1, len_q, len_k)``; the last query sees the end.

    Without a triangle a window is of both sides.
    """
    if not causal and window is None:
        return None
    all_visible = torch.ones(len_q, len_k, dtype=torch.bool, device=device)
    mask = all_visible.tril(len_k - len_q) if causal else all_visible
    if window is not None:
        mask = mask.triu(len_k - len_q - window + 1)
        mask = mask if causal else mask.tril(len_k - len_q + window - 1)
    return mask[None]


def named_sizes(subject: Any, largest: int = 512) -> dict[str, int]:
    """Return the chunks, windows and blocks that an attention or its configuration names."""
    holders: list[dict[str, Any]] = []
    if isinstance(subject, nn.Module):
        configs = {
            id(x): x for module in subject.modules() if (x := getattr(module, "config", None))
        }
        holders += [_fields(module) for module in subject.modules()]
        holders += [_fields(config) for config in configs.values()]
    else:
        holders.append({x.name: x.default for x in parameters(subject).values()})
        holders.append(getattr(subject, "keywords", {}) or {})
        code = getattr(subject, "__code__", None)
        constants = getattr(subject, "__globals__", {})
        holders.append({x: constants.get(x) for x in getattr(code, "co_names", ())})
    sizes: dict[str, int] = {}
    for fields in holders:
        for name, value in fields.items():
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            names_a_size = NAMES_A_SIZE.search(name) and not COUNTS_LAYERS.search(name)
            if names_a_size and is_whole and 2 <= value <= largest:
                sizes.setdefault(name.strip("_"), value)
    return sizes


def _fields(holder: Any) -> dict[str, Any]:
    """Return the attributes of a module or a configuration, which may be a dictionary."""
    return dict(holder) if isinstance(holder, dict) else dict(getattr(holder, "__dict__", {}))
