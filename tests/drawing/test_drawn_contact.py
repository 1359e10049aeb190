"""Contact in pixels: what is on, in or held by something is painted there, measured on images of single objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.contact import ContactCheck, standing_place
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.facts import brief_facts
from formalimg.drawing.layout import NoDrawing, object_looks, solve_drawn
from formalimg.drawing.render import draw_scene
from formalimg.drawing.scene import BriefObject, BriefRelation, DrawnScene, SceneBrief
from formalimg.scenes.objects import Box
from formalimg.scenes.scene import Scene

SIZE = 500


def pair(first: str, relation: str, second: str, shape: str | None = None) -> SceneBrief:
    return SceneBrief((BriefObject(first), BriefObject(second, shape=shape)), (BriefRelation(relation, 0, 1),))


def painted(drawn: DrawnScene, number: int) -> NDArray[np.bool_]:
    """Return the pixels of one object: where an image of it alone differs from one of the ground."""
    alone = DrawnScene(Scene((drawn.scene.objects[number],), frozenset()))
    nothing = DrawnScene(Scene((), frozenset()))
    image, ground = (np.asarray(draw_scene(each, SIZE), dtype=int) for each in (alone, nothing))
    return np.asarray(np.abs(image - ground).sum(axis=2) > 30)


def solved(brief: SceneBrief) -> DrawnScene:
    drawn = solve_drawn(brief)
    assert isinstance(drawn, DrawnScene), drawn
    return drawn


@pytest.mark.parametrize(
    ("thing", "carrier"), [("cat", "rock"), ("cup", "table"), ("teddy bear", "horse"), ("cup", "car"), ("book", "bed")]
)
def test_what_stands_on_something_has_it_under_its_feet(thing: str, carrier: str) -> None:
    drawn = solved(pair(thing, "On", carrier))
    upper, lower = painted(drawn, 0), painted(drawn, 1)
    rows = np.flatnonzero(upper.any(axis=1))
    foot = rows[-1]
    feet = np.flatnonzero(upper[foot - 3 : foot + 1].any(axis=0))
    under = np.asarray(lower[foot : foot + 6].any(axis=0))
    assert under[feet].mean() >= 0.5


@pytest.mark.parametrize(
    ("holder", "thing"), [("man", "cup"), ("child", "ball"), ("dog", "key"), ("robot", "book"), ("elephant", "flower")]
)
def test_what_is_held_is_painted_at_a_hand(holder: str, thing: str) -> None:
    drawn = solved(pair(holder, "Holding", thing))
    held, box = painted(drawn, 1), drawn.scene.objects[0].box
    near = []
    for x, y in drawn_catalog().entry(holder).hold:
        column, row = (box.xmin + x * (box.xmax - box.xmin)) / 2, (box.ymin + y * (box.ymax - box.ymin)) / 2
        reach = max(6, round(0.04 * max(box.xmax - box.xmin, box.ymax - box.ymin)))
        top, left = max(0, round(row) - reach), max(0, round(column) - reach)
        near.append(held[top : round(row) + reach, left : round(column) + reach].any())
    assert any(near)


def test_both_hands_hold_one_thing_each_and_no_more() -> None:
    def holding(count: int) -> SceneBrief:
        things = ("cup", "book", "ball")[:count]
        relations = tuple(BriefRelation("Holding", 0, number + 1) for number in range(count))
        return SceneBrief((BriefObject("man"), *map(BriefObject, things)), relations)

    man, cup, book = (obj.box for obj in solved(holding(2)).scene.objects)
    assert (cup.center_x - man.center_x) * (book.center_x - man.center_x) < 0
    assert isinstance(solve_drawn(holding(3)), NoDrawing)


def test_a_thing_beside_the_top_of_its_carrier_is_a_fault() -> None:
    facts = brief_facts(pair("table", "On", "rock"))
    looks = object_looks(facts, drawn_catalog())
    rock = Box(300, 600, 900, 920)
    off_the_edge = [Box(330, 480, 530, 610), rock]  # inside the box of the rock, whose corner is empty
    fault = ContactCheck(facts, looks, off_the_edge).find_fault()
    assert fault is not None
    assert fault.predicate == "On"
    on_its_middle = [Box(560, 520, 680, 640), rock]
    assert ContactCheck(facts, looks, on_its_middle).find_fault() is None


def test_a_hand_that_is_empty_is_a_fault() -> None:
    facts = brief_facts(pair("man", "Holding", "cup"))
    looks = object_looks(facts, drawn_catalog())
    man = Box(400, 300, 640, 900)
    assert ContactCheck(facts, looks, [man, Box(590, 820, 690, 910)]).find_fault() is not None  # at his shoes


def test_things_stand_on_the_back_of_an_animal_and_not_on_its_head() -> None:
    for label in ("horse", "cow", "zebra", "giraffe", "lion", "dog"):
        icon = drawn_catalog().icon(label)
        assert icon is not None
        place = standing_place(icon, drawn_catalog().entry(label).on)
        facing_left = label in ("zebra",)
        middle = (place.left + place.right) / 2
        assert (middle > 0.4) if facing_left else (middle < 0.62), (label, place)


def test_what_a_pose_or_a_shape_moves_elsewhere_is_declined() -> None:
    lying = SceneBrief((BriefObject("man", states=("lying",)), BriefObject("cup")), (BriefRelation("Holding", 0, 1),))
    assert "a man that is lying is drawn without a free hand" in (why_not_drawable(lying) or "")
    standing = replace(lying, objects=(replace(lying.objects[0], states=()), lying.objects[1]))
    assert why_not_drawable(standing) is None
    assert "a shape hides the opening of a cup" in (why_not_drawable(pair("fork", "In", "cup", shape="oval")) or "")
    assert "looks as if it were in it" in (why_not_drawable(pair("cat", "On", "box")) or "")
