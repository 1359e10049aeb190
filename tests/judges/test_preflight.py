"""The drawings of a pre-flight: each way to write their boxes is told from the others, and a judge that sees passes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.registry import suite as benchmark
from formalimg.judges.boxes import BoxConvention, box_conventions
from formalimg.judges.factory import open_judge
from formalimg.judges.preflight import SIZE, KnownDrawing, check_judge, needs_preflight, other_convention
from formalimg.scenes.objects import Box
from tests.support.loopback import Asked, Loopback
from tests.support.remote_models import stand_alone
from tests.support.seeing_server import clause_answer, found, seen_box, shown, word_answer

DRAWINGS = list(benchmark("knolling").preflight_drawings(open_judge("knolling")) or ())
CONVENTIONS = box_conventions()


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda one: one.name)
@given(corners=st.tuples(*[st.floats(0, 400), st.floats(0, 400), st.floats(410, 1000), st.floats(410, 1000)]))
def test_boxes_are_read_as_they_were_written(convention: BoxConvention, corners: tuple[float, ...]) -> None:
    box = Box(*corners)
    read = convention.on_canvas(convention.write(box, 640, 480), 640, 480)
    assert isinstance(read, Box)
    assert read == pytest.approx(box, abs=0.01)


@pytest.mark.parametrize("asked", CONVENTIONS, ids=lambda one: one.name)
@pytest.mark.parametrize("drawing", DRAWINGS, ids=["low", "high"])
def test_each_convention_is_told_from_each_other(asked: BoxConvention, drawing: KnownDrawing) -> None:
    true = drawing.box
    for written, slip in product(CONVENTIONS, (-0.03, 0.0, 0.03)):
        span = written.span or SIZE
        numbers = [value + slip * span for value in written.write(true, SIZE, SIZE)]
        found = other_convention(asked, true, [numbers])
        if written.name == asked.name:
            assert found is None
        else:
            assert found is not None
            assert found[1] == f"give the judge the option -J boxes={written.name}"


def test_width_and_height_are_told_from_corners() -> None:
    (asked,) = [one for one in CONVENTIONS if one.name == "xyxy-1000"]
    true = DRAWINGS[0].box
    found = other_convention(asked, true, [(true.xmin, true.ymin, true.xmax - true.xmin, true.ymax - true.ymin)])
    assert found is not None
    assert "as x, y, width, height" in found[0]


def test_other_numbers_are_no_convention() -> None:
    assert other_convention(CONVENTIONS[0], DRAWINGS[0].box, [(1, 2, 3, 4), (500, 500, 900, 900)]) is None


def test_no_two_drawings_are_the_same_bytes_and_all_are_the_same_to_the_eye() -> None:
    first, second = DRAWINGS[0].image(), DRAWINGS[0].image()
    assert first.data != second.data
    pairs = zip(first.pil.tobytes(), second.pil.tobytes(), strict=True)
    differing = [abs(one - other) for one, other in pairs if one != other]
    assert len(differing) <= 4 * 3
    assert max(differing) < 8


def _sees(suite: str, published: bool) -> Callable[[Asked], str]:
    """The replies of a model that sees what is drawn, in the form that each suite asks for."""

    def reply(asked: Asked) -> str:
        fork = shown(asked) == "fork"
        match suite:
            case "knolling":
                return found(seen_box(asked))
            case "natural" if published:
                holding = "(Is ?y 'fork')" if fork else "(Is ?x 'bottle')"
                return json.dumps({"satisfies_constraint": False, "satisfied_clauses": [holding]})
            case "natural":
                return clause_answer(asked, not fork, fork)
            case "conceptmix":
                yes = fork == any("a fork" in text for text in asked.texts)
                return ("Yes" if yes else "No") if published else word_answer(yes)
        score = {"reasoning": "seen", "score": 1.0}
        return json.dumps({"1": score} if published else {"answers": [{"number": 1, **score}]})

    return reply


@pytest.mark.parametrize("protocol", ["default", "published"])
@pytest.mark.parametrize(
    ("suite", "requests"), [("knolling", 1), ("natural", 1), ("conceptmix", 2), ("cf-world", 1), ("cf-world-rules", 1)]
)
def test_a_judge_that_sees_passes_with_one_drawing(
    suite: str, requests: int, protocol: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_alone(monkeypatch, tmp_path)
    with Loopback(reply=_sees(suite, protocol != "default")) as server:
        judge = open_judge(suite, "openai/looker", {"base_url": f"{server.url}/v1"}, protocol=protocol)
        assert needs_preflight(judge, suite)
        result = asyncio.run(check_judge(judge, suite))
        assert len(server.requests) == requests
    assert (result.problem, result.warning, result.drawings) == ("", "", 1)


def test_built_in_judges_are_not_asked() -> None:
    assert not needs_preflight(open_judge("knolling"), "knolling")
