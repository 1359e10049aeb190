"""The viewer as a static site: every link leads to a file, it opens from disk without a failed request, and it replaces
nothing but itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from formalimg.errors import FormalimgError
from formalimg.runs.queries import ImageFilter
from formalimg.web.export.addresses import parse_address
from formalimg.web.export.exporter import MAX_PAIRS, choose_pairs, export_viewer
from formalimg.web.viewer.site import Site
from tests.support.browser import PATIENCE, needs_browser, playwright, watched
from tests.support.command import formalimg

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def exported(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All runs, exported once for all tests."""
    folder = tmp_path_factory.mktemp("export") / "site"
    export_viewer(Site(runs), folder)
    return folder


_LINKING = ("href", "src", "action", "data-tiles", "data-gallery")


class _Links(HTMLParser):
    """The links of a page, and its forms."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in _LINKING]
        self.forms += [dict(attrs).get("data-static") or "" for _ in [tag] if tag == "form"]


def _contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_every_link_leads_to_a_file_of_the_export_and_every_file_can_be_reached(exported: Path) -> None:
    reached = {exported / "index.html"}
    todo = [*reached]
    while todo:
        page = todo.pop()
        found = _Links(page)
        assert {*found.forms} <= {"gallery", "compare"}
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme == "data" or not parts.path:
                continue
            assert not parts.scheme, link
            assert not parts.path.startswith("/"), link
            target = (page.parent / unquote(parts.path)).resolve()
            assert target.is_file(), f"{page.relative_to(exported)}: {link}"
            if target.suffix == ".html" and target not in reached:
                todo.append(target)
            reached.add(target)
    written = {exported / path for path in json.loads((exported / "export.json").read_bytes())["files"]}
    assert {path.resolve() for path in written} == {path.resolve() for path in reached}
    first = (exported / "index.html").read_text(encoding="utf-8")
    assert all(name in first for name in ("test/painter", "test/&lt;i&gt;other", "builtin/reader", "test/upright"))
    assert "playground" not in first.replace("The playground, and comparisons", "")


def test_the_same_runs_give_the_same_bytes_and_foreign_files_stay(runs: Path, tmp_path: Path) -> None:
    first, folder = tmp_path / "first", tmp_path / "second"
    export_viewer(Site(runs / "knolling"), first)
    (folder / "item").mkdir(parents=True)
    (folder / "item" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FormalimgError, match="is not empty and not an export of the viewer"):
        export_viewer(Site(runs / "knolling"), folder)
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["notes.txt"]
    export_viewer(Site(runs / "knolling"), folder, force=True)
    assert _contents(folder) == _contents(first) | {"item/notes.txt": hashlib.sha256(b"mine").hexdigest()}

    # The next export needs no --force, and removes what the one before wrote; not what has been changed since.
    changed = folder / "item" / "knolling" / "0.html"
    changed.write_text("changed", encoding="utf-8")
    done = export_viewer(Site(runs / "upright"), folder, images="none")
    left = {path for path in folder.rglob("*") if path.is_file()}
    assert len(left) == done.files + 3  # the list of files, the changed one, and the foreign one
    assert {changed, folder / "item" / "notes.txt"} <= left


def test_images_are_not_stored_twice_and_progress_ends_where_all_pages_are_written(
    runs: Path, exported: Path, tmp_path: Path
) -> None:
    steps: list[tuple[int, int]] = []
    export_viewer(Site(runs / "knolling"), tmp_path / "site", on_progress=lambda *step: steps.append(step))
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert steps[-1][0] == steps[-1][1] > 1
    stored = {path.stat().st_ino for path in (runs / "first" / "images").iterdir()}
    images = list((exported / "image" / "first").iterdir())
    assert images
    assert {path.stat().st_ino for path in images} <= stored
    assert all(path.is_file() and not path.is_symlink() for path in images)


def test_filters_find_what_the_viewer_finds(runs: Path, exported: Path) -> None:
    text = (exported / "gallery" / "first" / "tiles.js").read_text(encoding="utf-8")
    found = json.loads(text.removeprefix("formalimgTiles(").removesuffix(");\n"))
    facets = {name: {*places} for name, places in found["facets"].items()}
    assert len(found["tiles"]) == 110

    def images(**wanted: str) -> int:
        with Site(runs).open("first") as run:
            return run.page(ImageFilter(**wanted), 0, 1).total  # type: ignore[arg-type]

    assert len(facets["outcome=fail"]) == images(outcome="fail")
    assert len(facets["kind=color"]) == images(kind="color")
    assert len(facets["word=3"]) == images(word="3")
    assert len(facets["kind=number"] & facets["word=3"]) == images(kind="number", word="3")
    assert facets["kind=color&word=3"] == set()  # images lack both, but no colour is a number
    assert images(kind="color", word="3") == 0 < len(facets["kind=color"] & facets["word=3"])


def test_images_are_exported_as_chosen(runs: Path, tmp_path: Path) -> None:
    chosen = ("--export-images", "failures", "--export-size", "thumbnail")
    said = formalimg("view", str(runs / "knolling"), "--export", str(tmp_path / "a"), *chosen)
    assert said.code == 0, said.err
    assert "1 run, " in said.out
    assert said.err.splitlines() == ["not exported: images that pass", "not exported: images larger than thumbnails"]
    assert not (tmp_path / "a" / "image").exists()
    thumbnails = list((tmp_path / "a" / "thumbnail").rglob("*.webp"))
    with Site(runs).open("knolling") as run:
        assert len(thumbnails) == sum(not one.passed for one in run.outcomes()) > 0
    inside = formalimg("view", str(runs), "--export", str(runs / "site"))
    assert inside.code == 2
    assert "export to a folder outside of it" in inside.err


def test_no_two_addresses_share_a_file() -> None:
    names = ["a", "A", "a b", "a/b", "a-b", "a%b", "ä", "..", ".", "-", "x" * 200, "x" * 201, "con\ud800"]
    found = [parse_address(f"/run?run={name}") for name in names]
    files = [one.file() for one in found if one is not None]
    assert len({*files}) == len(names)
    assert all(file.isascii() and ".." not in file and file == file.lower() for file in files)
    assert parse_address("https://elsewhere.example/run?run=a") is None
    assert parse_address("/playground?formula=x") is None
    assert parse_address("/?sort=cost") is None
    assert parse_address("/gallery?run=a&outcome=fail&page=3") != parse_address("/gallery?run=a&page=3")


def test_pairs_of_runs_are_limited_and_each_suite_has_its_share() -> None:
    assert choose_pairs({"a": "knolling", "b": "knolling", "c": "natural"}) == ([("a", "b")], 0)
    pairs, left_out = choose_pairs({f"k{n}": "knolling" for n in range(40)} | {"a": "natural", "b": "natural"})
    assert len(pairs) == MAX_PAIRS
    assert ("a", "b") in pairs
    assert left_out == 40 * 39 // 2 + 1 - MAX_PAIRS


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on disk that has seen no complaint: no error, no failed request, nothing from elsewhere."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(PATIENCE)
    complaints = watched(opened, "file:", "data:")
    # A page that is left at once gives up loading its icon.
    opened.on("requestfailed", lambda one: complaints.append(one.url) if one.failure != "net::ERR_ABORTED" else None)
    yield opened
    assert not complaints
    assert opened.evaluate("typeof pwned") == "undefined"
    opened.close()


@needs_browser
def test_it_opens_from_disk_with_its_filters_and_comparisons(page: Page, exported: Path) -> None:
    page.goto((exported / "index.html").as_uri())
    page.get_by_label("Compare first").check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("This comparison is not in the export").wait_for()
    page.get_by_label("Compare upright").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare/first--upright/index.html")

    page.goto((exported / "run" / "first" / "index.html").as_uri())
    page.get_by_role("link", name="Failures", exact=True).click()
    page.wait_for_url("**/gallery/first/index.html#outcome=fail")
    page.locator(".count", has_text="show all").wait_for()
    tiles = page.locator(".tiles > li")
    failures = tiles.count()
    assert 48 < failures < 110
    assert page.locator(".tile.pass").count() == 0
    page.goto(f"{page.url.partition('#')[0]}#outcome=fail&level=2")
    playwright.expect(page.locator(".tile-head", has_text="k 1,")).to_have_count(0)
    assert 0 < tiles.count() < failures
    page.goto(f"{page.url.partition('#')[0]}#outcome=pass")
    page.locator(".tile.pass").first.wait_for()
    page.get_by_role("searchbox").fill("number 15 ")
    page.locator(".count", has_text="1 image").wait_for()
    assert "outcome=pass" in page.url
    tiles.locator("a").click()
    page.wait_for_url("**/item/first/item-15.html#*")
    assert page.evaluate("document.querySelector('.item-image img').naturalWidth") == 48
    page.keyboard.press("j")  # the search has found no other image
    assert "/item/first/item-15.html#" in page.url


@needs_browser
def test_keys_stay_inside_the_filter_that_an_image_was_opened_from(page: Page, exported: Path) -> None:
    gallery = (exported / "gallery" / "first" / "index.html").as_uri()
    page.goto(f"{gallery}#outcome=fail")
    page.locator(".count", has_text="show all").wait_for()
    failed = [str(tile.get_attribute("href")).rpartition("/")[2] for tile in page.locator(".tiles a.step").all()]
    assert all(name.endswith("#outcome=fail") for name in failed), failed
    page.locator(".tiles a.step").first.click()
    for name in failed[1:4]:
        page.locator(".item-place a[rel=next][href$='#outcome=fail']").wait_for()
        page.keyboard.press("j")
        page.wait_for_url(f"**/{name}")
    assert page.locator(".outcome.fail").first.is_visible()
    page.keyboard.press("u")
    page.wait_for_url("**/gallery/first/index.html#outcome=fail")


def test_links_in_the_folder_of_an_export_are_not_followed(runs: Path, tmp_path: Path) -> None:
    site, outside = tmp_path / "site", tmp_path / "outside"
    outside.mkdir()
    site.mkdir()
    (site / "export.json").write_text(json.dumps({"format": "formalimg-export", "files": {}}), encoding="utf-8")
    for name in ("run", "static", "items", "gallery", "image", "thumbnail", "item"):
        (site / name).symlink_to(outside)
    with pytest.raises(FormalimgError, match="is reached through a link"):
        export_viewer(Site(runs), site)
    assert not list(outside.iterdir())
