"""The page in a real browser without a network: everything is there, it can be filtered and printed, nothing acts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formalimg import load
from formalimg.judges.factory import open_judge
from formalimg.models.registry import open_image_model
from formalimg.reports.page import Printed
from formalimg.reports.report import write_html
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.plan import Selection
from formalimg.runs.reader import open_run
from formalimg.types import Part, RunRecord, Unscored, Verdict
from tests.reports.drawn_runs import DrawnRun, drawn_run, plain_run
from tests.support.browser import PATIENCE, needs_browser, playwright, started_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser

EMBEDDED = ("builtin/oracle", "builtin/reader", "builtin/scatter")

HARM = (
    "<script>pwned=1;alert(1)</script><img src=x onerror=pwned=1><svg onload=pwned=1>'\"&</style></title></script>"
    "<!--]]><a href=javascript:pwned=1>x</a><meta http-equiv=refresh content=0;url=http://127.0.0.1:9/>\x00\x1b\u202e"
)
"""Text that does something wherever it is taken for markup."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[RunRecord]]:
    """The three embedded models, as in `make demo`, with one image of four levels."""
    folder = tmp_path_factory.mktemp("demo")
    items = load("knolling")
    for model in EMBEDDED:
        order = RunConfig(items, open_image_model(model), Selection((1, 3, 6, 9), 1), size=256)
        execute(order, folder / model, open_judge("knolling"))
    with ExitStack() as opened:
        yield [opened.enter_context(closing(open_run(folder / model))) for model in EMBEDDED]


@pytest.fixture(scope="module")
def report(runs: Sequence[RunRecord], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(runs, path, references=True)
    return path


@pytest.fixture(scope="module")
def failing(runs: Sequence[RunRecord], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page about ceiling and floor alone: both are rated, and the floor fails."""
    path = tmp_path_factory.mktemp("failing") / "report.html"
    write_html([run for run in runs if run.manifest.model.name in EMBEDDED[::2]], path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as opened:
        yield opened


@pytest.fixture
def asked_for() -> list[str]:
    return []


@pytest.fixture
def page(browser: Browser, asked_for: list[str]) -> Iterator[Page]:
    """A page without a network, of which there was no complaint, and which asked for nothing but files."""
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, color_scheme="light")
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("dialog", lambda dialog: complaints.append(dialog.message))
    opened.on("request", lambda request: asked_for.append(request.url))
    yield opened
    harmed = opened.evaluate("typeof pwned")
    context.close()
    assert not complaints
    assert harmed == "undefined"
    assert not [address for address in asked_for if not address.startswith(("file:///", "data:image/"))]


IMAGES = "Promise.all([...document.images].map((one) => one.decode().then(() => one.naturalWidth)))"
PAPER = "getComputedStyle(document.documentElement).backgroundColor"


def test_everything_is_there_from_the_disk_alone(page: Page, report: Path, asked_for: list[str]) -> None:
    assert report.stat().st_size < 15_000_000
    page.goto(report.as_uri())
    assert page.locator("svg.curve .run:not(.published)").count() == 3
    assert page.locator("svg.curve .run.published").count() >= 10
    bodies = page.locator("table.rates").first.locator("tbody")
    assert bodies.nth(0).locator("tr").count() == 1
    assert bodies.nth(1).locator("tr").all_inner_texts()[0] == "ceiling and floor"
    assert bodies.nth(1).locator("tr").count() == 3
    assert page.locator(".failures table").count() == 2
    failed = page.locator(".telling figure").count()
    widths = page.evaluate(IMAGES)
    assert len(widths) == 4 + failed  # the images of the reader, and its failures once more
    assert min(widths) > 100
    assert page.locator("details[open]").count() == 0
    page.get_by_role("navigation").get_by_role("link", name="Images").click()
    playwright.expect(page.locator(".gallery")).to_be_visible()
    assert page.locator(".gallery").evaluate("(one) => one.getBoundingClientRect().top") < 400
    assert {address.partition("#")[0] for address in asked_for if not address.startswith("data:")} == {report.as_uri()}


def test_a_telling_failure_leads_to_all_that_is_known_of_it(page: Page, failing: Path) -> None:
    page.goto(failing.as_uri())
    figure = page.locator(".telling figure").first
    sentence = figure.locator(".why").inner_text().partition(", and")[0]
    figure.get_by_role("link", name="in full").click()
    shown = page.locator(".exhibit:target")
    playwright.expect(shown).to_be_in_viewport()
    assert sentence in shown.inner_text()
    page.reload()
    playwright.expect(shown).to_be_in_viewport()


def test_images_can_be_filtered_and_boxes_be_shown(page: Page, failing: Path) -> None:
    page.goto(f"{failing.as_uri()}#images-0")
    shown = page.locator(".exhibit:visible")
    assert shown.count() == 8
    page.get_by_label("level").select_option("3")
    assert shown.count() == 2
    page.get_by_label("run").select_option("1")
    assert shown.count() == 1
    assert page.get_by_role("status").inner_text() == "1 of 8"
    page.get_by_label("text").fill("no image speaks of this")
    assert shown.count() == 0
    assert page.get_by_text("No image matches.").is_visible()
    page.get_by_label("text").fill("KNOLLING")
    page.get_by_label("level").select_option("")
    assert shown.count() == 4
    seen = (
        "[...document.querySelectorAll('.exhibit:not([hidden]) .detected')].map((one) => getComputedStyle(one).opacity)"
    )
    page.mouse.move(2, 2)
    assert "0" in page.evaluate(seen)
    assert (
        page.locator(".exhibit.fail:visible .detected.fault").first.evaluate("(one) => getComputedStyle(one).opacity")
        == "1"
    )
    page.get_by_label("show all boxes").check()
    assert set(page.evaluate(seen)) == {"1"}


def test_the_colours_can_be_switched(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    light = page.evaluate(PAPER)
    page.get_by_role("button", name="Switch to dark colours").click()
    assert page.evaluate(PAPER) != light
    page.get_by_role("button", name="Switch to light colours").click()
    assert page.evaluate(PAPER) == light


@pytest.mark.parametrize("printed", ["open", "all"])
def test_on_paper_nothing_is_dark_and_folds_are_as_asked_for(
    page: Page, runs: Sequence[RunRecord], tmp_path: Path, printed: Printed
) -> None:
    path = tmp_path / "report.html"
    write_html(runs, path, printed=printed)
    page.emulate_media(color_scheme="dark")
    page.goto(path.as_uri())
    folded = page.locator("details:not([open])")
    before = folded.count()
    assert before > 10
    page.emulate_media(media="print")
    playwright.expect(folded).to_have_count(before if printed == "open" else 0)
    assert page.locator(".fold").first.is_visible() == (printed == "all")
    assert page.evaluate(PAPER) == "rgba(0, 0, 0, 0)"
    ink = page.evaluate("getComputedStyle(document.querySelector('h1')).color")
    assert max(map(int, ink.removeprefix("rgb(").rstrip(")").split(","))) < 60
    assert not page.locator(".theme, .filters").locator("visible=true").count()
    page.emulate_media(media="screen")
    playwright.expect(folded).to_have_count(before)


def test_the_first_screen_says_what_was_found_and_has_the_table(page: Page, report: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(report.as_uri())
    assert page.locator(".finding").inner_text().startswith("By builtin/icons, builtin/reader passes ")
    curve, fails = page.locator(".curve"), page.locator(".answers dt", has_text="What fails")
    for shown in (page.locator(".headline").first, fails, curve, page.locator(".rates tbody tr").first):
        box = shown.bounding_box()
        assert box
        assert box["y"] + box["height"] <= 800


OUTSIDE = """(width) => [...document.querySelectorAll(".narrow-curve text")].filter((one) => {
  const box = one.getBoundingClientRect();
  return one.textContent && (box.left < 0 || box.right > width || box.height < 9);
}).map((one) => one.textContent)"""
"""Labels of the curve that are cropped, or too small to be read."""


def test_on_a_phone_the_curve_is_whole_and_nothing_scrolls_sideways(page: Page, report: Path) -> None:
    for width in (390, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(report.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".narrow-curve").is_visible()
        assert not page.locator(".curve").is_visible()
        assert page.evaluate(OUTSIDE, width) == []
        assert page.locator(".narrow-curve .key").count() == 4  # the runs, and what was published


def test_on_paper_no_table_and_no_figure_is_cut_off(page: Page, report: Path) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1000})  # A4 without its margins
    page.goto(report.as_uri())
    assert page.locator(".curve").is_visible()
    assert not page.locator(".narrow-curve").is_visible()
    edges = "[...document.querySelectorAll('table, svg, figure, pre')].map((one) => one.getBoundingClientRect().right)"
    assert max(page.evaluate(edges)) <= 689
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_images_may_lie_in_a_folder_beside_the_page(
    page: Page, runs: Sequence[RunRecord], tmp_path: Path, asked_for: list[str]
) -> None:
    path = tmp_path / "my 100% report.html"
    write_html(runs, path, gallery=2, images="folder")
    page.goto(path.as_uri())
    assert min(page.evaluate(IMAGES)) == 256
    beside = (tmp_path / "my 100% report_files").as_uri()
    assert {address.startswith(beside) for address in asked_for[1:]} == {True}
    page.locator(".fold", has=page.locator(".gallery")).evaluate("(fold) => { fold.open = true; }")
    page.get_by_role("link", name="larger").first.click()
    page.wait_for_url(f"{beside}/*.webp")


def test_whatever_is_written_stays_text(page: Page, tmp_path: Path) -> None:
    page.goto(_harmful(tmp_path).as_uri())
    assert page.locator("script").count() == 2  # the theme, and the gallery
    assert page.locator("main a:not([href^='#']), iframe, object, embed, link").count() == 0
    assert page.locator("meta[http-equiv=refresh]").count() == 0
    assert page.locator("body").inner_text().count("<script>pwned=1;alert(1)</script>") > 10
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.locator(".image").first.hover()


def _harmful(folder: Path) -> Path:
    """A page of runs in which every text that somebody else writes tries to do harm."""
    drawn = drawn_run(folder / "<img src=x onerror=pwned=1>", HARM, per_level=1, unscored=0, size=128)
    images = []
    for number, judged in enumerate(drawn.images):
        assert isinstance(judged.verdict, Verdict)
        objects = [{"label": HARM, "attributes": {"color": HARM}, "box_2d": [0, 0, 500, 500]}]
        evidence = {**judged.verdict.evidence, "explanation": HARM, "rule": HARM, "answer": HARM}
        if number % 2:
            evidence["scene"] = {"objects": objects}
        verdict = Verdict(False, (Part(HARM, HARM, 0, about=(HARM,), reason=HARM),), evidence)
        unscored = Unscored("not understood", HARM, {"answer": HARM})
        images.append(replace(judged, verdict=unscored if number % 5 == 4 else verdict))
    items = {
        name: item._replace(prompt=HARM, formula=HARM if item.level % 2 else item.formula)
        for name, item in drawn.items.items()
    }
    manifest = replace(drawn.manifest, suite_version=HARM, condition=HARM, made_with=HARM, prompts=HARM)
    second = plain_run(HARM, {1: [False, "refused"]})
    path = folder / "report.html"
    write_html([DrawnRun(drawn.folder, manifest, items, tuple(images)), second], path)
    return path
