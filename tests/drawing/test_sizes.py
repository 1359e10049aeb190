"""Tiny and huge against the usual size of a class, by references that are drawn at theirs."""

from __future__ import annotations

import pytest

from formalimg.benchmarks.conceptmix.plausibility import pool_objects, reference_objects
from formalimg.benchmarks.loader import load
from formalimg.drawing.brief import BriefObject, SceneBrief
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.layout import solve_drawn
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.sizes import has_size, is_ordinary, longest_side
from formalimg.drawing.truth import DrawnConcept, concept_holds, concept_is_clear
from formalimg.language.ontology import ontology
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.sizes import tries

CATALOG = drawn_catalog()


def square(side: float) -> Box:
    return Box(20, 20, 20 + side, 20 + side)


@pytest.mark.parametrize(
    ("word", "side", "holds"),
    # Beside a fork of 400, a cup of 200 is as usual; below 80 it is tiny. Huge is also clearly longer than the fork.
    [("tiny", 79, True), ("tiny", 81, False), ("huge", 550, False), ("huge", 560, True), ("huge", 200, False)],
)
def test_a_size_is_measured_against_the_usual_ratio_of_two_classes(word: str, side: float, holds: bool) -> None:
    assert (CATALOG.entry("cup").length, CATALOG.entry("fork").length) == (0.1, 0.2)
    objects = [("cup", square(side)), ("fork", square(400))]
    assert has_size(word, objects, "cup", ["fork"], CATALOG) == holds


def test_half_a_truck_is_not_a_tiny_hammer_and_two_carrots_are_not_a_huge_giraffe() -> None:
    hammer = [("hammer", square(300)), ("truck", square(600))]
    assert not has_size("tiny", hammer, "hammer", ["truck"], CATALOG)
    giraffe = [("giraffe", square(600)), ("carrot", square(310))]
    assert not has_size("huge", giraffe, "giraffe", ["carrot"], CATALOG)


def test_every_reference_counts_and_so_does_every_object_of_the_class() -> None:
    objects = [("cup", square(60)), ("cup", square(70)), ("fork", square(400)), ("spoon", square(90))]
    assert has_size("tiny", objects, "cup", ["fork"], CATALOG)
    assert not has_size("tiny", objects, "cup", ["fork", "spoon"], CATALOG)
    assert not has_size("tiny", [*objects, ("cup", square(200))], "cup", ["fork"], CATALOG)


def test_without_a_reference_of_a_usual_size_nothing_is_tiny_or_huge() -> None:
    for objects, references in (([("cup", square(10))], []), ([("cup", square(10)), ("rock", square(900))], ["rock"])):
        assert not has_size("tiny", objects, "cup", references, CATALOG)
        assert is_ordinary("tiny", objects, "cup", references, CATALOG)


def test_between_usual_and_tiny_a_size_is_unclear() -> None:
    concept = DrawnConcept("size", "tiny", ("cup", "fork"))
    answers = {}
    for side in (60, 110, 190):
        objects = (SceneObject("cup", square(side)), SceneObject("fork", Box(500, 500, 900, 900)))
        drawn = DrawnScene(Scene(objects, frozenset()))
        answers[side] = (concept_holds(concept, drawn), concept_is_clear(concept, drawn))
    assert answers == {60: (True, True), 110: (False, False), 190: (False, True)}


@pytest.mark.parametrize(
    ("sized", "others", "reason"),
    [
        (BriefObject("hammer", size="tiny"), ["truck"], "beside a truck, a tiny hammer would be too small"),
        (BriefObject("giraffe", size="huge"), ["novel", "man"], "a huge giraffe leaves no room for a novel"),
        (BriefObject("hill", size="huge"), ["house"], "hills come in any size"),
        (BriefObject("cat", size="tiny"), ["rock"], "nothing of about its usual size to compare the cat with"),
        (BriefObject("elephant", size="tiny"), ["bee"], "nothing of about its usual size to compare the elephant with"),
        (BriefObject("cat", size="tiny"), [], "nothing of about its usual size to compare the cat with"),
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
    for item in load("conceptmix")[:: tries(20, 3)]:
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
                if CATALOG.entry(other).any_size is not None:
                    continue
                times = sides[label] / sides[other] / (lengths[label] / lengths[other])
                assert times < 1 / 1.5 if word == "tiny" else times > 1.5, (item.id, label, other, times)
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
