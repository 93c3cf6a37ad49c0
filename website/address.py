"""Where the book lives: one table in _config.yml, and the static files that repeat it.

    python -m website.address            write the address into those files
    python -m website.address --empty    name what is still empty; exit code 1 if something is

The table has the repository, the website and a contact. Empty, no file names any of them, and a
link in the README leads to a file beside it. The site, the notebooks and Colab's button take the
same table while the book is built.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import yaml

from website import ROOT

BRANCH = "main"
KIND = {"!": "raw", "": "blob"}  # of a picture, of a link
IN_REPOSITORY = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(?:blob|raw)/main/")


class Address(NamedTuple):
    """The three settings, each possibly empty."""

    repository: str  # https://github.com/OWNER/NAME
    site: str  # the website's whole address
    contact: str  # an e-mail address, or a page


def address(root=ROOT):
    """Return the address that ``_config.yml`` has."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    settings = config["sphinx"]["config"]
    site = config["html"].get("baseurl") or ""
    return Address(settings["workbook_repository"], site.rstrip("/"), settings["workbook_contact"])


def readme(text, home):
    """Let links and pictures lead to files of the repository, where a package's page needs it."""
    text = IN_REPOSITORY.sub("", text)
    install = f"pip install git+{home.repository or 'URL'}#subdirectory=attention_contracts"
    comment = "" if home.repository else "  # URL: the address of a repository"
    text = re.sub(r"pip install git\+\S+( +# .*)?", install + comment, text)
    if not home.repository:
        return text
    return re.sub(
        r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)",
        lambda link: f"{link[1]}[{link[2]}]({home.repository}/{KIND[link[1]]}/{BRANCH}/{link[3]})",
        text,
    )


def metadata(text, home):
    """Give a package's metadata its links."""
    text = re.sub(r"\[project\.urls\]\n(?:\w+ = .*\n)*\n", "", text)
    links = {
        "Homepage": home.site or home.repository,
        "Repository": home.repository,
        "Issues": home.repository and f"{home.repository}/issues",
    }
    lines = [f'{name} = "{link}"' for name, link in links.items() if link]
    if not lines:
        return text
    table = "\n".join(["[project.urls]", *lines])
    return text.replace("\n[tool.", f"\n{table}\n\n[tool.", 1)


def messages(text, home):
    """Let reports of the contracts lead to the pages that explain them."""
    pages = f"{home.site}/book/" if home.site else ""
    return re.sub(r'^ADDRESS = ".*"$', f'ADDRESS = "{pages}"', text, flags=re.MULTILINE)


def citation(text, home):
    """Give the citation the addresses of the book and of its code."""
    text = re.sub(r"^(?:url|repository-code): .*\n", "", text, flags=re.MULTILINE)
    lines = {"url": home.site, "repository-code": home.repository}
    return text + "".join(f"{name}: {link}\n" for name, link in lines.items() if link)


def security(text, home):
    """Say whom to tell of a hole."""
    place = "on the repository's page under Security"
    if home.repository:
        place = f"[{place}]({home.repository}/security/advisories/new)"
    contact = f"to {home.contact}" if home.contact else "to its owner"
    rule = f"1. Report a hole in private, {place}, or {contact} where that page offers no report."
    return re.sub(r"^1\. Report a hole in private, .*? offers no report\.", rule, text, flags=re.M)


REWRITTEN = {
    "README.md": readme,
    "pyproject.toml": metadata,
    "attention_contracts/pyproject.toml": metadata,
    "attention_contracts/_report.py": messages,
    "CITATION.cff": citation,
    "SECURITY.md": security,
}


def disagreements(home, root=ROOT):
    """Yield each file that does not say what the table says, with the text that would."""
    for name, rewrite in REWRITTEN.items():
        path = root / name
        if path.exists():
            text = path.read_text(encoding="utf-8")
            if (rewritten := rewrite(text, home)) != text:
                yield path, rewritten


def main(root=ROOT, arguments=()):
    home = address(root)
    if "--empty" in arguments:
        empty = [name for name, setting in home._asdict().items() if not setting]
        for name in empty:
            print(f"{name} is empty in _config.yml")
        return 1 if empty else 0
    for path, text in disagreements(home, root):
        Path(path).write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(root)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(arguments=sys.argv[1:]))
