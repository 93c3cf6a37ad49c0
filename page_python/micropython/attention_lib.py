"""The few functions of the library that the exercises of the page call."""

import torch


def _note(name):
    if torch.watch[0]:
        torch.watch[0]("attention_lib." + name)


def length_mask(valid_lens, len_k):
    _note("length_mask")
    limits = valid_lens if valid_lens.dim() > 1 else valid_lens.unsqueeze(-1)
    return torch.arange(len_k) < limits.unsqueeze(-1)


def causal_mask(len_q, len_k=None, device=None):
    _note("causal_mask")
    len_k = len_q if len_k is None else len_k
    return torch.ones(len_q, len_k, dtype=torch.bool).tril(len_k - len_q)


def window_mask(len_q, len_k=None, *, window):
    _note("window_mask")
    open_ = causal_mask(len_q, len_k)
    return open_ & ~open_.tril(open_.shape[1] - len_q - window)


def document_mask(documents):
    _note("document_mask")
    return documents.unsqueeze(-1) == documents.unsqueeze(-2)


def padding_mask(tokens, pad_id=0):
    _note("padding_mask")
    return (tokens != pad_id).unsqueeze(-2)


def combine_masks(*masks):
    _note("combine_masks")
    joined = None
    for mask in masks:
        if mask is not None:
            joined = mask if joined is None else joined & mask
    return joined


def masked_softmax(scores, valid_lens=None, *, mask=None):
    _note("masked_softmax")
    if valid_lens is not None:
        limits = valid_lens if valid_lens.dim() > 1 else valid_lens.unsqueeze(-1)
        real = torch.arange(scores.shape[-1]) < limits.unsqueeze(-1)  # (batch, len_q or 1, len_k)
        while real.dim() < scores.dim():
            real = real.unsqueeze(1)
        mask = real if mask is None else mask & real
    if mask is None:
        return scores.softmax(dim=-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


def scaled_dot_product_attention(
    queries, keys, values, valid_lens=None, *, mask=None, scale=None, need_weights=True
):
    _note("scaled_dot_product_attention")
    if mask is not None:  # what no query may see reaches no output
        unseen = ~mask.any(dim=-2).unsqueeze(-1)
        keys, values = keys.masked_fill(unseen, 0.0), values.masked_fill(unseen, 0.0)
    scores = queries @ keys.mT * (queries.shape[-1] ** -0.5 if scale is None else scale)
    weights = masked_softmax(scores, valid_lens, mask=mask)
    return weights @ values, weights if need_weights else None


def _angles(positions, d, base):
    speeds = base ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
    return positions.double().unsqueeze(-1) * speeds


def rotate_by_position(x, positions=None, *, layout="pairs", base=10000.0):
    _note("rotate_by_position")
    if positions is None:
        positions = torch.arange(x.shape[-2])
    angles = _angles(positions, x.shape[-1], base)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    if layout == "halves":
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
    first, second = x[..., 0::2], x[..., 1::2]
    pair = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(pair, dim=-1).flatten(-2)


def sinusoidal_positions(length, d_model):
    _note("sinusoidal_positions")
    angles = _angles(torch.arange(length), d_model, 10000.0)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


def dot_scores(queries, keys):
    _note("dot_scores")
    return queries @ keys.mT


def scaled_dot_scores(queries, keys, scale=None):
    _note("scaled_dot_scores")
    return queries @ keys.mT * (queries.shape[-1] ** -0.5 if scale is None else scale)


def softmax_jacobian(weights):
    _note("softmax_jacobian")
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


def entropy(weights):
    _note("entropy")
    return -(weights * weights.masked_fill(weights == 0, 1.0).log()).sum(dim=-1)


def generator(seed):
    return torch.Generator().manual_seed(seed)


def split_heads(x, num_heads):
    _note("split_heads")
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge_heads(x):
    _note("merge_heads")
    return x.transpose(1, 2).flatten(-2)
