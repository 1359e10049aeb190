"""URLs of the viewer and the corresponding files of an export."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

_NEEDS_SERVER = ("/playground", "/events", "/tags", "/static/runs.js", "/static/run.js", "/static/live.js")

_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "/": ("page",),
    "/run": ("run", "judge"),
    "/gallery": ("run", "judge", "page"),
    "/item": ("run", "judge", "item", "sample"),
    "/compare": ("run", "compared", "group", "page"),
    "/image": ("run", "item", "sample"),
    "/thumbnail": ("run", "item", "sample"),
    "/witness": ("run", "item"),
}
"""Query parameters with a page for each value. The browser applies the filters of a gallery."""

_NO_OTHERS = ("/", "/compare")  # not exported with other parameters, such as a sort order
_DEFAULTS = {"page": "1", "sample": "0"}
_POSITION = ("at", "sample", "page")  # parameters of a gallery that are no filters
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")


class Address(NamedTuple):
    """A viewer URL, reduced to the parts that make a difference in an export."""

    path: str
    values: tuple[tuple[str, str], ...]  # query parameters, in a fixed order
    filters: tuple[tuple[str, str], ...] = ()  # of a gallery, applied by the browser
    fragment: str = ""
    image: Address | None = None  # of a gallery: the page of the image to show in it

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
        """Return the path of the exported file, in plain characters."""
        if self.path.startswith("/static/"):
            return f"static/{_slug(self.path.removeprefix('/static/').rpartition('.')[0])}{suffix}"
        runs = [_slug(value) for name, value in self.values if name == "run"]
        parts = [
            _slug(value) if name == "item" else f"{_slug(name)}-{_slug(value)}"
            for name, value in self.values
            if name != "run"
        ]
        folders = [_slug(unquote(part)) for part in self.path.split("/") if part]
        folders += ["--".join(runs)] if runs else []
        return "/".join([*folders, f"{'-'.join(parts) or 'index'}{suffix}"])


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
    path = parts.path
    if parts.scheme or parts.netloc or not path.startswith("/"):
        return None
    if any(path == prefix or path.startswith(f"{prefix}/") for prefix in _NEEDS_SERVER):
        return None
    query = [(name, value) for name, value in parse_qsl(parts.query) if value]
    parameters = _PARAMETERS.get(path)
    if parameters is None:
        return Address(path, tuple(sorted(query)), fragment=parts.fragment)
    if path in _NO_OTHERS and not {name for name, _ in query} <= {*parameters}:
        return None
    values = [pair for name in parameters for pair in query if pair[0] == name and pair[1] != _DEFAULTS.get(name)]
    if path != "/gallery":
        return Address(path, tuple(values), fragment=parts.fragment)
    filters = tuple(pair for pair in query if pair[0] not in (*parameters, *_POSITION))
    position = dict(query)
    image = None
    if "at" in position:
        item = {**position, "item": position["at"]}
        image = parse_address(f"/item?{urlencode({name: item[name] for name in _PARAMETERS['/item'] if name in item})}")
    if filters or image:  # which have pages of their own
        values = [pair for pair in values if pair[0] != "page"]
    return Address(path, tuple(values), filters, parts.fragment, image)


def relative_link(source: str, target: str) -> str:
    """Return the relative link from one exported file to another."""
    folders, parts = source.split("/")[:-1], target.split("/")
    shared = 0
    while shared < min(len(folders), len(parts) - 1) and folders[shared] == parts[shared]:
        shared += 1
    return "/".join([".."] * (len(folders) - shared) + parts[shared:])
