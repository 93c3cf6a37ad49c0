"""A release: the same bytes from two clones, and packages that install from their sources."""

import subprocess
import sys
import zipfile

from website import ROOT


def release(folder):
    """What ``tools/release.py`` packs in a clone, by name; the website is one page."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    site = folder / "_build" / "html"
    site.mkdir(parents=True)
    (site / "index.html").write_text("a page")
    subprocess.run([sys.executable, "tools/release.py"], cwd=folder, check=True)
    return {path.name: path for path in (folder / "_build" / "release").iterdir()}


def test_two_clones_pack_the_same_bytes_and_a_source_distribution_makes_the_same_wheel(tmp_path):
    first, second = (release(tmp_path / name) for name in ("one", "another"))
    [site] = [name for name in first if name.endswith(".zip")]
    assert sorted(first) == sorted(second) and len(first) == 6
    packages = [name for name in first if name.startswith("attention_")]
    for name in packages:
        assert first[name].read_bytes() == second[name].read_bytes(), name
    assert zipfile.ZipFile(first[site]).namelist() == ["the-attention-workbook/index.html"]
    sums = first["SHA256SUMS"].read_text().splitlines()
    assert sorted(line.split()[1] for line in sums) == sorted([*packages, site])
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    for source in (name for name in packages if name.endswith(".tar.gz")):
        out = tmp_path / "wheels"
        subprocess.run([*command, "--wheel-dir", out, first[source]], check=True)
    for wheel in (tmp_path / "wheels").iterdir():
        names = [zipfile.ZipFile(one).namelist() for one in (wheel, first[wheel.name])]
        assert sorted(names[0]) == sorted(names[1])
