"""Below each name on the library's pages, what autodoc says about it.

``api.md`` lists the modules, each of which has a page with headings alone, so that it reads on
GitHub, too, and links can be checked: a module (``# attention_lib.masking``) and each of its public
names (``## causal_mask``).
"""

import importlib
import inspect
import re

PAGES = "book/api-"
# The arguments of a long signature, as Sphinx writes them: a list of definitions of no terms.
ARGUMENTS = re.compile(r'<dl>\n((?:<dd><em class="sig-param">.*</dd>\n)+)</dl>')


def methods(member):
    """Return the names of the methods that a class itself defines, and says something about."""
    return [
        name
        for name, value in vars(member).items()
        if not name.startswith("_")
        and (isinstance(value, classmethod | staticmethod) or inspect.isfunction(value))
        and value.__doc__
    ]


def directive(module, name):
    """Return the lines by which autodoc describes a function, or a class with its methods."""
    member = getattr(importlib.import_module(module), name)
    kind = "autoclass" if inspect.isclass(member) else "autofunction"
    lines = [f".. {kind}:: {module}.{name}"]
    if kind == "autoclass" and (names_of_methods := methods(member)):
        lines.append(f"   :members: {', '.join(names_of_methods)}")
    return ["````{eval-rst}", *lines, "````"]


def describe(app, docname, source):
    """Put a directive below each name on a page."""
    if not docname.startswith(PAGES):
        return
    lines, module = [], ""
    for line in source[0].splitlines():
        lines.append(line)
        if line.startswith("# "):
            module = line[2:].strip()
        elif line.startswith("## "):
            lines += ["", *directive(module, line[3:].strip("` "))]
    source[0] = "\n".join(lines) + "\n"


def read_again(app, env, added, changed, removed):
    """The pages depend on the library, of which Sphinx knows nothing."""
    return [name for name in env.found_docs if name.startswith(PAGES)]


def list_arguments(app, pagename, templatename, context, doctree):
    """Make a plain list of the arguments of a long signature."""
    if pagename.startswith(PAGES):
        context["body"] = ARGUMENTS.sub(
            lambda match: f"<ul>\n{match[1]}</ul>".replace("dd>", "li>"), context["body"]
        )


def setup(app):
    app.connect("source-read", describe)
    app.connect("env-get-outdated", read_again)
    app.connect("html-page-context", list_arguments)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
