"""Scoring rules of T2I-CompBench on noun phrases and boxes; `as_code` follows the published code where it differs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from formalimg.benchmarks.geneval.rule import RuleBox, confident_boxes
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.benchmarks.t2i_compbench.composition import (
    COMPOSITION_TASKS,
    COUNT,
    OBJECT,
    RELATION,
    CompositionTask,
    CountedObject,
    PlacedObjects,
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
        FormalimgError: if the metadata, probabilities or detections are malformed, or the prompt cannot be parsed.
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
    checks = []
    for phrase, chance in zip(phrases, chances, strict=True):
        reason = "" if chance > 0.5 else f"{phrase} wanted, P(yes) is {chance:.2f}"
        checks.append(ScoredCheck(f"{phrase}?", "attribute", (phrase,), chance, 0.0, reason))
    score = round(math.prod(chances), 4) if as_code else math.prod(chances)
    return CompositionVerdict(all(chance > 0.5 for chance in chances), score, tuple(checks))


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
    boxes = {label: confident_boxes(label, detected, threshold, scale) for label, detected in detections.items()}
    if placed := find_placed_objects(spec):
        return _spatial_verdict(placed, boxes, as_code)
    if counted := find_counted_objects(spec):
        return _numeracy_verdict(spec, counted, boxes, as_code)
    raise FormalimgError("the item names neither a relation nor numbers: it does not go by boxes")


def position_score(relation: Relation, first: Sequence[float], second: Sequence[float], *, as_code: bool) -> float:
    """Return how well two boxes satisfy a relation, from 0 to 1, in pixels of the scaled image.

    For nearness, close centres score 1, and more distant ones less. For a direction, the offset of the centres must be
    larger along its axis than across it; the score decreases with the overlap of the boxes.
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
    shared = _overlap_area(first, second, 0)
    union = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)) - shared
    overlap = shared / union if union > 0 else 0.0
    return 1.0 if overlap < _MAX_IOU else _MAX_IOU / overlap


def _spatial_verdict(
    placed: PlacedObjects, boxes: Mapping[str, Sequence[RuleBox]], as_code: bool
) -> CompositionVerdict:
    words = (placed.first, placed.second)
    labels = [find_class(word, counting=False) for word in words]
    detected: list[RuleBox | None] = [next(iter(boxes.get(label, ())), None) for label in labels]
    same = labels[0] == labels[1] and not as_code
    if same:  # two things of one class are two boxes; the published code takes one box for both
        detected[1] = next(iter(boxes.get(labels[1], ())[1:]), None)
    position = 0.0
    if detected[0] and detected[1] and not (as_code and placed.phrase == "on top of"):
        pair = (detected[0].box, detected[1].box)
        orders = (pair, pair[::-1]) if same else (pair,)
        position = max(position_score(placed.relation, *order, as_code=as_code) for order in orders)
    checks = []
    for word, label, box in zip(words, labels, detected, strict=True):
        number = "one of two" if same and any(detected) else "none"
        reason = "" if box else f"{label} wanted, {number} found"
        checks.append(ScoredCheck(f"{word}?", OBJECT, (word,), box.score if box else 0.0, 0.25, reason))
    sentence = " ".join(placed)
    reason = "" if position == 1 else f"{sentence} wanted, position score {position:.2f}"
    checks.append(ScoredCheck(f"{sentence}?", RELATION, tuple(placed), position, 0.5, reason))
    score = sum(check.score * check.weight for check in checks)
    return CompositionVerdict(position == 1, 0.0 if score < _LEAST_SCORE else score, tuple(checks))


def _numeracy_verdict(
    spec: QuestionSpec, counted: Sequence[CountedObject], boxes: Mapping[str, Sequence[RuleBox]], as_code: bool
) -> CompositionVerdict:
    names = iter(question.question for question in spec.questions if question.category in (OBJECT, COUNT))
    numbers = {label: len(_drop_duplicates(detected)) for label, detected in boxes.items() if detected}
    weight = 0.5 / len(counted)
    checks = []
    for word, count in counted:
        label = find_class(word, counting=True, as_code=as_code)
        if as_code and label not in numbers:
            # In the published code, a carrot counts as a car.
            total = sum(numbers.pop(name) for name in [name for name in numbers if label in name])
            numbers |= {label: total} if total else {}
        number = numbers.get(label, 0)
        missing = "" if number else f"{label} wanted, none found"
        wrong = f"{count} {label} wanted, {number} found" if number not in (0, count) else ""
        checks.append(ScoredCheck(next(names), OBJECT, (word,), float(number > 0), weight, missing))
        checks.append(ScoredCheck(next(names), COUNT, (word,), float(number == count), weight, wrong))
    score = sum(check.score * check.weight for check in checks)
    return CompositionVerdict(all(check.score == 1 for check in checks), score, tuple(checks))


def _drop_duplicates(boxes: Sequence[RuleBox]) -> list[RuleBox]:
    """Remove boxes that almost coincide with, contain, or lie within a box of higher confidence."""
    distinct: list[RuleBox] = []
    for box in boxes:
        if not any(_is_same(box.box, better.box) for better in distinct):
            distinct.append(box)
    return distinct


def _is_same(first: Sequence[float], second: Sequence[float]) -> bool:
    # Here edges are pixels that belong to the box, so that a side is one longer.
    shared = _overlap_area(first, second, 1)
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (first, second)]
    return any(area > 0 and shared / area > _SAME_BOX for area in (sum(areas) - shared, *areas))


def _overlap_area(first: Sequence[float], second: Sequence[float], more: int) -> float:
    sides = (max(0.0, min(first[n + 2], second[n + 2]) - max(first[n], second[n]) + more) for n in (0, 1))
    return math.prod(sides)
