"""The grounder for object detectors and segmenters of the transformers library.

Detectors are open-vocabulary ones, such as OWLv2 and Grounding DINO, or have fixed classes, such as DETR and
Mask2Former.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.boxes import (
    RULES,
    ScoredBox,
    box_on_canvas,
    ground_detections,
    suppress_overlaps,
)
from formalimg.judges.grounders.detector_files import DetectorClasses, coco_classes, explain_unknown_classes
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

_DTYPE = "float32"  # Lower precision would put boxes on a grid of 4 in 1000, which is too coarse for formulas


@dataclass(frozen=True)
class DetectorFamily:
    """The query format and default threshold of a family of detectors."""

    pattern: str  # a regular expression found in the names of its models
    query: str  # the text for a class, with `{class}` in its place
    together: bool  # whether all classes go into one query
    threshold: float  # the default minimum score of a box


def detector_family(model: str) -> DetectorFamily:
    """Return the family that a detector belongs to, based on its name."""
    table = tomllib.loads((files("formalimg.judges.grounders") / "detector_families.toml").read_text(encoding="utf-8"))
    families = (DetectorFamily(**entry) for entry in table["families"])
    return next(family for family in families if re.search(family.pattern, model, re.IGNORECASE))


class _LoadedModel:
    """A transformers model with its processor. Not thread-safe."""

    def __init__(self, processor: Any, model: Any) -> None:
        self.processor = processor
        self.model = model

    def run(self, image: Image, **texts: Any) -> tuple[Any, Any]:
        """Run the model on an image, and return its inputs and outputs."""
        import torch

        inputs = self.processor(images=image, **texts, return_tensors="pt").to(self.model.device)
        inputs["pixel_values"] = inputs["pixel_values"].to(self.model.dtype)
        with torch.inference_mode():
            return inputs, self.model(**inputs)


class ZeroShotDetector(_LoadedModel):
    """A detector that takes class names as text queries."""

    def __init__(self, processor: Any, model: Any, family: DetectorFamily) -> None:
        super().__init__(processor, model)
        self._family = family

    def find(self, image: Image, classes: Sequence[str], threshold: float) -> list[ScoredBox]:
        """Return all boxes whose score for any of the classes exceeds the threshold."""
        if self._family.together:
            return self._query(image, classes, threshold)
        return [box for label in classes for box in self._query(image, [label], threshold)]

    def _query(self, image: Image, classes: Sequence[str], threshold: float) -> list[ScoredBox]:
        queries = [self._family.query.replace("{class}", label.replace("_", " ")) for label in classes]
        inputs, outputs = self.run(image, text=[queries])
        post_process = self.processor.post_process_grounded_object_detection
        extra = {}
        if "text_threshold" in inspect.signature(post_process).parameters:
            # Grounding DINO needs its input to read text labels back from it; the threshold lets none through.
            extra = {"input_ids": inputs["input_ids"], "text_threshold": 1.0}
        (results,) = post_process(
            outputs, threshold=threshold, target_sizes=[(image.height, image.width)], text_labels=[queries], **extra
        )
        scores, boxes = results["scores"].float().tolist(), results["boxes"].float().tolist()
        # With one class in the query, all boxes are of it; some detectors then give text labels instead of numbers.
        labels = [int(label) for label in results["labels"]] if len(classes) > 1 else [0] * len(scores)
        return [
            ScoredBox(classes[label], score, box_on_canvas(box, image))
            for score, label, box in zip(scores, labels, boxes, strict=True)
        ]


class ClassDetector(_LoadedModel):
    """A detector or segmenter with a fixed set of classes.

    The box of a segment is the bounding box of its mask. All classes compete, so that a clear sheep is not also a
    horse; boxes of classes that were not requested keep their own names. COCO classes have synonyms.
    """

    def __init__(self, processor: Any, model: Any, *, segments: bool) -> None:
        super().__init__(processor, model)
        self._segments = segments
        ids = {str(label): number + 1 for number, label in model.config.id2label.items()}
        synonyms = {name: words for name, words in coco_classes().synonyms.items() if name in ids}
        self.classes = DetectorClasses(ids, synonyms)

    def find(self, image: Image, classes: Sequence[str], threshold: float) -> list[ScoredBox]:
        """Return all boxes that score above the threshold, labelled with the requested class names where possible."""
        _, outputs = self.run(image)
        options = {"threshold": threshold, "target_sizes": [(image.height, image.width)]}
        if self._segments:
            post_process = self.processor.post_process_instance_segmentation
            (results,) = post_process(outputs, **options, return_binary_maps=True)
            boxes = []
            for mask, info in zip(results["segmentation"], results["segments_info"], strict=False):
                rows, columns = mask.nonzero(as_tuple=True)
                if len(rows):
                    edges = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
                    boxes.append((info["label_id"], float(info["score"]), [float(edge) for edge in edges]))
        else:
            (results,) = self.processor.post_process_object_detection(outputs, **options)
            columns = [results[name].float().tolist() for name in ("labels", "scores", "boxes")]
            boxes = list(zip(*columns, strict=True))
        words = {self.classes.find(word): word for word in classes}
        names = self.classes.by_id
        return [
            ScoredBox(words.get(names[int(number) + 1], names[int(number) + 1]), score, box_on_canvas(box, image))
            for number, score, box in boxes
            if int(number) + 1 in names
        ]


def _load_detector(name: str, checkpoint: Checkpoint, family: DetectorFamily) -> ZeroShotDetector | ClassDetector:
    import transformers as library

    silence_libraries("transformers")
    with checkpoint.being_loaded(name):
        source, loading = checkpoint.source, checkpoint.loading()
        kind = type(library.AutoConfig.from_pretrained(source, **loading))
        is_zero_shot = segments = False
        auto_processor, auto_model = library.AutoImageProcessor, library.AutoModelForObjectDetection
        if kind in library.MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING:
            is_zero_shot = True
            auto_processor, auto_model = library.AutoProcessor, library.AutoModelForZeroShotObjectDetection
        elif kind in library.MODEL_FOR_UNIVERSAL_SEGMENTATION_MAPPING and (
            kind not in library.MODEL_FOR_OBJECT_DETECTION_MAPPING
        ):
            segments, auto_model = True, library.AutoModelForUniversalSegmentation
        elif kind not in library.MODEL_FOR_OBJECT_DETECTION_MAPPING:
            raise FormalimgError(f"{name} finds no objects: give a detector, or a segmenter such as Mask2Former")
        processor = auto_processor.from_pretrained(source, **loading)
        model = auto_model.from_pretrained(source, **loading, dtype=checkpoint.torch_dtype())
    model = model.to(checkpoint.device).eval()
    if is_zero_shot:
        return ZeroShotDetector(processor, model, family)
    return ClassDetector(processor, model, segments=segments)


class DetectorGrounder:
    """A grounder that uses an object detector, with object colours from pixels.

    Open-vocabulary detectors look for the requested classes; those with fixed classes (DETR, Mask2Former) find all of
    theirs, and items that name another are `Unscored`. Weights are loaded with the first image. Evidence, plain data:

    - `found`: the objects with their scores, and the share of each that has its colour;
    - `dropped`: boxes that the rules dropped, if any;
    - `served`: what was actually used.
    """

    concurrency = 2
    """One image waits while another is processed; there is a single thread for them."""

    def __init__(
        self, name: str, checkpoint: Checkpoint, family: DetectorFamily, threshold: float, max_overlap: float
    ) -> None:
        self.name = name
        self._checkpoint = checkpoint
        self._family = family
        self._threshold = threshold
        self._max_overlap = max_overlap
        self._thread = ThreadPoolExecutor(1, "detector")
        self._detector: ZeroShotDetector | ClassDetector | None = None

    @property
    def settings(self) -> Mapping[str, Setting]:
        from formalimg.judges.grounders.colors import colors_version

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
        if not classes:
            return Unscored("not understood", "none of the classes can be detected")
        find = partial(self._find, image.pil, tuple(dict.fromkeys(classes)))
        boxes = await asyncio.get_running_loop().run_in_executor(self._thread, find)
        if isinstance(boxes, Unscored):
            return boxes
        served = self._checkpoint.served("config.json", "transformers")
        suppress = partial(suppress_overlaps, boxes, self._max_overlap)
        return await asyncio.to_thread(lambda: ground_detections(image.pil, suppress(), served, set(classes)))

    def _find(self, image: Image, classes: Sequence[str]) -> list[ScoredBox] | Unscored:
        """Run the detector, or return `Unscored` if a class is unknown or memory runs out."""
        if self._detector is None:
            self._detector = _load_detector(self.name, self._checkpoint, self._family)
        if isinstance(self._detector, ClassDetector) and (unknown := self._detector.classes.unknown(classes)):
            return Unscored("not understood", explain_unknown_classes(self.name, unknown))
        try:
            return self._detector.find(image, classes, self._threshold)
        except ImportError as error:  # some processors find out late which library they need
            reason = truncate(" ".join(str(error).split()), 200, 0)
            raise FormalimgError(f"{self.name} needs what is not installed ({reason}): {INSTALL_LOCAL}") from None
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return Unscored("judge failed", f"{self.name} ran out of memory: see the options device and dtype")


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
