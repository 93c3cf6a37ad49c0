"""The model that learns in the page: its loss and its gradients are torch's, tensor by tensor."""

import pytest
import torch
from torch.nn import functional as F

from attention_lib import causal_mask, generator, rotate_by_position

MODEL = "_training/transformer.js"
TRAINED = """(values, ids, targets, length, options) => {
    const p = createParameters(%d, %d, %d, () => 0.5);
    for (const name in p) p[name].values.set(values[name]);
    const loss = backward(p, forward(p, ids, length, options), targets);
    const gradients = Object.entries(p).map(([name, { gradient }]) => [name, [...gradient]]);
    return { loss, gradients: Object.fromEntries(gradients) };
}"""
LETTERS, WIDTH, HIDDEN, HEADS, BATCH, LENGTH = 20, 24, 44, 2, 4, 7
SHAPES = {
    "embedding": (LETTERS, WIDTH),
    **{f"W_{name}": (WIDTH, WIDTH) for name in "qkvo"},
    **{f"{kind}_{number}": (WIDTH,) for number in (1, 2) for kind in ("gain", "shift")},
    "W_1": (WIDTH, HIDDEN),
    "b_1": (HIDDEN,),
    "W_2": (HIDDEN, WIDTH),
    "b_2": (WIDTH,),
    "W_out": (WIDTH, LETTERS),
    "b_out": (LETTERS,),
}
BROKEN = [{}, {"isScaled": False}, {"isMasked": False}]


def scores_in_torch(p, ids, *, is_scaled, is_masked):
    """The same model in the chapters' words; ``ids`` is ``(batch, len)``."""
    x = p["embedding"][ids]  # (batch, len, d_model)

    def heads(name):
        return (x @ p[name]).unflatten(-1, (HEADS, -1)).transpose(1, 2)

    queries, keys, values = (
        rotate_by_position(heads("W_q")),
        rotate_by_position(heads("W_k")),
        heads("W_v"),
    )
    scores = queries @ keys.mT / ((WIDTH // HEADS) ** 0.5 if is_scaled else 1)
    if is_masked:
        scores = scores.masked_fill(~causal_mask(LENGTH), -torch.inf)
    mixed = (scores.softmax(dim=-1) @ values).transpose(1, 2).flatten(-2)
    x = F.layer_norm(x + mixed @ p["W_o"], (WIDTH,), p["gain_1"], p["shift_1"])
    wide = (x @ p["W_1"] + p["b_1"]).relu()
    x = F.layer_norm(x + wide @ p["W_2"] + p["b_2"], (WIDTH,), p["gain_2"], p["shift_2"])
    return x @ p["W_out"] + p["b_out"]


@pytest.mark.parametrize("options", BROKEN, ids=["whole", "no root", "no mask"])
def test_each_gradient_is_torchs(node, options):
    numbers = generator(7)
    p = {
        name: torch.randn(shape, generator=numbers, dtype=torch.float64).requires_grad_()
        for name, shape in SHAPES.items()
    }
    ids, targets = torch.randint(LETTERS, (2, BATCH, LENGTH), generator=numbers)
    scores = scores_in_torch(
        p, ids, is_scaled=options.get("isScaled", True), is_masked=options.get("isMasked", True)
    )
    loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten())
    loss.backward()
    values = {name: x.detach().flatten().tolist() for name, x in p.items()}
    flat = [ids.flatten().tolist(), targets.flatten().tolist()]
    (ours,) = node(
        MODEL,
        TRAINED % (LETTERS, WIDTH, HIDDEN),
        [[values, *flat, LENGTH, {"heads": HEADS, **options}]],
        names=["backward", "createParameters", "forward"],
    )
    assert ours["loss"] == pytest.approx(loss.item(), rel=1e-12)
    assert {*ours["gradients"]} == {*p}
    for name, x in p.items():
        mine = torch.tensor(ours["gradients"][name], dtype=torch.float64).view(x.shape)
        error = (mine - x.grad).abs().max() / x.grad.abs().max()
        assert error < 1e-10, f"{name}: {error:.1e}"
