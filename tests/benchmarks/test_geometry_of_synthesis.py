"""What follows from what among geometric atoms: compared with z3 and with random scenes."""

from __future__ import annotations

import random
from itertools import combinations

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.formal.synthesis.geometry import (
    DifferenceBound,
    DifferenceConstraints,
    GeometricFacts,
    find_redundant,
    follows_from,
)
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Atom, Variable, atoms
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.rules import AS_READ, BINARY_RULES, UNARY_RULES
from tests.support.brute_force import atom_truth
from tests.support.sizes import tries

_quantities = st.sampled_from([("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")])
_bounds = st.builds(DifferenceBound, _quantities, _quantities, st.integers(-5, 5))


@settings(max_examples=tries(30, 300), deadline=None)
@given(st.lists(_bounds, max_size=7), _bounds)
def test_bounds_follow_exactly_where_z3_says_so(given_: list[DifferenceBound], asked: DifferenceBound) -> None:
    system = DifferenceConstraints(given_)
    solver = z3.Solver()
    integers = {name: z3.Int(name) for name in "abcd"}

    def stated(bound: DifferenceBound) -> z3.BoolRef:
        return integers[bound.larger[0]] - integers[bound.smaller[0]] <= bound.limit

    solver.add(*map(stated, given_))
    assert system.possible is (solver.check() == z3.sat)
    assert system.allows(asked) is (solver.check(stated(asked)) == z3.sat)
    follows = solver.check(z3.Not(stated(asked))) == z3.unsat
    assert system.follows(asked) is follows
    if system.possible:
        assert follows_from(given_, asked) is follows


def _atom(text: str) -> Atom:
    (found,) = atoms(parse(text))
    return found


def _facts(*texts: str) -> list[Atom]:
    return [_atom(text) for text in texts]


def test_what_follows() -> None:
    for given_, asked in [
        (["(LeftOf ?a ?b)", "(LeftOf ?b ?c)"], "(LeftOf ?a ?c)"),
        (["(LargerThan ?a ?b)", "(SmallerThan ?c ?b)"], "(LargerThan ?a ?c)"),
        (["(LeftOf ?a ?b)", "(OnLeftSide ?b)"], "(OnLeftSide ?a)"),
        (["(InCenter ?a)", "(InCenter ?b)", "(Above ?c ?a)", "(OnBottomSide ?c)"], "(OnBottomSide ?a)"),
        (["(LargerThan ?a ?b)"], "(SmallerThan ?b ?a)"),
        (["(AlignedVertically ?a ?b)"], "(AlignedVertically ?b ?a)"),
    ]:
        assert GeometricFacts(_facts(*given_)).implies(_atom(asked)), (given_, asked)


def test_what_does_not_follow() -> None:
    for given_, asked in [
        (["(LeftOf ?a ?b)"], "(RightOf ?b ?a)"),  # edge against centre: b may be wide
        (["(AlignedVertically ?a ?b)", "(AlignedVertically ?b ?c)"], "(AlignedVertically ?a ?c)"),
        (["(OnLeftSide ?a)", "(OnRightSide ?b)"], "(LeftOf ?a ?b)"),
        (["(Is ?a 'cup')"], "(Has ?a 'red')"),
    ]:
        assert not GeometricFacts(_facts(*given_)).implies(_atom(asked)), (given_, asked)


def test_more_follows_and_less_is_possible_as_people_read_it() -> None:
    column = _facts("(AlignedVertically ?a ?b)", "(AlignedVertically ?b ?c)")
    halves = _facts("(OnLeftSide ?a)", "(AlignedVertically ?a ?b)")
    assert GeometricFacts(column, AS_READ).implies(_atom("(AlignedVertically ?a ?c)"))
    assert not GeometricFacts(column, AS_READ).allows(_atom("(LeftOf ?a ?c)"))
    assert GeometricFacts(halves, AS_READ).implies(_atom("(OnLeftSide ?b)"))
    assert not GeometricFacts(halves, AS_READ).allows(_atom("(OnRightSide ?b)"))
    assert GeometricFacts(halves).allows(_atom("(OnRightSide ?b)")), "the evaluator has 100 units of slack"
    assert find_redundant([*halves, _atom("(OnLeftSide ?b)")], AS_READ)


def test_consequences_hold_in_every_random_scene() -> None:
    """Whatever is said to follow is true wherever its premises are."""
    names = ("a", "b", "c")
    pairs = [Atom(p, (Variable(x), Variable(y))) for p in BINARY_RULES for x in names for y in names if x != y]
    singles = [Atom(p, (Variable(x),)) for p in UNARY_RULES for x in names]
    confirmed = 0
    for number in range(tries(50, 400)):
        chance = random.Random(f"follows {number}")
        scene = {name: SceneObject("cup", _box(chance)) for name in names}
        true = [atom for atom in [*pairs, *singles] if atom_truth(atom.predicate, [scene[n] for n in atom.variables])]
        for premises in combinations(chance.sample(true, 4), 3):
            geometry = GeometricFacts(premises)
            assert geometry.possible
            false = [atom for atom in [*pairs, *singles] if atom not in true]
            assert not any(map(geometry.implies, false))
            confirmed += 1
    assert confirmed == 4 * tries(50, 400)


def _box(chance: random.Random) -> Box:
    x, y = sorted(chance.sample(range(1001), 2)), sorted(chance.sample(range(1001), 2))
    return Box(x[0], y[0], x[1], y[1])
