"""Tiny and huge against the usual size of a class, by references that are drawn at theirs."""

from __future__ import annotations

import pytest

from formalimg.benchmarks.conceptmix.plausibility import pool_objects, reference_objects
from formalimg.benchmarks.loader import load
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.drawability import why_not_drawable, with_surroundings
from formalimg.drawing.layout import solve_drawn
from formalimg.drawing.scene import BriefObject, DrawnScene, SceneBrief
from formalimg.drawing.truth import (
    DrawnConcept,
    brief_concepts,
    concept_holds,
    has_size,
    is_clear_concept,
    is_ordinary,
    longest_side,
)
from formalimg.language.ontology import ontology
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.sizes import tries

CATALOG = drawn_catalog()


def square(side: float) -> Box:
    return Box(20, 20, 20 + side, 20 + side)


@pytest.mark.parametrize(
    ("word", "side", "holds"),
    # At 2,000 to a metre, a cup of 200 is as usual; below 66 it is tiny. Huge is also clearly longer than a bottle.
    [("tiny", 66, True), ("tiny", 68, False), ("huge", 990, False), ("huge", 1010, True), ("huge", 600, False)],
)
def test_a_size_is_measured_against_the_usual_ratios_of_classes(word: str, side: float, holds: bool) -> None:
    assert [CATALOG.entry(label).length for label in ("cup", "fork", "bottle")] == [0.1, 0.2, 0.3]
    objects = [("cup", square(side)), ("fork", square(400)), ("bottle", square(600))]
    assert has_size(word, objects, "cup", ["fork", "bottle"], CATALOG) == holds


def test_half_a_truck_is_not_a_tiny_hammer_and_two_carrots_are_not_a_huge_giraffe() -> None:
    hammer = [("hammer", square(300)), ("truck", square(600)), ("car", square(300))]
    assert not has_size("tiny", hammer, "hammer", ["truck", "car"], CATALOG)
    giraffe = [("giraffe", square(600)), ("carrot", square(310)), ("fork", square(310))]
    assert not has_size("huge", giraffe, "giraffe", ["carrot", "fork"], CATALOG)


def test_every_object_of_the_class_counts() -> None:
    objects = [("cup", square(50)), ("cup", square(60)), ("fork", square(400)), ("bottle", square(600))]
    assert has_size("tiny", objects, "cup", ["fork", "bottle"], CATALOG)
    assert not has_size("tiny", [*objects, ("cup", square(200))], "cup", ["fork", "bottle"], CATALOG)


@pytest.mark.parametrize(
    "others",
    [
        [],
        [("rock", 900)],
        [("fork", 400)],  # which of the two has the wrong size?
        [("fork", 400), ("rock", 900)],
        [("fork", 400), ("bottle", 300)],  # drawn at two scales
    ],
)
def test_without_two_references_at_one_scale_no_size_is_seen(others: list[tuple[str, float]]) -> None:
    objects = [("cup", square(10)), *((label, square(side)) for label, side in others)]
    references = [label for label, _ in others]
    for word in ("tiny", "huge"):
        assert not has_size(word, objects, "cup", references, CATALOG)
        assert not is_ordinary(word, objects, "cup", references, CATALOG)


def test_between_usual_and_tiny_a_size_is_unclear() -> None:
    concept = DrawnConcept("size", "tiny", ("cup",))
    answers = {}
    for side in (60, 110, 190):
        places = {"cup": square(side), "fork": Box(300, 500, 700, 900), "bottle": Box(300, 20, 900, 400)}
        objects = tuple(SceneObject(label, box) for label, box in places.items())
        drawn = DrawnScene(Scene(objects, frozenset()))
        answers[side] = (concept_holds(concept, drawn), is_clear_concept(concept, drawn))
    assert answers == {60: (True, True), 110: (False, False), 190: (False, True)}


def test_things_of_which_another_size_is_asked_are_no_references() -> None:
    places = {"cup": square(60), "fork": Box(300, 500, 700, 900), "bottle": Box(300, 20, 900, 400)}
    drawn = DrawnScene(Scene(tuple(SceneObject(label, box) for label, box in places.items()), frozenset()))
    assert not concept_holds(DrawnConcept("size", "tiny", ("cup", "bottle")), drawn)
    assert not is_clear_concept(DrawnConcept("size", "tiny", ("cup", "bottle")), drawn)


def test_a_missing_reference_is_drawn_besides_and_changes_no_other_question() -> None:
    brief = SceneBrief((BriefObject("cat", size="tiny"), BriefObject("dog")))
    drawn = solve_drawn(brief)
    assert isinstance(drawn, DrawnScene)
    labels = [obj.label for obj in drawn.scene.objects]
    assert labels[:2] == ["cat", "dog"]
    assert len(labels) == 3
    assert drawn.scene.relations == frozenset()
    plain = DrawnScene(Scene(drawn.scene.objects[:2], frozenset()))
    for concept in brief_concepts(brief):
        assert concept_holds(concept, drawn)
        assert concept_holds(concept, plain) == (concept.category != "size"), concept


def test_surroundings_are_not_taken_for_what_is_asked_for() -> None:
    for label in ("truck", "house", "novel", "fork", "chair"):
        brief = SceneBrief((BriefObject(label, size="huge"),))
        shown = with_surroundings(brief, CATALOG).objects
        assert len(shown) == 3
        assert len({obj.item for obj in shown}) == 3
    trucks = with_surroundings(SceneBrief((BriefObject("truck", size="tiny"),)), CATALOG)
    assert "car" not in {obj.item for obj in trucks.objects}
    alone = SceneBrief((BriefObject("truck"),))
    assert with_surroundings(alone, CATALOG) == alone


@pytest.mark.parametrize(
    ("sized", "others", "reason"),
    [
        (BriefObject("hammer", size="tiny"), ["truck"], "beside a truck, a tiny hammer would be too small"),
        (BriefObject("giraffe", size="huge"), ["novel", "man"], "a huge giraffe leaves no room for a novel"),
        (BriefObject("hill", size="huge"), ["house"], "hills come in any size"),
        (BriefObject("cat", size="tiny"), ["bee", "ring"], "nothing of about its usual size to compare the cat with"),
        (BriefObject("elephant", size="tiny"), ["bee"], "nothing of about its usual size to compare the elephant with"),
        (BriefObject("skyscraper", size="huge"), [], "nothing of about its usual size to compare the skyscraper with"),
    ],
)
def test_sizes_that_no_drawing_shows_are_declined(sized: BriefObject, others: list[str], reason: str) -> None:
    found = why_not_drawable(SceneBrief((sized, *map(BriefObject, others))))
    assert found is not None
    assert found.startswith("size: ")
    assert reason in found


def test_solved_sizes_are_right_by_the_published_table_of_lengths_too() -> None:
    """An oracle of its own: the lengths of ConceptMix, and the longest sides of the boxes."""
    lengths = {thing.name: thing.size or 0.0 for thing in (*pool_objects(), *reference_objects())}
    tried = 0
    for item in load("conceptmix")[:: tries(20, 2)]:
        brief = item.spec.scene_brief()
        sized = {obj.item: obj.size for obj in brief.objects if obj.size is not None}
        if not sized or why_not_drawable(brief) is not None:
            continue
        drawn = solve_drawn(brief)
        if not isinstance(drawn, DrawnScene):
            continue
        tried += 1
        sides = {obj.label: longest_side(obj.box) for obj in drawn.scene.objects}
        for label, word in sized.items():
            for other in set(sides) - set(sized):
                if CATALOG.entry(other).any_size is not None or other not in lengths:
                    continue
                times = sides[label] / sides[other] / (lengths[label] / lengths[other])
                assert times < 1 / 1.8 if word == "tiny" else times > 1.8, (item.id, label, other, times)
    assert tried >= tries(10, 100)


def test_the_lengths_of_the_catalog_agree_with_those_of_the_suites() -> None:
    """One table for drawings, compared with the lengths of ConceptMix and of the ontology of Natural."""
    for thing in (*pool_objects(), *reference_objects()):
        entry = CATALOG.classes.get(thing.name)
        if thing.name == "fence":
            continue  # of which a drawing shows one piece
        if entry is not None and entry.usual_length is not None and thing.size:
            assert 1 / 1.8 <= entry.usual_length / thing.size <= 1.8, thing.name
    for known in ontology().entries.values():
        drawn = CATALOG.classes.get(known.name)
        if known.name in ("shirt", "jacket"):
            continue  # which the ontology knows folded, as they are carried
        if drawn is not None and drawn.usual_length is not None:
            assert 1 / 1.7 <= 100 * drawn.usual_length / known.size.length <= 1.7, known.name
