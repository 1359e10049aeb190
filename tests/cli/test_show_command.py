"""`formalimg items show --run`: how runs fared on an item, in the words that the viewer has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from formalimg import load
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.registry import suite
from formalimg.judges.factory import open_judge
from formalimg.judges.failures import failure_sentences
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import Judged, open_run
from formalimg.types import Item
from tests.support.command import formalimg as command


def _run(folder: Path, items: list[Item[object]], model: str) -> Path:
    execute(RunConfig(items, open_image_model(model), size=256), folder, open_judge("knolling"))
    return folder


@pytest.fixture(scope="module")
def items() -> list[Item[object]]:
    return [item for item in load("knolling") if item.id in ("1", "201")]


@pytest.fixture(scope="module")
def scattered(tmp_path_factory: pytest.TempPathFactory, items: list[Item[object]]) -> Path:
    return _run(tmp_path_factory.mktemp("shown") / "scatter", items, "builtin/scatter")


def _judged(folder: Path) -> Iterator[Judged]:
    with closing(open_run(folder)) as run:
        yield from list(run.judged())


def test_each_image_of_a_run_has_its_outcome_and_what_failed(
    scattered: Path, items: list[Item[object]], tmp_path: Path
) -> None:
    oracle = _run(tmp_path / "oracle", items, "builtin/oracle")
    code, out, err = command("items", "show", "knolling/201", "--run", str(scattered), "--run", str(oracle))
    assert code == 0, err
    (failed,) = [one for one in _judged(scattered) if one.outcome.item == "201"]
    formula = next(item.spec.text for item in items if item.id == "201")  # type: ignore[attr-defined]
    said = [f"    {one.text}" for one in failure_sentences(failed.verdict, suite("knolling"), formula)]
    assert said
    assert (
        out.splitlines()[-5 - len(said) :]
        == [
            "",
            f"builtin/scatter ({scattered})",
            "  image 0: fail",
            *said,
            "",
            f"builtin/oracle ({oracle})",
            "  image 0: pass",
        ][-5 - len(said) :]
    )


def test_the_item_is_that_of_the_run_unless_items_are_named(scattered: Path, tmp_path: Path) -> None:
    others = [replace(item, prompt="Something else.") for item in load("knolling")[:2]]
    write_items(others, tmp_path / "items")
    code, out, _ = command("items", "show", "knolling/1", "--run", str(scattered), "--items", str(tmp_path / "items"))
    assert code == 2
    assert "Something else." in out
    code, _, err = command("items", "show", "knolling/7", "--run", str(scattered))
    assert code == 2
    assert "has no item knolling/7" in err
    code, _, err = command("items", "show", "natural/1", "--run", str(scattered))
    assert "it is a run of knolling" in err
