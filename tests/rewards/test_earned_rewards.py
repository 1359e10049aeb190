"""A clause earns nothing in a reward until the objects are there that it speaks of."""

from __future__ import annotations

import pickle
import random
from statistics import mean

import pytest

from formalimg import FormalimgError, load
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.logic.soft_score.best_binding import prepare_formula
from formalimg.logic.verification import verify
from formalimg.rewards.inputs import StyledScene
from formalimg.rewards.result import RewardScore
from formalimg.rewards.scorer import Scorer
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.sizes import tries

SCORER = Scorer(surplus=0)
ITEMS = load("knolling")
CLASSES = sorted({name for item in ITEMS for name in item.spec.object_classes})
COLORS = ["red", "blue", "green", "white", "black", None]

CUP_ON_THE_LEFT = "(exists ?c (and (Is ?c 'cup') (OnLeftSide ?c) (Has ?c 'red')))"
EVERY_CUP = "(forall ?x (implies (Is ?x 'cup') (and (Has ?x 'red') (OnLeftSide ?x))))"
EVERY_BLUE_CUP = "(forall ?x (implies (and (Is ?x 'cup') (Has ?x 'blue')) (OnLeftSide ?x)))"
EVERY_CUP_HAS_A_FORK = (
    "(forall ?x (implies (Is ?x 'cup') (exists ?f (and (Is ?f 'fork') (Has ?f 'red') (LeftOf ?x ?f)))))"
)
FORKS_LEFT_OF_THE_CUP = (
    "(exists ?c (and (Is ?c 'cup') (forall ?f (implies (and (Is ?f 'fork') (LeftOf ?f ?c)) (Has ?f 'red')))))"
)
CUPS_AND_THEIR_FORKS = "(forall ?x (implies (Is ?x 'cup') (forall ?y (implies (Is ?y 'fork') (LeftOf ?x ?y)))))"
PLATE_WITHOUT_FORK = "(and (exists ?p (and (Is ?p 'plate') (Has ?p 'red'))) (not (exists ?f (Is ?f 'fork'))))"
PHOTO_OF_A_CUP = "(and (IsStyle 'photo') (exists ?c (Is ?c 'cup')))"
IF_A_CUP_THEN_A_FORK = (
    "(and (exists ?p (Is ?p 'plate')) (implies (exists ?c (Is ?c 'cup')) (exists ?f (Is ?f 'fork'))))"
)
CUP_OR_MUG = "(exists ?x (and (or (Is ?x 'cup') (Is ?x 'mug')) (Has ?x 'red')))"


def obj(label: str, color: str | None = None, x: int = 100) -> SceneObject:
    return SceneObject(label, Box(x, 100, x + 80, 180), color)


def rewarded(formula: str, *objects: SceneObject) -> RewardScore:
    [found] = SCORER.score_all([(StyledScene(Scene.of(objects), "photo"), formula)])
    [bare] = SCORER.score_all([(StyledScene(Scene.of(objects), "photo"), formula)], parts=False)
    assert bare.score == found.score
    return found


@pytest.mark.parametrize(
    ("formula", "objects", "score"),
    [
        # a hammer that is red and on the left is no cup
        (CUP_ON_THE_LEFT, [obj("hammer", "red")], 0),
        (CUP_ON_THE_LEFT, [obj("hammer", "red"), obj("cup", "blue", 700)], 1 / 3),
        (CUP_ON_THE_LEFT, [obj("hammer", "red"), obj("cup", "red", 700)], 2 / 3),
        # a rule without an instance
        (EVERY_CUP, [obj("hammer", "red")], 0),
        (EVERY_CUP, [obj("cup", "blue", 700)], 1 / 3),
        (EVERY_CUP, [obj("cup", "blue")], 2 / 3),
        (EVERY_BLUE_CUP, [obj("cup", "red")], 1 / 3),
        (EVERY_BLUE_CUP, [obj("cup", "red"), obj("hammer", "blue")], 1 / 3),
        (EVERY_BLUE_CUP, [obj("cup", "blue", 700)], 2 / 3),
        # what a rule asks for each instance
        (EVERY_CUP_HAS_A_FORK, [obj("fork", "red")], 0),
        (EVERY_CUP_HAS_A_FORK, [obj("cup"), obj("hammer", "red", 500)], 1 / 4),
        (EVERY_CUP_HAS_A_FORK, [obj("cup"), obj("fork", "blue", 500)], 3 / 4),
        # the condition of a rule is about another object too
        (FORKS_LEFT_OF_THE_CUP, [obj("cup"), obj("fork", "red", 500)], 1 / 2),
        (FORKS_LEFT_OF_THE_CUP, [obj("cup", x=500), obj("fork", "blue")], 3 / 4),
        # a rule within a rule
        (CUPS_AND_THEIR_FORKS, [obj("cup")], 1 / 3),
        (CUPS_AND_THEIR_FORKS, [obj("cup", x=500), obj("fork")], 2 / 3),
        # what must not be there counts once something is there that must
        (PLATE_WITHOUT_FORK, [], 0),
        (PLATE_WITHOUT_FORK, [obj("hammer", "red")], 0),
        (PLATE_WITHOUT_FORK, [obj("plate")], 2 / 3),
        (PLATE_WITHOUT_FORK, [obj("plate"), obj("fork", "red")], 1 / 3),
        # so does the style, and an implication that does not apply
        (PHOTO_OF_A_CUP, [], 0),
        (PHOTO_OF_A_CUP, [obj("hammer")], 0),
        (IF_A_CUP_THEN_A_FORK, [obj("hammer")], 0),
        (IF_A_CUP_THEN_A_FORK, [obj("plate"), obj("cup")], 1 / 2),
        (CUP_OR_MUG, [obj("hammer", "red")], 0),
        (CUP_OR_MUG, [obj("hammer", "red"), obj("mug")], 1 / 2),
    ],
)
def test_what_is_not_earned_counts_nothing(formula: str, objects: list[SceneObject], score: float) -> None:
    found = rewarded(formula, *objects)
    assert found.score == pytest.approx(score)
    assert found.passed is False


@pytest.mark.parametrize(
    ("formula", "objects"),
    [
        ("(not (exists ?f (Is ?f 'fork')))", []),
        ("(not (exists ?f (Is ?f 'fork')))", [obj("hammer")]),
        (IF_A_CUP_THEN_A_FORK, [obj("plate")]),
        (f"(or (exists ?p (Is ?p 'plate')) {EVERY_CUP})", [obj("plate")]),
        (f"(not {EVERY_CUP})", [obj("hammer")]),
        ("(exists ?x (not (Is ?x 'cup')))", [obj("hammer")]),
        (CUP_OR_MUG, [obj("mug", "red")]),
        (FORKS_LEFT_OF_THE_CUP, [obj("cup", x=500), obj("fork", "red")]),
    ],
)
def test_a_formula_that_holds_has_1_even_without_an_instance(formula: str, objects: list[SceneObject]) -> None:
    found = rewarded(formula, *objects)
    assert (found.score, found.passed, found.reason) == (1, True, "")
    assert all(part.score == 1 for part in found.parts)


def test_parts_say_what_is_missing() -> None:
    rule = rewarded(EVERY_CUP, obj("hammer", "red"))
    assert rule.parts[1].reason.endswith(": no cup yet: this clause earns nothing")
    assert "no blue cup yet: this clause" in rewarded(EVERY_BLUE_CUP, obj("cup", "red")).parts[-1].reason
    related = rewarded(FORKS_LEFT_OF_THE_CUP, obj("cup"), obj("fork", "red", 500))
    assert related.parts[-1].reason.endswith("no fork with (LeftOf it cup) yet: this clause earns nothing")
    absent = rewarded(PLATE_WITHOUT_FORK, obj("hammer"))
    assert absent.parts[-1].reason.endswith("nothing that is asked for is there yet: this clause earns nothing")
    spoons = "(exists ?s (exists ?c (and (Is ?s 'spoon') (Is ?c 'cup') (LeftOf ?s ?c) (Above ?s ?c) (Below ?c ?s))))"
    assert "no spoon yet: this clause earns nothing" in rewarded(spoons, obj("cup")).parts[2].reason


def somewhere(label: str, chance: random.Random) -> SceneObject:
    x, y = chance.randrange(0, 900), chance.randrange(0, 900)
    width, height = chance.randrange(20, 100), chance.randrange(20, 100)
    return SceneObject(label, Box(x, y, x + width, y + height), chance.choice(COLORS))


def sample() -> list[tuple[FormulaSpec, random.Random]]:
    step = max(1, len(ITEMS) // tries(200, len(ITEMS)))
    return [(item.spec, random.Random(f"earned {item.id}")) for item in ITEMS[::step]]


def test_no_scene_without_an_object_of_the_classes_asked_for_has_a_reward() -> None:
    for spec, chance in sample():
        others = [name for name in CLASSES if name not in spec.object_classes]
        scene = Scene.of([somewhere(chance.choice(others), chance) for _ in range(chance.randint(0, 8))])
        assert prepare_formula(spec.formula, credit="earned").share(scene) == 0, str(spec.formula)


def test_an_unrelated_object_never_raises_the_reward() -> None:
    partial = 0
    for spec, chance in sample():
        prepared = prepare_formula(spec.formula, credit="earned")
        assert spec.witness is not None
        objects = [
            obj if chance.random() < 0.8 else somewhere(obj.label, chance)
            for obj in spec.witness.objects
            if chance.random() < 0.8
        ]
        unrelated = somewhere(chance.choice([name for name in CLASSES if name not in spec.object_classes]), chance)
        before, after = prepared.share(Scene.of(objects)), prepared.share(Scene.of([unrelated, *objects]))
        assert after <= before, str(spec.formula)
        partial += 0 < before < 1
    assert partial > 50


def test_one_cup_in_the_middle_is_worth_nothing_and_an_honest_scene_much() -> None:
    cup = Scene.of([SceneObject("cup", Box(450, 450, 550, 550), "blue")])
    chosen = [item for item in ITEMS if "forall" in str(item.spec.formula)][:: tries(10, 1)]
    attacks, honest = [], []
    for item in chosen:
        prepared = prepare_formula(item.spec.formula, credit="earned")
        attacks += [prepared.share(cup)] if "cup" not in item.spec.object_classes else []
        assert item.spec.witness is not None
        fewer = Scene.of(item.spec.witness.objects[1:])
        honest += [] if verify(item.spec.formula, fewer).passed else [prepared.share(fewer)]
    assert max(attacks) == 0
    assert mean(honest) > 0.5


def test_other_objects_lower_the_reward_of_a_scene_that_fails_if_wanted() -> None:
    cup, hammer = obj("cup", "red", 700), obj("hammer", "red")
    by_surplus = {}
    for surplus in (0.0, 0.5, 1.0):
        scorer = pickle.loads(pickle.dumps(Scorer(surplus=surplus)))
        assert scorer.settings["surplus"] == surplus
        scenes = [[cup], [cup, hammer], [cup, hammer, hammer], [obj("cup", "red"), hammer]]
        pairs = [(Scene.of(objects), CUP_ON_THE_LEFT) for objects in scenes]
        by_surplus[surplus] = [found.score for found in scorer.score_all(pairs)]
        assert by_surplus[surplus] == [found.score for found in scorer.score_all(pairs, parts=False)]
    assert Scorer().settings["surplus"] == 1
    assert by_surplus[0.0] == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1])
    assert by_surplus[0.5] == pytest.approx([2 / 3, 4 / 9, 1 / 3, 1])
    assert by_surplus[1.0] == pytest.approx([2 / 3, 1 / 3, 2 / 9, 1])  # what passes has 1 whatever else is there
    for wrong in (-0.1, 1.1, float("nan"), True, "1"):
        with pytest.raises(FormalimgError, match="surplus must be a number from 0"):
            Scorer(surplus=wrong)  # type: ignore[arg-type]
