"""Formulas that are the same as written, and those that only look it."""

from __future__ import annotations

import random
import re

import pytest

from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula
from tests.support.sayable_formulas import Sayable, Taste

RULE = "(forall ?a (implies (Is ?a 'cup') {}))"
CROSSING = (
    "(exists ?a (exists ?b (exists ?c (exists ?d (and (Is ?a 'cup') (Is ?b 'fork') (Is ?c 'plate') (Is ?d 'book')"
    " (LeftOf ?a ?b) {})))))"
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(exists ?a (Is ?a 'cup'))", "(exists ?b (Is ?b 'cup'))"),
        ("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'fork') (Above ?a ?b))))",
         "(exists ?x (and (Is ?x 'fork') (exists ?y (and (Above ?y ?x) (Is ?y 'cup')))))"),
        ("(and (IsStyle 'photo') (exists ?a (Is ?a 'cup')))", "(exists ?a (and (Is ?a 'cup') (IsStyle 'photo')))"),
        ("(exists ?a (and (Is ?a 'cup') (forall ?b (implies (Is ?b 'fork') (Above ?b ?a))) (exists ?c (In ?c ?a))))",
         "(exists ?a (exists ?c (and (In ?c ?a) (forall ?b (implies (Is ?b 'fork') (Above ?b ?a))) (Is ?a 'cup'))))"),
        ("(exists ?a (or (Has ?a 'red') (Has ?a 'blue')))", "(exists ?a (or (Has ?a 'blue') (Has ?a 'red')))"),
        ("(forall ?a (implies (and (Is ?a 'cup') (Has ?a 'red')) (OnTopSide ?a)))",
         "(forall ?a (implies (and (Has ?a 'red') (Is ?a 'cup')) (and (OnTopSide ?a))))"),
    ],
)  # fmt: skip
def test_the_same(one: str, other: str) -> None:
    assert is_equivalent_as_written(parse(one), parse(other))
    assert is_equivalent_as_written(parse(other), parse(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(exists ?a (Is ?a 'cup'))", "(exists ?a (Is ?a 'fork'))"),
        ("(exists ?a (Is ?a 'cup'))", "(forall ?a (Is ?a 'cup'))"),
        ("(exists ?a (Is ?a 'cup'))", "(exists ?a (not (Is ?a 'cup')))"),
        ("(exists ?a (exists ?b (LeftOf ?a ?b)))", "(exists ?a (exists ?b (RightOf ?b ?a)))"),
        ("(exists ?a (and (Is ?a 'cup') (Has ?a 'red')))",
         "(and (exists ?a (Is ?a 'cup')) (exists ?a (Has ?a 'red')))"),
        ("(exists ?a (Is ?a 'cup'))", "(and (exists ?a (Is ?a 'cup')) (exists ?a (Is ?a 'cup')))"),
        (RULE.format("(exists ?b (Above ?b ?a))"), "(exists ?b (forall ?a (implies (Is ?a 'cup') (Above ?b ?a))))"),
        # An exists inside a rule could stand outside of it with the same clauses; as written it is another formula.
        (RULE.format("(exists ?b (and (Is ?b 'fork') (Above ?b ?a)))"),
         "(exists ?b (forall ?a (implies (Is ?a 'cup') (and (Is ?b 'fork') (Above ?b ?a)))))"),
        # The strict reading asks for a thing that meets all in front of the implies, and for nothing without one.
        ("(forall ?a (implies (and (Is ?a 'cup') (Has ?a 'red')) (OnTopSide ?a)))",
         "(forall ?a (implies (Is ?a 'cup') (or (not (Has ?a 'red')) (OnTopSide ?a))))"),
        ("(forall ?a (implies (Is ?a 'cup') (OnTopSide ?a)))", "(forall ?a (or (not (Is ?a 'cup')) (OnTopSide ?a)))"),
        ("(exists ?a (exists ?b (exists ?c (and (Above ?a ?b) (Above ?b ?c) (Above ?c ?a)))))",
         "(exists ?a (exists ?b (exists ?c (and (Above ?a ?b) (Above ?b ?c) (Above ?a ?c)))))"),
        # Each variable is known by its class alone; what differs is which is above which.
        (CROSSING.format("(Above ?a ?c) (Above ?b ?d)"), CROSSING.format("(Above ?a ?d) (Above ?b ?c)")),
    ],
)  # fmt: skip
def test_not_the_same(one: str, other: str) -> None:
    assert not is_equivalent_as_written(parse(one), parse(other))
    assert not is_equivalent_as_written(parse(other), parse(one))


@pytest.mark.parametrize("around", ["{}", "(not {})", "(exists ?o (iff (Is ?o 'cup') {}))", "(not (iff {0} {0}))"])
def test_both_copies_of_what_an_iff_quantifies_are_compared(around: str) -> None:
    one, other, turned = (
        parse(around.format(f"(iff (exists ?{a} (Is ?{a} 'cup')) (forall ?{b} (exists ?{a} (Above {pair}))))"))
        for a, b, pair in [("a", "b", "?a ?b"), ("x", "a", "?x ?a"), ("a", "b", "?b ?a")]
    )
    assert is_equivalent_as_written(one, other)
    assert not is_equivalent_as_written(one, turned)


def test_two_triangles_are_not_a_hexagon() -> None:
    """Every variable looks alike in both: only the search can tell."""
    names = [f"?v{number}" for number in range(6)]

    def formula(pairs: list[tuple[int, int]]) -> Formula:
        body = " ".join(f"(AlignedVertically {names[a]} {names[b]})" for a, b in pairs)
        linked = " ".join(f"(or (Has {a} 'red') (Has {b} 'red'))" for a in names for b in names if a < b)
        return parse("".join(f"(exists {name} " for name in names) + f"(and {body} {linked})" + ")" * 6)

    hexagon = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    turned = [((a * 5 + 2) % 6, (b * 5 + 2) % 6) for a, b in hexagon]
    assert is_equivalent_as_written(formula(hexagon), formula(turned))
    assert not is_equivalent_as_written(formula(hexagon), formula(triangles))


def test_a_changed_atom_is_noticed() -> None:
    chance = random.Random(5)
    noticed = 0
    for seed in range(200):
        formula = Sayable("knolling", seed, Taste(logic=0.1, twins=0.4)).formula(seed % 10 + 1)
        pairs = list(re.finditer(r"\((LeftOf|RightOf|Above|Below) (\?\w+) (\?\w+)\)", str(formula)))
        if not pairs:
            continue
        found = chance.choice(pairs)
        text = str(formula)
        turned = f"{text[: found.start()]}({found[1]} {found[3]} {found[2]}){text[found.end() :]}"
        assert is_equivalent_as_written(formula, parse(text))
        noticed += not is_equivalent_as_written(formula, parse(turned))
    assert noticed > 100


def test_renaming_and_shuffling_make_no_difference() -> None:
    chance = random.Random(6)
    for seed in range(150):
        text = str(Sayable("natural", seed, Taste(logic=0.2, twins=0.5)).formula(seed % 10 + 1))
        names = sorted(set(re.findall(r"\?v\d+", text)))
        others = chance.sample(names, len(names))
        renaming = dict(zip(names, others, strict=True))
        renamed = re.sub(r"\?v\d+", lambda match, r=renaming: r[match[0]], text)  # type: ignore[misc]
        assert is_equivalent_as_written(parse(text), parse(renamed))
