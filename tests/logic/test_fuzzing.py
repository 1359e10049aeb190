"""Whatever is thrown at the language, it answers with a formula or with a FormulaError."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from formalimg.logic.checks import check
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse, try_parse
from formalimg.logic.prenex import clauses, complexity
from formalimg.logic.syntax import to_pretty_text
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.sizes import tries

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
