"""The best binding against its definition: a game played out over all assignments."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from formalimg.logic.constraints import Semantics
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.prenex import Clause, Component, to_prenex
from formalimg.logic.soft_score import minimax
from formalimg.logic.soft_score.best_binding import BestBinding, best_binding
from formalimg.logic.soft_score.earned_credit import expand_strict_forall
from formalimg.logic.syntax import Atom, Formula, Value, Variable, atoms
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.rules import BINARY_RULES
from formalimg.scenes.scene import Scene
from tests.support.brute_force import atom_truth, truth
from tests.support.random_logic import CLASSES, STYLES, random_formula, random_scene
from tests.support.sayable_formulas import Sayable, Taste
from tests.support.sizes import tries

BOTH: tuple[Semantics, ...] = ("strict", "classical")


class Outcome(NamedTuple):
    """How a game ends: clauses that hold, what is said rightly about classes, and the objects picked."""

    clauses: int
    classes: int
    play: tuple[int, ...]


def literal_truths(clause: Clause, scene: Scene, binding: Mapping[str, int], style: str) -> list[bool]:
    truths = []
    for atom, positive in clause.literals:
        assert isinstance(atom, Atom)
        if atom.predicate == "IsStyle":
            truths.append((atom.arguments[0] == Value(style)) is positive)
        else:
            values = [scene.objects[binding[a.name]] if isinstance(a, Variable) else a.text for a in atom.arguments]
            truths.append(atom_truth(atom.predicate, values) is positive)
    return truths


def played_out(component: Component, scene: Scene, style: str, picked: tuple[int, ...] = ()) -> Outcome:
    """The outcome if both players play best from here on, by trying everything."""
    if len(picked) == len(component.prefix):
        binding = dict(zip([quantifier.variable for quantifier in component.prefix], picked, strict=True))
        clauses = classes = 0
        for clause in component.clauses:
            truths = literal_truths(clause, scene, binding, style)
            clauses += any(truths)
            spoken = zip(clause.literals, truths, strict=True)
            classes += sum(true for literal, true in spoken if literal.predicates == ("Is",))
        return Outcome(clauses, classes, picked)
    outcomes = [played_out(component, scene, style, (*picked, obj)) for obj in range(len(scene))]
    best = max if component.prefix[len(picked)].kind == "exists" else min
    return best(outcomes, key=lambda outcome: outcome[:2])  # the first of the equally good


def components_of(formula: Formula, semantics: Semantics) -> Sequence[Component]:
    """What the lifted form consists of; nothing for the few random formulas that grow too large."""
    try:
        return to_prenex(expand_strict_forall(formula).formula if semantics == "strict" else formula).components
    except FormulaError as error:
        assert error.problems[0].kind == "size"
        return ()


def effort(components: Sequence[Component], scene: Scene) -> int:
    return sum(len(scene) ** len(part.prefix) * len(part.clauses) for part in components)


def assert_is_best(found: BestBinding, components: Sequence[Component], scene: Scene, style: str) -> None:
    outcomes = [played_out(part, scene, style) for part in components]
    for part, outcome in zip(components, outcomes, strict=True):
        assert tuple(found.bindings[quantifier.variable] for quantifier in part.prefix) == outcome.play
    assert sum(clause.holds for clause in found.clauses) == sum(outcome.clauses for outcome in outcomes)
    assert [judged.clause for judged in found.clauses] == [clause for part in components for clause in part.clauses]
    for judged in found.clauses:
        assert judged.holds is any(literal_truths(judged.clause, scene, found.bindings, style))


def compare(name: str, *, sizes: tuple[int, ...], most_effort: int, number: int) -> int:
    """Compare on random formulas and scenes; how many formulas were worth it."""
    entangled = 0
    for index in range(number):
        chance = random.Random(f"{name} {index}")
        formula = random_formula(chance, chance.randint(2, 5))
        scene = random_scene(chance, sizes)
        style = chance.choice(STYLES)
        for semantics in BOTH:
            components = components_of(formula, semantics)
            if not 0 < effort(components, scene) < most_effort:
                continue
            assert_is_best(best_binding(formula, scene, semantics, style), components, scene, style)
            kinds = [[quantifier.kind for quantifier in part.prefix] for part in components]
            entangled += any("exists" in kind and "forall" in kind for kind in kinds)
    return entangled


def test_on_random_pairs() -> None:
    number = tries(250, 800)
    assert compare("minimax", sizes=(1, 2, 3, 3, 4), most_effort=2000, number=number) > number / 8


@pytest.mark.parametrize("cells", [1, 4, 16][:: tries(2, 1)])
def test_where_tables_would_be_too_large(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """With almost no room, variables are tried value by value and clauses never become tables: slower, still right."""
    monkeypatch.setattr(minimax, "MAX_CELLS", cells)
    monkeypatch.setattr(minimax, "_MAX_ARRAY_CELLS", cells)
    number = tries(100, 300)
    assert compare(f"narrow {cells}", sizes=(2, 3, 3, 4), most_effort=2000, number=number) > number / 6


@pytest.mark.parametrize("cells", [None, 1, 4, 16, 64][:: tries(2, 1)])
def test_on_alternating_prefixes(monkeypatch: pytest.MonkeyPatch, cells: int | None) -> None:
    """Players in turn, tightly tied: where it matters in which order variables are forgotten or fixed."""
    if cells is not None:
        monkeypatch.setattr(minimax, "MAX_CELLS", cells)
        monkeypatch.setattr(minimax, "_MAX_ARRAY_CELLS", cells)
    for index in range(tries(10, 60)):
        chance = random.Random(f"alternating {cells} {index}")
        formula = alternating_formula(chance)
        scene = random_scene(chance, sizes=(2, 3, 3))
        components = components_of(formula, "classical")
        assert_is_best(best_binding(formula, scene, "classical"), components, scene, "")


@settings(max_examples=tries(50, 300), deadline=None)
@given(st.integers(), st.integers(1, 4), st.sampled_from([0.0, 0.3]))
def test_on_instructions(seed: int, k: int, logic: float) -> None:
    """Formulas shaped like instructions, in scenes that have objects of the right classes."""
    formula = Sayable("knolling", seed, Taste(logic=logic)).formula(k)
    chance = random.Random(seed)
    scene = scene_for(formula, chance, chance.randint(1, 4))
    components = components_of(formula, "strict")
    assume(0 < effort(components, scene) < 20_000)
    found = best_binding(formula, scene)
    assert_is_best(found, components, scene, "")
    assert (found.share == 1) is truth(formula, scene, strict=True)


@settings(max_examples=tries(80, 800), deadline=None)
@given(st.integers(), st.integers(1, 5), st.sampled_from(BOTH), st.sampled_from(STYLES))
def test_all_clauses_hold_if_and_only_if_the_formula_does(
    seed: int, depth: int, semantics: Semantics, style: str
) -> None:
    chance = random.Random(seed)
    formula = random_formula(chance, depth)
    scene = random_scene(chance)
    components = components_of(formula, semantics)
    assume(components)
    assume(all(len(part.prefix) <= 8 and len(part.clauses) <= 300 for part in components))  # others may be refused
    found = best_binding(formula, scene, semantics, style)
    assert (found.share == 1) is truth(formula, scene, strict=semantics == "strict", style=style)
    assert all(clause.holds for clause in found.clauses) is verify(formula, scene, semantics, style).passed


def test_spelt_out_the_classical_reading_is_the_strict_one() -> None:
    changed, number = 0, tries(1000, 3000)
    for index in range(number):
        chance = random.Random(f"spelt out {index}")
        formula = random_formula(chance, chance.randint(1, 5))
        scene = random_scene(chance, sizes=(1, 2, 3))
        spelled = expand_strict_forall(formula).formula
        expected = truth(formula, scene, strict=True, style="photo")
        assert truth(spelled, scene, strict=False, style="photo") is expected, str(formula)
        changed += expected is not truth(formula, scene, strict=False, style="photo")
    assert changed > number / 30


def alternating_formula(chance: random.Random) -> Formula:
    """Quantifiers of both kinds in any order, before clauses that mostly tie two or three variables together."""
    names = [f"v{number}" for number in range(chance.randint(3, 6))]

    def literal() -> str:
        first, second = chance.sample(names, 2)
        text = f"({chance.choice(list(BINARY_RULES))} ?{first} ?{second})"
        if chance.random() < 0.2:
            text = f"(Is ?{first} '{chance.choice(CLASSES)}')"
        return text if chance.random() < 0.6 else f"(not {text})"

    clauses = [f"(or {' '.join(literal() for _ in range(chance.choice([1, 1, 2, 3])))})" for _ in range(len(names) * 2)]
    text = f"(and {' '.join(clauses)})"
    for name in names:
        text = f"({chance.choice(['exists', 'forall'])} ?{name} {text})"
    return parse(text)


def scene_for(formula: Formula, chance: random.Random, size: int) -> Scene:
    """Objects of the classes and colours that a formula speaks of."""
    words = {"Is": ["cup"], "Has": ["red"]}
    for atom in atoms(formula):
        if atom.predicate in words:
            words[atom.predicate].append(word_of(atom))
    return Scene.of(
        SceneObject(chance.choice(words["Is"]), box(chance), chance.choice([*words["Has"], None])) for _ in range(size)
    )


def word_of(atom: Atom) -> str:
    word = atom.arguments[1]
    assert isinstance(word, Value)
    return word.text


def box(chance: random.Random) -> Box:
    x, y = chance.randrange(0, 900, 50), chance.randrange(0, 900, 50)
    return Box(x, y, x + chance.choice([50, 100]), y + chance.choice([50, 100]))
