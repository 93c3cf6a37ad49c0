"""Hold a ring of processes against one process, and print their differences as JSON.

On one machine::

    python -m torch.distributed.run --nproc-per-node=4 --rdzv-backend=c10d \\
        --rdzv-endpoint=127.0.0.1:0 --local-addr=127.0.0.1 -m attention_workbook.cost

On two, on each of them::

    python -m torch.distributed.run --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d \\
        --rdzv-endpoint=HOST:29500 -m attention_workbook.cost

Gloo joins processors; where every process has a GPU of its own, NCCL joins these.
"""

import argparse
import json
import os
import sys
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from attention_lib.attention import scaled_dot_product_attention
from attention_lib.masking import causal_mask
from attention_workbook.cost.measuring import peak_bytes
from attention_workbook.cost.ring import ring_attention

BATCH, NUM_HEADS, D_K, D_V = 3, 2, 8, 5
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def main() -> int:
    """Print the results as JSON, on the first process alone."""
    parser = argparse.ArgumentParser(
        prog="python -m attention_workbook.cost",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,  # commands stay as they are
    )
    parser.add_argument("--lengths", type=int, nargs="+", default=[256, 512, 1024])
    options = parser.parse_args()
    if "RANK" not in os.environ:
        print(f"Start it in several processes.\n\n{__doc__}", file=sys.stderr)
        return 2
    local = int(os.environ.get("LOCAL_RANK", "0"))
    has_gpu = local < torch.cuda.device_count()
    device = torch.device("cuda", local) if has_gpu else torch.device("cpu")
    if has_gpu:
        torch.cuda.set_device(device)
    torch.set_num_threads(1)
    dist.init_process_group("nccl" if has_gpu else "gloo")
    try:
        report = {
            "processes": dist.get_world_size(),
            "cases": [
                case(dtype, causal, padded, device)
                for dtype in DTYPES
                for causal in (False, True)
                for padded in (False, True)
            ],
            "held": [held_bytes(length, device) for length in options.lengths],
        }
        if dist.get_rank() == 0:
            print(json.dumps(report), flush=True)
    finally:
        dist.destroy_process_group()
    return 0


def case(dtype: torch.dtype, causal: bool, padded: bool, device: torch.device) -> dict[str, Any]:
    """Return the largest difference of ring and whole on any process, forward and backward."""
    size, rank = dist.get_world_size(), dist.get_rank()
    length = 12 * size
    seeded = torch.Generator().manual_seed(7)
    *tensors, sent_back = (
        torch.randn(BATCH, NUM_HEADS, length, width, generator=seeded).to(device, dtype)
        for width in (D_K, D_K, D_V, D_V)
    )
    lens = torch.tensor([length, length // 3, 1], device=device) if padded else None
    mask = causal_mask(length, device=device) if causal else None
    tensors = [x.requires_grad_() for x in tensors]
    queries, keys, values = tensors
    output, _ = scaled_dot_product_attention(queries, keys, values, lens, mask=mask)
    whole = [output, *torch.autograd.grad(output, tensors, sent_back)]

    stretch = slice(rank * 12, (rank + 1) * 12)
    local_tensors = [x[:, :, stretch].detach().requires_grad_() for x in tensors]
    ring_output = ring_attention(
        local_tensors[0], local_tensors[1], local_tensors[2], lens, causal=causal, block_size=5
    )
    ring = [ring_output, *torch.autograd.grad(ring_output, local_tensors, sent_back[:, :, stretch])]
    differences = [(a - b[:, :, stretch]).abs().max() for a, b in zip(ring, whole, strict=True)]
    largest = largest_of_all(
        torch.stack([differences[0], torch.stack(differences[1:]).max()]).double()
    )
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "causal": causal,
        "padded": padded,
        "forward": largest[0],
        "backward": largest[1],
    }


def held_bytes(length: int, device: torch.device) -> dict[str, int]:
    """Return the bytes that a process holds, forward and backward, in the ring and alone."""
    stretch = torch.zeros(3, 1, NUM_HEADS, length // dist.get_world_size(), 64, device=device)
    whole = torch.zeros(3, 1, NUM_HEADS, length, 64, device=device)

    def in_ring(*tensors: Tensor) -> object:
        return torch.autograd.grad(ring_attention(*tensors, block_size=64).sum(), tensors)

    def alone(*tensors: Tensor) -> object:
        output, _ = scaled_dot_product_attention(*tensors)
        return torch.autograd.grad(output.sum(), tensors)

    most = largest_of_all(
        torch.tensor([float(peak_bytes(in_ring, *stretch))], device=device).double()
    )
    return {"length": length, "ring": int(most[0]), "alone": peak_bytes(alone, *whole)}


def largest_of_all(numbers: Tensor) -> list[float]:
    """Return the largest of each number on any process."""
    numbers = numbers.detach().clone()
    dist.all_reduce(numbers, dist.ReduceOp.MAX)
    return [float(number) for number in numbers]


if __name__ == "__main__":
    sys.exit(main())
