"""A script's modules as one: fewer requests."""

import re

from page_python import FOLDER

__all__ = ["bundled"]

_NAMED = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_WHOLE = re.compile(r'^import \* as (\w+) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def bundled(name):
    """Return a module and all that it imports from this folder as one module.

    Examples
    --------
    >>> "import" in bundled("printing")
    False
    """
    parts = {}
    _collect(name, parts)
    return "\n".join([*parts.values()])


def _collect(name, parts):
    if name in parts:
        return
    text = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
    for pattern in (_NAMED, _WHOLE):
        for match in pattern.finditer(text):
            _collect(match[2], parts)
    body = _NAMED.sub(r"const {\1} = module_\2;", text)
    body = _WHOLE.sub(r"const \1 = module_\2;", body)
    names = ", ".join(_EXPORTED.findall(body))
    body = _EXPORT.sub("", body)
    parts[name] = f"const module_{name} = (() => {{\n{body}return {{ {names} }};\n}})();"
