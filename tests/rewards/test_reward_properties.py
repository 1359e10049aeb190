"""What the dense reward promises, for random formulas, scenes and weights, against its definition by brute force."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from formalimg.logic.syntax import And, Atom, Exists, Formula, Not, Or, Value, Variable
from formalimg.rewards.inputs import StyledScene
from formalimg.rewards.result import RewardScore
from formalimg.rewards.scorer import Scorer
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.rules import BINARY_RULES
from formalimg.scenes.scene import Scene
from tests.rewards.game_played_out import (
    STYLE,
    Played,
    best_share_of_all_bindings,
    components,
    earns,
    effort,
    holds,
    reward,
    shows_something,
)
from tests.support.brute_force import truth
from tests.support.random_logic import CLASSES, COLORS, random_formula, random_scene
from tests.support.sizes import tries

WEIGHTS: tuple[dict[str, int], ...] = (
    {},
    {"object": 3, "relation": 2},
    {"object": 1, "attribute": 5, "relation": 1, "condition": 7, "style": 2},
    {"relation": 1000, "object": 1},
)
SCORERS = [Scorer(weights=dict(weights), surplus=0) for weights in WEIGHTS]
BOTH = st.sampled_from(range(len(WEIGHTS)))


def scored(which: int, formula: Formula, scene: Scene) -> RewardScore:
    [found] = SCORERS[which].score_all([(StyledScene(scene, STYLE), formula)])
    [bare] = SCORERS[which].score_all([(StyledScene(scene, STYLE), formula)], parts=False)
    assert bare == found.without_parts()  # to the last digit
    return found


def score(which: int, formula: Formula, scene: Scene) -> Fraction:
    found = scored(which, formula, scene).score
    assert found is not None
    return Fraction(found).limit_denominator(10**7)


def existential_formula(chance: random.Random) -> Formula:
    names = [f"v{number}" for number in range(chance.randint(1, 4))]

    def literal() -> Formula:
        first, second = (Variable(chance.choice(names)) for _ in range(2))
        kind = chance.random()
        if kind < 0.35:
            told = Atom("Is", (first, Value(chance.choice(CLASSES))))
        elif kind < 0.6:
            told = Atom("Has", (first, Value(chance.choice(COLORS))))
        elif kind < 0.65:
            return Atom("IsStyle", (Value(chance.choice([STYLE, "cartoon"])),))
        else:
            told = Atom(chance.choice(list(BINARY_RULES)), (first, second))
        return told if chance.random() < 0.8 else Not(told)

    claims = [literal() if chance.random() < 0.8 else Or((literal(), literal())) for _ in range(len(names) * 2 + 1)]
    formula: Formula = And(tuple(claims))
    for name in names:
        formula = Exists(Variable(name), formula)
    return formula


def changed(scene: Scene, chance: random.Random) -> Scene:
    objects = list(scene.objects)
    for _ in range(chance.randint(1, 2)):
        number = chance.randrange(len(objects))
        [other] = random_scene(chance, (1,)).objects
        objects[number] = chance.choice(
            [
                other,
                replace(objects[number], color=other.color),
                replace(objects[number], label=other.label),
                replace(objects[number], box=other.box),
            ]
        )
    return Scene.of(objects)


@settings(max_examples=tries(40, 150), deadline=None)
@given(st.integers(), st.integers(1, 5), BOTH)
def test_it_is_the_game_over_the_clauses_and_1_if_and_only_if_the_formula_holds(
    seed: int, depth: int, which: int
) -> None:
    chance = random.Random(seed)
    formula, scene = random_formula(chance, depth), random_scene(chance, (0, 1, 2, 3, 3))
    parts = components(formula, WEIGHTS[which])
    assume(0 < effort(parts, max(1, len(scene))) < 1500)
    found = scored(which, formula, scene)
    assert found.score is not None
    assert 0 <= found.score <= 1
    passes = truth(formula, scene, strict=True, style=STYLE)
    assert (found.score == 1) is passes
    assert found.passed is passes
    assert (found.reason == "") is passes
    if scene.objects:
        assert score(which, formula, scene) == reward(parts, scene, passes)
    by_parts = sum(part.score * part.weight for part in found.parts) / sum(part.weight for part in found.parts)
    assert found.score == pytest.approx(by_parts, abs=1e-12)


@settings(max_examples=tries(30, 80), deadline=None)
@given(st.integers(), BOTH)
def test_for_existential_formulas_it_is_the_best_of_all_bindings(seed: int, which: int) -> None:
    chance = random.Random(seed)
    formula, scene = existential_formula(chance), random_scene(chance, (1, 2, 3, 4))
    parts = components(formula, WEIGHTS[which])
    assert all(part.is_existential for part in parts)
    expected = best_share_of_all_bindings(parts, scene) if shows_something(parts, scene) else 0
    assert score(which, formula, scene) == expected


@settings(max_examples=tries(40, 100), deadline=None)
@given(st.integers(), BOTH)
def test_a_repair_raises_the_score_of_an_existential_formula_by_at_least_its_weight(seed: int, which: int) -> None:
    chance = random.Random(seed)
    formula, scene = existential_formula(chance), random_scene(chance, (2, 3, 4))
    before = scored(which, formula, scene)
    assume(before.score != 1)
    after = changed(scene, chance)
    binding = SCORERS[which].prepare(formula).formula.best_binding(scene, STYLE).bindings  # type: ignore[union-attr]
    parts = components(formula, WEIGHTS[which])
    assume(shows_something(parts, scene) and shows_something(parts, after))
    clauses = [counted for part in parts for counted in part.clauses]
    earned = [earns(counted, scene, binding) for counted in clauses]
    earning = [earns(counted, after, binding) for counted in clauses]
    assume(all(now or not then for then, now in zip(earned, earning, strict=True)))
    gained = sum(one.weight for one, then, now in zip(clauses, earned, earning, strict=True) if now and not then)
    total = sum(counted.weight for counted in clauses)
    assert score(which, formula, after) >= score(which, formula, scene) + Fraction(gained, total)


@settings(max_examples=tries(30, 80), deadline=None)
@given(st.integers(), BOTH)
def test_another_object_never_lowers_the_score_of_an_existential_formula(seed: int, which: int) -> None:
    chance = random.Random(seed)
    formula, scene = existential_formula(chance), random_scene(chance, (0, 1, 2, 3))
    [more] = random_scene(chance, (1,)).objects
    objects = list(scene.objects)
    objects.insert(chance.randint(0, len(objects)), more)
    assert score(which, formula, Scene.of(objects)) >= score(which, formula, scene)


@settings(max_examples=tries(40, 100), deadline=None)
@given(st.integers(), st.integers(1, 4), BOTH)
def test_where_no_clause_stops_to_hold_for_any_objects_no_score_falls(seed: int, depth: int, which: int) -> None:
    chance = random.Random(seed)
    formula, scene = random_formula(chance, depth), random_scene(chance, (1, 2, 3))
    parts = components(formula, WEIGHTS[which])
    assume(0 < effort(parts, len(scene)) < 600)
    after = changed(scene, chance)
    assume(all(keeps(part, scene, after) for part in parts))
    assert score(which, formula, after) >= score(which, formula, scene)


def keeps(part: Played, before: Scene, after: Scene) -> bool:
    names = [name for _, name in part.prefix]
    for picks in product(range(len(before)), repeat=len(names)):
        binding = dict(zip(names, picks, strict=True))
        if any(holds(clause, before, binding) and not holds(clause, after, binding) for clause in part.clauses):
            return False
    return True


@settings(max_examples=60, deadline=None)
@given(st.integers(), st.integers(1, 5), BOTH)
def test_the_order_of_the_objects_does_not_matter(seed: int, depth: int, which: int) -> None:
    chance = random.Random(seed)
    formula, scene = random_formula(chance, depth), random_scene(chance, (2, 3, 4))
    assume(0 < effort(components(formula, {}), len(scene)) < 20_000)
    shuffled: list[SceneObject] = chance.sample(scene.objects, len(scene.objects))
    assert score(which, formula, Scene.of(shuffled)) == score(which, formula, scene)
