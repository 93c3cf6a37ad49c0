"""What .venv is made of: everything in it is pinned, with its reason."""

import re
import sysconfig
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


def read_pins(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line.partition("#")[0]) for line in lines if re.match(r"\w", line)]
    return {
        canonicalize_name(r.name): r
        for r in requirements
        if r.marker is None or r.marker.evaluate()
    }


def test_every_installed_package_is_pinned():
    pins = read_pins("constraints.txt")
    # Not what setuptools carries inside, and puts on the path once it is imported.
    for distribution in metadata.distributions(path=[sysconfig.get_path("purelib")]):
        name = canonicalize_name(distribution.metadata["Name"])
        if name in ("pip", "attention-lib", "attention-contracts"):  # Python's, ours
            continue
        assert name in pins, f"{name} is installed, but constraints.txt does not pin it"
        version = distribution.version.partition("+")[0]  # torch 2.13.0+cpu is torch 2.13.0
        assert str(pins[name].specifier) == f"=={version}"


def test_every_requirement_is_exact_and_has_its_reason():
    pins = read_pins("constraints.txt")
    for name, requirement in read_pins("requirements.txt").items():
        wanted = str(pins[name].specifier)
        found = str(requirement.specifier)
        assert found == wanted, (
            f"{name} is {found or 'not pinned'} in requirements.txt, {wanted} in constraints.txt"
        )
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert [
        line for line in lines if re.match(r"\w", line) and not re.search(r"==\S+ +# \w", line)
    ] == []
