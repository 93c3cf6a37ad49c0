"""What the book's small trained models share: how they are trained, stored and loaded again."""

import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from attention_lib.arguments import (
    require_bool,
    require_count,
    require_device,
    require_tensor,
    shape_of,
)
from attention_workbook import _safetensors

__all__ = ["Watch", "bytes_of", "fit", "load", "numbers_of", "restore", "store"]

Model = TypeVar("Model", bound=nn.Module)
Watch = Callable[[int, float], None]  # is told each step's number and loss


def fit(
    model: Model,
    loss_of_batch: Callable[[], Tensor],
    steps: int,
    *,
    rate: float = 5e-3,
    desc: str = "training",
    threads: int = 1,
    progress: bool,
    watch: Watch | None,
) -> Model:
    """Train a model, and return it ready to be asked.

    ``loss_of_batch`` is called at every step: it draws a batch and returns the model's loss on it.
    The learning rate rises for a tenth of the steps, to ``rate``, and falls from there to 0. One
    thread computes: with steps as small as most here, a second one mostly waits for the first.
    """
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, pct_start=0.1)
    show = _progress_line(desc, steps) if progress else None
    with _threads(threads):
        for step in range(1, steps + 1):
            loss = loss_of_batch()
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            if show:
                show(step, loss.item())
            if watch:
                watch(step, loss.item())
    return model.eval()


def _progress_line(desc: str, steps: int) -> Watch:
    """Return a function that says how far a training is, in one line that it writes over."""
    last_shown = -math.inf

    def show(step: int, loss: float) -> None:
        nonlocal last_shown
        if step == steps or time.monotonic() - last_shown > 0.5:
            last_shown = time.monotonic()
            line = f"\r{desc}: {step}/{steps}, loss {loss:.4f}"
            print(line, end="\n" if step == steps else "", file=sys.stderr, flush=True)

    return show


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Compute on so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def halves(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's weights rounded to float16."""
    return {name: tensor.half().cpu().contiguous() for name, tensor in model.state_dict().items()}


def bytes_of(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's weights rounded to 8 bits, with one scale for each matrix.

    A number is its byte, -127 to 127, times the scale. The scales come last, in the order of the
    matrices' names.
    """
    state = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    scales = {name: float(tensor.abs().max()) / 127 or 1.0 for name, tensor in state.items()}
    rounded = {name: (x / scales[name]).round().char().contiguous() for name, x in state.items()}
    return rounded | {"scales": torch.tensor([scales[name] for name in sorted(state)])}


def numbers_of(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return what :func:`bytes_of` rounded, as float32."""
    names = sorted(tensors.keys() - {"scales"})
    scales = dict(zip(names, tensors["scales"], strict=True))
    return {name: tensors[name].float() * scales[name] for name in names}


def store(
    model: nn.Module,
    path: str | Path,
    description: dict[str, str],
    pack: Callable[[nn.Module], dict[str, Tensor]] = halves,
) -> None:
    """Store a model's weights, rounded by ``pack``, and what is told of it, with their checksum.

    The order of ``description`` is that in which the checksum reads it.
    """
    tensors = pack(model)
    checksum = _checksum(tensors, description.values())
    _safetensors.write(tensors, path, description | {"sha256": checksum})


def load(
    path: str | Path, names: Sequence[str], writer: str
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return what :func:`store` wrote: the tensors as they are, and what is told of them.

    Refuse a file that is not whole, that ``writer`` did not write, or that has changed since.
    """
    tensors, metadata = _safetensors.read(path)
    if lacking := {*names, "sha256"} - metadata.keys():
        raise ValueError(f"{path}: not written by {writer}: it lacks {', '.join(sorted(lacking))}")
    if _checksum(tensors, [metadata[name] for name in names]) != metadata["sha256"]:
        raise ValueError(f"{path}: damaged: the weights do not fit the checksum stored with them")
    if "embedding.weight" not in tensors:
        raise ValueError(f"{path}: the weights of something else: there is no embedding.weight")
    return tensors, metadata


def restore(model: Model, tensors: dict[str, Tensor], path: str | Path) -> Model:
    """Give a model the tensors of a file, name for name and shape for shape."""
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(expected.keys() | shapes.keys()):
        if expected.get(name) != shapes.get(name):
            raise ValueError(
                f"{path}: the weights of something else: for {name} expected shape "
                f"{expected.get(name, 'none')}, got {shapes.get(name, 'none')}"
            )
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model.eval()


def _checksum(tensors: dict[str, Tensor], description: Iterable[str]) -> str:
    digest = hashlib.sha256(json.dumps([*description]).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()


def require_ids(name: str, ids: Tensor, embedding: Tensor, longest: int) -> None:
    """Refuse what are no numbers of an embedding's rows, (batch, len)."""
    require_tensor(name, ids, "(batch, len)", rank=2)
    if ids.dtype not in (torch.int32, torch.int64):  # torch looks up no others
        raise TypeError(f"{name}: expected integers of 32 or 64 bits, got dtype {ids.dtype}")
    require_device("the module's parameters", embedding.device, name, ids)
    if ids.shape[1] > longest:
        raise ValueError(f"{name}: expected at most {longest} on axis 1, got shape {shape_of(ids)}")
    if not ids.numel() or ids.device.type != "cpu" or torch.compiler.is_compiling():
        return  # a GPU would have to wait until they are read
    lowest, highest = (int(x) for x in ids.aminmax())
    if not 0 <= lowest <= highest < len(embedding):
        got = f"ids from {lowest} to {highest}"
        raise ValueError(f"{name}: expected ids from 0 to {len(embedding) - 1}, got {got}")


def require_training(seed: int, steps: int, batch: int, progress: bool, watch: object) -> None:
    """Refuse what no training can be run with."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed: expected a whole number, got {seed!r}")
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"seed: expected a whole number of at most 64 bits, got {seed}")
    require_count("steps", steps)
    require_count("batch", batch)
    require_bool("progress", progress)
    if watch is not None and not callable(watch):
        raise TypeError(f"watch: expected a callable (step, loss), got {watch!r}")


def require_path(name: str, value: object) -> Path:
    """Return a path; refuse what is none."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name}: expected a path, got {value!r}")
    return Path(value)
