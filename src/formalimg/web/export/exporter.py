"""Export the viewer: request its pages from the application in this process, and follow their links."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import urlencode

from anyio.from_thread import start_blocking_portal
from starlette.types import ASGIApp

from formalimg.errors import FormalimgError
from formalimg.reports.tables.format import count_noun
from formalimg.web.export.addresses import Address, parse_address, relative_link
from formalimg.web.export.export_folder import ExportFolder
from formalimg.web.export.html_pages import FilterChoice, RewrittenPage
from formalimg.web.export.in_process import Answer, request
from formalimg.web.export.run_pairs import RunPairs, choose_pairs, suites_of_runs
from formalimg.web.rendering import fragment, static_pages
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site

ExportImages: TypeAlias = Literal["all", "failures", "none"]
"""Which images an export has: all, those that do not pass, or none."""

ImageSize: TypeAlias = Literal["full", "thumbnail"]
"""Images as they are stored, or only small ones."""

_MAX_OTHER_PAGES = 10_000
"""Pages of a kind that is not known here are exported up to this number: their addresses may never end."""

_ORDER = ("/", "/run", "/gallery", "/compare", "/item")
"""The kinds of pages, in the order in which they are written: galleries say on which of their pages an image is."""

_PENDING = re.compile(rb"<[a-z]+ [^<>]*\bdata-pending\b")
"""What a page of runs has that does not show all of them yet."""

_MAX_WAITS = 1_000

_JOINT = ("kind", "word")
"""Filters that are about the same failed part: an image may match each of them alone, and not both."""

_SCRIPT = Address("/static/export.js", ())

_SUFFIXES = {
    "text/css": ".css",
    "text/javascript": ".js",
    "image/svg+xml": ".svg",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
}


class ExportedSite(NamedTuple):
    """What an export wrote.

    Attributes:
        folder: its folder.
        runs: the number of runs.
        files: the number of files.
        left_out: what is not in it, one line each.
    """

    folder: Path
    runs: int
    files: int
    left_out: tuple[str, ...]


def export_viewer(
    site: Site,
    folder: str | Path,
    *,
    images: ExportImages = "all",
    size: ImageSize = "full",
    force: bool = False,
    on_progress: Callable[[int], None] = lambda files: None,
) -> ExportedSite:
    """Write the viewer to a folder, as a site that opens from disk and from any web server.

    Args:
        site: the runs to show.
        folder: where to. An earlier export there is replaced.
        images: which images: all, failures (those that do not pass), or none.
        size: as they are stored (`full`), or as thumbnails only.
        force: whether the folder may hold other files. They are kept, unless a page has the same name.
        on_progress: called after each page with the number of files so far.

    Raises:
        FormalimgError: if the folder holds something else, or cannot be written.
    """
    target = Path(folder)
    if target.resolve().is_relative_to(site.folder.resolve()):
        raise FormalimgError(f"{target} is inside the folder of the runs: export to a folder outside of it")
    written = ExportFolder(target, force=force)
    suites = dict(suites_of_runs(site))
    pairs = choose_pairs(suites)
    left_out = tuple(_left_out(pairs, images, size))
    app = create_viewer_app(site, token=None)
    # In a thread of its own, so that it does not matter whether the caller has an event loop.
    with start_blocking_portal() as portal:
        _Crawl(
            lambda url: portal.call(_request_static, app, url),
            written,
            _ImageFiles(site, images, size),
            pairs,
            left_out,
        ).run(on_progress)
    written.finish()
    return ExportedSite(target, len(suites), len(written), left_out)


async def _request_static(app: ASGIApp, url: str) -> Answer:
    static_pages.set(True)
    return await request(app, url)


def _left_out(pairs: RunPairs, images: ExportImages, size: ImageSize) -> Iterator[str]:
    if pairs.left_out:
        yield f"the comparisons of {count_noun(pairs.left_out, 'more pair')} of runs"
    if images != "all":
        yield "all images" if images == "none" else "images that pass"
    if images != "none" and size == "thumbnail":
        yield "images larger than thumbnails"


class _ImageFiles:
    """Which image files are exported."""

    def __init__(self, site: Site, images: ExportImages, size: ImageSize) -> None:
        self._site, self._images, self._size = site, images, size
        self._passed: dict[str, frozenset[tuple[str, str]]] = {}

    def choose(self, address: Address) -> Address | None:
        """Return the file that stands for an image; None if there is none."""
        if self._images == "none" or (self._images == "failures" and self._passes(address)):
            return None
        return address._replace(path="/thumbnail") if self._size == "thumbnail" else address

    def _passes(self, address: Address) -> bool:
        run = address.value("run")
        if run not in self._passed:
            with self._site.open(run) as opened:
                outcomes = list(opened.outcomes())
            self._passed[run] = frozenset((one.item, str(one.sample)) for one in outcomes if one.passed)
        return (address.value("item"), address.value("sample") or "0") in self._passed[run]


class _Crawl:
    """One export: the pages that are still to be written, and what is known of those that are."""

    def __init__(
        self,
        get: Callable[[str], Answer],
        folder: ExportFolder,
        images: _ImageFiles,
        pairs: RunPairs,
        left_out: tuple[str, ...],
    ) -> None:
        self._get, self._folder, self._images = get, folder, images
        self._pairs, self._left_out = pairs, left_out
        self._todo: list[deque[Address]] = [deque() for _ in (*_ORDER, "others")]
        self._known: set[Address] = set()
        self._others: Counter[str] = Counter()
        self._files: dict[Address, str | None] = {}
        self._galleries: dict[Address, Address] = {}

    def run(self, on_progress: Callable[[int], None]) -> None:
        """Write all pages, and what they show."""
        self._file(_SCRIPT)
        first = Address("/", ())
        for _ in range(_MAX_WAITS):
            if not _PENDING.search(self._get(first.url).body):  # each request sums up some more of the runs
                break
        self._enqueue(first)
        for pair in self._pairs.pairs:
            self._enqueue(_comparison(pair))
        while queue := next(filter(None, self._todo), None):
            self._write_page(queue.popleft())
            on_progress(len(self._folder))

    # --- pages

    def _enqueue(self, page: Address) -> bool:
        """Note a page that is to be written; return whether it will be."""
        if page in self._known:
            return True
        if page.path not in _ORDER:
            kind = page.path.split("/")[1]
            self._others[kind] += 1
            if self._others[kind] > _MAX_OTHER_PAGES:
                return False
        self._known.add(page)
        self._todo[_ORDER.index(page.path) if page.path in _ORDER else -1].append(page)
        return True

    def _write_page(self, address: Address) -> None:
        # What cannot be shown is exported as the viewer says so.
        file = address.file()
        page = self._rewritten(self._get(address.url), file, address)
        if address.path == "/gallery":
            for tile in page.tiles:
                self._galleries[tile.address] = address
            if not address.value("page"):
                self._write_tiles(address, page.choices)
        self._folder.write(file, page.text.encode())

    def _rewritten(self, answer: Answer, file: str, address: Address) -> RewrittenPage:
        head = f'<script src="{relative_link(file, _SCRIPT.file(".js"))}" defer></script>'
        return RewrittenPage(
            answer.body.decode("utf-8", "replace"),
            lambda url: self._link(url, file),
            head,
            self._end() if address == Address("/", ()) else "",
            f' data-tiles="{_tiles_name(address)}"' if address.path == "/gallery" else "",
        )

    def _end(self) -> str:
        """Return what stands at the end of the first page: all comparisons, and what is not in the export."""
        compared = [(pair, _comparison(pair).file()) for pair in self._pairs.pairs]
        return fragment("export.html", compared=compared, left_out=self._left_out)

    # --- links

    def _link(self, url: str, file: str) -> str | None:
        """Return where a link of a file leads; what it needs is written, or noted to be."""
        address = parse_address(url)
        target = None if address is None else self._target(address)
        if address is None or target is None:
            return None
        place = urlencode(address.filters) or address.fragment
        return relative_link(file, target) + (f"#{place}" if place else "")

    def _target(self, address: Address) -> str | None:
        """Return the file of an address; None if it is not exported."""
        page = address.page
        if page.path in ("/image", "/thumbnail"):
            image = self._images.choose(page)
            return None if image is None else self._file(image)
        if page.path == "/witness" or page.path.startswith("/static/"):
            return self._file(page)
        if address.image is not None and not address.filters:
            page = self._galleries.get(address.image, page)
        if (
            page.path == "/compare"
            and tuple(run for name, run in page.values if name == "run") not in self._pairs.pairs
        ):
            return None
        return page.file() if self._enqueue(page) else None

    def _file(self, address: Address) -> str | None:
        """Return the file of what is no page, written once; None if it cannot be had."""
        if address not in self._files:
            answer = self._get(address.url)
            suffix = _SUFFIXES.get(answer.media_type)
            path = address.file(suffix) if answer.status == 200 and suffix else None
            if path is not None:
                self._folder.write(path, answer.body)
            self._files[address] = path
        return self._files[address]

    # --- filters

    def _write_tiles(self, gallery: Address, choices: list[FilterChoice]) -> None:
        """Write all images of a run as a script, with what each can be filtered by: pages on disk can load no data."""
        file = gallery.file()
        tiles = {
            tile.address: tile.markup
            for page in self._gallery_pages(gallery.url, lambda url: self._link(url, file))
            for tile in page.tiles
        }
        places = {address: place for place, address in enumerate(tiles)}

        def chosen(*wanted: FilterChoice) -> list[int]:
            url = f"{gallery.path}?{urlencode([*gallery.values, *wanted], errors='replace')}"
            pages = self._gallery_pages(url, lambda _: None)
            return [places[tile.address] for page in pages for tile in page.tiles]

        facets = {"=".join(choice): chosen(choice) for choice in dict.fromkeys(choices)}
        for pair in product(*([one for one in dict.fromkeys(choices) if one.name == name] for name in _JOINT)):
            first, second = ("=".join(one) for one in pair)
            both = {*facets[first]} & {*facets[second]}
            found = chosen(*pair) if both else []
            if {*found} != both:
                facets[f"{first}&{second}"] = found
        data = json.dumps({"tiles": list(tiles.values()), "facets": facets}, separators=(",", ":"))
        folder = file.rpartition("/")[0]
        self._folder.write(f"{folder}/{_tiles_name(gallery)}", f"formalimgTiles({data});\n".encode())

    def _gallery_pages(self, url: str, link: Callable[[str], str | None]) -> Iterator[RewrittenPage]:
        while url:
            page = RewrittenPage(self._get(url).body.decode("utf-8", "replace"), link)
            yield page
            url = page.next_page


def _tiles_name(gallery: Address) -> str:
    judge = gallery.value("judge")
    return f"tiles-{judge}.js" if judge.isdigit() else "tiles.js"


def _comparison(runs: tuple[str, ...]) -> Address:
    return Address("/compare", tuple(("run", run) for run in runs))
