"""URLs of the viewer and the corresponding files of an export."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

_NEEDS_SERVER = ("/playground", "/events", "/tags", "/static/runs.js", "/static/run.js", "/static/live.js")
"""What is not in an export: it computes or changes something when it is asked for, or watches what changes."""

_KEPT: Mapping[str, tuple[str, ...]] = {
    "/": ("page",),
    "/run": ("run", "judge"),
    "/gallery": ("run", "judge", "page"),
    "/item": ("run", "judge", "item", "sample"),
    "/compare": ("run", "compared", "group", "page"),
    "/image": ("run", "item", "sample"),
    "/thumbnail": ("run", "item", "sample"),
    "/witness": ("run", "item"),
}
"""The values of a query that a page of its own is made for. Filters of a gallery are left to the browser."""

_NOTHING_ELSE = ("/", "/compare")
"""Pages that are not exported with other values than these: sorted, or with another baseline."""

_DEFAULTS: Mapping[tuple[str, str], str] = {
    ("/", "page"): "1",
    ("/gallery", "page"): "1",
    ("/compare", "page"): "1",
    ("/item", "sample"): "0",
    ("/image", "sample"): "0",
    ("/thumbnail", "sample"): "0",
}
"""Values that mean the same as none."""

_POSITION = ("at", "sample", "page")  # Values of a gallery that say where in it one is, and not what it shows
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")


class Address(NamedTuple):
    """A viewer URL, reduced to the parts that make a difference in an export."""

    path: str  # its path, such as `/item`
    values: tuple[tuple[str, str], ...]  # the values of its query, in a fixed order
    filters: tuple[tuple[str, str], ...] = ()  # for a gallery: what it is filtered by, for the browser to do
    fragment: str = ""  # the place in the page
    image: Address | None = None  # for a gallery: the page of the image that it was left for

    @property
    def page(self) -> Address:
        """The page at this URL, without its fragment and filters."""
        return Address(self.path, self.values)

    @property
    def url(self) -> str:
        """The URL to request."""
        return f"{self.path}?{urlencode(self.values, errors='replace')}" if self.values else self.path

    def value(self, name: str) -> str:
        """Return a query value, or an empty string if it is missing."""
        return dict(self.values).get(name, "")

    def file(self, suffix: str = ".html") -> str:
        """Return the path of the exported file, in plain characters and always the same for equal addresses."""
        if self.path.startswith("/static/"):
            return f"static/{_slug(self.path.removeprefix('/static/').rpartition('.')[0])}{suffix}"
        runs = [value for name, value in self.values if name == "run"]
        others = [_part(name, value) for name, value in self.values if name != "run"]
        folders = [_slug(unquote(part)) for part in self.path.split("/") if part]
        folders += ["--".join(map(_slug, runs))] if runs else []
        return "/".join([*folders, f"{'-'.join(others) or 'index'}{suffix}"])


def _part(name: str, value: str) -> str:
    return _slug(value) if name == "item" else f"{_slug(name)}-{_slug(value)}"


def _slug(text: str) -> str:
    """Convert text to a plain file name, with a digest appended if characters were lost."""
    if _PLAIN.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    plain = re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-")[:40]
    return f"{plain}-{digest}" if plain else digest


@lru_cache(maxsize=16_384)
def parse_address(url: str) -> Address | None:
    """Return the address of a link, or None if it leaves the site or needs a server."""
    parts = urlsplit(url)
    if parts.scheme or parts.netloc or not parts.path.startswith("/"):
        return None
    if any(parts.path == path or parts.path.startswith(f"{path}/") for path in _NEEDS_SERVER):
        return None
    given = [(name, value) for name, value in parse_qsl(parts.query) if value]
    kept = _KEPT.get(parts.path)
    if kept is None:
        return Address(parts.path, tuple(sorted(given)), fragment=parts.fragment)
    if parts.path in _NOTHING_ELSE and not {name for name, _ in given} <= {*kept}:
        return None
    values = [
        (name, value)
        for wanted in kept
        for name, value in given
        if name == wanted and value != _DEFAULTS.get((parts.path, name))
    ]
    if parts.path != "/gallery":
        return Address(parts.path, tuple(values), fragment=parts.fragment)
    filters = tuple((name, value) for name, value in given if name not in (*kept, *_POSITION))
    found = dict(given)
    image = None
    if "at" in found:
        left = {
            "run": found.get("run"),
            "judge": found.get("judge"),
            "item": found["at"],
            "sample": found.get("sample"),
        }
        image = parse_address(f"/item?{urlencode({name: value for name, value in left.items() if value})}")
    if filters or image:  # the pages of what is filtered are others
        values = [(name, value) for name, value in values if name != "page"]
    return Address(parts.path, tuple(values), filters, parts.fragment, image)


def relative_link(source: str, target: str) -> str:
    """Return the relative link from one exported file to another."""
    here, there = source.split("/")[:-1], target.split("/")
    shared = next((n for n, (one, other) in enumerate(zip(here, there, strict=False)) if one != other), len(here))
    shared = min(shared, len(there) - 1)
    return "/".join([".."] * (len(here) - shared) + there[shared:])
