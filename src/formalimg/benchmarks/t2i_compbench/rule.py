"""Scoring rules of T2I-CompBench: probabilities of noun phrases, and positions and counts of boxes.

Pure functions on what a prompt asks for and what a model saw. `as_code` follows the published code where it does
something else than the paper says; `docs/reference/suites/t2i-compbench.md` lists these places.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.benchmarks.t2i_compbench.composition import (
    COMPOSITION_TASKS,
    COUNT,
    OBJECT,
    RELATION,
    CompositionTask,
    Relation,
    find_asked_phrases,
    find_class,
    find_counted_objects,
    find_placed_objects,
    read_prompt,
)
from formalimg.errors import FormalimgError

DETECTION_THRESHOLD = 0.5  # Boxes count if their confidence is higher
_SHORT_SIDE, _LONG_SIDE = 479, 480
"""Images are scaled to this before objects are detected, and distances are in pixels of that size."""
_NEAR = 150.0
_MAX_IOU = 0.1
_SAME_BOX = 0.9
_LEAST_SCORE = 0.5
_AXES: Mapping[str, tuple[int, int]] = {"left of": (0, 1), "right of": (0, -1), "above": (1, 1), "below": (1, -1)}
"""The axis of each relation, and the sign that the way from the first centre to the second has on it."""


class _ScaledBox(NamedTuple):
    """A box in pixels of the scaled image, with its confidence."""

    edges: tuple[float, float, float, float]
    score: float


class ScoredCheck(NamedTuple):
    """A single check with its score."""

    name: str  # what is asked for, in the words of the item's question
    kind: str  # attribute, object, count or relation
    about: tuple[str, ...]  # the words it is about
    score: float  # 0 to 1
    weight: float  # how much of the score of the image it is; 0 for factors of a product
    reason: str = ""  # why it has less than the full score; empty if it has it


class CompositionVerdict(NamedTuple):
    """The verdict of a rule on one image."""

    # whether the image shows all of it: every phrase is likelier than not, both objects stand as asked, or every
    # number is right. The published scores have no such threshold
    passed: bool
    score: float  # the published score, 0 to 1
    checks: tuple[ScoredCheck, ...]  # everything that was asked for, in the order of the questions

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons for an incomplete score, one line each."""
        return tuple(check.reason for check in self.checks if check.reason)


def official_verdict(
    metadata: Mapping[str, Any],
    *,
    probabilities: Sequence[float] | None = None,
    detections: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    size: tuple[float, float] = (512, 512),
    as_code: bool = False,
) -> CompositionVerdict:
    """Judge one image by the published rule of its task.

    Args:
        metadata: `{"task": "spatial", "prompt": "a cat on the left of a dog"}`.
        probabilities: for color, shape and texture, P(yes) of each noun phrase, in their order.
        detections: for spatial and numeracy, by class `{"box": [x0, y0, x1, y1], "score": 0.9}` in pixels, in any
            order. A box without `score` is certain.
        size: width and height of the image in pixels.
        as_code: whether to follow the published code to the letter.

    Raises:
        FormalimgError: if the metadata or what was seen is malformed, or the prompt cannot be read.
    """
    task, prompt = metadata.get("task"), metadata.get("prompt")
    if task not in COMPOSITION_TASKS or not isinstance(prompt, str):
        raise FormalimgError(f"task must be one of {', '.join(COMPOSITION_TASKS)}, and prompt a text")
    spec = read_prompt(cast(CompositionTask, task), prompt)
    if not spec.questions:
        raise FormalimgError(f"the prompt asks for nothing that {task} knows: {prompt[:80]!r}")
    if find_asked_phrases(spec):
        return attribute_verdict(spec, probabilities or (), as_code=as_code)
    return box_verdict(spec, detections or {}, size, as_code=as_code)


def attribute_verdict(
    spec: QuestionSpec, probabilities: Sequence[float], *, as_code: bool = False
) -> CompositionVerdict:
    """Score an image as the product of the probabilities of its noun phrases."""
    phrases = find_asked_phrases(spec)
    if len(probabilities) != len(phrases) or not all(0 <= chance <= 1 for chance in probabilities):
        raise FormalimgError(f"give a probability from 0 to 1 for each of: {', '.join(phrases)}")
    chances = [round(chance, 4) for chance in probabilities] if as_code else list(probabilities)
    checks = tuple(
        ScoredCheck(f"{phrase}?", "attribute", (phrase,), chance, 0.0, _explain_doubt(phrase, chance))
        for phrase, chance in zip(phrases, chances, strict=True)
    )
    score = math.prod(chances)
    return CompositionVerdict(all(chance > 0.5 for chance in chances), round(score, 4) if as_code else score, checks)


def _explain_doubt(phrase: str, chance: float) -> str:
    return "" if chance > 0.5 else f"{phrase} wanted, P(yes) is {chance:.2f}"


def box_verdict(
    spec: QuestionSpec,
    detections: Mapping[str, Sequence[Mapping[str, Any]]],
    size: tuple[float, float],
    *,
    threshold: float = DETECTION_THRESHOLD,
    as_code: bool = False,
) -> CompositionVerdict:
    """Judge an image by its boxes: the positions of two objects, or the count of each object."""
    scale = min(_SHORT_SIDE / min(size), _LONG_SIDE / max(size)) if min(size) > 0 else 1.0
    boxes = {label: _confident_boxes(label, detected, scale, threshold) for label, detected in detections.items()}
    if find_placed_objects(spec) is not None:
        return _spatial_verdict(spec, boxes, as_code)
    if find_counted_objects(spec):
        return _numeracy_verdict(spec, boxes, as_code)
    raise FormalimgError("the item names neither a relation nor numbers: it does not go by boxes")


def position_score(relation: Relation, first: Sequence[float], second: Sequence[float], *, as_code: bool) -> float:
    """Return how well two boxes satisfy a relation, from 0 to 1, in pixels of the scaled image.

    Centres that are near have 1, and farther ones less the farther they are. For a direction, the way between the
    centres must be longer along its axis than across; boxes that overlap have less the more they do.
    """
    # Centre by centre, so that a box is no rounding error away from itself.
    way = [(second[n] + second[n + 2]) / 2 - (first[n] + first[n + 2]) / 2 for n in (0, 1)]
    if relation == "near":
        apart = [abs(length) for length in way]
        # The published code is content with one axis, however far apart they are on the other.
        close = min(apart) if as_code else max(apart)
        return 1.0 if close < _NEAR else _NEAR / max(apart)
    axis, sign = _AXES[relation]
    if way[axis] * sign <= 0 or abs(way[axis]) <= abs(way[1 - axis]):
        return 0.0
    overlap = _intersection_over_union(first, second)
    return 1.0 if overlap < _MAX_IOU else _MAX_IOU / overlap


def _spatial_verdict(
    spec: QuestionSpec, boxes: Mapping[str, Sequence[_ScaledBox]], as_code: bool
) -> CompositionVerdict:
    placed = find_placed_objects(spec)
    assert placed is not None, "asked before"
    labels = [find_class(word, counting=False) for word in (placed.first, placed.second)]
    detected: list[_ScaledBox | None] = [next(iter(boxes.get(label, ())), None) for label in labels]
    same = labels[0] == labels[1] and not as_code
    if same:  # two things of one class are two boxes; the published code takes one box for both
        detected[1] = next(iter(boxes.get(labels[1], ())[1:]), None)
    position = 0.0
    if detected[0] is not None and detected[1] is not None and not (as_code and placed.phrase == "on top of"):
        pair = (detected[0].edges, detected[1].edges)
        orders = (pair, pair[::-1]) if same else (pair,)
        position = max(position_score(placed.relation, *order, as_code=as_code) for order in orders)
    objects = [
        ScoredCheck(
            f"{word}?",
            OBJECT,
            (word,),
            box.score if box else 0.0,
            0.25,
            "" if box else f"{label} wanted, {'one of two' if same and any(detected) else 'none'} found",
        )
        for word, label, box in zip((placed.first, placed.second), labels, detected, strict=True)
    ]
    reason = "" if position == 1 else f"{' '.join(placed)} wanted, position score {position:.2f}"
    relation = ScoredCheck(f"{' '.join(placed)}?", RELATION, tuple(placed), position, 0.5, reason)
    checks = (*objects, relation)
    score = sum(check.score * check.weight for check in checks)
    return CompositionVerdict(position == 1, 0.0 if score < _LEAST_SCORE else score, checks)


def _numeracy_verdict(
    spec: QuestionSpec, boxes: Mapping[str, Sequence[_ScaledBox]], as_code: bool
) -> CompositionVerdict:
    counted = find_counted_objects(spec)
    names = iter(question.question for question in spec.questions if question.category in (OBJECT, COUNT))
    numbers = {label: len(_drop_duplicates(detected)) for label, detected in boxes.items()}
    numbers = {label: number for label, number in numbers.items() if number}
    weight = 0.5 / len(counted)
    checks = []
    for word, count in counted:
        label = find_class(word, counting=True, as_code=as_code)
        if as_code and label not in numbers:
            _merge_matching_classes(numbers, label)
        number = numbers.get(label, 0)
        is_present, right = number > 0, number == count
        missing = "" if is_present else f"{label} wanted, none found"
        wrong = f"{count} {label} wanted, {number} found" if is_present and not right else ""
        checks.append(ScoredCheck(next(names), OBJECT, (word,), float(is_present), weight, missing))
        checks.append(ScoredCheck(next(names), COUNT, (word,), float(right), weight, wrong))
    score = sum(check.score * check.weight for check in checks)
    return CompositionVerdict(all(check.score == 1 for check in checks), score, tuple(checks))


def _merge_matching_classes(numbers: dict[str, int], label: str) -> None:
    """Merge all classes containing `label` into it, as in the published code, where a carrot counts as a car."""
    renamed = [name for name in numbers if label in name]
    total = sum(numbers.pop(name) for name in renamed)
    if total:
        numbers[label] = total


def _drop_duplicates(boxes: Sequence[_ScaledBox]) -> list[_ScaledBox]:
    """Remove boxes that almost coincide with, contain, or lie within a box of higher confidence."""
    distinct: list[_ScaledBox] = []
    for box in boxes:
        if not any(_is_same(box.edges, better.edges) for better in distinct):
            distinct.append(box)
    return distinct


def _is_same(first: Sequence[float], second: Sequence[float]) -> bool:
    # Here edges are pixels that belong to the box, so that a side is one longer.
    shared = _overlap_area(first, second, 1)
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (first, second)]
    return any(area > 0 and shared / area > _SAME_BOX for area in (sum(areas) - shared, *areas))


def _intersection_over_union(first: Sequence[float], second: Sequence[float]) -> float:
    shared = _overlap_area(first, second, 0)
    union = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)) - shared
    return shared / union if union > 0 else 0.0


def _overlap_area(first: Sequence[float], second: Sequence[float], more: int) -> float:
    sides = (max(0.0, min(first[n + 2], second[n + 2]) - max(first[n], second[n]) + more) for n in (0, 1))
    return math.prod(sides)


def _confident_boxes(
    label: str, detections: Sequence[Mapping[str, Any]], scale: float, threshold: float
) -> list[_ScaledBox]:
    """Return the boxes above a confidence, sorted by descending confidence; ties keep their input order."""
    read = [_read_detection(label, detection, scale) for detection in detections]
    return sorted((box for box in read if box.score > threshold), key=lambda box: -box.score)


def _read_detection(label: str, detection: Mapping[str, Any], scale: float) -> _ScaledBox:
    try:
        x0, top, right, bottom = (float(number) * scale for number in detection["box"])
        score = float(detection.get("score", 1.0))
    except (KeyError, TypeError, ValueError, AttributeError):
        x0 = top = right = bottom = score = math.nan
    if not all(map(math.isfinite, (x0, top, right, bottom, score))):
        raise FormalimgError(f"{label}: a detection must have a box of four numbers, in pixels, and a score")
    return _ScaledBox((x0, top, right, bottom), score)
