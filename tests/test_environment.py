"""tools/environment.py: what it installs unchecked, and what it says of a failed installation.

The gate makes its own environment with it. ``make environment`` on bad machines is tried in
nightly/test_environment.py, which ``make test`` runs as well where tools/ differs.
"""

import hashlib
import re

import pytest

from tools import environment


@pytest.mark.parametrize(
    ("name", "known", "strange"),
    [
        ("torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl", False, True),
        ("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", False, False),
        ("torchless-1.0+cpu-py3-none-any.whl", False, True),
        ("numpy-2.4.6+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", False, True),
        ("numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl", True, False),
    ],
)
def test_only_a_labelled_build_of_torch_goes_unchecked(tmp_path, monkeypatch, name, known, strange):
    monkeypatch.setattr(environment, "WHEELS", tmp_path / "wheels")
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / name).write_bytes(b"a wheel")
    digest = hashlib.sha256(b"a wheel" if known else b"another").hexdigest()
    (tmp_path / "hashes.txt").write_text(f"    --hash=sha256:{digest}\n")
    assert [*environment.strangers()] == [name] * strange


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("WARNING: Retrying (Retry(total=4)) after connection broken", "could not be reached"),
        ("npm error code ECONNREFUSED\nnpm error FetchError: request to", "could not be reached"),
        ("npm error network request to http://nowhere.test/", "could not be reached"),
        ("ERROR: No matching distribution found for torch==2.13.0", "found for torch==2.13.0)"),
        ("Using x\nERROR: [Errno 28] No space left on device", "([Errno 28] No space left on"),
        ("Killed", "(no word why)"),
    ],
)
def test_errors_of_installers_are_told_in_one_sentence(words, sentence):
    said = environment.reason(words)
    assert sentence in said
    assert re.fullmatch(r"[^\n]+ run make again[^\n]+\.venv/install\.log\.", said)
