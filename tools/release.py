"""Everything that a release consists of, in ``_build/release``; `make release` runs this.

Wheel and source distribution of both packages, the website as one archive for reading offline, and
the checksums of all of these. The packages are built from the last commit, not from the working
tree, and every time in them is that commit's, so that two clones build the same bytes.
"""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / "_build" / "release"
SITE = ROOT / "_build" / "html"
PROJECTS = (".", "attention_contracts")
KINDS = ("wheel", "sdist")


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout


def build(project, out, epoch):
    """Build a project's wheel and its source distribution into a folder."""
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    backend = settings["build-system"]["build-backend"]
    for kind in KINDS:  # a process each, as a backend may expect
        code = f"import {backend} as backend; backend.build_{kind}({str(out)!r})"
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=project,
            env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch)},
            stdout=subprocess.DEVNULL,
            check=True,
        )


def pack(archive, epoch):
    """Write a source distribution anew: its files in order, without a builder's name or clock."""
    content = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=content, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.mode = epoch, 0o755 if member.isdir() else 0o644
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    archive.write_bytes(gzip.compress(content.getvalue(), mtime=epoch))


def pack_site(site, archive):
    """Put the website into one archive; unpacked, its front page opens without a server."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for path in site.rglob("*") if path.is_file()):
            packed.write(path, Path(archive.stem) / path.relative_to(site))


def main():
    if not (SITE / "index.html").exists():
        print("There is no website to pack: run make book before.", file=sys.stderr)
        return 1
    shutil.rmtree(RELEASE, ignore_errors=True)
    RELEASE.mkdir(parents=True)
    epoch = int(git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD"))) as committed:
            committed.extractall(folder, filter="data")
        for project in PROJECTS:
            build(Path(folder) / project, RELEASE, epoch)
    for archive in RELEASE.glob("*.tar.gz"):
        pack(archive, epoch)
    pack_site(SITE, RELEASE / "the-attention-workbook.zip")
    files = sorted(RELEASE.iterdir())
    for path in files:
        path.chmod(0o644)  # a backend may let its builder alone read
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (RELEASE / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    print("".join(sums), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
