"""Attention across processes: queries stay, keys and values travel round the ring.

Each process holds an equal stretch of one sequence. It reads the block of keys and values that
it holds while that block goes on to the next process and the one before it comes in; after as
many turns as there are processes every query has met every key.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from attention_lib.masking import length_mask
from attention_workbook.arguments import (
    require_attention,
    require_count,
    require_each,
    require_positive,
    require_size,
    require_tensor,
    resolve_scale,
    shape_of,
)
from attention_workbook.cost.blocks import (
    Tally,
    cleaned,
    finite,
    masked_scores,
    merge,
    read_block,
)

__all__ = ["ring_attention", "run_ring"]


def ring_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    block_size: int = 256,
    group: dist.ProcessGroup | None = None,
) -> Tensor:
    r"""Attend with scaled dot products to a sequence of which each process holds a stretch.

    Every process of the group calls it at the same time, and again on the way back.

    Parameters
    ----------
    queries : torch.Tensor
        This process's own, shape ``(batch, ..., len, d_k)``. The first process of the group holds
        the first ``len`` places, and so on.
    keys, values : torch.Tensor
        This process's own, shapes ``(batch, ..., len, d_k)`` and ``(batch, ..., len, d_v)``; of
        one shape, dtype and kind of device on all processes.
    valid_lens : torch.Tensor, optional
        Integers of shape ``(batch,)``, the same on all processes: how many keys of the whole
        sequence, counted from its first, may be attended to.
    causal : bool
        Whether a query sees its own place and earlier ones only.
    scale : float, optional
        The factor on the dot product; ``None`` means ``1 / sqrt(d_k)``.
    block_size : int
        Keys that meet the queries at once; it bounds the memory, not the result.
    group : torch.distributed.ProcessGroup, optional
        Who takes part; ``None`` means all.

    Returns
    -------
    torch.Tensor
        This process's stretch of the output, shape ``(batch, ..., len, d_v)``; gradients reach the
        queries, keys and values of every process.

    Raises
    ------
    RuntimeError
        If there is no process group.
    TypeError, ValueError
        If an argument does not fit here, or not to what the other processes brought; then on
        every process.

    Notes
    -----
    Liu, Zaharia, Abbeel (2023). Gloo carries it between processors, NCCL between GPUs. On the way
    back gradients of keys and values travel with them, and are home after one round.

    PyTorch 2.6 may hang, on a busy machine, where a group of Gloo is destroyed right after its last
    exchange (later mended, by its pull request 154976); a moment's sleep in between helps.

    Examples
    --------
    Alone, a ring of one:

    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> ring_attention(*torch.ones(3, 1, 4, 2), causal=True).shape
    torch.Size([1, 4, 2])
    >>> dist.destroy_process_group()

    In several processes: ``python -m torch.distributed.run --nproc-per-node=4 script.py``.
    """
    if not dist.is_initialized():
        raise RuntimeError(
            "ring_attention: expected a process group; start the script by "
            "'python -m torch.distributed.run --nproc-per-node=4 script.py', and let it call "
            "torch.distributed.init_process_group first"
        )
    ring = Ring.of(group)
    request: object
    try:  # the others must hear of a mistake, or they wait for this process for ever
        request = checked_request(
            queries, keys, values, valid_lens, causal, scale, block_size, ring
        )
    except (TypeError, ValueError) as error:
        request = error
    require_agreement(ring, request)
    sight = Sight(ring, causal, valid_lens, queries.shape[-2], queries.dim(), queries.device)
    apply: Callable[..., Tensor] = _Ring.apply
    scale = resolve_scale(scale, queries.shape[-1])
    return apply(queries, keys, values, sight, scale, block_size)


def checked_request(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None,
    causal: bool,
    scale: float | None,
    block_size: int,
    ring: "Ring",
) -> tuple[object, ...]:
    """Refuse what does not fit here; return what has to be alike on all processes."""
    require_attention(queries, keys, values)
    for name, tensor in (("keys", keys), ("values", values)):
        if tensor.shape[:-1] != queries.shape[:-1]:
            raise ValueError(
                f"{name}: expected the queries' shape up to the last axis, a stretch of one "
                f"sequence, got queries {shape_of(queries)} and {name} {shape_of(tensor)}"
            )
    if not isinstance(causal, bool):
        raise TypeError(f"causal: expected True or False, got {causal!r}")
    require_count("block_size", block_size)
    lens = None
    if valid_lens is not None:
        require_tensor("valid_lens", valid_lens, rank=1, axes="of integers, (batch,)")
        require_size("valid_lens", valid_lens, 0, len(queries), "lengths (batch)")
        length_mask(valid_lens, ring.size * queries.shape[-2])  # refuses lengths out of range
        lens = tuple(valid_lens.tolist())
    kind = (tuple(queries.shape), tuple(values.shape), str(queries.dtype))
    return (*kind, lens, causal, resolve_scale(scale, queries.shape[-1]))


def require_agreement(ring: "Ring", request: object) -> None:
    """Raise on every process what one of them refuses, or where they ask for different things."""
    requests: list[object] = [None] * ring.size
    dist.all_gather_object(requests, request, group=ring.group)
    if isinstance(request, Exception):
        raise request
    for rank, other_request in enumerate(requests):
        if isinstance(other_request, Exception):
            raise ValueError(f"process {rank} of the ring refused: {other_request}")
        if other_request != request:
            raise ValueError(
                "ring: expected the same shapes, dtype and options on all processes, got "
                f"{request} on process {ring.rank} and {other_request} on process {rank}"
            )


class Ring(NamedTuple):
    """A process's place among the others."""

    group: dist.ProcessGroup
    rank: int
    size: int

    @classmethod
    def of(cls, group: dist.ProcessGroup | None) -> "Ring":
        group = group or dist.group.WORLD
        assert group is not None
        return cls(group, dist.get_rank(group), dist.get_world_size(group))

    def sources(self) -> list[int]:
        """Return whose block this process holds, turn by turn."""
        return [(self.rank - turn) % self.size for turn in range(self.size)]

    def pass_on(self, tensor: Tensor) -> tuple[Tensor, list[Any]]:
        """Send a tensor to the next process; return what the one before sends, and the wait."""
        incoming = torch.empty_like(tensor)
        if self.size == 1:
            return incoming.copy_(tensor), []
        to, source = (
            dist.get_global_rank(self.group, (self.rank + step) % self.size) for step in (1, -1)
        )
        sending = dist.P2POp(dist.isend, tensor, to, self.group)
        receiving = dist.P2POp(dist.irecv, incoming, source, self.group)
        return incoming, dist.batch_isend_irecv([sending, receiving])


class Sight(NamedTuple):
    """Which keys of the whole sequence this process's queries may see."""

    ring: Ring
    causal: bool
    valid_lens: Tensor | None
    length: int  # of each process's stretch
    axes: int
    device: torch.device

    def blocks(self, source: int, block_size: int) -> Iterator[tuple[slice, Tensor | None]]:
        """Yield the places of each block of ``source`` that is not all in the future; its mask."""
        if self.causal and source > self.ring.rank:
            return
        for start in range(0, self.length, block_size):
            places = slice(start, min(start + block_size, self.length))
            keys = torch.arange(places.start, places.stop, device=self.device)
            yield places, self.mask(source, keys)

    def mask(self, source: int, keys: Tensor) -> Tensor | None:
        """Return which keys of ``source``, by their places there, are seen; ``None``: all."""
        mask = None
        if self.causal and source == self.ring.rank:
            mask = keys <= torch.arange(self.length, device=self.device).unsqueeze(-1)
        if self.valid_lens is not None:
            lens = self.valid_lens.reshape(-1, *(1,) * (self.axes - 1))  # (batch, 1, ..., 1)
            valid = keys + source * self.length < lens
            mask = valid if mask is None else mask & valid
        return mask


class _Ring(torch.autograd.Function):
    """Forward: one round of keys and values. Backward: another, with their gradients beside."""

    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        sight: Sight,
        scale: float,
        block_size: int,
    ) -> Tensor:
        d_k, tallies = keys.shape[-1], NO_TALLY
        travelling = torch.cat((keys, values), dim=-1)
        for source in sight.ring.sources():
            incoming, waits = sight.ring.pass_on(travelling)  # while this block is read
            for places, mask in sight.blocks(source, block_size):
                block = halves(travelling[..., places, :], d_k)
                tallies = (merge(*tallies, read_block(queries, *block, mask=mask, scale=scale)),)
            for wait in waits:
                wait.wait()
            travelling = incoming
        [tally] = tallies  # a process sees its own keys
        log_sum = finite(tally.largest + tally.normaliser.log())  # of no key 0: weights are 0
        ctx.save_for_backward(queries, keys, values, tally.output, log_sum)
        ctx.rest = sight, scale, block_size
        return tally.output.to(queries.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, output, log_sum = ctx.saved_tensors
        sight, scale, block_size = ctx.rest
        dtype, d_k, width = queries.dtype, keys.shape[-1], keys.shape[-1] + values.shape[-1]
        queries, grad = queries.to(output.dtype), grad.to(output.dtype)
        shared = (grad * output).sum(dim=-1, keepdim=True)  # (..., len, 1)
        grad_queries = torch.zeros_like(queries)
        held = torch.cat((keys, values), dim=-1).to(output.dtype)
        travelling = torch.cat((held, torch.zeros_like(held)), dim=-1)
        del held
        for source in sight.ring.sources():
            for places, mask in sight.blocks(source, block_size):
                block, gained = halves(travelling[..., places, :], width)
                grad_keys, grad_values = halves(gained, d_k)  # views: what is added travels
                some_keys, some_values = cleaned(*halves(block, d_k), mask)
                weights = torch.exp(masked_scores(queries, some_keys, mask, scale) - log_sum)
                grad_scores = weights * (grad @ some_values.mT - shared) * scale
                grad_queries += grad_scores @ some_keys
                grad_keys += grad_scores.mT @ queries
                grad_values += weights.mT @ grad
            travelling, waits = sight.ring.pass_on(travelling)  # after the last turn: home
            for wait in waits:
                wait.wait()
        grads = grad_queries, *halves(travelling[..., width:], d_k)
        return (*(x.to(dtype) for x in grads), None, None, None)


NO_TALLY: tuple[Tally, ...] = ()


def halves(tensor: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Cut the last axis in two: what stands before ``width``, and the rest."""
    return tensor[..., :width], tensor[..., width:]


def run_ring(
    processes: int = 2,
    *,
    lengths: Sequence[int] = (256, 512, 1024),
    timeout: float = 120.0,
) -> dict[str, Any]:
    """Start processes on this machine, and hold their ring against one process.

    It runs ``python -m torch.distributed.run --nproc-per-node=PROCESSES -m
    attention_workbook.cost``,
    with addresses in numbers, as on some machines no name stands for one.

    Parameters
    ----------
    processes : int
        How many.
    lengths : sequence of int
        Tokens of the whole sequence, multiples of ``processes``, at which bytes are measured.
    timeout : float
        Seconds after which the processes are stopped.

    Returns
    -------
    dict
        ``"cases"``: for each dtype, causal or not, padded or not, the largest difference of ring
        and whole, forward and backward. ``"held"``: for each length the most bytes that a process
        of the ring held, forward and backward, and those of one process alone.

    Raises
    ------
    TypeError, ValueError
        If ``processes`` is no whole number of at least 1, if there is no length or one that is no
        multiple of it, or if ``timeout`` is no positive number.
    RuntimeError, subprocess.TimeoutExpired
        If the processes fail, or do not end in time.

    Examples
    --------
    >>> found = run_ring(processes=1, lengths=[64])
    >>> max(case["forward"] for case in found["cases"] if case["dtype"] == "float32") < 1e-5
    True
    """
    require_count("processes", processes)
    require_positive("timeout", timeout)
    for length in require_each("lengths", lengths, int):
        require_count("lengths", length)
        if length % processes:
            raise ValueError(f"lengths: expected multiples of {processes}, got {length}")
    meeting = ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]
    library = Path(__file__).parents[2]
    environment = {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(library), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-m", "torch.distributed.run", *meeting]
    command += [f"--nproc-per-node={processes}", "-m", __package__, "--lengths"]
    command += map(str, lengths)
    process = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=timeout
    )
    if process.returncode:
        raise RuntimeError(f"the processes failed:\n{process.stderr[-2000:]}")
    differences: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return differences
