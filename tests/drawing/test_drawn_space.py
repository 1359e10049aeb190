"""Relations in drawn scenes: each holds where its axiom says, and fails where one thing of it is changed."""

from __future__ import annotations

import pytest

from formalimg.drawing.scene import DrawnScene, DrawnSpace, relation_word
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation

Numbers = tuple[int, int, int, int]
TABLE: Numbers = (200, 500, 800, 900)


def drawn(*boxes: Numbers, records: tuple[tuple[str, int, int], ...] = (), depth: tuple[int, ...] = ()) -> DrawnScene:
    objects = [SceneObject(f"class {number}", Box(*box)) for number, box in enumerate(boxes)]
    return DrawnScene(Scene.of(objects, [SceneRelation(*each) for each in records]), depth=depth)


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("left", (20, 500, 150, 700), (20, 500, 510, 700)),
        ("right", (820, 500, 950, 700), (490, 500, 950, 700)),
        ("above", (300, 100, 400, 470), (300, 100, 400, 485)),  # nearly touching is touching
        ("below", (300, 930, 400, 980), (300, 915, 400, 980)),
        ("outside", (20, 500, 170, 700), (20, 500, 190, 700)),
        ("NextTo", (20, 500, 150, 700), (20, 200, 150, 480)),
    ],
)
def test_what_is_read_from_boxes(name: str, yes: Numbers, no: Numbers) -> None:
    word = relation_word(name)
    assert word is not None
    assert word.holds([0], [1], DrawnSpace(drawn(yes, TABLE)).holds)
    assert not word.holds([0], [1], DrawnSpace(drawn(no, TABLE)).holds)


@pytest.mark.parametrize(
    ("name", "record", "yes", "no"),
    [
        ("top", "On", (400, 380, 500, 510), (400, 520, 500, 640)),  # on it, but not standing out
        ("On", "On", (400, 380, 500, 510), (50, 380, 120, 510)),
        ("inside", "In", (400, 550, 500, 700), (150, 550, 300, 700)),
    ],
)
def test_what_is_recorded_holds_only_where_it_fits_the_boxes(name: str, record: str, yes: Numbers, no: Numbers) -> None:
    word = relation_word(name)
    assert word is not None
    assert word.holds([0], [1], DrawnSpace(drawn(yes, TABLE, records=((record, 0, 1),))).holds)
    assert not word.holds([0], [1], DrawnSpace(drawn(no, TABLE, records=((record, 0, 1),))).holds)
    assert not word.holds([0], [1], DrawnSpace(drawn(yes, TABLE)).holds)


def test_the_converse_of_a_relation_is_the_relation_the_other_way_around() -> None:
    cup_on_table = DrawnSpace(drawn((400, 380, 500, 510), TABLE, records=(("On", 0, 1),)))
    bottom, behind, front = relation_word("bottom"), relation_word("behind"), relation_word("in front of")
    assert bottom
    assert behind
    assert front
    assert bottom.holds([1], [0], cup_on_table.holds)
    assert not bottom.holds([0], [1], cup_on_table.holds)
    hidden = DrawnSpace(drawn((100, 700, 400, 950), TABLE, depth=(1, 0)))
    assert front.holds([0], [1], hidden.holds)
    assert behind.holds([1], [0], hidden.holds)
    assert not front.holds([1], [0], hidden.holds)
    assert not behind.holds([0], [1], hidden.holds)


@pytest.mark.parametrize(
    ("box", "depth", "records", "holds"),
    [
        ((100, 700, 400, 950), (1, 0), (), True),  # covers a sixth of the table
        ((100, 700, 400, 950), (0, 1), (), False),  # painted first: the table is in front
        ((100, 700, 180, 950), (1, 0), (), False),  # apart
        ((190, 700, 230, 950), (1, 0), (), True),  # small, and most of it is in front
        ((100, 400, 700, 950), (1, 0), (), False),  # hides nearly all of it
        ((150, 880, 200, 980), (1, 0), (), False),  # touches it at most
        ((300, 450, 500, 600), (1, 0), (("On", 0, 1),), False),  # it is on the table, not in front of it
    ],
)
def test_in_front_is_occlusion_by_what_is_painted_later(
    box: Numbers, depth: tuple[int, ...], records: tuple[tuple[str, int, int], ...], holds: bool
) -> None:
    assert DrawnSpace(drawn(box, TABLE, records=records, depth=depth)).holds("InFrontOf", 0, 1) is holds


def test_of_several_objects_all_pairs_must_be_in_a_direction_and_each_needs_a_partner_in_contact() -> None:
    left, top = relation_word("left"), relation_word("top")
    assert left
    assert top
    beside = DrawnSpace(drawn((20, 100, 100, 200), (20, 300, 700, 400), (400, 600, 900, 900)))
    assert left.holds([0], [2], beside.holds)
    assert not left.holds([0, 1], [2], beside.holds)
    cups = drawn((300, 400, 400, 505), (500, 400, 600, 505), TABLE, records=(("On", 0, 2), ("On", 1, 2)))
    assert top.holds([0, 1], [2], DrawnSpace(cups).holds)
    one = drawn((300, 400, 400, 505), (500, 400, 600, 505), TABLE, records=(("On", 0, 2),))
    assert not top.holds([0, 1], [2], DrawnSpace(one).holds)
    assert not top.holds([], [2], DrawnSpace(one).holds)
    assert list(left.pairs([0, 1], [2, 3])) == [(0, 2), (0, 3), (1, 2), (1, 3)]
    assert list(top.pairs([0, 1, 2], [3])) == [(0, 3), (1, 3), (2, 3)]
