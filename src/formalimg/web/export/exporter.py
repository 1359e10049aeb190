"""Export the viewer: request its pages from the application in this process, following their links."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape, unescape
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote, urlencode, urlsplit

from starlette.types import ASGIApp, Message

from formalimg.errors import FormalimgError
from formalimg.reports.run_numbers import is_same_item
from formalimg.reports.tables.format import count_noun
from formalimg.runs.image_counts import FacetIndex, ImageKey
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import StoredRun
from formalimg.web.export.addresses import Address, parse_address, relative_link
from formalimg.web.export.folder import ExportFolder, ExportImages, ImageFiles, ImageSize
from formalimg.web.rendering import fragment, static_pages
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import READ_ERRORS, Site

Pair: TypeAlias = tuple[str, ...]  # the names of two runs
Choice: TypeAlias = tuple[str, str]  # a filter of a gallery: its name and value
MAX_PAIRS = 60  # of runs that are compared
_MAX_OTHER_PAGES = 10_000  # pages of an unknown kind, whose addresses may be endless
_PAGE_ORDER = ("/", "/run", "/gallery", "/compare", "/item")  # galleries tell on which of their pages an image is
_JOINT_FILTERS = ("kind", "word")  # of the same failed part: an image may match each alone, and not both
_FIRST = Address("/", ())
_SCRIPT = Address("/static/export.js", ())
_SUFFIXES = {"text/css": ".css", "text/javascript": ".js", "image/svg+xml": ".svg", "image/png": ".png"}


class ExportedSite(NamedTuple):
    """The result of an export."""

    folder: Path
    runs: int
    files: int
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
    export_folder = ExportFolder(target, force=force)
    suites = dict(_suites_of_runs(site))
    pairs, omitted = choose_pairs(suites)
    left_out = [f"the comparisons of {count_noun(omitted, 'more pair')} of runs"] if omitted else []
    if images != "all":
        left_out.append("all images" if images == "none" else "images that pass")
    if images != "none" and size == "thumbnail":
        left_out.append("images larger than thumbnails")
    image_files = ImageFiles(site, export_folder, images, size)
    with site.frozen(), image_files.background_thumbnails():
        _Crawl(site, export_folder, image_files, pairs, left_out).run(on_progress)
    export_folder.finish()
    return ExportedSite(target, len(suites), len(export_folder), tuple(left_out))


def _suites_of_runs(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the name and the suite of each readable run."""
    for folder in site.runs():
        with contextlib.suppress(*READ_ERRORS), site.open_folder(folder) as run:
            yield folder.name, run.manifest.suite


def choose_pairs(suites: Mapping[str, str]) -> tuple[list[Pair], int]:
    """Return the pairs of runs to compare, distributed evenly over the suites, and the number of pairs left out."""
    queues = [
        list(combinations([run for run, run_suite in suites.items() if run_suite == suite], 2))
        for suite in dict.fromkeys(suites.values())
    ]
    longest = max(map(len, queues), default=0)
    turns = [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]
    chosen = {*turns[:MAX_PAIRS]}
    return [pair for queue in queues for pair in queue if pair in chosen], len(turns) - len(chosen)


class _Crawl:
    """A single export, with its queue of pages and the files written so far."""

    def __init__(
        self, site: Site, folder: ExportFolder, images: ImageFiles, pairs: list[Pair], left_out: list[str]
    ) -> None:
        self._site, self._folder, self._images, self._pairs, self._left_out = site, folder, images, pairs, left_out
        self._app = create_viewer_app(site, token=None)
        self._todo: list[deque[Address]] = [deque() for _ in (*_PAGE_ORDER, "others")]
        self._known: set[Address] = set()
        self._done: set[Address] = set()
        self._other_pages: Counter[str] = Counter()
        self._files: dict[Address, str | None] = {}
        self._galleries: dict[Address, Address] = {}
        self._same_items: dict[Address, Address] = {}

    def run(self, on_progress: Callable[[int, int], None]) -> None:
        """Write all pages and the files they refer to."""
        self._file(_SCRIPT)
        self._enqueue(_FIRST)
        for pair in self._pairs:
            self._enqueue(_comparison(pair))
        while queue := next(filter(None, self._todo), None):
            address = queue.popleft()
            if address in self._done:
                continue
            self._done.add(address)
            if address.path == "/gallery":
                self._write_gallery(address)
            else:
                self._write(address)
            on_progress(len(self._done), len(self._known))

    # --- pages

    def _enqueue(self, page: Address) -> bool:
        """Queue a page for export, and return whether it will be exported."""
        if page in self._known:
            return True
        if page.path not in _PAGE_ORDER:
            kind = page.path.split("/")[1]
            self._other_pages[kind] += 1
            if self._other_pages[kind] > _MAX_OTHER_PAGES:
                return False
        self._known.add(page)
        queue = self._todo[_PAGE_ORDER.index(page.path) if page.path in _PAGE_ORDER else -1]
        if page.path == "/compare" and page.value("page") + page.value("group"):
            queue.appendleft(page)  # all pages of a comparison in a row, as it is computed once
        else:
            queue.append(page)
        return True

    def _write(self, address: Address) -> tuple[str, str]:
        """Write a page, or the viewer's error message, and return its original and its rewritten HTML."""
        file = address.file()
        page = request(self._app, address.url)[2].decode("utf-8", "replace")
        end = ""
        if address == _FIRST:  # links to all comparisons, and what is left out
            compared = [(pair, _comparison(pair).file()) for pair in self._pairs]
            end = fragment("export.html", compared=compared, left_out=self._left_out)
        rewritten = rewrite_page(
            page,
            lambda url: self._link(url, file),
            head=f'<script src="{relative_link(file, _SCRIPT.file(".js"))}" defer></script>',
            end=end,
            form=f' data-tiles="{_tiles_name(address)}"' if address.path == "/gallery" else "",
        )
        self._folder.write(file, rewritten.encode())
        return page, rewritten

    # --- links

    def _link(self, url: str, file: str) -> str | None:
        """Return the target of a link in a file, writing or queueing it, or None if it is not exported."""
        address = parse_address(url)
        target = None if address is None else self._target(address)
        if address is None or target is None:
            return None
        end = urlencode(address.filters) or address.fragment
        return relative_link(file, target) + (f"#{end}" if end else "")

    def _target(self, address: Address) -> str | None:
        """Return the file for an address, or None if it is not exported."""
        page = address.page
        if page.path in ("/image", "/thumbnail"):
            image = self._images.choose(page)
            return None if image is None else self._file(image)
        if page.path == "/witness" or page.path.startswith("/items/"):
            page = self._address_in_first_run(page)
        if page.path == "/witness" or page.path.startswith("/static/"):
            return self._file(page)
        if address.image is not None and not address.filters:
            page = self._galleries.get(address.image, page)
        if page.path == "/compare" and tuple(run for name, run in page.values if name == "run") not in self._pairs:
            return None
        return page.file() if self._enqueue(page) else None

    def _address_in_first_run(self, address: Address) -> Address:
        """Return the history page or witness in the first run with the same item, which stands for all of them."""
        if address not in self._same_items:
            name = address.value("item") or unquote(address.path.split("/", 3)[3])
            values = {**dict(address.values), "run": self._first_run(name, address.value("run"))}
            self._same_items[address] = address._replace(values=tuple(values.items()))
        return self._same_items[address]

    def _first_run(self, item_name: str, run_name: str) -> str:
        with contextlib.suppress(*READ_ERRORS), self._site.open(run_name) as run:
            item, suite = run.item(item_name), run.manifest.suite
            for folder in self._site.runs():
                with contextlib.suppress(*READ_ERRORS), self._site.open_folder(folder) as candidate:
                    if item and candidate.manifest.suite == suite and is_same_item(run, item, candidate):
                        return folder.name
        return run_name

    def _file(self, address: Address) -> str | None:
        """Write the file for an address that is not a page, once; return its path, or None if it is unavailable."""
        if address not in self._files:
            if address.path in ("/image", "/thumbnail"):
                self._files[address] = self._images.write(address)
            else:
                status, media_type, data = request(self._app, address.url)
                suffix = _SUFFIXES.get(media_type)
                self._files[address] = path = address.file(suffix) if status == 200 and suffix else None
                if path is not None:
                    self._folder.write(path, data)
        return self._files[address]

    # --- galleries

    def _write_gallery(self, first: Address) -> None:
        """Write the pages of a gallery and a script with its images, as pages opened from disk cannot fetch data."""
        choices: dict[Choice, None] = {}
        tiles: dict[Address, str] = {}
        address: Address | None = first
        while address is not None:
            self._known.add(address)
            self._done.add(address)
            page, rewritten = self._write(address)
            choices |= find_filters(page)
            for tile, markup in find_tiles(page, rewritten):
                tiles[tile] = markup
                self._galleries[tile] = address
            address = parse_address(find_next_page(page))
        judge = first.value("judge")
        positions = {(tile.value("item"), int(tile.value("sample") or 0)): index for index, tile in enumerate(tiles)}
        with (
            contextlib.suppress(*READ_ERRORS),
            self._site.open(first.value("run"), int(judge) if judge else None) as run,
        ):
            data = {"tiles": list(tiles.values()), "facets": _filter_positions(run, [*choices], positions)}
            script = f"formalimgTiles({json.dumps(data, separators=(',', ':'))});\n"
            self._folder.write(f"{first.file().rpartition('/')[0]}/{_tiles_name(first)}", script.encode())


def _tiles_name(gallery: Address) -> str:
    judge = gallery.value("judge")
    return f"tiles-{judge}.js" if judge.isdigit() else "tiles.js"


def _comparison(runs: Pair) -> Address:
    return Address("/compare", tuple(("run", run) for run in runs))


def _filter_positions(run: StoredRun, choices: list[Choice], positions: Mapping[ImageKey, int]) -> dict[str, list[int]]:
    """Return the positions of the images for each filter choice and, where needed, for pairs of choices."""
    index = run.facets()

    def select(*pair: Choice) -> list[int]:
        return sorted(positions[key] for key in _images_with(run, index, dict(pair)) if key in positions)

    selected = {"=".join(choice): select(choice) for choice in choices}
    for pair in product(*([choice for choice in choices if choice[0] == name] for name in _JOINT_FILTERS)):
        first, second = ("=".join(choice) for choice in pair)
        both = {*selected[first]} & {*selected[second]}
        joint = select(*pair) if both else []
        if {*joint} != both:
            selected[f"{first}&{second}"] = joint
    return selected


def _images_with(run: StoredRun, index: FacetIndex, choice: Mapping[str, str]) -> Iterable[ImageKey]:
    if "mark" in choice:
        marked = run.page(ImageFilter(mark=choice["mark"]), 0, len(index.images))  # type: ignore[arg-type]
        return [(image.outcome.item, image.outcome.sample) for image in marked.images]
    level = {"level": int(choice["level"])} if "level" in choice else {}
    return index.images_with(ImageFilter(**{**choice, **level}))  # type: ignore[arg-type]


def request(app: ASGIApp, url: str) -> tuple[int, str, bytes]:
    """Return the status, media type and body of a GET request, made in this thread without server or event loop."""
    parts = urlsplit(url)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(parts.path),
        "raw_path": parts.path.encode("ascii", "replace"),
        "root_path": "",
        "query_string": parts.query.encode("ascii", "replace"),
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 80),
    }
    status, media_type, body = 500, "", bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, media_type
        if message["type"] == "http.response.start":
            headers = {name.lower(): value for name, value in message["headers"]}
            status = message["status"]
            media_type = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip()
        elif message["type"] == "http.response.body":
            body.extend(message.get("body", b""))

    async def respond() -> None:
        await app(scope, receive, send)

    before = static_pages.set(True)
    response = respond()
    try:
        response.send(None)
    except StopIteration:
        return status, media_type, bytes(body)
    finally:
        response.close()
        static_pages.reset(before)
    raise RuntimeError(f"{url} awaits something: an export has no event loop")


Link: TypeAlias = Callable[[str], str | None]  # returns the link to a URL's file; None if the export has none
_FORM = re.compile(r"<form\b([^<>]*)>(.*?)</form>", re.DOTALL)
_ACTION = re.compile(r'\saction="([^"?]*)[^"]*"')
_POST = re.compile(r'\smethod="post"', re.IGNORECASE)
_STATIC_FORMS = ("/gallery", "/compare")  # answered by a script of the export; others need a server
_SCRIPT_TAG = re.compile(r'<script src="(/[^"]*)"[^<>]*></script>')
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
    page = _SCRIPT_TAG.sub(lambda script: script[0] if link(unescape(script[1])) is not None else "", page)
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
