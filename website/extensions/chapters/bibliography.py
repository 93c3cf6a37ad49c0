"""Let plain Markdown links reach the bibliography: ``[Vaswani](bibliography.md#vaswani2017)``.

MyST follows a link with an anchor only to headings that it has seen. The bibliography's entries
come from sphinxcontrib-bibtex, so they are added to the headings of their page once all are read.
A link to a key that references.bib lacks stays what it was: a warning, and so a failed build.
"""


def add_entries(app, env):
    for entry in env.get_domain("cite").citations:
        anchors = env.metadata[entry.bibliography_key.docname].setdefault("myst_slugs", {})
        anchors[entry.key] = (None, entry.citation_id, entry.key)


def setup(app):
    app.setup_extension("sphinxcontrib.bibtex")
    app.connect("env-check-consistency", add_entries)
