"""Verdicts against what they were made of: a judge's stored scene, its raw answers, and the parts of the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from formalimg._util.strict_json import loads_strict
from formalimg.errors import FormalimgError
from formalimg.judges import Part, Unscored, Verdict, verdict_from_evidence
from formalimg.runs import Identity
from formalimg.suites import Item

_TOLERANCE = 1e-9


def verdict_problems(item: Item[object], judge: Identity, verdict: Verdict, score: float | None) -> Iterator[str]:
    """Yield what does not follow: the score from the parts, the verdict from the scene, the parts from the answers.

    Args:
        item: the item.
        judge: the judge, by whose rules the verdict was made.
        verdict: the verdict as it is stored.
        score: the score as it is stored.
    """
    if score is not None and not math.isclose(score, verdict.score, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        yield f"its score is {score:g}, and its parts make {verdict.score:g}"
    yield from _scene_problems(item, judge, verdict)
    yield from _answer_problems(verdict)


def _scene_problems(item: Item[object], judge: Identity, verdict: Verdict) -> Iterator[str]:
    try:
        made = verdict_from_evidence(item, judge.settings, verdict.evidence)
    except FormalimgError as error:
        yield f"its scene cannot be judged: {' '.join(str(error).split())}"
        return
    if made is None:
        return
    if isinstance(made, Unscored):
        yield f"its scene gives no verdict: {made.detail}"
        return
    if made.passed != verdict.passed:
        yield f"it is stored as {_word(verdict.passed)}, and its scene makes it {_word(made.passed)}"
    yield from _part_differences(verdict.parts, made.parts)


def _part_differences(stored: Sequence[Part], made: Sequence[Part]) -> Iterator[str]:
    if [part.name for part in stored] != [part.name for part in made]:
        yield f"its {len(stored)} parts are not the {len(made)} clauses of the item"
        return
    for old, new in zip(stored, made, strict=True):
        if not math.isclose(old.score, new.score, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            yield f"the part {old.name} is stored as {old.score:g}, and its scene makes it {new.score:g}"


def _answer_problems(verdict: Verdict) -> Iterator[str]:
    """Yield which parts say something else than the raw answer to their question."""
    scores = {part.name: part.score for part in verdict.parts}
    for question, said in _raw_answers(verdict.evidence):
        if question in scores and said != (scores[question] >= 1):
            yield f"the part {question} is stored as {scores[question]:g}, and the raw answer is {_yes(said)}"


def _raw_answers(evidence: Mapping[str, object]) -> Iterator[tuple[str, bool]]:
    """Yield each question with the yes or no of its last raw answer; answers in other forms are left alone."""
    requests = evidence.get("answers")
    for request in requests if isinstance(requests, list) else ():
        asked, raw = (request.get(name) for name in ("asked", "raw")) if isinstance(request, dict) else (None, None)
        if not (isinstance(asked, list) and isinstance(raw, list) and asked and raw):
            continue
        answers = _said(raw[-1])
        if len(answers) == len(asked):
            yield from (
                (str(question), said) for question, said in zip(asked, answers, strict=True) if said is not None
            )


def _said(raw: object) -> list[bool | None]:
    try:
        found: Any = loads_strict(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return []
    listed = found.get("answers", [found]) if isinstance(found, dict) else []
    words = [one.get("answer") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [{"yes": True, "no": False}.get(str(word).strip().lower()) for word in words]


def _word(passed: bool) -> str:
    return "passed" if passed else "failed"


def _yes(said: bool) -> str:
    return "yes" if said else "no"
