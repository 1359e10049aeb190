"""The page of the playground, and what it asks for."""

from __future__ import annotations

import json
from typing import get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.logic import FormulaError, Semantics, check, vocabulary_names
from formalimg.web.bodies import WITH_IMAGE, Body, taking_json, text_in
from formalimg.web.pages import page
from formalimg.web.playground.bench import Bench, BusyError, TooLargeError, TooLongError
from formalimg.web.playground.examples import examples
from formalimg.web.playground.measuring import SOLVED, measured
from formalimg.web.playground.question import LONGEST_FORMULA, Question, question_in, whole

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
