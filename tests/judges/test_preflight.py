"""The drawings of a pre-flight: every way to write their boxes is told from every other, and from a slip."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.judges.grounders.boxes import BoxConvention, box_conventions
from formalimg.judges.known_drawings import SIZE, known_drawings
from formalimg.judges.preflight import other_convention
from formalimg.scenes import Box

DRAWINGS = known_drawings("scene", "knolling")
CONVENTIONS = box_conventions()


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda one: one.name)
@given(corners=st.tuples(*[st.floats(0, 400), st.floats(0, 400), st.floats(410, 1000), st.floats(410, 1000)]))
def test_boxes_are_read_as_they_were_written(convention: BoxConvention, corners: tuple[float, ...]) -> None:
    box = Box(*corners)
    read = convention.on_canvas(convention.write(box, 640, 480), 640, 480)
    assert isinstance(read, Box)
    assert read == pytest.approx(box, abs=0.01)


@pytest.mark.parametrize("asked", CONVENTIONS, ids=lambda one: one.name)
@pytest.mark.parametrize("drawing", DRAWINGS, ids=["low", "high"])
def test_each_convention_is_told_from_each_other(asked: BoxConvention, drawing: object) -> None:
    true = DRAWINGS[0].box if drawing is DRAWINGS[0] else DRAWINGS[1].box
    for written, slip in product(CONVENTIONS, (-0.03, 0.0, 0.03)):
        span = written.span or SIZE
        numbers = [value + slip * span for value in written.write(true, SIZE, SIZE)]
        found = other_convention(asked, true, [numbers])
        if written.name == asked.name:
            assert found is None
        else:
            assert found is not None
            assert found[1] == f"give the judge the option -J boxes={written.name}"


def test_width_and_height_are_told_from_corners() -> None:
    (asked,) = [one for one in CONVENTIONS if one.name == "xyxy-1000"]
    true = DRAWINGS[0].box
    found = other_convention(asked, true, [(true.xmin, true.ymin, true.xmax - true.xmin, true.ymax - true.ymin)])
    assert found is not None
    assert "as x, y, width, height" in found[0]


def test_other_numbers_are_no_convention() -> None:
    assert other_convention(CONVENTIONS[0], DRAWINGS[0].box, [(1, 2, 3, 4), (500, 500, 900, 900)]) is None


def test_no_two_drawings_are_the_same_bytes_and_all_are_the_same_to_the_eye() -> None:
    first, second = DRAWINGS[0].image(), DRAWINGS[0].image()
    assert first.data != second.data
    differing = [
        max(abs(one - other) for one, other in zip(a, b, strict=True))
        for a, b in zip(first.pil.getdata(), second.pil.getdata(), strict=True)
    ]
    assert max(differing) < 8
    assert sum(map(bool, differing)) <= 4
