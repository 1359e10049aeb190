"""T2I-CompBench's scores once more, with arrays and flat lists and without the package's code: the oracle of the tests.

Detections are a flat list of (label, box, score), as a detector gives them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Found: TypeAlias = tuple[str, list[float], float]
_Numbers: TypeAlias = npt.NDArray[np.float64]

_PEOPLE = {"girl": "person", "boy": "person", "man": "person", "woman": "person"}
_COUNTED = {"ship": "boat", "goldfish": "fish", "painting": "picture"}
_WAYS = {"left": np.array([1, 0]), "right": np.array([-1, 0]), "top": np.array([0, 1]), "bottom": np.array([0, -1])}


def _ranked(found: list[Found], size: tuple[int, int]) -> list[tuple[str, _Numbers, float]]:
    """What counts, the surest first, in pixels of an image whose sides are at most 479 and 480."""
    shorter, longer = sorted(size)
    scale = 479 / shorter if longer * 479 / shorter <= 480 else 480 / longer
    sure = [(label, np.array(box, dtype=float) * scale, score) for label, box, score in found if score > 0.5]
    return sorted(sure, key=lambda one: one[2], reverse=True)


def _position(phrase: str, first: _Numbers, second: _Numbers, code: bool) -> float:
    centres = [box.reshape(2, 2).mean(axis=0) for box in (first, second)]
    gap = centres[1] - centres[0]
    if phrase in ("next to", "near", "on side of"):
        close = np.abs(gap) < 150
        if close.any() if code else close.all():
            return 1.0
        return float(150 / np.abs(gap).max())
    if phrase == "on top of" and code:
        return 0.0
    toward = _WAYS[phrase.split()[-2]] @ gap
    if not (toward > 0 and toward > np.abs(gap).min() and toward == np.abs(gap).max()):
        return 0.0
    low, high = np.maximum(first[:2], second[:2]), np.minimum(first[2:], second[2:])
    shared = float(np.clip(high - low, 0, None).prod())
    union = float(sum((box[2:] - box[:2]).prod() for box in (first, second))) - shared
    overlap = shared / union if union else 0.0
    return 1.0 if overlap < 0.1 else 0.1 / overlap


def expect_spatial(
    first: str, phrase: str, second: str, found: list[Found], size: tuple[int, int], *, code: bool
) -> float:
    """Return the score of two objects and a phrase for where the first is."""
    labels = [_PEOPLE.get(word, word) for word in (first, second)]
    ranked = _ranked(found, size)
    places = [[n for n, one in enumerate(ranked) if one[0] == label] for label in labels]
    if labels[0] == labels[1] and not code:
        places[1] = places[1][1:]
    there = [those[0] for those in places if those]
    score = 0.25 * sum(ranked[n][2] for n in there)
    if all(places):
        one, other = (ranked[n][1] for n in there)
        best = _position(phrase, one, other, code)
        if labels[0] == labels[1] and not code:
            best = max(best, _position(phrase, other, one, code))
        score += best / 2
    return score if score >= 0.5 else 0.0


def expect_numeracy(asked: list[tuple[str, int]], found: list[Found], size: tuple[int, int], *, code: bool) -> float:
    """Return the score of numbers of objects, whose words are in the singular."""
    kept: list[tuple[str, _Numbers]] = []
    for label, box, _ in _ranked(found, size):
        if not any(label == other and _covered(box, before) for other, before in kept):
            kept.append((label, box))
    names = [label for label, _ in kept]
    score = 0.0
    for word, number in asked:
        wanted = {**_PEOPLE, **_COUNTED, **({} if code else {"television": "tv"})}.get(word, word)
        if code and wanted not in names:
            names = [wanted if wanted in name else name for name in names]
        if wanted in names:
            score += 0.5 if names.count(wanted) != number else 1.0
    return score / len(asked)


def _covered(first: _Numbers, second: _Numbers) -> bool:
    inclusive = [np.concatenate([box[:2], box[2:] + 1]) for box in (first, second)]
    low, high = np.maximum(inclusive[0][:2], inclusive[1][:2]), np.minimum(inclusive[0][2:], inclusive[1][2:])
    shared = float(np.clip(high - low, 0, None).prod())
    areas = [float((box[2:] - box[:2]).prod()) for box in inclusive]
    return max(shared / (sum(areas) - shared), *(shared / area for area in areas)) > 0.9
