"""Export the viewer: request its pages from the application in this process, following their links."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlencode

from formalimg.errors import FormalimgError
from formalimg.reports.run_numbers import is_same_item
from formalimg.reports.tables.format import count_noun
from formalimg.web.export.addresses import Address, parse_address, relative_link
from formalimg.web.export.export_folder import ExportFolder
from formalimg.web.export.gallery_filters import filter_places
from formalimg.web.export.html_pages import find_filters, find_next_page, find_tiles, rewrite_page
from formalimg.web.export.image_files import ExportImages, ImageFiles, ImageSize
from formalimg.web.export.in_process import Answer, request
from formalimg.web.export.run_pairs import RunPairs, choose_pairs, suites_of_runs
from formalimg.web.rendering import fragment
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import READ_ERRORS, Site

_MAX_OTHER_PAGES = 10_000
"""Pages of a kind that is not known here are exported up to this number: their addresses may never end."""

_ORDER = ("/", "/run", "/gallery", "/compare", "/item")
"""The kinds of pages, in the order in which they are written: galleries say on which of their pages an image is."""

_PENDING = re.compile(rb"<[a-z]+ [^<>]*\bdata-pending\b")  # What a page of runs has that does not show all of them yet
_MAX_WAITS = 1_000

_SCRIPT = Address("/static/export.js", ())

_SUFFIXES = {
    "text/css": ".css",
    "text/javascript": ".js",
    "image/svg+xml": ".svg",
    "image/png": ".png",
}


class ExportedSite(NamedTuple):
    """The result of an export."""

    folder: Path  # its folder
    runs: int  # the number of runs
    files: int  # the number of files
    left_out: tuple[str, ...]  # what is not in it, one line each


def export_viewer(
    site: Site,
    folder: str | Path,
    *,
    images: ExportImages = "all",
    size: ImageSize = "full",
    force: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, known: None,
) -> ExportedSite:
    """Export the viewer to a folder, as a site that works from disk and on any web server."""
    target = Path(folder)
    if target.resolve().is_relative_to(site.folder.resolve()):
        raise FormalimgError(f"{target} is inside the folder of the runs: export to a folder outside of it")
    written = ExportFolder(target, force=force)
    suites = dict(suites_of_runs(site))
    pairs = choose_pairs(suites)
    left_out = tuple(_left_out(pairs, images, size))
    app = create_viewer_app(site, token=None)
    files = ImageFiles(site, written, images, size)
    with site.frozen(), files.prepared():
        _Crawl(
            site,
            lambda url: request(app, url),
            written,
            files,
            pairs,
            left_out,
        ).run(on_progress)
    written.finish()
    return ExportedSite(target, len(suites), len(written), left_out)


def _left_out(pairs: RunPairs, images: ExportImages, size: ImageSize) -> Iterator[str]:
    if pairs.left_out:
        yield f"the comparisons of {count_noun(pairs.left_out, 'more pair')} of runs"
    if images != "all":
        yield "all images" if images == "none" else "images that pass"
    if images != "none" and size == "thumbnail":
        yield "images larger than thumbnails"


class _SameItems:
    """Pages and drawings shared by all runs with the same item: its history page and its witness."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._first: dict[Address, Address] = {}

    def choose(self, address: Address) -> Address:
        """Return the address for the first run with the item, which stands for all other runs with it."""
        if address not in self._first:
            values = dict(address.values)
            name = values.get("item") or unquote(address.path.split("/", 3)[3])
            first = values | {"run": self._first_run(name, address)}
            self._first[address] = address._replace(values=tuple(first.items()))
        return self._first[address]

    def _first_run(self, name: str, address: Address) -> str:
        """Return the first run that contains the same item."""
        with contextlib.suppress(*READ_ERRORS), self._site.open(address.value("run")) as run:
            item = run.item(name)
            for found in self._site.runs():
                with contextlib.suppress(*READ_ERRORS), self._site.open_found(found) as other:
                    if item and other.manifest.suite == run.manifest.suite and is_same_item(run, item, other):
                        return found.name
        return address.value("run")


class _Crawl:
    """A single export, with its queue of pages and the files written so far."""

    def __init__(
        self,
        site: Site,
        get: Callable[[str], Answer],
        folder: ExportFolder,
        images: ImageFiles,
        pairs: RunPairs,
        left_out: tuple[str, ...],
    ) -> None:
        self._site, self._get, self._folder, self._images = site, get, folder, images
        self._same_items = _SameItems(site)
        self._pairs, self._left_out = pairs, left_out
        self._todo: list[deque[Address]] = [deque() for _ in (*_ORDER, "others")]
        self._known: set[Address] = set()
        self._done: set[Address] = set()
        self._others: Counter[str] = Counter()
        self._files: dict[Address, str | None] = {}
        self._galleries: dict[Address, Address] = {}

    def run(self, on_progress: Callable[[int, int], None]) -> None:
        """Write all pages and the files they refer to."""
        self._file(_SCRIPT)
        first = Address("/", ())
        for _ in range(_MAX_WAITS):
            if not _PENDING.search(self._get(first.url).body):  # each request sums up some more of the runs
                break
        self._enqueue(first)
        for pair in self._pairs.pairs:
            self._enqueue(_comparison(pair))
        while queue := next(filter(None, self._todo), None):
            address = queue.popleft()
            if address not in self._done:
                self._done.add(address)
                self._write_page(address)
                on_progress(len(self._done), len(self._known))

    # --- pages

    def _enqueue(self, page: Address) -> bool:
        """Queue a page for export, and return whether it will be exported."""
        if page in self._known:
            return True
        if page.path not in _ORDER:
            kind = page.path.split("/")[1]
            self._others[kind] += 1
            if self._others[kind] > _MAX_OTHER_PAGES:
                return False
        self._known.add(page)
        queue = self._todo[_ORDER.index(page.path) if page.path in _ORDER else -1]
        if page.path == "/compare" and page.value("page") + page.value("group"):
            queue.appendleft(page)  # all pages of a comparison one after the other: it is computed once
        else:
            queue.append(page)
        return True

    def _write_page(self, address: Address) -> None:
        """Write a page, exporting the viewer's error message if it cannot be shown."""
        if address.path == "/gallery":
            self._write_gallery(address)
        else:
            self._write(address, self._get(address.url))

    def _write(self, address: Address, answer: Answer) -> tuple[str, str]:
        """Write an exported page, and return its original and its rewritten HTML."""
        file = address.file()
        page = answer.body.decode("utf-8", "replace")
        written = rewrite_page(
            page,
            lambda url: self._link(url, file),
            head=f'<script src="{relative_link(file, _SCRIPT.file(".js"))}" defer></script>',
            end=self._end() if address == Address("/", ()) else "",
            form=f' data-tiles="{_tiles_name(address)}"' if address.path == "/gallery" else "",
        )
        self._folder.write(file, written.encode())
        return page, written

    def _end(self) -> str:
        """Return the closing section of the first page: links to all comparisons, and a list of omissions."""
        compared = [(pair, _comparison(pair).file()) for pair in self._pairs.pairs]
        return fragment("export.html", compared=compared, left_out=self._left_out)

    # --- links

    def _link(self, url: str, file: str) -> str | None:
        """Return the target of a link in a file, writing or queueing it, or None if it is not exported."""
        address = parse_address(url)
        target = None if address is None else self._target(address)
        if address is None or target is None:
            return None
        place = urlencode(address.filters) or address.fragment
        return relative_link(file, target) + (f"#{place}" if place else "")

    def _target(self, address: Address) -> str | None:
        """Return the file for an address, or None if it is not exported."""
        page = address.page
        if page.path in ("/image", "/thumbnail"):
            image = self._images.choose(page)
            return None if image is None else self._file(image)
        if page.path == "/witness" or page.path.startswith("/items/"):
            page = self._same_items.choose(page)
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
        """Write the file for an address that is not a page, once; return its path, or None if it is unavailable."""
        if address not in self._files:
            is_image = address.path in ("/image", "/thumbnail")
            self._files[address] = self._images.write(address) if is_image else self._write_file(address)
        return self._files[address]

    def _write_file(self, address: Address) -> str | None:
        answer = self._get(address.url)
        suffix = _SUFFIXES.get(answer.media_type)
        path = address.file(suffix) if answer.status == 200 and suffix else None
        if path is not None:
            self._folder.write(path, answer.body)
        return path

    # --- galleries

    def _write_gallery(self, first: Address) -> None:
        """Write the pages of a gallery and a script with its images, as pages opened from disk cannot fetch data."""
        choices: dict[tuple[str, str], None] = {}
        tiles: dict[Address, str] = {}
        address: Address | None = first
        while address is not None:
            self._known.add(address)
            self._done.add(address)
            page, written = self._write(address, self._get(address.url))
            choices |= find_filters(page)
            for tile in find_tiles(page, written):
                tiles[tile.address] = tile.markup
                self._galleries[tile.address] = address
            address = parse_address(find_next_page(page))
        judge = first.value("judge")
        places = {(one.value("item"), int(one.value("sample") or 0)): place for place, one in enumerate(tiles)}
        with (
            contextlib.suppress(*READ_ERRORS),
            self._site.open(first.value("run"), int(judge) if judge else None) as run,
        ):
            data = {"tiles": list(tiles.values()), "facets": filter_places(run, choices, places)}
            script = f"formalimgTiles({json.dumps(data, separators=(',', ':'))});\n"
            self._folder.write(f"{first.file().rpartition('/')[0]}/{_tiles_name(first)}", script.encode())


def _tiles_name(gallery: Address) -> str:
    judge = gallery.value("judge")
    return f"tiles-{judge}.js" if judge.isdigit() else "tiles.js"


def _comparison(runs: tuple[str, ...]) -> Address:
    return Address("/compare", tuple(("run", run) for run in runs))
