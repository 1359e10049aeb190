"""The authors' rule for detections, as in the paper and as trainers use it (flow_grpo): verdicts and reasons."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from formalimg.benchmarks.geneval.form import parse_metadata
from formalimg.benchmarks.object_spec import RELATIONS, IncludedObjects, ObjectSpec
from formalimg.errors import FormalimgError

THRESHOLD = 0.3
COUNTING_THRESHOLD = 0.9  # Boxes count if their confidence is higher; for the tag `counting`, higher than the second
MAX_OBJECTS = 16  # The most boxes of a class that count, those of the highest confidence
_MARGIN = 0.1
_SAME_PLACE = 1e-3
_DIRECTION = 0.5


class RuleBox(NamedTuple):
    """A detected box in pixels, with its confidence and colour."""

    box: tuple[float, float, float, float]
    score: float
    color: str | None


class RuleCheck(NamedTuple):
    """A single check of the rule."""

    name: str  # what is asked for, such as `2 cups` or `cup left of dog`
    kind: str  # object, count, attribute or relation
    about: tuple[str, ...]  # the words it is about: classes, colours, relations
    passed: bool  # whether the detections have it
    reason: str = ""  # why it failed; empty if it passed, or was not looked at because something before it had failed


class DetectionVerdict(NamedTuple):
    """The verdict of the rule on the detections of one image."""

    passed: bool  # whether all is there, and nothing that must not be
    reasons: tuple[str, ...]  # why not, one line each; empty if it passed
    score: float  # 1 or 0; of the strict variant its graded score, which can be below 0 if far too much is there
    checks: tuple[RuleCheck, ...]  # everything that was asked for, in the order of the metadata


def official_verdict(
    metadata: Mapping[str, Any] | ObjectSpec,
    detections: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    strict: bool = False,
    threshold: float = THRESHOLD,
    counting_threshold: float = COUNTING_THRESHOLD,
) -> DetectionVerdict:
    """Judge the detections of one image by GenEval's rule.

    Args:
        metadata: a line of `evaluation_metadata.jsonl`.
        detections: by class, `{"box": [x0, y0, x1, y1], "score": 0.9, "color": "red"}` in pixels, in any order. A box
            without `score` is certain; one without `color` has none of the colours.
        strict: whether to judge as flow_grpo does, requiring exactly the requested number of boxes of each class.
        threshold: the confidence that boxes must exceed.
        counting_threshold: the same for the tag `counting`.

    Raises:
        FormalimgError: if the metadata or a detection is malformed.
    """
    spec = metadata if isinstance(metadata, ObjectSpec) else parse_metadata(metadata)
    above = counting_threshold if spec.tag == "counting" else threshold
    boxes = {
        label: confident_boxes(label, detections.get(label, ()), above)[:MAX_OBJECTS] for label in spec.object_classes
    }
    judged = _RuleRun(spec, boxes, strict)
    reasons = tuple(check.reason for check in judged.checks if check.reason)
    score = float(not reasons)
    if strict:  # the graded score of flow_grpo
        score = sum(judged.rewards) / len(judged.rewards) if judged.rewards else 0.0
    return DetectionVerdict(not reasons, reasons, score, tuple(judged.checks))


def relations_between(box: Sequence[float], target: Sequence[float]) -> tuple[str, ...]:
    """Return the directions of a box relative to a target: zero, one or two of `RELATIONS`.

    The offset of the centres is reduced along each axis by a tenth of both widths (or heights); a relation holds if the
    reduced offset along its axis is more than half of the distance between the centres.
    """
    offsets, shortened = [], []
    for low in (0, 1):
        offset = (box[low] + box[low + 2]) / 2 - (target[low] + target[low + 2]) / 2
        sides = abs(box[low + 2] - box[low]) + abs(target[low + 2] - target[low])
        offsets.append(offset)
        shortened.append(math.copysign(max(abs(offset) - _MARGIN * sides, 0.0), offset))
    if all(abs(length) < _SAME_PLACE for length in shortened):
        return ()
    distance = math.sqrt(offsets[0] * offsets[0] + offsets[1] * offsets[1])
    across, down = shortened[0] / distance, shortened[1] / distance
    holds = (across < -_DIRECTION, across > _DIRECTION, down < -_DIRECTION, down > _DIRECTION)
    return tuple(relation for relation, applies in zip(RELATIONS, holds, strict=True) if applies)


class _RuleRun:
    """A single evaluation of the rule, collecting checks and rewards."""

    def __init__(self, spec: ObjectSpec, detected: Mapping[str, Sequence[RuleBox]], strict: bool) -> None:
        self.checks: list[RuleCheck] = []
        self.rewards: list[float] = []
        self._strict = strict
        groups: list[Sequence[RuleBox] | None] = []
        for included in spec.include:
            boxes = detected[included.label]
            group = boxes if strict else boxes[: included.count]
            matched = self._check_count(included, len(boxes))
            if not matched and (included.color or included.relation):
                self.rewards.append(0.0)
            if included.color:
                matched = self._check_color(included, group, matched)
            if included.target is not None:
                target = spec.include[included.target].label
                matched = self._check_position(included, group, target, groups[included.target], matched)
            groups.append(group if matched else None)
        # Where numbers are exact there is nothing to exclude, and flow_grpo does not look at it.
        for absent in () if strict else spec.exclude:
            number = len(detected[absent.label])
            few = number < absent.count
            reason = "" if few else f"fewer than {absent.count} {absent.label} wanted, {number} found"
            name = f"fewer than {absent.count} {absent.label}"
            self.checks.append(RuleCheck(name, "count", (absent.label,), few, reason))

    def _check_count(self, included: IncludedObjects, number: int) -> bool:
        enough = number == included.count if self._strict else number >= included.count
        self.rewards.append(1 - abs(included.count - number) / included.count)
        qualifier = "exactly " if self._strict else ""
        reason = "" if enough else f"{qualifier}{included.count} {included.label} wanted, {number} found"
        kind = "object" if included.count == 1 else "count"
        self.checks.append(RuleCheck(f"{included.count} {included.label}", kind, (included.label,), enough, reason))
        return enough

    def _check_color(self, included: IncludedObjects, group: Sequence[RuleBox], matched: bool) -> bool:
        words = (included.color, included.label)
        name = f"{included.color} {included.label}"
        if not matched:
            self.checks.append(RuleCheck(name, "attribute", words, False))
            return False
        right = sum(box.color == included.color for box in group)
        self.rewards.append(1 - abs(included.count - right) / included.count)
        reason = ""
        if right < included.count:
            colors = [box.color or "no colour" for box in group]
            counts = ", ".join(f"{colors.count(color)} {color}" for color in dict.fromkeys(colors))
            reason = f"{included.count} {name} wanted, {right} found: {counts}"
        self.checks.append(RuleCheck(name, "attribute", words, not reason, reason))
        return not reason

    def _check_position(
        self,
        included: IncludedObjects,
        group: Sequence[RuleBox],
        target: str,
        targets: Sequence[RuleBox] | None,
        matched: bool,
    ) -> bool:
        words = (included.relation, included.label, target)
        name = f"{included.label} {included.relation} {target}"
        if not matched:
            self.checks.append(RuleCheck(name, "relation", words, False))
            return False
        if targets is None:
            self.rewards.append(0.0)
            reason = f"{name} wanted, and the {target} it refers to was not found as asked"
        else:
            reason = next(_find_misplaced(included, group, targets, name), "")
            # A wrong place adds 0 and, as in the published code, 1 behind it.
            self.rewards += [0.0, 1.0] if reason else [1.0]
        self.checks.append(RuleCheck(name, "relation", words, not reason, reason))
        return not reason


def _find_misplaced(
    included: IncludedObjects, group: Sequence[RuleBox], targets: Sequence[RuleBox], name: str
) -> Iterator[str]:
    for box in group:
        for target in targets:
            relations = relations_between(box.box, target.box)
            if included.relation not in relations:
                yield f"{name} wanted, found {' and '.join(relations) or 'in no clear direction'}"


def confident_boxes(
    label: str, detections: Sequence[Mapping[str, Any]], threshold: float, scale: float = 1.0
) -> list[RuleBox]:
    """Return the boxes above a confidence, sorted by descending confidence; ties keep their input order."""
    boxes = []
    for detection in detections:
        try:
            x0, top, right, bottom = (float(number) * scale for number in detection["box"])
            score, color = float(detection.get("score", 1.0)), detection.get("color")
        except (KeyError, TypeError, ValueError, AttributeError):
            x0 = top = right = bottom = score = math.nan
            color = None
        if not all(map(math.isfinite, (x0, top, right, bottom, score))):
            raise FormalimgError(
                f"a detection of {label!r} is malformed: give box (four numbers in pixels), score and color"
            )
        if score > threshold:
            boxes.append(RuleBox((x0, top, right, bottom), score, None if color is None else str(color)))
    return sorted(boxes, key=lambda box: -box.score)
