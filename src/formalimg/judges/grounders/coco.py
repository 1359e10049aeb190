"""The grounder `detector/coco`: an object detector for photographs, run by OpenCV on the CPU."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.grounders.detections import (
    RULES,
    SuppressionResult,
    add_missing_classes,
    drop_uncertain,
    ground_detections,
    suppress_overlaps,
)
from formalimg.judges.grounders.detector_files import (
    DetectorClasses,
    DetectorFiles,
    DetectorParameters,
    coco_classes,
    explain_unknown_classes,
    find_detector_files,
    read_classes,
)
from formalimg.models.options import Options
from formalimg.types import Setting, Unscored

if TYPE_CHECKING:
    from formalimg.judges.grounders.opencv_detector import OpenCvDetector

NAME = "detector/coco"


class CocoGrounder:
    """A grounder that detects the 80 COCO classes in photographs, with object colours from pixels.

    All classes compete for a box, so that what is surely a sheep is no horse; only the requested ones become objects of
    the scene. With several networks, each looks for the requested classes of which those before found nothing. Items
    with a class that the detector does not know are `Unscored` before anything is detected. Weights are loaded with the
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
        networks = "+".join(network.network.name for network in self._files if network.network)
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
            return Unscored("not understood", "no class is named that could be looked for")
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
        from formalimg.judges.grounders.opencv_detector import OpenCvDetector

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
