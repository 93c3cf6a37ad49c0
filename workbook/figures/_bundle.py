"""Each figure's view as one text: a module for Jupyter, a script for a page; and the stylesheet.

A view is written once, as a plain ES module that begins with one ``import { … } from
"./_shared/index.js";`` (or the path from its own folder to there) and ends with
``export default { render };``. Jupyter loads a module as one text (relative imports do not resolve
there); a page opened from a folder loads classic scripts only. :func:`module_source` and
:func:`script_source` make both out of the same file.
"""

import html
import json
import re
from pathlib import Path

from attention_lib import palette

FOLDER = Path(__file__).parent
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "[./\w]*/_shared/index\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
_PART = re.compile(r'^export \* from "\./(\w+\.js)";$', re.MULTILINE)
_FROM_PART = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
_VIEW = "export default { render };\n"


def as_expression(module: str) -> str:
    """Return a module without imports as an expression: an object of what it exports."""
    names = ", ".join(_EXPORTED.findall(module))
    return f"(() => {{\n{_EXPORT.sub('', module)}\nreturn {{ {names} }};\n}})()"


def shared_source() -> str:
    """Return the helpers that all figures share as one JavaScript expression.

    ``_shared/index.js`` names the modules, each after those that it imports.
    """
    parts = [_read(f"_shared/{name}") for name in _PART.findall(_read("_shared/index.js"))]
    return as_expression("\n".join(_FROM_PART.sub("", part) for part in parts))


def module_source(script: Path) -> str:
    """Return a figure's view as one ES module that imports nothing (for Jupyter)."""
    return f"const shared = {shared_source()};\n{_figure_source(script)}"


def script_source(name: str, script: Path) -> str:
    """Return a figure's view as a classic script that registers ``name`` with the host page."""
    body = _figure_source(script).replace("\nexport default ", "\nreturn ")
    return f"attentionWidgets.register({json.dumps(name)}, (shared) => {{\n{body}}});\n"


def page_source(figure: str, script: Path, title: str) -> str:
    """Return a whole page with one figure's HTML, which needs no other file and no network."""
    view = module_source(script).removesuffix(_VIEW) + "shared.standAlone(render);\n"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}'
        '</title><meta name="viewport" content="width=device-width">'
        f"<style>:root {{ color-scheme: light dark; }} {stylesheet()}</style></head><body>{figure}"
        f'<script type="module">{view}</script></body></html>\n'
    )


def stylesheet() -> str:
    """Return the one stylesheet of all figures: the palette's colours, then the rules."""
    light = palette.css_variables(palette.LIGHT) | {
        "--aw-on-light": "black",  # ink and paper are not far enough from every colour of a map
        "--aw-on-dark": "white",
    }
    dark = palette.css_variables(palette.DARK)
    changed = {name: value for name, value in dark.items() if value != light[name]}
    rules = _read("figure.css")
    for theme, variables in (("light", light), ("dark", changed)):
        declarations = " ".join(f"{name}: {value};" for name, value in variables.items())
        rules = rules.replace(f"/* colours: {theme} */", declarations)
    return rules


def _figure_source(script: Path) -> str:
    return _EXPORT.sub("", _IMPORT.sub(r"const \1 = shared;", script.read_text(encoding="utf-8")))


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
