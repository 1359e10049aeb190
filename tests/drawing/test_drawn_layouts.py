"""Layouts of drawn scenes: what is asked for is shown, in drawable sizes, or what stands in the way is named."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.layout import NoDrawing, solve_drawn
from formalimg.drawing.scene import BriefObject, BriefRelation, DrawnScene, SceneBrief, relation_word
from formalimg.drawing.truth import brief_concepts, concept_holds, verify_drawn

RELATIONS = ("left", "right", "above", "below", "top", "bottom", "in front of", "behind", "inside", "outside")


def solved(brief: SceneBrief, seed: int = 0) -> DrawnScene:
    found = solve_drawn(brief, seed=seed)
    assert isinstance(found, DrawnScene), found
    return found


@pytest.mark.parametrize("name", RELATIONS)
def test_every_relation_of_conceptmix_can_be_laid_out(name: str) -> None:
    brief = SceneBrief((BriefObject("cat", 2), BriefObject("house")), (BriefRelation(name, 0, 1),))
    if name == "bottom":  # one house on two cats has no place
        brief = replace(brief, objects=(BriefObject("cat"), BriefObject("house")))
    found = solved(brief)
    assert all(concept_holds(concept, found) for concept in brief_concepts(brief))
    word = relation_word(name)
    assert word is not None
    found_reversed = [each for each in RELATIONS if each != name]
    opposite = {"left": "right", "above": "below", "in front of": "behind", "top": "bottom", "inside": "outside"}
    other = {**opposite, **{two: one for one, two in opposite.items()}}[name]
    assert other in found_reversed
    wrong = SceneBrief(brief.objects, (BriefRelation(other, 0, 1),))
    assert not all(concept_holds(concept, found) for concept in brief_concepts(wrong))


def test_numbers_and_sizes_are_kept_and_boxes_overlap_only_where_they_should() -> None:
    brief = SceneBrief(
        (
            BriefObject("corgi", 3, size="tiny"),
            BriefObject("pig"),
            BriefObject("sheep"),
        ),
        (BriefRelation("in front of", 1, 2),),
    )
    scene = solved(brief).scene
    assert [obj.label for obj in scene.objects] == ["corgi"] * 3 + ["pig", "sheep"]
    boxes = [obj.box for obj in scene.objects]
    lengths = {label: drawn_catalog().entry(label).length or 0 for label in ("corgi", "pig", "sheep")}
    scales = [
        max(b.xmax - b.xmin, b.ymax - b.ymin) / lengths[obj.label] for obj, b in zip(scene.objects, boxes, strict=True)
    ]
    assert 2.5 * max(scales[:3]) <= min(scales[3:])
    for one, other in combinations(range(5), 2):
        a, b = boxes[one], boxes[other]
        apart = a.xmax <= b.xmin or b.xmax <= a.xmin or a.ymax <= b.ymin or b.ymax <= a.ymin
        assert apart == ({one, other} != {3, 4})
    assert all(20 <= edge <= 980 for box in boxes for edge in box)


def test_the_same_seed_gives_the_same_scene_and_another_one_another() -> None:
    brief = SceneBrief((BriefObject("cat"), BriefObject("dog"), BriefObject("table")))
    assert solved(brief) == solved(brief)
    assert len({solved(brief, seed).scene.objects for seed in range(4)}) > 1


def test_a_formula_with_a_choice_is_solved_too() -> None:
    formula = (
        "(exists ?c (exists ?t (and (Is ?c 'cup') (Is ?t 'table') (or (On ?c ?t) (LeftOf ?c ?t)) (not (On ?c ?t)))))"
    )
    found = solve_drawn(formula)
    assert isinstance(found, DrawnScene)
    assert verify_drawn(formula, found)
    assert not found.scene.relations


def test_every_instance_of_a_forall_is_drawn() -> None:
    formula = "(exists ?t (and (Is ?t 'table') (forall ?c (implies (Is ?c 'cup') (On ?c ?t)))))"
    found = solve_drawn(formula)
    assert isinstance(found, DrawnScene)
    assert verify_drawn(formula, found)
    assert [obj.label for obj in found.scene.objects].count("cup") == 2


def test_contradictions_are_named() -> None:
    formula = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'dog') (LeftOf ?a ?b) (RightOf ?a ?b))))"
    refused = solve_drawn(formula)
    assert isinstance(refused, NoDrawing)
    assert not refused
    assert refused.conflict == ("LeftOf(cup, dog)", "RightOf(cup, dog)")
    both = (BriefRelation("top", 0, 1), BriefRelation("inside", 0, 2))
    twice = solve_drawn(SceneBrief((BriefObject("cat"), BriefObject("table"), BriefObject("basket")), both))
    assert isinstance(twice, NoDrawing)
    assert "a cat has one place" in twice.reason


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ("(exists ?x (Is ?x 'unicorn'))", "unicorn: there is no drawing of it"),
        ("(and (IsStyle 'photo') (exists ?x (Is ?x 'cat')))", "photo: "),
        ("(exists ?x (and (Is ?x 'cup') (HasState ?x 'sleeping')))", "sleeping: there is no drawing of a cup"),
        ("(exists ?x (exists ?y (and (Is ?x 'cat') (Is ?y 'spoon') (In ?x ?y))))", "In: a spoon has no inside"),
        ("(exists ?x (exists ?y (and (Is ?x 'table') (Is ?y 'cat') (Holding ?x ?y))))", "Holding: a table has nothing"),
        ("(and (IsStyle 'ink') (exists ?x (and (Is ?x 'cat') (HasColor ?x 'red'))))", "red: an image in the style ink"),
        ("(exists ?x (exists ?y (and (Is ?x 'desk') (HasState ?x 'closed') (Is ?y 'key') (In ?y ?x))))",
         "closed: a desk"),
        (SceneBrief((BriefObject("skyscraper", size="tiny"),)), "size: there is nothing of about its usual size"),
        (SceneBrief((BriefObject("cat"), BriefObject("cat"))), "cat: two entries of one class"),
        (SceneBrief((BriefObject("cat"), BriefObject("dog")), (BriefRelation("facing", 0, 1),)),
         "facing: drawn scenes"),
        (SceneBrief((BriefObject("cat"), BriefObject("dog")), (BriefRelation("outside", 0, 1),)),
         "outside: a dog has no"),
    ],
)  # fmt: skip
def test_the_word_that_cannot_be_drawn_is_named(request_: str | SceneBrief, reason: str) -> None:
    found = why_not_drawable(request_)
    assert found is not None
    assert found.startswith(reason)
    refused = solve_drawn(request_)
    assert isinstance(refused, NoDrawing)
    assert refused.reason == found
