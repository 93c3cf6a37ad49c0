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

ROOT = Path(attention_lib.__file__).parent

# Each part of the library, what it may import of the library, and what from elsewhere (beside the
# standard library). Mathematics stands in the order in which it is built: each may import those
# before it.
MATHEMATICS = [
    "_arguments",
    "scoring",
    "masking",
    "_nonfinite",
    "attention",
    "multihead",
    "positions",
]
MATHEMATICS += ["saturation", "contracts"]
MAY_IMPORT = {
    **{part: ({*MATHEMATICS[:n]}, {"torch"}) for n, part in enumerate(MATHEMATICS)},
    "museum": ({*MATHEMATICS}, {"torch"}),
    "checks": ({*MATHEMATICS, "museum", "checks"}, {"torch"}),
    "published": ({*MATHEMATICS, "cost"}, {"torch"}),
    "notebook": ({"widgets"}, {"torch", "numpy", "transformers"}),  # the last where it is installed
    "cost": ({*MATHEMATICS, "cost"}, {"torch"}),
    "_training": (set(), {"torch", "safetensors", "tqdm"}),
    "alignment": ({*MATHEMATICS, "_training", "alignment"}, {"torch"}),
    "reader": ({*MATHEMATICS, "_training", "reader"}, {"torch"}),
    "palette": (set(), set()),
    "_pictures": (set(), set()),
    "plots": (
        {"palette", "_pictures", "plots"},
        {"numpy", "matplotlib", "cycler", "matplotlib_inline", "IPython"},  # the last two if there
    ),
    "widgets": (
        {"palette", "_pictures", "widgets", "reader"},  # the last in SentenceReader alone
        {"numpy", "anywidget", "ipywidgets", "traitlets"},
    ),
}


def sources(root=ROOT):
    """The text of each module, by its full name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
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


def misdirected(modules):
    """A sentence for each import that goes the wrong way."""
    complaints = []
    for module, source in modules.items():
        _, _, rest = module.partition(".")
        part = rest.partition(".")[0]
        if part and part not in MAY_IMPORT:
            complaints.append(f"{module} has no place in MAY_IMPORT: decide what it may import")
            continue
        inside, outside = (
            MAY_IMPORT[part] if part else ({*MAY_IMPORT} - {"plots", "widgets"}, set())
        )
        for name in imports(source, modules):
            top, _, below = name.partition(".")
            if top == "attention_lib":
                allowed = below.partition(".")[0] in inside
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


NO_EXAMPLE = ["attention_lib.notebook.pretrained_attentions"]  # it would need a download


def test_imports_go_one_way():
    assert misdirected(sources()) == []


def test_the_rules_speak_of_modules_that_are_there():
    parts = {name.split(".")[1] for name in sources() if "." in name}
    gone = {*MAY_IMPORT} - parts
    assert not gone, f"take them out of MAY_IMPORT: {', '.join(sorted(gone))}"


def test_no_circles():
    assert circle(sources()) == []


PUBLIC = [name for name, text in sources().items() if "__all__ =" in text and "._" not in name]


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
    assert attention_lib.__all__ == sorted(attention_lib.__all__)


def loaded_by(statement, after="import sys"):
    """The modules that a statement loads in a fresh Python, beside those loaded before it."""
    code = f"import sys\n{after}\nbefore = {{*sys.modules}}\n{statement}\n"
    code += "print(*({*sys.modules} - before))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {*result.stdout.split()}


PICTURES = {"matplotlib", "anywidget", "ipywidgets", "traitlets", "IPython", "transformers"}


def test_the_package_loads_no_pictures():
    assert loaded_by("import attention_lib") & PICTURES == set()
    assert loaded_by("import attention_lib.contracts, attention_lib.checks") & PICTURES == set()


def test_the_package_adds_to_torch_only_ten_small_modules_of_its_own():
    """That is why it adds no more than 50 ms: from bytecode it took 3, from source 20."""
    own = ["_arguments", "_nonfinite", "attention", "masking", "multihead"]
    own += ["notebook", "positions", "saturation", "scoring"]
    expected = {"attention_lib", *(f"attention_lib.{name}" for name in own)}
    assert loaded_by("import attention_lib", after="import torch") == expected


# Each of these can fail.


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("scoring", "import numpy", "attention_lib.scoring must not import numpy"),
        ("scoring", "from attention_lib.masking import x", "must not import attention_lib.masking"),
        ("masking", "def f():\n    from matplotlib import pyplot", "must not import matplotlib"),
        ("attention", "from attention_lib import plots", "must not import attention_lib.plots"),
        ("attention", "from attention_lib import length_mask", "must not import attention_lib"),
        ("attention", "from . import masking", "must not import ."),
        (
            "checks.masking",
            "from attention_lib import plots",
            "must not import attention_lib.plots",
        ),
        (
            "plots.one",
            "from attention_lib.scoring import dot_scores",
            "import attention_lib.scoring",
        ),
        ("widgets.one", "from attention_lib import scoring", "import attention_lib.scoring"),
        ("widgets.one", "import torch", "must not import torch"),
        ("palette", "import numpy", "must not import numpy"),
        ("utils", "x = 1", "attention_lib.utils has no place"),
    ],
)
def test_a_wrong_import_is_named(module, line, complaint):
    modules = {f"attention_lib.{part}": "" for part in MAY_IMPORT} | {"attention_lib": ""}
    assert misdirected(modules) == []
    [said] = misdirected(modules | {f"attention_lib.{module}": line})
    assert complaint in said


def test_the_package_must_not_import_pictures():
    said = misdirected({"attention_lib": "from attention_lib.plots import heatmap"})
    assert said == ["attention_lib must not import attention_lib.plots"]


def test_a_circle_is_named():
    one, two = "from attention_lib import two", "def f():\n    import attention_lib.one"
    modules = {"attention_lib": "", "attention_lib.one": one, "attention_lib.two": two}
    assert {*circle(modules)} == {"attention_lib.one", "attention_lib.two"}


def test_a_missing_example_is_named():
    def bare(x):
        return x

    def shown(x):
        """Return it.

        >>> shown(1)
        1
        """

    class Bare:
        def method(self):
            """>>> 1"""

    module = types.SimpleNamespace(__name__="m", __all__=["bare", "shown", "Bare"])
    vars(module).update(bare=bare, shown=shown, Bare=Bare)
    said = " ".join(without_example(module))
    assert "m.bare" in said and "m.Bare" in said and "m.shown" not in said


def test_a_loaded_module_is_seen():
    assert loaded_by("import attention_lib.plots") >= {"matplotlib"}
