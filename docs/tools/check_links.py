"""Checks the built site: links and anchors inside it exist, and nothing is loaded from elsewhere.

python -m docs.tools.check_links build/site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
NOT_LOADED = {"canonical", "next", "prev", "alternate", "edit"}  # kinds of <link> that load nothing


class Found(HTMLParser):
    """The identifiers of one page, the links on it, and what a browser loads for it."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        name = LOADED.get(tag)
        if name and values.get(name) and not NOT_LOADED & set((values.get("rel") or "").split()):
            self.loaded.append(values[name])


def _file(site, page, address):
    """The file that an address on a page means; from "/" on it counts from the top of the site."""
    return (
        site / unquote(address[1:]) if address[:1] == "/" else page.parent / unquote(address)
    ).resolve()


def faults(site: Path) -> list[str]:
    """One sentence for every broken link, and for everything that is loaded from elsewhere."""
    pages = {path: Found(path.read_text()) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        for address in page.loaded:
            parts = urlsplit(address)
            if parts.scheme not in ("", "data") or parts.netloc:
                found.append(f"{where} loads {address}")
            elif not parts.scheme and not _file(site, path, parts.path).exists():
                found.append(f"{where} loads {address}, which is not there")
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = _file(site, path, parts.path) if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{where} links to {address}, which is not there")
            elif target in pages and unquote(parts.fragment) not in pages[target].ids | {""}:
                found.append(f"{where} links to {address}, but there is no such anchor")
    for style in site.rglob("*.css"):
        if "url(http" in style.read_text() or "@import" in style.read_text():
            found.append(f"{style.relative_to(site)} loads something from elsewhere")
    return sorted(set(found))


if __name__ == "__main__":
    faulty = faults(Path(sys.argv[1]).resolve())
    print(*faulty, f"{len(faulty)} faults", sep="\n")
    sys.exit(bool(faulty))
