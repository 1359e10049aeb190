"""Counting quantifiers and `distinct`: reading, checking, K, the normal form, proofs, and the limits of the work."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from formalimg.logic import world as logic_world
from formalimg.logic.checks import check
from formalimg.logic.errors import FormulaError
from formalimg.logic.evaluation import TooHardError
from formalimg.logic.parser import parse
from formalimg.logic.prenex import clauses, complexity, to_prenex
from formalimg.logic.soft_score.best_binding import best_binding, prepare_formula
from formalimg.logic.soft_score.earned_credit import expand_strict_forall
from formalimg.logic.syntax import Count, to_pretty_text, to_text
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.hard_formulas import crowd, steps_taken
from tests.support.random_logic import random_formula
from tests.support.sizes import only_in_full, tries


def row(*objects: str) -> Scene:
    """Objects such as "red cup" in a row from left to right."""
    words = [text.split() for text in objects]
    return Scene.of(
        SceneObject(label, Box(100 * n, 100, 100 * n + 50, 200), color) for n, (color, label) in enumerate(words)
    )


TABLE = row("red cup", "gray fork", "white cup", "blue knife", "red cup")


# --- reading and writing


def test_what_is_written_is_read_back() -> None:
    counts = 0
    for number in range(tries(300, 2000)):
        formula = random_formula(random.Random(f"print counts {number}"), 5, counts=True)
        assert parse(to_text(formula)) == formula
        assert parse(to_pretty_text(formula)) == formula
        counts += "exactly" in to_text(formula)
    assert counts > 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(exactly ?x (Is ?x 'cup'))", "exactly needs a whole number before its variable: (exactly 3 ?x F)"),
        ("(at-least -1 ?x (Is ?x 'cup'))", "at-least needs a whole number before its variable"),
        ("(at-most 1.5 ?x (Is ?x 'cup'))", "at-most needs a whole number before its variable"),
        ("(exactly 1001 ?x (Is ?x 'cup'))", "exactly counts to 1,000 at most"),
        ("(exactly 3 (Is ?x 'cup'))", "exactly 3"),
        ("(exactly 3 ?x)", "exactly 3"),
    ],
)
def test_a_count_that_is_not_well_formed_is_an_error_that_says_how_it_is_written(text: str, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(exactly 2 ?x (Is ?x 'cupp'))", "knolling has no class 'cupp'"),
        ("(exactly 2 ?x (Is ?y 'cup'))", "?y is not bound by a quantifier around it"),
        ("(exists ?a (and (Is ?a 'cup') (distinct ?a)))", "distinct is written (distinct ?a ?b …)"),
        ("(exists ?a (and (Is ?a 'cup') (distinct ?a ?a)))", "a variable is never distinct from itself"),
        ("(exists ?a (and (Is ?a 'cup') (distinct ?a 'cup')))", "distinct takes variables, not a word"),
    ],
)
def test_check_finds_what_is_wrong_inside_counts_and_distinct(text: str, message: str) -> None:
    assert any(message in problem.message for problem in check(text, "knolling"))


def test_check_accepts_counts_and_distinct() -> None:
    assert (
        check("(exists ?a (and (Is ?a 'cup') (at-most 2 ?b (and (Is ?b 'cup') (distinct ?a ?b)))))", "knolling") == []
    )


# --- K and the normal form


@pytest.mark.parametrize(
    ("text", "k"),
    [
        ("(exactly 3 ?x (Is ?x 'cup'))", 1),
        ("(and (exactly 3 ?x (Is ?x 'cup')) (exactly 2 ?y (Is ?y 'fork')))", 1),
        ("(exists ?p (and (Is ?p 'plate') (exactly 3 ?x (and (Is ?x 'cup') (LeftOf ?x ?p)))))", 2),
        ("(exists ?p (and (Is ?p 'plate') (exactly 3 ?x (Is ?x 'cup'))))", 1),
        ("(exactly 2 ?x (and (Is ?x 'cup') (exists ?y (and (Is ?y 'fork') (LeftOf ?x ?y)))))", 2),
        ("(exactly 2 ?x (and (Is ?x 'cup') (at-least 1 ?y (and (LeftOf ?x ?y) (exists ?z (Above ?y ?z))))))", 3),
        ("(or (exactly 2 ?x (Is ?x 'cup')) (exactly 2 ?y (Is ?y 'fork')))", 2),
        ("(exists ?a (exists ?b (exists ?c (and (distinct ?a ?b ?c) (Is ?a 'cup')))))", 3),
        (  # what an iff copies in one count has nothing to do with the variables of another
            "(and (exactly 1 ?u (exists ?x (iff (LeftOf ?u ?x) (exists ?x (Above ?u ?x)))))"
            " (exists ?x (Is ?x 'cup')) (exists ?x (Is ?x 'fork')))",
            4,
        ),
    ],
)
def test_a_counted_variable_counts_once(text: str, k: int) -> None:
    assert complexity(text) == k


def test_a_count_is_one_clause_and_distinct_is_said_of_pairs() -> None:
    formula = "(exists ?a (exists ?b (exists ?c (and (distinct ?a ?b ?c) (exactly 2 ?x (LeftOf ?x ?a))))))"
    assert [(clause.kind, clause.text) for clause in clauses(formula)] == [
        ("relation", "(distinct ?a ?b)"),
        ("relation", "(distinct ?a ?c)"),
        ("relation", "(distinct ?b ?c)"),
        ("count", "(exactly 2 ?x (LeftOf ?x ?a))"),
    ]
    [denied] = clauses("(exists ?a (exists ?b (exists ?c (not (distinct ?a ?b ?c)))))")
    assert denied.text == "(or (not (distinct ?a ?b)) (not (distinct ?a ?c)) (not (distinct ?b ?c)))"


def test_a_forall_inside_a_count_stays_strict_in_the_clauses() -> None:
    """No plate: strictly, no cup is left of every plate; classically, every cup is."""
    formula = parse("(exactly 0 ?x (and (Is ?x 'cup') (forall ?y (implies (Is ?y 'plate') (LeftOf ?x ?y)))))")
    for semantics, expected in (("strict", True), ("classical", False)):
        assert verify(formula, TABLE, semantics).passed is expected  # type: ignore[arg-type]
        assert (best_binding(formula, TABLE, semantics).share == 1) is expected  # type: ignore[arg-type]
    expanded = expand_strict_forall(formula)
    assert expanded.formula == formula
    assert not expanded.presence


def test_names_that_are_bound_again_inside_a_count_are_kept_apart() -> None:
    formula = "(exists ?x (and (Is ?x 'fork') (forall ?x (implies (Is ?x 'cup') (at-least 2 ?x (Has ?x 'red'))))))"
    [component] = to_prenex(expand_strict_forall(parse(formula)).formula).components[-1:]
    [count] = [one.atom for clause in component.clauses for one in clause.literals if isinstance(one.atom, Count)]
    assert count.variable.name not in {name for _, name in component.prefix}
    assert verify(formula, TABLE)


# --- proofs


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("(exactly 4 ?x (Is ?x 'cup'))", "✗ exactly 4 ?x: 4 cups needed, 3 found: #0 #2 #4"),
        ("(exactly 2 ?x (and (Is ?x 'cup') (Has ?x 'red')))", "✓ exactly 2 ?x: 2 red cups needed, 2 found: #0 #4"),
        ("(at-least 1 ?x (Is ?x 'mouse'))", "✗ at-least 1 ?x: at least 1 mouse needed, none found"),
        ("(at-least 2 ?x (Is ?x 'knife'))", "✗ at-least 2 ?x: at least 2 knives needed, 1 found: #3"),
        ("(at-most 2 ?x (Is ?x 'cup'))", "✗ at-most 2 ?x: at most 2 cups allowed, 3 found: #0 #2 #4"),
        ("(exactly 0 ?x (Has ?x 'red'))", "✗ exactly 0 ?x: no red object allowed, 2 found: #0 #4"),
        (
            "(exists ?k (and (Is ?k 'knife') (exactly 3 ?x (and (Is ?x 'cup') (LeftOf ?x ?k)))))",
            "✗ ?k = blue knife #3: exactly 3 ?x: 3 such cups needed, 2 found: #0 #2",
        ),
    ],
)
def test_a_count_is_explained_in_one_line_with_what_was_found(text: str, lines: str) -> None:
    assert lines in verify(text, TABLE).explain()


def test_many_objects_are_not_all_listed() -> None:
    proof = verify("(at-most 2 ?x (Is ?x 'cup'))", row(*["red cup"] * 9)).explain()
    assert proof.endswith("9 found: #0 #1 #2 #3 #4 and 4 more")


def test_a_distinct_that_fails_names_the_same_object() -> None:
    proof = verify("(exists ?a (exists ?b (and (Is ?a 'fork') (Is ?b 'fork') (distinct ?a ?b))))", TABLE).explain()
    assert "✗ ?b = gray fork #1: (distinct ?a ?b): the same object" in proof


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("(exactly 0 ?x (Is ?x 'cup'))", True),
        ("(at-most 3 ?x (Is ?x 'cup'))", True),
        ("(at-least 0 ?x (Is ?x 'cup'))", True),
        ("(at-least 1 ?x (Is ?x 'cup'))", False),
        ("(exists ?y (exactly 0 ?x (LeftOf ?x ?y)))", False),
    ],
)
def test_in_the_empty_scene_nothing_is_counted(text: str, holds: bool) -> None:
    nothing = Scene.of([])
    verdict = verify(text, nothing)
    assert verdict.passed is holds
    assert verdict.proof.holds is holds
    assert (best_binding(text, nothing).share == 1) is holds


# --- limits


def tangled_counts(links: int) -> str:
    """Counts inside counts, each object related to all those before it."""
    text = "(LeftOf ?v0 ?v1)"
    for n in reversed(range(links)):
        near = " ".join(f"(not (AlignedVertically ?v{n} ?v{m}))" for m in range(n))
        text = f"(at-least 2 ?v{n} (and (Is ?v{n} 'cup') {near} {text}))"
    return text


@pytest.mark.parametrize("bound", ["at-least", "exactly"])
def test_a_hard_family_with_counts_is_given_up(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic_world, "MAX_ROWS", 2_000)
    monkeypatch.setattr(logic_world, "MAX_STEPS", 50_000)
    formula = tangled_counts(9).replace("at-least", bound)
    with pytest.raises(TooHardError):
        verify(formula, crowd(100))
    with pytest.raises(TooHardError):
        prepare_formula(formula).share(crowd(100))


@only_in_full
def test_a_count_of_many_free_variables_has_no_clauses_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its table would have 40 ** 4 cells: with steps enough the formula is decided, and scored as a whole."""
    monkeypatch.setattr(logic_world, "MAX_STEPS", 40_000_000)
    names = "abcd"
    near = " ".join(f"(LeftOf ?x ?{name})" for name in names)
    text = f"(at-most 99 ?x (and {near}))"
    for name in names:
        text = f"(exists ?{name} {text})"
    assert verify(text, crowd(40))
    with pytest.raises(FormulaError) as caught:
        best_binding(text, crowd(40))
    assert not isinstance(caught.value, TooHardError)
    assert [problem.kind for problem in caught.value.problems] == ["size"]
    assert best_binding(text, crowd(10)).share == 1


def test_what_a_count_says_apart_from_its_variable_costs_no_more_inside_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Six linked objects and a count that says all of it again: its table is about the counted object alone."""
    names = [f"?v{n}" for n in range(6)]
    chain = " ".join(f"(Is {name} 'cup')" for name in names)
    chain += " ".join(f" (LeftOf {one} {other})" for one, other in pairwise(names))
    opened, closed = "".join(f"(exists {name} " for name in names), ")" * len(names)
    for bound in ("at-least", "exactly"):
        inside = f"{opened}({bound} 1 ?x (and {chain} (LeftOf ?x ?v0))){closed}"
        outside = f"{opened}(and {chain} ({bound} 1 ?x (LeftOf ?x ?v0))){closed}"
        expected = verify(outside, crowd(40)).passed
        with monkeypatch.context() as patched:
            patched.setattr(logic_world, "MAX_STEPS", 2 * steps_taken(outside, crowd(40)))
            assert verify(inside, crowd(40)).passed is expected
