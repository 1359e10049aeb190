"""GenEval's rule once more, with arrays and without the package's code: the oracle of the tests."""

from __future__ import annotations

from typing import Any

import numpy as np

_DIRECTIONS = {"left of": (0, -1), "right of": (0, 1), "above": (1, -1), "below": (1, 1)}


def stands(relation: str, box: list[float], target: list[float]) -> bool:
    """Whether a box stands in a relation to a target."""
    corners = np.array([box, target], dtype=float).reshape(2, 2, 2)
    gap = np.subtract(*corners.mean(axis=1))
    sides = np.abs(corners[:, 1] - corners[:, 0]).sum(axis=0)
    revised = np.clip(np.abs(gap) - 0.1 * sides, 0, None) * np.sign(gap)
    if (np.abs(revised) < 1e-3).all():
        return False
    axis, sign = _DIRECTIONS[relation]
    return bool(sign * revised[axis] / np.linalg.norm(gap) > 0.5)


def expect(metadata: dict[str, Any], detections: dict[str, list[dict[str, Any]]]) -> tuple[bool, int]:
    """Return whether the image passes, and how many reasons it has for failing."""
    least = 0.9 if metadata["tag"] == "counting" else 0.3

    def boxes_of(name: str) -> list[dict[str, Any]]:
        ranked = sorted(detections.get(name, []), key=lambda one: one["score"], reverse=True)
        return [one for one in ranked if one["score"] > least][:16]

    failures = 0
    matched: dict[int, list[dict[str, Any]]] = {}
    for place, wanted in enumerate(metadata.get("include", [])):
        chosen = boxes_of(wanted["class"])[: wanted["count"]]
        if len(chosen) != wanted["count"]:
            failures += 1
            continue
        if "color" in wanted and {one["color"] for one in chosen} != {wanted["color"]}:
            failures += 1
            continue
        if "position" in wanted:
            relation, index = wanted["position"]
            if index not in matched:
                failures += 1
                continue
            if not all(stands(relation, one["box"], other["box"]) for one in chosen for other in matched[index]):
                failures += 1
                continue
        matched[place] = chosen
    failures += sum(len(boxes_of(banned["class"])) >= banned["count"] for banned in metadata.get("exclude", []))
    return failures == 0, failures


def expect_strict(metadata: dict[str, Any], detections: dict[str, list[dict[str, Any]]]) -> tuple[bool, float]:
    """Return the verdict and the graded score of flow_grpo's variant."""
    least = 0.9 if metadata["tag"] == "counting" else 0.3
    points: list[float] = []
    matched: dict[int, list[dict[str, Any]]] = {}
    for place, wanted in enumerate(metadata["include"]):
        chosen = [one for one in detections.get(wanted["class"], []) if one["score"] > least]
        number = min(len(chosen), 16)
        points.append(1 - abs(wanted["count"] - number) / wanted["count"])
        if number != wanted["count"]:
            points += [0] if {"color", "position"} & set(wanted) else []
            continue
        if "color" in wanted:
            right = [one["color"] for one in chosen].count(wanted["color"])
            points.append(right / number)
            if right != number:
                continue
        if "position" in wanted:
            relation, index = wanted["position"]
            if index not in matched:
                points.append(0)
                continue
            if not all(stands(relation, one["box"], other["box"]) for one in chosen for other in matched[index]):
                points += [0, 1]
                continue
            points.append(1)
        matched[place] = chosen
    return len(matched) == len(metadata["include"]), sum(points) / len(points)
