"""Parsing: what is read, what is told about errors, and that no text is too strange."""

from __future__ import annotations

import pickle
import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from formalimg.logic.checks import check
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import MAX_CHARACTERS, MAX_DEPTH, parse, try_parse
from formalimg.logic.prenex import clauses, complexity
from formalimg.logic.syntax import (
    And,
    Atom,
    Exists,
    Forall,
    Implies,
    Not,
    Or,
    Value,
    Variable,
    subformulas,
    to_pretty_text,
)
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.random_logic import random_formula
from tests.support.sizes import tries


def test_the_tree_of_a_formula() -> None:
    assert parse("(forall ?x (implies (Is ?x 'cup') (not (or (LeftOf ?x ?x) (InCenter ?x)))))") == Forall(
        Variable("x"),
        Implies(
            Atom("Is", (Variable("x"), Value("cup"))),
            Not(Or((Atom("LeftOf", (Variable("x"), Variable("x"))), Atom("InCenter", (Variable("x"),))))),
        ),
    )


def test_and_with_one_part_is_accepted_and_kept() -> None:
    one = parse("(and (exists ?x (or (Is ?x 'cup'))))")
    assert isinstance(one, And)
    assert len(one.parts) == 1
    assert str(one) == "(and (exists ?x (or (Is ?x 'cup'))))"


def test_layout_comments_and_double_quotes_do_not_matter() -> None:
    formula = parse("""
        ; what is asked for
        (exists ?x      ; some object
          (Is ?x "toy car"))
    """)
    assert formula == parse("(exists ?x (Is ?x 'toy car'))")


def test_a_byte_order_mark_and_utf8_bytes_are_read() -> None:
    assert parse(b"\xef\xbb\xbf(exists ?x (Is ?x 'caf\xc3\xa9'))") == parse("(exists ?x (Is ?x 'café'))")


def test_every_node_knows_its_place() -> None:
    text = "(exists ?cup\n  (and (Is ?cup 'cup')\n       (InCenter ?cup)))"
    formula = parse(text)
    for node in subformulas(formula):
        assert parse(node.span.text) == node
    assert isinstance(formula, Exists)
    assert isinstance(formula.body, And)
    center = formula.body.parts[1]
    assert (center.span.line, center.span.column) == (3, 8)


@pytest.mark.parametrize("width", [20, 60, 100])
def test_printing_and_parsing_are_inverse(width: int) -> None:
    for number in range(300):
        formula = random_formula(random.Random(f"print {number}"), 5)
        assert parse(str(formula)) == formula
        assert parse(to_pretty_text(formula, width)) == formula


def test_pretty_text_keeps_to_its_width_where_atoms_allow() -> None:
    text = "(exists ?x (exists ?y (and (Is ?x 'cup') (Is ?y 'fork') (LeftOf ?x ?y) (Above ?x ?y) (LargerThan ?x ?y))))"
    pretty = to_pretty_text(parse(text), 40)
    assert max(map(len, pretty.splitlines())) <= 40
    assert pretty.splitlines()[0] == "(exists ?x"


MISTAKES = {
    "": (1, 1, "no formula"),
    "  \n ; only a comment\n": (3, 1, "no formula"),
    "(and (Is ?x 'cup')": (1, 1, "never closed"),
    "(Is ?x 'cup'))": (1, 14, "closes nothing"),
    "(Is ?x 'cup": (1, 8, "quote"),
    "(Is ?x cup)": (1, 8, "'cup'"),
    "(Is ? 'cup')": (1, 5, "name"),
    "()": (1, 1, "nothing stands"),
    "cup": (1, 1, "begins with '('"),
    "?x": (1, 1, "begins with '('"),
    "(?x (Is ?x 'cup'))": (1, 2, "operator or a predicate"),
    "((Is ?x 'cup'))": (1, 2, "operator or a predicate"),
    "(Is ?x 'cup') (Is ?y 'cup')": (1, 15, "second formula"),
    "(and)": (1, 1, "at least one"),
    "(or)": (1, 1, "at least one"),
    "(and ?x)": (1, 6, "formulas in parentheses"),
    "(not)": (1, 1, "exactly one"),
    "(not (Is ?x 'a') (Is ?x 'b'))": (1, 1, "exactly one"),
    "(implies (Is ?x 'a'))": (1, 1, "exactly two"),
    "(iff (Is ?x 'a') (Is ?x 'b') (Is ?x 'c'))": (1, 1, "exactly two"),
    "(exists)": (1, 1, "variable and a formula"),
    "(exists x (Is ?x 'cup'))": (1, 9, "write ?x"),
    "(exists ?x)": (1, 1, "needs a formula"),
    "(exists (?x ?y) (Is ?x 'cup'))": (1, 10, "operator or a predicate"),
    "(exists ?x ?y (Is ?x 'cup'))": (1, 15, "nest the quantifiers"),
    "(forall ?x (Is ?x 'a') (Is ?x 'b'))": (1, 24, "join the formulas"),
    "(AND (Is ?x 'a'))": (1, 2, "small letters"),
    "(xor (Is ?x 'a') (Is ?x 'b'))": (1, 2, "did you mean or"),
    "(because (Is ?x 'a') (Is ?x 'b'))": (1, 2, "the operators are"),
}


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: text[:30].replace("\n", "⏎") or "empty")
def test_a_mistake_is_named_and_placed(text: str) -> None:
    line, column, words = MISTAKES[text]
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    message, source, caret = str(caught.value).splitlines()[:3]
    assert message.startswith(f"line {line}, column {column}: ")
    assert words in message
    assert source == f"  {text.splitlines()[line - 1] if text.strip() and line <= len(text.splitlines()) else ''}"
    assert caret.index("^") == column + 1


def test_all_mistakes_are_reported_at_once() -> None:
    _, problems = try_parse("(and (not) (exists y (Is ?y cup)) (Is ?x 'ok') (implies (Is ?x 'a')))")
    assert [problem.column for problem in problems] == [6, 20, 29, 48]


def test_depth_is_limited_not_by_the_stack() -> None:
    atom = "(Is ?x 'cup')"
    just = "(not " * (MAX_DEPTH - 1) + atom + ")" * (MAX_DEPTH - 1)
    assert str(parse(just)) == just
    for depth in (MAX_DEPTH, 15_000):
        with pytest.raises(FormulaError, match="nested more than 200 deep"):
            parse("(not " * depth + atom + ")" * depth)
    with pytest.raises(FormulaError, match=r"line 1, column 201: .*deep"):
        parse("(" * 100_000)


def test_length_is_limited() -> None:
    with pytest.raises(FormulaError, match="10,000,000 characters, the limit is 100,000") as caught:
        parse("x" * 10_000_000)
    assert caught.value.column == MAX_CHARACTERS + 1
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("data", "column"), [(b"\xff\xfe\x00", 1), (b"(Is ?x '\x80')", 9), ("(Is ?x 'é".encode() + b"\xc3", 10)]
)
def test_bytes_that_are_no_text_are_placed(data: bytes, column: int) -> None:
    with pytest.raises(FormulaError, match="not valid UTF-8") as caught:
        parse(data)
    assert (caught.value.line, caught.value.column) == (1, column)


def test_control_characters_are_shown_as_dots() -> None:
    with pytest.raises(FormulaError) as caught:
        parse("\x00\x1b[31m(")
    assert "\x1b" not in str(caught.value)


def test_errors_survive_pickling() -> None:
    with pytest.raises(FormulaError) as caught:
        parse("(and")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.line == 1


# --- any text at all

_WORDS = [
    "(", ")", "(", ")", "and", "or", "not", "implies", "iff", "exists", "forall", "?x", "?y", "?x_1", "?", "'cup'",
    '"red"', "'", '"', "''", "Is", "Has", "LeftOf", "InCenter", "IsStyle", "'photo'", ";", "\n", "cup", "\x00", "ß",
]  # fmt: skip
_GOOD = "(exists ?x (and (Is ?x 'cup') (forall ?y (implies (Has ?y 'red') (or (LeftOf ?x ?y) (not (InCenter ?y)))))))"
_SCENE = Scene.of([SceneObject("cup", Box(0, 0, 10, 10), "red"), SceneObject("fork", Box(500, 500, 600, 600), "blue")])

_token_soup = st.lists(st.sampled_from(_WORDS), max_size=40).map(" ".join)


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    """A good formula with a few pieces cut out, doubled or replaced."""
    text = _GOOD
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.one_of(st.just(""), st.sampled_from(_WORDS), st.text(max_size=3))) + text[end:]
    return text


_SETTINGS = settings(max_examples=tries(60, 600), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@_SETTINGS
@given(st.one_of(st.text(max_size=200), _token_soup, _damaged()))
@example("(" * 5000)
@example("(forall ?x " * 300)
def test_any_text(text: str) -> None:
    _exercise(text)


@_SETTINGS
@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf")
@example(b"(Is ?x '\xf0\x9f\x98')")
def test_any_bytes(data: bytes) -> None:
    _exercise(data)


def _exercise(text: str | bytes) -> None:
    formula, problems = try_parse(text)
    assert (formula is None) == bool(problems)
    for suite in ("knolling", "natural"):
        for problem in check(text, vocabulary(suite), k=1, single_component=True):
            assert problem.line >= 1
            assert problem.column >= 1
            assert "\n" not in str(problem)
            assert "^" in problem.render()
    try:
        parsed = parse(text)
    except FormulaError as error:
        assert error.problems == tuple(problems)
        return
    assert parse(str(parsed)) == parsed
    assert parse(to_pretty_text(parsed)) == parsed
    for analyse in (complexity, clauses, lambda formula: verify(formula, _SCENE, style="photo").explain()):
        try:
            analyse(parsed)
        except FormulaError as error:
            assert error.line >= 1
