"""The object judge: one grounding, three profiles; what it is told by options; end to end on drawings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

import formalimg
from formalimg._util.images import png_bytes
from formalimg.benchmarks.geneval.form import parse_metadata
from formalimg.benchmarks.geneval.judge import ObjectJudge
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.object_spec import ObjectSpec
from formalimg.drawing.icon_scene import draw, natural_aspect
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.reports.comparison import compare
from formalimg.reports.report import render, write_html
from formalimg.reports.tables.model import Number
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.web.sites import visitor

ITEMS = Path(__file__).parents[2] / "examples" / "geneval" / "evaluation_metadata.jsonl"
DOG = {"class": "dog", "count": 1}


@dataclass(frozen=True)
class KnownBoxes:
    """A grounder that says what it was told: label, box, colour and confidence."""

    things: tuple[tuple[str, Box, str, float], ...]
    name: str = "lab/boxes"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 1

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding:
        objects = [SceneObject(label, box, color) for label, box, color, _ in self.things]
        return Grounding(Scene.of(objects), evidence={"found": [{"score": score} for *_, score in self.things]})


def picture(width: int = 400, height: int = 400) -> LoadedImage:
    image = Image.new("RGB", (width, height), "white")
    return LoadedImage(png_bytes(image), image)


def item(tag: str = "two_object", *include: Mapping[str, Any], **more: Any) -> Item[ObjectSpec]:
    return Item("geneval", "0", 1, "a photo", parse_metadata({"tag": tag, "include": list(include), **more}))


def judged(asked: Item[Any], *things: tuple[str, Box, str, float], **options: Any) -> Verdict:
    verdict = asyncio.run(ObjectJudge(KnownBoxes(things), **options).judge(asked, picture()))
    assert isinstance(verdict, Verdict)
    return verdict


def test_profiles_differ_where_their_rules_do() -> None:
    one, two = Box(100, 100, 300, 300), Box(600, 100, 800, 300)
    red = item("colors", {**DOG, "color": "red"})
    things = ("dog", one, "blue", 0.9), ("dog", two, "red", 0.5)
    found = judged(red, *things)
    assert not found.passed, "the most confident dog is blue"
    profiles: Any = found.evidence["profiles"]
    assert {name: about["passed"] for name, about in profiles.items()} == {
        "official": False,
        "strict": False,
        "logic": True,
    }
    assert profiles["strict"]["score"] == 0, "a wrong number of dogs, and then no colour"
    assert judged(red, *things, profile="logic").passed
    assert found.evidence["scores"] == [0.9, 0.5]
    assert "1 blue" in str(found.evidence["explanation"])


def test_parts_say_what_was_checked() -> None:
    asked = item("position", DOG, {"class": "cup", "count": 1, "color": "red", "position": ["above", 0]})
    found = judged(asked, ("dog", Box(100, 600, 300, 800), "black", 1.0), ("cup", Box(100, 100, 300, 300), "red", 1.0))
    assert found.passed
    assert [(part.name, part.kind) for part in found.parts] == [
        ("1 dog", "object"),
        ("1 cup", "object"),
        ("red cup", "attribute"),
        ("cup above dog", "relation"),
    ]
    assert found.score == 1


def test_confidence_counts_for_all_profiles_and_can_be_lowered() -> None:
    two = item("counting", {"class": "dog", "count": 2}, exclude=[{"class": "dog", "count": 3}])
    things = ("dog", Box(0, 0, 200, 200), "red", 0.95), ("dog", Box(500, 0, 700, 200), "red", 0.6)
    found: Any = judged(two, *things).evidence["profiles"]
    assert not any(about["passed"] for about in found.values())
    found = judged(two, *things, counting_threshold=0.5).evidence["profiles"]
    assert all(about["passed"] for about in found.values())


def test_positions_are_judged_in_pixels_not_on_the_square_canvas() -> None:
    asked = item("position", DOG, {"class": "cup", "count": 1, "position": ["right of", 0]})
    things = ("dog", Box(100, 100, 200, 200), "red", 1.0), ("cup", Box(300, 500, 400, 600), "red", 1.0)
    judge = ObjectJudge(KnownBoxes(things))
    square = asyncio.run(judge.judge(asked, picture()))
    wide = asyncio.run(judge.judge(asked, picture(900, 300)))
    assert isinstance(square, Verdict)
    assert isinstance(wide, Verdict)
    assert (square.passed, wide.passed) == (False, True)


def test_logic_explains_with_the_numbers_that_objects_have_among_all() -> None:
    three = item("counting", {"class": "cup", "count": 3}, exclude=[{"class": "cup", "count": 4}])
    boxes = [Box(150 * n, 100, 150 * n + 100, 200) for n in range(5)]
    scores = (0.95, 0.5, 0.99, 0.2, 0.95)  # the first, third and last count, and the third is a fork
    things = [("fork" if n == 2 else "cup", boxes[n], "red", score) for n, score in enumerate(scores)]
    found = judged(three, *things, profile="logic")
    assert found.evidence["explanation"] == "3 cups needed, 2 found: #0 #4"
    assert [part.reason for part in found.parts] == ["3 cups needed, 2 found: #0 #4"]
    assert judged(three, *things).evidence["explanation"] == "3 cup wanted, 2 found", "that of the profile in force"


@pytest.mark.parametrize(
    ("include", "reason"),
    [
        ([{**DOG, "color": "red"}], "red dog needed; closest blue dog #0: is blue"),
        ([{"class": "cat", "count": 1}], "1 cat needed, none found"),
        ([{"class": "dog", "count": 2}], "at least 2 dogs needed, 1 found: #0"),
        (
            [DOG, {"class": "cup", "count": 1, "position": ["left of", 0]}],
            "cup left of dog needed; closest green cup #1 and blue dog #0: right edge 800 ≥ centre x 200",
        ),
        ([{"class": "cat", "count": 1}, {**DOG, "position": ["above", 0]}], "1 cat needed, none found"),
    ],
)
def test_logic_says_what_the_closest_objects_lack(include: list[Mapping[str, Any]], reason: str) -> None:
    things = ("dog", Box(100, 100, 300, 300), "blue", 0.9), ("cup", Box(600, 100, 800, 300), "green", 0.9)
    found = judged(item("position", *include), *things, profile="logic")
    assert found.evidence["explanation"] == reason


def test_an_item_without_objects_is_unscored() -> None:
    empty = Item("geneval", "0", 1, "a photo", ObjectSpec("colors", ()))
    assert isinstance(asyncio.run(ObjectJudge(KnownBoxes(())).judge(empty, picture())), Unscored)


@pytest.mark.parametrize(("color", "tone"), [("orange", "#f0801c"), ("purple", "#722d91"), ("red", "#d8232a")])
def test_pixels_can_be_orange_and_purple(color: str, tone: str) -> None:
    image = Image.new("RGB", (200, 200), "white")
    ImageDraw.Draw(image).rectangle((50, 50, 150, 150), fill=tone)
    cup = ("cup", Box(250, 250, 750, 750), "other", 1.0)
    asked = item("colors", {"class": "cup", "count": 1, "color": color})
    verdict = asyncio.run(ObjectJudge(KnownBoxes((cup,)), colors="pixels").judge(asked, LoadedImage(b"", image)))
    assert isinstance(verdict, Verdict)
    assert verdict.passed


def test_options_of_the_judge() -> None:
    judge = open_judge("geneval", "builtin/icons", {"profile": "logic", "confidence": "0.5"})
    assert judge.settings["profile"] == "logic"
    assert judge.settings["min_confidence"] == 0.5
    with pytest.raises(FormalimgError, match="profile"):
        open_judge("geneval", "builtin/icons", {"profile": "mine"})
    with pytest.raises(FormalimgError, match="colors=clip"):
        open_judge("geneval", "builtin/icons", {"clip": "some/model"})
    with pytest.raises(FormalimgError, match="profile=official"):
        open_judge("geneval", "builtin/icons", protocol="published")


def test_a_run_of_drawings_end_to_end(tmp_path: Path) -> None:
    """The oracle passes by every profile; the report has a column for each task, and a row for each profile."""
    items = load("geneval", ITEMS)
    result = formalimg.run("geneval", "builtin/oracle", items=items, size=512, samples=2, folder=tmp_path / "run")
    assert (result.progress.made, result.progress.passed) == (24, 24)
    comparison = compare([result.run], references=True)
    text = render(comparison, "md")
    assert "color attribution" in text
    assert "IF-XL" in text
    (table,) = [one for one in comparison.sections[0].tables if one.name == "profiles"]
    assert [row.cells[0] for row in table.rows] == ["official", "strict", "logic"]
    assert all(isinstance(cell, Number) and cell.value == 1 for row in table.rows for cell in row.cells[1:-1])


def test_pre_made_images_in_the_layout_of_the_authors(tmp_path: Path) -> None:
    """Numbered folders with `metadata.jsonl` and `samples`: matched by prompt, 4 samples of each."""
    lines = ITEMS.read_text().splitlines()
    for number, label in enumerate(("cup", "scissors")):
        folder = tmp_path / "images" / f"{number:05d}"
        (folder / "samples").mkdir(parents=True)
        (folder / "metadata.jsonl").write_text(lines[number])
        height = round(200 / natural_aspect(label))
        shown = draw(Scene.of([SceneObject(label, Box(400, 400, 600, 400 + height), "red")]), 512)
        for sample in range(4):
            (folder / "samples" / f"{sample:04d}.png").write_bytes(png_bytes(shown))
    result = formalimg.run(
        "geneval",
        f"folder/{tmp_path / 'images'}",
        "builtin/icons",
        items=load("geneval", ITEMS)[:2],
        samples=4,
        folder=tmp_path / "b",
    )
    rate = result.summary().levels[1]
    assert (rate.passed, rate.expected) == (8, 8)


def test_reasons_of_logic_are_in_the_report_and_the_viewer(tmp_path: Path) -> None:
    """Of three carrots two are drawn: the pages say so beside the image."""
    carrots = [SceneObject("carrot", Box(100 + 300 * n, 300, 160 + 300 * n, 500), "red") for n in range(2)]
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "4.png").write_bytes(png_bytes(draw(Scene.of(carrots), 512)))
    items = [one for one in load("geneval", ITEMS) if one.id == "4"]
    judge = open_judge("geneval", "builtin/icons", {"profile": "logic"})
    result = formalimg.run("geneval", f"folder/{tmp_path / 'images'}", judge, items=items, folder=tmp_path / "run")
    assert result.progress.passed == 0
    reason = "3 carrots needed, 2 found: #0 #1"
    write_html([result.run], tmp_path / "page.html")
    assert reason in unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert reason in unescape(visitor(tmp_path).get("/item?run=run&item=4").text)
