"""The residual connection and layer normalisation around a sublayer."""

import torch
import torch.nn.functional as F

from attention_lib import AddNorm
from tests.strategies import assert_close, inputs, numbers

D_MODEL = 18


def test_add_norm_computed_by_hand():
    """1, 3 plus 1, 3 is 2, 6: mean 4, deviation 2, so -1 and 1."""
    x = torch.tensor([[1.0, 3.0]])
    assert_close(AddNorm(2)(x, x), torch.tensor([[-1.0, 1.0]]), 1e-5)
    made = AddNorm(2)
    made.norm.weight.data, made.norm.bias.data = torch.tensor([2.0, 3.0]), torch.tensor([5.0, 7.0])
    assert_close(made(x, x), torch.tensor([[3.0, 10.0]]), 1e-5)


def test_add_norm_drops_the_sublayer_in_training_only():
    x, added = numbers(3, D_MODEL), numbers(3, D_MODEL, seed=1)
    made = AddNorm(D_MODEL, dropout=1.0).double()
    alone = F.layer_norm(x, (D_MODEL,))
    assert_close(made(x, added), alone, 1e-12)
    assert_close(made.eval()(x, added), F.layer_norm(x + added, (D_MODEL,)), 1e-12)
    assert {name for name, _ in made.named_parameters()} == {"norm.weight", "norm.bias"}
    assert torch.equal(x, numbers(3, D_MODEL))


def test_add_norm_takes_autocast_and_has_a_gradient():
    made = AddNorm(4)
    x = numbers(3, 4, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = made(x, x.bfloat16())
    assert_close(mixed.float(), made(x, x), 0.05)
    made.double()
    assert torch.autograd.gradcheck(lambda *xs: made(*xs), inputs((3, 4), (3, 4)))
