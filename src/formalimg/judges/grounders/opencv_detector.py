"""Object detectors run by OpenCV's dnn module on the CPU.

The layouts of answers are recognised by their shapes, with C classes and N candidates:

- `(1, 1, N, 7)`, SSD (OpenCV's `DetectionOutput`): image, class id, score, and xmin, ymin, xmax, ymax from 0 to 1;
- `(1, 4 + C, N)` or `(1, N, 4 + C)`, YOLO: centre, width and height in pixels of the input, and a score for each class;
- `(1, N, 5 + C)`, older YOLO: the same with the score of there being any object before those of the classes;
- `(1, N, 6)`, YOLO with suppression inside: xmin, ymin, xmax, ymax in pixels of the input, score, class;
- `(N, 5 + C)`, Darknet's YOLO: centre, width and height from 0 to 1, the score of there being any object, and that of
  each class, which OpenCV has multiplied with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.grounders.detections import DetectedBox
from formalimg.judges.grounders.detector_files import OWN_WEIGHTS, DetectorClasses, DetectorFiles
from formalimg.scenes.objects import CANVAS, Box

if TYPE_CHECKING:
    from PIL.Image import Image

_Numbers = NDArray[np.float64]

MAX_BOXES = 300  # No more boxes of an image are kept, those with the highest scores
_DECLARED_INPUT = re.compile(r"<Input> \S+ \[1 x 3 x (\d+) x (\d+)\]")
"""The fixed input of an ONNX model, as OpenCV 5 describes it."""
_GRAY = (114, 114, 114)  # What surrounds an image that is padded to a square, as YOLO models are trained


class PreparedImage(NamedTuple):
    """An image scaled to the detector's input, with the scale factors for its boxes."""

    blob: NDArray[np.float32]  # the pixels, of the shape (1, 3, size, size)
    across: float = 1.0  # the width of the square in widths of the image
    down: float = 1.0  # the height of the square in heights of the image


class OpenCvDetector:
    """A detector run by OpenCV's dnn module. `prepare` is thread-safe, `find` is not."""

    def __init__(self, files: DetectorFiles, classes: DetectorClasses, size: int) -> None:
        import cv2

        self._files, self._classes, self._size = files, classes, size
        try:
            self._net = _read_network(files)
        except cv2.error as error:
            raise FormalimgError(
                f"OpenCV cannot read {files.weights} ({_last_line(error)}): name the weights with {OWN_WEIGHTS}"
            ) from None
        self.version: str = cv2.__version__
        # OpenCV 5 runs a model at any size, clamps what does not fit and goes on; earlier versions refuse to.
        clamps = files.format == "onnx" and int(self.version.partition(".")[0]) >= 5
        declared = _DECLARED_INPUT.search(self._net.dump()) if clamps else None
        if declared is not None and declared.groups() != (str(size), str(size)):
            height, width = declared.groups()
            raise FormalimgError(
                f"{files.weights.name} takes images of {width} by {height} pixels, not {size} by {size}: "
                + (f"give -J size={width}" if width == height else "export it with a square input")
            )

    def prepare(self, image: Image) -> PreparedImage:
        """Scale an image to the detector's input size.

        A frozen SSD graph gets it stretched to a square, with values from -1 to 1: on photographs padding was no
        better. A YOLO model gets it padded to a square, with values from 0 to 1, as it was trained.
        """
        from PIL import Image as PilImage

        across = down = 1.0
        if self._files.format == "tensorflow":
            square = _resize_image(image, (self._size, self._size))
        else:
            side = max(image.size)
            across, down = side / image.width, side / image.height
            square = PilImage.new("RGB", (self._size, self._size), _GRAY)
            square.paste(_resize_image(image, (max(round(self._size / across), 1), max(round(self._size / down), 1))))
        pixels = np.asarray(square.convert("RGB"), dtype=np.float32)
        is_signed = self._files.format == "tensorflow"
        scaled = (pixels - np.float32(127.5)) / np.float32(127.5) if is_signed else pixels / np.float32(255)
        return PreparedImage(np.ascontiguousarray(scaled.transpose(2, 0, 1)[None]), across, down)

    def find(self, image: PreparedImage, threshold: float) -> list[DetectedBox]:
        """Return all boxes of any class whose score reaches the threshold."""
        import cv2

        names = self._net.getUnconnectedOutLayersNames()
        if len(names) != 1 and self._files.format != "darknet":
            raise FormalimgError(
                f"{self._files.weights.name} has {len(names)} outputs, {', '.join(names)}: "
                "use a detector with one, such as a frozen SSD graph or an exported YOLO model"
            )
        try:
            self._net.setInput(image.blob)
            outputs = self._net.forward(names)
        except cv2.error as error:
            raise FormalimgError(
                f"{self._files.weights.name} does not take images of {self._size} by {self._size} pixels "
                f"({_last_line(error)}): give the size it was made for, as in -J size=416"
            ) from None
        output = np.concatenate(outputs) if self._files.format == "darknet" else outputs[0]
        labels, scores, boxes = decode_output(output, self._classes, self._size, threshold)
        scale = np.array((image.across, image.down) * 2) * CANVAS
        return [
            DetectedBox(label, score, Box(*(box * scale).tolist()))
            for label, score, box in zip(labels, scores, boxes, strict=True)
        ]


def _read_network(files: DetectorFiles) -> Any:
    import cv2

    weights, config = str(files.weights), str(files.config)
    dnn: Any = cv2.dnn  # which functions it has depends on the version
    match files.format:
        case "onnx":
            return dnn.readNetFromONNX(weights)
        case "darknet":
            return dnn.readNetFromDarknet(config, weights)
        case "tensorflow":
            return dnn.readNetFromTensorflow(weights, config)


def _resize_image(image: Image, size: tuple[int, int]) -> Image:
    """Resize an image, by area averaging when shrinking and bicubic interpolation when enlarging."""
    from PIL.Image import Resampling

    grows = size[0] > image.width or size[1] > image.height
    return image.resize(size, Resampling.BICUBIC if grows else Resampling.BOX)


def _last_line(error: Exception) -> str:
    """Return the last line of an OpenCV error message, which contains the reason."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return truncate(lines[-1] if lines else "no reason is given", 200, 0)


# --- answers


class DecodedBoxes(NamedTuple):
    """Detected boxes in one image, sorted by descending score."""

    labels: tuple[str, ...]  # the class of each
    scores: tuple[float, ...]  # the score of each, 0 to 1
    boxes: _Numbers  # xmin, ymin, xmax, ymax of each, in fractions of the square input


def decode_output(output: NDArray[Any], classes: DetectorClasses, size: int, threshold: float) -> DecodedBoxes:
    """Decode the detector's output, and return the boxes whose score reaches the threshold.

    Boxes of ids without a class are left out.
    """
    fits = _find_layouts(output.shape, len(classes.ids))
    if len(fits) != 1:
        problem = "fits several layouts" if fits else "has none of the layouts that are known"
        raise FormalimgError(
            f"an answer of the shape {tuple(output.shape)} of a detector with {len(classes.ids)} classes {problem}: "
            "use a frozen SSD graph or an exported YOLO model, with -J classes=FILE if its classes are not COCO's"
        )
    if fits[0] == "ssd":
        rows = output[0, 0].astype(np.float64)
        names = [classes.by_id.get(int(number)) if np.isfinite(number) else None for number in rows[:, 1]]
        return _select_best(names, rows[:, 2], rows[:, 3:7], threshold)
    if fits[0] == "darknet":
        rows = output.astype(np.float64)
        by_class = rows[:, 5:]
        names = [classes.in_order[number] for number in by_class.argmax(axis=1)]
        return _select_best(names, by_class.max(axis=1), _find_corners(rows[:, :4]), threshold)
    rows = (output[0].T if fits[0] == "yolo across" else output[0]).astype(np.float64)
    if fits[0] == "end-to-end":
        places, scores, boxes = rows[:, 5], rows[:, 4], rows[:, :4]
    else:
        by_class = rows[:, 5:] * rows[:, 4:5] if fits[0] == "yolo with objectness" else rows[:, 4:]
        places, scores, boxes = by_class.argmax(axis=1), by_class.max(axis=1), _find_corners(rows[:, :4])
    order = classes.in_order
    names = [order[int(number)] if 0 <= number < len(order) else None for number in places]
    return _select_best(names, scores, boxes / size, threshold)


def _find_layouts(shape: tuple[int, ...], classes: int) -> list[str]:
    if len(shape) == 4 and shape[:2] == (1, 1) and shape[3] == 7:
        return ["ssd"]
    if len(shape) == 2 and shape[1] == 5 + classes:
        return ["darknet"]
    if len(shape) != 3 or shape[0] != 1:
        return []
    layouts = {
        "yolo across": shape[1] == 4 + classes,
        "yolo": shape[2] == 4 + classes,
        "yolo with objectness": shape[2] == 5 + classes,
        "end-to-end": shape[2] == 6,
    }
    return [layout for layout, fits in layouts.items() if fits]


def _find_corners(rows: _Numbers) -> _Numbers:
    half = rows[:, 2:] / 2
    return np.concatenate([rows[:, :2] - half, rows[:, :2] + half], axis=1)


def _select_best(names: list[str | None], scores: _Numbers, boxes: _Numbers, threshold: float) -> DecodedBoxes:
    has_name = np.array([name is not None for name in names], dtype=bool)
    # What is no number is kept, so that a broken detector is noticed.
    rows = np.flatnonzero(has_name & ~(scores < threshold))
    rows = rows[np.argsort(-scores[rows], kind="stable")][:MAX_BOXES]
    labels = tuple(str(names[row]) for row in rows)
    return DecodedBoxes(labels, tuple(scores[rows].tolist()), boxes[rows])
