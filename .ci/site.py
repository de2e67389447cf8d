#!/usr/bin/env python3
"""Checks the links of the site that mdBook built.

    .ci/site.py target/book

Each link leads to a file of the site, and behind `#` to a place in it. Scripts, styles and pictures are
files of the site too, for it must work without a network. Exit status 1 names what does not.
"""

import pathlib
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, what it loads, and the places in it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.places = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.places.update(of[name] for name in ("id", "name") if of.get(name))
        if tag == "a" and of.get("href"):
            self.links.add(of["href"])
        if tag in ("img", "script", "source", "iframe") and of.get("src"):
            self.loads.add(of["src"])
        if tag == "link" and of.get("href"):
            self.loads.add(of["href"])


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    faults = []
    links = 0
    for path, page in pages.items():
        # The page of all pages repeats them, and the page of errors may lie at any address.
        if path.name in ("print.html", "404.html"):
            continue
        name = path.relative_to(site)
        for target in sorted(page.links | page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads:
                    faults.append(f"{name}: {target} is loaded from elsewhere")
                continue
            links += 1
            other = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not other.is_file():
                faults.append(f"{name}: {target} is not there")
            elif parts.fragment and other in pages:
                if unquote(parts.fragment) not in pages[other].places:
                    faults.append(f"{name}: {target} is no place of that page")
    print(f"{len(pages)} pages, {links} links within the site")
    if not pages:
        faults.append(f"{site} has no pages")
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
