"""Detectors and segmenters of the transformers library with fixed classes, such as DETR and Mask2Former."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from formalimg.errors import FormalimgError
from formalimg.judges.grounders.coco_classes import DetectorClasses, coco_classes
from formalimg.judges.grounders.detections import DetectedBox, box_on_canvas
from formalimg.models.local.checkpoint import Checkpoint, silence_libraries

if TYPE_CHECKING:
    from PIL.Image import Image


class ClassDetector:
    """A detector or segmenter that finds the classes it was trained on, and no others. Not thread-safe.

    The box of a segment is the smallest that holds its mask. All classes compete, so that what is surely a sheep is no
    horse; boxes of classes that were not asked for keep their own names.
    """

    def __init__(self, name: str, checkpoint: Checkpoint) -> None:
        """Load the weights, which takes a while."""
        from transformers import (
            MODEL_FOR_OBJECT_DETECTION_MAPPING,
            MODEL_FOR_UNIVERSAL_SEGMENTATION_MAPPING,
            AutoConfig,
            AutoImageProcessor,
            AutoModelForObjectDetection,
            AutoModelForUniversalSegmentation,
        )

        silence_libraries("transformers")
        with checkpoint.being_loaded(name):
            source, loading = checkpoint.source, checkpoint.loading()
            kind = type(AutoConfig.from_pretrained(source, **loading))
            self._segments = kind not in MODEL_FOR_OBJECT_DETECTION_MAPPING
            if self._segments and kind not in MODEL_FOR_UNIVERSAL_SEGMENTATION_MAPPING:
                raise FormalimgError(f"{name} finds no objects: give a detector, or a segmenter such as Mask2Former")
            auto = AutoModelForUniversalSegmentation if self._segments else AutoModelForObjectDetection
            self._processor = AutoImageProcessor.from_pretrained(source, **loading)
            model = auto.from_pretrained(source, **loading, dtype=checkpoint.torch_dtype())
        self._model = model.to(checkpoint.device).eval()

    @cached_property
    def classes(self) -> DetectorClasses:
        """The classes that it was trained on; those of COCO may be called by other words."""
        ids = {str(label): number + 1 for number, label in self._model.config.id2label.items()}
        return DetectorClasses(ids, {name: words for name, words in coco_classes().synonyms.items() if name in ids})

    def unknown_classes(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Return those of these classes that it cannot look for."""
        return self.classes.unknown(classes)

    def find(self, image: Image, classes: Sequence[str], threshold: float) -> list[DetectedBox]:
        """Return all boxes that score above the threshold; those of the classes asked for have the words for them."""
        import torch

        inputs = self._processor(images=image, return_tensors="pt").to(self._model.device)
        inputs["pixel_values"] = inputs["pixel_values"].to(self._model.dtype)
        with torch.inference_mode():
            outputs = self._model(**inputs)
        read = self._read_segments if self._segments else self._read_boxes
        asked = {self.classes.find(word): word for word in classes}
        names = self.classes.by_id
        return [
            DetectedBox(asked.get(names[number + 1], names[number + 1]), score, box_on_canvas(box, image))
            for number, score, box in read(outputs, image, threshold)
            if number + 1 in names
        ]

    def _read_boxes(self, outputs: Any, image: Image, threshold: float) -> list[tuple[int, float, list[float]]]:
        (found,) = self._processor.post_process_object_detection(
            outputs, threshold=threshold, target_sizes=[(image.height, image.width)]
        )
        labels, scores, boxes = (found[name].float().tolist() for name in ("labels", "scores", "boxes"))
        return [(int(label), score, box) for label, score, box in zip(labels, scores, boxes, strict=True)]

    def _read_segments(self, outputs: Any, image: Image, threshold: float) -> list[tuple[int, float, list[float]]]:
        (found,) = self._processor.post_process_instance_segmentation(
            outputs, threshold=threshold, target_sizes=[(image.height, image.width)], return_binary_maps=True
        )
        read = []
        for mask, about in zip(found["segmentation"], found["segments_info"], strict=False):
            rows, columns = mask.nonzero(as_tuple=True)
            if len(rows):
                edges = [int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1]
                read.append((int(about["label_id"]), float(about["score"]), [float(edge) for edge in edges]))
        return read
