"""A new suite is a benchmark object in a folder of its own, and a line in the registry.

Everything else follows from the object: its items are loaded, exported, run, judged and reported like those of others.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

import formalimg
from formalimg.benchmarks import registry
from formalimg.benchmarks.conceptmix.benchmark import ConceptMix
from formalimg.benchmarks.export.suite_export import PublisherInfo, export_suite
from formalimg.benchmarks.items_file import decode_item, encode_item, write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.record import ItemFindings
from formalimg.benchmarks.registry import suite
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.models.python_function import CallableModel
from formalimg.reports.comparison import compare
from formalimg.reports.figures.charts import item_figures
from formalimg.reports.figures.runs import comparison_figures
from formalimg.reports.report import render, write_html
from formalimg.types import Benchmark, Item
from tests.support.concept_items import NOTHING, answers_by
from tests.support.score_items import scores_by
from tests.support.scripted_chat import Script, ScriptedChat, numbered

pytestmark = pytest.mark.usefixtures("no_preflight")


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """A suite with questions whose published files are lines of text."""
    first = load("conceptmix")[0]

    class Mine(ConceptMix):
        def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
            prompts = path.read_text().splitlines()
            return [Item(self.name, str(number), 1, prompt, first.spec) for number, prompt in enumerate(prompts)]

    like = suite("conceptmix")
    data = {field.name: getattr(like, field.name) for field in fields(like)}
    new = Mine(**data | {"name": "mine", "title": "My suite"})
    register(new, monkeypatch)
    return new


def register(new: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("formalimg.benchmarks.mine.benchmark")
    module.BENCHMARKS = (new,)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry.FOLDERS, "mine", (new.name,))
    registry._load_folder.cache_clear()


def test_a_new_suite_of_a_known_kind(mine: Benchmark, tmp_path: Path) -> None:
    assert get_suite("mine") is mine
    (tmp_path / "published.txt").write_text("a cup\na plate\n")
    items = load("mine", tmp_path / "published.txt")
    assert [item.prompt for item in items] == ["a cup", "a plate"]
    assert decode_item(encode_item(items[0]), "mine") == items[0]
    write_items(items, tmp_path / "items")
    assert load("mine", tmp_path / "items") == items
    exported = export_suite("mine", tmp_path / "out", items=tmp_path / "items", imprint=PublisherInfo("CC-BY-4.0"))
    assert exported.items == 2
    assert "2 items of My suite." in (tmp_path / "out" / "DATASHEET.md").read_text()
    with pytest.raises(FormalimgError, match="no items of mine ship with formalimg"):
        load("mine")


def draw_anything(prompt: str) -> Image.Image:
    """An image that is not of one colour, which would fail by rule."""
    image = numbered(1).pil.copy()
    image.paste((255, 255, 255), (0, 0, 64, 16))
    return image


CASES: dict[str, tuple[str, str | None, Script | None]] = {
    "knolling": ("builtin/reader", None, None),
    "conceptmix": ("", "lab/eyes", answers_by(defaultdict(lambda: "yes"))),
    "cf-world-rules": ("", "lab/eyes", scores_by(defaultdict(lambda: 1))),
}
"""Per suite that the new one is like: the model, or none for a function; the judge; and what the judge answers."""


@pytest.mark.parametrize("like", CASES)
def test_a_new_suite_is_run_judged_and_reported(like: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(replace(suite(like), name="mine", title="My suite"), monkeypatch)
    chosen = [item for item in load(like) if item.level <= 2]
    write_items([replace(item, suite="mine") for item in (*chosen[:3], *chosen[-3:])], tmp_path / "items")
    items = load("mine", tmp_path / "items")
    model, judge, script = CASES[like]
    if script is not None:
        chat = ScriptedChat({1: NOTHING}, script, name="lab/eyes")
        monkeypatch.setattr("formalimg.models.registry.open_chat_model", lambda name, options: chat)
    painter: Any = model or CallableModel(draw_anything, name="lab/painter")
    result = formalimg.run("mine", painter, judge, items=items, size=512, folder=tmp_path / "run")
    assert (result.progress.made, result.progress.passed) == (6, 6)

    comparison = compare([result.run])
    assert {level: rate.value for level, rate in result.summary().levels.items()} == {1: 1.0, 2: 1.0}
    assert "My suite" in render(comparison, "md")
    rows = list(csv.DictReader(render(comparison, "csv").splitlines()))
    assert {row["suite"] for row in rows} == {"mine"}
    assert [float(row["value"]) for row in rows if row["figure"] == "level"] == [1.0, 1.0]
    write_html([result.run], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "My suite" in page
    assert ("My suite: pass rates in percent, by" in page) != ("My suite: mean scores of images" in page)
    assert all(drawing.name.startswith("mine-") for drawing in comparison_figures(comparison))
    assert item_figures(items)
