"""Answers to the exercises of `cross-checks`."""

import math

import torch


def agrees_by_loop(printed, ours, decimals):
    if printed.shape != ours.shape:
        return False
    pairs = zip(printed.flatten().tolist(), ours.flatten().tolist(), strict=True)
    return all(abs(p - o) <= 0.5001 * 10**-decimals for p, o in pairs)


def agrees_allclose(printed, ours, decimals):
    return printed.shape == ours.shape and torch.allclose(
        ours.double(), printed.double(), rtol=0, atol=0.5001 * 10.0**-decimals
    )


def agrees_maximum(printed, ours, decimals):
    if printed.shape != ours.shape:
        return False
    if printed.numel() == 0:
        return True
    return (printed - ours).abs().max().item() <= 0.5001 / 10**decimals


def agrees_assert(printed, ours, decimals):
    try:
        torch.testing.assert_close(
            ours, printed, rtol=0, atol=0.5001 * 10**-decimals, check_dtype=False
        )
    except AssertionError:
        return False
    return True


def _agrees(
    close=lambda d, t: bool((d <= t).all()),
    tolerance=lambda n: 0.5001 * 10.0**-n,
    shapes=lambda a, b: a.shape == b.shape,
    difference=lambda p, o: (p - o).abs(),
):
    def agrees(printed, ours, decimals):
        return shapes(printed, ours) and close(difference(printed, ours), tolerance(decimals))

    return agrees


def _probe(marked=(True, False), values=(0.0, 1.0), verdict=None, keys=None, queries=2, batch=1):
    def hides(attend):
        v = torch.tensor(values)[None, :, None].expand(batch, -1, -1)
        k = torch.zeros(batch, len(values), 4) if keys is None else keys
        q = torch.zeros(batch, queries, 4)
        out = attend(q, k, v, torch.tensor([marked] * queries))
        return (verdict or (lambda o: bool(o[0, 0, 0] > 0.5)))(out)

    return hides


def hides_three_keys(attend):
    same, values = torch.zeros(1, 3, 2), torch.tensor([[[5.0], [7.0], [9.0]]])
    marked = torch.tensor([[True, False, False]]).expand(3, -1)
    return float(attend(same, same, values, marked)[0, 0, 0]) > 6


def hides_by_change(attend):
    same, values = torch.zeros(1, 2, 3), torch.tensor([[[0.0], [1.0]]])
    marked = torch.tensor([[False, True], [False, True]])
    before = attend(same, same, values, marked)
    after = attend(same, same, values + torch.tensor([[[0.0], [5.0]]]), marked)
    return torch.allclose(before, after)


def hides_two_values(attend):
    same = torch.ones(1, 2, 2)
    values = torch.eye(2)[None]
    out = attend(same, same, values, torch.tensor([[False, True], [False, True]]))[0, 0]
    return int(out.argmax()) == 0


def hides_by_slope(attend):
    same = torch.zeros(1, 2, 4)
    values = torch.ones(1, 2, 1, requires_grad=True)
    attend(same, same, values, torch.tensor([[True, False], [True, False]])).sum().backward()
    return bool(values.grad[0, 0, 0] == 0)


def everything_marked(attend):
    same, values = torch.zeros(1, 2, 4), torch.tensor([[[1.0], [1.0]]])
    out = attend(same, same, values, torch.ones(2, 2, dtype=torch.bool))
    return bool((out == 0).all()) or bool(out.isnan().all())


def nothing_marked(attend):
    same, values = torch.zeros(1, 2, 4), torch.tensor([[[1.0], [1.0]]])
    out = attend(same, same, values, torch.zeros(2, 2, dtype=torch.bool))
    return not bool((out == 0).all() or out.isnan().all())


def causal_probe(attend):
    same, values = torch.zeros(1, 2, 4), torch.tensor([[[0.0], [1.0]]])
    out = attend(same, same, values, torch.ones(2, 2, dtype=torch.bool).tril())
    return bool(out[0, 0, 0] > 0.5)


def causal_last_row(attend):
    same, values = torch.zeros(1, 2, 4), torch.tensor([[[0.0], [1.0]]])
    out = attend(same, same, values, torch.ones(2, 2, dtype=torch.bool).tril())
    return bool(out[0, 1, 0] > 0.7)


def partner_by_matrix(rotate, d_k):
    eye = torch.zeros(d_k, 2, d_k)
    eye[:, 1] = torch.eye(d_k)
    rows = torch.stack([rotate(x[None])[0, 1] for x in eye])
    mixed = rows[1:, 0].abs()
    return int(mixed.argmax()) + 1


def partner_by_loop(rotate, d_k):
    x = torch.zeros(1, 4, d_k)
    x[..., 0] = 1.0
    moved = rotate(x)[0, 1]
    best = max(range(1, d_k), key=lambda j: abs(float(moved[j])))
    return best


def partner_nonzero(rotate, d_k):
    x = torch.zeros(1, 2, d_k)
    x[0, 1, 0] = 1
    others = [j for j in (rotate(x)[0, 1].abs() > 1e-6).nonzero().flatten().tolist() if j != 0]
    return others[0]


def partner_by_difference(rotate, d_k):
    base = torch.ones(1, 3, d_k, dtype=torch.float64)
    bumped = base.clone()
    bumped[0, 1, 0] += 1
    gap = (rotate(bumped) - rotate(base))[0, 1].abs()
    gap[0] = -1
    return gap.argmax()


def _partner(
    length=2,
    place=1,
    start=0,
    value=1.0,
    reading=lambda m: 1 + int(m.abs()[1:].argmax()),
):
    def partner(rotate, d_k):
        x = torch.zeros(1, length, d_k)
        x[0, place, start] = value
        return reading(rotate(x)[0, place])

    return partner


def everything_one(rotate, d_k):
    moved = rotate(torch.ones(1, 2, d_k))[0, 1]
    return 1 + int((moved[1:] - 1).abs().argmax())


def far_place(rotate, d_k):
    x = torch.zeros(1, 23, d_k)
    x[0, 22, 0] = 1
    moved = rotate(x)[0, 22].abs()
    return 1 + int((moved[1:] > 0.1).int().argmax())


RIGHT = {
    "agrees": {
        "loop": agrees_by_loop,
        "allclose": agrees_allclose,
        "largest difference": agrees_maximum,
        "assert_close": agrees_assert,
    },
    "true_hides": {
        "three keys": hides_three_keys,
        "the marked value changed": hides_by_change,
        "an identity for values": hides_two_values,
        "the slope": hides_by_slope,
    },
    "turns_with_the_first": {
        "whole matrix": partner_by_matrix,
        "loop": partner_by_loop,
        "what is not 0": partner_nonzero,
        "differences, 0-d tensor": partner_by_difference,
    },
}

WRONG = {
    "agrees": {
        "shapes not compared": _agrees(shapes=lambda a, b: True),
        "numbers counted, not shapes": _agrees(shapes=lambda a, b: a.numel() == b.numel()),
        "axes counted": _agrees(shapes=lambda a, b: a.dim() == b.dim()),
        "not any larger": _agrees(close=lambda d, t: not bool((d > t).any())),
        "any for all": _agrees(close=lambda d, t: bool((d <= t).any())),
        "mean difference": _agrees(close=lambda d, t: bool(d.mean() <= t)),
        "nanmean": _agrees(close=lambda d, t: bool(d.nanmean() <= t)),
        "median": _agrees(close=lambda d, t: bool(d.median() <= t)),
        "a whole unit": _agrees(tolerance=lambda n: 1.0001 * 10.0**-n),
        "a fifth of a unit": _agrees(tolerance=lambda n: 0.2 * 10.0**-n),
        "two units": _agrees(tolerance=lambda n: 2 * 10.0**-n),
        "ten times too strict": _agrees(tolerance=lambda n: 0.05 * 10.0**-n),
        "four decimals always": _agrees(tolerance=lambda n: 0.5001e-4),
        "exactly equal": lambda p, o, n: torch.equal(p, o),
        "no absolute value": _agrees(difference=lambda p, o: p - o),
        "no absolute value, other way": _agrees(difference=lambda p, o: o - p),
        "allclose with a relative tolerance": lambda p, o, n: (
            p.shape == o.shape and torch.allclose(p, o, rtol=0.5 * 10.0**-n, atol=0)
        ),
        "allclose as it comes": lambda p, o, n: p.shape == o.shape and torch.allclose(p, o),
        "NaN equal to NaN": lambda p, o, n: (
            p.shape == o.shape
            and torch.allclose(p, o, rtol=0, atol=0.5001 * 10.0**-n, equal_nan=True)
        ),
        "NaN replaced by 0": _agrees(difference=lambda p, o: (p - o).abs().nan_to_num(0)),
        "sum of the differences": _agrees(close=lambda d, t: bool(d.sum() <= t)),
        "squared difference": _agrees(difference=lambda p, o: (p - o).square()),
        "decimals multiplied": _agrees(tolerance=lambda n: 0.5 / (10 * n) if n else 0.5),
        "first number only": _agrees(close=lambda d, t: bool(d.flatten()[0] <= t)),
        "a tensor of booleans": lambda p, o, n: (p - o).abs() <= 0.5001 * 10.0**-n,
        "always": lambda p, o, n: True,
        "never": lambda p, o, n: False,
        "truncated": lambda p, o, n: (
            p.shape == o.shape and bool(((o * 10**n).trunc() == (p * 10**n).round()).all())
        ),
        "shape of ours broadcast": lambda p, o, n: (
            agrees_allclose(p.expand_as(o), o, n) if p.numel() == 1 else agrees_allclose(p, o, n)
        ),
        "returns None when wrong": lambda p, o, n: None if p.shape == o.shape else False,
        "python's round": lambda p, o, n: all(
            round(a, n) == b
            for a, b in zip(o.flatten().tolist(), p.flatten().tolist(), strict=False)
        ),
    },
    "true_hides": {
        "verdict turned round": _probe(verdict=lambda o: bool(o[0, 0, 0] < 0.5)),
        "marks everything": everything_marked,
        "marks nothing": nothing_marked,
        "marks everything, NaN hides": _probe(
            marked=(True, True), verdict=lambda o: bool(o.isnan().any())
        ),
        "marks everything, 0 hides": _probe(
            marked=(True, True), values=(1.0, 1.0), verdict=lambda o: bool((o == 0).all())
        ),
        "marks nothing, expects the mean": _probe(
            marked=(False, False), verdict=lambda o: bool(o[0, 0, 0] == 0.5)
        ),
        "equal values": _probe(values=(1.0, 1.0)),
        "second key marked, same verdict": _probe(marked=(False, True)),
        "always True": lambda attend: True,
        "always False": lambda attend: False,
        "a string": lambda attend: "hides" if _probe()(attend) else "shows",
        "0 or 1, turned": lambda attend: int(not _probe()(attend)),
        "strong score for the marked key": lambda attend: bool(
            attend(
                torch.ones(1, 2, 4),
                torch.tensor([[[9.0] * 4, [0.0] * 4]]),
                torch.tensor([[[0.0], [1.0]]]),
                torch.tensor([[False, False], [False, False]]),
            )[0, 0, 0]
            > 0.5
        ),
        "causal mask, first row, turned": lambda attend: not causal_probe(attend),
        "causal mask, last row": causal_last_row,
        "value at a threshold above 1": _probe(verdict=lambda o: bool(o[0, 0, 0] > 1.5)),
        "threshold below 0": _probe(verdict=lambda o: bool(o[0, 0, 0] > -0.5)),
        "sum over all, threshold": _probe(verdict=lambda o: bool(o.sum() > 2.5)),
        "NaN test": _probe(verdict=lambda o: bool(o.isnan().any())),
        "compares with the unmasked call": lambda attend: (
            not torch.allclose(
                _probe(verdict=lambda o: o)(attend),
                _probe(marked=(True, True), verdict=lambda o: o)(attend),
            )
        ),
        "marked both ways, equal": lambda attend: torch.equal(
            _probe(verdict=lambda o: o)(attend),
            _probe(marked=(False, True), verdict=lambda o: o)(attend),
        ),
        "a tensor instead": _probe(verdict=lambda o: o),
        "the value": _probe(verdict=lambda o: float(o[0, 0, 0]), values=(2.0, 3.0)),
        "raises if True hides": lambda attend: None if _probe()(attend) else False,
        "mask of numbers": lambda attend: bool(
            attend(
                torch.zeros(1, 2, 4),
                torch.zeros(1, 2, 4),
                torch.tensor([[[0.0], [1.0]]]),
                torch.tensor([[1.0, 0.0], [1.0, 0.0]]),
            )[0, 0, 0]
            > 0.5
        ),
    },
    "turns_with_the_first": {
        "always 1": lambda rotate, d: 1,
        "always the half": lambda rotate, d: d // 2,
        "position 0": _partner(place=0),
        "no absolute value": _partner(reading=lambda m: 1 + int(m[1:].argmax())),
        "smallest": _partner(reading=lambda m: 1 + int(m[1:].argmin())),
        "coordinate 0 not left out": _partner(reading=lambda m: int(m.abs().argmax())),
        "forgets the 1": _partner(reading=lambda m: int(m.abs()[1:].argmax())),
        "second largest": _partner(reading=lambda m: int(m.abs().topk(2).indices[1])),
        "two more": _partner(reading=lambda m: 2 + int(m.abs()[1:].argmax())),
        "coordinate 1 turned": _partner(start=1),
        "last coordinate turned": _partner(start=-1),
        "all coordinates 1": everything_one,
        "only the length 1": _partner(length=1, place=0),
        "a zero vector": _partner(value=0.0),
        "positive only": _partner(reading=lambda m: int((m[1:] > 1e-6).int().argmax()) + 1),
        "negative only": _partner(reading=lambda m: int((m[1:] < -1e-6).int().argmax()) + 1),
        "both coordinates": _partner(
            reading=lambda m: (m.abs() > 1e-6).nonzero().flatten().tolist()
        ),
        "sum of the coordinates that moved": _partner(
            reading=lambda m: int((m.abs() > 1e-6).sum())
        ),
        "the number that moved": _partner(reading=lambda m: float(m[1:].abs().max())),
        "counted from the end": _partner(reading=lambda m: -int(m.abs().flip(0)[:-1].argmax()) - 1),
        "0": lambda rotate, d: 0,
        "last coordinate": lambda rotate, d: d - 1,
        "far place, slope too small": far_place,
        "half for wide, 1 for narrow": lambda rotate, d: d // 2 if d > 4 else 1,
        "argmax of the whole output": lambda rotate, d: int(
            rotate(torch.eye(d)[:1].expand(1, 2, d).clone()).abs().argmax()
        ),
        "batch axis read": lambda rotate, d: (
            1 + int(rotate(torch.eye(d)[:1].expand(1, 2, d).clone())[0].abs()[0, 1:].argmax())
        ),
        "rounded": _partner(reading=lambda m: 1 + int(m.round().abs()[1:].argmax())),
    },
}
WRONG["agrees"]["a hundredth more"] = _agrees(tolerance=lambda n: 0.6 * 10.0**-n)
WRONG["agrees"]["NaN in logarithms"] = _agrees(
    difference=lambda p, o: (p - o).abs(), close=lambda d, t: not math.isnan(float(d.sum()))
)
