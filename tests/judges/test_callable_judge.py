"""Functions as judges: what each answer means, and that nothing a function does becomes a silent 0."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

import formalimg
from formalimg.judges.base import LoadedImage
from formalimg.judges.callable_judge import CallableJudge
from formalimg.types import Part, Unscored, Verdict
from tests.support.models import Speckles, small_items

ITEM: Any = small_items(1)[0]
IMAGE = LoadedImage(b"", Image.radial_gradient("L").convert("RGB"))


def judged(answer: object, **options: Any) -> Verdict | Unscored:
    judge = CallableJudge(lambda image, item: answer, **options)
    return asyncio.run(judge.judge(ITEM, IMAGE))


@pytest.mark.parametrize(
    ("answer", "passed", "parts"),
    [
        (True, True, ()),
        (False, False, ()),
        (numpy.bool_(True), True, ()),
        (1, True, (Part("score", "score", 1.0),)),
        (0.5, True, (Part("score", "score", 0.5),)),
        (numpy.float32(0.25), False, (Part("score", "score", 0.25),)),
        (numpy.array(0.75), True, (Part("score", "score", 0.75),)),
        ({"red": True, "round": True}, True, (Part("red", "part", 1.0), Part("round", "part", 1.0))),
        ({"red": True, "round": 0.2}, False, (Part("red", "part", 1.0), Part("round", "part", 0.2))),
        ({"passed": False}, False, ()),
        ({"passed": True, "parts": {"red": False}}, True, (Part("red", "part", 0.0),)),
        ({"parts": {"red": False}, "reason": "it is blue"}, False, (Part("red", "part", 0.0),)),
    ],
)
def test_what_an_answer_means(answer: object, passed: bool, parts: tuple[Part, ...]) -> None:
    verdict = judged(answer)
    assert isinstance(verdict, Verdict)
    assert (verdict.passed, verdict.parts) == (passed, parts)
    if isinstance(answer, dict) and "reason" in answer:
        assert verdict.evidence == {"explanation": "it is blue"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "it returned None"),
        ("yes", "an answer that is a str: give True or False"),
        (1.5, "an answer that is 1.5"),
        (float("nan"), "an answer that is nan"),
        ({}, "an empty dict"),
        ({"red": None}, "'red' that is None"),
        ({"passed": None}, "passed that is None"),
        ({"passed": True, "red": False}, "red beside passed and parts: put it into parts"),
        ({"parts": [True]}, "parts that are a list: give a dict by name"),
    ],
)
def test_what_is_no_answer_is_unscored(answer: object, why: str) -> None:
    verdict = judged(answer)
    assert isinstance(verdict, Unscored)
    assert why in verdict.detail


def test_what_a_function_raises_is_unscored_with_the_reason() -> None:
    def broken(image: Image.Image, item: object) -> bool:
        raise formalimg.FormalimgError("no such\nformula")  # must not end the run either

    verdict = asyncio.run(CallableJudge(broken).judge(ITEM, IMAGE))
    assert verdict == Unscored("judge failed", "FormalimgError: no such formula")


def test_async_functions_get_the_image_and_the_item() -> None:
    async def later(image: Image.Image, item: formalimg.Item[Any]) -> dict[str, bool]:
        await asyncio.sleep(0)
        return {"image": image is IMAGE.pil, "item": item is ITEM}

    verdict = asyncio.run(CallableJudge(later).judge(ITEM, IMAGE))
    assert isinstance(verdict, Verdict)
    assert verdict.passed


def test_a_function_is_known_by_its_name_and_its_code() -> None:
    def first(image: object, item: object) -> bool:
        return True

    def second(image: object, item: object) -> bool:
        return False

    one, other = CallableJudge(first), CallableJudge(second, name=CallableJudge(first).name)
    assert one.name.endswith("first")
    assert one.settings["code"] != other.settings["code"]
    assert CallableJudge(first).settings == one.settings
    assert CallableJudge(partial(first)).name == one.name
    pair = [CallableJudge(each) for each in (lambda image, item: True, lambda image, item: False)]
    assert pair[0].settings != pair[1].settings  # two on one line


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda image: True, {}, r"write it as def judge\(image, item\)"),
        (3, {}, "give a function of an image and an item"),
        (lambda image, item: True, {"concurrency": 0}, "give 1 or more"),
        (lambda image, item: True, {"threshold": 0}, "above 0 and at most 1"),
    ],
)
def test_mistakes_are_refused_before_anything_is_made(function: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(formalimg.FormalimgError, match=message):
        CallableJudge(function, **options)


def _speckles(prompt: str, seed: int) -> Image.Image:
    return Image.effect_noise((64, 64), 20 + seed % 50).convert("RGB")


def _run(judge: Callable[..., Any], folder: Path | None, **options: Any) -> formalimg.Evaluation:
    return formalimg.run(
        items=small_items(4), model=Speckles(), judge=judge, size=64, folder=folder, progress=False, **options
    )


def test_a_run_judged_by_a_function(tmp_path: Path) -> None:
    together = threading.Barrier(2, timeout=20)  # with one at a time, nobody would ever pass

    def opinion(image: Image.Image, item: formalimg.Item[Any]) -> object:
        together.wait()
        return {"0": True, "1": {"round": False}, "2": None}.get(item.id, 7)

    result = formalimg.evaluate(
        _speckles,
        items=small_items(4),
        judge=opinion,
        judge_options={"concurrency": 2, "name": "lab/opinion"},
        size=64,
        folder=tmp_path / "run",
        progress=False,
    )
    found = {one.item: (one.passed, one.reason) for one in result.run.outcomes()}
    assert found == {
        "0": (True, ""),
        "1": (False, ""),
        "2": (None, "not understood"),
        "3": (None, "judge failed"),
    }
    assert result.run.manifest.judge is not None
    assert result.run.manifest.judge.name == "lab/opinion"
    assert result.summary().overall.scored == 2
    with pytest.raises(formalimg.FormalimgError, match="no option 'treshold': it has name, settings, concurrency"):
        _run(opinion, tmp_path / "other", judge_options={"treshold": 1})
    assert not (tmp_path / "other").exists()


def test_each_run_judged_by_a_function_is_new_unless_it_has_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls: list[str] = []

    def opinion(image: object, item: formalimg.Item[Any]) -> bool:
        calls.append(item.id)
        return True

    assert _run(opinion, None).folder != _run(opinion, None).folder
    assert len(calls) == 8
    _run(opinion, tmp_path / "kept")
    _run(opinion, tmp_path / "kept")
    assert len(calls) == 12


def test_another_judge_of_a_run_leaves_the_first_verdicts(tmp_path: Path) -> None:
    first = _run(lambda image, item: True, tmp_path / "run")
    second = formalimg.judge(tmp_path / "run", lambda image, item: False, progress=False)
    third = formalimg.judge(first, "builtin/icons", progress=False)
    assert [one.summary().overall.passed for one in (first, second)] == [4, 0]
    assert third.run.manifest.judge is not None
    assert third.run.manifest.judge.name == "builtin/icons"
    with pytest.raises(formalimg.FormalimgError, match="builtin/icons has no options"):
        formalimg.judge(first, "builtin/icons", judge_options={"boxes": 3})
    with pytest.raises(formalimg.FormalimgError, match="needs a judge by its name"):
        formalimg.judge(first, lambda image, item: False, protocol="paper")
