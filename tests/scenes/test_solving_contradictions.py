"""Families of contradictions, each with the pieces that conflict; and near-misses that the rules allow."""

from __future__ import annotations

import time
from itertools import combinations, pairwise

import pytest

from formalimg.logic.verification import verify
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.scenes.solver.results import Unsatisfiable, Witness
from formalimg.scenes.solver.search import solve
from tests.support.sizes import tries

MANY = ["knife", "fork", "spoon", "plate", "bowl", "pan", "apple", "lemon", "donut", "pizza", "carrot"]


def exists(names: str, *parts: str) -> str:
    opened = "".join(f"(exists ?{name} " for name in names.split())
    return f"{opened}(and {' '.join(parts)}){')' * len(names.split())}"


def cycle(predicate: str, length: int) -> str:
    names = [f"x{number}" for number in range(length)]
    kinds = [f"(Is ?{name} 'cup')" for name in names]
    return exists(" ".join(names), *kinds, *ring(predicate, length))


def ring(predicate: str, length: int) -> list[str]:
    return [f"({predicate} ?x{number} ?x{(number + 1) % length})" for number in range(length)]


def row(length: int) -> str:
    """So many objects side by side, the last still below the first: each takes more than half its width."""
    names = [f"x{number}" for number in range(length)]
    steps = [f"(LeftOf ?{a} ?{b})" for a, b in pairwise(names)]
    return exists(" ".join(names), *steps, f"(AlignedVertically ?{names[0]} ?{names[-1]})")


def heap(count: int) -> str:
    """Different objects, all large, all in the middle third."""
    names = [f"x{number}" for number in range(count)]
    kinds = [f"(Is ?{name} '{label}')" for name, label in zip(names, MANY, strict=False)]
    return exists(" ".join(names), *kinds, *(f"(InCenter ?{name})" for name in names))


EVERY_CUP_HAS_A_CUP = "(forall ?x (implies (Is ?x 'cup') (exists ?y (and (Is ?y 'cup') ({} ?y ?x)))))"
TAKING_TURNS = (
    "(and (forall ?x (implies (Is ?x 'cup') (exists ?y (and (Is ?y 'fork') (RightOf ?y ?x)))))"
    " (forall ?z (implies (Is ?z 'fork') (exists ?w (and (Is ?w 'cup') (RightOf ?w ?z))))))"
)

CONTRADICTIONS = [
    *[(cycle("LeftOf", length), ring("LeftOf", length)) for length in range(2, 11)],
    *[(cycle("LargerThan", length), ring("LargerThan", length)) for length in (2, 3, 10)],
    *[(cycle("Below", length), ring("Below", length)) for length in (2, 6)],
    (exists("a b", "(Is ?a 'cup')", "(Above ?a ?b)", "(Below ?a ?b)"), ["(Above ?a ?b)", "(Below ?a ?b)"]),
    (exists("a", "(Is ?a 'cup')", "(OnLeftSide ?a)", "(OnRightSide ?a)"), ["(OnLeftSide ?a)", "(OnRightSide ?a)"]),
    (exists("a b", "(Is ?a 'cup')", "(OnRightSide ?a)", "(RightOf ?b ?a)", "(OnLeftSide ?b)"),
     ["(OnRightSide ?a)", "(RightOf ?b ?a)", "(OnLeftSide ?b)"]),
    (exists("a", "(Is ?a 'cup')", "(Has ?a 'red')", "(Has ?a 'blue')"), ["(Has ?a 'red')", "(Has ?a 'blue')"]),
    (exists("a", "(Is ?a 'cup')", "(Has ?a 'red')", "(Is ?a 'fork')"), ["(Is ?a 'cup')", "(Is ?a 'fork')"]),
    (EVERY_CUP_HAS_A_CUP.format("RightOf"), ["(Is ?x 'cup')", "(Is ?y 'cup')", "(RightOf ?y ?x)"]),
    (EVERY_CUP_HAS_A_CUP.format("LargerThan"), ["(Is ?x 'cup')", "(Is ?y 'cup')", "(LargerThan ?y ?x)"]),
    (TAKING_TURNS, ["(Is ?x 'cup')", "(Is ?y 'fork')", "(RightOf ?y ?x)", "(Is ?w 'cup')", "(RightOf ?w ?z)"]),
    (row(11), None),  # nothing can be left out: eleven do not fit, ten do
    (exists("a b c", "(Is ?a 'cup')", "(LeftOf ?a ?b)", "(LeftOf ?b ?c)", "(not (LeftOf ?a ?c))"),
     ["(LeftOf ?a ?b)", "(LeftOf ?b ?c)", "(not (LeftOf ?a ?c))"]),
    (exists("a b c", "(LargerThan ?a ?b)", "(LargerThan ?b ?c)", "(not (SmallerThan ?c ?a))"),
     ["(LargerThan ?a ?b)", "(LargerThan ?b ?c)", "(not (SmallerThan ?c ?a))"]),
    (exists("a b", "(InCenter ?a)", "(InCenter ?b)", "(OnTopSide ?a)", "(Below ?a ?b)", "(OnBottomSide ?b)"),
     ["(OnTopSide ?a)", "(Below ?a ?b)", "(OnBottomSide ?b)"]),
    (exists("a b", "(Is ?a 'cup')", "(AlignedVertically ?a ?b)", "(InCenter ?a)", "(not (AlignedVertically ?b ?a))"),
     ["(AlignedVertically ?a ?b)", "(not (AlignedVertically ?b ?a))"]),
    (
        # of two objects that do not overlap, one is to some side of the other
        exists(
            "a b",
            *("(Is ?a 'cup')", "(Is ?b 'fork')", "(Has ?a 'red')"),
            *(f"(not ({side} ?a ?b))" for side in ("LeftOf", "RightOf", "Above", "Below")),
        ),
        [
            "(Is ?a 'cup')",
            "(Is ?b 'fork')",
            *(f"(not ({side} ?a ?b))" for side in ("LeftOf", "RightOf", "Above", "Below")),
        ],
    ),
    ("(and (exists ?x (and (Is ?x 'cup') (Has ?x 'red'))) (not (exists ?y (Is ?y 'cup'))))",
     ["(Is ?x 'cup')", "(not (exists ?y (Is ?y 'cup')))"]),
    (
        "(and (iff (exists ?x (Is ?x 'cup')) (exists ?y (Is ?y 'fork'))) (exists ?z (Is ?z 'cup'))"
        " (exists ?v (Has ?v 'red')) (not (exists ?w (Is ?w 'fork'))))",
        [
            "(iff (exists ?x (Is ?x 'cup')) (exists ?y (Is ?y 'fork')))",
            "(Is ?z 'cup')",
            "(not (exists ?w (Is ?w 'fork')))",
        ],
    ),
    (
        "(and (forall ?x (implies (Is ?x 'cup') (and (Has ?x 'red') (OnTopSide ?x))))"
        " (exists ?y (and (Is ?y 'cup') (Has ?y 'blue'))))",
        ["(Has ?x 'red')", "(Is ?y 'cup')", "(Has ?y 'blue')"],
    ),
    ("(exists ?x (and (Is ?x 'cup') (LeftOf ?x ?x)))", ["(LeftOf ?x ?x)"]),
    ("(exists ?x (and (Is ?x 'cup') (not (AlignedVertically ?x ?x))))", ["(not (AlignedVertically ?x ?x))"]),
    ("(and (IsStyle 'photo') (exists ?x (Is ?x 'cup')) (IsStyle 'cartoon'))",
     ["(IsStyle 'photo')", "(IsStyle 'cartoon')"]),
    ("(forall ?x (forall ?y (implies (and (Is ?x 'cup') (Is ?y 'fork')) (LeftOf ?x ?y))))", None),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _solver_is_loaded() -> None:
    solve("(exists ?x (Is ?x 'cup'))")  # loading OR-tools takes a second and is not what is measured here


@pytest.mark.parametrize(("text", "conflict"), CONTRADICTIONS[:: tries(2, 1)])
def test_contradictions_are_proven_and_the_conflict_is_named(text: str, conflict: list[str] | None) -> None:
    start = time.process_time()
    result = solve(text)
    seconds = time.process_time() - start
    assert isinstance(result, Unsatisfiable)
    assert not result
    if conflict is not None:
        assert [str(piece) for piece in result.conflict] == conflict
    assert all(piece.span.text == str(piece) or f"(not {piece.span.text})" == str(piece) for piece in result.conflict)
    assert seconds < 1


def test_what_the_proof_covers() -> None:
    cyclic = solve(cycle("LeftOf", 3))
    assert isinstance(cyclic, Unsatisfiable)
    assert cyclic.max_objects is None
    assert "any number of objects" in str(cyclic)
    endless = solve(EVERY_CUP_HAS_A_CUP.format("RightOf"), max_objects=4)
    assert isinstance(endless, Unsatisfiable)
    assert endless.max_objects == 4
    assert "up to 4 objects" in str(endless)
    assert "line 1, column 65: (RightOf ?y ?x)" in str(endless)


NEAR_MISSES = [
    exists("a b", "(RightOf ?a ?b)", "(AlignedVertically ?a ?b)"),  # narrow objects
    exists("a b", "(LeftOf ?a ?b)", "(not (RightOf ?b ?a))"),  # the rule is not symmetric
    exists("a b", "(Above ?a ?b)", "(not (Below ?b ?a))", "(AlignedHorizontally ?a ?b)"),
    exists("a b", "(OnRightSide ?a)", "(LeftOf ?b ?a)", "(OnRightSide ?b)"),
    exists("a", "(not (OnLeftSide ?a))", "(not (OnRightSide ?a))"),  # exactly in the middle
    exists("a", "(InCenter ?a)", "(OnLeftSide ?a)", "(OnBottomSide ?a)"),
    exists("a b", "(not (LargerThan ?a ?b))", "(not (SmallerThan ?a ?b))", "(Is ?a 'cup')", "(Is ?b 'fork')"),
    exists("a b c", "(AlignedVertically ?a ?b)", "(AlignedVertically ?b ?c)", "(not (AlignedVertically ?a ?c))"),
    exists("a b", "(Is ?a 'cup')", "(Has ?a 'red')", "(Is ?b 'cup')", "(Has ?b 'blue')"),
    "(forall ?x (implies (Is ?x 'cup') (exists ?y (and (Is ?y 'fork') (RightOf ?y ?x)))))",
    "(forall ?x (implies (Is ?x 'cup') (exists ?y (and (Is ?y 'cup') (AlignedVertically ?y ?x)))))",
    "(forall ?x (exists ?y (not (Above ?y ?x))))",
    "(not (exists ?x (Is ?x 'cup')))",
    "(and (iff (exists ?x (Is ?x 'cup')) (exists ?y (Is ?y 'fork'))) (exists ?z (Is ?z 'cup')))",
    "(or (exists ?x (and (Is ?x 'cup') (Is ?x 'fork'))) (exists ?y (exists ?z (LeftOf ?y ?z))))",
    row(tries(6, 10)),
    heap(8),
    exists(" ".join(f"x{n}" for n in range(9)), *ring("LeftOf", 9)[:-1]),
    exists("a b", "(Is ?a 'cup')", "(not (exists ?c (and (Is ?c 'cup') (not (Has ?c 'red')))))", "(LeftOf ?a ?b)"),
]


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_near_misses_are_solved(text: str) -> None:
    witness = solve(text)
    assert isinstance(witness, Witness)
    assert verify(text, witness.scene)
    assert keeps_margin(text, witness.scene, witness.margin)
    for a, b in combinations([obj.box for obj in witness.scene.objects], 2):
        assert a.xmax <= b.xmin or b.xmax <= a.xmin or a.ymax <= b.ymin or b.ymax <= a.ymin
