"""Seen relations: what two boxes show of on, under and next to, as people call it."""

from __future__ import annotations

import pytest

from formalimg.logic.parser import parse
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation
from formalimg.scenes.spatial_relations import is_seen, with_seen_relations

TABLE = Box(200, 450, 800, 900)


@pytest.mark.parametrize(
    ("what", "box", "relations"),
    [
        ("a cup on the table", Box(450, 380, 520, 470), {"On"}),
        ("a cup that ends a little above it", Box(450, 300, 520, 420), {"On"}),
        ("a cup in the air", Box(450, 100, 520, 200), set()),
        ("a cloth as wide as the table", Box(150, 400, 850, 600), {"On"}),
        ("a person behind it, with feet below", Box(400, 100, 550, 950), set()),
        ("a cat between its legs", Box(450, 700, 600, 890), {"Under"}),
        ("a rug under it", Box(100, 820, 900, 960), {"Under"}),
        ("a bowl hanging at its front", Box(450, 690, 520, 760), set()),
        ("a chair beside it", Box(50, 500, 195, 900), {"NextTo"}),
        ("a chair that its edge overlaps", Box(100, 500, 260, 900), {"NextTo"}),
        ("a chair too far away", Box(960, 500, 1000, 900), set()),
        ("a lamp beside and above it", Box(850, 100, 900, 300), set()),
    ],
)
def test_what_a_box_shows_of_its_place_by_a_table(what: str, box: Box, relations: set[str]) -> None:
    assert {name for name in ("On", "Under", "NextTo") if is_seen(name, box, TABLE)} == relations, what


def test_a_donut_on_a_toilet_is_not_under_it() -> None:
    donut, toilet = Box(410, 490, 640, 680), Box(60, 0, 740, 940)
    assert not is_seen("Under", donut, toilet)


FORMULA = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'table') ({} ?a ?b))))"


def scene(relations: list[SceneRelation] | None = None) -> Scene:
    objects = [SceneObject("cup", Box(450, 380, 520, 470)), SceneObject("table", TABLE)]
    return Scene.of(objects, relations)


def test_scenes_without_records_get_the_relations_that_a_formula_uses() -> None:
    formula = parse(FORMULA.format("On"))
    seen = with_seen_relations(scene(), formula)
    assert seen.relations == frozenset({SceneRelation("On", 0, 1)})
    assert verify(formula, seen).passed
    under = parse(FORMULA.format("Under"))
    failed = verify(under, with_seen_relations(scene(), under))
    assert not failed.passed
    assert "centre y of the second 675 ≥ centre y of the first 425" in failed.explain()


@pytest.mark.parametrize("name", ["In", "Holding", "LeftOf"])
def test_what_boxes_cannot_decide_stays_undecided(name: str) -> None:
    assert with_seen_relations(scene(), parse(FORMULA.format(name))).relations is None


def test_records_come_first() -> None:
    recorded = scene([])
    assert with_seen_relations(recorded, parse(FORMULA.format("On"))) is recorded
