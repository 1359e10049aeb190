"""Which images a gallery shows, which failures are the most telling, and what is framed in them."""

from __future__ import annotations

import io
import os
import re
from base64 import b64decode
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from formalimg import Box, Scene, SceneObject, parse
from formalimg.benchmarks.registry import suite
from formalimg.judges.base import Grounding
from formalimg.judges.scene_judge import judge_grounding
from formalimg.reports.figures.svg import write_figures
from formalimg.reports.gallery import image_html
from formalimg.reports.page_images import (
    FAILED,
    PASSED,
    ExampleImage,
    LinkedImage,
    Thumbnail,
    choose_images,
    image_grids,
    make_thumbnail,
)
from formalimg.reports.report import write_html
from formalimg.reports.telling_failures import MAX_TELLING, telling_failures
from formalimg.runs.database import PlannedItem
from formalimg.runs.image_store import ImageStore, RunFolderImage
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged
from formalimg.types import Part, Verdict
from tests.reports.drawn_runs import DrawnRun, drawn_run, plain_run


class FlatStore(ImageStore):
    """Images beside each other in the folder itself."""

    @property
    def images(self) -> Path:
        return self.folder


def _outcome(number: int, level: int, passed: bool | None, reason: str = "") -> ImageOutcome:
    return ImageOutcome(str(number), level, 0, passed, None, reason, "")


OUTCOMES = st.lists(
    st.tuples(
        st.integers(1, 10), st.sampled_from([(True, ""), (False, ""), (None, "refused"), (None, "judge failed")])
    ),
    max_size=120,
).map(lambda ends: [_outcome(number, level, *end) for number, (level, end) in enumerate(ends)])


@given(OUTCOMES, st.integers(0, 40))
def test_as_many_as_asked_for_and_none_twice(outcomes: list[ImageOutcome], count: int) -> None:
    chosen = choose_images(outcomes, count)
    assert len(chosen) == min(count, len(outcomes))
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) <= set(outcomes)
    # Failures come first, then what is unscored, then passes; each by level.
    order = [([False, None, True].index(one.passed), one.level) for one in chosen]
    assert order == sorted(order)


def test_passes_failures_and_levels_have_equal_parts() -> None:
    outcomes = [_outcome(n, n % 10 + 1, passed) for n, passed in enumerate([True, False] * 100 + [False, True] * 100)]
    chosen = choose_images(outcomes, 20)
    assert Counter(one.passed for one in chosen) == {True: 10, False: 10}
    assert set(Counter(one.level for one in chosen).values()) == {2}


def test_some_unscored_of_every_reason_are_shown() -> None:
    outcomes = [_outcome(n, 1, True) for n in range(50)]
    outcomes += [_outcome(100 + n, 1, None, reason) for n, reason in enumerate(["refused"] * 9 + ["judge failed"])]
    chosen = choose_images(outcomes, 24)
    assert Counter(one.reason for one in chosen) == {"": 20, "refused": 3, "judge failed": 1}


def test_images_not_made_yet_are_not_shown() -> None:
    assert choose_images([_outcome(1, 1, None, "no image"), _outcome(2, 1, True)], 10) == [_outcome(2, 1, True)]


def test_images_are_made_small_and_stand_upright(tmp_path: Path) -> None:
    sideways = Image.new("RGB", (400, 1000), "red")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    sideways.save(tmp_path / "a.jpg", exif=exif)
    small = _thumbnail(tmp_path / "a.jpg")
    assert isinstance(small, Thumbnail)
    assert (small.width, small.height) == (320, 128)
    assert small.address.startswith("data:image/webp;base64,")


@pytest.mark.parametrize("mode", ["RGBA", "P", "L", "I;16", "CMYK"])
def test_all_kinds_of_images_can_be_shown(tmp_path: Path, mode: str) -> None:
    name = "a.jpg" if mode == "CMYK" else "a.png"
    Image.new(mode, (40, 30)).save(tmp_path / name)
    small = _thumbnail(tmp_path / name)
    assert isinstance(small, Thumbnail)
    assert (small.width, small.height) == (40, 30)


def test_transparent_parts_are_white_as_the_judges_see_them(tmp_path: Path) -> None:
    Image.new("RGBA", (40, 30), (0, 0, 0, 0)).save(tmp_path / "a.png")
    small = _thumbnail(tmp_path / "a.png")
    assert isinstance(small, Thumbnail)
    with Image.open(io.BytesIO(small.data)) as shown:
        assert min(shown.convert("L").tobytes()) >= 250


def test_what_cannot_be_shown_says_why(tmp_path: Path) -> None:
    (tmp_path / "words.png").write_text("no image")
    Image.effect_noise((64, 64), 90).save(tmp_path / "whole.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:900])
    Image.new("1", (20_000, 10_000)).save(tmp_path / "huge.png")
    assert _thumbnail(tmp_path / "words.png") == "the file cannot be read as an image"
    assert _thumbnail(tmp_path / "cut.png") == "the file cannot be read as an image"
    assert _thumbnail(tmp_path / "gone.png") == "the file of the image is missing"
    assert _thumbnail(tmp_path / "huge.png") == "the image is too large to be shown"


@pytest.mark.parametrize("change", ["another file", "a link", "a pipe"])
def test_only_the_recorded_file_is_shown(tmp_path: Path, change: str) -> None:
    path, other = tmp_path / "a.png", tmp_path / "b.png"
    Image.new("RGB", (40, 30), "red").save(path)
    digest = sha256(path.read_bytes()).hexdigest()
    assert isinstance(make_thumbnail(RunFolderImage(path.name, digest, FlatStore(tmp_path))), Thumbnail)
    path.rename(other)
    if change == "another file":
        Image.new("RGB", (40, 30), "blue").save(path)
    elif change == "a link":
        path.symlink_to(other)
    else:
        os.mkfifo(path)
    shown = make_thumbnail(RunFolderImage(path.name, digest, FlatStore(tmp_path)))
    assert isinstance(shown, str)
    assert shown.startswith("the file of the image cannot be read: it is ")


def _thumbnail(path: Path) -> Thumbnail | str:
    digest = sha256(path.read_bytes()).hexdigest() if path.exists() else ""
    return make_thumbnail(RunFolderImage(path.name, digest, FlatStore(path.parent)))


def _failing(name: str, words: dict[str, str]) -> DrawnRun:
    """A run whose images all fail, each by one word; the items are named by level and number."""
    levels: dict[int, list[bool]] = {}
    for item in words:
        levels.setdefault(int(item.partition("-")[0]), []).append(False)
    run = plain_run(name, levels)
    images = (
        replace(image, verdict=Verdict(False, (Part("p", "kind", 0, about=(words[image.outcome.item],)),)))
        for image in run.images
    )
    return replace(run, images=tuple(images))


def test_each_new_word_comes_before_a_word_that_failed_already() -> None:
    run = _failing("a", {"1-0": "Is", "1-1": "Is", "2-0": "Above", "9-0": "Has"})
    chosen = [failure.judged.outcome.item for failure in telling_failures({0: run}, 3)]
    assert chosen == ["1-0", "2-0", "9-0"]
    assert [failure.judged.outcome.item for failure in telling_failures({0: run}, 9)] == ["1-0", "1-1", "2-0", "9-0"]


def test_runs_take_turns_and_an_item_is_there_once() -> None:
    words = {f"{level}-0": f"word {level}" for level in range(1, 9)}
    chosen = telling_failures({0: _failing("a", words), 2: _failing("b", words)})
    assert len(chosen) == MAX_TELLING
    assert [failure.run for failure in chosen] == [0, 0, 0, 2, 2, 2]
    assert len({failure.judged.outcome.item for failure in chosen}) == MAX_TELLING


def test_a_run_without_failures_has_none() -> None:
    assert telling_failures({0: plain_run("a", {1: [True, "refused"]})}) == []


FORMULA = "(exists ?cup (exists ?fork (and (Is ?cup 'cup') (Has ?cup 'red') (Is ?fork 'fork') (LeftOf ?cup ?fork))))"
CUP, FORK = SceneObject("cup", Box(100, 100, 200, 200), "red"), SceneObject("fork", Box(600, 100, 700, 200), "gray")
PLATE = SceneObject("plate", Box(300, 600, 500, 800), "red")


@pytest.mark.parametrize(
    ("objects", "framed"),
    [
        ([PLATE, FORK], []),  # the plate is red and to the left of the fork, but it is no cup
        ([PLATE], []),
        ([PLATE, replace(CUP, color="blue"), FORK], ["blue cup"]),
        ([PLATE, replace(CUP, box=Box(800, 100, 900, 200)), FORK], ["red cup", "gray fork"]),
    ],
)
def test_what_is_framed(objects: list[SceneObject], framed: list[str]) -> None:
    verdict = judge_grounding(parse(FORMULA), Grounding(Scene.of(objects)))
    assert isinstance(verdict, Verdict)
    item = PlannedItem("1", 1, "A red cup is to the left of a fork.", FORMULA, ())
    judged = Judged(ImageOutcome("1", 1, 0, False, verdict.score, "", ""), 0, None, {}, verdict)
    page = image_html(ExampleImage(item, judged, LinkedImage("images", 100, 100, b"")), suite("knolling"))
    assert re.findall(r'<g class="detected fault">.*?<text[^>]*>([^<]+)</text>', page) == framed
    assert page.count('class="detected') == len(objects)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[DrawnRun]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        drawn_run(folder / name, f"test/{name}", skill=skill, unscored=0.1, chance=number)
        for number, (name, skill) in enumerate([("good", 0.9), ("bad", 0.2)])
    ]


def _cells(svg: str) -> list[tuple[str, str, str]]:
    """Of each image: its title, its data, and the colour of its frame."""
    cell = re.compile(r'<g><title>([^<]*)</title><image href="data:image/jpeg;base64,([^"]*)".*?stroke="([^"]*)"', re.S)
    return cell.findall(svg)


def test_frames_are_green_for_images_that_pass_and_red_for_those_that_fail(runs: list[DrawnRun]) -> None:
    (figure,) = image_grids(runs).values()
    cells = _cells(figure.svg())
    assert {color for _, _, color in cells} == {PASSED, FAILED}
    known = {(run.manifest.model.name, one.outcome.item): one.outcome.passed for run in runs for one in run.images}
    assert len(cells) >= 18  # two runs, ten levels, a few without a verdict
    for title, data, color in cells:
        model, level, item, verdict = re.fullmatch(r"(\S+), K (\d+), item (\d+): (\w+)", title).groups()  # type: ignore[union-attr]
        assert runs[0].items[item].level == int(level)
        assert (color == PASSED) == (verdict == "passes") == known[model, item]
        with Image.open(io.BytesIO(b64decode(data))) as image:
            assert max(image.size) == 160
    assert "Green frame: it satisfies the instruction" in figure.note


def test_a_column_shows_the_same_item_of_all_runs(runs: list[DrawnRun]) -> None:
    (figure,) = image_grids(runs).values()
    items: dict[str, set[str]] = {}
    for title, _, _ in _cells(figure.svg()):
        _, level, item = title.partition(":")[0].split(", ")
        items.setdefault(level, set()).add(item)
    assert all(len(found) == 1 for found in items.values())
    assert len(items) == 10


def test_the_grid_is_a_figure_file_and_a_part_of_the_page(runs: list[DrawnRun], tmp_path: Path) -> None:
    grids = image_grids(runs)
    files = write_figures(list(grids.values()), tmp_path / "figures", ("svg", "png"))
    assert [path.name for path in files] == ["knolling-examples.svg", "knolling-examples.png"]
    with Image.open(files[1]) as image:
        colors = {color for _, color in image.getcolors(1 << 24) or ()}
    for wanted in (PASSED, FAILED):
        assert tuple(bytes.fromhex(wanted[1:])) in colors
    write_html(runs, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Examples by K" in page
    assert "Green frame" in page
    for options in ({"images": "none"}, {"gallery": 0}):
        write_html(runs, tmp_path / "bare.html", **options)
        assert "Examples by K" not in (tmp_path / "bare.html").read_text("utf-8")


def test_runs_without_verdicts_have_no_grid() -> None:
    assert image_grids([plain_run("a", {1: ["not judged"]})]) == {}
