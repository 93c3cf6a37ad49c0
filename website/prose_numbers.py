"""Numbers of the prose that no cell of the chapter has as input or output.

    .venv/bin/python -m website.prose_numbers    list them, a line each

A number is covered if an output or a line of code holds one that rounds to it, as a share, in
percent or in another unit, or if it is the right result of arithmetic written before it. Left out
are small whole numbers, years, minutes, numbers of figures and formulas, exercises, and sentences
that cite their source by a link to the bibliography or to another site. What is worked out by hand
in words, or comes from elsewhere, stands in prose_numbers.toml.
"""

import html
import math
import re
import tomllib
from pathlib import Path

from website import notebooks
from website.book import ends_in_a_sentence

NUMBER = re.compile(
    r"(?<![\w.#/])[-−]?(\d[\d\u202f\u00a0]*(?: \d{3}(?!\d))*(?:\.\d+)?|\.\d+)(?![\w/])"
)
WORKED_OUT = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
LINK = re.compile(r"\]\(([^)]*)\)")
CITED = re.compile(r"\]\((?:https?:|bibliography\.md)")
SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z*$(\[])|\n\s*\n|\n(?=[-|*] |\d+\. )")
SKIPPED = re.compile(
    r"```[\s\S]*?```|^\*\*Time:\*\*.*$|^[●○]{3}.*$|^#.*$|\\tag\{.*?\}|https?://\S+"
    r"|\*\*Figure \d+[^*]*\*\*|[Ff]igures? \d+|[Ff]ormulas? \(\d\)|Exercise \d+|[Cc]hapters? \d+",
    re.MULTILINE,
)
SMALL, YEARS = 100, range(1900, 2100)


def number(text):
    return float(re.sub(r"[\s\u202f\u00a0_]", "", text))


def stated(cell):
    """The numbers of a text that a cell should show: what stands before each, and its sentence."""
    source = SKIPPED.sub(" ", "".join(cell["source"]))
    source = re.sub(r"\\[td]?frac(\d)(\d)", r"(\1/\2)", source).replace(r"\,", "\u202f")
    for sentence in SENTENCE.split(source):
        if not sentence or CITED.search(sentence):
            continue
        sentence = LINK.sub("]", sentence)
        for match in NUMBER.finditer(sentence):
            value = number(match[1])
            whole = "." not in match[1]
            if not (whole and (value <= SMALL or value in YEARS)):
                yield match[1], sentence[: match.start()], " ".join(sentence.split())


PYTHON = {  # of the mathematics in a sentence
    r"\$|\\left|\\right|\u202f": "",
    r"\\cdot|·|×|\\times": "*",
    "−": "-",
    r"\\sqrt\s*(\d+)": r"sqrt(\1)",
    r"\\(sqrt|ln|exp|tanh)": r"\1",
    r"\be\^(\d)": r"e**\1",
    r"\^": "**",
    r"\{": "(",
    r"\}": ")",
    r"\b(\d*)(ln|tanh)\s+([\d.]+)": r"\1 \2(\3)",
    r"(\d) +(?=ln|tanh)": r"\1*",
    r"(\d) (?=\d{3})": r"\1",
}
PLAIN = re.compile(r"[\d\s.·×+−/()-]*$")  # arithmetic at the end of a text
NAMES = {"__builtins__": {}, "sqrt": math.sqrt, "ln": math.log, "exp": math.exp, "e": math.e}
NAMES["tanh"] = math.tanh


def computed(text, before):
    """Whether a number is what the arithmetic before its equals sign gives."""
    parts = re.split(r"[=≈:]", before.rstrip())
    if len(parts) < 2 or parts[-1].strip():
        return False
    formula = parts[-2].rpartition("$")[2] if "$" in parts[-2] else PLAIN.search(parts[-2])[0]
    for pattern, python in PYTHON.items():
        formula = re.sub(pattern, python, formula)
    if not re.fullmatch(r"[\d\s.+*/()sqrtlnexpah-]+", formula):
        return False
    try:
        result = eval(formula, NAMES)
    except (SyntaxError, NameError, TypeError, ArithmeticError, ValueError):
        return False
    return covered(text, [result])


EVIDENCE = re.compile(r"\d[\d_\u202f\u00a0]*(?: \d{3}(?!\d))*(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+")


def shown(notebook):
    """The numbers in the code, its outputs and its figures."""
    texts = []
    for cell in notebooks.code_cells(notebook):
        texts.append("".join(cell["source"]))
        for output in cell["outputs"]:
            texts.append("".join(output.get("text", "")))
            texts.append(output.get("evalue", ""))
            data = output.get("data", {})
            texts.append("".join(data.get("text/plain", "")))
            for kind in ("text/html", "image/svg+xml"):
                texts.append(html.unescape(re.sub(r"<[^>]+>", " ", "".join(data.get(kind, "")))))
    return {number(text) for text in EVIDENCE.findall("\n".join(texts))}


def covered(text, values):
    """Whether a number is one of some values, rounded, in percent, or in another unit."""
    value, decimals = number(text), len(text.partition(".")[2])
    digits = len(re.sub(r"\D", "", text).lstrip("0"))
    units = (-12, -9, -6, -3, -2, 0, 2, 3, 6, 9, 12) if digits >= 3 else (-2, 0, 2)
    for unit in units:
        half = 0.5001 * 10.0 ** (unit - decimals)
        if any(abs(evidence - value * 10.0**unit) <= half for evidence in values):
            return True
    return False


def uncovered(path):
    """The numbers of a chapter's prose that nothing shows, each with its sentence."""
    notebook = notebooks.read(path)
    prose = []
    for cell in notebook["cells"]:
        if "".join(cell["source"]).startswith("## Exercises"):
            break
        prose += stated(cell) if cell["cell_type"] == "markdown" else []
    values = shown(notebook)
    values |= {number(text) for text, before, _ in prose if computed(text, before)}
    values |= {number(text) for text in WORKED_OUT.get(path.stem, ())}
    return [(text, sentence) for text, _, sentence in prose if not covered(text, values)]


@ends_in_a_sentence
def main():
    for path in notebooks.chapters():
        for text, sentence in uncovered(path):
            print(f"{path.stem}: {text} in “{sentence}”")


if __name__ == "__main__":
    main()
