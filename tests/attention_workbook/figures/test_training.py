"""What trains in the page: update rules and losses are torch's."""

import pytest
import torch
from torch.nn import functional as F

from attention_lib import generator

RULES = "_training/rules.js"
STEPS = """(name, keep, start, gradients, rate) => {
    const parameter = Float64Array.from(start), state = createState(start.length);
    const rule = { adam, descent }[name];
    gradients.forEach((gradient, i) => rule(parameter, gradient, state, i + 1, rate, keep));
    return [...parameter];
}"""


@pytest.mark.parametrize("keep", [0.99, 0.999])
@pytest.mark.parametrize("name", ["adam", "descent"])
def test_rules_are_torchs_optimisers(node, name, keep):
    numbers = generator(3)
    start = torch.randn(7, generator=numbers, dtype=torch.float64)
    gradients = torch.randn(20, 7, generator=numbers, dtype=torch.float64)
    parameter = start.clone().requires_grad_()
    if name == "adam":
        optimizer = torch.optim.Adam([parameter], lr=0.03, betas=(0.9, keep))
    else:
        optimizer = torch.optim.SGD([parameter], lr=0.03)
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimizer.step()
    data = [name, keep, start.tolist(), gradients.tolist(), 0.03]
    (ours,) = node(RULES, STEPS, [data], names=["adam", "createState", "descent"])
    assert ours == pytest.approx(parameter.tolist(), rel=1e-10)


def test_surprise_and_its_gradient_are_torchs(node):
    scores = torch.randn(1, 26, generator=generator(4), dtype=torch.float64).mul(30)
    for target in (0, 11, 25):
        leaf = scores.clone().requires_grad_()
        loss = F.cross_entropy(leaf, torch.tensor([target]))
        loss.backward()
        call = """(row, target) => {
            const padded = Float64Array.of(7, ...row, 7);
            return [surprise(padded, 1, row.length, target), ...padded];
        }"""
        data = [[scores[0].tolist(), target]]
        ((ours, *gradient),) = node("_training/losses.js", call, data, names=["surprise"])
        assert ours == pytest.approx(loss.item(), rel=1e-10)
        assert gradient == pytest.approx([7, *leaf.grad[0].tolist(), 7], rel=1e-8, abs=1e-12)


def test_random_numbers_are_spread_evenly_and_repeat(node):
    draw = """(seed) => {
        const random = createRandom(seed);
        return Array.from({ length: 4000 }, () => random());
    }"""
    first, again, other = node("_training/random.js", draw, [[1], [1], [2]], names=["createRandom"])
    assert first == again != other
    for numbers in (first, other):
        shares = torch.histc(torch.tensor(numbers), bins=10, min=0, max=1) / len(numbers)
        assert (shares - 0.1).abs().max() < 0.03
    normals = """(seed) => {
        const random = createRandom(seed);
        return Array.from({ length: 4000 }, () => normal(random));
    }"""
    (drawn,) = node("_training/random.js", normals, [[5]], names=["createRandom", "normal"])
    drawn = torch.tensor(drawn)
    assert drawn.mean().abs() < 0.1 and abs(drawn.std() - 1) < 0.1
