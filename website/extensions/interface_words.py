"""Sphinx extension: what the website itself says, in the language of ``_config.yml``.

Templates, scripts and extensions are written in English. ``website/words.toml`` lists their
sentences, and holds the translations of a book in another language: here they are put in place of
the English ones, in pages where they are a whole text or attribute, in scripts where they are a
whole string. In English nothing is changed.
"""

import json
import re
import tomllib
from html import escape, unescape
from pathlib import Path

WORDS = Path(__file__).resolve().parent.parent / "words.toml"
SHOWN = re.compile(r'(?<=>)[^<>]+(?=<)|(?<==")[^"<>]+(?=")')  # in a page: texts and attributes


def sentences(path=WORDS):
    """The sentences of every file, with their translations: a table for each."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def translations(path=WORDS):
    """The sentences that are translated."""
    return {
        english: translation
        for table in sentences(path).values()
        for english, translation in table.items()
        if translation
    }


def in_script(text, words):
    """Return a script whose strings are translated.

    Examples
    --------
    >>> words = {"On": "Weiter", "${n} of ${all}": "${n} von ${all}"}
    >>> in_script('say("On"); say(`${n} of ${all}`)', words)
    'say("Weiter"); say(`${n} von ${all}`)'
    """
    for english, translation in words.items():
        text = text.replace(f"`{english}`", f"`{translation}`")
        text = text.replace(f'"{english}"', json.dumps(translation, ensure_ascii=False))
    return text


def in_page(text, words):
    """Return a page whose texts and attributes are translated.

    In a sentence {} stands for anything.

    Examples
    --------
    >>> words = {"Show": "Zeigen", "page {}": "Seite {}"}
    >>> in_page("<b>Show</b> <i>Show it</i> <p>page 3</p>", words)
    '<b>Zeigen</b> <i>Show it</i> <p>Seite 3</p>'
    """
    patterns = [
        (re.compile(re.escape(english).replace(r"\{\}", "(.+)")), translation)
        for english, translation in words.items()
        if "{}" in english
    ]

    def translated(shown):
        whole = " ".join(unescape(shown[0]).split())
        translation = words.get(whole)
        for pattern, form in [] if translation else patterns:
            if filled := pattern.fullmatch(whole):
                translation = form.format(*filled.groups())
        if not translation:
            return shown[0]
        before, after = re.fullmatch(r"(\s*).*?(\s*)", shown[0], re.DOTALL).groups()
        return f"{before}{escape(translation)}{after}"

    return SHOWN.sub(translated, text)


def translate(app, error):
    words = translations(Path(app.config.workbook_words))
    if error or app.builder.format != "html" or not words:
        return
    folder = Path(app.outdir)
    for pattern, put in (("*.html", in_page), ("_static/**/*.js", in_script)):
        for path in folder.rglob(pattern):
            path.write_text(put(path.read_text("utf-8"), words), "utf-8")


def setup(app):
    app.add_config_value("workbook_words", str(WORDS), "env")
    app.connect("build-finished", translate, priority=950)  # after all that write pages or scripts
    return {"parallel_read_safe": True, "parallel_write_safe": True}
