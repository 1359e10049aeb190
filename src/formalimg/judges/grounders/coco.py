"""The grounder `detector/coco`: object detectors for photographs, run by OpenCV's dnn module on the CPU.

The layouts of answers are recognised by their shapes, with C classes and N candidates:

- `(1, 1, N, 7)`, SSD (OpenCV's `DetectionOutput`): image, class id, score, and xmin, ymin, xmax, ymax from 0 to 1;
- `(1, 4 + C, N)` or `(1, N, 4 + C)`, YOLO: centre, width and height in pixels of the input, and a score for each class;
- `(1, N, 5 + C)`, older YOLO: the same with the score of there being any object before those of the classes;
- `(1, N, 6)`, YOLO with suppression inside: xmin, ymin, xmax, ymax in pixels of the input, score, class;
- `(N, 5 + C)`, Darknet's YOLO: centre, width and height from 0 to 1, the score of there being any object, and that of
  each class, which OpenCV has multiplied with it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.boxes import (
    RULES,
    ScoredBox,
    SuppressionResult,
    add_missing_classes,
    drop_uncertain,
    ground_detections,
    suppress_overlaps,
)
from formalimg.judges.grounders.detector_files import (
    OWN_WEIGHTS,
    DetectorClasses,
    DetectorFiles,
    DetectorParameters,
    coco_classes,
    explain_unknown_classes,
    find_detector_files,
    read_classes,
)
from formalimg.models.options import Options
from formalimg.scenes.objects import CANVAS, Box
from formalimg.types import Setting, Unscored

if TYPE_CHECKING:
    from PIL.Image import Image

_Numbers = NDArray[np.float64]

MAX_BOXES = 300  # No more boxes of an image are kept, those with the highest scores
_DECLARED_INPUT = re.compile(r"<Input> \S+ \[1 x 3 x (\d+) x (\d+)\]")
"""The fixed input of an ONNX model, as OpenCV 5 describes it."""
_GRAY = (114, 114, 114)  # What surrounds an image that is padded to a square, as YOLO models are trained


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

    def prepare(self, image: Image) -> tuple[NDArray[np.float32], float, float]:
        """Return the input pixels for an image, and the width and height of the input square in image pixels.

        A frozen SSD graph gets it stretched to a square, with values from -1 to 1: on photographs padding was no
        better. A YOLO model gets it padded to a square, with values from 0 to 1, as it was trained.
        """
        from PIL import Image as PilImage

        is_stretched, side = self._files.format == "tensorflow", max(image.size)
        across, down = (1.0, 1.0) if is_stretched else (side / image.width, side / image.height)
        size = (max(round(self._size / across), 1), max(round(self._size / down), 1))
        grows = size[0] > image.width or size[1] > image.height
        square = PilImage.new("RGB", (self._size, self._size), _GRAY)
        square.paste(image.resize(size, PilImage.Resampling.BICUBIC if grows else PilImage.Resampling.BOX))
        pixels = np.asarray(square, dtype=np.float32)
        scaled = (pixels - np.float32(127.5)) / np.float32(127.5) if is_stretched else pixels / np.float32(255)
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None]), across, down

    def find(self, prepared: tuple[NDArray[np.float32], float, float], threshold: float) -> list[ScoredBox]:
        """Return all boxes of any class whose score reaches the threshold."""
        import cv2

        pixels, across, down = prepared
        names = self._net.getUnconnectedOutLayersNames()
        if len(names) != 1 and self._files.format != "darknet":
            raise FormalimgError(
                f"{self._files.weights.name} has {len(names)} outputs, {', '.join(names)}: "
                "use a detector with one, such as a frozen SSD graph or an exported YOLO model"
            )
        try:
            self._net.setInput(pixels)
            outputs = self._net.forward(names)
        except cv2.error as error:
            raise FormalimgError(
                f"{self._files.weights.name} does not take images of {self._size} by {self._size} pixels "
                f"({_last_line(error)}): give the size it was made for, as in -J size=416"
            ) from None
        output = np.concatenate(outputs) if self._files.format == "darknet" else outputs[0]
        labels, scores, boxes = decode_output(output, self._classes, self._size, threshold)
        scale = np.array((across, down) * 2) * CANVAS
        return [
            ScoredBox(label, score, Box(*(box * scale).tolist()))
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


def _last_line(error: Exception) -> str:
    """Return the last line of an OpenCV error message, which contains the reason."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return truncate(lines[-1] if lines else "no reason is given", 200, 0)


# --- answers


def decode_output(
    output: NDArray[Any], classes: DetectorClasses, size: int, threshold: float
) -> tuple[list[str], list[float], _Numbers]:
    """Decode the detector's output, and return the labels, scores and boxes that reach the threshold, best first.

    Boxes are in fractions of the square input. Those of ids without a class are left out.
    """
    layout = _find_layout(output.shape, len(classes.ids))
    rows = output.astype(np.float64)
    rows = rows[0, 0] if layout == "ssd" else rows if layout == "darknet" else rows[0]
    if layout == "yolo across":
        rows = rows.T
    names: list[str | None]
    if layout == "ssd":
        names = [classes.by_id.get(int(number)) if np.isfinite(number) else None for number in rows[:, 1]]
        scores, boxes = rows[:, 2], rows[:, 3:7]
    else:
        if layout == "end-to-end":
            places, scores, boxes = rows[:, 5], rows[:, 4], rows[:, :4]
        else:
            by_class = rows[:, 4:] if layout in ("yolo", "yolo across") else rows[:, 5:]
            if layout == "yolo with objectness":
                by_class = by_class * rows[:, 4:5]
            places, scores = by_class.argmax(axis=1), by_class.max(axis=1)
            half = rows[:, 2:4] / 2
            boxes = np.concatenate([rows[:, :2] - half, rows[:, :2] + half], axis=1)
        names = [classes.in_order[int(n)] if 0 <= n < len(classes.in_order) else None for n in places]
        boxes = boxes if layout == "darknet" else boxes / size
    has_name = np.array([name is not None for name in names], dtype=bool)
    # What is no number is kept, so that a broken detector is noticed.
    kept = np.flatnonzero(has_name & ~(scores < threshold))
    kept = kept[np.argsort(-scores[kept], kind="stable")][:MAX_BOXES]
    return [str(names[row]) for row in kept], scores[kept].tolist(), boxes[kept]


def _find_layout(shape: tuple[int, ...], classes: int) -> str:
    is_flat = len(shape) == 3 and shape[0] == 1
    layouts = {
        "ssd": len(shape) == 4 and shape[:2] == (1, 1) and shape[3] == 7,
        "darknet": len(shape) == 2 and shape[1] == 5 + classes,
        "yolo across": is_flat and shape[1] == 4 + classes,
        "yolo": is_flat and shape[2] == 4 + classes,
        "yolo with objectness": is_flat and shape[2] == 5 + classes,
        "end-to-end": is_flat and shape[2] == 6,
    }
    fits = [layout for layout, is_fit in layouts.items() if is_fit]
    if len(fits) == 1:
        return fits[0]
    problem = "fits several layouts" if fits else "has no known layout"
    raise FormalimgError(
        f"an answer of the shape {shape} of a detector with {classes} classes {problem}: "
        "use a frozen SSD graph or an exported YOLO model, with -J classes=FILE if its classes are not COCO's"
    )


# --- the grounder

NAME = "detector/coco"


class CocoGrounder:
    """A grounder that detects the 80 COCO classes in photographs, with object colours from pixels.

    All classes compete for a box, so that a clear sheep is not also a horse; only requested classes become objects of
    the scene. With several networks, each looks for the requested classes that those before it did not find. Items with
    a class that the detector does not know are `Unscored` before anything is detected. Weights are loaded with the
    first image. Evidence:

    - `found`: the objects with their scores, and the share of each that has its colour;
    - `others`: what was found besides, of classes that were not requested, if any;
    - `dropped`: boxes that the rules dropped, if any;
    - `served`: the version of OpenCV.
    """

    name = NAME
    concurrency = 2
    """One image is scaled, or its colours are read, while another is detected: the network has a single thread."""

    def __init__(
        self, files: Sequence[DetectorFiles], classes: DetectorClasses, parameters: DetectorParameters | None = None
    ) -> None:
        self._files = files
        self._classes = classes
        self._parameters = [parameters or files[0].defaults, *(network.defaults for network in files[1:])]
        self._thread = ThreadPoolExecutor(1, "detector")
        self._detectors: dict[int, OpenCvDetector] = {}

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        from formalimg.judges.grounders.colors import colors_version

        names = ", ".join(f"{number} {name}" for name, number in self._classes.ids.items())
        networks = "+".join(files.network for files in self._files if files.network)
        return {
            **({"network": networks} if networks else {}),
            "weights": "+".join(network.digest() for network in self._files),
            "classes": "coco" if self._classes == coco_classes() else names,
            **asdict(self._parameters[0]),
            "colors": colors_version(),
            "grounding_rules": RULES,
        }

    @property
    def classes(self) -> Collection[str]:
        """All class names and synonyms that the detector accepts."""
        return self._classes.words

    def unknown_classes(self, classes: Sequence[str]) -> tuple[str, ...]:
        return self._classes.unknown(classes)

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        if not classes:
            return Unscored("not understood", "none of the classes can be detected")
        unknown = self.unknown_classes(classes)
        if unknown:
            return Unscored("not understood", explain_unknown_classes(self.name, unknown))
        in_the_thread = partial(asyncio.get_running_loop().run_in_executor, self._thread)
        names = {self._classes.find(word): word for word in classes}
        result = SuppressionResult((), ())
        for number, parameters in enumerate(self._parameters):
            if number and {box.label for box in result.kept} >= set(classes):
                break
            detector = await in_the_thread(self._load, number)
            prepared = await asyncio.to_thread(detector.prepare, image.pil)
            boxes = await in_the_thread(detector.find, prepared, parameters.lowest_score)
            named = [box._replace(label=names.get(box.label, box.label)) for box in boxes]
            boxes_of_network = drop_uncertain(suppress_overlaps(named, parameters.overlap), parameters.threshold)
            result = add_missing_classes(result, boxes_of_network, set(classes)) if number else boxes_of_network
        served = {"opencv": detector.version}
        return await asyncio.to_thread(ground_detections, image.pil, result, served, set(classes))

    def _load(self, number: int) -> OpenCvDetector:
        """Load the network with the given index on first use."""
        if number not in self._detectors:
            size = self._parameters[number].size
            self._detectors[number] = OpenCvDetector(self._files[number], self._classes, size)
        return self._detectors[number]


def open_coco(options: Mapping[str, str]) -> CocoGrounder:
    """Open the detector for photographs, `detector/coco`."""
    reader = Options(NAME, options)
    network = reader.text("network", None)
    weights, config, listed = (reader.text(name, None) for name in ("weights", "config", "classes"))
    threshold, presence, overlap = (
        reader.number(name, None, minimum=0.01, maximum=1) for name in ("threshold", "presence", "overlap")
    )
    size = reader.integer("size", None, minimum=32, maximum=4096)
    reader.reject_unknown()
    if listed is not None and weights is None:
        raise FormalimgError(f"classes={listed} of {NAME} are those of other weights: give -J weights=FILE, too")
    files = find_detector_files(weights, config, network)
    defaults = files[0].defaults
    parameters = DetectorParameters(
        size=size or defaults.size,
        threshold=threshold or defaults.threshold,
        presence=presence or threshold or defaults.presence,
        overlap=overlap or defaults.overlap,
    )
    classes = coco_classes() if listed is None else read_classes(Path(listed))
    grounder = CocoGrounder(files, classes, parameters)
    _ = grounder.settings  # reads the weights, so that a file that is not there is noticed at once
    return grounder
