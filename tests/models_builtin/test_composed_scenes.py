"""Scatter is at the level of chance, the reader between it and the ceiling; both make a tidy scene of any text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.drawing.icon_scene import draw
from formalimg.logic.parser import parse
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.builtin.mentions import MAX_OBJECTS
from formalimg.models.builtin.placement import GAP
from formalimg.models.builtin.placement import compose_scattered as scatter
from formalimg.models.builtin.reader import compose_scene as read
from formalimg.scenes.objects import CANVAS, MIN_SIDE
from formalimg.scenes.scene import Scene
from tests.models_builtin.knolling import knolling
from tests.support.published import published_instances
from tests.support.sizes import only_in_full, tries

Compose = Callable[[str, int], Scene]
BOTH = pytest.mark.parametrize("compose", [read, scatter], ids=["reader", "scatter"])

WORDS = (
    "a an the every all two that which is are has with and or not , . ; there it them its left right of above below to "
    "on top half side in the center image larger than smaller one row column aligned horizontally each next before "
    "cup cups pen computer mouse pair glasses bunch keys wrench red blue first second particular object 7 from"
)
TEXTS = st.lists(st.sampled_from(WORDS.split()), max_size=60).map(" ".join) | st.text(max_size=200)


@cache
def _passed(compose: Compose, level: int) -> float:
    items = [item for item in knolling() if item.level == level][:: tries(2, 1)]
    return sum(verify(item.spec.formula, compose(item.prompt, 0)).passed for item in items) / len(items)


def test_scatter_is_at_the_level_of_chance() -> None:
    assert 0.25 < _passed(scatter, 1) < 0.75
    assert _passed(scatter, 2) < 0.25  # two facts or more, each of them a toss of a coin at best
    assert _passed(scatter, 6) < 0.03


def test_the_reader_understands_simple_instructions_and_loses_the_thread_of_long_ones() -> None:
    rates = [_passed(read, level) for level in (1, 2, 5, 10)]
    assert rates[0] > 0.95
    assert rates[1] > 0.85
    assert 0.03 < rates[3] < 0.5
    assert rates == sorted(rates, reverse=True)


def test_who_forgets_sooner_fails_sooner() -> None:
    assert _passed(partial(read, memory=3), 5) < _passed(read, 5) - 0.1


@BOTH
def test_published_instructions_are_drawn_with_all_their_objects(compose: Compose) -> None:
    passed = 0
    for instance in published_instances():
        scene = compose(instance.data["prompt"], 0)
        if instance.suite == "knolling":
            assert {obj.label for obj in scene.objects} >= set(instance.data["object_classes"])
            passed += verify(parse(instance.data["dsl"]), scene).passed
    assert passed >= (10 if compose is read else 1)


@BOTH
@settings(max_examples=tries(50, 150), deadline=None)
@given(text=TEXTS, seed=st.integers())
def test_any_text_makes_a_tidy_scene(compose: Compose, text: str, seed: int) -> None:
    scene = compose(text, seed)
    assert scene == compose(text, seed)
    assert len(scene) <= MAX_OBJECTS
    assert scene.unknown_words("knolling") == []
    for obj in scene.objects:
        assert 0 <= obj.box.xmin <= obj.box.xmax - MIN_SIDE <= CANVAS - MIN_SIDE
        assert 0 <= obj.box.ymin <= obj.box.ymax - MIN_SIDE <= CANVAS - MIN_SIDE
    for one, other in combinations([obj.box for obj in scene.objects], 2):
        across = max(one.xmin, other.xmin) - min(one.xmax, other.xmax)
        down = max(one.ymin, other.ymin) - min(one.ymax, other.ymax)
        assert max(across, down) >= GAP


@BOTH
def test_a_canvas_that_is_full_stays_readable(compose: Compose) -> None:
    classes = vocabulary("knolling").words["class"]
    scene = compose(" and ".join(f"ten {label.replace('_', ' ')}" for label in classes), 3)
    assert 20 <= len(scene) <= MAX_OBJECTS
    draw(scene, 128)


def test_scatter_draws_what_is_named_as_often_as_it_is_named() -> None:
    scene = scatter(
        "Two red cups, every fork, a pen and a pair of jeans. The pen is green; the fork is above the pen.", 4
    )
    assert Counter(obj.label for obj in scene.objects) == {"cup": 2, "fork": 1, "pen": 1, "jeans": 1}
    assert [obj.color for obj in scene.objects if obj.label in ("cup", "pen")] == ["red", "red", "green"]


@only_in_full
@pytest.mark.parametrize(("row", "compose"), [("reader", read), ("scatter", scatter)])
def test_the_table_in_the_documentation_is_true(row: str, compose: Compose) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "builtin-models.md").read_text(encoding="utf-8")
    [line] = [line for line in page.splitlines() if line.startswith(f"| {row} |") and "oracle" not in line]
    documented = [float(cell) for cell in line.strip("| ").split("|")[1:]]
    for level in (2, 5):
        assert documented[level - 1] == round(100 * _passed(compose, level), 1)
