"""The page of the playground, and what it asks for."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import NamedTuple, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.logic import (
    STYLE,
    Formula,
    FormulaError,
    Problem,
    Semantics,
    Vocabulary,
    atoms,
    bound_variables,
    check,
    clauses,
    component_sizes,
    parse,
    to_pretty_text,
    vocabulary,
    vocabulary_names,
)
from formalimg.suites import FormulaSpec, load
from formalimg.web.playground.worker_pool import Bench, BusyError, TooLargeError, TooLongError
from formalimg.web.rendering import page
from formalimg.web.security import WITH_IMAGE, Body, taking_json, text_in
from formalimg.web.viewer.item import WIDTH

_FOR_WORDS, _FOR_SOLVING, _FOR_VERIFYING = 2.0, 8.0, 8.0
"""How long each may take, in seconds."""

_LARGEST_SEED = 2**31


def playground_routes(bench: Bench | None = None) -> list[Route]:
    """The addresses of the playground.

    Args:
        bench: where long work is done; None for one of its own.
    """
    at = bench or Bench()

    def checked(request: Request, body: Body) -> Response:
        return _json(_checked(at, question_in(body)))

    def solved(request: Request, body: Body) -> Response:
        return _json(_solved(at, question_in(body), _seed_in(body)))

    def verified(request: Request, body: Body) -> Response:
        return _json(_verified(at, question_in(body), body))

    return [
        Route("/playground", _page, methods=["GET"]),
        Route("/playground/examples", _examples, methods=["GET"]),
        Route("/playground/check", taking_json(checked), methods=["POST"]),
        Route("/playground/solve", taking_json(solved), methods=["POST"]),
        Route("/playground/verify", taking_json(verified, most=WITH_IMAGE), methods=["POST"]),
    ]


def _page(request: Request) -> Response:
    return page(
        "playground.html",
        vocabularies=vocabulary_names(),
        semantics=get_args(Semantics),
        longest=LONGEST_FORMULA,
        solved=SOLVED,
    )


def _examples(request: Request) -> Response:
    suite = request.query_params.get("vocabulary")
    if suite not in vocabulary_names():
        raise HTTPException(404, f"there are examples of {', '.join(vocabulary_names())}")
    return _json({"examples": [one._asdict() for one in examples(suite)]})


def _checked(bench: Bench, question: Question) -> dict[str, object]:
    told = measured(question)
    if told["problems"]:
        return told
    try:
        return told | bench.do("words", _FOR_WORDS, formula=question.formula, vocabulary=question.words.name)
    except TooLongError:
        return {**told, "words": "", "wordless": "the words of this formula would take too long to find"}
    except BusyError as error:
        return {**told, "words": "", "wordless": str(error)}


def _solved(bench: Bench, question: Question, seed: int) -> dict[str, object]:
    _require_sound(question)
    if question.words.name != SOLVED:
        raise HTTPException(422, f"the solver places boxes, and solves formulas of {SOLVED} only")
    try:
        return bench.do("solve", _FOR_SOLVING, formula=question.formula, seed=seed)
    except TooLongError:
        words = (
            f"neither a witness nor a proof was found in {_FOR_SOLVING:g} seconds: `formalimg solve` takes all its time"
        )
        return {"outcome": "unknown", "words": words}
    except BusyError as error:
        raise HTTPException(503, str(error)) from error


def _verified(bench: Bench, question: Question, body: Body) -> dict[str, object]:
    _require_sound(question)
    name = "image" if "image" in body else "scene"
    shown = {name: whole(text_in(body, name, longest=WITH_IMAGE), name)}
    try:
        return bench.do(
            "verify",
            _FOR_VERIFYING,
            formula=question.formula,
            vocabulary=question.words.name,
            semantics=question.semantics,
            style=question.style,
            draws=body.get("draws") is True,
            **shown,
        )
    except TooLongError:
        words = f"this could not be decided in {_FOR_VERIFYING:g} seconds: `formalimg verify` takes all its time"
        raise HTTPException(422, words) from None
    except TooLargeError as error:
        raise HTTPException(413, str(error)) from error
    except BusyError as error:
        raise HTTPException(503, str(error)) from error


def _require_sound(question: Question) -> None:
    problems = check(question.formula, question.words)
    if problems:
        raise FormulaError(problems)


def _seed_in(body: Body) -> int:
    seed = body.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < _LARGEST_SEED:
        raise HTTPException(400, f"seed must be a whole number from 0 to {_LARGEST_SEED - 1}")
    return seed


def _json(told: dict[str, object]) -> Response:
    # In ASCII: labels of scenes may hold halves of characters, which no other text can.
    return Response(json.dumps(told), media_type="application/json")


LONGEST_FORMULA = 20_000
"""In characters; the instructions of the suites have up to a thousand."""


class Question(NamedTuple):
    """A formula as somebody wrote it, and how it is to be read.

    Attributes:
        formula: the text, right or wrong.
        words: the vocabulary.
        semantics: how `forall` reads.
        style: the style of the image; None if it was not told.
    """

    formula: str
    words: Vocabulary
    semantics: Semantics
    style: str | None


def question_in(body: Body) -> Question:
    """The question in what a page sent.

    Raises:
        HTTPException: if it is none.
    """
    formula = whole(text_in(body, "formula", longest=LONGEST_FORMULA), "formula")
    suite = _one_of(body, "vocabulary", vocabulary_names())  # a name of ours: it could also be that of a file
    semantics = _one_of(body, "semantics", get_args(Semantics), otherwise="strict")
    words = vocabulary(suite)
    style = _one_of(body, "style", ("", *words.words.get("style", ())), otherwise="") or None
    return Question(formula, words, "classical" if semantics == "classical" else "strict", style)


def whole(text: str, name: str) -> str:
    """The text, unless it holds halves of characters, which can be neither shown nor stored."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise HTTPException(400, f"{name} holds half a character: send Unicode text") from error
    return text


def _one_of(body: Body, name: str, known: tuple[str, ...], otherwise: str | None = None) -> str:
    value = body.get(name, otherwise)
    if not isinstance(value, str) or value not in known:
        raise HTTPException(400, f"{name} must be one of {', '.join(filter(None, known)) or 'none'}")
    return value


_LEVELS = (1, 2, 4, 7, 10)


class Example(NamedTuple):
    """A formula to begin with, and its K."""

    k: int
    formula: str


@cache
def examples(suite: str) -> tuple[Example, ...]:
    """Some formulas of a suite, easy ones first."""
    first: dict[int, str] = {}
    for item in load(suite):
        if item.level not in first and isinstance(item.spec, FormulaSpec):
            first[item.level] = to_pretty_text(item.spec.formula, WIDTH)
    return tuple(Example(level, first[level]) for level in _LEVELS if level in first)


SOLVED = "knolling"
"""The vocabulary that the solver has rules for."""

_MOST_PROBLEMS = 30
"""So many are shown; whoever mends them sees the others."""


def measured(question: Question) -> dict[str, object]:
    """The problems of a formula; of one without problems K, its components and its clauses."""
    problems = check(question.formula, question.words)
    told: dict[str, object] = {"problems": [_problem(one) for one in problems[:_MOST_PROBLEMS]], "more": 0}
    if problems:
        return {**told, "more": max(len(problems) - _MOST_PROBLEMS, 0)}
    formula = parse(question.formula)
    sizes = _component_sizes(formula)
    about_style = any(atom.predicate == STYLE for atom in atoms(formula))
    return {
        **told,
        "k": None if sizes is None else max(sizes, default=0),
        "components": list(sizes or ()),
        "variables": len(bound_variables(formula)),
        "styles": list(question.words.words.get("style", ())) if about_style else [],
        "solvable": question.words.name == SOLVED,
        **_clauses(formula),
    }


def _problem(problem: Problem) -> dict[str, object]:
    return {
        **problem.to_json(),
        "start": problem.span.start,
        "end": problem.span.end,
        "excerpt": problem.span.excerpt(),
    }


def _component_sizes(formula: Formula) -> tuple[int, ...] | None:
    try:
        return tuple(component_sizes(formula))
    except FormulaError:  # too large to be taken apart; why is told with the clauses
        return None


def _clauses(formula: Formula) -> dict[str, object]:
    try:
        found = clauses(formula)
    except FormulaError as error:  # fine as an instruction, only too large to be laid out in clauses
        return {"clauses": None, "kinds": {}, "unlisted": error.problems[0].message}
    kinds = Counter(clause.kind for clause in found)
    return {
        "clauses": [{"kind": clause.kind, "text": clause.text} for clause in found],
        "kinds": dict(sorted(kinds.items())),
        "unlisted": "",
    }
