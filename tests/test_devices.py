"""Results are made on the device of the inputs, shown without a GPU.

The right calls of the table run on the meta device, where tensors have shapes and no numbers, and
every operation below autograd is looked at, in the backward pass too: a tensor taken or made on the
CPU would be an error on a GPU, or a wait for a copy; so would a generator of another device than
what it fills. What reads numbers cannot run there: ``test_tracing.py`` has tests for it.
"""

import inspect
import re

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attention_lib import alibi_bias, rotate_by_position, sinusoidal_positions
from attention_lib.arguments import float64_device
from tests import calls
from tests.calls import ROWS


class OnlyOn(TorchDispatchMode):
    """See that every operation takes and makes tensors of one device alone."""

    def __init__(self, device):
        super().__init__()
        self.device = torch.device(device)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        drawn_with = [x for x in tree_leaves(kwargs) if isinstance(x, torch.Generator)]
        for x in (*tree_leaves((args, kwargs)), *tree_leaves(made), *drawn_with):
            # A number, not yet a tensor: the CPU hands it over with the call.
            number = isinstance(x, torch.Tensor) and x.dim() == 0
            if isinstance(x, (torch.Tensor, torch.Generator)) and not number:
                assert x.device == self.device, f"{func} has something on {x.device}"
        return made


def forward_and_backward(call, given):
    """Run a call and its backward pass; every operation must stay on the meta device."""
    with OnlyOn("meta"):
        made = eval(call, given)
        for output in made if isinstance(made, tuple) else (made,):
            if output is not None and output.requires_grad:
                output.sum().backward(retain_graph=True)


DEFAULT = {"attention_lib": "inputs"}
DEVICES = {key: row.get("device", DEFAULT.get(key[0])) for key, row in ROWS.items()}


@pytest.mark.parametrize(("file", "name"), [key for key in ROWS if DEVICES[key] == "inputs"])
def test_everything_is_made_on_the_device_of_the_inputs(file, name):
    row, given = ROWS[file, name], calls.at_hand(file, "meta")
    for tensor in ("x", "y", "W"):
        given[tensor].requires_grad_()
    if "layer" in row:
        given["layer"] = eval(row["layer"], given).to("meta")
    for call in calls.right_calls(row):
        forward_and_backward(call, given)


@pytest.mark.parametrize(("file", "name"), [key for key in ROWS if DEVICES[key] == "cpu"])
def test_results_on_the_cpu_are_documented(file, name):
    function = calls.member(file, name)
    assert not {"device", "x", "weights", "queries"} & {*inspect.signature(function).parameters}
    if name not in ("device", "generator", "show"):  # these make no tensor
        words = " ".join(inspect.getdoc(function).split())
        assert re.search("on the (CPU|default device)", words)


class NoFloat64(TorchDispatchMode):
    """Refuse float64 on the meta device, as MPS does."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for x in tree_leaves(made):
            if isinstance(x, torch.Tensor) and x.device.type == "meta":
                assert x.dtype != torch.float64, f"{func} makes float64"
        return made


def sines_on_the_default_device():
    with torch.device("meta"):
        return sinusoidal_positions(3, 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: alibi_bias(2, 3, device="meta"),
        lambda: rotate_by_position(torch.ones(3, 4, device="meta")),
        sines_on_the_default_device,
    ],
)
def test_a_device_without_float64_gets_what_the_cpu_computed(call, monkeypatch):
    monkeypatch.setattr("attention_lib.arguments.WITHOUT_FLOAT64", {"meta"})
    with NoFloat64():
        assert call().device.type == "meta"
    assert float64_device(torch.device("cuda")) == torch.device("cuda")


def test_mps_is_known_to_have_no_float64():
    assert float64_device(torch.device("mps")) == torch.device("cpu")


class BackwardOnTheCpu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q):
        return q * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.full(grad.shape, 2.0, device="cpu")


@pytest.mark.parametrize(
    "call",
    [
        'x + torch.arange(4, device="cpu")',
        "x * torch.ones(4).to(x.device)",
        'torch.empty_like(x).uniform_(generator=torch.Generator("cpu"))',
        "BackwardOnTheCpu.apply(x)",
    ],
)
def test_a_tensor_or_generator_of_another_device_is_seen(call):
    given = calls.at_hand("attention_lib", "meta") | {"BackwardOnTheCpu": BackwardOnTheCpu}
    given["x"].requires_grad_()
    with pytest.raises((AssertionError, RuntimeError), match=r"cpu|device"):
        forward_and_backward(call, given)
