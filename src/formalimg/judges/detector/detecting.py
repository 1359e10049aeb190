"""A zero-shot detector of the transformers library, loaded and asked."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from formalimg.judges.detector.family import Family
from formalimg.judges.detector.rules import Found
from formalimg.models import Checkpoint, hush
from formalimg.scenes import CANVAS, Box

if TYPE_CHECKING:
    from PIL.Image import Image


class Detector:
    """A detector that finds whatever it is asked for in words. To be used by one thread at a time."""

    def __init__(self, name: str, checkpoint: Checkpoint, family: Family) -> None:
        """Loads the detector, which takes its time.

        Raises:
            FormalimgError: if it cannot be loaded.
        """
        from transformers import AutoModelForZeroShotObjectDetection, AutoProcessor

        hush("transformers")
        self._family = family
        with checkpoint.being_loaded(name):
            source, loading = checkpoint.source, checkpoint.loading()
            self._processor = AutoProcessor.from_pretrained(source, **loading)
            model = AutoModelForZeroShotObjectDetection.from_pretrained(
                source, **loading, dtype=checkpoint.torch_dtype()
            )
        self._model = model.to(checkpoint.device).eval()

    def find(self, image: Image, classes: Sequence[str], threshold: float) -> list[Found]:
        """All boxes that score above the threshold for one of the classes."""
        if self._family.together:
            return self._asked(image, classes, threshold)
        return [found for one in classes for found in self._asked(image, [one], threshold)]

    def _asked(self, image: Image, classes: Sequence[str], threshold: float) -> list[Found]:
        import torch

        queries = [self._family.query.replace("{class}", one.replace("_", " ")) for one in classes]
        asked = self._processor(images=image, text=[queries], return_tensors="pt").to(self._model.device)
        asked["pixel_values"] = asked["pixel_values"].to(self._model.dtype)
        with torch.inference_mode():
            outputs = self._model(**asked)
        (told,) = self._processor.post_process_grounded_object_detection(
            outputs,
            threshold=threshold,
            target_sizes=[(image.height, image.width)],
            text_labels=[queries],
            **self._more(asked),
        )
        scores, boxes = told["scores"].float().tolist(), told["boxes"].float().tolist()
        # Asked for one class, all that is found is of it; some detectors then give words instead of numbers.
        labels = [int(label) for label in told["labels"]] if len(classes) > 1 else [0] * len(scores)
        return [
            Found(classes[label], score, _on_canvas(box, image))
            for score, label, box in zip(scores, labels, boxes, strict=True)
        ]

    def _more(self, asked: Any) -> dict[str, Any]:
        """Grounding DINO reads words back from its input, those that score above another threshold: we need none."""
        return {"input_ids": asked["input_ids"], "text_threshold": 1.0} if _reads_back(self._processor) else {}


def _reads_back(processor: Any) -> bool:
    return "text_threshold" in inspect.signature(processor.post_process_grounded_object_detection).parameters


def _on_canvas(box: Sequence[float], image: Image) -> Box:
    across, down = CANVAS / image.width, CANVAS / image.height
    return Box(box[0] * across, box[1] * down, box[2] * across, box[3] * down)
