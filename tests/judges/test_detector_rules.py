"""From the boxes of a detector to objects: by rule, and never outside the canvas."""

from __future__ import annotations

import math
import re
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.judges.boxes import MIN_BOX_SIDE, ScoredBox, box_overlap, suppress_overlaps
from formalimg.judges.factory import open_grounder
from formalimg.judges.grounders.detector import detector_family
from formalimg.scenes.objects import CANVAS, Box

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
