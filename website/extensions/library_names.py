"""What stands below the names on the library's pages: their signatures and their docstrings.

``api.md`` lists the modules, each of which has a page with headings alone, so that it reads on
GitHub, too, and links can be checked: a module (``# attention_lib.masking``) and each of its public
names (``## causal_mask``).
"""

import importlib
import inspect
import re

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

PAGES = "book/api-"
STYLE = Config(
    napoleon_use_param=False,  # lists, for a page that knows no objects of Python
    napoleon_use_rtype=False,
    napoleon_custom_sections=[("Attributes", "params_style")],
)
WIDTH = 88


def signature(name, member):
    """How a function or a class is called; an argument a line where they are too many for one."""
    called = str(inspect.signature(member))
    called = re.sub(r"\b(collections\.abc|torch|typing|numpy|np|pathlib)\.(?=[A-Z])", "", called)
    if len(name + called) <= WIDTH:
        return name + called
    arguments, _, result = called[1:].rpartition(")")
    parts = re.split(r", (?![^\[(]*[\])])", arguments)  # not at the commas within brackets
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"


def methods(member):
    """The methods that a class itself defines, and says something about."""
    own = vars(member).items() if inspect.isclass(member) else ()
    return {
        name: getattr(member, name)
        for name, value in own
        if not name.startswith("_")
        and isinstance(value, (classmethod, staticmethod)) | inspect.isfunction(value)
        and value.__doc__
    }


def text_of(docstring):
    """A docstring in numpydoc's form as reStructuredText, with its references as plain code."""
    text = str(NumpyDocstring(inspect.cleandoc(docstring), STYLE))
    text = re.sub(r"^\.\. rubric:: (.+)", r"**\1**", text, flags=re.M)
    text = re.sub(r"^:(returns|raises)\b", lambda found: f":{found[1].title()}", text, flags=re.M)
    return re.sub(r":(?:py:)?(?:mod|func|class|meth|attr|data):`~?([^`]+)`", r"``\1``", text)


def described(module, name):
    """The lines below a name: its signature, its docstring, then the same for its methods."""
    member = getattr(importlib.import_module(module), name)
    parts = [(name, member), *((f"{name}.{m}", bound) for m, bound in methods(member).items())]
    for called, part in parts:
        yield f"\n```python\n{signature(called, part)}\n```\n"
        yield f"````{{eval-rst}}\n{text_of(part.__doc__)}\n````\n"


def describe(app, docname, source):
    """Put below each name on a page what the library says about it."""
    if not docname.startswith(PAGES):
        return
    lines, module = [], ""
    for line in source[0].splitlines():
        lines.append(line)
        if line.startswith("# "):
            module = line[2:].strip()
        elif line.startswith("## "):
            lines += described(module, line[3:].strip("` "))
    source[0] = "\n".join(lines) + "\n"


def read_again(app, env, added, changed, removed):
    """The pages depend on the library, of which Sphinx knows nothing."""
    return [name for name in env.found_docs if name.startswith(PAGES)]


def setup(app):
    app.connect("source-read", describe)
    app.connect("env-get-outdated", read_again)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
