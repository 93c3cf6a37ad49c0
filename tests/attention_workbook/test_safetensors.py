"""The stored weights are files that others can read, and ours reads theirs."""

import json

import pytest
import torch

from attention_workbook import _safetensors
from website import ROOT

STORED = sorted(
    (ROOT / "attention_workbook").rglob("*.safetensors")
)  # first written by safetensors 0.8


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_safetensors_wrote_is_written_again_byte_for_byte(path, tmp_path):
    tensors, metadata = _safetensors.read(path)
    _safetensors.write(tensors, tmp_path / "again", metadata)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_numbers_shapes_and_words_come_back(tmp_path):
    tensors = {
        "b": torch.tensor([[1.5, -2.0, 0.0]]),
        "a": torch.tensor([[-128], [127]], dtype=torch.int8),
        "c": torch.tensor(0.5, dtype=torch.float16),
    }
    _safetensors.write(tensors, tmp_path / "file", {"letters": "äß"})
    back, metadata = _safetensors.read(tmp_path / "file")
    assert metadata == {"letters": "äß"} and [*back] == ["b", "c", "a"]
    for name, tensor in tensors.items():
        assert back[name].dtype == tensor.dtype and torch.equal(back[name], tensor)


def header(**entry):
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | entry
    text = json.dumps({"a": entry}).encode()
    return len(text).to_bytes(8, "little") + text + bytes(8)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no weights" * 100,
        header()[:-1],
        header(shape=[3]),
        header(dtype="F64"),
        header(data_offsets=[-8, 0]),
        header(data_offsets=[0]),
        header(more=1),
        (2).to_bytes(8, "little") + b"[]",
    ],
)
def test_a_broken_file_is_refused(data, tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="bad: no whole safetensors file"):
        _safetensors.read(path)
