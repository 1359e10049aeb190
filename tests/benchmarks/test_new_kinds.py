"""A new kind of benchmark: two hooks are enough for runs and reports, and a third gives it a table of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageStat

import formalimg
from formalimg.benchmarks import registry
from formalimg.benchmarks.hooks import PartTerms
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.record import ItemForm, Record
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.python_function import CallableModel
from formalimg.reports.comparison import compare
from formalimg.reports.report import render
from formalimg.reports.sharing.bundle import write_bundle
from formalimg.reports.sharing.bundle_verification import verify_bundle
from formalimg.reports.tables.model import Column, TableRow
from formalimg.types import Benchmark, Item, Judge, Part, Setting, Table, Verdict
from tests.support.command import formalimg as command

if TYPE_CHECKING:
    from formalimg.reports.comparison_model import HowCounted, SeenRun


@dataclass(frozen=True)
class Brightness:
    """What an item asks for: the mean brightness of the image, from 0 to 255, within 40."""

    mean: int


class _Form:
    NEEDED: tuple[str, ...] = ("mean",)
    OPTIONAL: tuple[str, ...] = ()
    PROOF: tuple[str, ...] = ()
    SPEC: type = Brightness

    def fields_of(self, spec: Brightness, *, with_proof: bool) -> dict[str, Any]:
        return {"mean": spec.mean}

    def spec_in(self, record: Record, suite: str, level: int, tags: tuple[str, ...]) -> Brightness | None:
        return self.build_spec(record.fields)

    def build_spec(self, fields: dict[str, Any]) -> Brightness:
        return Brightness(fields["mean"])

    def canonical_text(self, spec: Brightness) -> str:
        return str(spec.mean)


@dataclass(frozen=True)
class _BrightnessJudge:
    name: str = "brightness/mean"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"rule": 1})
    concurrency: int = 1

    async def judge(self, item: Item[Any], image: LoadedImage) -> Verdict:
        mean = ImageStat.Stat(image.pil.convert("L")).mean[0]
        holds = abs(mean - item.spec.mean) <= 40
        return Verdict(holds, (Part(f"about {item.spec.mean}", "mean", float(holds)),), {"mean": mean})


class _Brightness(Benchmark):
    @property
    def form(self) -> ItemForm:
        return _Form()

    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        return _BrightnessJudge()

    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        rows = tuple(TableRow((run.name, sum(1 for _ in run.record.judged())), run.name) for run in runs)
        return (Table("measured", "Images that were measured", (Column("run"), Column("images", "count")), rows),)


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The items of a benchmark that is registered for a test: one dark, one light."""
    new = _Brightness(
        name="brightness",
        title="Brightness",
        level="level",
        terms=PartTerms("mean", "kind", "word", "brightness", "holds", "hold", "that failed"),
        part_kinds=("mean",),
        judged_offline=True,
    )
    module = ModuleType("formalimg.benchmarks.brightness.benchmark")
    module.BENCHMARKS = (new,)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry.FOLDERS, "brightness", ("brightness",))
    registry._load_folder.cache_clear()
    made = [Item("brightness", str(mean), 1, f"brightness {mean}", Brightness(mean)) for mean in (30, 220)]
    return write_items(made, tmp_path / "items")


def _paint(prompt: str) -> Image.Image:
    image = Image.new("L", (64, 64), 20)
    image.paste(60, (0, 0, 64, 16))  # an image of one colour would fail by rule
    return image


def test_it_is_run_judged_without_a_name_and_reported_with_its_own_table(items: Path, tmp_path: Path) -> None:
    painter = CallableModel(_paint, name="lab/painter")
    result = formalimg.run("brightness", painter, items=items, size=64, folder=tmp_path / "run", progress=False)
    assert (result.progress.passed, result.progress.not_passed) == (1, 1)
    assert result.run.manifest.judge is not None
    assert result.run.manifest.judge.name == "brightness/mean"
    page = render(compare([result.run]), "md")
    assert "Brightness" in page
    assert "Images that were measured" in page
    assert [failure.item for failure in result.failures()] == ["220"]
    write_bundle([tmp_path / "run"], tmp_path / "bundle.zip", "a test")
    check = verify_bundle(tmp_path / "bundle.zip")
    assert not check.findings


def test_commands_show_what_they_know_of_it(items: Path, tmp_path: Path) -> None:
    assert command("items", "census", "brightness", "--items", str(items)).out == "2 items of brightness\n"
    assert "Brightness(mean=30)" in command("items", "show", "brightness/30", "--items", str(items)).out
    (tmp_path / "theirs.txt").write_text("?")
    with pytest.raises(FormalimgError, match="brightness has no published files"):
        load("brightness", tmp_path / "theirs.txt")
