"""The page: self-contained, well-formed, safe, and it shows what the verdicts say."""

from __future__ import annotations

import base64
import io
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.figures.curve import curve_svg, spread_labels
from formalimg.reports.figures.runs import comparison_figures
from formalimg.reports.figures.svg import element
from formalimg.reports.gallery import formula_pieces
from formalimg.reports.report import render, write_html
from formalimg.stats.observations import Band, Rate
from formalimg.types import Part, Verdict
from formalimg.web.viewer.highlight import highlight_formula
from tests.reports.drawn_runs import DrawnRun, drawn_run, plain_run
from tests.support.sizes import only_in_full

VOID = {"br", "img", "input", "meta"}


class Page(HTMLParser):
    """Reads a page, insisting that every element is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(attrs) == len(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words += data

    def all(self, tag: str, kind: str = "") -> list[dict[str, str | None]]:
        found = [attributes for name, attributes in self.elements if name == tag]
        return [one for one in found if kind in (one.get("class") or "").split()] if kind else found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[DrawnRun]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        drawn_run(folder / "a", "lab/first", per_level=1, skill=0.6, unscored=0.2, size=128),
        drawn_run(folder / "o", "builtin/oracle", per_level=1, skill=1, unscored=0, size=128),
    ]


@pytest.fixture(scope="module")
def page(runs: Sequence[DrawnRun], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(runs, path, references=True)
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    return path.read_text(encoding="utf-8")


def test_it_is_one_well_formed_file_that_asks_for_nothing(page: str) -> None:
    read = Page(page)
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", page)
    assert {tag for tag, _ in read.elements}.isdisjoint({"link", "iframe", "object", "base"})
    for tag, attributes in read.elements:
        assert not any(name.startswith("on") for name in attributes), tag
        assert (attributes.get("src") or "data:image/webp;").startswith("data:image/webp;")


def test_a_policy_forbids_every_script_but_our_own(page: str) -> None:
    assert page.index("Content-Security-Policy") < page.index("<style>")
    (policy,) = [one["content"] for one in Page(page).all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    inside = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", page, re.DOTALL)
    digests = {f"'sha256-{base64.b64encode(sha256(one.encode()).digest()).decode()}'" for one in inside}
    assert digests == set(re.findall(r"'sha256-[^']*'", policy))
    assert len(digests) == 3


def test_every_image_has_words_and_every_image_is_small(page: str) -> None:
    images = Page(page).all("img")
    assert images
    for image in images:
        assert image["alt"]
        data = base64.b64decode((image["src"] or "").partition(",")[2])
        with Image.open(io.BytesIO(data)) as decoded:
            assert max(decoded.size) <= 320
            assert decoded.format == "WEBP"


def test_figures_of_the_table_are_those_of_the_comparison(runs: Sequence[DrawnRun], page: str) -> None:
    table = page[page.index('<table class="rates"') :]
    for row in compare(runs).sections[0].rows:
        line = table[table.index(row.name) :].partition("</tr>")[0]
        shown = re.findall(r"<td[^>]*>([\d.–]+)<", line)
        rates: list[Rate | Band] = [*row.summary.levels.values(), *row.summary.bands.values()]
        assert shown[: len(rates)] == [f"{100 * r.value:.1f}" if r.value is not None else "–" for r in rates]


def test_many_runs_of_long_names_can_be_told_apart_in_the_curve() -> None:
    """The runs of one level leave room to the next, and what all names begin with is not what is left of them."""
    names = [f"laboratory-of-images/a-rather-long-model-name-{number}-preview" for number in range(12)]
    runs = [plain_run(name, {level: [True, level < 5] for level in range(1, 11)}) for name in names]
    figure = curve_svg(compare(runs).sections[0])
    labels = re.findall(r'<g class="label[^>]*>.*?<text[^>]*>(.*?)</text>', figure)
    assert len(set(labels)) == 12
    assert all("· G" in label and len(label) < 30 for label in labels)
    at_first = [float(x) for x in re.findall(r"<circle cx=\"([\d.]+)\"[^>]*><title>[^<]*, K 1:", figure)]
    at_second = [float(x) for x in re.findall(r"<circle cx=\"([\d.]+)\"[^>]*><title>[^<]*, K 2:", figure)]
    assert len(at_first) == len(at_second) == 12
    assert max(at_first) - min(at_first) < 0.6 * (min(at_second) - min(at_first))


def test_the_curve_has_a_line_for_each_run_and_stands_back_for_the_ceiling(page: str) -> None:
    groups = [(one.get("class") or "").split() for one in Page(page).all("g")]
    own = [kinds[1] for kinds in groups if kinds[:1] == ["run"] and kinds[1] != "published"]
    assert own == 2 * ["bound", "tone-0"]  # for wide and for narrow screens
    assert sum(kinds == ["run", "published"] for kinds in groups) >= 5
    assert "ε = 0.7" in page


def test_prompts_names_and_evidence_cannot_become_markup(tmp_path: Path) -> None:
    nasty = "<script>alert(1)</script>\"'&</style>\x00"
    run = plain_run(nasty, {1: [False]})
    item = next(iter(run.items.values()))
    evidence = {"explanation": nasty, "rule": nasty, "scene": {"objects": [{"label": nasty}]}}
    verdict = Verdict(False, (Part(nasty, nasty, 0, about=(nasty,), reason=nasty),), evidence)
    run = replace(
        run,
        items={item.id: item._replace(prompt=nasty, formula=nasty)},
        images=(replace(run.images[0], verdict=verdict),),
    )
    write_html([run], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    read = Page(text)
    assert len(read.all("script")) == 2  # the theme, and the gallery
    assert len(read.all("style")) == 1
    assert "\x00" not in text
    assert read.words.count("<script>alert(1)</script>\"'&</style>·") >= 7


@given(st.text(), st.text())
def test_any_text_reads_back_from_an_element(words: str, attribute: str) -> None:
    read = Page(element("p", words, title=attribute).replace("\r", "&#13;"))
    if all(character.isprintable() for character in words + attribute):
        assert read.words == words
        assert read.all("p")[0]["title"] == attribute


def test_failed_clauses_are_marked_in_the_formula() -> None:
    formula = (
        "(exists ?c (exists ?b (and (Is ?c 'cup') (Is ?b 'book') (LeftOf ?c ?b) "
        "(forall ?w (implies (Is ?w 'watch') (Below ?w ?c))))))"
    )
    parts = [
        Part("(Is ?c 'cup')", "object", 1),
        Part("(LeftOf ?c ?b)", "relation", 0),
        Part("(or (not (Is ?w 'watch')) (Below ?w ?c))", "condition", 0),
    ]
    pieces = formula_pieces(formula, parts)
    assert [text for kind, text in pieces if kind == "mark"] == ["(LeftOf ?c ?b)", "(Below ?w ?c)"]
    assert re.sub(r"\s+", " ", "".join(text for _, text in pieces)).replace("( ", "(") == formula


def test_a_count_that_failed_is_marked_and_its_quantifier_is_an_operator() -> None:
    failed = "(exactly 3 ?x (Is ?x 'cup'))"
    pieces = formula_pieces(f"(and {failed} (at-most 1 ?y (Is ?y 'fork')))", [Part(failed, "count", 2 / 3)])
    assert ("mark", failed) in pieces
    assert [text for kind, text in pieces if kind == "b"] == ["and", "at-most"]
    spans = highlight_formula(f"(and {failed} (at-most 1 ?y (Is ?y 'fork')))", [])
    assert [span.text for span in spans if span.kind == "word"] == ["and", "exactly", "at-most"]


def test_objects_of_failed_clauses_are_always_shown(runs: Sequence[DrawnRun], page: str) -> None:
    read = Page(page)
    shown = [one for one in runs[0].images if isinstance(one.verdict, Verdict) and not one.verdict.passed]
    assert shown
    assert read.all("g", "fault")
    assert len(read.all("g", "detected")) > len(read.all("g", "fault"))
    assert len(read.all("figure", "fail")) == len(shown)


def test_reasons_for_unscored_images_are_told(runs: Sequence[DrawnRun], page: str) -> None:
    reasons = {one.outcome.reason for one in runs[0].images if one.outcome.passed is None}
    assert reasons
    words = Page(page).words
    assert all(f"because of {reason}" in words for reason in reasons - {"no image"})


def test_the_page_without_images_is_rendered_too(runs: Sequence[DrawnRun]) -> None:
    assert not Page(render(compare(runs), "html")).all("img")


def test_a_run_in_progress_shows_what_there_is_and_says_what_is_not() -> None:
    run = plain_run("lab/slow", {1: [True, True], 2: [False, "no image"], 3: ["no image", "no image"]})
    read = Page(render(compare([run]), "html"))
    points = [one["class"] for one in read.all("circle") if "point" in (one["class"] or "")]
    assert points == 2 * ["point", "point partial"]
    assert "lab/slow: 3 of 6 images unscored: 3 no image (what happened)." in read.words
    assert "3/6" in read.words


def test_the_same_runs_give_the_same_page(runs: Sequence[DrawnRun], page: str, tmp_path: Path) -> None:
    write_html(runs, tmp_path / "again.html", references=True)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


@given(
    st.lists(st.floats(0, 400), max_size=30).map(sorted),
    st.floats(1, 30),
)
def test_labels_keep_their_order_their_distance_and_their_room(wanted: list[float], apart: float) -> None:
    heights = spread_labels(wanted, apart, 0, 400)
    assert len(heights) == len(wanted)
    room = min(apart, 400 / max(1, len(wanted) - 1))
    assert all(later - earlier >= room - 1e-6 for earlier, later in pairwise(heights))
    assert all(-1e-6 <= height <= 400 + 1e-6 for height in heights)
    if all(later - earlier >= apart for earlier, later in pairwise(wanted)):
        assert heights == pytest.approx(wanted)


def _photographed(run: DrawnRun, dice: random.Random) -> DrawnRun:
    """Photographs are heavier than drawings: noise over colours stands for them."""
    images = []
    for judged in run.images:
        path = cast(Path, judged.image)
        coarse = Image.frombytes("RGB", (48, 48), dice.randbytes(48 * 48 * 3))
        coarse.resize((512, 512), Image.Resampling.BICUBIC).save(path)
        images.append(replace(judged, sha256=sha256(path.read_bytes()).hexdigest()))
    return replace(run, images=tuple(images))


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> DrawnRun:
    run = drawn_run(tmp_path_factory.mktemp("heavy"), "lab/first", per_level=1, unscored=0, size=128)
    return _photographed(run, random.Random(1))


@only_in_full
def test_several_large_runs_make_a_page_that_can_be_sent(tmp_path: Path) -> None:
    dice, runs = random.Random(1), []
    for name in ("first", "second", "third"):
        run = drawn_run(tmp_path / name, f"lab/{name}", per_level=3, unscored=0, size=128)
        runs.append(_photographed(run, dice))
    write_html(runs, tmp_path / "report.html")
    read = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(read.all("figure", "exhibit")) == 3 * 24
    assert (tmp_path / "report.html").stat().st_size < 3_500_000


def test_a_page_that_would_be_too_large_shows_fewer_images_and_says_so(heavy: DrawnRun, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_html([heavy], path)
    whole = path.stat().st_size
    write_html([heavy], path, gallery=10, most_megabytes=0.6 * whole / 1e6)
    assert path.stat().st_size <= 0.6 * whole
    read = Page(path.read_text(encoding="utf-8"))
    shown = len(read.all("figure", "exhibit"))
    assert 2 <= shown < 10
    assert f"{shown} images of each run instead of 10, to keep the page below" in read.words
    with pytest.raises(FormalimgError, match="even without images"):
        write_html([heavy], path, most_megabytes=0.01)
    assert len(Page(path.read_text(encoding="utf-8")).all("figure", "exhibit")) == shown  # what was there is left alone


def test_images_in_a_folder_are_larger_and_those_of_an_earlier_page_go(heavy: DrawnRun, tmp_path: Path) -> None:
    path, folder = tmp_path / "report.html", tmp_path / "report_files"
    write_html([heavy], path, images="folder")
    (folder / "mine.webp").write_text("not ours")
    write_html([heavy], path, gallery=3, images="folder")
    named = {one["src"] for one in Page(path.read_text(encoding="utf-8")).all("img")}
    assert len(named) == 3
    assert {f"report_files/{file.name}" for file in folder.iterdir()} == named | {"report_files/mine.webp"}
    for name in named:
        with Image.open(tmp_path / str(name)) as image:
            assert image.size == (512, 512)


def test_a_page_without_images_still_tells_what_was_asked_and_why(heavy: DrawnRun, tmp_path: Path) -> None:
    write_html([heavy], tmp_path / "report.html", images="none")
    read = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert not read.all("img")
    assert "checkbox" not in [one.get("type") for one in read.all("input")]
    assert len(read.all("figure", "exhibit")) == len(heavy.images)
    assert next(iter(heavy.items.values())).prompt in read.words
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_what_runs_have_in_common_is_told_once(runs: Sequence[DrawnRun], page: str) -> None:
    words = Page(page).words
    assert words.count(runs[0].manifest.items_digest) == 1
    assert words.count(runs[0].manifest.created) == 1
    other = replace(runs[1], manifest=replace(runs[1].manifest, created="2027-02-02T00:00:00Z"))
    words = Page(render(compare([runs[0], other]), "html")).words
    assert words.index("Same for all runs") > max(words.index(one.manifest.created) for one in (runs[0], other))


def test_figures_hold_no_script_no_event_and_no_foreign_address() -> None:
    """In the SVG of papers and in that of the page, whatever models and reasons are called."""
    harm = "<script>x</script><a href='javascript:x' onload=x>]]></svg>&\x00\x1b\u202e\ufffe"
    compared = compare([plain_run(f"{harm} {n}", {1: [True, False], 2: [False, "refused"]}) for n in range(2)])
    pages = [drawing.svg() for drawing in comparison_figures(compared)] + [curve_svg(compared.sections[0])]
    assert len(pages) > 2
    for page in pages:
        elements = list(ElementTree.fromstring(page).iter())
        assert {one.tag.rpartition("}")[2] for one in elements}.isdisjoint(
            {"script", "a", "image", "use", "style", "foreignObject", "iframe", "animate", "set"}
        )
        names = {name.rpartition("}")[2] for one in elements for name in one.attrib}
        assert not [name for name in names if name.startswith("on") or name in ("href", "src", "style")]
        assert "<script>x</script>" in "".join(one.text or "" for one in elements)
