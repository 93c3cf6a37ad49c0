"""The graders of "Many heads": right answers in many styles, wrong ones and what they hear."""

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import MultiHeadAttention
from attention_lib.checks import multi_head as check
from attention_lib.multihead import merge_heads, split_heads
from tests.checks.tables import judged


def test_parameters_are_those_of_the_layer():
    parameters = MultiHeadAttention(512, 8).parameters()
    assert check.layer_parameters(sum(x.numel() for x in parameters))


# Cutting into heads.


def view_and_transpose(x, num_heads):
    return x.view(*x.shape[:2], num_heads, -1).transpose(1, 2)


def split_by_chunks(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def cut(x, num_heads, *shape):
    sizes = {"b": x.shape[0], "l": x.shape[1], "h": num_heads, "d": x.shape[2] // num_heads}
    return x.reshape([sizes[axis] for axis in shape])


# Joining heads.


def transpose_and_reshape(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def merge_by_cat(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def merge_by_permute(x):
    batch, num_heads, length, d_k = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(batch, length, num_heads * d_k)


def merge_by_loops(x):
    out = x.new_empty(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])
    for i in range(x.shape[1]):
        out[..., i * x.shape[3] : (i + 1) * x.shape[3]] = x[:, i]
    return out


MERGE = [
    (lambda x: x.reshape(x.shape[0], x.shape[2], -1), "not swapped"),
    (lambda x: x.permute(0, 2, 3, 1).flatten(-2), "interleaved"),
    (lambda x: torch.stack(x.unbind(1), dim=-1).flatten(-2), "interleaved"),
    (lambda x: x.sum(dim=1), "added up"),
    (lambda x: x.mean(dim=1), "averaged"),
    (lambda x: x[:, 0], "the first head alone"),
    (lambda x: x.transpose(1, 2), "not yet one"),
    (lambda x: x.flatten(1, 2), "one below the other"),
    (lambda x: torch.cat(x.unbind(1), dim=1), "one below the other"),
    (lambda x: merge_heads(x.flip(1)), "reverse order"),
    (lambda x: merge_heads(x).transpose(0, 1), "the positions come before the batch"),
    (lambda x: x.transpose(1, 3).reshape(x.shape[0], x.shape[2], -1), "axes 1 and 3"),
    (lambda x: x.amax(dim=1), "the largest of the heads"),
    (lambda x: merge_heads(x) + 1, "position 0, column 0: 1, should be 0"),
    (lambda x: merge_heads(x).mT, "transposed"),
    (lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1), "use `reshape`"),
    (lambda x: torch.cat(x.unbind(1)), "expected shape"),
]


# A head's share.


def rows(W_o, i, d_v):
    return W_o[i * d_v : (i + 1) * d_v]


def share(heads, W_o, i):
    return heads[:, i] @ rows(W_o, i, heads.shape[-1])


def share_by_zeros(heads, W_o, i):
    alone = torch.zeros_like(heads)
    alone[:, i] = heads[:, i]
    return merge_heads(alone) @ W_o


def share_by_view(heads, W_o, i):
    return heads[:, i] @ W_o.view(heads.shape[1], -1, W_o.shape[1])[i]


def share_by_chunks(heads, W_o, i):
    return torch.einsum("bld,dm->blm", heads.unbind(1)[i], W_o.chunk(heads.shape[1])[i])


def share_by_difference(heads, W_o, i):
    others = heads.clone()
    others[:, i] = 0
    return merge_heads(heads) @ W_o - merge_heads(others) @ W_o


def share_unswapped(heads, W_o, i):
    alone = torch.zeros_like(heads)
    alone[:, i] = heads[:, i]
    return alone.reshape(heads.shape[0], heads.shape[2], -1) @ W_o


SHARE = [
    (lambda heads, W_o, i: heads[:, i], "W_o is forgotten"),
    (lambda heads, W_o, i: merge_heads(heads) @ W_o, "the whole output, the sum"),
    (lambda heads, W_o, i: merge_heads(heads) @ W_o / heads.shape[1], "divided by the number"),
    (lambda heads, W_o, i: share(heads, W_o, i) / heads.shape[1], "added, not averaged"),
    (lambda heads, W_o, i: heads[:, i] @ W_o[i :: heads.shape[1]], "in turns"),
    (lambda heads, W_o, i: heads[:, i] @ W_o[: heads.shape[-1]], "given the first rows"),
    (lambda heads, W_o, i: heads[:, i] @ W_o[i : i + heads.shape[-1]], "starts at row i;"),
    (lambda heads, W_o, i: share(heads, W_o, i - 1), "head before"),
    (lambda heads, W_o, i: heads.sum(1) @ rows(W_o, i, heads.shape[-1]), "added up before W_o"),
    (lambda heads, W_o, i: share_by_difference(heads, W_o, i) - merge_heads(heads) @ W_o,
     "position 0, column 0"),
    (lambda heads, W_o, i: merge_heads(heads) @ W_o - share(heads, W_o, i), "all other heads"),
    (lambda heads, W_o, i: heads[i] @ rows(W_o, i, heads.shape[-1]), "the first axis is the batch"),
    (lambda heads, W_o, i: heads[:, i] @ W_o, "the shapes do not meet"),
    (lambda heads, W_o, i: heads[:, i] @ rows(W_o, i + 1, heads.shape[-1]), "raised RuntimeError"),
    (lambda heads, W_o, i: heads[:, i] @ W_o[:, : heads.shape[-1]].T, "raised RuntimeError"),
    (share_unswapped, "without swapping the axes"),
    (lambda heads, W_o, i: -share(heads, W_o, i), "wrong sign"),
    (lambda heads, W_o, i: share(heads, W_o, i).mT, "transposed"),
]  # fmt: skip


# The whole layer.


def by_library(X, W_q, W_k, W_v, W_o, num_heads):
    layer = MultiHeadAttention(X.shape[-1], num_heads).to(X)
    layer.load_state_dict(
        dict(zip(layer.state_dict(), [W.mT for W in (W_q, W_k, W_v, W_o)], strict=True))
    )
    return layer(X, X, X)[0]


def by_kernel(X, W_q, W_k, W_v, W_o, num_heads):
    parts = (split_by_chunks(X @ W, num_heads) for W in (W_q, W_k, W_v))
    return merge_by_cat(scaled_dot_product_attention(*parts)) @ W_o


def by_loop(X, W_q, W_k, W_v, W_o, num_heads):
    output = 0
    for columns in torch.arange(X.shape[-1]).chunk(num_heads):
        Q, K, V = (X @ W[:, columns] for W in (W_q, W_k, W_v))
        weights = torch.softmax(Q @ K.mT / len(columns) ** 0.5, dim=-1)
        output = output + weights @ V @ W_o[columns]
    return output


def by_einsum(X, W_q, W_k, W_v, W_o, num_heads, divisor=None, dim=-1):
    Q, K, V = (
        torch.einsum("blm,mhd->bhld", X, W.unflatten(1, (num_heads, -1))) for W in (W_q, W_k, W_v)
    )
    scores = torch.einsum("bhqd,bhkd->bhqk", Q, K) / (divisor or Q.shape[-1] ** 0.5)
    weights = scores.softmax(dim)
    return torch.einsum("bhqk,bhkd,hdm->bqm", weights, V, W_o.unflatten(0, (num_heads, -1)))


def by_reshapes(cut, join):
    def answer(X, W_q, W_k, W_v, W_o, num_heads):
        parts = (cut(X @ W, num_heads) for W in (W_q, W_k, W_v))
        return join(scaled_dot_product_attention(*parts)) @ W_o

    return answer


def straight(x, num_heads):
    return cut(x, num_heads, *"bhld")


def straight_back(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


def plain_vectors(X, W_q, W_k, W_v, W_o, num_heads):
    plain = split_heads(X, num_heads)
    return (
        merge_heads(scaled_dot_product_attention(plain, plain, split_heads(X @ W_v, num_heads)))
        @ W_o
    )


LAYER = [
    (lambda *given: by_library(*given[:5], 1), "one head of the whole width"),
    (by_reshapes(straight, merge_heads), "the columns are not cut first"),
    (by_reshapes(split_heads, straight_back), "without swapping the axes back"),
    (by_reshapes(straight, straight_back), "both straight reshapes"),
    (by_reshapes(lambda x, h: cut(x, h, *"bldh").permute(0, 3, 1, 2), merge_heads), "interleaved"),
    (by_reshapes(lambda x, h: cut(x, h, *"blhd"), lambda x: x.flatten(2)), "axes are not swapped"),
    (
        by_reshapes(lambda x, h: x.view(*x.shape[:2], 2, -1).transpose(1, 2), merge_heads),
        "the width is cut into two heads",
    ),
    (lambda *given: by_einsum(*given, divisor=1), "not divided by the square root of d_k"),
    (lambda *given: by_einsum(*given, divisor=len(given[1]) ** 0.5), "it must be the width of one"),
    (lambda *given: by_einsum(*given, divisor=len(given[1]) / given[5]), "not by its square root"),
    (lambda *given: by_einsum(*given, divisor=given[5] ** 0.5), "by the root of num_heads"),
    (lambda *given: by_einsum(*given, dim=-2), "softmax runs over the queries"),
    (lambda *given: by_einsum(*given, dim=1), "softmax runs over the heads"),
    (lambda X, q, k, v, o, h: by_loop(X, q, k, v, torch.eye(len(o)).to(X), h), "W_o is forgotten"),
    (lambda X, q, k, v, o, h: by_loop(X, k, q, v, o, h), "queries and keys are exchanged"),
    (lambda X, q, k, v, o, h: by_loop(X, q, q, v, o, h), "the keys are made with W_q"),
    (lambda X, q, k, v, o, h: by_loop(X, q, k, k, o, h), "the values are made with W_k"),
    (lambda X, q, k, v, o, h: by_loop(X, q.T, k.T, v.T, o.T, h), "the matrices are transposed"),
    (lambda X, q, k, v, o, h: by_loop(X, q, k, torch.eye(len(o)).to(X), o, h), "W_v is forgotten"),
    (plain_vectors, "W_q and W_k are forgotten"),
    (lambda *given: -by_loop(*given), "sign"),
    (lambda *given: by_loop(*given) / given[5], "divided by num_heads"),
    (lambda *given: by_loop(*given).sum(1), "expected shape"),
    (lambda X, q, k, v, o, h: X @ q @ k @ v @ o, "position 0"),
]


test_right, test_wrong = judged(
    [
        *((check.merge, answer) for answer in (merge_heads, transpose_and_reshape, merge_by_cat)),
        (check.merge, merge_by_permute),
        (check.merge, merge_by_loops),
        *((check.share_of_head, answer) for answer in (share, share_by_zeros, share_by_view)),
        (check.share_of_head, share_by_chunks),
        (check.share_of_head, share_by_difference),
        *((check.multi_head, answer) for answer in (by_library, by_kernel, by_loop, by_einsum)),
        (check.multi_head, by_reshapes(view_and_transpose, merge_by_permute)),
        (check.layer_parameters, np.int64(1048576)),
        (check.both_at_once, 1 / 2),
    ],
    [
        *((check.merge, *row) for row in MERGE),
        *((check.share_of_head, *row) for row in SHARE),
        *((check.multi_head, *row) for row in LAYER),
        (check.layer_parameters, 3 * 512**2, "W_o is forgotten"),
        (check.layer_parameters, 8 * 4 * 512**2, "the heads share the width"),
        (check.layer_parameters, 4 * 512 * 64, "that is one head"),
        (check.layer_parameters, 4 * 512**2 + 4 * 512, "no biases"),
        (check.layer_parameters, 512**2, "one matrix"),
        (check.layer_parameters, 5 * 512**2, "too large"),
        (check.both_at_once, 1, "cannot give 1 twice"),
        (check.both_at_once, 0.2, "too small"),
    ],
)
