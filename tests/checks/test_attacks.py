"""Answers of a reader who has not seen the graders: right in many styles, wrong in many ways."""

# ruff: noqa: B905, E731, E741, RUF005, RUF059, SIM

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from attention_lib import (
    causal_mask,
    cosine_scores,
    length_mask,
    masked_softmax,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from attention_lib.checks import (
    head_layouts,
    heatmaps,
    mask_failures,
    masking,
    multi_head,
    one_head,
    positions,
    scoring_functions,
    soft_lookup,
    softmax_gradient,
    variance,
    variance_limits,
)
from tests.checks.tables import judged

sm = torch.softmax


def r2(d):
    return math.sqrt(d)


T = lambda x: x.transpose(-2, -1)


def sc(q, k):
    return q @ T(k) / r2(q.shape[-1])


def loop_att(q, k, v):
    out = torch.zeros(q.shape[0], q.shape[1], v.shape[2], dtype=q.dtype)
    for b in range(q.shape[0]):
        for i in range(q.shape[1]):
            s = torch.stack([q[b, i] @ k[b, j] for j in range(k.shape[1])]) / q.shape[-1] ** 0.5
            p = sm(s, 0)
            for j in range(k.shape[1]):
                out[b, i] += p[j] * v[b, j]
    return out


def np_att(q, k, v):
    s = np.einsum("bqd,bkd->bqk", q.numpy(), k.numpy()) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return torch.from_numpy(e / e.sum(-1, keepdims=True) @ v.numpy())


def inpl_att(q, k, v):
    q = q.clone()
    q /= q.shape[-1] ** 0.5
    s = q @ k.mT
    s -= s.amax(-1, keepdim=True)
    s.exp_()
    s /= s.sum(-1, keepdim=True)
    return s @ v


def hl_loop(s):
    out = torch.zeros_like(s)
    for idx in np.ndindex(*s.shape[:-1]):
        m = s[idx] == s[idx].max()
        out[idx] = m.to(s.dtype) / m.sum()
    return out


def hl_np(s):
    a = s.numpy()
    m = (a == a.max(-1, keepdims=True)).astype(a.dtype)
    return torch.from_numpy(m / m.sum(-1, keepdims=True))


def best(s):
    return s == s.amax(-1, keepdim=True)


def hl_inpl(s):
    x = torch.zeros_like(s)
    x[s == s.max(-1, keepdim=True).values] = 1
    x /= x.sum(-1, keepdim=True)
    return x


def catz(q, k, v):
    z = torch.zeros_like(k[:, :1])
    y = torch.zeros_like(v[:, :1])
    return sm(q @ torch.cat([k, z], 1).mT, -1) @ torch.cat([v, y], 1)


def ab_np(q, k, v):
    s = q.numpy() @ np.swapaxes(k.numpy(), 1, 2)
    m = np.maximum(s.max(-1, keepdims=True), 0)
    e = np.exp(s - m)
    return torch.from_numpy(e / (np.exp(-m) + e.sum(-1, keepdims=True)) @ v.numpy())


def ab_loop(q, k, v):
    rows = []
    for b in range(len(q)):
        for i in range(q.shape[1]):
            s = torch.cat([k[b] @ q[b, i], q.new_zeros(1)])
            rows.append(sm(s, 0)[:-1] @ v[b])
    return torch.stack(rows).view(*q.shape[:2], -1)


def ab_lse(q, k, v):
    s = q @ k.mT
    l = torch.logsumexp(s, -1, keepdim=True)
    return torch.exp(s - torch.logaddexp(l, torch.zeros_like(l))) @ v


def noclamp(q, k, v):
    s = q @ k.mT
    m = s.amax(-1, keepdim=True)
    e = (s - m).exp()
    return e / ((-m).exp() + e.sum(-1, keepdim=True)) @ v


def ss_loop(q, k):
    o = torch.empty(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for b in range(q.shape[0]):
        for i in range(q.shape[1]):
            for j in range(k.shape[1]):
                o[b, i, j] = sum(q[b, i] * k[b, j]) / math.sqrt(q.shape[-1])
    return o


def g_loop(q, k):
    o = q.new_empty(q.shape[0], q.shape[1], k.shape[1])
    for b in range(len(q)):
        for j in range(k.shape[1]):
            o[b, :, j] = q[b] @ k[b, j] - k[b, j] @ k[b, j] / 2
    return o


n2 = lambda x: x.square().sum(-1)


def ad_h(q, k, Wq, Wk, w_):
    hq, hk = (q @ Wq.T, k @ Wk.T)
    o = 0
    for h in range(len(w_)):
        o = o + w_[h] * torch.tanh(hq[:, :, h, None] + hk[:, None, :, h])
    return o


def ad_k(q, k, Wq, Wk, w_):
    hq, hk = (q @ Wq.mT, k @ Wk.mT)
    return torch.stack([torch.tanh(hq + hk[:, j : j + 1]) @ w_ for j in range(k.shape[1])], -1)


def ad_q(q, k, Wq, Wk, w_):
    hq, hk = (F.linear(q, Wq), F.linear(k, Wk))
    return torch.stack(
        [torch.einsum("bkh,h->bk", torch.tanh(hq[:, i, None] + hk), w_) for i in range(q.shape[1])],
        1,
    )


def ad_b(q, k, Wq, Wk, w_):
    return torch.cat(
        [
            torch.stack([torch.tanh(a + kk @ Wk.T) @ w_ for a in qq @ Wq.T])[None]
            for qq, kk in zip(q, k)
        ]
    )


ad = lambda f: lambda q, k, Wq, Wk, w_: f(q @ Wq.T, k @ Wk.T, w_)


def ms_where(s, m):
    m = m.expand(s.shape) if m.dim() <= s.dim() else m
    x = torch.where(m, s, -torch.inf)
    e = (x - x.amax(-1, keepdim=True).clamp(min=torch.finfo(s.dtype).min)).exp()
    return e / e.sum(-1, keepdim=True).clamp(min=1e-30)


def ms_nan(s, m):
    return torch.where(
        m.any(-1, keepdim=True), sm(s.masked_fill(~m, -torch.inf), -1), torch.zeros_like(s)
    )


def ms_loop(s, m):
    m = torch.broadcast_to(m, s.shape)
    o = torch.zeros_like(s)
    for i in np.ndindex(*s.shape[:-1]):
        if m[i].any():
            o[i][m[i]] = sm(s[i][m[i]], 0)
    return o


def ms_np(s, m):
    a = np.where(np.broadcast_to(m.numpy(), s.shape), s.numpy(), -np.inf)
    mx = a.max(-1, keepdims=True)
    mx = np.where(np.isfinite(mx), mx, 0)
    e = np.exp(a - mx)
    t = e.sum(-1, keepdims=True)
    return torch.from_numpy((e / np.where(t == 0, 1, t)).astype(s.numpy().dtype))


def ms_mut(s, m):
    s.masked_fill_(~m, -torch.inf)
    return sm(s, -1).nan_to_num(0)


def ms_mut2(s, m):
    s += torch.where(m, 0.0, -torch.inf)
    return sm(s, -1).nan_to_num(0)


def pk_loop(d):
    return torch.tensor(
        [
            [[bool(row[i] == row[j] and j <= i) for j in range(len(row))] for i in range(len(row))]
            for row in d
        ]
    )


def pk_in(d):
    m = d.unsqueeze(2) == d.unsqueeze(1)
    m &= torch.ones(d.shape[1], d.shape[1], dtype=torch.bool).tril()
    return m


eqm = lambda d: d[:, :, None] == d[:, None]


def tp_loop(real):
    o = torch.zeros(real.shape, dtype=torch.long)
    for b in range(real.shape[0]):
        c = 0
        for j in range(real.shape[1]):
            if real[b, j]:
                o[b, j] = c
                c += 1
            else:
                o[b, j] = max(c - 1, 0)
    return o


def tp_in(real):
    p = real.long().cumsum(-1)
    p -= 1
    p.clamp_(min=0)
    return p


def lk(attend, q, k, v, mask, poison=torch.nan, kk=True, vv=True, inv=False, close=None):
    before = attend(q, k, v)
    out = []
    for i in range(mask.shape[1]):
        hid = mask[:, i, :, None] if inv else ~mask[:, i, :, None]
        after = attend(
            q, k.masked_fill(hid, poison) if kk else k, v.masked_fill(hid, poison) if vv else v
        )
        out.append((close or (lambda a, b: ~torch.isclose(a, b).all(-1)))(before, after)[:, i])
    return torch.stack(out, 1)


def lk_np(attend, q, k, v, mask):
    base = attend(q, k, v).numpy()
    res = np.zeros(mask.shape[:2], bool)
    for i in range(mask.shape[1]):
        m = mask[:, i].numpy()[..., None]
        k2 = torch.from_numpy(np.where(m, k.numpy(), np.nan).astype(k.numpy().dtype))
        v2 = torch.from_numpy(np.where(m, v.numpy(), np.nan).astype(v.numpy().dtype))
        res[:, i] = ~np.isclose(base[:, i], attend(q, k2, v2).numpy()[:, i], atol=1e-06).all(-1)
    return torch.from_numpy(res)


def lk_one(attend, q, k, v, mask):
    before = attend(q, k, v)
    cols = []
    for i in range(q.shape[1]):
        h = ~mask[:, i]
        k2 = torch.where(h[..., None], torch.nan, k)
        v2 = torch.where(h.unsqueeze(-1), torch.nan, v)
        after = attend(q[:, i : i + 1], k2, v2) if False else attend(q, k2, v2)
        d = (after[:, i] - before[:, i]).abs().amax(-1)
        cols.append(~(d < 1e-05))
    return torch.stack(cols, dim=-1)


def lk_in(attend, q, k, v, mask):
    before = attend(q, k, v)
    leak = torch.zeros(q.shape[:2]).bool()
    for i, m in enumerate(mask.transpose(0, 1)):
        k2, v2 = (k.clone(), v.clone())
        k2[~m] = torch.nan
        v2[~m] = torch.nan
        leak[:, i] = torch.isnan(attend(q, k2, v2)[:, i]).any(-1) | (
            (attend(q, k2, v2) - before)[:, i].abs() > 0.0001
        ).any(-1)
    return leak


def us_loop(q, k, std):
    o = [
        [a @ b / (std**2 * math.sqrt(len(a))) for b in kk]
        for qq, kk in zip(q.reshape(-1, *q.shape[-2:]), k.reshape(-1, *k.shape[-2:]))
        for a in qq
    ]
    return torch.tensor(o, dtype=q.dtype).view(*q.shape[:-1], k.shape[-2])


dt = lambda q, k: q @ k.mT

nz = lambda x: x / x.norm(dim=-1, keepdim=True)


def qn_loop(q, k, g):
    o = torch.empty(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for i in np.ndindex(*q.shape[:-1]):
        for j in range(k.shape[-2]):
            a = q[i]
            b = k[i[:-1] + (j,)]
            o[i + (j,)] = g * (a @ b) / (a.norm() * b.norm()).clamp(min=1e-12)
    return o


def sk_pad(s):
    return sm(F.pad(s, (0, 1)), -1)[..., :-1]


def sk_m(s):
    m = s.amax(-1, keepdim=True).clamp(min=0)
    e = (s - m).exp()
    return e / (e.sum(-1, keepdim=True) + (-m).exp())


def sk_np(s):
    a = s.numpy()
    m = np.maximum(a.max(-1, keepdims=True), 0)
    e = np.exp(a - m)
    return torch.from_numpy(e / (np.exp(-m) + e.sum(-1, keepdims=True)))


def sk_loop(s):
    o = torch.zeros_like(s)
    for i in np.ndindex(*s.shape[:-1]):
        m = max(0.0, s[i].max().item())
        e = [math.exp(x - m) for x in s[i].tolist()]
        t = math.exp(-m) + sum(e)
        o[i] = torch.tensor([x / t for x in e], dtype=s.dtype)
    return o


def mx(s):
    return s.amax(-1, keepdim=True)


def qg(q, k, v):
    p = sm(k @ q / r2(len(q)), 0)
    vm, km = (p @ v, p @ k)
    return ((v - vm) * p[:, None]).T @ (k - km) / r2(len(q))


def qg_auto(q, k, v):
    return torch.autograd.functional.jacobian(lambda x: sm(k @ x / r2(len(x)), 0) @ v, q)


def qg_jac(q, k, v):
    p = sm(k @ q / r2(len(q)), 0)
    return v.T @ (torch.diag(p) - torch.outer(p, p)) @ k / r2(len(q))


def qg_loop(q, k, v):
    p = sm(k @ q / r2(len(q)), 0)
    o = torch.zeros(v.shape[1], k.shape[1], dtype=q.dtype)
    mv = sum(p[i] * v[i] for i in range(len(p)))
    mk = sum(p[i] * k[i] for i in range(len(p)))
    for i in range(len(p)):
        o += p[i] * torch.outer(v[i] - mv, k[i] - mk)
    return o / len(q) ** 0.5


P = lambda q, k: sm(k @ q / r2(len(q)), 0)


def qg_auto_k(q, k, v):
    return torch.autograd.functional.jacobian(lambda x: sm(x @ q / r2(len(q)), 0) @ v, k)


def sb_loop(p, g):
    o = torch.zeros_like(p)
    for i in np.ndindex(*p.shape[:-1]):
        o[i] = p[i] * (g[i] - (p[i] * g[i]).sum())
    return o


def sb_in(p, g):
    g = g.clone()
    g -= (p * g).sum(-1, keepdim=True)
    g *= p
    return g


def hd(x, Wq, Wk, Wv, m, d=None, fill=-torch.inf, dim=-1, post=None):
    q, k, v = (x @ Wq, x @ Wk, x @ Wv)
    s = q @ k.mT / r2(k.shape[-1] if d is None else d)
    s = s.masked_fill(~m, fill)
    return sm(s, dim) @ v


def hd_loop(x, Wq, Wk, Wv, m):
    m = m.expand(x.shape[0], x.shape[1], x.shape[1])
    q, k, v = (x @ Wq, x @ Wk, x @ Wv)
    o = torch.zeros(*x.shape[:2], v.shape[-1], dtype=x.dtype)
    for b in range(len(x)):
        for i in range(x.shape[1]):
            vis = m[b, i].nonzero().flatten()
            if len(vis) == 0:
                continue
            s = k[b, vis] @ q[b, i] / k.shape[-1] ** 0.5
            o[b, i] = sm(s, 0) @ v[b, vis]
    return o


def hd_np(x, Wq, Wk, Wv, m):
    X = x.numpy()
    q, k, v = (X @ Wq.numpy(), X @ Wk.numpy(), X @ Wv.numpy())
    s = np.einsum("bid,bjd->bij", q, k) / np.sqrt(k.shape[-1]).astype(q.dtype)
    s = np.where(m.numpy(), s, -1e30)
    e = np.exp(s - s.max(-1, keepdims=True)) * m.numpy()
    t = e.sum(-1, keepdims=True)
    return torch.from_numpy((e / np.where(t == 0, 1, t)).astype(q.dtype) @ v)


def hd_in(x, Wq, Wk, Wv, m):
    q, k, v = (x @ Wq, x @ Wk, x @ Wv)
    q /= q.shape[-1] ** 0.5
    s = q @ k.mT
    s.masked_fill_(~m, -torch.inf)
    return sm(s, -1).nan_to_num_(0.0) @ v


hh = lambda x, a, b, c, m, s=None, div=None: (
    masked_softmax(x @ a @ (x @ b).mT / (div or r2(b.shape[-1])), mask=m) @ (x @ c)
)


def cm_loop(t, s):
    return torch.tensor([[[bool(x != 0) for x in s[b]] for _ in t[b]] for b in range(len(t))])


def cm_in(t, s):
    m = torch.ones(*t.shape, s.shape[1], dtype=torch.bool)
    m &= (s != 0)[:, None]
    return m


bl = lambda x: (x.shape[0], x.shape[2], -1)


def sh(o, W, i):
    d = o.shape[-1]
    return o[:, i] @ W[i * d : (i + 1) * d]


def sh_mask(o, W, i):
    z = torch.zeros_like(o)
    z[:, i] = o[:, i]
    return merge_heads(z) @ W


def mh(X, a, b, c, o, h, div=None, dim=-1, split=split_heads, merge=merge_heads):
    q, k, v = [split(X @ w_, h) for w_ in (a, b, c)]
    s = q @ k.mT / (div or r2(q.shape[-1]))
    return merge(sm(s, dim) @ v) @ o


def mh_loop(X, a, b, c, o, h):
    d = a.shape[1] // h
    outs = []
    for i in range(h):
        z = slice(i * d, (i + 1) * d)
        q, k, v = (X @ a[:, z], X @ b[:, z], X @ c[:, z])
        outs.append(sm(q @ k.mT / d**0.5, -1) @ v)
    return torch.cat(outs, -1) @ o


def mh_sum(X, a, b, c, o, h):
    d = a.shape[1] // h
    out = 0
    for i in range(h):
        z = slice(i * d, (i + 1) * d)
        out = out + sm(X @ a[:, z] @ (X @ b[:, z]).mT / d**0.5, -1) @ (X @ c[:, z]) @ o[z]
    return out


def mh_es(X, a, b, c, o, h):
    B, L, D = X.shape
    q, k, v = [(X @ w_).view(B, L, h, -1) for w_ in (a, b, c)]
    p = sm(torch.einsum("bqhd,bkhd->bhqk", q, k) / (D // h) ** 0.5, -1)
    return torch.einsum("bhqk,bkhd->bqhd", p, v).reshape(B, L, D) @ o


def ci(p, h):
    x = p.unflatten(-1, (h, 3, -1))
    return tuple(x[:, :, :, j].transpose(1, 2) for j in range(3))


def ci_loop(p, h):
    d = p.shape[-1] // (3 * h)
    f = lambda j: torch.stack([p[..., (3 * i + j) * d : (3 * i + j + 1) * d] for i in range(h)], 1)
    return (f(0), f(1), f(2))


def ga(q, k, v, f=None):
    g = q.shape[1] // k.shape[1]
    return F.scaled_dot_product_attention(q, k.repeat_interleave(g, 1), v.repeat_interleave(g, 1))


def ga_loop(q, k, v):
    g = q.shape[1] // k.shape[1]
    return torch.stack(
        [
            sm(q[:, h] @ k[:, h // g].mT / q.shape[-1] ** 0.5, -1) @ v[:, h // g]
            for h in range(q.shape[1])
        ],
        1,
    )


def ga_bro(q, k, v):
    B, H, L, d = q.shape
    x = q.view(B, k.shape[1], -1, L, d)
    return (sm(x @ k[:, :, None].mT / r2(d), -1) @ v[:, :, None]).flatten(1, 2)


def ga_es(q, k, v):
    x = q.unflatten(1, (k.shape[1], -1))
    p = sm(torch.einsum("bgrqd,bgkd->bgrqk", x, k) / r2(q.shape[-1]), -1)
    return torch.einsum("bgrqk,bgkv->bgrqv", p, v).flatten(1, 2)


G = lambda q, k: q.shape[1] // k.shape[1]

sd = F.scaled_dot_product_attention


def freqs(d, base=10000.0, dt=torch.float64):
    return base ** (-torch.arange(0, d, 2, dtype=dt) / d)


def tn(x, p, sgn=1, base=10000.0, half=False, swapout=False, fr=None, pos=None):
    d = x.shape[-1]
    w_ = freqs(d, base) if fr is None else fr(d)
    ang = (p if pos is None else pos)[:, None].double() * w_
    c, s = (ang.cos().to(x.dtype), sgn * ang.sin().to(x.dtype))
    a, b = (x[:, : d // 2], x[:, d // 2 :]) if half else (x[:, 0::2], x[:, 1::2])
    y = (a * c - b * s, a * s + b * c)
    return torch.cat(y, -1) if half or swapout else torch.stack(y, -1).flatten(-2)


def tn_loop(x, p):
    o = torch.empty_like(x)
    d = x.shape[1]
    for i in range(len(x)):
        for j in range(d // 2):
            th = float(p[i]) * 10000 ** (-2 * j / d)
            a, b = (x[i, 2 * j].item(), x[i, 2 * j + 1].item())
            o[i, 2 * j] = a * math.cos(th) - b * math.sin(th)
            o[i, 2 * j + 1] = a * math.sin(th) + b * math.cos(th)
    return o


def tn_cplx(x, p):
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    f = torch.polar(torch.ones((), dtype=torch.float64), p[:, None].double() * freqs(x.shape[1]))
    return torch.view_as_real(z * f).flatten(1).to(x.dtype)


def tn_np(x, p):
    X = x.numpy()
    th = p.numpy()[:, None] * 10000.0 ** (-np.arange(0, X.shape[1], 2) / X.shape[1])
    Y = X.copy()
    Y[:, ::2] = X[:, ::2] * np.cos(th) - X[:, 1::2] * np.sin(th)
    Y[:, 1::2] = X[:, ::2] * np.sin(th) + X[:, 1::2] * np.cos(th)
    return torch.from_numpy(Y)


def tn_mut(x, p):
    y = tn(x, p)
    x.copy_(y)
    return x


def sf(P_, dl, sgn=1, d2=None):
    d = P_.shape[1]
    th = dl * freqs(d)
    c, s = (th.cos().to(P_.dtype), sgn * th.sin().to(P_.dtype))
    a, b = (P_[:, ::2], P_[:, 1::2])
    return torch.stack([a * c + b * s, b * c - a * s], -1).flatten(1)


def sf_loop(P_, dl):
    o = torch.empty_like(P_)
    d = P_.shape[1]
    for i in range(len(P_)):
        for j in range(d // 2):
            t = dl * 10000 ** (-2 * j / d)
            o[i, 2 * j] = math.cos(t) * P_[i, 2 * j] + math.sin(t) * P_[i, 2 * j + 1]
            o[i, 2 * j + 1] = -math.sin(t) * P_[i, 2 * j] + math.cos(t) * P_[i, 2 * j + 1]
    return o


def sf_np(P_, dl):
    X = P_.numpy()
    t = (dl * 10000.0 ** (-np.arange(0, X.shape[1], 2) / X.shape[1])).astype(X.dtype)
    o = np.empty_like(X)
    o[:, ::2] = X[:, ::2] * np.cos(t) + X[:, 1::2] * np.sin(t)
    o[:, 1::2] = X[:, 1::2] * np.cos(t) - X[:, ::2] * np.sin(t)
    return torch.from_numpy(o)


def sf_mat(P_, dl):
    t = dl * freqs(P_.shape[1])
    M = torch.block_diag(
        *[
            torch.tensor([[math.cos(x), math.sin(x)], [-math.sin(x), math.cos(x)]])
            for x in t.tolist()
        ]
    ).to(P_.dtype)
    return P_ @ M.T


def su(W_, m):
    r_ = m[:, None].to(W_.dtype)
    return (W_.amax(-1) * r_).sum((0, 2)) / m.sum()


def su_loop(W_, m):
    o = []
    for h in range(W_.shape[1]):
        o.append(
            torch.stack(
                [W_[b, h, i].max() for b in range(len(W_)) for i in range(W_.shape[2]) if m[b, i]]
            ).mean()
        )
    return torch.stack(o)


def su_in(W_, m):
    x = W_.amax(-1).clone()
    x *= m[:, None]
    return x.sum(2).sum(0) / m.sum()


def so_base(W_, v):
    C = torch.cat([v, torch.ones_like(v[:, :1])], -1).double()
    return torch.linalg.svd(C.T, full_matrices=True).Vh[C.shape[1] :]


def so(W_, v):
    U = so_base(W_, v)
    o = []
    for r_ in W_.double():
        best = None
        for u in list(U) + [-x for x in U] + list(-U.T @ U) + list(U.T @ U):
            neg = u < -1e-12
            if not neg.any():
                continue
            t = 0.99 * (r_ / -u)[neg].min()
            c = r_ + t * u
            if best is None or (c - r_).abs().max() > (best - r_).abs().max():
                best = c
        o.append(best)
    return torch.stack(o).to(W_.dtype)


def so_np(W_, v):
    w64 = W_.double().numpy()
    C = np.concatenate([v.double().numpy(), np.ones((len(v), 1))], 1)
    U = np.linalg.svd(C.T)[2][C.shape[1] :]
    Pj = U.T @ U
    o = []
    for r_ in w64:
        cand = []
        for u in np.concatenate([Pj, -Pj]):
            n_ = u < -1e-12
            t = 0.97 * (r_[n_] / -u[n_]).min()
            cand.append(r_ + t * u)
        o.append(max(cand, key=lambda c: abs(c - r_).max()))
    return torch.from_numpy(np.stack(o)).to(W_.dtype)


def so_v(W_, v):
    U = so_base(W_, v)
    Pj = U.T @ U
    w_ = W_.double()
    D = torch.cat([Pj, -Pj])
    t = torch.where(D[None] < -1e-12, w_[:, None] / -D[None], torch.inf).amin(-1) * 0.98
    C = w_[:, None] + t[..., None] * D
    i = (C - w_[:, None]).abs().amax(-1).argmax(-1)
    return C[torch.arange(len(w_)), i].to(W_.dtype)


def so_lib(W_, v):

    def walk(weights, values):
        cond = torch.cat([values, torch.ones_like(values[:, :1])], -1)
        un = torch.linalg.svd(cond.T).Vh[cond.shape[1] :]
        aw = -un.T @ un[:, weights.argmax()]
        end = (weights / -aw)[aw < 0].min()
        return weights + 0.95 * end * aw

    return torch.stack([walk(r_, v) for r_ in W_])


def so_far(W_, v, f=2.0):
    U = so_base(W_, v)
    o = []
    for r_ in W_.double():
        u = -U.T @ U[:, r_.argmax()]
        t = f * (r_ / -u)[u < 0].min()
        o.append(r_ + t * u)
    return torch.stack(o).to(W_.dtype)


RIGHT = [
    pytest.param(soft_lookup.attention, loop_att, id="soft_lookup.attention-loop"),
    pytest.param(soft_lookup.attention, np_att, id="soft_lookup.attention-numpy"),
    pytest.param(soft_lookup.attention, inpl_att, id="soft_lookup.attention-inplace"),
    pytest.param(
        soft_lookup.attention,
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        id="soft_lookup.attention-sdpa",
    ),
    pytest.param(soft_lookup.hard_lookup, hl_loop, id="soft_lookup.hard_lookup-loop"),
    pytest.param(soft_lookup.hard_lookup, hl_np, id="soft_lookup.hard_lookup-numpy"),
    pytest.param(soft_lookup.hard_lookup, hl_inpl, id="soft_lookup.hard_lookup-inplace"),
    pytest.param(
        soft_lookup.hard_lookup,
        lambda s: sm(torch.zeros_like(s).masked_fill(~best(s), -torch.inf), -1),
        id="soft_lookup.hard_lookup-inf",
    ),
    pytest.param(soft_lookup.attend_or_abstain, catz, id="soft_lookup.attend_or_abstain-cat"),
    pytest.param(soft_lookup.attend_or_abstain, ab_np, id="soft_lookup.attend_or_abstain-numpy"),
    pytest.param(soft_lookup.attend_or_abstain, ab_loop, id="soft_lookup.attend_or_abstain-loop"),
    pytest.param(soft_lookup.attend_or_abstain, ab_lse, id="soft_lookup.attend_or_abstain-lse"),
    pytest.param(
        soft_lookup.attend_or_abstain, noclamp, id="soft_lookup.attend_or_abstain-noclamp"
    ),
    pytest.param(
        scoring_functions.scaled_scores, ss_loop, id="scoring_functions.scaled_scores-loop"
    ),
    pytest.param(
        scoring_functions.scaled_scores,
        lambda q, k: torch.einsum("bid,bjd->bij", q, k) / q.shape[-1] ** 0.5,
        id="scoring_functions.scaled_scores-einsum",
    ),
    pytest.param(
        scoring_functions.scaled_scores,
        lambda q, k: torch.bmm(q, k.mT) / torch.sqrt(torch.tensor(q.shape[-1])),
        id="scoring_functions.scaled_scores-bmm",
    ),
    pytest.param(
        scoring_functions.scaled_scores,
        lambda q, k: torch.from_numpy(
            q.numpy() @ k.numpy().swapaxes(1, 2) / np.sqrt(q.shape[2]).astype(q.numpy().dtype)
        ),
        id="scoring_functions.scaled_scores-numpy",
    ),
    pytest.param(
        scoring_functions.gaussian_by_product,
        lambda q, k: q @ k.mT - 0.5 * (k**2).sum(-1)[..., None, :],
        id="scoring_functions.gaussian_by_product-plain",
    ),
    pytest.param(
        scoring_functions.gaussian_by_product,
        lambda q, k: (
            q @ k.mT - k.square().sum(-1).unsqueeze(-2) / 2 - q.square().sum(-1, keepdim=True) / 2
        ),
        id="scoring_functions.gaussian_by_product-full",
    ),
    pytest.param(
        scoring_functions.gaussian_by_product,
        g_loop,
        id="scoring_functions.gaussian_by_product-loop",
    ),
    pytest.param(
        scoring_functions.gaussian_by_product,
        lambda q, k: (
            torch.einsum("bqd,bkd->bqk", q, k) - torch.einsum("bkd,bkd->bk", k, k)[:, None] / 2
        ),
        id="scoring_functions.gaussian_by_product-einsum",
    ),
    pytest.param(
        scoring_functions.gaussian_by_product,
        lambda q, k: -(torch.cdist(q, k) ** 2) / 2,
        id="scoring_functions.gaussian_by_product-cdist",
    ),
    pytest.param(
        scoring_functions.frugal_additive_scores,
        ad_h,
        id="scoring_functions.frugal_additive_scores-hidden",
    ),
    pytest.param(
        scoring_functions.frugal_additive_scores,
        ad_k,
        id="scoring_functions.frugal_additive_scores-keys",
    ),
    pytest.param(
        scoring_functions.frugal_additive_scores,
        ad_q,
        id="scoring_functions.frugal_additive_scores-queries",
    ),
    pytest.param(
        scoring_functions.frugal_additive_scores,
        ad_b,
        id="scoring_functions.frugal_additive_scores-rowsbatch",
    ),
    pytest.param(
        masking.key_padding,
        lambda v, n: ~length_mask(v, n).squeeze(1),
        id="masking.key_padding-lib",
    ),
    pytest.param(
        masking.key_padding, lambda v, n: torch.arange(n) >= v[:, None], id="masking.key_padding-ar"
    ),
    pytest.param(
        masking.key_padding,
        lambda v, n: torch.tensor([[j >= int(x) for j in range(n)] for x in v]),
        id="masking.key_padding-loop",
    ),
    pytest.param(
        masking.key_padding,
        lambda v, n: torch.from_numpy(np.arange(n)[None] >= v.numpy()[:, None]),
        id="masking.key_padding-numpy",
    ),
    pytest.param(masking.masked_softmax, ms_where, id="masking.masked_softmax-where"),
    pytest.param(masking.masked_softmax, ms_nan, id="masking.masked_softmax-nan"),
    pytest.param(masking.masked_softmax, ms_loop, id="masking.masked_softmax-loop"),
    pytest.param(masking.masked_softmax, ms_np, id="masking.masked_softmax-numpy"),
    pytest.param(masking.masked_softmax, ms_nan, id="masking.masked_softmax-nan"),
    pytest.param(masking.packed_mask, pk_loop, id="masking.packed_mask-loop"),
    pytest.param(masking.packed_mask, pk_in, id="masking.packed_mask-inpl"),
    pytest.param(
        masking.packed_mask,
        lambda d: (d[:, :, None] == d[:, None, :]).tril(),
        id="masking.packed_mask-tril",
    ),
    pytest.param(
        masking.packed_mask,
        lambda d: torch.from_numpy(np.tril(d.numpy()[:, :, None] == d.numpy()[:, None])),
        id="masking.packed_mask-numpy",
    ),
    pytest.param(
        mask_failures.folded_mask,
        lambda v, h, n: length_mask(v.repeat_interleave(h), n),
        id="mask_failures.folded_mask-lib",
    ),
    pytest.param(
        mask_failures.folded_mask,
        lambda v, h, n: (torch.arange(n) < v.repeat_interleave(h)[:, None])[:, None],
        id="mask_failures.folded_mask-ar",
    ),
    pytest.param(
        mask_failures.folded_mask,
        lambda v, h, n: torch.stack([(torch.arange(n) < x)[None] for x in v for _ in range(h)]),
        id="mask_failures.folded_mask-loop",
    ),
    pytest.param(
        mask_failures.folded_mask,
        lambda v, h, n: torch.from_numpy(np.repeat(v.numpy(), h)[:, None, None] > np.arange(n)),
        id="mask_failures.folded_mask-numpy",
    ),
    pytest.param(mask_failures.token_positions, tp_loop, id="mask_failures.token_positions-loop"),
    pytest.param(mask_failures.token_positions, tp_in, id="mask_failures.token_positions-inplace"),
    pytest.param(
        mask_failures.token_positions,
        lambda m: (m.cumsum(-1) - 1).clamp(min=0),
        id="mask_failures.token_positions-clamp",
    ),
    pytest.param(
        mask_failures.token_positions,
        lambda m: (m.cumsum(-1) - 1) * m,
        id="mask_failures.token_positions-zero",
    ),
    pytest.param(mask_failures.leak_test, lk, id="mask_failures.leak_test-ref"),
    pytest.param(mask_failures.leak_test, lk_np, id="mask_failures.leak_test-numpy"),
    pytest.param(mask_failures.leak_test, lk_one, id="mask_failures.leak_test-diff"),
    pytest.param(mask_failures.leak_test, lk_in, id="mask_failures.leak_test-inplace"),
    pytest.param(
        mask_failures.leak_test,
        lambda *a: lk(*a, close=lambda x, y: ~torch.isclose(x, y, equal_nan=True).all(-1)),
        id="mask_failures.leak_test-eqnan",
    ),
    pytest.param(variance.unit_scores, us_loop, id="variance.unit_scores-loop"),
    pytest.param(
        variance.unit_scores,
        lambda q, k, s: q @ k.mT / (s * s * q.shape[-1] ** 0.5),
        id="variance.unit_scores-plain",
    ),
    pytest.param(
        variance.unit_scores,
        lambda q, k, s: q / s @ (k / s).mT / q.shape[-1] ** 0.5,
        id="variance.unit_scores-std",
    ),
    pytest.param(
        variance.unit_scores,
        lambda q, k, s: torch.einsum("...id,...jd->...ij", q, k) / s**2 / math.sqrt(k.shape[-1]),
        id="variance.unit_scores-einsum",
    ),
    pytest.param(
        variance_limits.qk_norm_scores,
        lambda q, k, g: g * F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
        id="variance_limits.qk_norm_scores-norm",
    ),
    pytest.param(
        variance_limits.qk_norm_scores,
        lambda q, k, g: g * F.cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), dim=-1),
        id="variance_limits.qk_norm_scores-cos",
    ),
    pytest.param(
        variance_limits.qk_norm_scores,
        lambda q, k, g: g * cosine_scores(q, k),
        id="variance_limits.qk_norm_scores-lib",
    ),
    pytest.param(variance_limits.qk_norm_scores, qn_loop, id="variance_limits.qk_norm_scores-loop"),
    pytest.param(
        variance_limits.softmax_with_sink, sk_pad, id="variance_limits.softmax_with_sink-pad"
    ),
    pytest.param(variance_limits.softmax_with_sink, sk_m, id="variance_limits.softmax_with_sink-m"),
    pytest.param(
        variance_limits.softmax_with_sink, sk_np, id="variance_limits.softmax_with_sink-numpy"
    ),
    pytest.param(
        variance_limits.softmax_with_sink, sk_loop, id="variance_limits.softmax_with_sink-loop"
    ),
    pytest.param(
        variance_limits.softmax_with_sink,
        lambda s: (
            (s - mx(s)).exp() / ((-mx(s)).exp() + (s - mx(s)).exp().sum(-1, keepdim=True))
        ).nan_to_num(0),
        id="variance_limits.softmax_with_sink-noclampnan",
    ),
    pytest.param(softmax_gradient.query_gradient, qg, id="softmax_gradient.query_gradient-plain"),
    pytest.param(
        softmax_gradient.query_gradient, qg_auto, id="softmax_gradient.query_gradient-auto"
    ),
    pytest.param(softmax_gradient.query_gradient, qg_jac, id="softmax_gradient.query_gradient-jac"),
    pytest.param(
        softmax_gradient.query_gradient, qg_loop, id="softmax_gradient.query_gradient-loop"
    ),
    pytest.param(
        softmax_gradient.softmax_backward,
        lambda p, g: p * (g - (p * g).sum(-1, keepdim=True)),
        id="softmax_gradient.softmax_backward-plain",
    ),
    pytest.param(
        softmax_gradient.softmax_backward, sb_loop, id="softmax_gradient.softmax_backward-loop"
    ),
    pytest.param(
        softmax_gradient.softmax_backward, sb_in, id="softmax_gradient.softmax_backward-inplace"
    ),
    pytest.param(
        softmax_gradient.softmax_backward,
        lambda p, g: p * g - p * torch.einsum("...k,...k->...", p, g)[..., None],
        id="softmax_gradient.softmax_backward-einsum",
    ),
    pytest.param(
        one_head.head,
        lambda x, a, b, c, m: (
            scaled_dot_product_attention(x @ a, x @ b, x @ c, mask=m)[0]
            if isinstance(scaled_dot_product_attention(x @ a, x @ b, x @ c, mask=m), tuple)
            else scaled_dot_product_attention(x @ a, x @ b, x @ c, mask=m)
        ),
        id="one_head.head-lib",
    ),
    pytest.param(one_head.head, hd_loop, id="one_head.head-loop"),
    pytest.param(one_head.head, hd_np, id="one_head.head-numpy"),
    pytest.param(one_head.head, hd_in, id="one_head.head-inplace"),
    pytest.param(one_head.head, lambda *a: hd(*a), id="one_head.head-nan"),
    pytest.param(one_head.cross_mask, cm_loop, id="one_head.cross_mask-loop"),
    pytest.param(one_head.cross_mask, cm_in, id="one_head.cross_mask-inplace"),
    pytest.param(
        one_head.cross_mask,
        lambda t, s: (s != 0)[:, None].expand(-1, t.shape[1], -1),
        id="one_head.cross_mask-expand",
    ),
    pytest.param(
        one_head.cross_mask,
        lambda t, s: torch.from_numpy(np.repeat((s.numpy() != 0)[:, None], t.shape[1], 1)),
        id="one_head.cross_mask-numpy",
    ),
    pytest.param(
        multi_head.merge,
        lambda x: x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1),
        id="multi_head.merge-tr",
    ),
    pytest.param(
        multi_head.merge, lambda x: x.permute(0, 2, 1, 3).flatten(2), id="multi_head.merge-perm"
    ),
    pytest.param(
        multi_head.merge,
        lambda x: torch.cat([x[:, i] for i in range(x.shape[1])], -1),
        id="multi_head.merge-cat",
    ),
    pytest.param(
        multi_head.merge, lambda x: torch.cat(x.unbind(1), dim=2), id="multi_head.merge-unb"
    ),
    pytest.param(multi_head.share_of_head, sh, id="multi_head.share_of_head-slice"),
    pytest.param(multi_head.share_of_head, sh_mask, id="multi_head.share_of_head-mask"),
    pytest.param(
        multi_head.share_of_head,
        lambda o, W, i: o[:, i] @ W.chunk(o.shape[1])[i],
        id="multi_head.share_of_head-chunk",
    ),
    pytest.param(
        multi_head.share_of_head,
        lambda o, W, i: o[:, i] @ W.view(o.shape[1], -1, W.shape[1])[i],
        id="multi_head.share_of_head-view",
    ),
    pytest.param(multi_head.multi_head, mh, id="multi_head.multi_head-lib"),
    pytest.param(multi_head.multi_head, mh_loop, id="multi_head.multi_head-loop"),
    pytest.param(multi_head.multi_head, mh_sum, id="multi_head.multi_head-sum"),
    pytest.param(multi_head.multi_head, mh_es, id="multi_head.multi_head-einsum"),
    pytest.param(
        head_layouts.folded_lengths,
        lambda v, h: v.repeat_interleave(h),
        id="head_layouts.folded_lengths-ri",
    ),
    pytest.param(
        head_layouts.folded_lengths,
        lambda v, h: torch.tensor([int(x) for x in v for _ in range(h)]),
        id="head_layouts.folded_lengths-loop",
    ),
    pytest.param(
        head_layouts.folded_lengths,
        lambda v, h: torch.from_numpy(np.repeat(v.numpy(), h)),
        id="head_layouts.folded_lengths-numpy",
    ),
    pytest.param(
        head_layouts.folded_lengths,
        lambda v, h: v[:, None].expand(-1, h).reshape(-1),
        id="head_layouts.folded_lengths-expand",
    ),
    pytest.param(head_layouts.cut_interleaved, ci, id="head_layouts.cut_interleaved-idx"),
    pytest.param(head_layouts.cut_interleaved, ci_loop, id="head_layouts.cut_interleaved-loop"),
    pytest.param(
        head_layouts.cut_interleaved,
        lambda p, h: p.reshape(*p.shape[:2], h, -1).transpose(1, 2).chunk(3, -1),
        id="head_layouts.cut_interleaved-chunk",
    ),
    pytest.param(
        head_layouts.cut_interleaved,
        lambda p, h: (lambda x: x.split(x.shape[-1] // 3, -1))(
            p.unflatten(-1, (h, -1)).transpose(1, 2)
        ),
        id="head_layouts.cut_interleaved-split",
    ),
    pytest.param(head_layouts.grouped_attention, ga, id="head_layouts.grouped_attention-sdpa"),
    pytest.param(head_layouts.grouped_attention, ga_loop, id="head_layouts.grouped_attention-loop"),
    pytest.param(head_layouts.grouped_attention, ga_bro, id="head_layouts.grouped_attention-bro"),
    pytest.param(head_layouts.grouped_attention, ga_es, id="head_layouts.grouped_attention-einsum"),
    pytest.param(positions.turned, tn, id="positions.turned-plain"),
    pytest.param(positions.turned, tn_loop, id="positions.turned-loop"),
    pytest.param(positions.turned, tn_cplx, id="positions.turned-complex"),
    pytest.param(positions.turned, tn_np, id="positions.turned-numpy"),
    pytest.param(positions.shifted, sf, id="positions.shifted-plain"),
    pytest.param(positions.shifted, sf_loop, id="positions.shifted-loop"),
    pytest.param(positions.shifted, sf_np, id="positions.shifted-numpy"),
    pytest.param(positions.shifted, sf_mat, id="positions.shifted-matrix"),
    pytest.param(heatmaps.sureness, su, id="heatmaps.sureness-plain"),
    pytest.param(heatmaps.sureness, su_loop, id="heatmaps.sureness-loop"),
    pytest.param(heatmaps.sureness, su_in, id="heatmaps.sureness-inplace"),
    pytest.param(
        heatmaps.sureness,
        lambda W_, m: W_.amax(-1).transpose(1, 2)[m].mean(0),
        id="heatmaps.sureness-index",
    ),
    pytest.param(
        heatmaps.value_weighted,
        lambda W_, v: W_ * v.norm(dim=-1)[:, None],
        id="heatmaps.value_weighted-plain",
    ),
    pytest.param(
        heatmaps.value_weighted,
        lambda W_, v: torch.stack(
            [
                torch.stack([W_[b, :, j] * v[b, j].norm() for j in range(W_.shape[2])], -1)
                for b in range(len(W_))
            ]
        ),
        id="heatmaps.value_weighted-loop",
    ),
    pytest.param(
        heatmaps.value_weighted,
        lambda W_, v: torch.einsum("bqk,bk->bqk", W_, v.norm(dim=-1)),
        id="heatmaps.value_weighted-einsum",
    ),
    pytest.param(
        heatmaps.value_weighted,
        lambda W_, v: torch.from_numpy(W_.numpy() * np.linalg.norm(v.numpy(), axis=-1)[:, None]),
        id="heatmaps.value_weighted-numpy",
    ),
    pytest.param(heatmaps.same_output, so, id="heatmaps.same_output-best"),
    pytest.param(heatmaps.same_output, so_np, id="heatmaps.same_output-numpy"),
    pytest.param(heatmaps.same_output, so_v, id="heatmaps.same_output-vect"),
    pytest.param(heatmaps.same_output, so_lib, id="heatmaps.same_output-chapter"),
]
WRONG = [
    pytest.param(
        soft_lookup.attention,
        lambda q, k, v: sm(q @ k.T / r2(q.shape[-1]), -1) @ v,
        "In a matrix product, each row of the left meets a ",
        id="soft_lookup.attention-permall",
    ),
    pytest.param(
        soft_lookup.attention,
        lambda q, k, v: (sm(sc(q, k).half(), -1) @ v.half()).to(q.dtype),
        "Nearly right: something small is added, or the num",
        id="soft_lookup.attention-half",
    ),
    pytest.param(
        soft_lookup.attention,
        lambda q, k, v: sm(k @ T(q) / r2(q.shape[-1]), -1) @ v,
        "In a matrix product, each row of the left meets a ",
        id="soft_lookup.attention-swapped",
    ),
    pytest.param(
        soft_lookup.attention,
        lambda q, k, v: (sm(sc(q, k), -1) @ v)[0],
        "Only the first of the batch comes back.",
        id="soft_lookup.attention-batch0",
    ),
    pytest.param(
        soft_lookup.hard_lookup,
        lambda s: s.max(-1),
        "`max` along an axis gives two things, the numbers ",
        id="soft_lookup.hard_lookup-mx",
    ),
    pytest.param(
        soft_lookup.hard_lookup,
        lambda s: (s == s.amax(-1, keepdim=True)) / (s == s.amax(-1, keepdim=True)).sum(-1),
        "Two tensors meet whose axes, counted from the last",
        id="soft_lookup.hard_lookup-nokeep",
    ),
    pytest.param(
        soft_lookup.hard_lookup,
        lambda s: s * best(s),
        "The rows do not sum to 1, as weights do.",
        id="soft_lookup.hard_lookup-mult",
    ),
    pytest.param(
        soft_lookup.hard_lookup,
        lambda s: best(s) / best(s).float().mean(-1, keepdim=True),
        "The rows do not sum to 1, as weights do.",
        id="soft_lookup.hard_lookup-mean",
    ),
    pytest.param(
        soft_lookup.attend_or_abstain,
        lambda q, k, v: sm(F.pad(q @ k.mT, (0, 1)), -1),
        "`values` has no effect.",
        id="soft_lookup.attend_or_abstain-weights",
    ),
    pytest.param(
        soft_lookup.attend_or_abstain,
        lambda q, k, v: (lambda e: torch.nan_to_num(e / (1 + e.sum(-1, keepdim=True))) @ v)(
            (q @ k.mT).exp()
        ),
        "Right for numbers of ordinary size, wrong where th",
        id="soft_lookup.attend_or_abstain-nan0",
    ),
    pytest.param(
        soft_lookup.attend_or_abstain,
        lambda q, k, v: (
            lambda e: torch.nan_to_num(e / (1 + e.sum(-1, keepdim=True)), nan=1.0) @ v
        )((q @ k.mT).exp()),
        "Right for numbers of ordinary size, wrong where th",
        id="soft_lookup.attend_or_abstain-nan1",
    ),
    pytest.param(
        soft_lookup.attend_or_abstain,
        lambda q, k, v: (lambda e: e / (1 + e.sum(-1)) @ v)((q @ k.mT).exp()),
        "Two tensors meet whose axes, counted from the last",
        id="soft_lookup.attend_or_abstain-nokeep",
    ),
    pytest.param(
        scoring_functions.scaled_scores,
        lambda q, k: q @ k.T / r2(q.shape[-1]),
        "In a matrix product, each row of the left meets a ",
        id="scoring_functions.scaled_scores-bigT",
    ),
    pytest.param(
        scoring_functions.scaled_scores,
        lambda q, k: q @ T(k) / r2(q.shape[0]),
        "What stands in one row of the first axis changes t",
        id="scoring_functions.scaled_scores-batch",
    ),
    pytest.param(
        scoring_functions.scaled_scores,
        lambda q, k: torch.tensordot(q, k, dims=([-1], [-1])) / r2(q.shape[-1]),
        "There is an axis too many.",
        id="scoring_functions.scaled_scores-dot",
    ),
    pytest.param(
        scoring_functions.scaled_scores,
        lambda q, k: (q @ T(k) / r2(q.shape[-1])).round(decimals=3),
        "Nearly right: something small is added, or the num",
        id="scoring_functions.scaled_scores-rounded",
    ),
    pytest.param(
        scoring_functions.gaussian_by_product,
        lambda q, k: sm(q @ k.mT - n2(k)[:, None] / 2, -1),
        "A softmax is taken of the right result.",
        id="scoring_functions.gaussian_by_product-weights",
    ),
    pytest.param(
        scoring_functions.gaussian_by_product,
        lambda q, k: q @ k.mT - k.square().sum(1)[:, None] / 2,
        "Two tensors meet whose axes, counted from the last",
        id="scoring_functions.gaussian_by_product-keysum1",
    ),
    pytest.param(
        scoring_functions.gaussian_by_product,
        lambda q, k: q @ k.mT,
        "these are the dot product's weights",
        id="scoring_functions.gaussian_by_product-dot",
    ),
    pytest.param(
        scoring_functions.gaussian_by_product,
        lambda q, k: q @ k.mT - n2(k)[:, None],
        "the whole squared length of the key is subtracted",
        id="scoring_functions.gaussian_by_product-nohalf",
    ),
    pytest.param(
        scoring_functions.frugal_additive_scores,
        lambda q, k, Wq, Wk, w_: ad_k(q, k, Wk, Wq, w_),
        "In a matrix product, each row of the left meets a ",
        id="scoring_functions.frugal_additive_scores-swapW",
    ),
    pytest.param(
        scoring_functions.frugal_additive_scores,
        lambda q, k, Wq, Wk, w_: ad_k(q, k, Wq.T, Wk.T, w_),
        "In a matrix product, each row of the left meets a ",
        id="scoring_functions.frugal_additive_scores-noT",
    ),
    pytest.param(
        scoring_functions.frugal_additive_scores,
        lambda q, k, Wq, Wk, w_: torch.tanh(q @ Wq.T) @ w_,
        "An axis is missing, or was summed away.",
        id="scoring_functions.frugal_additive_scores-nokproj",
    ),
    pytest.param(
        scoring_functions.frugal_additive_scores,
        ad(lambda a, b, w_: torch.tanh(a[:, :, None] + b[:, None]) @ w_),
        "the numbers are right",
        id="scoring_functions.frugal_additive_scores-big",
    ),
    pytest.param(
        masking.key_padding,
        lambda v, n: torch.arange(n) > v[:, None],
        "the first key of the padding is left in",
        id="masking.key_padding-gt",
    ),
    pytest.param(
        masking.key_padding,
        lambda v, n: torch.zeros(len(v), n).masked_fill(torch.arange(n) >= v[:, None], -torch.inf),
        "That is a mask to add, 0 and −infinity; True and F",
        id="masking.key_padding-inf",
    ),
    pytest.param(
        masking.key_padding,
        lambda v, n: torch.arange(n) >= v,
        "Two tensors meet whose axes, counted from the last",
        id="masking.key_padding-noax",
    ),
    pytest.param(
        masking.key_padding,
        lambda v, n: torch.arange(n) == v[:, None],
        "Nothing is True that should not be, but some of wh",
        id="masking.key_padding-eq",
    ),
    pytest.param(
        masking.masked_softmax,
        lambda s, m: (lambda p: (p / p.sum(-1, keepdim=True)).nan_to_num(0))(sm(s, -1) * m),
        "All are 0.",
        id="masking.masked_softmax-mulnorm0",
    ),
    pytest.param(
        masking.masked_softmax,
        lambda s, m: sm(s + torch.where(m, 0.0, -torch.inf), -1).nan_to_num(0),
        "All are 0.",
        id="masking.masked_softmax-add",
    ),
    pytest.param(
        masking.masked_softmax,
        ms_mut,
        "the function changed its input",
        id="masking.masked_softmax-mut",
    ),
    pytest.param(
        masking.masked_softmax,
        ms_mut2,
        "the function changed its input",
        id="masking.masked_softmax-mut2",
    ),
    pytest.param(
        masking.packed_mask,
        lambda d: (d[0][:, None] == d[0]).tril().expand(len(d), -1, -1),
        "Only the first of the batch is read from `document",
        id="masking.packed_mask-row0",
    ),
    pytest.param(
        masking.packed_mask,
        lambda d: (d[0][:, None] == d[0]).tril(),
        "Only the first of the batch comes back.",
        id="masking.packed_mask-two",
    ),
    pytest.param(
        masking.packed_mask,
        lambda d: (d == d).tril(),
        "An axis is missing, or was summed away.",
        id="masking.packed_mask-noax",
    ),
    pytest.param(
        masking.packed_mask,
        lambda d: (eqm(d) & (d != 0)[:, None]).tril(),
        "Nothing is True that should not be, but some of wh",
        id="masking.packed_mask-nz",
    ),
    pytest.param(
        mask_failures.folded_mask,
        lambda v, h, n: length_mask(v.repeat_interleave(h) // h, n),
        "Nothing is True that should not be, but some of wh",
        id="mask_failures.folded_mask-div",
    ),
    pytest.param(
        mask_failures.folded_mask,
        lambda v, h, n: torch.zeros(len(v) * h, 1, n).masked_fill(
            ~length_mask(v.repeat_interleave(h), n), -torch.inf
        ),
        "That is a mask to add, 0 and −infinity; True and F",
        id="mask_failures.folded_mask-inf",
    ),
    pytest.param(
        mask_failures.folded_mask,
        lambda v, h, n: length_mask(v.repeat(h).sort().values, n),
        "What stands in one row of the first axis changes t",
        id="mask_failures.folded_mask-sort",
    ),
    pytest.param(
        mask_failures.folded_mask,
        lambda v, h, n: causal_mask(n).expand(len(v) * h, -1, -1),
        "`valid_lens` has no effect.",
        id="mask_failures.folded_mask-causal",
    ),
    pytest.param(
        mask_failures.token_positions,
        lambda m: (m.float().cumsum(-1) - 1).clamp(min=0),
        "Right numbers would be whole; these are decimal nu",
        id="mask_failures.token_positions-flt",
    ),
    pytest.param(
        mask_failures.token_positions,
        lambda m: m,
        "True and False come back, where numbers are asked ",
        id="mask_failures.token_positions-bool_",
    ),
    pytest.param(
        mask_failures.token_positions,
        lambda m: tp_loop(m).tolist(),
        "A Python list comes back: torch.tensor or torch.st",
        id="mask_failures.token_positions-lstv",
    ),
    pytest.param(
        mask_failures.token_positions,
        lambda m: (m.cumsum(-1) - 1).clamp(min=0)[0],
        "An axis is missing, or was summed away.",
        id="mask_failures.token_positions-one_d",
    ),
    pytest.param(
        mask_failures.leak_test,
        lambda *a: lk(*a, close=lambda x, y: y.isnan().any(-1)),
        "Nothing is True that should not be, but some of wh",
        id="mask_failures.leak_test-isnan",
    ),
    pytest.param(
        mask_failures.leak_test,
        lambda *a: lk(*a, close=lambda x, y: ~torch.isclose(x, y).any(-1)),
        "Nothing is True that should not be, but some of wh",
        id="mask_failures.leak_test-anyclose",
    ),
    pytest.param(
        mask_failures.leak_test,
        lambda *a: lk(*a, close=lambda x, y: ~torch.isclose(x[..., 0], y[..., 0])),
        "Nothing is True that should not be, but some of wh",
        id="mask_failures.leak_test-firstco",
    ),
    pytest.param(
        mask_failures.leak_test,
        lambda *a: lk(*a, close=lambda x, y: ~torch.isclose(x, y, atol=0.1, rtol=0.1).all(-1)),
        "Nothing is True that should not be, but some of wh",
        id="mask_failures.leak_test-coarse",
    ),
    pytest.param(
        variance.unit_scores,
        lambda q, k, s: (dt(q, k) - dt(q, k).mean()) / dt(q, k).std(),
        "What stands in one row of the first axis changes t",
        id="variance.unit_scores-emp2",
    ),
    pytest.param(
        variance.unit_scores,
        lambda q, k, s: dt(q, k) / s**2 * r2(q.shape[-1]),
        "The right result is multiplied by a size, that of ",
        id="variance.unit_scores-prec",
    ),
    pytest.param(
        variance.unit_scores,
        lambda q, k, s: sm(dt(q, k) / (s**2 * r2(q.shape[-1])), -1),
        "A softmax is taken of the right result.",
        id="variance.unit_scores-soft",
    ),
    pytest.param(
        variance.unit_scores,
        lambda q, k, s: dt(q / q.std(), k / k.std()) / r2(q.shape[-1]),
        "What stands in one row of the first axis changes t",
        id="variance.unit_scores-ownstd",
    ),
    pytest.param(
        variance_limits.qk_norm_scores,
        lambda q, k, g: sm(g * nz(q) @ nz(k).mT, -1),
        "A softmax is taken of the right result.",
        id="variance_limits.qk_norm_scores-soft",
    ),
    pytest.param(
        variance_limits.qk_norm_scores,
        lambda q, k, g: g * q @ k.mT / (q @ k.mT).abs().max(),
        "What stands in one row of the first axis changes t",
        id="variance_limits.qk_norm_scores-maxn",
    ),
    pytest.param(
        variance_limits.qk_norm_scores,
        lambda q, k, g: g * r2(q.shape[-1]) * nz(q) @ nz(k).mT,
        "The right result is multiplied by the root of a si",
        id="variance_limits.qk_norm_scores-rootd",
    ),
    pytest.param(
        variance_limits.qk_norm_scores,
        lambda q, k, g: (g * nz(q) @ nz(k).mT).abs(),
        "The size is right, the sign is lost.",
        id="variance_limits.qk_norm_scores-absn",
    ),
    pytest.param(
        variance_limits.softmax_with_sink,
        lambda s: (s.exp() / (1 + s.exp().sum(-1, keepdim=True))).nan_to_num(0),
        "Right for numbers of ordinary size, wrong where th",
        id="variance_limits.softmax_with_sink-nan",
    ),
    pytest.param(
        variance_limits.softmax_with_sink,
        lambda s: (s.exp() / (1 + s.exp().sum(-1, keepdim=True))).nan_to_num(1),
        "Right for numbers of ordinary size, wrong where th",
        id="variance_limits.softmax_with_sink-nan1",
    ),
    pytest.param(
        variance_limits.softmax_with_sink,
        lambda s: (lambda e: e / (1 + e.sum(-1, keepdim=True)))(s.clamp(max=80).exp()),
        "Right for numbers of ordinary size, wrong where th",
        id="variance_limits.softmax_with_sink-clip",
    ),
    pytest.param(
        variance_limits.softmax_with_sink,
        lambda s: (
            lambda m: (s - m[..., None]).exp() / ((-m).exp() + (s - m[..., None]).exp().sum(-1))
        )(s.amax(-1).clamp(min=0)),
        "Two tensors meet whose axes, counted from the last",
        id="variance_limits.softmax_with_sink-nokeep",
    ),
    pytest.param(
        softmax_gradient.query_gradient,
        lambda q, k, v: P(q, k) @ v,
        "An axis is missing, or was summed away.",
        id="softmax_gradient.query_gradient-out",
    ),
    pytest.param(
        softmax_gradient.query_gradient,
        lambda q, k, v: qg(q, k, v) * len(q),
        "The right result is multiplied by a size, that of ",
        id="softmax_gradient.query_gradient-mul",
    ),
    pytest.param(
        softmax_gradient.query_gradient,
        lambda q, k, v: qg(q, k, v).sum(0),
        "The right result is summed along its first axis.",
        id="softmax_gradient.query_gradient-vecsum",
    ),
    pytest.param(
        softmax_gradient.query_gradient,
        lambda q, k, v: qg_auto_k(q, k, v),
        "There is an axis too many.",
        id="softmax_gradient.query_gradient-dk",
    ),
    pytest.param(
        softmax_gradient.softmax_backward,
        lambda p, g: p * (g - (p * g).sum(-1)),
        "Two tensors meet whose axes, counted from the last",
        id="softmax_gradient.softmax_backward-nokeep",
    ),
    pytest.param(
        softmax_gradient.softmax_backward,
        lambda p, g: (
            p * (p.clamp(min=1e-12).log() - (p * p.clamp(min=1e-12).log()).sum(-1, keepdim=True))
        ),
        "`gradient` has no effect.",
        id="softmax_gradient.softmax_backward-ent",
    ),
    pytest.param(
        softmax_gradient.softmax_backward,
        lambda p, g: g,
        "`weights` has no effect.",
        id="softmax_gradient.softmax_backward-detach",
    ),
    pytest.param(
        softmax_gradient.softmax_backward,
        lambda p, g: (p * (g - (p * g).sum(-1, keepdim=True))).relu(),
        "Every negative number became 0.",
        id="softmax_gradient.softmax_backward-relu",
    ),
    pytest.param(
        one_head.head,
        lambda x, a, b, c, m: hh(
            x, torch.eye(x.shape[-1]).to(x), torch.eye(x.shape[-1]).to(x), c, m
        ),
        "`W_q` has no effect.",
        id="one_head.head-noproj",
    ),
    pytest.param(
        one_head.head,
        lambda x, a, b, c, m: hh(x, a, b, c, causal_mask(x.shape[1])),
        "`mask` has no effect.",
        id="one_head.head-causal",
    ),
    pytest.param(
        one_head.head,
        lambda x, a, b, c, m: hh(x, a, b, c, m[:1]),
        "Only the first of the batch is read from `mask`.",
        id="one_head.head-m0",
    ),
    pytest.param(
        one_head.head,
        lambda *a: hh(*a, div=1),
        "the scores are not divided by the square root of d_k.",
        id="one_head.head-un",
    ),
    pytest.param(
        one_head.cross_mask,
        lambda t, s: (s > 1)[:, None].expand(-1, t.shape[1], -1),
        "Nothing is True that should not be, but some of wh",
        id="one_head.cross_mask-gt",
    ),
    pytest.param(
        one_head.cross_mask,
        lambda t, s: (t != 0)[:, None].expand(-1, t.shape[1], -1),
        "`target_ids` stands where `source_ids` belongs.",
        id="one_head.cross_mask-self_",
    ),
    pytest.param(
        one_head.cross_mask,
        lambda t, s: (s != 0)[:, None].expand(-1, s.shape[1], -1),
        "`source_ids` stands where `target_ids` belongs.",
        id="one_head.cross_mask-selfs",
    ),
    pytest.param(
        one_head.cross_mask,
        lambda t, s: t[..., None] * s[:, None],
        "Numbers come back, where True and False are asked ",
        id="one_head.cross_mask-prod",
    ),
    pytest.param(
        multi_head.merge,
        lambda x: x.transpose(1, 2).view(*bl(x)),
        "`view` cannot join axes that a transpose has moved",
        id="multi_head.merge-view",
    ),
    pytest.param(
        multi_head.merge,
        lambda x: x.transpose(2, 3).reshape(*bl(x)),
        "All the right numbers are there, in the wrong plac",
        id="multi_head.merge-tr23",
    ),
    pytest.param(
        multi_head.merge,
        lambda x: x.flatten(1),
        "An axis is missing, or was summed away.",
        id="multi_head.merge-flat",
    ),
    pytest.param(
        multi_head.merge,
        lambda x: x.transpose(0, 1).reshape(*bl(x)),
        "All the right numbers are there, in the wrong plac",
        id="multi_head.merge-tr01",
    ),
    pytest.param(
        multi_head.share_of_head,
        lambda o, W, i: o[:, i] @ W[:, i * o.shape[-1] : (i + 1) * o.shape[-1]].T,
        "In a matrix product, each row of the left meets a ",
        id="multi_head.share_of_head-colsT",
    ),
    pytest.param(
        multi_head.share_of_head,
        lambda o, W, i: o[:, i] @ W[i],
        "In a matrix product, each row of the left meets a ",
        id="multi_head.share_of_head-row",
    ),
    pytest.param(
        multi_head.share_of_head,
        lambda o, W, i: o[..., i] @ W,
        "In a matrix product, each row of the left meets a ",
        id="multi_head.share_of_head-last",
    ),
    pytest.param(
        multi_head.share_of_head,
        lambda o, W, i: o[:, i] @ W.T[i * o.shape[-1] : (i + 1) * o.shape[-1]],
        "In a matrix product, each row of the left meets a ",
        id="multi_head.share_of_head-WT",
    ),
    pytest.param(
        multi_head.multi_head,
        lambda X, a, b, c, o, h: mh(X, a, b, c, o.T, h),
        "`argument 5` is transposed.",
        id="multi_head.multi_head-WoT",
    ),
    pytest.param(
        multi_head.multi_head,
        lambda X, a, b, c, o, h: (lambda q, k, v: (sm(q @ k.mT / r2(q.shape[-1]), -1) @ v).sum(1))(
            *[split_heads(X @ w_, h) for w_ in (a, b, c)]
        ),
        "`argument 5` has no effect.",
        id="multi_head.multi_head-sumh",
    ),
    pytest.param(
        multi_head.multi_head,
        lambda X, a, b, c, o, h: mh(X, *[torch.eye(len(o)).to(o)] * 3, o, h),
        "`argument 2` has no effect.",
        id="multi_head.multi_head-noproj",
    ),
    pytest.param(
        multi_head.multi_head,
        lambda *a: mh(*a, div=1),
        "the scores are not divided by the square root of d_k.",
        id="multi_head.multi_head-un",
    ),
    pytest.param(
        head_layouts.folded_lengths,
        lambda v, h: [x for x in v.tolist() for _ in range(h)],
        "A Python list comes back: torch.tensor or torch.st",
        id="head_layouts.folded_lengths-lst",
    ),
    pytest.param(
        head_layouts.folded_lengths,
        lambda v, h: v.repeat(h).sort().values,
        "What stands in one row of the first axis changes t",
        id="head_layouts.folded_lengths-sort",
    ),
    pytest.param(
        head_layouts.folded_lengths,
        lambda v, h: v.repeat_interleave(h).float(),
        "Right numbers would be whole; these are decimal nu",
        id="head_layouts.folded_lengths-flt",
    ),
    pytest.param(
        head_layouts.folded_lengths,
        lambda v, h: v.repeat_interleave(h + 1),
        "`n` is one too large.",
        id="head_layouts.folded_lengths-h1",
    ),
    pytest.param(
        head_layouts.cut_interleaved,
        lambda p, h: tuple(t.flatten(2) for t in p.unflatten(-1, (h, 3, -1)).unbind(3)),
        "Each result has the right numbers, in the wrong pl",
        id="head_layouts.cut_interleaved-merged",
    ),
    pytest.param(
        head_layouts.cut_interleaved,
        lambda p, h: tuple(p.unflatten(-1, (h, -1)).transpose(1, 2)),
        "Not as many things come back as are asked for.",
        id="head_layouts.cut_interleaved-heads",
    ),
    pytest.param(
        head_layouts.cut_interleaved,
        lambda p, h: ci(p, h)[0],
        "One thing comes back where several are asked for: ",
        id="head_layouts.cut_interleaved-onlyq",
    ),
    pytest.param(
        head_layouts.cut_interleaved,
        lambda p, h: torch.stack(ci(p, h)),
        "One thing comes back where several are asked for: ",
        id="head_layouts.cut_interleaved-stacked",
    ),
    pytest.param(
        head_layouts.grouped_attention,
        lambda q, k, v: sd(q, k, v),
        "Two tensors meet whose axes, counted from the last",
        id="head_layouts.grouped_attention-norep",
    ),
    pytest.param(
        head_layouts.grouped_attention,
        lambda q, k, v: ga(q, k, v).unflatten(1, (k.shape[1], -1)),
        "There is an axis too many.",
        id="head_layouts.grouped_attention-noflat",
    ),
    pytest.param(
        head_layouts.grouped_attention,
        lambda q, k, v: sd(q, k.repeat_interleave(G(q, k), 2), v.repeat_interleave(G(q, k), 2)),
        "Two tensors meet whose axes, counted from the last",
        id="head_layouts.grouped_attention-axis",
    ),
    pytest.param(
        head_layouts.grouped_attention,
        lambda q, k, v: sd(q, k.repeat_interleave(G(q, k), 0), v.repeat_interleave(G(q, k), 0)),
        "Two tensors meet whose axes, counted from the last",
        id="head_layouts.grouped_attention-len_",
    ),
    pytest.param(
        positions.turned, tn_mut, "the function changed its input", id="positions.turned-mut"
    ),
    pytest.param(
        positions.turned,
        lambda x, p: torch.stack([tn(x, p)[:, ::2], tn(x, p)[:, 1::2]], -1),
        "There is an axis too many.",
        id="positions.turned-pairs2",
    ),
    pytest.param(
        positions.turned,
        lambda x, p: tn(x, p, sgn=-1),
        "turned backwards",
        id="positions.turned-back",
    ),
    pytest.param(
        positions.turned,
        lambda x, p: tn(x, p, half=True),
        "the pairs are (j",
        id="positions.turned-half",
    ),
    pytest.param(
        positions.shifted,
        lambda P_, dl: P_.roll(dl, 0),
        "What stands in one row of the first axis changes t",
        id="positions.shifted-roll2",
    ),
    pytest.param(
        positions.shifted,
        lambda P_, dl: (
            lambda t, a, b: torch.stack(
                [b * t.cos() - a * t.sin(), a * t.cos() + b * t.sin()], -1
            ).flatten(1)
        )((dl * freqs(P_.shape[1])).to(P_.dtype), P_[:, ::2], P_[:, 1::2]),
        "All the right numbers are there, in the wrong plac",
        id="positions.shifted-swapped",
    ),
    pytest.param(
        positions.shifted,
        lambda P_, dl: sf(P_, dl + 1),
        "`delta` is one too large.",
        id="positions.shifted-plus1",
    ),
    pytest.param(
        positions.shifted,
        lambda P_, dl: sf(P_, -dl),
        "turned backwards",
        id="positions.shifted-back",
    ),
    pytest.param(
        heatmaps.sureness,
        lambda W_, m: (W_.amax(-1) * m[:, None]).sum(-1) / m.sum(-1, keepdim=True),
        "There is an axis too many.",
        id="heatmaps.sureness-perb",
    ),
    pytest.param(
        heatmaps.sureness,
        lambda W_, m: (W_.amax(-1) * m).sum((0, 2)) / m.sum(),
        "Two tensors meet whose axes, counted from the last",
        id="heatmaps.sureness-noax",
    ),
    pytest.param(
        heatmaps.sureness,
        lambda W_, m: W_.argmax(-1),
        "Whole numbers come back: what stands after the poi",
        id="heatmaps.sureness-am",
    ),
    pytest.param(
        heatmaps.sureness,
        lambda W_, m: (W_.mean(1).amax(-1) * m).sum() / m.sum(),
        "An axis is missing, or was summed away.",
        id="heatmaps.sureness-meanhead",
    ),
    pytest.param(
        heatmaps.value_weighted,
        lambda W_, v: v.norm(dim=-1)[:, None].expand(W_.shape),
        "`weights` has no effect.",
        id="heatmaps.value_weighted-onlyn",
    ),
    pytest.param(
        heatmaps.value_weighted,
        lambda W_, v: (W_ * v.norm(dim=-1)[:, None]).sum(-1),
        "One too many: the right result is summed along its",
        id="heatmaps.value_weighted-summed",
    ),
    pytest.param(
        heatmaps.value_weighted,
        lambda W_, v: W_ * v[0].norm(dim=-1),
        "Only the first of the batch is read from `values`.",
        id="heatmaps.value_weighted-b0",
    ),
    pytest.param(
        heatmaps.value_weighted,
        lambda W_, v: sm(W_ * v.norm(dim=-1)[:, None], -1),
        "A softmax is taken of the right result.",
        id="heatmaps.value_weighted-soft",
    ),
    pytest.param(
        heatmaps.same_output,
        lambda W_, v: W_,
        "row 0 is what was given",
        id="heatmaps.same_output-same",
    ),
    pytest.param(
        heatmaps.same_output,
        lambda W_, v: W_.clone(),
        "row 0 is what was given",
        id="heatmaps.same_output-clone",
    ),
    pytest.param(
        heatmaps.same_output,
        lambda W_, v: W_ + 0.0001 * so_base(W_, v)[0].to(W_.dtype),
        "row 0 is what was given",
        id="heatmaps.same_output-tiny",
    ),
    pytest.param(heatmaps.same_output, so_far, "row 0", id="heatmaps.same_output-far"),
]

test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)
