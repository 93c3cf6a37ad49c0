"""How a figure is written down: its view for Jupyter or a page, its state, its stylesheet.

A view is written as ES modules that import each other: ``{ … } from "./other.js"``, or all of
another by ``export *``. Jupyter loads a module as one text (relative imports do not resolve there);
a page opened from a folder loads classic scripts only. :func:`module_source` and
:func:`script_source` make both out of the same files, each module a function that returns what it
exports. We do not leave that to esbuild, because a kernel, and a notebook that carries the figures
along, has no Node.
"""

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

from attention_lib import palette

FOLDER = Path(__file__).parent
SHARED = FOLDER / "_shared" / "index.js"
_IMPORT = re.compile(r'^(?:import (\{[^}]*\})|export \*) from "(\.[^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_VIEW = "export default { render };\n"


def as_expression(entry: Path, standing: dict[Path, str] | None = None) -> str:
    """Return a module, and those that it imports, as one expression: an object of its exports.

    ``standing`` names modules that stand already, by the variable that holds their exports.
    """
    names = dict(standing or {})
    parts: list[str] = []

    def add(path: Path) -> None:
        if path in names:
            return
        source = path.read_text(encoding="utf-8").removesuffix(_VIEW)
        exported = _EXPORT.findall(source)

        def imported(match: re.Match[str]) -> str:
            imported_path = (path.parent / match[2]).resolve()
            add(imported_path)
            if match[1] is None:
                exported.append(f"...{names[imported_path]}")
                return ""
            return f"const {match[1]} = {names[imported_path]};"

        body = _EXPORT.sub("", _IMPORT.sub(imported, source))
        names[path] = f"module{len(parts)}"
        result = f"return {{ {', '.join(exported)} }};"
        parts.append(f"const {names[path]} = (() => {{\n{body}\n{result}\n}})();\n")

    add(entry.resolve())
    return f"(() => {{\n{''.join(parts)}return {names[entry.resolve()]};\n}})()"


def module_source(script: Path) -> str:
    """Return a figure's view as one ES module that imports nothing (for Jupyter)."""
    view = as_expression(script, {SHARED: "shared"})
    return f"const shared = {as_expression(SHARED)};\nconst {{ render }} = {view};\n{_VIEW}"


def script_source(name: str, script: Path) -> str:
    """Return a figure's view as a classic script that registers ``name`` with the host page."""
    view = as_expression(script, {SHARED: "shared"})
    return f"attentionWidgets.register({json.dumps(name)}, (shared) => {view});\n"


def page_source(figure: str, script: Path, title: str) -> str:
    """Return a whole page with one figure's HTML, which needs no other file and no network."""
    view = module_source(script).removesuffix(_VIEW) + "shared.standAlone(render);\n"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}'
        '</title><meta name="viewport" content="width=device-width">'
        f"<style>:root {{ color-scheme: light dark; }} {stylesheet()}</style></head><body>{figure}"
        f'<script type="module">{view}</script></body></html>\n'
    )


def css_variables(colors: dict[str, str]) -> dict[str, str]:
    """Return one of the palettes as CSS custom properties.

    They are ``--aw-query`` and so on for every colour, and the stops of the two colour maps, with
    commas between, as ``linear-gradient`` takes them.
    """
    score_map = palette.SCORE_MAP_IN_THE_DARK if colors is palette.DARK else palette.SCORE_MAP
    return {f"--aw-{name.replace('_', '-')}": color for name, color in colors.items()} | {
        "--aw-weight-map": ", ".join(palette.WEIGHT_MAP),
        "--aw-score-map": ", ".join(score_map),
        "--aw-on-light": "black",  # ink and paper are not far enough from every colour of a map
        "--aw-on-dark": "white",
    }


def stylesheet() -> str:
    """Return the one stylesheet of all figures: the palette's colours, then the rules."""
    light, dark = css_variables(palette.LIGHT), css_variables(palette.DARK)
    changed = {name: value for name, value in dark.items() if value != light[name]}
    rules = (FOLDER / "figure.css").read_text(encoding="utf-8")
    for theme, colors in (("light", light), ("dark", changed)):
        declarations = " ".join(f"{name}: {value};" for name, value in colors.items())
        rules = rules.replace(f"/* colours: {theme} */", declarations)
    return rules


def as_json(state: dict[str, Any]) -> str:
    """Return a state as JSON, bytes in base 64; the host script makes a DataView of them, as
    Jupyter does. Lone surrogates, with which no page could be written, become question marks."""
    text = json.dumps(
        state, default=_binary, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def _binary(value: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(value).decode("ascii")}
