"""Components, K, prenex and clauses: known values, and equivalence on random formulas."""

from __future__ import annotations

import random

import pytest

from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.prenex import Clause, clauses, complexity, component_sizes, to_prenex
from formalimg.logic.variables import free_variables, rename_apart
from tests.support.brute_force import truth
from tests.support.random_logic import random_formula, random_scene
from tests.support.sizes import tries

LIFTED = {
    "(exists ?x (Is ?x 'cup'))": "(exists ?x (Is ?x 'cup'))",
    # a conditional becomes a clause
    "(forall ?x (implies (Is ?x 'cup') (InCenter ?x)))": "(forall ?x (or (not (Is ?x 'cup')) (InCenter ?x)))",
    # a conjunction in the condition stays one clause, a conjunction in the consequence makes two
    "(forall ?x (implies (and (Is ?x 'cup') (Has ?x 'red')) (and (InCenter ?x) (OnTopSide ?x))))":
        "(forall ?x (and (or (not (Is ?x 'cup')) (not (Has ?x 'red')) (InCenter ?x))"
        " (or (not (Is ?x 'cup')) (not (Has ?x 'red')) (OnTopSide ?x))))",
    # negation turns quantifiers
    "(not (exists ?x (forall ?y (LeftOf ?x ?y))))": "(forall ?x (exists ?y (not (LeftOf ?x ?y))))",
    # several `and`s in one `or` multiply out; none is lost
    "(exists ?x (or (and (Is ?x 'a') (Is ?x 'b')) (and (Is ?x 'c') (Is ?x 'd'))))":
        "(exists ?x (and (or (Is ?x 'a') (Is ?x 'c')) (or (Is ?x 'a') (Is ?x 'd'))"
        " (or (Is ?x 'b') (Is ?x 'c')) (or (Is ?x 'b') (Is ?x 'd'))))",
    # a name that is bound twice is renamed apart
    "(and (exists ?x (Is ?x 'a')) (exists ?x (Is ?x 'b')))":
        "(and (exists ?x (Is ?x 'a')) (exists ?x_1 (Is ?x_1 'b')))",
    "(exists ?x (and (Is ?x 'a') (exists ?x (exists ?x_1 (LeftOf ?x ?x_1)))))":
        "(and (exists ?x (Is ?x 'a')) (exists ?x_2 (exists ?x_1 (LeftOf ?x_2 ?x_1))))",
    # the style stands apart, unrelated objects stand apart
    "(and (IsStyle 'photo') (exists ?x (exists ?y (and (Is ?x 'a') (Is ?y 'b')))))":
        "(and (IsStyle 'photo') (exists ?x (Is ?x 'a')) (exists ?y (Is ?y 'b')))",
    # a variable that nothing speaks of has no quantifier left
    "(exists ?x (exists ?y (Is ?y 'a')))": "(exists ?y (Is ?y 'a'))",
    # iff takes each side twice, with variables of their own
    "(iff (exists ?x (Is ?x 'a')) (IsStyle 'photo'))":
        "(and (forall ?x (or (not (Is ?x 'a')) (IsStyle 'photo')))"
        " (exists ?x_1 (or (Is ?x_1 'a') (not (IsStyle 'photo')))))",
}  # fmt: skip


@pytest.mark.parametrize("text", LIFTED)
def test_lifted_form(text: str) -> None:
    assert to_prenex(parse(text)).text == LIFTED[text]


@pytest.mark.parametrize(
    ("text", "k"),
    [
        ("(and (exists ?x (Is ?x 'a')) (exists ?y (Is ?y 'b')))", 1),
        ("(and (exists ?x (Is ?x 'a')) (exists ?y (exists ?z (LeftOf ?y ?z))))", 2),
        ("(exists ?x (and (Is ?x 'a') (not (exists ?y (LeftOf ?y ?x)))))", 2),
        ("(forall ?x (implies (Is ?x 'a') (InCenter ?x)))", 1),
        ("(and (exists ?x (Is ?x 'a')) (exists ?x (Is ?x 'b')))", 1),
        ("(or (exists ?x (Is ?x 'a')) (exists ?y (Is ?y 'b')))", 2),
        ("(or (IsStyle 'photo') (and (exists ?x (Is ?x 'a')) (exists ?y (Is ?y 'b'))))", 1),
        ("(IsStyle 'photo')", 0),
        ("(exists ?x (exists ?y (Is ?x 'a')))", 1),
    ],
)
def test_complexity(text: str, k: int) -> None:
    assert complexity(parse(text)) == k


def test_kinds_of_clauses() -> None:
    text = (
        "(and (IsStyle 'photo') (exists ?x (and (Is ?x 'cup') (HasColor ?x 'red') (not (Is ?x 'fork'))"
        " (exists ?y (On ?x ?y)) (or (Is ?x 'cup') (Is ?x 'fork'))"
        " (forall ?z (implies (Is ?z 'cup') (LeftOf ?z ?x))))))"
    )
    found = [(clause.kind, clause.text) for clause in clauses(parse(text))]
    assert found == [
        ("style", "(IsStyle 'photo')"),
        ("object", "(Is ?x 'cup')"),
        ("attribute", "(HasColor ?x 'red')"),
        ("object", "(not (Is ?x 'fork'))"),
        ("relation", "(On ?x ?y)"),
        ("condition", "(or (Is ?x 'cup') (Is ?x 'fork'))"),
        ("condition", "(or (not (Is ?z 'cup')) (LeftOf ?z ?x))"),
    ]


def test_a_relation_of_an_object_to_itself_is_a_relation() -> None:
    (clause,) = clauses(parse("(exists ?x (LeftOf ?x ?x))"))
    assert clause.kind == "relation"
    assert clause.variables == {"x"}


def test_clauses_know_their_places() -> None:
    formula = parse("(forall ?x (implies (Is ?x 'cup') (InCenter ?x)))")
    (clause,) = clauses(formula)
    assert [literal.atom.span.text for literal in clause.literals] == ["(Is ?x 'cup')", "(InCenter ?x)"]


def test_the_lifted_form_means_the_same() -> None:
    """Classically, in scenes that are not empty; checked by brute force on what the lifted text parses to."""
    compared, formulas = 0, tries(500, 1500)
    for number in range(formulas):
        chance = random.Random(f"lift {number}")
        formula = random_formula(chance, chance.randint(1, 4))
        try:
            lifted = to_prenex(formula)
        except FormulaError as error:
            assert error.problems[0].kind == "size"
            continue
        if sum(len(component.prefix) for component in lifted.components) > 6:
            continue  # too much for brute force
        compared += 1
        for _ in range(3):
            scene = random_scene(chance, sizes=(1, 2, 3))
            assert truth(formula, scene, strict=False, style="photo") is truth(
                parse(lifted.text), scene, strict=False, style="photo"
            ), f"{formula} became {lifted.text}"
    assert compared > formulas * 2 / 3


def test_complexity_needs_no_clauses_but_agrees_with_them() -> None:
    for number in range(tries(500, 1500)):
        chance = random.Random(f"k {number}")
        formula = random_formula(chance, chance.randint(1, 4))
        try:
            lifted = to_prenex(formula)
        except FormulaError:
            continue
        sizes = [len(component.prefix) for component in lifted.components if component.prefix]
        assert sorted(component_sizes(formula)) == sorted(sizes)
        assert complexity(formula) == max((len(component.prefix) for component in lifted.components), default=0)


def test_renaming_apart_keeps_the_meaning() -> None:
    for number in range(500):
        chance = random.Random(f"rename {number}")
        formula = random_formula(chance, 4)
        apart = rename_apart(formula)
        assert free_variables(apart) == frozenset()
        scene = random_scene(chance)
        assert truth(apart, scene, strict=True, style="photo") is truth(formula, scene, strict=True, style="photo")


def test_growth_ends_in_an_error_with_the_limit() -> None:
    pairs = " ".join(f"(and (Is ?x 'a{n}') (Is ?x 'b{n}'))" for n in range(40))
    exploding = parse(f"(exists ?x (or {pairs}))")
    with pytest.raises(FormulaError, match=r"1,099,511,627,776 clauses|about 10\^12 clauses"):
        to_prenex(exploding)
    assert complexity(exploding) == 1

    wide = " ".join(f"(Is ?x 'c{n}')" for n in range(2000))
    pairs = " ".join(f"(and (Is ?x 'a{n}') (Is ?x 'b{n}'))" for n in range(12))
    with pytest.raises(FormulaError, match="limit is 20,000 literals"):
        to_prenex(parse(f"(exists ?x (or {pairs} {wide}))"))

    nested = "(Is ?x 'a')"
    for _ in range(60):
        nested = f"(iff {nested} (Is ?x 'b'))"
    for analyse in (to_prenex, complexity):
        with pytest.raises(FormulaError, match="limit is 20,000 literals"):
            analyse(parse(f"(exists ?x {nested})"))


def test_open_formulas_are_refused() -> None:
    for analyse in (to_prenex, complexity, clauses):
        with pytest.raises(FormulaError, match="not bound") as caught:
            analyse(parse("(exists ?x (LeftOf ?x ?y))"))
        assert caught.value.column == 23


def test_a_clause_prints_as_its_text() -> None:
    (clause,) = clauses("(exists ?x (Is ?x 'cup'))")
    assert isinstance(clause, Clause)
    assert str(clause) == clause.text == "(Is ?x 'cup')"
