"""Whether HTML or SVG is inert: it loads and runs nothing, whatever way it is written."""

import re
from html.parser import HTMLParser

RUNS = {"script", "iframe", "frame", "object", "embed", "applet", "portal", "foreignobject"}
RUNS |= {"link", "base", "meta", "form", "template", "animate", "set", "handler", "listener"}
LOADS = {"src", "srcset", "srcdoc", "poster", "background", "data", "action", "formaction", "ping"}
LOADS |= {"href", "xlink:href", "manifest", "longdesc", "lowsrc", "codebase", "cite"}
LEADS = {"a", "area"}  # their href leads somewhere, once a reader follows it
CARRIED = ("#", "data:image/", "data:font/")
STYLE = re.compile(
    r"@import|expression\(|-moz-binding|behavior:"
    r"|(?:url|src|image|image-set)\(\s*[\"']?(?!\s*(?:#|%23|data:image/|data:font/))",
    re.IGNORECASE,
)


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.active, self.in_style = [], False

    def handle_starttag(self, tag, attributes):
        self.in_style = tag == "style"
        if tag in RUNS:
            self.active.append(self.get_starttag_text()[:40])
        for name, value in attributes:
            value = value or ""
            # A browser drops white space and control characters from an address.
            address = re.sub(r"[\x00-\x20]", "", value).lower()
            if name.startswith("on"):
                self.active.append(f"{name}=")
            elif re.match(r"(java|vb|live)script:|data:(?!image/|font/)", address):
                self.active.append(f"{name}={address.partition(':')[0]}:")
            elif name in LOADS and tag not in LEADS and not address.startswith(CARRIED):
                self.active.append(f"{name}=")
            elif not name.startswith("data-") and not address.startswith("data:"):
                self.style(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.in_style = False

    def handle_endtag(self, tag):
        self.in_style = False

    def handle_data(self, text):
        if self.in_style:
            self.style(text)

    def style(self, text):
        letters = re.sub(r"\\([0-9a-fA-F]{1,6})\s?", lambda m: chr(int(m[1], 16) % 0x110000), text)
        self.active += [match[0] for match in STYLE.finditer(letters)]


def loaded_or_run(markup):
    """Return what in the markup loads or runs something, each by the words it begins with."""
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader.active
