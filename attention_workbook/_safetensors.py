"""Files of weights in the safetensors format: a header in JSON, then the numbers as they are."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

__all__ = ["read", "write"]

DTYPES = {"F32": torch.float32, "F16": torch.float16, "I8": torch.int8}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def read(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return a file's tensors and its metadata; ValueError if the file is not whole."""
    data = bytearray(Path(path).read_bytes())  # writable, as the tensors will be
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        header: dict[str, Any] = json.loads(data[8:start])
        metadata = header.pop("__metadata__", {})
        tensors = {name: _tensor(data[start:], **entry) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
        raise ValueError(f"{path}: no whole safetensors file ({error})") from None
    return tensors, metadata


def _tensor(data: bytearray, dtype: str, shape: list[int], data_offsets: list[int]) -> Tensor:
    begin, end = data_offsets
    if not 0 <= begin <= end <= len(data):
        raise ValueError(f"its numbers end at byte {end} of {len(data)}")
    numbers = torch.frombuffer(data[begin:end], dtype=DTYPES[dtype])
    return numbers.reshape(shape)


def write(tensors: dict[str, Tensor], path: str | Path, metadata: dict[str, str]) -> None:
    """Write tensors and metadata; wide numbers come first, at multiples of their size."""
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": metadata}
    data = bytearray()
    for name in names:
        tensor = tensors[name]
        begin = len(data)
        data += tensor.numpy().tobytes()
        header[name] = {
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(len(text).to_bytes(8, "little") + text + data)
