"""A book in another language: what the website itself says is translated."""

import nbformat
import yaml

from tests.nightly.website.test_carrier import GOOD
from website import book
from website.notebooks import chapters, read

GERMAN = {
    "theme/layout.html": {"Search the book": "Im Buch suchen"},
    "theme/page.html": {"Report a mistake on this page": "Einen Fehler melden"},
    "extensions/predictions.py": {"What do you think?": "Was meinst du?"},
    "static/predictions.js": {"Your guess: ${text}. ${why}": "Deine Vermutung: ${text}. ${why}"},
    "../attention_workbook/exercises/engine/exercise.js": {"Check": "Prüfen"},
}
ENGLISH = [sentence for table in GERMAN.values() for sentence in table]
PLACES = {
    "Im Buch suchen": "book/index.html",
    "Einen Fehler melden": "book/chapter.html",
    "Was meinst du?": "book/chapter.html",
    "Deine Vermutung: ${text}. ${why}": "_static/predictions.js",
    "Prüfen": "_static/attention_exercises/exercise.js",
}


def test_five_sentences_of_another_language(small_book):
    words = small_book / "words.toml"
    words.write_text(
        "\n".join(
            f'["{file}"]\n' + "\n".join(f'"{old}" = "{new}"' for old, new in table.items())
            for file, table in GERMAN.items()
        )
    )
    config = yaml.safe_load((small_book / "_config.yml").read_text(encoding="utf-8"))
    more = {"language": "de", "workbook_words": str(words), "workbook_repository": GOOD}
    config["sphinx"]["config"] |= more
    (small_book / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    with open(small_book / "_toc.yml", "a") as toc:
        toc.write("chapters:\n- file: book/chapter\n")
    output = nbformat.v4.new_output("stream", name="stdout", text="2\n")
    cells = [
        nbformat.v4.new_markdown_cell("# Ein Kapitel\n\n**Predict:** eins und eins?"),
        nbformat.v4.new_code_cell("print(1 + 1)", execution_count=1, outputs=[output]),
    ]
    chapter = nbformat.v4.new_notebook(cells=cells, metadata=read(chapters()[0])["metadata"])
    nbformat.write(chapter, small_book / "book" / "chapter.ipynb")
    book.main(small_book)
    built = small_book / "_build" / "html"
    for sentence, name in PLACES.items():
        assert sentence in (built / name).read_text(encoding="utf-8"), f"{name}: {sentence}"
    for path in [*built.rglob("*.html"), *built.rglob("_static/**/*.js")]:
        text = path.read_text(encoding="utf-8")
        remains = [s for s in ENGLISH if f">{s}<" in text or f'"{s}"' in text or f"`{s}`" in text]
        assert not remains, f"{path.name}: {remains}"
        assert path.suffix != ".html" or '<html lang="de">' in text
