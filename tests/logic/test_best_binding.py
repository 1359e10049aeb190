"""The best binding: what it says of each clause, in examples worked out by hand."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest

from formalimg import Box, FormulaError, Scene, SceneObject, verify
from formalimg.errors import FormalimgError
from formalimg.logic import world as logic_world
from formalimg.logic.soft_score import minimax
from formalimg.logic.soft_score.best_binding import BestBinding, best_binding
from tests.support.sizes import only_in_full

TABLE = Scene.of(
    [
        SceneObject("hammer", Box(100, 400, 200, 500), "red"),
        SceneObject("cup", Box(700, 100, 800, 200), "white"),
        SceneObject("cup", Box(600, 600, 700, 700), "blue"),
        SceneObject("fork", Box(400, 420, 500, 480), "gray"),
    ]
)


def failing(found: BestBinding) -> list[str]:
    return [clause.clause.text for clause in found.clauses if not clause.holds]


def test_a_formula_that_holds_has_all_its_clauses() -> None:
    found = best_binding("(exists ?c (exists ?f (and (Is ?c 'cup') (Is ?f 'fork') (RightOf ?c ?f))))", TABLE)
    assert found.share == 1
    assert found.bindings == {"c": 1, "f": 3}
    assert [clause.reason for clause in found.clauses] == ["is a cup", "is a fork", "left edge 700 > centre x 450"]


def test_one_wrong_relation_is_the_only_clause_that_fails() -> None:
    text = (
        "(exists ?c (exists ?f (and (Is ?c 'cup') (Has ?c 'blue') (OnBottomSide ?c) (Is ?f 'fork')"
        " (Above ?c ?f) (RightOf ?c ?f))))"
    )
    found = best_binding(text, TABLE)
    assert found.bindings == {"c": 2, "f": 3}
    assert found.share == 5 / 6
    [wrong] = [clause for clause in found.clauses if not clause.holds]
    assert (wrong.clause.text, wrong.kind) == ("(Above ?c ?f)", "relation")
    assert wrong.reason == "bottom edge 700 ≥ centre y 450"
    assert [tuple(bound) for bound in wrong.bindings] == [("c", 2, "blue cup #2"), ("f", 3, "gray fork #3")]


def test_most_clauses_win_even_if_the_class_is_then_wrong() -> None:
    """The hammer is no cup, and yet meets two of the three clauses; each cup meets one."""
    found = best_binding("(exists ?c (and (Is ?c 'cup') (OnLeftSide ?c) (Has ?c 'red')))", TABLE)
    assert found.bindings == {"c": 0}
    assert failing(found) == ["(Is ?c 'cup')"]
    assert found.clauses[0].reason == "is a hammer"


def test_of_equally_many_clauses_an_object_of_the_right_class_is_preferred() -> None:
    found = best_binding("(exists ?c (and (OnLeftSide ?c) (Is ?c 'cup')))", TABLE)
    assert found.bindings == {"c": 1}  # the hammer, which comes first, meets as many
    assert failing(found) == ["(OnLeftSide ?c)"]


def test_of_equally_good_objects_the_first_is_taken() -> None:
    found = best_binding(
        "(exists ?c (exists ?d (and (Is ?c 'cup') (Is ?d 'cup') (Has ?c 'gray') (Has ?d 'gray'))))", TABLE
    )
    assert found.bindings == {"c": 1, "d": 1}


def test_a_class_that_is_not_there_is_said_to_be_missing() -> None:
    found = best_binding("(exists ?p (and (Is ?p 'pizza') (OnRightSide ?p)))", TABLE)
    assert failing(found) == ["(Is ?p 'pizza')"]
    assert found.clauses[0].reason == "no object satisfies (Is ?p 'pizza')"


def test_a_forall_shows_its_worst_instance() -> None:
    """Cup 1 breaks one rule, cup 2 breaks two."""
    found = best_binding("(forall ?c (implies (Is ?c 'cup') (and (Has ?c 'gray') (OnTopSide ?c))))", TABLE)
    assert found.bindings == {"some_c": 1, "c": 2}
    assert [(clause.kind, clause.holds) for clause in found.clauses] == [
        ("condition", True),
        ("condition", False),
        ("condition", False),
    ]
    assert found.clauses[2].reason == "is a cup and centre y 650 ≥ 500"


def test_a_forall_that_holds_shows_an_instance() -> None:
    found = best_binding("(forall ?c (implies (Is ?c 'cup') (OnRightSide ?c)))", TABLE)
    assert found.bindings["c"] == 1
    assert [clause.reason for clause in found.clauses] == ["is a cup", "centre x 750 > 500"]


def test_a_strict_forall_wants_an_instance_and_says_so_in_a_clause_of_its_own() -> None:
    text = "(forall ?k (implies (and (Is ?k 'knife') (Has ?k 'red')) (OnLeftSide ?k)))"
    found = best_binding(text, TABLE)
    assert [(clause.clause.text, clause.kind, clause.holds) for clause in found.clauses] == [
        ("(Is ?some_k 'knife')", "condition", False),
        ("(Has ?some_k 'red')", "condition", True),
        ("(or (not (Is ?k 'knife')) (not (Has ?k 'red')) (OnLeftSide ?k))", "condition", True),
    ]
    assert best_binding(text, TABLE, "classical").share == 1
    assert len(best_binding(text, TABLE, "classical").clauses) == 1


def test_the_objects_inside_a_forall_may_differ_from_instance_to_instance() -> None:
    """Each cup has something above it, but for cup 1, which lies highest."""
    found = best_binding("(forall ?c (implies (Is ?c 'cup') (exists ?o (and (Above ?o ?c) (Is ?o 'fork')))))", TABLE)
    assert found.bindings == {"some_c": 1, "c": 1, "o": 3}
    assert failing(found) == ["(or (not (Is ?c 'cup')) (Above ?o ?c))"]


def test_a_variable_related_to_itself() -> None:
    found = best_binding("(exists ?x (and (AlignedVertically ?x ?x) (LargerThan ?x ?x)))", TABLE)
    assert [clause.holds for clause in found.clauses] == [True, False]


def test_style_stands_apart() -> None:
    found = best_binding("(and (IsStyle 'photo') (exists ?c (Is ?c 'pizza')))", TABLE, style="photo")
    assert [(clause.kind, clause.holds, clause.reason) for clause in found.clauses] == [
        ("style", True, "the style is 'photo'"),
        ("object", False, "no object satisfies (Is ?c 'pizza')"),
    ]


def test_in_an_empty_scene_only_what_speaks_of_no_object_holds() -> None:
    nothing = Scene.of([])
    text = "(and (IsStyle 'photo') (exists ?c (and (Is ?c 'cup') (not (Is ?c 'fork')))))"
    found = best_binding(text, nothing, style="photo")
    assert [clause.holds for clause in found.clauses] == [True, False, False]
    assert found.bindings == {}
    assert found.clauses[1].reason == "there is nothing in the scene"


@pytest.mark.parametrize(
    "text", ["(not (exists ?x (Is ?x 'cup')))", "(forall ?x (implies (Is ?x 'cup') (Is ?x 'cup')))"]
)
def test_in_an_empty_scene_everything_holds_if_the_formula_does(text: str) -> None:
    nothing = Scene.of([])
    assert verify(text, nothing, "classical").passed
    assert best_binding(text, nothing, "classical").share == 1


def test_in_an_empty_scene_an_exists_fails_even_if_it_speaks_of_the_style_alone() -> None:
    text = "(exists ?x (IsStyle 'photo'))"
    assert best_binding(text, Scene.of([]), style="photo").share == 0
    assert best_binding(text, TABLE, style="photo").share == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("(Is ?x 'cup')", "scope"),
        ("(exists ?x (exists ?y (On ?x ?y)))", "undecided"),
        ("(IsStyle 'photo')", "undecided"),
    ],
)
def test_what_cannot_be_verified_has_no_best_binding(text: str, kind: str) -> None:
    with pytest.raises(FormulaError) as caught:
        best_binding(text, TABLE)
    assert caught.value.problems[0].kind == kind


def test_a_formula_with_too_many_clauses_is_refused() -> None:
    pairs = " ".join(f"(and (Has ?x 'c{n}') (OnLeftSide ?x))" for n in range(16))
    with pytest.raises(FormulaError) as caught:
        best_binding(f"(exists ?x (or {pairs}))", TABLE)
    assert caught.value.problems[0].kind == "size"


def test_conditions_within_conditions_are_refused_before_they_explode() -> None:
    text = "(Is ?x 'cup')"
    for _ in range(40):
        text = f"(forall ?x (implies {text} (Has ?x 'red')))"
    with pytest.raises(FormulaError) as caught:
        best_binding(f"(exists ?x {text})", TABLE)
    assert caught.value.problems[0].kind == "size"


def test_a_game_that_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimax, "MAX_WORK", 10)
    with pytest.raises(FormulaError) as caught:
        best_binding("(exists ?x (exists ?y (LargerThan ?x ?y)))", TABLE)
    assert caught.value.problems[0].kind == "size"


@only_in_full
def test_the_clauses_of_many_variables_need_no_table_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disjunction over eight variables: a table of 30 objects each would have 650 billion cells."""
    monkeypatch.setattr(logic_world, "MAX_STEPS", 40_000_000)
    names = [f"v{number}" for number in range(8)]
    text = f"(or {' '.join(f'(LargerThan ?{a} ?{b})' for a, b in zip(names[::2], names[1::2], strict=True))})"
    for name in names:
        text = f"(exists ?{name} {text})"
    alike = Scene.of([SceneObject("cup", Box(30 * n, 0, 30 * n + 20, 20)) for n in range(30)])
    assert best_binding(text, alike).share == 0
    assert best_binding(text, Scene.of([*alike.objects, SceneObject("cup", Box(0, 500, 90, 600))])).share == 1


def test_many_clauses_are_counted_without_overflow() -> None:
    """200 clauses about classes: the worth of a play no longer fits into 16 bits."""
    cups = " ".join(["(Is ?x 'cup')"] * 200)
    assert best_binding(f"(exists ?x (and {cups}))", TABLE).bindings == {"x": 1}


@pytest.mark.parametrize("variables", [12, 13, 14, 16])
def test_plays_of_many_variables_are_weighed_without_overflow(variables: int) -> None:
    """A chain over ten red cups in a row: from 13 variables on, numbers that break ties no longer fit into 64 bits."""
    names = [f"v{number}" for number in range(variables)]
    chain = " ".join(f"(LeftOf ?{one} ?{other})" for one, other in pairwise(names))
    said = " ".join(f"(Is ?{name} 'cup') (Has ?{name} 'red')" for name in names)
    text = f"(and {said} {chain})"
    for name in reversed(names):
        text = f"(exists ?{name} {text})"
    row = Scene.of([SceneObject("cup", Box(20 * n, 0, 20 * n + 9, 9), "blue" if n % 2 else "red") for n in range(20)])
    found = best_binding(text, row)
    assert len(failing(found)) == 1  # where the chain begins anew
    again = list(range(0, 20, 2))
    assert list(found.bindings.values()) == [*again[: variables - 10], *again]


@pytest.mark.parametrize("weight", [0, -1, 1.5, True, 10**17, pytest.param(10**5000, id="thousands of digits")])
def test_weights_that_would_break_the_share_are_refused(weight: int) -> None:
    """10**17 against 1: the share of what misses the lighter clause would be rounded to 1."""
    asked = "(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"
    with pytest.raises(FormalimgError, match="attribute must be a whole number from 1 to 1,000,000"):
        best_binding(asked, TABLE, weights={"attribute": weight})
    assert 0 < best_binding(asked, TABLE, weights={"attribute": 10**6}).share < 1


def test_numpy_is_loaded_only_when_it_is_needed() -> None:
    code = "import formalimg.logic.soft_score.best_binding, sys; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
