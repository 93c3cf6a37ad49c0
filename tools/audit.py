"""Ask pip-audit which pinned packages have known holes: what `make audit` calls.

Every pin of constraints.txt is asked about, of all platforms and Pythons. A hole that does not
touch this book can be waived in tools/waivers.toml, with a reason and until a day. What could not
be asked is not passed off as safe: the audit then was not run, says so, and does not succeed.
"""

import datetime
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WAIVERS = ROOT / "tools" / "waivers.toml"
LONGEST = datetime.timedelta(days=183)


def listed(text):
    """Lines such as ``numpy==2.4.6``, in lists that name no package twice, as pip-audit wants."""
    lists = []
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE):
        free = next((pins for pins in lists if name not in pins), None)
        if free is None:
            lists.append(free := {})
        free[name] = f"{name}=={version}"
    return [[*pins.values()] for pins in lists]


def ask(pins):
    """What pip-audit reports of each package of a list; ConnectionError where it could not ask."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "requirements.txt")
        wanted.write_text("\n".join(pins), encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", f"--requirement={wanted}", "--no-deps"]
        command += ["--disable-pip", "--format=json", "--progress-spinner=off"]
        command += [f"--cache-dir={folder}"]  # what is known today, not what was last week
        done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)["dependencies"]
    except ValueError:
        said = done.stderr.strip().rpartition("\n")[2] or "no word why"
        raise ConnectionError(f"pip-audit ended with: {said}") from None


def problems(report, waivers, today):
    """A sentence for each hole that is not waived, each package that was not asked about, and each
    waiver that has ended, was given for too long or without a reason, or waives nothing."""
    waived = {waiver["id"]: waiver for waiver in waivers}
    needed = set()
    for package in report:
        if "skip_reason" in package:
            yield f"{package['name']} could not be audited: {package['skip_reason']}."
        for hole in package.get("vulns", ()):
            names = {hole["id"], *hole["aliases"]}
            needed |= names
            if not names & waived.keys():
                mended = ", ".join(hole["fix_versions"]) or "no version yet"
                yield f"{package['name']} {package['version']}: {hole['id']}, mended in {mended}."
    for name, waiver in waived.items():
        until = waiver["until"]
        if until <= today:
            yield f"The waiver of {name} ended on {until}: raise the version, or look again."
        if until > today + LONGEST:
            yield f"The waiver of {name} lasts until {until}: give it half a year at most."
        if len(waiver.get("reason", "").split()) < 5:
            yield f"The waiver of {name} lacks a reason."
        if name not in needed:
            yield f"The waiver of {name} is not needed any more: take it out."


def main():
    waivers = tomllib.loads(WAIVERS.read_text(encoding="utf-8")).get("waiver", [])
    lists = listed((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    try:
        report = [package for pins in lists for package in ask(pins)]
        if all("skip_reason" in package for package in report):
            raise ConnectionError("the service with the advisories knew none of the packages")
    except ConnectionError as error:
        sys.exit(f"The audit was not run: {error}.")
    if complaints := [*problems(report, waivers, datetime.date.today())]:
        sys.exit("\n".join(complaints))
    print(f"None of the {len(report)} pinned packages has a known hole, or all are waived.")


if __name__ == "__main__":
    main()
