"""`formalimg.evaluate` and `formalimg.run`: a model scored in one call."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import io
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import formalimg
from formalimg.drawing.icon_scene import draw
from formalimg.runs.config import RunOptions
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


def test_both_calls_have_the_same_parameters_which_are_those_of_runs() -> None:
    of_run, of_evaluate = (inspect.signature(call).parameters for call in (formalimg.run, formalimg.evaluate))
    shared = {*of_run} - {"model", "model_options"}
    assert {*of_evaluate} == {*shared, "generate", "name", "settings", "model_options", "batch", "concurrency"}
    for name in shared:
        assert of_evaluate[name].replace(kind=of_run[name].kind) == of_run[name]
    options = {each.name: each for each in fields(RunOptions)}
    for name in {*shared, "suite"} & {*options} - {"suite"}:
        assert of_run[name].default == options[name].default, name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"per_level": "1"}, "per_level cannot be '1' (str): give an int or None"),
        ({"per_level": 0}, "no items are left to run: take 1 or more per level"),
        ({"levels": "1"}, "levels cannot be '1' (str): give ints, as in [1, 2], or None"),
        ({"levels": 1}, "levels cannot be 1 (int): give ints, as in [1, 2], or None"),
        ({"levels": ["1", 2]}, "levels cannot be ['1', 2] (list): give ints, as in [1, 2], or None"),
        ({"seed": True}, "seed cannot be True (bool): give an int"),
        ({"budget": "1"}, "budget cannot be '1' (str): give a float or None"),
        ({"style": "lang"}, "style cannot be 'lang': give auto, long, short or none"),
        ({"protocol": "pub"}, "unknown protocol 'pub': choose from default, published, paper, official-code"),
        ({"judge": 3}, "judge cannot be 3 (int): give a str, a Judge, a function or None"),
        ({"judge_options": "sk-secret"}, "judge_options cannot be of the type str: give a dict or None"),
        ({"condition": "rewritten"}, "condition cannot be 'rewritten' (str): give a Condition or None"),
        ({"items": 3}, "items cannot be 3 (int): give a str, a Path, a list or None"),
        ({"progress": "no"}, "progress cannot be 'no' (str): give a bool"),
    ],
)
def test_arguments_of_wrong_types_are_one_line_and_leave_nothing_behind(
    arguments: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (formalimg.run, functools.partial(formalimg.evaluate, oracle)):
        with pytest.raises(formalimg.FormalimgError) as caught:
            call(**{"judge": "builtin/icons", "levels": [1], **arguments})
        assert str(caught.value) == message
    assert not [*tmp_path.iterdir()]


def test_models_and_functions_are_not_mixed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(formalimg.FormalimgError, match=r"give a function \(formalimg\.run takes models by name\)"):
        formalimg.evaluate("builtin/reader")  # type: ignore[arg-type]
    with pytest.raises(formalimg.FormalimgError, match=r"a function goes to formalimg\.evaluate"):
        formalimg.run("knolling", oracle)  # type: ignore[arg-type]
    with pytest.raises(formalimg.FormalimgError, match="run cannot be 3: give a run folder, or what"):
        formalimg.judge(3)  # type: ignore[arg-type]
    with pytest.raises(formalimg.FormalimgError, match="nowhere is not a run"):
        formalimg.Evaluation("nowhere")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"evaluate\(\): .* argument 'levls': did you mean levels\?$"):
        formalimg.evaluate(oracle, levls=[1])  # type: ignore[call-arg]
    assert not [*tmp_path.iterdir()]


def test_a_run_that_ends_before_it_begins_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()

    def fails(prompt: str) -> None:
        raise RuntimeError("no weights")

    monkeypatch.setenv("FORMALIMG_PREFLIGHT", "yes")
    with contextlib.suppress(formalimg.FormalimgError):
        formalimg.evaluate(fails, items=ITEMS[:1], judge="builtin/icons", size=512, progress=False)
    assert all((folder / "run.toml").exists() for folder in (tmp_path / "runs").iterdir())


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
