"""The authors' rule for detections, against a second implementation and case by case."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from formalimg.benchmarks.geneval.form import TAGS
from formalimg.benchmarks.geneval.rule import official_verdict, relations_between
from formalimg.benchmarks.object_spec import OBJECT_COLORS, RELATIONS
from formalimg.errors import FormalimgError
from tests.support.geneval_oracle import expect, expect_strict, stands
from tests.support.sizes import tries

CUP = {"class": "cup", "count": 1}


def box(x: float, y: float = 100, *, score: float = 0.95, color: str = "red", side: float = 40) -> dict[str, Any]:
    return {"box": [x, y, x + side, y + side], "score": score, "color": color}


def asked(*include: dict[str, Any], tag: str = "two_object", **more: Any) -> dict[str, Any]:
    return {"tag": tag, "include": list(include), "prompt": "a photo", **more}


def random_case(rng: random.Random) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Metadata in every mixture of the fields, with detections that often fit it."""
    classes = rng.sample(["cup", "dog", "car", "bench"], 3)
    include: list[dict[str, Any]] = []
    for place in range(rng.randint(1, 3)):
        entry: dict[str, Any] = {"class": rng.choice(classes), "count": rng.choice([1, 1, 1, 2, 3])}
        if rng.random() < 0.35:
            entry["color"] = rng.choice(OBJECT_COLORS[:2])
        if place and rng.random() < 0.6:
            entry["position"] = [rng.choice(RELATIONS), rng.randrange(place)]
        include.append(entry)
    metadata = asked(*include, tag=rng.choice(TAGS))
    if rng.random() < 0.3:
        metadata["exclude"] = [{"class": rng.choice(classes), "count": rng.randint(1, 4)}]
    grid = rng.choice([1, 20])  # coarse places give equal and aligned boxes
    detections = {
        name: [
            {
                "box": [
                    left := rng.randint(0, 400 // grid) * grid,
                    top := rng.randint(0, 400 // grid) * grid,
                    left + rng.randint(1, 100),
                    top + rng.randint(1, 100),
                ],
                "score": rng.choice([rng.random(), 0.3, 0.9, rng.uniform(0.9, 1)]),
                "color": rng.choice(OBJECT_COLORS[:2]) if rng.random() < 0.2 else OBJECT_COLORS[0],
            }
            for _ in range(rng.choice([0, 1, 1, 2, 3, 20]))
        ]
        for name in classes
        if rng.random() < 0.95
    }
    return metadata, detections


def test_verdicts_and_numbers_of_reasons_are_those_of_a_second_implementation() -> None:
    rng = random.Random(21)
    seen: Counter[object] = Counter()
    for _ in range(tries(700, 20_000)):
        metadata, detections = random_case(rng)
        found = official_verdict(metadata, detections)
        assert (found.passed, len(found.reasons)) == expect(metadata, detections), (metadata, detections)
        assert found.passed == all(check.passed for check in found.checks) == (found.score == 1)
        seen[found.passed, min(len(found.reasons), 2)] += 1
    assert min(seen[True, 0], seen[False, 1], seen[False, 2]) > 100, "cases of each kind are tried"


def test_strict_verdicts_and_scores_are_those_of_a_second_implementation() -> None:
    rng = random.Random(22)
    passed = 0
    for _ in range(tries(700, 20_000)):
        metadata, detections = random_case(rng)
        found = official_verdict(metadata, detections, strict=True)
        verdict, score = expect_strict(metadata, detections)
        assert found.passed == verdict, (metadata, detections)
        assert found.score == pytest.approx(score, abs=1e-12)
        assert found.passed == (not found.reasons)
        passed += found.passed
    assert passed > 20


def test_relations_are_those_of_a_second_implementation() -> None:
    rng = random.Random(23)
    seen: Counter[int] = Counter()
    for _ in range(tries(700, 20_000)):
        boxes = [[rng.uniform(0, 200) for _ in range(4)] for _ in range(2)]
        found = relations_between(*boxes)
        assert set(found) == {one for one in RELATIONS if stands(one, *boxes)}
        seen[len(found)] += 1
    assert all(seen[number] for number in (0, 1, 2))


@pytest.mark.parametrize(
    ("x", "y", "there"),
    [(200, 100, ("right of",)), (0, 100, ("left of",)), (100, 0, ("above",)), (100, 200, ("below",))],
)
def test_places_as_seen_from_the_target(x: float, y: float, there: tuple[str, ...]) -> None:
    assert relations_between(box(x, y)["box"], box(100, 100)["box"]) == there


def test_a_diagonal_has_two_relations_and_the_same_place_none() -> None:
    assert relations_between([200, 200, 210, 210], [0, 0, 10, 10]) == ("right of", "below")
    assert relations_between([0, 0, 10, 10], [0, 0, 10, 10]) == ()
    assert relations_between([7, 0, 47, 40], [0, 0, 40, 40]) == (), "the offset is less than a tenth of both widths"


def test_confidence_must_exceed_the_threshold_of_the_tag() -> None:
    assert not official_verdict(asked(CUP), {"cup": [box(0, score=0.3)]}).passed
    assert official_verdict(asked(CUP), {"cup": [box(0, score=0.31)]}).passed
    assert not official_verdict(asked(CUP, tag="counting"), {"cup": [box(0, score=0.9)]}).passed
    assert official_verdict(asked(CUP, tag="counting"), {"cup": [box(0, score=0.91)]}).passed
    assert official_verdict(asked(CUP), {"cup": [box(0, score=0.2)]}, threshold=0.1).passed
    assert official_verdict(asked(CUP, tag="counting"), {"cup": [box(0, score=0.5)]}, counting_threshold=0.4).passed


def test_the_colour_is_asked_of_the_most_confident_boxes_only() -> None:
    red = asked({**CUP, "color": "red"})
    cups = [box(0, score=0.8, color="blue"), box(100, score=0.7, color="red")]
    found = official_verdict(red, {"cup": cups})
    assert not found.passed
    assert found.reasons == ("1 red cup wanted, 0 found: 1 blue",)
    assert official_verdict(red, {"cup": [cups[0], {**cups[1], "score": 0.9}]}).passed


def test_an_unmatched_target_fails_whoever_refers_to_it() -> None:
    metadata = asked({**CUP, "color": "red"}, {"class": "dog", "count": 1, "position": ["right of", 0]})
    found = official_verdict(metadata, {"cup": [box(0, color="blue")], "dog": [box(200)]})
    assert len(found.reasons) == 2
    assert "refers to" in found.reasons[1]
    assert official_verdict(metadata, {"cup": [box(0)], "dog": [box(200)]}).passed


def test_too_many_fail_only_where_they_are_excluded_or_the_rule_is_strict() -> None:
    three = {"cup": [box(0), box(100), box(200)]}
    two = {"class": "cup", "count": 2}
    assert official_verdict(asked(two), three).passed
    found = official_verdict(asked(two, tag="counting", exclude=[{"class": "cup", "count": 3}]), three)
    assert found.reasons == ("fewer than 3 cup wanted, 3 found",)
    strict = official_verdict(asked(two), three, strict=True)
    assert strict.reasons == ("exactly 2 cup wanted, 3 found",)
    assert strict.score == 0.5


def test_at_most_sixteen_boxes_of_a_class_count() -> None:
    many = {"cup": [box(20 * place) for place in range(30)]}
    found = official_verdict(asked(CUP, exclude=[{"class": "cup", "count": 17}]), many)
    assert found.passed
    assert official_verdict(asked(CUP), many, strict=True).score == 1 - 15


def test_what_was_not_looked_at_fails_without_a_reason_of_its_own() -> None:
    metadata = asked(CUP, {"class": "dog", "count": 1, "color": "red", "position": ["above", 0]})
    found = official_verdict(metadata, {"cup": [box(0)]})
    assert [(check.kind, check.passed, bool(check.reason)) for check in found.checks] == [
        ("object", True, False),
        ("object", False, True),
        ("attribute", False, False),
        ("relation", False, False),
    ]


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"tag": "colors", "include": []}, "include"),
        (asked({"class": "cup"}), "count"),
        (asked({"class": "cup", "count": True}), "count"),
        (asked({"class": "", "count": 1}), "class"),
        (asked({**CUP, "color": 3}), "color"),
        (asked({**CUP, "position": ["above", 0]}), "position"),
        (asked(CUP, {**CUP, "position": ["beside", 0]}), "position"),
        (asked(CUP, exclude=[{"class": "cup", "count": "2"}]), "exclude"),
        (asked(CUP, exclude=3), "exclude"),
        ({"tag": 3, "include": [CUP]}, "tag"),
    ],
)
def test_malformed_metadata_is_named(metadata: dict[str, Any], named: str) -> None:
    with pytest.raises(FormalimgError, match=named):
        official_verdict(metadata, {})


@pytest.mark.parametrize(
    "detection", [{}, {"box": [1, 2, 3]}, {"box": [1, 2, 3, "x"]}, {"box": [1, 2, 3, float("nan")]}, 7]
)
def test_malformed_detections_are_refused(detection: Any) -> None:
    with pytest.raises(FormalimgError, match="cup"):
        official_verdict(asked(CUP), {"cup": [detection]})
