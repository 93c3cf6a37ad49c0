"""Python in the page: MicroPython, a small torch for it, and the graders of the exercises."""

from pathlib import Path

from website import npm

__all__ = ["FOLDER", "micropython"]

FOLDER = Path(__file__).parent


def micropython():
    """Return the folder of MicroPython, compiled to WebAssembly."""
    return npm.package("@micropython/micropython-webassembly-pyscript")
