"""Check every causal model of the installed transformers, and write the page of the census.

    python tools/census.py book/census.md results.json

It needs an environment with the release that is to be counted. Each model is made small and with
random weights (``attention_contracts/architectures.toml``) and checked in a process of its own;
those that the file of results holds already are not checked again. ``census.toml`` holds what a
person made of the broken ones.
"""

import importlib.metadata
import json
import os
import re
import resource
import sys
import time
import tomllib
import warnings
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from statistics import median

import torch

import attention_contracts as contracts
from attention_contracts import architectures

SECONDS, MEMORY = 120, 8 << 30  # of one check; seconds of the processor
LENGTH = 130  # tokens; each size that a configuration names is smaller
JUDGED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def row(architecture: str) -> dict:
    """Check one model; say why not if it cannot be made."""
    begin, reasons = time.process_time(), []
    for attention in ("eager", "sdpa"):  # “eager = fused” compares the two
        try:
            model = architectures.model(architecture, attention)
            report = contracts.check_model(model, length=LENGTH)
        except Exception as error:
            line = str(error).strip().partition("\n")[0]
            reasons.append(f"{type(error).__name__}: {line[:120]}")
            continue
        return report.as_dict() | {"seconds": time.process_time() - begin}
    return {"not_made": reasons[0]}


def alone(architecture: str) -> dict:
    """Check one model in a process of its own, which may not grow or last too long."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))  # ends the process
        os.write(writing, json.dumps(row(architecture)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = pipe.read()
    os.waitpid(child, 0)
    return json.loads(result or f'{{"not_made": "took over {SECONDS} s, or {MEMORY >> 30} GiB"}}')


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(x)} |" for x in (head, ["---"] * len(head), *rows))


def short(model: str) -> str:
    return model.removesuffix("ForCausalLM")


def names(row: dict, kind: str) -> list[str]:
    return [finding["name"] for finding in row[kind]]


def cell(model: str, row: dict) -> list[str]:
    """Return what is kept of what, what is not, and what the text crossed."""
    judged = JUDGED["models"].get(short(model), {})
    words = []
    for finding in row["broken"]:
        if finding["name"] in judged.get("design", ()):
            words.append(f"{finding['name']}: by design")
        else:
            thread = judged.get("thread", "")
            link = f" ([{thread.rpartition('/')[2]}]({thread}))" if thread else ""
            words.append(f"**{finding['name']}**: {finding['says'].replace('|', 'or')}{link}")
    total = sum(len(row[kind]) for kind in ("kept", "broken", "not_tested"))
    crossed = row["subject"].partition("crossed: ")[2].partition(")")[0].replace("_", " ")
    return [short(model), f"{len(row['kept'])} of {total}", "<br>".join(words), crossed]


def reason(text: str) -> str:
    """Return why a contract was not tested, without the numbers of one model."""
    if "the logits at position" in text and not text.startswith("nothing"):
        return "what moved is too little to tell a mistake from rounding"
    text = text.partition(":" if text.startswith("the call raises") else ";")[0]
    return re.sub(r"by [\d.e-]+", "by a hair", text).replace("|", "or").strip()


def untested(checked: dict[str, dict]) -> list[list[str]]:
    """Return why contracts were not tested, and of which models."""
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for model, row in checked.items():
        for finding in row["not_tested"]:
            reasons[finding["name"], reason(finding["says"])].append(short(model))
    order = sorted(reasons.items(), key=lambda x: (x[0][0], -len(x[1])))
    return [[name, why, str(len(models)), ", ".join(models)] for (name, why), models in order]


def counted(rows: list[dict]) -> list[list[str]]:
    """Return how many models keep a contract, break it, and could not be tested for it."""
    kinds = ("kept", "broken", "not_tested")
    found = [Counter(name for row in rows for name in names(row, kind)) for kind in kinds]
    contracts_in_order = dict.fromkeys(name for row in rows for name in names(row, "kept"))
    return [[name, *(str(count[name]) for count in found)] for name in contracts_in_order]


def page(found: dict[str, dict], version: str) -> str:
    """Return the page: what was kept, by contract and by model, what was not, and why."""
    checked = {model: row for model, row in found.items() if "kept" in row}
    untried = [
        [short(model), JUDGED["not_made"].get(short(model), f"`{row['not_made']}`")]
        for model, row in found.items()
        if model not in checked
    ]
    seconds = [row["seconds"] for row in checked.values()]
    text = Path(__file__).with_name("census_page.md").read_text(encoding="utf-8")
    return text.format(
        version=version,
        torch=torch.__version__.partition("+")[0],
        date=date.today().isoformat(),
        checked=len(checked),
        known=len(found),
        whole=sum(not row["broken"] for row in checked.values()),
        median=f"{median(seconds):.1f}",
        longest=f"{max(seconds):.0f}",
        models=table(
            ["Architecture", "Kept", "Not kept", "Crossed"],
            [cell(model, row) for model, row in checked.items()],
        ),
        contracts=table(["Contract", "Kept", "Broken", "Not tested"], counted([*checked.values()])),
        untested=table(["Contract", "Why not", "Models", "Which"], untested(checked)),
        untried=table(["Architecture", "Why"], untried),
    )


def main(path: Path, results: Path, chosen: list[str]) -> None:
    """Check all models that the file of results does not hold yet, and write the page."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    row("LlamaForCausalLM")  # imports here, once, what each process would import
    found = json.loads(results.read_text("utf-8")) if results.exists() else {}
    for name in chosen or architectures.names():
        if name not in found:
            found[name] = alone(name)
            results.write_text(json.dumps(found), encoding="utf-8")
            said = found[name].get("not_made") or names(found[name], "broken")
            print(name, said, file=sys.stderr)
    version = importlib.metadata.version("transformers")
    path.write_text(page(dict(sorted(found.items())), version), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
