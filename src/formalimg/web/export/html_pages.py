"""Rewrite viewer pages for an export: links between files, and no features that need a server.

Templates and figures escape all foreign text, so that `<` begins a tag and attributes end at the next quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape, unescape
from typing import TypeAlias

from formalimg.web.export.addresses import Address, parse_address

Link: TypeAlias = Callable[[str], str | None]  # returns the link to a URL's file; None if the export has none
_FORM = re.compile(r"<form\b([^<>]*)>(.*?)</form>", re.DOTALL)
_ACTION = re.compile(r'\saction="([^"?]*)[^"]*"')
_POST = re.compile(r'\smethod="post"', re.IGNORECASE)
_STATIC_FORMS = ("/gallery", "/compare")  # answered by a script of the export; others need a server
_SCRIPT = re.compile(r'<script src="(/[^"]*)"[^<>]*></script>')
_TAG = re.compile(r'<([a-z]+)(\s[^<>]*?="/[^<>]*)>')
_ATTRIBUTE = re.compile(r'\s(href|src|poster|formaction|data-[\w-]+)="(/[^"]*)"')
_HREF = re.compile(r'\shref="(/[^"]*)"')
_NEXT = re.compile(r'<a href="(/[^"]*)" rel="next">')
_TILES = re.compile(r'<ol class="tiles">(.*?)</ol>', re.DOTALL)
_TILE_START = re.compile(r'(?=<li class="tile )')

_POLICY = (
    "default-src 'none'; img-src 'self' data: file:; style-src 'self' file:; script-src 'self' file:; "
    "base-uri 'none'; form-action 'none'"
)
"""As for the viewer; `file:` is where 'self' means nothing to browsers."""

_NOT_EXPORTED = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 160 160'%3E%3Ctext x='80' y='84' "
    "font-family='sans-serif' font-size='11' fill='%23888' text-anchor='middle'%3Enot exported%3C/text%3E%3C/svg%3E"
)
"""In place of an image that is not exported, with the same size, so that boxes stay in place."""


def rewrite_page(page: str, link: Link, *, head: str = "", end: str = "", form: str = "") -> str:
    """Return a page with its links rewritten and its server-only features removed."""

    def rewrite_tag(tag: re.Match[str]) -> str:
        name, attributes = tag.groups()
        if name == "link" and any(link(unescape(url)) is None for url in _HREF.findall(attributes)):
            return ""

        def rewrite_attribute(attribute: re.Match[str]) -> str:
            target = link(unescape(attribute[2]))
            if target is None and name == "img" and attribute[1] == "src":
                target = _NOT_EXPORTED
            return "" if target is None else f' {attribute[1]}="{escape(target)}"'

        return f"<{name}{_ATTRIBUTE.sub(rewrite_attribute, attributes)}>"

    def rewrite_form(match: re.Match[str]) -> str:
        action = _ACTION.search(match[1])
        if action is None or action[1] not in _STATIC_FORMS or _POST.search(match[1]):
            return ""
        attributes = match[1].replace(action[0], "")
        return f'<form{attributes} data-static="{action[1].strip("/")}"{form}>{match[2]}</form>'

    page = _FORM.sub(rewrite_form, page)
    page = _SCRIPT.sub(lambda script: script[0] if link(unescape(script[1])) is not None else "", page)
    page = _TAG.sub(rewrite_tag, page)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n{head}'
    page = page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}', 1)
    return page.replace("</main>", f"{end}</main>", 1)


def find_tiles(page: str, rewritten: str) -> Iterator[tuple[Address, str]]:
    """Yield the address of each image in a gallery, with its rewritten markup."""
    for tile, markup in zip(_tile_markup(page), _tile_markup(rewritten), strict=True):
        address = next(_addresses(tile), None)
        if address is not None:
            yield address.page, markup


def find_filters(page: str) -> dict[tuple[str, str], None]:
    """Return the names and values of the filters that a gallery links to, in order."""
    return {address.filters[0]: None for address in _addresses(page) if len(address.filters) == 1}


def find_next_page(page: str) -> str:
    """Return the URL of the next page, or an empty string if this is the last."""
    match = _NEXT.search(page)
    return unescape(match[1]) if match else ""


def _tile_markup(page: str) -> list[str]:
    match = _TILES.search(page)
    return [tile.strip() for tile in _TILE_START.split(match[1])[1:]] if match else []


def _addresses(markup: str) -> Iterator[Address]:
    return filter(None, (parse_address(unescape(url)) for url in _HREF.findall(markup)))
