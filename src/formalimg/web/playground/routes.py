"""Playground pages and their endpoints: check, solve, verify and score."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, NamedTuple, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.logic.checks import check
from formalimg.logic.constraints import Semantics
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.prenex import clauses, component_sizes
from formalimg.logic.syntax import Formula, atoms, to_pretty_text
from formalimg.logic.variables import bound_variables
from formalimg.logic.verification import STYLE_PREDICATE
from formalimg.logic.vocabulary import Vocabulary, vocabulary, vocabulary_names
from formalimg.runs.defaults.settings import ICONS
from formalimg.web.json_body import (
    MAX_BODY,
    MAX_BODY_WITH_IMAGE,
    MAX_WORD,
    Body,
    has_long_word,
    json_endpoint,
    require_text,
)
from formalimg.web.playground.jobs import is_large_image, scoring_judge
from formalimg.web.playground.worker_pool import InputTooLargeError, JobPool, JobTimeoutError, WorkersBusyError
from formalimg.web.rendering import page
from formalimg.web.viewer.highlight import WIDTH

_REALIZE_TIMEOUT, _SOLVE_TIMEOUT, _VERIFY_TIMEOUT, _SCORE_TIMEOUT = 2.0, 8.0, 8.0, 20.0  # seconds
_ASK_TIMEOUT = 120.0  # to score with a chat model
_MAX_PROMPT_LENGTH = 2_000
_MAX_FORMULA_LENGTH = 20_000  # instructions of the suites have up to a thousand characters
_MAX_SEED = 2**31
_MAX_LISTED_LITERALS = 5_000  # a short formula may have tens of thousands
_MAX_PROBLEMS = 30
_EXAMPLE_LEVELS = (1, 2, 4, 7, 10)
_SOLVABLE = "knolling"  # the vocabulary that the solver has rules for


def playground_routes(pool: JobPool | None = None) -> list[Route]:
    """Return the routes of the playground."""
    workers = pool or JobPool()

    def endpoint(
        work: Callable[[JobPool, Body], dict[str, object]], max_bytes: int = MAX_BODY
    ) -> Callable[[Request], Awaitable[Response]]:
        return json_endpoint(lambda _, body: _json(work(workers, body)), max_bytes=max_bytes)

    return [
        Route("/playground", _page),
        Route("/playground/score", _score_page, methods=["GET"]),
        Route("/playground/score", endpoint(_score, MAX_BODY_WITH_IMAGE), methods=["POST"]),
        Route("/playground/examples", _examples),
        Route("/playground/check", endpoint(_check), methods=["POST"]),
        Route("/playground/solve", endpoint(_solve), methods=["POST"]),
        Route("/playground/verify", endpoint(_verify, MAX_BODY_WITH_IMAGE), methods=["POST"]),
    ]


def _json(reply: dict[str, object]) -> Response:
    # In ASCII: labels of scenes may contain lone surrogates, which cannot be encoded.
    return Response(json.dumps(reply), media_type="application/json")


# --- pages


def _page(_request: Request) -> Response:
    return page(
        "playground.html",
        vocabularies=vocabulary_names(),
        semantics=get_args(Semantics),
        max_length=_MAX_FORMULA_LENGTH,
        solvable=_SOLVABLE,
    )


def _score_page(_request: Request) -> Response:
    judge = scoring_judge()
    return page(
        "playground-score.html",
        judge=judge.name,
        source=judge.source,
        sees_drawings_only=judge.name == ICONS,
        max_length=_MAX_PROMPT_LENGTH,
    )


def _examples(request: Request) -> Response:
    suite = request.query_params.get("vocabulary")
    if suite not in vocabulary_names():
        raise HTTPException(404, f"there are examples of {', '.join(vocabulary_names())}")
    return _json({"examples": [{"k": level, "formula": formula} for level, formula in example_formulas(suite).items()]})


@cache
def example_formulas(suite: str) -> dict[int, str]:
    """Return example formulas of a suite by level, which is their K."""
    formulas: dict[int, str] = {}
    for item in load(suite):
        if item.level not in formulas and isinstance(item.spec, FormulaSpec):
            formulas[item.level] = to_pretty_text(item.spec.formula, WIDTH)
    return {level: formulas[level] for level in _EXAMPLE_LEVELS if level in formulas}


# --- endpoints


def _check(pool: JobPool, body: Body) -> dict[str, object]:
    query = _parse_query(body)
    analysis = _analyze(query)
    if analysis["problems"]:
        return analysis
    try:
        return analysis | pool.run("words", _REALIZE_TIMEOUT, formula=query.formula, vocabulary=query.words.name)
    except JobTimeoutError:
        return {**analysis, "words": "", "wordless": "phrasing this formula in English takes too long"}
    except WorkersBusyError as error:
        return {**analysis, "words": "", "wordless": str(error)}


def _solve(pool: JobPool, body: Body) -> dict[str, object]:
    query, seed = _parse_query(body), body.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < _MAX_SEED:
        raise HTTPException(400, f"seed must be a whole number from 0 to {_MAX_SEED - 1}")
    _require_valid(query)
    if query.words.name != _SOLVABLE:
        raise HTTPException(422, f"the solver only supports formulas of {_SOLVABLE}")
    try:
        return pool.run("solve", _SOLVE_TIMEOUT, formula=query.formula, seed=seed)
    except JobTimeoutError:
        message = f"no witness and no proof in {_SOLVE_TIMEOUT:g} seconds: `formalimg formula solve` has no time limit"
        return {"outcome": "unknown", "words": message}
    except WorkersBusyError as error:
        raise HTTPException(503, str(error)) from error


def _verify(pool: JobPool, body: Body) -> dict[str, object]:
    query = _parse_query(body)
    _require_valid(query)
    name = "image" if "image" in body else "scene"
    text = _require_unicode(body, name, MAX_BODY_WITH_IMAGE)
    arguments: dict[str, Any] = {
        "formula": query.formula,
        "vocabulary": query.words.name,
        "semantics": query.semantics,
        "style": query.style,
        "draws": body.get("draws") is True,
        name: text,
    }
    try:
        return _run_job(pool, "verify", _VERIFY_TIMEOUT, "decided", name == "image" and is_large_image(text), arguments)
    except FormalimgError as error:
        if name == "scene":
            raise
        return {"error": str(error)}  # about the image: no judge here can read it


def _score(pool: JobPool, body: Body) -> dict[str, object]:
    prompt = _require_unicode(body, "prompt", _MAX_PROMPT_LENGTH)
    if not prompt.strip():
        raise HTTPException(400, "the prompt is empty: write what the image should show")
    image = require_text(body, "image", max_length=MAX_BODY_WITH_IMAGE)
    timeout = _SCORE_TIMEOUT if scoring_judge().name == ICONS else _ASK_TIMEOUT
    return _run_job(pool, "score", timeout, "scored", is_large_image(image), {"image": image, "prompt": prompt})


def _run_job(
    pool: JobPool, job: str, timeout: float, done: str, is_large: bool, arguments: dict[str, Any]
) -> dict[str, object]:
    try:
        return pool.run(job, timeout, is_large, **arguments)
    except JobTimeoutError:
        message = f"this could not be {done} in {timeout:g} seconds: `formalimg {job}` has no time limit"
        raise HTTPException(422, message) from None
    except InputTooLargeError as error:
        raise HTTPException(413, str(error)) from error
    except WorkersBusyError as error:
        raise HTTPException(503, str(error)) from error


# --- formulas


class _FormulaQuery(NamedTuple):
    """A formula as typed, with the settings for parsing it."""

    formula: str  # valid or not
    words: Vocabulary
    semantics: Semantics  # how `forall` reads
    style: str | None  # the style of the image; None if unknown


def _parse_query(body: Body) -> _FormulaQuery:
    formula = _require_unicode(body, "formula", _MAX_FORMULA_LENGTH)
    if has_long_word(formula):
        raise HTTPException(413, f"a word of the formula has more than {MAX_WORD} characters: choose a shorter one")
    suite = _require_choice(body, "vocabulary", vocabulary_names())  # only names: vocabulary() would also open files
    semantics = _require_choice(body, "semantics", get_args(Semantics), default="strict")
    words = vocabulary(suite)
    style = _require_choice(body, "style", ("", *words.words.get("style", ())), default="") or None
    return _FormulaQuery(formula, words, "classical" if semantics == "classical" else "strict", style)


def _require_unicode(body: Body, name: str, max_length: int) -> str:
    """Return a string field without lone surrogates, which cannot be shown or stored."""
    text = require_text(body, name, max_length=max_length)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise HTTPException(400, f"{name} contains a lone surrogate: send Unicode text") from error
    return text


def _require_choice(body: Body, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str) or value not in choices:
        raise HTTPException(400, f"{name} must be one of {', '.join(filter(None, choices)) or 'none'}")
    return value


def _require_valid(query: _FormulaQuery) -> None:
    problems = check(query.formula, query.words)
    if problems:
        raise FormulaError(problems)


def _analyze(query: _FormulaQuery) -> dict[str, object]:
    """Return the problems of a formula or, for a valid formula, its K, components and clauses."""
    problems = check(query.formula, query.words)
    if problems:
        listed = [
            {
                **problem.to_json(),
                "start": problem.span.start,
                "end": problem.span.end,
                "excerpt": problem.span.excerpt(),
            }
            for problem in problems[:_MAX_PROBLEMS]
        ]
        return {"problems": listed, "more": max(len(problems) - _MAX_PROBLEMS, 0)}
    formula = parse(query.formula)
    try:
        sizes = list(component_sizes(formula))
    except FormulaError:  # too large to be split; `_list_clauses` reports why
        sizes = None
    is_about_style = any(atom.predicate == STYLE_PREDICATE for atom in atoms(formula))
    return {
        "problems": [],
        "more": 0,
        "k": None if sizes is None else max(sizes, default=0),
        "components": sizes or [],
        "variables": len(bound_variables(formula)),
        "styles": list(query.words.words.get("style", ())) if is_about_style else [],
        "solvable": query.words.name == _SOLVABLE,
        **_list_clauses(formula),
    }


def _list_clauses(formula: Formula) -> dict[str, object]:
    try:
        listed = clauses(formula)
    except FormulaError as error:  # fine as an instruction, only too large to be laid out in clauses
        return {"clauses": None, "kinds": {}, "unlisted": error.problems[0].message}
    if sum(len(clause.literals) for clause in listed) > _MAX_LISTED_LITERALS:
        return {"clauses": None, "kinds": {}, "unlisted": f"it has {len(listed):,} clauses: too many to be listed here"}
    return {
        "clauses": [{"kind": clause.kind, "text": clause.text} for clause in listed],
        "kinds": dict(sorted(Counter(clause.kind for clause in listed).items())),
        "unlisted": "",
    }
