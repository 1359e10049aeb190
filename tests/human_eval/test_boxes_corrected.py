"""A grounder measured by corrected boxes: matching, precision, recall, F1 and colours, by hand and by other ways."""

from __future__ import annotations

import csv
import json
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.boxes import BoxCorrection, BoxStudy, study_boxes
from formalimg.human_eval.agreement.studies import human_study_text
from formalimg.judges.boxes import box_overlap, match_objects
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.stats.intervals import clopper_pearson
from tests.support.values import not_none


@st.composite
def _scenes(draw: st.DrawFn) -> Scene:
    objects = []
    for _ in range(draw(st.integers(0, 4))):
        x, y = draw(st.integers(0, 4)), draw(st.integers(0, 4))
        box = Box(x, y, x + draw(st.integers(1, 4)), y + draw(st.integers(1, 4)))
        objects.append(SceneObject(draw(st.sampled_from(["cup", "pen"])), box))
    return Scene.of(objects)


def _could_be(one: SceneObject, other: SceneObject, least: float) -> bool:
    return one.label == other.label and box_overlap(one.box, other.box) >= least


def _most(truth: Scene, found: Scene, least: float) -> int:
    few, many = sorted((truth.objects, found.objects), key=len)
    return max(
        sum(_could_be(one, other, least) for one, other in zip(few, chosen, strict=True))
        for chosen in permutations(many, len(few))
    )


@given(_scenes(), _scenes(), st.sampled_from([0.1, 0.5, 0.75, 0.9, 1.0]))
def test_matching_is_one_to_one_and_leaves_no_pair_behind(truth: Scene, found: Scene, least: float) -> None:
    matches = match_objects(truth, found, least)
    left_truth, left_found = list(truth.objects), list(found.objects)
    for pair in matches:
        assert _could_be(*pair, least)
        left_truth.remove(pair.truth)  # fails if an object is in two pairs
        left_found.remove(pair.found)
    assert not any(_could_be(one, other, least) for one in left_truth for other in left_found)
    most = _most(truth, found, least)
    assert most / 2 <= len(matches) <= most
    assert matches == match_objects(truth, found, 0.01)[: len(matches)]  # closest first, whatever the least
    assert len(match_objects(truth, truth, least)) == len(truth)


def test_what_is_no_overlap_is_refused() -> None:
    for wrong in (0.0, 1.1, -1.0, float("nan")):
        with pytest.raises(FormalimgError, match="more than 0 and at most 1"):
            match_objects(Scene.of([]), Scene.of([]), wrong)


def _obj(label: str, place: int, color: str | None = "red", width: int = 100) -> SceneObject:
    return SceneObject(label, Box(place * 110, 0, place * 110 + width, 100), color)


FOUND = Scene.of([_obj("cup", 0), _obj("cup", 1), _obj("pen", 2), _obj("pen", 3, "blue")])
BY_ANN = Scene.of([_obj("cup", 0), _obj("cup", 1, "blue"), _obj("pen", 2, width=80), _obj("key", 5)])
"""One box is narrower (IoU 0.8), one colour another, one pen is not there, and a key is missing."""

BY_BOB = Scene.of([_obj("cup", 0), _obj("cup", 1), _obj("pen", 2)])


def _studied(iou: float) -> BoxStudy:
    return study_boxes(
        [
            BoxCorrection("one", "1", 0, 1, "ann", FOUND, BY_ANN),
            BoxCorrection("one", "1", 0, 1, "bob", FOUND, BY_BOB),
            BoxCorrection("two", "2", 0, 2, "ann", None, Scene.of([_obj("cup", 0)])),
            BoxCorrection("two", "3", 0, 2, "bob", BY_BOB, BY_BOB),
        ],
        "knolling",
        iou=iou,
    )


def test_corrections_by_hand() -> None:
    """At 0.9 ann keeps 2 of 4 and has 4, bob 3 of 4 and has 3; one image was not read, one is all right."""
    found = _studied(0.9)
    boxes = found.overall
    assert (boxes.objects, boxes.found, boxes.matched) == (4 + 3 + 1 + 3, 4 + 4 + 0 + 3, 2 + 3 + 0 + 3)
    assert (boxes.precision.value, boxes.recall.value) == (8 / 11, 8 / 11)
    assert boxes.f1.value == pytest.approx(2 * 8 / 22)
    assert (boxes.color.happened, boxes.color.n) == (7, 8)
    assert (found.images, found.corrections, found.refused, found.unchanged) == (3, 4, 1, 1)
    by_class = found.by_class
    assert {label: (it.objects, it.found, it.matched) for label, it in by_class.items()} == {
        "key": (1, 0, 0),
        "pen": (3, 5, 2),
        "cup": (7, 6, 6),
    }
    assert list(by_class) == ["key", "pen", "cup"]  # the worst first
    assert (found.by_level[2].recall.value, found.by_run["one"].precision.value) == (3 / 4, 5 / 8)
    wider = _studied(0.5).overall
    assert (wider.matched, wider.color.happened) == (9, 8)  # the narrow pen counts


def test_people_are_measured_by_each_other() -> None:
    pair = _studied(0.9).between["bob"]["ann"]
    assert pair == (1, 3, 4, 2, 4 / 7)  # both cups; only one image has both
    assert _studied(0.5).between_mean == 6 / 7


def test_the_parser_of_the_paper_comes_out_of_the_same_functions() -> None:
    """100 images; 2581 of 2670 found boxes are right, of 2639 that are there; 2463 of them have the right colour."""
    corrections = []
    matched, extra, missed, wrong = 2581, 89, 58, 2581 - 2463
    for number in range(100):
        right = matched // 100 + (number < matched % 100)
        colors = wrong // 100 + (number < wrong % 100)
        kept = [SceneObject("cup", Box(10 * it, 0, 10 * it + 9, 9), "red") for it in range(right)]
        there = [*kept, *([SceneObject("pen", Box(0, 20, 9, 29), "red")] if number < missed else [])]
        seen = [SceneObject(it.label, it.box, "blue" if at < colors else "red") for at, it in enumerate(kept)]
        seen += [SceneObject("key", Box(0, 40, 9, 49), "red")] if number < extra else []
        corrections.append(BoxCorrection("run", str(number), 0, 1, "ann", Scene.of(seen), Scene.of(there)))
    boxes = study_boxes(corrections, "knolling").overall
    figures = (boxes.precision, boxes.recall, boxes.f1, boxes.color)
    assert [round(figure.value or 0, 4) for figure in figures] == [0.9667, 0.9780, 0.9723, 0.9543]
    for figure in figures:
        assert figure.interval is not None
        assert figure.interval.low < not_none(figure.value) < figure.interval.high


def test_one_image_each_has_the_exact_interval() -> None:
    one = Scene.of([_obj("cup", 0)])
    corrections = [
        BoxCorrection("run", str(number), 0, 1, "ann", one, one if number < 15 else Scene.of([_obj("pen", 0)]))
        for number in range(20)
    ]
    assert study_boxes(corrections, "knolling").overall.precision.interval == clopper_pearson(15, 20)


def test_every_form_tells_the_same() -> None:
    found = study_boxes([BoxCorrection("one", "1", 0, 1, rater, FOUND, BY_ANN) for rater in ("ann", "bob")], "knolling")
    data = json.loads(human_study_text([found], "json"))["boxes"][0]
    rows = list(csv.DictReader(human_study_text([found], "csv").splitlines()))
    whole = {row["figure"]: row for row in rows if not (row["level"] or row["kind"] or row["run"])}
    assert float(whole["precision"]["value"]) == data["overall"]["precision"]["value"] == 0.5
    assert float(whole["color accuracy"]["value"]) == data["overall"]["attributes"]["color"]["value"] == 0.5
    assert float(whole["F1 of two people"]["value"]) == 1
    words = human_study_text([found], "md")
    assert "overlap by 0.9 (IoU)" in words
    assert "| key | 0.0" not in words  # nothing was found that could be right or wrong …
    assert "| key | – | 0.0" in words  # … but a key is there


def test_no_corrections_and_double_ones_are_refused() -> None:
    with pytest.raises(FormalimgError, match="no rater has corrected"):
        study_boxes([], "knolling")
    with pytest.raises(FormalimgError, match="ann corrects item 1, sample 0, of one twice"):
        study_boxes([BoxCorrection("one", "1", 0, 1, "ann", FOUND, BY_ANN)] * 2, "knolling")


def test_the_order_of_corrections_does_not_matter() -> None:
    corrections = [BoxCorrection("one", it, 0, 1, rater, FOUND, BY_ANN) for it in "12" for rater in ("bob", "ann")]
    first = study_boxes(corrections, "knolling")
    for one, other in combinations(range(4), 2):
        corrections[one], corrections[other] = corrections[other], corrections[one]
        assert study_boxes(corrections, "knolling") == first
