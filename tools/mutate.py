"""Break the library on purpose, one small change at a time, and see whether its tests notice.

``make mutate`` calls this; ``.venv/bin/python tools/mutate.py --help`` says what can be asked.
mutmut makes the changes, the "mutants", and runs the tests that reach each; it is installed when
first needed, in .matrix/mutation, as tools/mutation.txt pins it. Its settings are in
pyproject.toml; here stands which tests belong to what, and which mutants are not worth a run. What
lives stands with its reason in tests/mutants.md; one that does not stand there makes this fail.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from contextlib import contextmanager
from difflib import ndiff
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = ROOT / ".matrix" / "mutation"  # not _build: a build of the website begins by emptying it
ENVIRONMENT = SCRATCH / "environment"
PINNED = ROOT / "tools" / "mutation.txt"
EXPLAINED = ROOT / "tests" / "mutants.md"

# What others trace (but for what they compile, which takes a minute).
TRACED = " ".join(
    f"tests/test_tracing.py::test_{what}"
    for what in ("vmap", "forward_mode", "tensors_without_numbers")
)

# Heads that share keys.
GROUPED = "tests/test_multihead.py::test_equals_the_loop_over_heads"
GROUPED += " tests/test_multihead.py::test_fewer_queries_than_heads"

REFUSALS = "tests/test_arguments.py"

# What is mutated, the tests that have to notice, and how many mutants are drawn (0: all are tried).
TARGETS = {
    "masking": ("masking.py", f"tests/test_masking.py {REFUSALS}", 0),
    "_nonfinite": ("_nonfinite.py", f"tests/test_attention.py {TRACED}", 0),
    "attention": ("attention.py", f"tests/test_attention.py {TRACED} {GROUPED} {REFUSALS}", 0),
    "scoring": ("scoring.py", f"tests/test_scoring.py {TRACED} {REFUSALS}", 0),
    "positions": ("positions.py", f"tests/test_positions.py {REFUSALS}", 0),
    "multihead": ("multihead.py", f"tests/test_multihead.py {TRACED} {REFUSALS}", 0),
    "contracts": ("contracts.py", f"tests/test_contracts.py {REFUSALS}", 0),
    "checks/_properties": ("checks/_properties.py", "tests/checks/test_properties.py", 0),
    "checks": ("checks/*.py", "tests/checks", 300),
}

# Those whose living mutants have been looked at, one by one; the others run when they are named.
EXAMINED = tuple(name for name in TARGETS if name != "checks")


def install():
    """Make the environment of mutmut, which sees what .venv holds, unless it stands."""
    stamp, wanted = ENVIRONMENT / "made-from", PINNED.read_text(encoding="utf-8")
    python = ENVIRONMENT / "bin" / "python"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        folder = sysconfig.get_path("purelib", vars={"base": str(ENVIRONMENT)})
        Path(folder, "book.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", PINNED], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def enter(name):
    """Go to a fresh folder that looks like the checkout; mutmut writes its copy into it."""
    folder = SCRATCH / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for part in ("attention_lib", "tests", "website", "conftest.py", "pyproject.toml"):
        (folder / part).symlink_to(ROOT / part)
    os.chdir(folder)


@contextmanager
def output_to(path):
    """Send what is printed, by whatever process, to a file."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(path, "w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 1)
    try:
        yield
    except SystemExit:
        print(f"mutmut gave up: {Path(path).resolve()} says why", file=sys.stderr)
        raise
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)


def change(before, after):
    """The lines in which two functions differ, each side as one line without comments."""
    differ = [line for line in ndiff(before, after) if line[0] in "-+"]
    sides = [[line[2:] for line in differ if line[0] == sign] for sign in "-+"]
    before, after = (" ".join(re.sub("  # .*", "", x).strip() for x in side) for side in sides)
    return f"`{before}` → `{after}`"


def matters(change):
    """Not the words of a refusal, what ``axes=`` says there, nor a ``strict`` of equal lengths."""
    words = r""",? ?axes=("[^"]*"|None)|,? ?strict=(True|False|None)|, (?=\))"""
    before, after = (re.sub(words, "", side) for side in change.split(" → "))
    return before != after


def mutants(path):
    """Every mutant of a file that can matter: its name, and what it changes."""
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    made = mutate_file_contents(str(path), path.read_text(encoding="utf-8"))
    lines, found = made.code.splitlines(), {}

    def body(function):
        span = made.line_span_by_function_name[function]
        return [line.replace(function, "…") for line in lines[span.start - 1 : span.end]]

    for function in made.mutant_names:
        original = re.sub(r"__mutmut_\d+$", "__mutmut_orig", function)
        found[get_mutant_name(path, function)] = change(body(original), body(function))
    return {name: changed for name, changed in found.items() if matters(changed)}


def mutate(name, sample, seed, only):
    """Run the mutants of one target; say how they ended; return those that nobody explained."""
    files, tests, usual = TARGETS[name]
    sample = usual if sample is None else sample
    enter(name)
    from libcst import BaseString
    from mutmut import __main__ as mutmut
    from mutmut.configuration import config
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.mutation.mutators import mutation_operators
    from mutmut.stats import status_by_exit_code

    # Strings are left alone: they are the words of refusals, and names that nothing else has.
    mutation_operators[:] = [pair for pair in mutation_operators if pair[0] is not BaseString]
    config().only_mutate = [f"attention_lib/{files}"]
    config().pytest_add_cli_args_test_selection = tests.split()
    paths = sorted(Path("attention_lib").glob(files))
    every = {key: changed for path in paths for key, changed in mutants(path).items()}
    tried = sorted(key for key in every if re.search(only, key))
    if 0 < sample < len(tried):
        tried = sorted(random.Random(seed).sample(tried, sample))
    print(f"{name}: {len(tried)} of {len(every)} mutants; mutmut.log in {Path.cwd()}", flush=True)
    started = time.monotonic()
    with output_to("mutmut.log"):
        mutmut._run(tried, 1)
    seconds = time.monotonic() - started
    ended = {}
    for path in paths:
        data = SourceFileMutationData(path=path)
        data.load()
        ended |= {key: status_by_exit_code[code] for key, code in data.exit_code_by_key.items()}
    alive = {key: every[key] for key in tried if ended[key] != "killed"}
    explained = EXPLAINED.read_text(encoding="utf-8")
    puzzles = {key: changed for key, changed in alive.items() if changed not in explained}
    print(
        f"{name}: {len(every)} mutants, {len(tried)} tried, {len(tried) - len(alive)} killed, "
        f"{len(alive) - len(puzzles)} explained, {len(puzzles)} not; {seconds:.0f} s"
    )
    for key, changed in puzzles.items():
        print(f"  {ended[key]}: {key.removeprefix('attention_lib.')}\n    {changed}", flush=True)
    return puzzles


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TARGETS)}; without, the examined")
    parser.add_argument("--sample", type=int, help="how many mutants of each to draw; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--only", default="", help="a pattern that the mutants' names match")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(TARGETS):
        parser.error(f"nothing is called {', '.join(sorted(unknown))}")
    python, names = install(), asked.names or EXAMINED
    if len(names) == 1 and Path(sys.prefix) == ENVIRONMENT:
        sys.exit(bool(mutate(*names, asked.sample, asked.seed, asked.only)))
    # Each in a process of its own: mutmut keeps what it knows of one.
    options = [word for word in sys.argv[1:] if word not in asked.names]
    sys.exit(max(subprocess.call([python, __file__, name, *options]) for name in names))


if __name__ == "__main__":
    main()
