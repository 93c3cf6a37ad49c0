"""The three lines that every chapter starts with."""

import runpy

import pytest
import torch

import attention_lib
from attention_lib import device, generator, notebook, show
from tests.strategies import INF, NAN
from website.notebooks import kernel_environment

# tensor, decimals, what is printed
SHOWN = [
    (torch.tensor([[0.7512, 0.2488], [NAN, -0.0001]]), 3, "[[0.751 0.249]\n [  nan 0.000]]\n"),
    (torch.tensor(-0.0004), 3, "0.000\n"),
    (torch.tensor(2.5), 0, "2.\n"),
    (torch.tensor([1.25, -INF]), 1, "[ 1.2 -inf]\n"),
    (torch.tensor([12345.678]), 2, "[12345.68]\n"),
    (torch.tensor([1e-9, 1.0]), 3, "[0.000 1.000]\n"),
    (torch.tensor([[1, -2], [30, 4]]), 3, "[[ 1 -2]\n [30  4]]\n"),
    (torch.tensor([True, False]), 3, "[ True False]\n"),
    (torch.tensor([0.5], dtype=torch.bfloat16), 3, "[0.500]\n"),
    (torch.tensor([0.5], dtype=torch.float16, requires_grad=True), 3, "[0.500]\n"),
    (torch.zeros(0), 3, "[]\n"),
]


@pytest.mark.parametrize(("tensor", "decimals", "expected"), SHOWN)
def test_show_prints_aligned_numbers(tensor, decimals, expected, capsys):
    before = tensor.detach().clone()
    assert show(tensor, decimals) is None
    assert capsys.readouterr().out == expected
    assert torch.equal(tensor.detach().nan_to_num(), before.nan_to_num())


def test_show_prints_at_most_three_decimals_unless_asked(capsys):
    show(torch.tensor([1 / 3]))
    assert capsys.readouterr().out == "[0.333]\n"


def test_generator_is_seeded_and_on_the_cpu():
    made = generator(3)
    assert made.device.type == "cpu" and made.initial_seed() == 3
    first, second, other = (torch.randn(5, generator=generator(seed)) for seed in (3, 3, 4))
    assert torch.equal(first, second) and not torch.equal(first, other)


def test_a_kernel_adds_the_shift_to_every_seed(monkeypatch):
    for module in (attention_lib, notebook):
        monkeypatch.setattr(module, "generator", generator)
    monkeypatch.setenv("ATTENTION_SEED_SHIFT", "-2")
    runpy.run_path(kernel_environment()["PYTHONSTARTUP"])
    assert attention_lib.generator(3).initial_seed() == notebook.generator(3).initial_seed() == 1


def test_generator_does_not_move_the_global_random_numbers():
    state = torch.random.get_rng_state()
    torch.randn(5, generator=generator(0))
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("available", [True, False])
def test_device_takes_the_gpu_if_there_is_one_and_switches_tf32_off(available, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        assert device() == torch.device("cuda" if available else "cpu")
        assert torch.get_float32_matmul_precision() == "highest"
    finally:
        torch.set_float32_matmul_precision(before)
