"""The answers of object detectors as arrays, and the boxes in them: rows of a frozen SSD graph, or of a YOLO.

Layouts are recognised by their shapes, with C classes and N candidates:

- `(1, 1, N, 7)`, SSD (OpenCV's `DetectionOutput`): image, class id, score, and xmin, ymin, xmax, ymax from 0 to 1;
- `(1, 4 + C, N)` or `(1, N, 4 + C)`, YOLO: centre, width and height in pixels of the input, and a score for each class;
- `(1, N, 5 + C)`, older YOLO: the same with the score of there being any object before those of the classes;
- `(1, N, 6)`, YOLO with suppression inside: xmin, ymin, xmax, ymax in pixels of the input, score, class;
- `(N, 5 + C)`, Darknet's YOLO: centre, width and height from 0 to 1, the score of there being any object, and that of
  each class, which OpenCV has multiplied with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.errors import FormalimgError
from formalimg.judges.grounders.coco_classes import DetectorClasses

_Numbers = NDArray[np.float64]

MAX_BOXES = 300
"""No more boxes of an image are kept, those with the highest scores."""


class DecodedBoxes(NamedTuple):
    """Boxes of one image, the highest score first."""

    labels: tuple[str, ...]  # the class of each
    scores: tuple[float, ...]  # the score of each, 0 to 1
    boxes: _Numbers  # xmin, ymin, xmax, ymax of each, in fractions of the square input


def decode_output(output: NDArray[Any], classes: DetectorClasses, size: int, threshold: float) -> DecodedBoxes:
    """Return the boxes in the answer of a detector whose score reaches the threshold.

    Boxes of ids without a class are left out.
    """
    fits = _layouts(output.shape, len(classes.ids))
    if len(fits) != 1:
        problem = "fits several layouts" if fits else "has none of the layouts that are known"
        raise FormalimgError(
            f"an answer of the shape {tuple(output.shape)} of a detector with {len(classes.ids)} classes {problem}: "
            "use a frozen SSD graph or an exported YOLO model, with -J classes=FILE if its classes are not COCO's"
        )
    if fits[0] == "ssd":
        rows = output[0, 0].astype(np.float64)
        names = [classes.by_id.get(int(number)) if np.isfinite(number) else None for number in rows[:, 1]]
        return _best(names, rows[:, 2], rows[:, 3:7], threshold)
    if fits[0] == "darknet":
        rows = output.astype(np.float64)
        by_class = rows[:, 5:]
        names = [classes.in_order[place] for place in by_class.argmax(axis=1)]
        return _best(names, by_class.max(axis=1), _corners(rows[:, :4]), threshold)
    rows = (output[0].T if fits[0] == "yolo across" else output[0]).astype(np.float64)
    if fits[0] == "end-to-end":
        places, scores, boxes = rows[:, 5], rows[:, 4], rows[:, :4]
    else:
        by_class = rows[:, 5:] * rows[:, 4:5] if fits[0] == "yolo with objectness" else rows[:, 4:]
        places, scores, boxes = by_class.argmax(axis=1), by_class.max(axis=1), _corners(rows[:, :4])
    order = classes.in_order
    names = [order[int(place)] if 0 <= place < len(order) else None for place in places]
    return _best(names, scores, boxes / size, threshold)


def _layouts(shape: tuple[int, ...], classes: int) -> list[str]:
    """Return the layouts that an array of this shape can have."""
    if len(shape) == 4 and shape[:2] == (1, 1) and shape[3] == 7:
        return ["ssd"]
    if len(shape) == 2 and shape[1] == 5 + classes:
        return ["darknet"]
    if len(shape) != 3 or shape[0] != 1:
        return []
    wanted = {
        "yolo across": shape[1] == 4 + classes,
        "yolo": shape[2] == 4 + classes,
        "yolo with objectness": shape[2] == 5 + classes,
        "end-to-end": shape[2] == 6,
    }
    return [layout for layout, fits in wanted.items() if fits]


def _corners(rows: _Numbers) -> _Numbers:
    half = rows[:, 2:] / 2
    return np.concatenate([rows[:, :2] - half, rows[:, :2] + half], axis=1)


def _best(names: list[str | None], scores: _Numbers, boxes: _Numbers, threshold: float) -> DecodedBoxes:
    known = np.array([name is not None for name in names], dtype=bool)
    # What is no number is kept, so that a broken detector is noticed.
    places = np.flatnonzero(known & ~(scores < threshold))
    places = places[np.argsort(-scores[places], kind="stable")][:MAX_BOXES]
    labels = tuple(str(names[place]) for place in places)
    return DecodedBoxes(labels, tuple(scores[places].tolist()), boxes[places])
