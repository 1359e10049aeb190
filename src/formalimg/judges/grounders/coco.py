"""The grounder `detector/coco`: a detector of fixed classes for photographs, run by OpenCV; colours from pixels."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.grounders.coco_classes import DetectorClasses, coco_classes, read_classes, unknown_classes_text
from formalimg.judges.grounders.detections import RULES, DetectedBox, ground_detections
from formalimg.judges.grounders.detector_files import (
    DetectorParameters,
    DetectorFiles,
    find_detector_files,
    read_networks,
)
from formalimg.judges.grounders.opencv_detector import OpenCvDetector
from formalimg.models.options import Options
from formalimg.types import Setting, Unscored

if TYPE_CHECKING:
    from PIL.Image import Image

NAME = "detector/coco"


class CocoGrounder:
    """Find the 80 classes of COCO in photographs, and the colours of the objects in the pixels of their boxes.

    All classes compete for a box, so that what is surely a sheep is no horse; only the requested ones become objects of
    the scene. Items with a class that the detector does not know are `Unscored` before anything is detected. Evidence:

    - `found`: the objects with their scores, and the share of each that has its colour;
    - `others`: what was found besides, of classes that were not requested, if any;
    - `dropped`: boxes that the rules dropped, if any;
    - `served`: the version of OpenCV.

    Attributes:
        name, concurrency: as for every grounder.
    """

    name = NAME
    concurrency = 2
    """One image is scaled, or its colours are read, while another is detected: the network has a single thread."""

    def __init__(
        self, files: DetectorFiles, classes: DetectorClasses, parameters: DetectorParameters | None = None
    ) -> None:
        """Create a grounder that loads its weights with the first image.

        Args:
            files: the weights.
            classes: the classes they were trained on.
            parameters: the size of the input, and the thresholds; None for those of the network.
        """
        self._files = files
        self._classes = classes
        self._parameters = parameters or files.defaults
        self._thread = ThreadPoolExecutor(1, "detector")
        self._detector: OpenCvDetector | None = None

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """The network, the content of the weights, the classes, the thresholds, and the versions of the rules."""
        from formalimg.judges.grounders.pixel_colors import colors_version

        names = ", ".join(f"{number} {name}" for name, number in self._classes.ids.items())
        return {
            **({"network": self._files.network.name} if self._files.network else {}),
            "weights": self._files.digest(),
            "classes": "coco" if self._classes == coco_classes() else names,
            **asdict(self._parameters),
            "colors": colors_version(),
            "grounding_rules": RULES,
        }

    @property
    def classes(self) -> Collection[str]:
        """All words for what it can look for."""
        return self._classes.words

    def unknown_classes(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Return those of these classes that the detector cannot look for: images of such items are unscored."""
        return self._classes.unknown(classes)

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """Find the objects of these classes in an image."""
        if not classes:
            return Unscored("not understood", "no class is named that could be looked for")
        unknown = self.unknown_classes(classes)
        if unknown:
            return Unscored("not understood", unknown_classes_text(self.name, unknown))
        in_the_thread = partial(asyncio.get_running_loop().run_in_executor, self._thread)
        detector = await in_the_thread(self._load)
        prepared = await asyncio.to_thread(detector.prepare, image.pil)
        found = await in_the_thread(detector.find, prepared, self._parameters.lowest_score)
        return await asyncio.to_thread(self._grounding, image.pil, found, classes, detector.version)

    def _load(self) -> OpenCvDetector:
        """Load the weights, once: all loading happens in the one thread."""
        if self._detector is None:
            self._detector = OpenCvDetector(self._files, self._classes, self._parameters.size)
        return self._detector

    def _grounding(self, image: Image, found: Sequence[DetectedBox], classes: Sequence[str], opencv: str) -> Grounding:
        asked = {self._classes.find(word): word for word in classes}
        named = [one._replace(label=asked.get(one.label, one.label)) for one in found]
        return ground_detections(
            image, named, self._parameters.overlap, {"opencv": opencv}, set(classes), self._parameters.threshold
        )


def open_coco(options: Mapping[str, str]) -> CocoGrounder:
    """Open the detector for photographs, `detector/coco`.

    Args:
        options: `network` (one of those in `networks.toml`; by default the first that is installed), or `weights` and
            `config` (files of another) and `classes` (a text file with its classes, if they are not COCO's);
            `threshold` (the minimum score of a box), `presence` (of the best box of a class; by default as `threshold`
            if that is given), `overlap` (the IoU from which two boxes are one object, for non-maximum suppression),
            `size` (of the network's input).

    Raises:
        FormalimgError: if an option is wrong, or OpenCV or the weights are missing.
    """
    reader = Options(NAME, options)
    network = reader.choice("network", tuple(read_networks()), None)
    weights, config, listed = (reader.text(name, None) for name in ("weights", "config", "classes"))
    threshold, presence, overlap = (
        reader.number(name, None, minimum=0.01, maximum=1) for name in ("threshold", "presence", "overlap")
    )
    size = reader.integer("size", None, minimum=32, maximum=4096)
    reader.reject_unknown()
    if listed is not None and weights is None:
        raise FormalimgError(f"classes={listed} of {NAME} are those of other weights: give -J weights=FILE, too")
    files = find_detector_files(weights, config, network)
    given = {"threshold": threshold, "presence": presence or threshold, "overlap": overlap, "size": size}
    parameters = replace(files.defaults, **{name: value for name, value in given.items() if value is not None})
    classes = coco_classes() if listed is None else read_classes(Path(listed))
    grounder = CocoGrounder(files, classes, parameters)
    _ = grounder.settings  # reads the weights, so that a file that is not there is noticed at once
    return grounder
