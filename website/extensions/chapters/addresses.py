"""Where the site has an address (``html: baseurl``): cards for links to its pages, and sitemap.xml.

Both are for others' programs, which follow full addresses only; without one there is neither.
"""

from sphinx.errors import ConfigError


def front_card(app, pagename, templatename, context, doctree):
    """Give the root of the site, which leads to the front page, the front page's card."""
    if templatename == "redirect.html":
        from sphinxext import opengraph

        root = app.config.root_doc
        title = app.env.titles[root].astext()
        context |= {"pagename": root, "title": title, "meta": None, "metatags": ""}
        context["pageurl"] = app.config.html_baseurl + app.builder.get_target_uri(root)
        front = app.env.get_doctree(root)
        opengraph.html_page_context(app, pagename, templatename, context, front)


def setup(app):
    base = app.config.html_baseurl
    if base and not base.startswith(("https://", "http://")):
        raise ConfigError(
            f"html: baseurl in _config.yml is {base!r}: write the site's whole address, beginning "
            "with https://, or leave it out."
        )
    if base:
        app.config.html_baseurl = base.rstrip("/") + "/"
        app.setup_extension("sphinxext.opengraph")
        app.config.ogp_site_url = app.config.html_baseurl
        app.config.ogp_site_name = app.config.html_title
        app.config.ogp_enable_meta_description = False  # the theme writes its own
        app.setup_extension("sphinx_sitemap")
        app.config.sitemap_url_scheme = "{link}"
        app.config.sitemap_excludes = ["index.html", "search.html", "404.html"]
        app.connect("html-page-context", front_card)
