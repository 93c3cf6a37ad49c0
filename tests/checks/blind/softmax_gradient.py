"""Answers to the exercises of `softmax-gradient`."""

from fractions import Fraction

import numpy as np
import torch


def _weights(query, keys, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return torch.softmax(keys @ query * scale, dim=-1)


def two_spreads(query, keys, values):
    p = _weights(query, keys)
    dv, dk = values - p @ values, keys - p @ keys
    return (p[:, None] * dv).T @ dk / query.shape[0] ** 0.5


def moments(query, keys, values):
    p = _weights(query, keys)
    second = torch.einsum("i,iv,id->vd", p, values, keys)
    return (second - torch.outer(p @ values, p @ keys)) * query.numel() ** -0.5


def by_autograd(query, keys, values):
    attend = lambda q: torch.softmax(keys @ q / q.shape[0] ** 0.5, 0) @ values  # noqa: E731
    return torch.autograd.functional.jacobian(attend, query)


def loops(query, keys, values):
    p = _weights(query, keys)
    mean_v = sum(a * v for a, v in zip(p, values, strict=True))
    out = torch.zeros(values.shape[1], keys.shape[1], dtype=keys.dtype)
    for a, k, v in zip(p, keys, values, strict=True):
        out += a * torch.outer(v - mean_v, k)
    return out / query.shape[0] ** 0.5


def _gradient(scale_in=None, scale_out=None, centre_v=True, centre_k=True):
    def gradient(query, keys, values):
        root = query.shape[-1] ** -0.5
        p = _weights(query, keys, scale_in)
        dv = values - p @ values if centre_v else values
        dk = keys - p @ keys if centre_k else keys
        return (p[:, None] * dv).T @ dk * (root if scale_out is None else scale_out)

    return gradient


def plain_means(query, keys, values):
    p = _weights(query, keys)
    return (
        (p[:, None] * (values - values.mean(0))).T @ (keys - keys.mean(0)) / query.shape[0] ** 0.5
    )


def equal_weights(query, keys, values):
    dv, dk = values - values.mean(0), keys - keys.mean(0)
    return dv.T @ dk / len(keys) / query.shape[0] ** 0.5


def uncentred(query, keys, values):
    return _gradient(centre_v=False, centre_k=False)(query, keys, values)


def unweighted_spreads(query, keys, values):
    p = _weights(query, keys)
    return (values - p @ values).T @ (keys - p @ keys) / query.shape[0] ** 0.5


def weights_twice(query, keys, values):
    p = _weights(query, keys)[:, None]
    return (p * values).T @ (p * keys) / query.shape[0] ** 0.5


def weights_squared(query, keys, values):
    p = _weights(query, keys)
    dv, dk = values - p @ values, keys - p @ keys
    return (p[:, None] * dv).T @ (p[:, None] * dk) / query.shape[0] ** 0.5


def jacobian_without_off_diagonal(query, keys, values):
    p = _weights(query, keys)
    return values.T @ torch.diag(p * (1 - p)) @ keys / query.shape[0] ** 0.5


def jacobian_sign(query, keys, values):
    p = _weights(query, keys)
    return values.T @ (torch.diag(p) + torch.outer(p, p)) @ keys / query.shape[0] ** 0.5


def divided_by_width(query, keys, values):
    return _gradient()(query, keys, values) / query.shape[0] ** 0.5


def with_respect_to_keys(query, keys, values):
    p = _weights(query, keys)
    return (p[:, None] * (values - p @ values)).T.sum(1, keepdim=True) * query


def sample_covariance(query, keys, values):
    p = _weights(query, keys)
    n = len(keys)
    return _gradient()(query, keys, values) * n / (n - 1) + 0 * p.sum()


def through_loss(query, keys, values):
    q = query.detach().clone().requires_grad_()
    (torch.softmax(keys @ q / q.shape[0] ** 0.5, 0) @ values).sum().backward()
    return q.grad.expand(values.shape[1], -1)


def first_value_only(query, keys, values):
    q = query.detach().clone().requires_grad_()
    out = torch.softmax(keys @ q / q.shape[0] ** 0.5, 0) @ values
    (slope,) = torch.autograd.grad(out[0], q)
    return slope[None].expand(values.shape[1], -1)


def damages(query, keys, values):
    p = _weights(query, keys)
    values -= p @ values
    return (p[:, None] * values).T @ (keys - p @ keys) / query.shape[0] ** 0.5


def overflow(query, keys, values):
    e = (keys @ query / query.shape[0] ** 0.5).exp()
    p = e / e.sum()
    return (p[:, None] * (values - p @ values)).T @ (keys - p @ keys) / query.shape[0] ** 0.5


def full_jacobians(weights, gradient):
    flat_w, flat_g = weights.reshape(-1, weights.shape[-1]), gradient.reshape(-1, weights.shape[-1])
    rows = [(torch.diag(w) - torch.outer(w, w)) @ g for w, g in zip(flat_w, flat_g, strict=True)]
    return torch.stack(rows).reshape(weights.shape)


def library_call(weights, gradient):
    return torch._softmax_backward_data(gradient, weights, -1, weights.dtype)


def in_float64(weights, gradient):
    w, g = weights.double(), gradient.double()
    return (w * (g - torch.linalg.vecdot(w, g)[..., None])).to(weights.dtype)


def damages_gradient(weights, gradient):
    gradient -= (weights * gradient).sum(-1, keepdim=True)
    return weights * gradient


def _less(mean):
    return lambda w, g: w * (g - mean(w, g))


RIGHT = {
    "torn_norm": {
        "float": 0.5,
        "numpy": np.sqrt(4 / 16),
        "0-d tensor": torch.tensor([[0.25, -0.25], [-0.25, 0.25]]).norm(),
        "fraction": Fraction(1, 2),
    },
    "slope_by_hand": {
        "float": -7.5,
        "numpy": np.float32(-7.5),
        "0-d tensor": torch.tensor(-7.5),
        "fraction": Fraction(-15, 2),
    },
    "query_gradient": {
        "two spreads": two_spreads,
        "moments": moments,
        "autograd": by_autograd,
        "loops": loops,
    },
    "softmax_backward": {
        "einsum": lambda w, g: w * g - w * torch.einsum("...i,...i->...", w, g).unsqueeze(-1),
        "the whole Jacobian, row by row": full_jacobians,
        "products first": lambda w, g: (w * g) - w * (w * g).sum(dim=-1)[..., None],
        "PyTorch's own": library_call,
        "in float64": in_float64,
        "matmul": lambda w, g: w * (g - (w.unsqueeze(-2) @ g.unsqueeze(-1)).squeeze(-1)),
    },
}

WRONG = {
    "torn_norm": {
        "entries not squared": 1.0,
        "not rooted": 0.25,
        "only the diagonal": 0.125**0.5,
        "all sixteen": 0.25 * 16**0.5,
        "sum of entries": 0.0,
        "a half for a quarter": (4 * 0.5**2) ** 0.5 * 2,
        "1/16 each": 1 / 16,
        "root of a half": 0.5**0.5,
    },
    "slope_by_hand": {
        "sign forgotten": 7.5,
        "weights not multiplied": -40.0,
        "only p": -30.0,
        "p (1 − p) once more": -7.5 * 0.1875,
        "keys 3 − 1": -3.75,
        "values added": 0.1875 * 30 * 4,
        "covariance without the means": 0.75 * 30 - 0.25 * 20,
        "difference of the outputs": -10.0,
    },
    "query_gradient": {
        "no factor 1/√d outside": _gradient(scale_out=1.0),
        "no scale in the weights": _gradient(scale_in=1.0),
        "no scale at all": _gradient(1.0, 1.0),
        "divided by d": divided_by_width,
        "multiplied by √d": lambda q, k, v: _gradient()(q, k, v) * q.shape[0],
        "means without weights": plain_means,
        "equal weights": equal_weights,
        "nothing centred": uncentred,
        "spreads without weights": unweighted_spreads,
        "weights on both": weights_squared,
        "weights twice, nothing centred": weights_twice,
        "diagonal of the Jacobian only": jacobian_without_off_diagonal,
        "plus in the Jacobian": jacobian_sign,
        "transposed": lambda q, k, v: two_spreads(q, k, v).T,
        "minus sign": lambda q, k, v: -two_spreads(q, k, v),
        "gradient of the summed output": through_loss,
        "first output for all": first_value_only,
        "gradient by the keys": with_respect_to_keys,
        "n − 1 for n": sample_covariance,
        "keys for values": lambda q, k, v: two_spreads(q, k, k),
        "damages the values": damages,
        "bare exponentials": overflow,
        "the output": lambda q, k, v: _weights(q, k) @ v,
        "weighted values and keys only": lambda q, k, v: torch.outer(
            _weights(q, k) @ v, _weights(q, k) @ k
        ),
    },
    "softmax_backward": {
        "keepdim forgotten": lambda w, g: w * (g - (w * g).sum(-1)),
        "sum over the rows": _less(lambda w, g: (w * g).sum(-2, keepdim=True)),
        "sum over everything": _less(lambda w, g: (w * g).sum()),
        "mean for the sum": _less(lambda w, g: (w * g).mean(-1, keepdim=True)),
        "plain mean of g": _less(lambda w, g: g.mean(-1, keepdim=True)),
        "plain sum of g": _less(lambda w, g: g.sum(-1, keepdim=True)),
        "nothing subtracted": lambda w, g: w * g,
        "weights forgotten outside": lambda w, g: g - (w * g).sum(-1, keepdim=True),
        "diagonal only": lambda w, g: w * (1 - w) * g,
        "plus for minus": lambda w, g: w * (g + (w * g).sum(-1, keepdim=True)),
        "sign turned": lambda w, g: w * ((w * g).sum(-1, keepdim=True) - g),
        "weights squared": lambda w, g: w * w * (g - (w * g).sum(-1, keepdim=True)),
        "softmax of the weights": lambda w, g: (
            w.softmax(-1) * (g - (w.softmax(-1) * g).sum(-1, keepdim=True))
        ),
        "softmax of the gradient": lambda w, g: (
            g.softmax(-1) * (g - (g.softmax(-1) * g).sum(-1, keepdim=True))
        ),
        "gradient ignored": lambda w, g: w * (1 - w),
        "weights ignored": lambda w, g: g - g.mean(-1, keepdim=True),
        "weight outside the bracket only once": lambda w, g: w * g - (w * g).sum(-1, keepdim=True),
        "sum of squares of w": lambda w, g: w * (g - (w * w).sum(-1, keepdim=True)),
        "as if g were w": lambda w, g: w * (w - (w * w).sum(-1, keepdim=True)),
        "entropy's gradient": lambda w, g: w * (w.log() + (-(w * w.log()).sum(-1, keepdim=True))),
        "damages the gradient": damages_gradient,
        "divided by the sum": lambda w, g: w * g / (w * g).sum(-1, keepdim=True),
        "first row's mean for all": _less(lambda w, g: (w * g)[..., :1, :].sum(-1, keepdim=True)),
        "cumulative": lambda w, g: w * (g - (w * g).cumsum(-1)),
        "outer product transposed": lambda w, g: w * g - g * (w * w).sum(-1, keepdim=True),
    },
    "zeros_at_twelve": {"a": "a", "c": "c", "d": "d"},
}
