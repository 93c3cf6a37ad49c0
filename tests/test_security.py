"""What SECURITY.md promises: what it names is there, and nothing here unpickles."""

import ast
import re
import subprocess

import pytest

from website import ROOT, notebooks
from website.rules import tree


def test_files_named_in_security_md_exist():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/.]+\.\w+)`", text)
    assert len(named) >= 2 and [name for name in named if not (ROOT / name).is_file()] == []
    workflows = "\n".join(p.read_text() for p in (ROOT / ".github" / "workflows").glob("*.yml"))
    assert "secrets." not in workflows
    assert re.findall(r"uses: (?!\./)[^@\s]+@(?![0-9a-f]{40}\b)", workflows) == []


# ------------------------------------------------------------------------------------ no pickle

PICKLES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
CALLS = {"torch.load", "torch.save", "pd.read_pickle", "pandas.read_pickle"}
# What has none of these needs no parsing.
SUSPECT = re.compile(rf"allow_pickle|_pickle|\b(load|save)\b|{'|'.join(PICKLES)}")
SUFFIXES = {".pt", ".pth", ".pkl", ".pickle", ".joblib", ".npy", ".ckpt", ".bin"}


def unpickles(tree):
    """What in a tree of Python reads or writes pickles, line by line."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            names += [f"{names[0]}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("__import__", "importlib.import_module"):
                names = [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
            elif called in CALLS:
                yield node.lineno, called
            if any(word.arg == "allow_pickle" for word in node.keywords):
                yield node.lineno, "allow_pickle"
        for name in names:
            if name.partition(".")[0] in PICKLES or name in CALLS:
                yield node.lineno, name


def tracked():
    """The files that git has, or, in a checkout without git, those that are no caches."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    if names.returncode == 0:
        return [ROOT / name for name in names.stdout.split("\0") if name]
    left_out = {".venv", "_build"}
    return [path for path in ROOT.rglob("*") if not left_out & {*path.relative_to(ROOT).parts}]


def test_no_file_of_the_repository_unpickles():
    found = []
    for path in tracked():
        if path.suffix in SUFFIXES:
            found.append(f"{path.name}: not a format for weights, which are safetensors")
        if path.suffix == ".py" and path.is_file():
            text = path.read_text(encoding="utf-8")
            lines = unpickles(ast.parse(text)) if SUSPECT.search(text) else ()
            found += [f"{path.name}:{line}: {what}" for line, what in lines]
    for path in notebooks.chapters():
        for cell in notebooks.code_cells(notebooks.read(path)):
            lines = unpickles(tree(cell)) if SUSPECT.search("".join(cell["source"])) else ()
            found += [f"{path.name}: {what}" for _, what in lines]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "from pickle import loads",
        "import importlib\nimportlib.import_module('shelve')",
        "torch.load(path, weights_only=True)",
        "np.load(path, allow_pickle=True)",
    ],
)
def test_code_that_unpickles_is_found(code):
    assert [*unpickles(ast.parse(code))] != []
