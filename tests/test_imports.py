"""Who may import whom: mathematics knows nothing of pictures, and nothing goes round in circles."""

import ast
import graphlib
import importlib
import subprocess
import sys
import types
from pathlib import Path

import pytest

import attention_lib

ROOT = Path(attention_lib.__file__).parent.parent
PACKAGES = ("attention_contracts", "attention_lib", "attention_workbook")

# Each part of the library, what it may import of the library, and what from elsewhere (beside the
# standard library). Mathematics stands in the order in which it is built: each may import those
# before it. The workbook may import the library; the library never imports the workbook.
MATHEMATICS = [
    "arguments",
    "scoring",
    "masking",
    "_kernel",
    "cache",
    "attention",
    "positions",
    "multihead",
    "saturation",
]
LIBRARY = {
    **{part: ({*MATHEMATICS[:n]}, {"torch"}) for n, part in enumerate(MATHEMATICS)},
    "notebook": (set(), {"torch", "numpy"}),
    "palette": (set(), set()),
    "plots": (
        {"palette", "plots"},
        {"numpy", "matplotlib", "cycler", "matplotlib_inline", "IPython"},  # the last two if there
    ),
}
WORKBOOK = {
    "_safetensors": (set(), {"torch"}),
    "_training": ({"_safetensors"}, {"torch"}),
    "copying": ({"_training"}, {"torch"}),
    "cost": (set(), {"torch"}),
    "pictures": (set(), {"torch", "numpy", "matplotlib"}),
    "reader": (
        {"_training", "figures"},
        {"torch", "numpy", "transformers"},  # the last where it is installed
    ),
    "writer": ({"_training"}, {"torch"}),
    "museum": (set(), {"torch"}),
    "published": ({"cost"}, {"torch"}),
    "exercises": (
        {"cost", "museum"},
        {"torch", "ipywidgets", "IPython"},  # the last two where they are installed
    ),
    "figures": (
        {"copying", "published", "reader", "writer"},
        {"torch", "numpy", "anywidget", "ipywidgets", "traitlets"},
    ),
    "parts": ({"exercises"}, set()),
    "grading": (set(), set()),
}
PICTURES_OF = {"attention_lib.plots"}
SHARED = ("attention_lib", "attention_contracts")  # what all of the workbook may import
MAY_IMPORT = {
    "attention_lib": ({f"attention_lib.{part}" for part in LIBRARY} - PICTURES_OF, set()),
    **{
        f"attention_lib.{part}": ({f"attention_lib.{name}" for name in inside}, outside)
        for part, (inside, outside) in LIBRARY.items()
    },
    "attention_workbook": (set(), set()),
    **{
        f"attention_workbook.{part}": (
            {
                *SHARED,
                f"attention_workbook.{part}",
                *(f"attention_workbook.{name}" for name in inside),
            },
            outside,
        )
        for part, (inside, outside) in WORKBOOK.items()
    },
    "attention_contracts": (
        {"attention_contracts"},
        {"torch", "pytest", "transformers"},
    ),  # two extras
}


def sources(root=ROOT):
    """The text of each module, by its full name."""
    found = {}
    for path in sorted(path for package in PACKAGES for path in (root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path.read_text(encoding="utf-8")
    return found


def imports(source, modules):
    """Full names of what a module imports, in functions too; from a package, its modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = "." * node.level + (node.module or "")
            names = [f"{package}.{alias.name}" for alias in node.names]
            yield from {name if name in modules else package for name in names}


def part_of(name):
    """The part of a package that a module belongs to, as MAY_IMPORT names it."""
    top = name.partition(".")[0]
    return top if top == "attention_contracts" else ".".join(name.split(".")[:2])


def misdirected(modules):
    """A sentence for each import that goes the wrong way."""
    complaints = []
    for module, source in modules.items():
        if part_of(module) not in MAY_IMPORT:
            complaints.append(f"{module} has no place in MAY_IMPORT: decide what it may import")
            continue
        inside, outside = MAY_IMPORT[part_of(module)]
        for name in imports(source, modules):
            top = name.partition(".")[0]
            if top in PACKAGES:
                allowed = top in inside or part_of(name) in inside
            else:
                allowed = top in outside or top in sys.stdlib_module_names
            if not allowed:
                complaints.append(f"{module} must not import {name}")
    return complaints


def circle(modules):
    """The modules of a circular import, or an empty list."""
    graph = {
        module: {name for name in imports(source, modules) if name in modules and name != module}
        for module, source in modules.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def without_example(module):
    """The public functions and classes of a module whose own docstring shows no example."""
    members = {name: getattr(module, name) for name in module.__all__}
    return [
        f"{module.__name__}.{name} needs a docstring with an example"
        for name, member in members.items()
        if isinstance(member, type | types.FunctionType) and ">>> " not in (member.__doc__ or "")
    ]


NO_EXAMPLE = [
    f"attention_workbook.reader{part}.pretrained_attentions" for part in ("", ".pretrained")
]  # it would need a download


def test_imports_go_one_way():
    assert misdirected(sources()) == []


def test_every_part_with_rules_for_its_imports_exists():
    parts = {part_of(name) for name in sources()}
    gone = {*MAY_IMPORT} - parts
    assert not gone, f"take them out of MAY_IMPORT: {', '.join(sorted(gone))}"


def test_no_module_imports_itself_through_others():
    assert circle(sources()) == []


PUBLIC = [
    name
    for name, text in sources().items()
    if "__all__ =" in text
    and "._" not in name
    and ".engine" not in name  # what graders are made of
    and not name.startswith("attention_workbook.published.")
]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_examples(name):
    missing = without_example(importlib.import_module(name))
    assert [sentence for sentence in missing if sentence.split()[0] not in NO_EXAMPLE] == []


def test_all_lists_what_the_package_exports():
    exported = {
        name
        for name, member in vars(attention_lib).items()
        if not name.startswith("_") and not isinstance(member, types.ModuleType)
    }
    assert {*attention_lib.__all__} == exported


def test_importing_the_library_loads_the_mathematics_alone():
    """No pictures, and beside torch no other package: the import adds a few milliseconds to it."""
    code = "import sys, torch; before = {*sys.modules}; import attention_lib; "
    code += "print(*({*sys.modules} - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    foreign = [name for name in loaded if not name.startswith("attention_lib")]
    assert "attention_lib.masking" in loaded
    assert [name for name in foreign if name.partition(".")[0] not in sys.stdlib_module_names] == []
    assert "attention_lib.plots" not in loaded


def test_modules_are_loaded_when_they_are_first_asked_for():
    assert attention_lib.palette is importlib.import_module("attention_lib.palette")
    with pytest.raises(AttributeError, match="'attention_lib' has no attribute 'contract'"):
        attention_lib.contract  # noqa: B018
