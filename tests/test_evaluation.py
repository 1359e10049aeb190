"""`formalimg.evaluate` and `formalimg.run`: a model scored in one call."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import formalimg
from formalimg.drawing.icon_scene import draw
from tests.support.sizes import only_in_full

pytestmark = pytest.mark.usefixtures("no_preflight")

ITEMS = [item for item in formalimg.load("knolling") if item.id in ("0", "1", "200", "400", "600")]
BY_PROMPT = {item.prompt: item for item in ITEMS}


def _item(sent: str) -> formalimg.Item[Any]:
    """The item of a prompt, which stands behind the style text."""
    return BY_PROMPT[sent.rpartition("\n\n")[2]]


def oracle(prompt: str, size: int) -> Image.Image:
    witness = _item(prompt).spec.witness
    assert witness is not None
    return draw(witness, size)


def test_a_function_is_scored(tmp_path: Path) -> None:
    result = formalimg.evaluate(
        oracle, items=ITEMS, judge="builtin/icons", size=512, folder=tmp_path / "run", name="lab/oracle"
    )
    assert (result.progress.made, result.progress.passed) == (5, 5)
    summary = result.summary()
    assert {level: rate.value for level, rate in summary.levels.items()} == {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0}
    assert "lab/oracle" in result.table()
    assert result.write_report(tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_functions_of_every_kind(tmp_path: Path) -> None:
    def as_bytes(prompt: str) -> bytes:
        file = io.BytesIO()
        oracle(prompt, 512).save(file, "JPEG", quality=90)
        return file.getvalue()

    def as_path(prompt: str, seed: int) -> Path:
        path = tmp_path / f"{seed}.webp"
        oracle(prompt, 512).save(path, quality=90)
        return path

    async def later(prompt: str, **wishes: int) -> Image.Image:
        await asyncio.sleep(0)
        return oracle(prompt, wishes["size"] // 2)

    def many(prompts: list[str], seed: list[int]) -> list[Image.Image]:
        assert len(prompts) == len(seed)
        return [oracle(prompt, 512) for prompt in prompts]

    kinds: list[tuple[Callable[..., object], int]] = [(as_bytes, 1), (as_path, 1), (later, 1), (many, 3)]
    for number, (function, batch) in enumerate(kinds):
        result = formalimg.evaluate(
            function, items=ITEMS, judge="builtin/icons", batch=batch, folder=tmp_path / str(number)
        )
        assert result.progress.passed == 5, function


def test_what_goes_wrong_in_a_function_is_unscored_and_tried_again(tmp_path: Path) -> None:
    calls: list[str] = []

    def moody(prompt: str) -> object:
        calls.append(prompt)
        item = _item(prompt).id
        if len(calls) > 5:
            return oracle(prompt, 512)
        if item == "0":
            raise RuntimeError("no memory left")
        return {"1": None, "200": 17, "400": b"<html>", "600": oracle(prompt, 512)}[item]

    result = formalimg.evaluate(moody, items=ITEMS, judge="builtin/icons", folder=tmp_path / "run", name="moody")
    found = {outcome.item: (outcome.passed, outcome.reason, outcome.detail) for outcome in result.run.outcomes()}
    assert found["0"] == (None, "generation failed", "RuntimeError: no memory left")
    assert found["1"][:2] == (None, "refused")
    assert found["200"][:2] == (None, "generation failed")
    assert found["400"][:2] == (None, "unreadable image")
    assert found["600"] == (True, "", "")
    summary = result.summary()
    assert (summary.overall.passed, summary.overall.scored, summary.overall.expected) == (1, 1, 5)
    assert result.summary(missing="fail").overall.value == pytest.approx(0.2)
    with pytest.raises(formalimg.FormalimgError, match="4 images without a verdict"):
        result.summary(missing="error")

    again = formalimg.evaluate(moody, items=ITEMS, judge="builtin/icons", folder=tmp_path / "run", name="moody")
    assert len(calls) == 5 + 4
    assert again.summary().overall.coverage == 1


def test_each_evaluation_of_a_function_is_a_run_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = formalimg.evaluate(oracle, items=ITEMS[:1], judge="builtin/icons", size=512)
    second = formalimg.evaluate(oracle, items=ITEMS[:1], judge="builtin/icons", size=512)
    assert first.folder != second.folder
    assert second.progress.made == 1


def test_models_by_name(tmp_path: Path) -> None:
    result = formalimg.run("knolling", "builtin/scatter", levels=[1], per_level=3, size=512, folder=tmp_path / "run")
    assert result.summary().overall.expected == 3
    assert result.run.manifest.model.name == "builtin/scatter"


def test_it_works_where_an_event_loop_is_running(tmp_path: Path) -> None:
    async def notebook() -> formalimg.Evaluation:
        return formalimg.evaluate(oracle, items=ITEMS[:2], judge="builtin/icons", size=512, folder=tmp_path / "run")

    assert asyncio.run(notebook()).progress.passed == 2


@only_in_full
def test_the_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import runpy

    example = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "evaluate_a_function.py"))
    example["main"](str(tmp_path))
    out = capsys.readouterr().out
    assert "K=1:" in out
    assert "why item" in out
    assert (tmp_path / "report.html").exists()
