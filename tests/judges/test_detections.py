"""Object detectors: the arrays they answer with, and the rules from boxes to scenes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.judges.boxes import MIN_BOX_SIDE, ScoredBox, box_overlap, suppress_overlaps
from formalimg.judges.factory import open_grounder
from formalimg.judges.grounders.coco import MAX_BOXES, decode_output
from formalimg.judges.grounders.detector import detector_family
from formalimg.judges.grounders.detector_files import DetectorClasses, coco_classes
from formalimg.scenes.objects import CANVAS, Box

SIZE = 320
COCO = coco_classes()


class Candidate(NamedTuple):
    label: str
    score: float
    box: tuple[float, float, float, float]


def ssd(candidates: list[Candidate]) -> NDArray[Any]:
    rows = [[0, COCO.ids[one.label], one.score, *one.box] for one in candidates]
    return np.array([[rows]], dtype=np.float32)


def yolo(candidates: list[Candidate]) -> NDArray[Any]:
    return np.array([[[*_centred(one), *_scores(one)] for one in candidates]], dtype=np.float32)


def yolo_across(candidates: list[Candidate]) -> NDArray[Any]:
    return yolo(candidates).transpose(0, 2, 1)


def yolo_with_objectness(candidates: list[Candidate]) -> NDArray[Any]:
    rows = [[*_centred(one), 0.5, *(2 * score for score in _scores(one))] for one in candidates]
    return np.array([rows], dtype=np.float32)


def end_to_end(candidates: list[Candidate]) -> NDArray[Any]:
    rows = [[*(SIZE * x for x in one.box), one.score, COCO.in_order.index(one.label)] for one in candidates]
    return np.array([rows], dtype=np.float32)


def darknet(candidates: list[Candidate]) -> NDArray[Any]:
    rows = [[*(number / SIZE for number in _centred(one)), 0.99, *_scores(one)] for one in candidates]
    return np.array(rows, dtype=np.float32)


def _centred(one: Candidate) -> list[float]:
    left, top, right, bottom = (SIZE * number for number in one.box)
    return [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]


def _scores(one: Candidate) -> list[float]:
    return [one.score if name == one.label else 0.01 for name in COCO.in_order]


LAYOUTS = [ssd, yolo, yolo_across, yolo_with_objectness, end_to_end, darknet]
FRACTION = st.floats(0, 1, width=32)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        st.sampled_from(COCO.in_order),
        st.integers(5, 99).map(lambda number: number / 100),
        st.tuples(FRACTION, FRACTION, FRACTION, FRACTION),
    ),
    min_size=1,
    max_size=5,  # an array of 84 by 6 could be of two layouts
)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(candidates=CANDIDATES)
def test_every_layout_gives_the_boxes_that_reach_the_threshold(
    layout: Callable[[list[Candidate]], NDArray[Any]], candidates: list[Candidate]
) -> None:
    labels, scores, boxes = decode_output(layout(candidates), COCO, SIZE, 0.495)
    expected = sorted((one for one in candidates if one.score >= 0.5), key=lambda one: -one.score)
    assert labels == [one.label for one in expected]
    assert scores == pytest.approx([one.score for one in expected], abs=1e-6)
    assert boxes.tolist() == [pytest.approx(one.box, abs=1e-5) for one in expected]


def test_ids_without_a_class_are_left_out() -> None:
    rows = [[0, 12, 0.9, 0, 0, 1, 1], [0, 47, 0.8, 0, 0, 1, 1], [0, 0, 0.7, 0, 0, 1, 1]]
    assert decode_output(np.array([[rows]]), COCO, SIZE, 0.5)[0] == ["cup"]


def test_the_surest_of_very_many_boxes_are_kept() -> None:
    many = [Candidate("cup", number / 1000, (0, 0, 1, 1)) for number in range(500)]
    labels, scores, _ = decode_output(ssd(many), COCO, SIZE, 0)
    assert len(labels) == MAX_BOXES
    assert scores[0] == pytest.approx(0.499)


@pytest.mark.parametrize("shape", [(100, 7), (1, 100, 7), (2, 84, 100), (1, 1, 100, 6), (1, 85, 100), (100, 84)])
def test_other_layouts_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(FormalimgError, match=r"has no known layout.*exported YOLO"):
        decode_output(np.zeros(shape), COCO, SIZE, 0.5)


def test_a_shape_that_fits_two_layouts_is_refused() -> None:
    with pytest.raises(FormalimgError, match="fits several layouts"):
        decode_output(np.zeros((1, 50, 6)), DetectorClasses({"cup": 1}), SIZE, 0.5)


# --- rules from boxes to scenes

NUMBERS = st.floats(-300, 1300)
FOUND = st.lists(
    st.builds(
        ScoredBox,
        st.sampled_from(["cup", "pen"]),
        st.floats(0, 1),
        st.builds(Box, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    ),
    max_size=12,
)


@given(FOUND, st.floats(0.01, 1))
def test_what_is_kept_lies_on_the_canvas_and_does_not_overlap(found: list[ScoredBox], most: float) -> None:
    kept, dropped = suppress_overlaps(found, most)
    assert len(kept) + len(dropped) == len(found)
    for place, one in enumerate(kept):
        assert 0 <= one.box.xmin <= one.box.xmax - MIN_BOX_SIDE <= CANVAS - MIN_BOX_SIDE
        assert 0 <= one.box.ymin <= one.box.ymax - MIN_BOX_SIDE <= CANVAS - MIN_BOX_SIDE
        assert all(box_overlap(one.box, other.box) < most for other in kept[:place])
    assert [one.score for one in kept] == sorted((one.score for one in kept), reverse=True)


@given(FOUND, st.floats(0.01, 1))
def test_what_is_dropped_was_no_object_or_stood_behind_a_surer_one(found: list[ScoredBox], most: float) -> None:
    kept, dropped = suppress_overlaps(found, most)
    for one in dropped:
        alone, _ = suppress_overlaps([one], most)
        assert not alone or any(
            other.score >= one.score and box_overlap(other.box, alone[0].box) >= most for other in kept
        )


def test_of_two_boxes_of_one_object_the_surer_is_kept_whatever_its_class() -> None:
    pen, cup = ScoredBox("pen", 0.6, Box(100, 100, 300, 300)), ScoredBox("cup", 0.7, Box(110, 100, 300, 300))
    small = ScoredBox("pen", 0.5, Box(150, 150, 200, 200))
    assert suppress_overlaps([pen, cup, small], 0.5) == ((cup, small), (pen,))


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_broken_detector_is_noticed(number: float) -> None:
    with pytest.raises(ValueError, match="the detector gave"):
        suppress_overlaps([ScoredBox("cup", 0.5, Box(0, 0, number, 10))], 0.5)


def test_families_are_told_by_their_names() -> None:
    assert detector_family("google/owlv2-base-patch16-ensemble").together
    assert not detector_family("IDEA-Research/grounding-dino-tiny").together
    assert detector_family("somebody/new").query == "{class}"


def test_without_the_libraries_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("formalimg.models.registry"), "find_spec", lambda name: None)
    with pytest.raises(FormalimgError, match=re.escape(install_line("local"))):
        open_grounder("detector/google/owlv2-base-patch16-ensemble")
