"""The two masks that contracts build for themselves, True = may attend."""

import torch
from torch import Tensor

from attention_contracts._arguments import require_lengths


def within_length(valid_lens: Tensor, len_k: int) -> Tensor:
    """Let each query attend to the first ``valid_lens`` keys, ``(batch, len_k)`` of booleans."""
    require_lengths(valid_lens, len_k)
    return torch.arange(len_k, device=valid_lens.device) < valid_lens.unsqueeze(-1)


def causal(len_q: int, len_k: int, device: torch.device) -> Tensor:
    """Let each query attend to its own position and earlier ones; the last sees every key."""
    everything = torch.ones(len_q, len_k, dtype=torch.bool, device=device)
    return everything.tril(len_k - len_q)
