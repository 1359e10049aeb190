"""Playground pages and their endpoints: check, solve, verify and score."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import NamedTuple, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.logic.checks import check
from formalimg.logic.constraints import Semantics
from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.parser import parse
from formalimg.logic.prenex import clauses, component_sizes
from formalimg.logic.syntax import Formula, atoms, to_pretty_text
from formalimg.logic.variables import bound_variables
from formalimg.logic.verification import STYLE_PREDICATE
from formalimg.logic.vocabulary import Vocabulary, vocabulary, vocabulary_names
from formalimg.web.json_body import MAX_BODY_WITH_IMAGE, MAX_WORD, Body, has_long_word, json_endpoint, require_text
from formalimg.web.playground.image_jobs import is_large_image, scoring_judge, sees_drawings_only
from formalimg.web.playground.worker_pool import InputTooLargeError, JobPool, JobTimeoutError, WorkersBusyError
from formalimg.web.rendering import page
from formalimg.web.viewer.clauses import WIDTH

_REALIZE_TIMEOUT, _SOLVE_TIMEOUT, _VERIFY_TIMEOUT, _SCORE_TIMEOUT, _ASK_TIMEOUT = 2.0, 8.0, 8.0, 20.0, 120.0
"""Timeouts of the jobs, in seconds; the last one is for images that a chat model is asked about."""

MAX_PROMPT_LENGTH = 2_000  # In characters
_MAX_SEED = 2**31


def playground_routes(pool: JobPool | None = None) -> list[Route]:
    """Return the routes of the playground."""
    workers = pool or JobPool()

    def checked(request: Request, body: Body) -> Response:
        return _json(_checked(workers, parse_formula_query(body)))

    def solve_formula(request: Request, body: Body) -> Response:
        return _json(_solved(workers, parse_formula_query(body), _seed_in(body)))

    def verify_scene(request: Request, body: Body) -> Response:
        return _json(_verified(workers, parse_formula_query(body), body))

    def score_image(request: Request, body: Body) -> Response:
        return _json(_scored(workers, body))

    return [
        Route("/playground", _page, methods=["GET"]),
        Route("/playground/score", _score_page, methods=["GET"]),
        Route("/playground/score", json_endpoint(score_image, max_bytes=MAX_BODY_WITH_IMAGE), methods=["POST"]),
        Route("/playground/examples", _examples, methods=["GET"]),
        Route("/playground/check", json_endpoint(checked), methods=["POST"]),
        Route("/playground/solve", json_endpoint(solve_formula), methods=["POST"]),
        Route("/playground/verify", json_endpoint(verify_scene, max_bytes=MAX_BODY_WITH_IMAGE), methods=["POST"]),
    ]


def _page(request: Request) -> Response:
    return page(
        "playground.html",
        vocabularies=vocabulary_names(),
        semantics=get_args(Semantics),
        max_length=MAX_FORMULA_LENGTH,
        solvable=SOLVABLE,
    )


def _score_page(request: Request) -> Response:
    judge = scoring_judge()
    return page(
        "playground-score.html",
        judge=judge.name,
        source=judge.source,
        sees_drawings_only=sees_drawings_only(judge),
        max_length=MAX_PROMPT_LENGTH,
    )


def _scored(pool: JobPool, body: Body) -> dict[str, object]:
    prompt = require_unicode(require_text(body, "prompt", max_length=MAX_PROMPT_LENGTH), "prompt")
    if not prompt.strip():
        raise HTTPException(400, "the prompt is empty: write what the image should show")
    image = require_text(body, "image", max_length=MAX_BODY_WITH_IMAGE)
    timeout = _SCORE_TIMEOUT if sees_drawings_only(scoring_judge()) else _ASK_TIMEOUT
    return _run_job(pool, "score", timeout, "scored", is_large=is_large_image(image), image=image, prompt=prompt)


def _run_job(
    pool: JobPool, job: str, timeout: float, done: str, *, is_large: bool = False, **arguments: object
) -> dict[str, object]:
    """Run a job and return its result, or raise an HTTPException if a limit is exceeded."""
    try:
        return pool.run(job, timeout, is_large, **arguments)
    except JobTimeoutError:
        words = f"this could not be {done} in {timeout:g} seconds: `formalimg {job}` has no time limit"
        raise HTTPException(422, words) from None
    except InputTooLargeError as error:
        raise HTTPException(413, str(error)) from error
    except WorkersBusyError as error:
        raise HTTPException(503, str(error)) from error


def _examples(request: Request) -> Response:
    suite = request.query_params.get("vocabulary")
    if suite not in vocabulary_names():
        raise HTTPException(404, f"there are examples of {', '.join(vocabulary_names())}")
    return _json({"examples": [one._asdict() for one in examples(suite)]})


def _checked(pool: JobPool, query: FormulaQuery) -> dict[str, object]:
    analysis = analyze_formula(query)
    if analysis["problems"]:
        return analysis
    try:
        return analysis | pool.run("words", _REALIZE_TIMEOUT, formula=query.formula, vocabulary=query.words.name)
    except JobTimeoutError:
        return {**analysis, "words": "", "wordless": "phrasing this formula in English takes too long"}
    except WorkersBusyError as error:
        return {**analysis, "words": "", "wordless": str(error)}


def _solved(pool: JobPool, query: FormulaQuery, seed: int) -> dict[str, object]:
    _require_valid(query)
    if query.words.name != SOLVABLE:
        raise HTTPException(422, f"the solver workers boxes, and solves formulas of {SOLVABLE} only")
    try:
        return pool.run("solve", _SOLVE_TIMEOUT, formula=query.formula, seed=seed)
    except JobTimeoutError:
        message = f"no witness and no proof in {_SOLVE_TIMEOUT:g} seconds: `formalimg formula solve` has no time limit"
        return {"outcome": "unknown", "words": message}
    except WorkersBusyError as error:
        raise HTTPException(503, str(error)) from error


def _verified(pool: JobPool, query: FormulaQuery, body: Body) -> dict[str, object]:
    _require_valid(query)
    name = "image" if "image" in body else "scene"
    shown = {name: require_unicode(require_text(body, name, max_length=MAX_BODY_WITH_IMAGE), name)}
    try:
        return _run_job(
            pool,
            "verify",
            _VERIFY_TIMEOUT,
            "decided",
            formula=query.formula,
            vocabulary=query.words.name,
            semantics=query.semantics,
            style=query.style,
            draws=body.get("draws") is True,
            is_large="image" in shown and is_large_image(shown["image"]),
            **shown,
        )
    except FormalimgError as error:
        if name == "scene":
            raise
        return {"error": str(error)}  # an answer about the image: there is no judge here that can read it


def _require_valid(query: FormulaQuery) -> None:
    problems = check(query.formula, query.words)
    if problems:
        raise FormulaError(problems)


def _seed_in(body: Body) -> int:
    seed = body.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < _MAX_SEED:
        raise HTTPException(400, f"seed must be a require_unicode number from 0 to {_MAX_SEED - 1}")
    return seed


def _json(reply: dict[str, object]) -> Response:
    # In ASCII: labels of scenes may contain lone surrogates, which cannot be encoded.
    return Response(json.dumps(reply), media_type="application/json")


MAX_FORMULA_LENGTH = 20_000  # In characters; instructions of the suites have up to a thousand


class FormulaQuery(NamedTuple):
    """A formula as typed, with the settings for parsing it."""

    formula: str  # the text, valid or not
    words: Vocabulary  # the vocabulary
    semantics: Semantics  # how `forall` reads
    style: str | None  # the style of the image; None if unknown


def parse_formula_query(body: Body) -> FormulaQuery:
    """Parse a formula query from a request body."""
    formula = require_unicode(require_text(body, "formula", max_length=MAX_FORMULA_LENGTH), "formula")
    if has_long_word(formula):
        raise HTTPException(413, f"a word of the formula has more than {MAX_WORD} characters: choose a shorter one")
    suite = _one_of(body, "vocabulary", vocabulary_names())  # only names: vocabulary() would also open files
    semantics = _one_of(body, "semantics", get_args(Semantics), otherwise="strict")
    words = vocabulary(suite)
    style = _one_of(body, "style", ("", *words.words.get("style", ())), otherwise="") or None
    return FormulaQuery(formula, words, "classical" if semantics == "classical" else "strict", style)


def require_unicode(text: str, name: str) -> str:
    """Return the text, or raise an error if it contains lone surrogates, which cannot be shown or stored."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise HTTPException(400, f"{name} contains a lone surrogate: send Unicode text") from error
    return text


def _one_of(body: Body, name: str, known: tuple[str, ...], otherwise: str | None = None) -> str:
    value = body.get(name, otherwise)
    if not isinstance(value, str) or value not in known:
        raise HTTPException(400, f"{name} must be one of {', '.join(filter(None, known)) or 'none'}")
    return value


_LEVELS = (1, 2, 4, 7, 10)


class Example(NamedTuple):
    """An example formula and its K."""

    k: int
    formula: str


@cache
def examples(suite: str) -> tuple[Example, ...]:
    """Return example formulas of a suite, easy ones first."""
    first: dict[int, str] = {}
    for item in load(suite):
        if item.level not in first and isinstance(item.spec, FormulaSpec):
            first[item.level] = to_pretty_text(item.spec.formula, WIDTH)
    return tuple(Example(level, first[level]) for level in _LEVELS if level in first)


SOLVABLE = "knolling"  # The vocabulary that the solver has rules for
_MAX_LISTED_LITERALS = 5_000
"""Number of literals in clauses that are listed: a short formula may have tens of thousands."""

_MAX_PROBLEMS = 30  # Number of problems shown


def analyze_formula(query: FormulaQuery) -> dict[str, object]:
    """Return the problems of a formula or, for a valid formula, its K, components and clauses."""
    problems = check(query.formula, query.words)
    analysis: dict[str, object] = {"problems": [_problem(one) for one in problems[:_MAX_PROBLEMS]], "more": 0}
    if problems:
        return {**analysis, "more": max(len(problems) - _MAX_PROBLEMS, 0)}
    formula = parse(query.formula)
    sizes = _component_sizes(formula)
    about_style = any(atom.predicate == STYLE_PREDICATE for atom in atoms(formula))
    return {
        **analysis,
        "k": None if sizes is None else max(sizes, default=0),
        "components": list(sizes or ()),
        "variables": len(bound_variables(formula)),
        "styles": list(query.words.words.get("style", ())) if about_style else [],
        "solvable": query.words.name == SOLVABLE,
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
    except FormulaError:  # too large to be split; `_clauses` reports why
        return None


def _clauses(formula: Formula) -> dict[str, object]:
    try:
        found = clauses(formula)
    except FormulaError as error:  # fine as an instruction, only too large to be laid out in clauses
        return {"clauses": None, "kinds": {}, "unlisted": error.problems[0].message}
    if sum(len(clause.literals) for clause in found) > _MAX_LISTED_LITERALS:
        return {"clauses": None, "kinds": {}, "unlisted": f"it has {len(found):,} clauses: too many to be listed here"}
    kinds = Counter(clause.kind for clause in found)
    return {
        "clauses": [{"kind": clause.kind, "text": clause.text} for clause in found],
        "kinds": dict(sorted(kinds.items())),
        "unlisted": "",
    }
