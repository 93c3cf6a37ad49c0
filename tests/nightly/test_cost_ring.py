"""Attention across processes: two and four of them, joined by gloo on the loopback."""

import itertools
import json
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from attention_lib import causal_mask, length_mask, scaled_dot_product_attention
from attention_workbook.cost import ring_attention, run_ring

CLOSE = {"float64": 1e-13, "float32": 1e-5, "bfloat16": 0.04, "float16": 0.005}
LIMIT = 300  # seconds, where many things run beside


@pytest.fixture(scope="module", params=[2, 4], ids=["two", "four"])
def found(request):
    return run_ring(request.param, lengths=[256, 512, 1024], timeout=LIMIT)


def test_ring_agrees_with_attention_in_one_process_to_rounding(found):
    cases = {(case["dtype"], case["causal"], case["padded"]): case for case in found["cases"]}
    assert len(cases) == len(found["cases"]) == 4 * 2 * 2
    for case in cases.values():
        for way in ("forward", "backward"):
            assert case[way] < CLOSE[case["dtype"]], case
        # Two ways of computing differ in their last bits, which two bytes a number may not show.
        assert case["dtype"] not in ("float64", "float32") or case["forward"] > 0, case


def test_a_process_holds_its_share_of_the_tensors(found):
    """In the ring bytes grow as the length, alone as its square."""
    ring, alone = ([row[who] for row in found["held"]] for who in ("ring", "alone"))
    for one, twice in itertools.pairwise(ring):
        assert 1.95 < twice / one < 2.05
    assert alone[-1] / alone[-2] > 3.3
    numbers = 2 * 64 * 1024 // found["processes"]  # of one tensor of 1024 tokens, on a process
    assert 4 * 3 * numbers < ring[-1] < 4 * 25 * numbers


# What each process does in the tests below; they are started once for all of them.


def refusals(rank):
    """Return the messages a process gets if one of them asks for something else, by name."""
    tensors = torch.ones(3, 2, 4, 6)
    wrong = {
        "here": lambda: ring_attention(tensors[0], tensors[1], torch.ones(2, 5, 6)),
        "one alone": lambda: ring_attention(*(tensors if rank else tensors[..., :0])),
        "shapes": lambda: ring_attention(*(x[:, : 4 - rank] for x in tensors)),
        "options": lambda: ring_attention(*tensors, causal=rank == 0),
        "lengths": lambda: ring_attention(*tensors, torch.tensor([5, 5 + rank])),
        "too long": lambda: ring_attention(*tensors, torch.tensor([13, 1])),
        "no whole numbers": lambda: ring_attention(*tensors, torch.tensor([9.0, 1.0])),
        "one length": lambda: ring_attention(*tensors, torch.tensor([3])),
        "no truth": lambda: ring_attention(*tensors, causal=1),
        "block": lambda: ring_attention(*tensors, block_size=0),
        "scale": lambda: ring_attention(*tensors, scale=float("nan")),
    }
    messages = {}
    for name, call in wrong.items():
        try:
            call()
        except (TypeError, ValueError) as error:
            messages[name] = str(error)
    return messages


def results(rank, size):
    """Output and gradients, beside those of one process, as name: largest difference."""
    seeded = torch.Generator().manual_seed(3)
    draw = [
        torch.randn(2, 3 * size, w, generator=seeded, dtype=torch.float64) for w in (5, 5, 4, 4)
    ]
    here = slice(3 * rank, 3 * rank + 3)
    found = {}
    for name, lens, causal, scale, block_size in (
        ("one axis less", None, False, None, 2),
        ("a scale", None, True, 0.7, 100),
        ("nothing to see", [0, 1], False, None, 1),
        ("nothing to see, causal", [0, 4], True, None, 3),
    ):
        lens = None if lens is None else torch.tensor(lens)
        mask = causal_mask(3 * size) if causal else torch.ones(3 * size, 3 * size) > 0
        if lens is not None:
            mask = mask & length_mask(lens, 3 * size)
        tensors = [x.clone().requires_grad_() for x in draw[:3]]
        whole, _ = scaled_dot_product_attention(*tensors, mask=mask, scale=scale)
        wanted = [whole, *torch.autograd.grad(whole, tensors, draw[3])]
        own = [x[:, here].clone().requires_grad_() for x in draw[:3]]
        output = ring_attention(*own, lens, causal=causal, scale=scale, block_size=block_size)
        got = [output, *torch.autograd.grad(output, own, draw[3][:, here])]
        apart = [(a - b[:, here]).abs().max() for a, b in zip(got, wanted, strict=True)]
        found[name] = max(x.item() for x in apart)
    spoiled = [x[:, here].clone() for x in draw[:3]]
    if rank == size - 1:
        spoiled[1][:], spoiled[2][:] = float("nan"), float("inf")  # padding, all of it
    lens = torch.full((2,), 3 * (size - 1))
    output = ring_attention(*(x.requires_grad_() for x in spoiled), lens)
    grads = torch.autograd.grad(output.sum(), spoiled)
    whole, _ = scaled_dot_product_attention(*draw[:3], lens)
    found["NaN in padding"] = (output - whole[:, here]).abs().max().item()
    found["its gradients"] = sum(x.abs().sum().item() for x in grads) * 0.0
    return found


def of_some(rank):
    """In a group of the last two alone: their order counts, not their ranks in the world."""
    group = dist.new_group([1, 2], timeout=timedelta(seconds=60))
    if rank == 0:
        return 0.0
    seeded = torch.Generator().manual_seed(5)
    draw = [torch.randn(1, 6, 4, generator=seeded) for _ in range(3)]
    here = slice(3 * (rank - 1), 3 * rank)
    found = ring_attention(*(x[:, here] for x in draw), causal=True, group=group)
    whole, _ = scaled_dot_product_attention(*draw, mask=causal_mask(6))
    return (found - whole[:, here]).abs().max().item()


def process(rank, size, place, folder):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{place}",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=120),
    )
    said = {"refusals": refusals(rank), "results": results(rank, size), "some": of_some(rank)}
    (folder / f"{rank}.json").write_text(json.dumps(said), encoding="utf-8")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """What each of three processes says: an odd number, so that next and before differ."""
    folder = tmp_path_factory.mktemp("ring")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
        patch.setenv("OMP_NUM_THREADS", "1")
        context = mp.spawn(process, (3, folder / "meet", folder), nprocs=3, join=False)
        stop = threading.Timer(LIMIT, lambda: [p.kill() for p in context.processes])
        stop.start()
        try:
            while not context.join():
                pass
        finally:
            stop.cancel()
    return [json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(3)]


MESSAGES = {
    "here": "values: expected one value a key",
    "one alone": "expected at least one feature",
    "shapes": "same shapes, dtype and options",
    "options": "same shapes, dtype and options",
    "lengths": "same shapes, dtype and options",
    "too long": "expected lengths from 0 to len_k = 12",
    "no whole numbers": "expected integer lengths",
    "one length": "valid_lens: expected 2 lengths (batch)",
    "no truth": "causal: expected True or False",
    "block": "block_size: expected at least 1",
    "scale": "scale: expected a finite number",
}


def test_every_process_reports_a_mistake_of_one(three):
    for rank, said in enumerate(three):
        assert {*said["refusals"]} == {*MESSAGES}
        for name, words in MESSAGES.items():
            assert words in said["refusals"][name], (rank, name)
    assert three[0]["refusals"]["one alone"].startswith("queries: ")
    assert three[2]["refusals"]["one alone"].startswith("process 0 of the ring refused: ")


def test_options_and_padding_agree_with_attention_in_one_process(three):
    for said in three:
        for name, difference in said["results"].items():
            assert difference <= 1e-13, name


def test_ring_works_in_a_group_of_some_processes(three):
    assert three[1]["some"] < 1e-6 and three[2]["some"] < 1e-6


def test_command_without_processes_says_how_to_start_them():
    done = subprocess.run(
        [sys.executable, "-m", "attention_workbook.cost"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 2 and "torch.distributed.run" in done.stderr


def test_processes_that_fail_are_reported(monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "no-such-interface")
    with pytest.raises(RuntimeError, match="the processes failed"):
        run_ring(1, lengths=[64], timeout=LIMIT)
