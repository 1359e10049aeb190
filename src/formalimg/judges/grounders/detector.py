"""The detector grounder: boxes from a detector or segmenter of the transformers library, colours from pixels."""

from __future__ import annotations

import asyncio
import inspect
import re
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.grounders.class_detector import ClassDetector
from formalimg.judges.grounders.coco_classes import unknown_classes_text
from formalimg.judges.grounders.detections import (
    RULES,
    DetectedBox,
    box_on_canvas,
    ground_detections,
    suppress_overlaps,
)
from formalimg.models.local.checkpoint import (
    CHECKPOINT_OPTIONS,
    INSTALL_LOCAL,
    Checkpoint,
    read_checkpoint,
    silence_libraries,
)
from formalimg.models.local.device_pool import is_out_of_memory
from formalimg.models.options import Options
from formalimg.models.registry import require_modules, requires
from formalimg.types import Setting, Unscored

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class DetectorFamily:
    """How detectors of a family are queried, and what their scores mean."""

    pattern: str  # a regular expression found in the names of its models
    query: str  # the text for a class, with `{class}` in its place
    together: bool  # whether all classes go into one query
    threshold: float  # the default minimum score of a box


def detector_family(model: str) -> DetectorFamily:
    """Return the family of a detector, by its name."""
    return next(family for family in _families() if re.search(family.pattern, model, re.IGNORECASE))


@cache
def _families() -> tuple[DetectorFamily, ...]:
    table = tomllib.loads((files("formalimg.judges.grounders") / "detector_families.toml").read_text(encoding="utf-8"))
    return tuple(DetectorFamily(**entry) for entry in table["families"])


class ZeroShotDetector:
    """A zero-shot detector of the transformers library. Not thread-safe."""

    def __init__(self, name: str, checkpoint: Checkpoint, family: DetectorFamily) -> None:
        """Load the weights, which takes a while."""
        from transformers import AutoModelForZeroShotObjectDetection, AutoProcessor

        silence_libraries("transformers")
        self._family = family
        with checkpoint.being_loaded(name):
            source, loading = checkpoint.source, checkpoint.loading()
            self._processor = AutoProcessor.from_pretrained(source, **loading)
            model = AutoModelForZeroShotObjectDetection.from_pretrained(
                source, **loading, dtype=checkpoint.torch_dtype()
            )
        self._model = model.to(checkpoint.device).eval()

    def find(self, image: Image, classes: Sequence[str], threshold: float) -> list[DetectedBox]:
        """Return all boxes that score above the threshold for one of the classes."""
        if self._family.together:
            return self._query(image, classes, threshold)
        return [found for one in classes for found in self._query(image, [one], threshold)]

    def _query(self, image: Image, classes: Sequence[str], threshold: float) -> list[DetectedBox]:
        import torch

        queries = [self._family.query.replace("{class}", one.replace("_", " ")) for one in classes]
        inputs = self._processor(images=image, text=[queries], return_tensors="pt").to(self._model.device)
        inputs["pixel_values"] = inputs["pixel_values"].to(self._model.dtype)
        with torch.inference_mode():
            outputs = self._model(**inputs)
        (results,) = self._processor.post_process_grounded_object_detection(
            outputs,
            threshold=threshold,
            target_sizes=[(image.height, image.width)],
            text_labels=[queries],
            **self._extra_arguments(inputs),
        )
        scores, boxes = results["scores"].float().tolist(), results["boxes"].float().tolist()
        # With one class in the query, all boxes are of it; some detectors then give text labels instead of numbers.
        labels = [int(label) for label in results["labels"]] if len(classes) > 1 else [0] * len(scores)
        return [
            DetectedBox(classes[label], score, box_on_canvas(box, image))
            for score, label, box in zip(scores, labels, boxes, strict=True)
        ]

    def _extra_arguments(self, inputs: Any) -> dict[str, Any]:
        """Return what Grounding DINO needs to read text labels back from its input; the threshold lets none through."""
        process = self._processor.post_process_grounded_object_detection
        has_text_threshold = "text_threshold" in inspect.signature(process).parameters
        return {"input_ids": inputs["input_ids"], "text_threshold": 1.0} if has_text_threshold else {}


_DTYPE = "float32"
"""Lower precision would put boxes on a grid of 4 in 1000, which is too coarse for formulas."""


class DetectorGrounder:
    """Find objects with a detector, and their colours in the pixels of their boxes.

    Open-vocabulary detectors look for the requested classes; those with fixed classes (DETR, Mask2Former) find all of
    theirs, and items that name another are `Unscored`. Evidence, all plain data:

    - `found`: the objects with their scores, and the share of each that has its colour;
    - `dropped`: boxes that the rules dropped, if any;
    - `served`: what was actually used.

    Attributes:
        name, settings, concurrency: as for every grounder.
    """

    concurrency = 2
    """One image waits while another is processed; there is a single thread for them."""

    def __init__(
        self, name: str, checkpoint: Checkpoint, family: DetectorFamily, threshold: float, max_overlap: float
    ) -> None:
        """Create a grounder that loads its detector with the first image."""
        self.name = name
        self._checkpoint = checkpoint
        self._family = family
        self._threshold = threshold
        self._max_overlap = max_overlap
        self._thread = ThreadPoolExecutor(1, "detector")
        self._detector: ZeroShotDetector | ClassDetector | None = None

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The weights, the query, the thresholds, and the versions of the rules."""
        from formalimg.judges.grounders.pixel_colors import colors_version

        return {
            **self._checkpoint.settings,
            "query": self._family.query,
            "together": self._family.together,
            "threshold": self._threshold,
            "overlap": self._max_overlap,
            "colors": colors_version(),
            "grounding_rules": RULES,
        }

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """Find the objects of these classes in an image."""
        if not classes:
            return Unscored("not understood", "no class is named that could be looked for")
        find = partial(self._find, image.pil, tuple(dict.fromkeys(classes)))
        found = await asyncio.get_running_loop().run_in_executor(self._thread, find)
        if isinstance(found, Unscored):
            return found
        return await asyncio.to_thread(self._grounding, image.pil, found, classes)

    def _find(self, image: Image, classes: Sequence[str]) -> list[DetectedBox] | Unscored:
        """Return the detections; unscored if a class is unknown, or there is not enough memory."""
        if self._detector is None:
            self._detector = _load_detector(self.name, self._checkpoint, self._family)
        if isinstance(self._detector, ClassDetector) and (unknown := self._detector.unknown_classes(classes)):
            return Unscored("not understood", unknown_classes_text(self.name, unknown))
        try:
            return self._detector.find(image, classes, self._threshold)
        except ImportError as error:  # some processors find out late which library they need
            why = truncate(" ".join(str(error).split()), 200, 0)
            raise FormalimgError(f"{self.name} needs what is not installed ({why}): {INSTALL_LOCAL}") from None
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return Unscored(
                "judge failed", f"{self.name} needs more memory than there is: see the options device and dtype"
            )

    def _grounding(self, image: Image, found: Sequence[DetectedBox], classes: Sequence[str]) -> Grounding:
        served = self._checkpoint.served("config.json", "transformers")
        return ground_detections(image, suppress_overlaps(found, self._max_overlap), served, set(classes))


def _load_detector(name: str, checkpoint: Checkpoint, family: DetectorFamily) -> ZeroShotDetector | ClassDetector:
    """Load a detector, by what its configuration says that it is."""
    from transformers import MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING, AutoConfig

    with checkpoint.being_loaded(name):
        kind = type(AutoConfig.from_pretrained(checkpoint.source, **checkpoint.loading()))
    if kind in MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING:
        return ZeroShotDetector(name, checkpoint, family)
    return ClassDetector(name, checkpoint)


@requires(modules=("torch", "transformers"), install=INSTALL_LOCAL)
def open_detector(model: str, options: Mapping[str, str]) -> DetectorGrounder:
    """Open an object detector from a folder or from the Hugging Face hub: OWLv2, Grounding DINO, DETR, Mask2Former."""
    name = f"detector/{model}"
    reader = Options(name, options)
    default = detector_family(model)
    query = reader.text("query", default.query)
    if "{class}" not in query:
        raise FormalimgError(f"query={query!r} of {name} has no {{class}}: write it where the class belongs")
    family = replace(default, query=query)
    threshold = reader.number("threshold", default.threshold, minimum=0, maximum=1)
    max_overlap = reader.number("overlap", 0.5, minimum=0.01, maximum=1)
    reader.reject_unknown(*CHECKPOINT_OPTIONS)  # before the libraries, which the options of the checkpoint need
    require_modules("detector", open_detector)
    checkpoint = read_checkpoint(model, reader, _DTYPE)
    return DetectorGrounder(name, checkpoint, family, threshold, max_overlap)
