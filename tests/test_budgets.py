"""The size of each room of the repository, against its budget; of each file, and each function.

``budgets.toml`` has for each room its budget and, as long as the budget is not reached, a ceiling,
and it lists the files and functions that are too long, with their lines. Ceilings and lists only
shrink: after a change that makes something smaller, ::

    python -m tests.test_budgets > budgets.new && mv budgets.new tests/budgets.toml

lowers them. It also prints, room by room, the lines used.
"""

import ast
import tomllib
from functools import cache

from website import ROOT

LISTED = tomllib.loads((ROOT / "tests" / "budgets.toml").read_text(encoding="utf-8"))
FILE, FUNCTION = 500, 60

MECHANISM = [f"{name}.py" for name in ("scoring", "masking", "attention", "multihead", "positions")]
# room -> the files that count, and those among them that do not
ROOMS = {
    "attention_lib": (["attention_lib/**/*.py"], []),
    "attention_lib: the mechanism": ([f"attention_lib/{name}" for name in MECHANISM], []),
    "attention_lib/_engine": (["attention_lib/_engine/**/*.py"], []),
    "attention_lib/contracts": (
        ["attention_lib/contracts.py", "attention_lib/contracts/**/*.py"],
        [],
    ),
    "JavaScript of the figures": (["attention_lib/**/*.js", "workbook/**/*.js"], []),
    "tools and benchmarks": (["tools/**/*.py", "benchmarks/**/*.py"], []),
    "workbook/exercises": (["workbook/exercises/**/*.py"], []),
    "workbook otherwise": (["workbook/**/*.py"], ["workbook/exercises/**/*.py"]),
    "website": (["website/**/*.py"], []),
    "tests of the gate": (["tests/**/*.py"], ["tests/nightly/**/*.py"]),
    "tests of the night": (["tests/nightly/**/*.py"], []),
}


def files(room, root=ROOT):
    """Return the paths of a room's files."""
    counted, not_counted = ROOMS[room]
    left_out = {path for pattern in not_counted for path in root.glob(pattern)}
    found = {path for pattern in counted for path in root.glob(pattern)} - left_out
    return sorted(path for path in found if "node_modules" not in path.parts)


def lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


@cache
def used(root=ROOT):
    """Return the lines of each room."""
    return {room: sum(map(lines, files(room, root))) for room in ROOMS}


def function_lines(source):
    """Return the lines of each function by its name, without its docstring."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and ast.get_docstring(node) is not None
            docstring = first.end_lineno - first.lineno + 1 if documented else 0
            size = node.end_lineno - node.lineno + 1 - docstring
            found[node.name] = max(size, found.get(node.name, 0))
    return found


@cache
def too_long(root=ROOT):
    """Return the files and the functions that are too long, each with its lines."""
    paths = {path for room in ROOMS for path in files(room, root)}
    names = {path: path.relative_to(root).as_posix() for path in paths}
    functions = {
        f"{names[path]}: {name}": size
        for path in sorted(paths)
        if path.suffix == ".py"
        for name, size in function_lines(path.read_text(encoding="utf-8")).items()
        if size > FUNCTION
    }
    return {names[p]: lines(p) for p in sorted(paths) if lines(p) > FILE}, functions


def complaints(listed, rooms, long_files, long_functions):
    """Return a sentence for each room, file and function above what it is allowed."""
    for room, count in rooms.items():
        allowed = listed["rooms"][room].get("ceiling", listed["rooms"][room]["budget"])
        if count > allowed:
            yield f"{room} uses {count} lines, {allowed} are allowed: remove {count - allowed}"
    for kind, limit, found in (
        ("files", FILE, long_files),
        ("functions", FUNCTION, long_functions),
    ):
        for name, size in found.items():
            allowed = listed[kind].get(name, limit)
            if size > allowed:
                yield f"{name} has {size} lines, {allowed} are allowed: split or shorten it"


def lowered(listed, rooms, long_files, long_functions):
    """Return ``budgets.toml`` for what is used now: nothing in it is raised and nothing added."""
    text = ["# Written by python -m tests.test_budgets; to raise a number is a decision.", ""]
    for room, count in rooms.items():
        budget = listed["rooms"][room]["budget"]
        ceiling = min(listed["rooms"][room].get("ceiling", budget), -(-count // 50) * 50)
        text += [f'[rooms."{room}"]  # {count} used', f"budget = {budget}"]
        text += [f"ceiling = {ceiling}", ""] if ceiling > budget else [""]
    for kind, found in (("files", long_files), ("functions", long_functions)):
        text.append(f"[{kind}]")
        text += [
            f'"{name}" = {min(size, found[name])}'
            for name, size in listed[kind].items()
            if name in found
        ]
        text.append("")
    return "\n".join(text).rstrip() + "\n"


def test_every_room_file_and_function_keeps_to_its_budget():
    found = [*complaints(LISTED, used(), *too_long())]
    assert not found, "\n".join(found)


def test_ceilings_and_exceptions_are_no_higher_than_needed():
    """A little room is left: 200 lines a room, 25 a file, 5 a function."""
    now = tomllib.loads(lowered(LISTED, used(), *too_long()))
    loose = [
        room
        for room, allowed in LISTED["rooms"].items()
        if allowed.get("ceiling", 0)
        > max(now["rooms"][room].get("ceiling", 0), allowed["budget"]) + 200
    ]
    for kind, slack in (("files", 25), ("functions", 5)):
        loose += [
            name for name, size in LISTED[kind].items() if size > now[kind].get(name, 0) + slack
        ]
    assert not loose, (
        f"smaller than tests/budgets.toml allows: {', '.join(loose)}; lower it by "
        "python -m tests.test_budgets > budgets.new && mv budgets.new tests/budgets.toml"
    )


if __name__ == "__main__":
    print(lowered(LISTED, used(), *too_long()), end="")
