"""DrawBench: tables of prompts, what each category is judged by, folders of several models, and the report."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image, ImageDraw

import formalimg
from formalimg.benchmarks.drawbench.benchmark import CATEGORIES, find_category
from formalimg.benchmarks.items_file import decode_item, encode_item
from formalimg.benchmarks.loader import load, load_with_skipped
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.factory import open_prompt_judge
from formalimg.judges.grounders.detector_files import coco_classes
from formalimg.runs.reader import open_run
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored, Verdict
from tests.support.command import formalimg as command

pytestmark = pytest.mark.usefixtures("no_preflight")

PROMPTS = [
    ("1", "Colors", "A blue colored bench."),
    ("2", "Counting", "Two cars on the bridge."),
    ("3", "Positional", "A car underneath a bench."),
    ("4", "Text", "A poster that says 'Open Late'."),
    ("5", "Reddit", "A teapot who plays chess with the moon."),
    ("6", "Rare Words", "Petrichor."),
    ("7", "Colors", "A blue colored gizmo or two."),
]

KINDS = {"car": (200, 30, 30), "bench": (30, 30, 200)}
"""What is drawn: rectangles of one colour for each class."""


class _Rectangles:
    """A detector that finds rectangles by their colours."""

    name = "detector/rectangles"
    settings: ClassVar[dict[str, Any]] = {}
    concurrency = 1
    classes = coco_classes().words

    def unknown_classes(self, classes: Sequence[str]) -> tuple[str, ...]:
        return coco_classes().unknown(classes)

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        if unknown := self.unknown_classes(classes):
            return Unscored("not understood", f"{self.name} cannot look for {', '.join(unknown)}")
        found = []
        for column in range(10):
            for row in range(10):
                pixel = image.pil.getpixel((column * 10 + 5, row * 10 + 5))
                kind = next((kind for kind, color in KINDS.items() if pixel == color), None)
                if kind in classes:
                    box = Box(column * 100, row * 100, column * 100 + 100, row * 100 + 100)
                    found.append(SceneObject(str(kind), box, {"car": "red", "bench": "blue"}[str(kind)]))
        return Grounding(Scene.of(found))


def draw(path: Path, *cells: tuple[str, int, int]) -> None:
    """Draw objects in the cells of a grid of ten by ten."""
    image = Image.new("RGB", (100, 100), "white")
    for kind, column, row in cells:
        corners = (column * 10, row * 10, column * 10 + 9, row * 10 + 9)
        ImageDraw.Draw(image).rectangle(corners, fill=KINDS[kind])
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


DRAWN: dict[str, tuple[tuple[str, int, int], ...]] = {
    "1": (("bench", 4, 4),),
    "2": (("car", 1, 8), ("car", 5, 8), ("car", 8, 8)),
    "3": (("bench", 4, 4), ("car", 4, 6)),
    "4": (("car", 1, 1),),
    "5": (("bench", 2, 2),),
    "6": (("bench", 2, 5),),
    "7": (("bench", 6, 5),),
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "category", "prompt"), *PROMPTS])
    return path


@pytest.fixture
def images(tmp_path: Path) -> Path:
    for name, cells in DRAWN.items():
        draw(tmp_path / "my-model" / f"{name}.png", *cells)
    return tmp_path / "my-model"


def test_categories_decide_what_a_prompt_becomes(table: Path) -> None:
    items = {item.id: item for item in load("drawbench", table)}
    assert [CATEGORIES[item.level - 1] for item in items.values()] == [category for _, category, _ in PROMPTS]
    assert [bool(item.spec.formula) for item in items.values()] == [True, True, True, False, False, False, False]
    assert items["2"].spec.left_over == "on the bridge"
    assert "Under" in items["3"].spec.text
    assert [question.category for question in items["4"].spec.questions] == ["text"]
    assert items["5"].spec.questions[0].category == "whole"
    assert items["5"].spec.no_formula == "prompts of Reddit ask for more"
    assert items["7"].spec.no_formula == "'or' is not understood here"
    for item in items.values():
        assert decode_item(encode_item(item), "drawbench") == item


def test_the_columns_of_the_authors_and_their_order_are_read(tmp_path: Path) -> None:
    path = tmp_path / "drawbench.tsv"
    path.write_text("Prompts\tCategory\nA red kite.\tcolors\nA dog.\tGary Marcus et al.\nA cat.\tCubism\n\tColors\n")
    loaded = load_with_skipped("drawbench", path)
    assert [(item.id, item.level) for item in loaded.items] == [("1", 1), ("2", 6)]
    assert [skipped.where.rpartition(" ")[2] for skipped in loaded.skipped] == ["4", "5"]
    assert find_category("rare_words") == "Rare Words"
    twice = tmp_path / "twice.csv"
    twice.write_text("id,category,prompt\n1,Colors,A cat.\n1,Colors,A dog.\n")
    assert [one.why for one in load_with_skipped("drawbench", twice).skipped] == ["there is another item 1"]


def test_items_are_written_as_they_were(table: Path, tmp_path: Path) -> None:
    items = load("drawbench", table)
    suite("drawbench").write_published(items, tmp_path / "out")
    assert load("drawbench", tmp_path / "out") == items
    with pytest.raises(FormalimgError, match="not empty"):
        suite("drawbench").write_published(items, tmp_path / "out")


def test_a_detector_judges_what_it_can_and_says_why_not_the_rest(table: Path, images: Path, tmp_path: Path) -> None:
    judge = open_prompt_judge(_Rectangles())
    folder = tmp_path / "run"
    formalimg.run("drawbench", f"folder/{images}", judge, items=table, folder=folder, progress=False)
    with closing(open_run(folder)) as run:
        judged = {one.outcome.item: one.verdict for one in run.judged()}
    passed = {name: verdict.passed for name, verdict in judged.items() if isinstance(verdict, Verdict)}
    assert passed == {"1": True, "2": False, "3": True}
    assert judged["2"].evidence["not_checked"] == "on the bridge"
    why = {name: verdict.detail for name, verdict in judged.items() if isinstance(verdict, Unscored)}
    assert "reads no text: give -J reader=ocr/rapidocr" in why["4"]
    assert "prompts of Reddit ask for more" in why["5"]
    assert "prompts of Rare Words ask for more" in why["6"]
    assert "'or' is not understood here" in why["7"]
    code, out, err = command("report", str(tmp_path / "run"), "--format", "md")
    assert code == 0, err
    rows = {
        cells[1]: cells for line in out.splitlines() if len(cells := [cell.strip() for cell in line.split("|")]) == 8
    }
    assert rows["Colors"][3:6] == ["1/2", "1 formula, 1 question", "0"]
    assert rows["Counting"][3:6] == ["1/1", "1 formula", "1"]
    assert rows["Text"][3:5] == ["0/1", "1 text"]
    assert "ask for more" in rows["Reddit"][6]


def test_folders_by_category_item_model_and_seed_are_matched(table: Path, tmp_path: Path) -> None:
    collection = tmp_path / "images"
    for number, category, _ in PROMPTS:
        for model in ("first", "second_one"):
            for seed in (7, 30):
                cells = DRAWN[number] if (model, seed) == ("first", 7) else (("car", 0, 0), ("bench", 9, 9))
                draw(collection / category / number.zfill(3) / f"{model}_{seed}.png", *cells)
    arguments = ("run", "drawbench", "--items", str(table), "--model", f"folder/{collection}", "--samples", "2")
    code, _, err = command(*arguments, "--no-judge", "--out", str(tmp_path / "run"))
    assert code == 2
    assert "holds the images of 2 models (first, second_one): give -M files='*/first_*'" in err
    code, out, err = command(
        "run", "--no-judge", *arguments[1:], "-M", "files=*/first_*", "--out", str(tmp_path / "run")
    )
    assert code == 0, err
    assert "14  of 14 wanted: 14 by id" in out + err
