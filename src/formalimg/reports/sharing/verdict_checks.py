"""Verdicts against what they were made of: raw answers, stored scenes, and images that judges look at again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.base import DECLINED
from formalimg.judges.recorded_models import EvidenceError
from formalimg.judges.stored_evidence import RecordedJudge
from formalimg.reports.sharing.value_differences import is_same, value_differences, value_text
from formalimg.runs.inspection import fail_by_rule, image_size, inspect
from formalimg.types import Item, Judge, Part, Unscored, Verdict

_TEXTS = {"explanation", "reasons", "contradiction", "served"}
"""Evidence that nothing is counted by, and whose wording may differ between versions."""
_CUT_OFF = "cut off by the limit"
_SEEN = ("scene", "style", "depth", "objects", "profiles")
"""Evidence of what a judge saw in an image; how close it came to seeing something else hangs on the processor."""
_DETECTOR_TOLERANCE = 5.0
"""How far a box may lie from where a network finds it on another processor, on a canvas of 1000."""


RULE = "rule"
"""In the evidence of a verdict that no judge was needed for."""
FLAT = "flat colour"
"""The rule about all images; those about layouts are of the judges of layouts."""


def score_problem(verdict: Verdict | Unscored, score: float | None) -> str | None:
    """Return why a stored score is not that of the verdict's parts; None if it is."""
    made = verdict.score if isinstance(verdict, Verdict) else None
    return None if is_same(score, made) else f"its score is {value_text(score)}, and its parts make {value_text(made)}"


def rule_problem(verdict: Verdict, *, judges_layouts: bool) -> str | None:
    """Return why a verdict cannot be one by a rule about the file, which fails and has no parts; None if it can."""
    rule = verdict.evidence[RULE]
    if rule != FLAT and not judges_layouts:
        return f"it fails by the rule {value_text(rule)}, which its judge does not have"
    is_other = verdict.passed or bool(verdict.parts)
    return "it fails by a rule about its file, and is stored as passed, or with parts" if is_other else None


def size_problem(data: bytes, width: object, height: object) -> str | None:
    """Return why an image does not have the size on record, on which boxes in pixels depend; None if it does."""
    size = image_size(data)
    if size == (width, height):
        return None
    stated = f"its record has {str(width)[:20]} x {str(height)[:20]} pixels"
    return f"{stated}, and it {'cannot be read' if size is None else f'has {size[0]} x {size[1]}'}"


async def record_problems(
    judge: RecordedJudge, item: Item[object], stored: Verdict | Unscored, size: tuple[int, int]
) -> list[str]:
    """Return what does not follow from the records of a verdict, made again by its judge."""
    source = "raw answers" if judge.source(item) == "answers" else "scene"
    verb = "make" if source == "raw answers" else "makes"
    try:
        made = await judge.judge(item, stored, size)
    except EvidenceError as error:
        if isinstance(stored, Unscored):
            raise
        return [str(error)]
    except FormalimgError as error:
        return [f"its {source} cannot be judged: {' '.join(str(error).split())}"]
    if isinstance(stored, Unscored):
        if isinstance(made, Unscored):
            return []
        if _is_excused(stored):
            raise EvidenceError("the server said that the answer is none")
        return [f"it is stored as unscored, and its {source} {verb} it {_word(made.passed)}"]
    if isinstance(made, Unscored):
        return [f"its {source} {verb.replace('make', 'give')} no verdict: {made.detail}"]
    return list(_verdict_differences(stored, made, f"its {source} {verb}"))


def _is_excused(stored: Unscored) -> bool:
    """Return whether an answer that can be read was none, by what the server said beside it."""
    return DECLINED in stored.detail or _CUT_OFF in stored.detail


async def image_problems(judge: Judge | None, item: Item[object], stored: Verdict | Unscored, data: bytes) -> list[str]:
    """Return what is not as it comes out when the image is looked at again."""
    image = inspect(data)
    if isinstance(image, Unscored):
        return [f"its image was made, and cannot be read: {image.detail}"]
    by_rule = fail_by_rule(image)
    if by_rule is None and judge is None:
        return ["it fails by a rule about its file, and the image is not so"]
    made = by_rule or (await judge.judge(item, image) if judge is not None else Unscored("not judged"))
    if isinstance(made, Unscored) or isinstance(stored, Unscored):
        was, now = (
            f"unscored ({verdict.reason})" if isinstance(verdict, Unscored) else _word(verdict.passed)
            for verdict in (stored, made)
        )
        return [] if was == now else [f"it is stored as {was}, and the image makes it {now}"]
    if judge is not None and judge.name.startswith("detector/"):  # whose last digits hang on the processor
        return _box_differences(stored.evidence.get("scene"), made.evidence.get("scene"))
    seen = {name: made.evidence[name] for name in _SEEN if name in made.evidence}
    return list(_verdict_differences(stored, replace(made, evidence=seen), "the image makes"))


def _verdict_differences(stored: Verdict, made: Verdict, makes: str) -> Iterator[str]:
    if made.passed != stored.passed:
        yield f"it is stored as {_word(stored.passed)}, and {makes} it {_word(made.passed)}"
    yield from _part_differences(stored.parts, made.parts, makes)
    kept, new = (_facts(evidence) for evidence in (stored.evidence, made.evidence))
    for where, old, value in value_differences({name: kept[name] for name in new if name in kept}, new):
        yield f"{where} is {value_text(old)}, and {makes} it {value_text(value)}"


def _part_differences(stored: Sequence[Part], made: Sequence[Part], makes: str) -> Iterator[str]:
    if [part.name for part in stored] != [part.name for part in made]:
        yield f"its {len(stored)} parts are not the {len(made)} that {makes}"
        return
    for old, new in zip(stored, made, strict=True):
        name = truncate(old.name, 80, 20)
        if not is_same(old.score, new.score):
            yield f"the part {name} is stored as {old.score:g}, and {makes} it {new.score:g}"
        elif not is_same(old.weight, new.weight):
            yield f"the part {name} has the weight {old.weight:g}, and {makes} it {new.weight:g}"
        elif (old.kind, old.about) != (new.kind, new.about) or not is_same(old.p_yes, new.p_yes):
            yield f"the part {name} is not the one that {makes}"


def _facts(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return evidence as plain data, without texts."""

    def without_texts(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: without_texts(inner) for name, inner in value.items() if name not in _TEXTS}
        return [without_texts(inner) for inner in value] if isinstance(value, list) else value

    facts: dict[str, Any] = without_texts(json.loads(json.dumps(dict(evidence))))
    return facts


def _box_differences(stored: Any, made: Any) -> list[str]:
    """Return whether two scenes have other objects, or the same at other places."""
    try:
        old, new = (sorted(map(_placed, scene["objects"])) for scene in (stored, made))
        is_close = [thing[:2] for thing in old] == [thing[:2] for thing in new] and all(
            abs(side - side_now) <= _DETECTOR_TOLERANCE
            for thing, thing_now in zip(old, new, strict=True)
            for side, side_now in zip(thing[2:], thing_now[2:], strict=True)
        )
    except (TypeError, KeyError, AttributeError, ValueError):
        is_close = False
    return [] if is_close else ["its scene is not the one that the judge finds in the image"]


def _placed(described: Mapping[str, Any]) -> tuple[Any, ...]:
    return (described["label"], described.get("color") or "", *described["box_2d"])


def _word(passed: bool) -> str:
    return "passed" if passed else "failed"
