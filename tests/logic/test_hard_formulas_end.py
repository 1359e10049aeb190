"""Deciding takes so many steps and no more: the answer is exact or there is none, the same on every machine."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import subprocess
import sys
import time
from itertools import combinations

import pytest

from formalimg.logic import world as logic_world
from formalimg.logic.errors import FormulaError
from formalimg.logic.evaluation import TooHardError
from formalimg.logic.parser import parse
from formalimg.logic.soft_score.best_binding import best_binding, prepare_formula
from formalimg.logic.syntax import Atom, Exists, Forall, Variable
from formalimg.logic.verification import verify
from tests.support.brute_force import truth
from tests.support.hard_formulas import (
    all_neighbours,
    answered_in_turn,
    conditions_within_conditions,
    crowd,
    far_apart,
    steps_taken,
)
from tests.support.random_logic import random_formula, random_scene
from tests.support.sizes import only_in_full, tries

CROWD = crowd(100)
HARD = {
    "exists, of numbers": far_apart(11),
    "exists, of what was seen": all_neighbours(12),
    "in turn": answered_in_turn(9, "eea"),
    "mostly forall": answered_in_turn(9, "eaa"),
    "conditions": conditions_within_conditions(12),
}


@pytest.mark.parametrize("kind", HARD)
def test_a_hard_formula_is_given_up(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic_world, "MAX_STEPS", 100_000)
    with pytest.raises(FormulaError) as caught:
        verify(HARD[kind], CROWD)
    assert [problem.kind for problem in caught.value.problems] == ["size"]
    assert caught.value.problems[0].span.text == HARD[kind]
    assert "among 100 objects: use fewer variables" in str(caught.value)


def test_everything_that_decides_gives_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic_world, "MAX_STEPS", 10_000)
    formula = HARD["exists, of numbers"]
    ready = prepare_formula(formula)
    for decide in (verify, best_binding):
        with pytest.raises(TooHardError):
            decide(formula, CROWD)
    for asked in (ready.verify, ready.best_binding, ready.share):
        with pytest.raises(TooHardError):
            asked(CROWD)
    assert best_binding(far_apart(2), CROWD).share == 1, "the next formula has steps of its own"


def test_a_formula_that_stands_in_no_text_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic_world, "MAX_STEPS", 10)
    x, y = Variable("x"), Variable("y")
    formula = Exists(x, Forall(y, Atom("Above", (x, y))))
    with pytest.raises(TooHardError) as caught:
        verify(formula, CROWD)
    assert caught.value.problems[0].span.text == str(formula)


def test_the_error_survives_the_way_between_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic_world, "MAX_STEPS", 10)
    with pytest.raises(TooHardError) as caught:
        verify(far_apart(3), CROWD)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is TooHardError
    assert str(again) == str(caught.value)


@pytest.mark.parametrize("rows", [logic_world.MAX_ROWS, 6])
def test_with_any_limit_the_answer_is_exact_or_there_is_none(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for tables and without, so that formulas are also given up while they are decided value by value."""
    monkeypatch.setattr(logic_world, "MAX_ROWS", rows)
    decided = given_up = 0
    for number in range(tries(500, 1500)):
        chance = random.Random(f"limit {number}")
        formula = random_formula(chance, chance.randint(2, 5))
        scene = random_scene(chance)
        monkeypatch.setattr(logic_world, "MAX_STEPS", chance.choice([0, 10, 30, 100, 300]))
        for semantics in ("strict", "classical"):
            try:
                found = verify(formula, scene, semantics, "photo").passed
            except TooHardError:
                given_up += 1
                continue
            decided += 1
            expected = truth(formula, scene, strict=semantics == "strict", style="photo")
            assert found is expected, f"{formula} in {scene.to_json()}"
    assert min(decided, given_up) > 0.2 * (decided + given_up)  # both are worth looking at


def test_just_enough_steps_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    formula = answered_in_turn(5, "eae")
    scene = crowd(25)
    needed, expected = steps_taken(formula, scene), verify(formula, scene).passed
    monkeypatch.setattr(logic_world, "MAX_STEPS", needed)
    assert verify(formula, scene).passed is expected
    monkeypatch.setattr(logic_world, "MAX_STEPS", needed // 2)
    with pytest.raises(TooHardError):
        verify(formula, scene)


@only_in_full
def test_steps_do_not_hang_on_the_order_of_sets() -> None:
    """Strings are hashed differently in every process, unless PYTHONHASHSEED is set."""
    program = (
        "from tests.support.hard_formulas import *\n"
        "print([steps_taken(loosely_tied(16, seed), crowd(15)) for seed in range(60)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in range(3)
    }
    assert len(outputs) == 1, outputs


def test_a_proof_that_takes_too_long_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    formula = f"(and {all_neighbours(5)} (exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'cup') (Has ?b 'blue')))))"
    monkeypatch.setattr(logic_world, "MAX_STEPS", steps_taken(formula, CROWD))
    verdict = verify(formula, CROWD)
    assert not verdict
    assert verdict.explain().startswith("✗ (and (exists ?v0")
    assert verdict.explain().endswith(": why that is takes too many steps to find out")
    assert "\n" not in verdict.explain()
    assert verdict.to_json()["proof"] == verdict.proof.to_json()
    assert verdict.proof.holds is False


_PLATES = " ".join(["(Is ?x 'plate')"] * 2000)
_PAIR = "(exists ?x (exists ?y (and (Is ?x 'cup') (Is ?y 'cup') (LeftOf ?x ?y) (LeftOf ?y ?x))))"
LARGE_DISJUNCTIONS = {
    "of words": f"(exists ?x (or {_PLATES}))",
    "with a class": f"(exists ?x (and (Is ?x 'cup') (or {_PLATES})))",
    "for all": f"(forall ?x (implies (Is ?x 'cup') (or {_PLATES})))",
    "of formulas": f"(or {' '.join([_PAIR] * 500)})",
}


@pytest.mark.parametrize("name", LARGE_DISJUNCTIONS)
def test_a_large_disjunction_is_explained_in_few_more_steps_than_it_is_decided(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula = LARGE_DISJUNCTIONS[name]
    scene = crowd(60)
    monkeypatch.setattr(logic_world, "MAX_STEPS", 6 * steps_taken(formula, scene))
    verdict = verify(formula, scene)
    assert not verdict
    assert "too many steps" not in verdict.explain()
    assert verdict.explain().count("\n") < 3000


def _in_turn(variables: str) -> str:
    text = " ".join(f"(NextTo ?{a} ?{b})" for a, b in combinations(variables, 2))
    text = f"(or {text})"
    for place, name in enumerate(reversed(variables)):
        text = f"({'exists' if place % 2 else 'forall'} ?{name} {text})"
    return text


def _equal(variables: str, quantifier: str) -> str:
    text = f"(Is ?{variables[0]} 'plate')"
    for name in variables[1:]:
        text = f"(iff {text} (Is ?{name} 'plate'))"
    for name in reversed(variables):
        text = f"({quantifier} ?{name} {text})"
    return text


@pytest.mark.parametrize(
    ("formula", "objects"),
    [
        (f"(or {_in_turn('abcdef')} {_in_turn('uvwxyz')})", 20),
        (f"(or {_in_turn('abcd')} {_in_turn('wxyz')})", 100),
        (_equal("abcdefgh", "forall"), 8),
        (_equal("abcdefghi", "exists"), 8),
    ],
)
def test_a_short_formula_takes_little_time_whatever_is_asked(formula: str, objects: int) -> None:
    """About a second for all of it, and mostly less."""
    scene = crowd(objects)
    start = time.process_time()
    with contextlib.suppress(TooHardError):
        verdict = verify(formula, scene)
        assert verdict.explain().startswith("✓" if verdict else "✗")
    with contextlib.suppress(FormulaError):
        best_binding(formula, scene)
    assert time.process_time() - start < 4


def test_a_proof_that_is_given_up_does_not_decide_the_formula_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    formula = f"(and {all_neighbours(5)} (exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'cup') (Has ?b 'blue')))))"
    verdict = verify(formula, CROWD)
    monkeypatch.setattr(logic_world, "MAX_STEPS", 10)
    assert verdict.explain().endswith(": why that is takes too many steps to find out")
    assert verdict.proof.holds is False


def test_very_many_distinct_variables_are_refused_when_read() -> None:
    """They are told apart two by two, so a text of 100,000 characters would be half a billion claims."""
    few = f"(distinct {'?a ' * 40}) "
    for text in ("(exists ?a (distinct " + "?a " * 30_000 + "))", f"(and {few * 200})"):
        with pytest.raises(FormulaError, match="more than 10,000 pairs are said to be distinct") as caught:
            parse(text)
        assert [problem.kind for problem in caught.value.problems] == ["size"]
    assert parse(f"(exists ?a (distinct {'?a ' * 100}))")


@pytest.mark.parametrize("variables", [61, 63, 64, 70])
@pytest.mark.parametrize("objects", [1, 2, 3])
def test_more_variables_than_a_table_has_axes_are_linked_too_tightly(variables: int, objects: int) -> None:
    parts = " ".join(f"(exists ?x{number} (Is ?x{number} 'plate'))" for number in range(variables))
    formula = f"(or {parts})"
    scenes = [crowd(objects), crowd(objects, 3)]
    shares = prepare_formula(formula).shares(scenes)
    if objects == 1:
        assert shares == [best_binding(formula, scene).share for scene in scenes] == [0, 0]
        return
    with pytest.raises(FormulaError, match=f"{variables} variables are linked too tightly"):
        best_binding(formula, scenes[0])
    assert all(isinstance(share, FormulaError) for share in shares)


def test_more_variables_than_a_table_has_axes_can_stand_for_one_object() -> None:
    names = [f"?x{number}" for number in range(70)]
    text = f"(and {' '.join(f'(LeftOf {a} {b})' for a, b in combinations(names, 2))})"
    for name in reversed(names):
        text = f"(exists {name} {text})"
    assert prepare_formula(text).shares([crowd(1), crowd(1, 3)]) == [0, 0]
