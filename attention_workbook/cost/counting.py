"""Costs as formulas of the sizes."""

from typing import NamedTuple

import torch

from attention_lib.arguments import require_bool, require_count

__all__ = ["Cost", "attention_cost", "cache_bytes", "latent_cache_bytes", "layer_flops"]


class Cost(NamedTuple):
    """What a call costs.

    Parameters
    ----------
    flops : int
        Multiplications and additions in matrix products; each counts as one.
    moved : int
        Bytes that its operations read and write, each tensor once an operation.
    kept : int
        Bytes that stay for the way back, inputs included.

    Examples
    --------
    >>> Cost(flops=128, moved=160, kept=80).flops
    128
    """

    flops: int
    moved: int
    kept: int


def attention_cost(
    len_q: int,
    len_k: int,
    d_k: int,
    d_v: int | None = None,
    *,
    num_heads: int = 1,
    batch: int = 1,
    dtype: torch.dtype = torch.float32,
    fused: bool = False,
) -> Cost:
    r"""Return what scaled dot-product attention costs, without a mask.

    The two products take :math:`2\,n_q n_k(d_k+d_v)` operations in each head. Written down step
    by step, three of four steps write or read all :math:`n_q n_k` pairs: the scores are written,
    read by softmax, the weights written and read by the second product. A fused kernel reads the
    three inputs and writes the output, with one number a query for the way back.

    Parameters
    ----------
    len_q, len_k, d_k : int
        Numbers of queries and keys, and their width.
    d_v : int, optional
        Width of the values; ``None`` means ``d_k``.
    num_heads, batch : int
        How many such attentions there are.
    dtype : torch.dtype
        Of the tensors; of floating-point numbers.
    fused : bool
        Whether one kernel does it, which never forms the weights.

    Returns
    -------
    Cost
        Operations, and bytes. The queries are scaled before the product.

    Notes
    -----
    Softmax and scaling are not counted, as in ``torch.utils.flop_counter``. The kernel's number a
    query is held in float32, or float64 with float64. Bytes moved: Dao et al. (2022).

    Examples
    --------
    >>> attention_cost(4, 4, 4)
    Cost(flops=256, moved=640, kept=256)
    >>> attention_cost(4, 4, 4, fused=True)
    Cost(flops=256, moved=272, kept=272)
    """
    d_v = d_k if d_v is None else d_v
    sizes = {"len_q": len_q, "len_k": len_k, "d_k": d_k, "d_v": d_v}
    for name, size in {**sizes, "num_heads": num_heads, "batch": batch}.items():
        require_count(name, size)
    require_bool("fused", fused)
    size = itemsize(dtype)
    heads, pairs = batch * num_heads, len_q * len_k
    flops = heads * 2 * pairs * (d_k + d_v)
    inputs = heads * size * (len_q * d_k + len_k * (d_k + d_v))
    output = heads * size * len_q * d_v
    if fused:
        sums = heads * len_q * max(size, 4)
        return Cost(flops, inputs + output + sums, inputs + output + sums)
    scaled = heads * size * 2 * len_q * d_k  # the queries, read and written
    pairs *= heads * size
    return Cost(flops, scaled + inputs + output + 4 * pairs, inputs + pairs)


def layer_flops(
    length: int,
    d_model: int,
    *,
    num_heads: int = 1,
    num_kv_heads: int | None = None,
    batch: int = 1,
) -> tuple[int, int]:
    r"""Return the operations of a multi-head layer: of its projections, and of its attention.

    With as many key heads as query heads these are :math:`8\,n\,d^2` and :math:`4\,n^2 d`: they
    are equal where the length is twice the width.

    Parameters
    ----------
    length, d_model : int
        Tokens, and the width of the layer.
    num_heads : int
        Query heads.
    num_kv_heads : int, optional
        Key and value heads; ``None`` means ``num_heads``.
    batch : int
        Sequences.

    Returns
    -------
    projections, attention : int

    Notes
    -----
    Vaswani et al. (2017), Table 1, with the constants.

    Examples
    --------
    >>> layer_flops(1024, 512, num_heads=8)
    (2147483648, 2147483648)
    """
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    sizes = {"length": length, "d_model": d_model, "num_heads": num_heads, "batch": batch}
    for name, size in {**sizes, "num_kv_heads": num_kv_heads}.items():
        require_count(name, size)
    if d_model % num_heads or num_heads % num_kv_heads:
        raise ValueError(
            "num_heads: expected a divisor of d_model and a multiple of num_kv_heads, got "
            f"d_model {d_model}, num_heads {num_heads}, num_kv_heads {num_kv_heads}"
        )
    d_kv = d_model // num_heads * num_kv_heads
    projections = batch * 2 * length * d_model * (2 * d_model + 2 * d_kv)
    return projections, batch * 4 * length**2 * d_model


def cache_bytes(
    num_layers: int, num_kv_heads: int, d_k: int, *, dtype: torch.dtype = torch.bfloat16
) -> int:
    """Return the bytes that one token leaves in a key-value cache.

    Parameters
    ----------
    num_layers, num_kv_heads, d_k : int
        Layers of the model, key heads of a layer, width of a head's keys and of its values.
    dtype : torch.dtype
        Of the cached numbers.

    Notes
    -----
    Grouped heads: Ainslie et al. (2023).

    Examples
    --------
    >>> cache_bytes(num_layers=32, num_kv_heads=8, d_k=128)  # Llama 3 8B
    131072
    """
    for name, size in (("num_layers", num_layers), ("num_kv_heads", num_kv_heads), ("d_k", d_k)):
        require_count(name, size)
    return num_layers * num_kv_heads * 2 * d_k * itemsize(dtype)


def latent_cache_bytes(
    num_layers: int, d_latent: int, d_rotary: int, *, dtype: torch.dtype = torch.bfloat16
) -> int:
    """Return the bytes that one token leaves in the cache of multi-head latent attention.

    Each layer keeps one short vector, from which all heads make their keys and values, and one
    rotated key that all heads share.

    Parameters
    ----------
    num_layers, d_latent, d_rotary : int
        Layers, width of the short vector, width of the rotated key.
    dtype : torch.dtype
        Of the cached numbers.

    Notes
    -----
    DeepSeek-AI (2024).

    Examples
    --------
    >>> latent_cache_bytes(num_layers=61, d_latent=512, d_rotary=64)  # DeepSeek-V3
    70272
    """
    sizes = {"num_layers": num_layers, "d_latent": d_latent, "d_rotary": d_rotary}
    for name, size in sizes.items():
        require_count(name, size)
    return num_layers * (d_latent + d_rotary) * itemsize(dtype)


def itemsize(dtype: object) -> int:
    """Return the bytes of a floating-point number of this kind."""
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype: expected a floating-point torch.dtype, got {dtype!r}")
    return dtype.itemsize
