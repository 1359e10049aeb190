"""Front."""

from __future__ import annotations

import asyncio
import inspect
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage, Unscored
from formalimg.judges.iou import overlap
from formalimg.models import (
    INSTALL_LOCAL,
    Checkpoint,
    Options,
    Setting,
    hush,
    is_out_of_memory,
    needs,
    read_checkpoint,
    require_modules,
)
from formalimg.scenes import CANVAS, Box, Scene, SceneObject

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Family:
    """How detectors of a family are asked.

    Attributes:
        pattern: found in the names of its models.
        query: the words for a class, with `{class}` in its place.
        together: whether all classes are asked for at once.
        threshold: the score from which a box counts, unless the user says otherwise.
    """

    pattern: str
    query: str
    together: bool
    threshold: float


def family_of(model: str) -> Family:
    """The family of a detector, by its name."""
    return next(family for family in _families() if re.search(family.pattern, model, re.IGNORECASE))


@cache
def _families() -> tuple[Family, ...]:
    table = tomllib.loads((files("formalimg.judges.grounders") / "detector_families.toml").read_text(encoding="utf-8"))
    return tuple(Family(**entry) for entry in table["families"])


MIN_SIDE = 1.0
"""What is less wide or high than this on the canvas of 1000, after cutting, is no object."""


class Found(NamedTuple):
    """A box as the detector gave it, on the canvas, which it may leave.

    Attributes:
        label: the class that was asked for.
        score: how sure the detector is, 0 to 1.
        box: where.
    """

    label: str
    score: float
    box: Box

    def to_json(self) -> dict[str, object]:
        """The same as plain data."""
        return {"label": self.label, "score": round(self.score, 4), "box_2d": [round(number, 2) for number in self.box]}


class Sifted(NamedTuple):
    """What is there, and what was dropped for it."""

    kept: tuple[Found, ...]
    dropped: tuple[Found, ...]


def sift(found: Iterable[Found], most_overlap: float) -> Sifted:
    """The objects among what was found, the surest first, by these rules.

    1. Boxes are cut at the edges of the image; what is then less than 1 of 1000 wide or high is dropped.
    2. Of boxes that overlap by `most_overlap` or more (intersection over union), only the surest is kept, whatever
       their classes: an object is of one class. If two are equally sure, the one asked for first is.

    Raises:
        ValueError: if a box or a score is not a finite number: the detector is broken.
    """
    kept: list[Found] = []
    dropped: list[Found] = []
    for one in sorted(found, key=lambda one: -one.score):
        if not all(map(math.isfinite, (one.score, *one.box))):
            raise ValueError(f"the detector gave a {one.label} with the box {one.box} and the score {one.score}")
        cut = one._replace(box=Box(*(round(min(max(number, 0.0), float(CANVAS)), 2) for number in one.box)))
        too_small = min(cut.box.xmax - cut.box.xmin, cut.box.ymax - cut.box.ymin) < MIN_SIDE
        if too_small or any(overlap(cut.box, other.box) >= most_overlap for other in kept):
            dropped.append(one)
        else:
            kept.append(cut)
    return Sifted(tuple(kept), tuple(dropped))


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


RULES = 1
"""The version of the rules from boxes to scenes: a new number wherever a scene may come out differently."""


_DTYPE = "float32"
"""Shorter numbers would put boxes on a grid of 4 in 1000, which is too coarse for what formulas ask."""


class DetectorGrounder:
    """Finds objects with an open-vocabulary detector, and their colours in the pixels of their boxes.

    Only the classes that matter to whoever asks are looked for. Its evidence, all plain data:

    - `found`: the objects with their scores, and how much of each has its colour;
    - `dropped`: boxes that the rules dropped, if any;
    - `served`: what was really used.

    Attributes:
        name, settings, concurrency: as for every grounder.
    """

    concurrency = 2
    """One image waits while another is looked at; there is but one thread for them."""

    def __init__(
        self, name: str, checkpoint: Checkpoint, family: Family, threshold: float, most_overlap: float
    ) -> None:
        """A grounder whose detector is loaded when the first image comes.

        Args:
            name: how users write it.
            checkpoint: which weights.
            family: how the detector is asked.
            threshold: the score from which a box counts.
            most_overlap: boxes that overlap by so much (intersection over union) are one object.
        """
        self.name = name
        self._checkpoint = checkpoint
        self._family = family
        self._threshold = threshold
        self._most_overlap = most_overlap
        self._thread = ThreadPoolExecutor(1, "detector")
        self._detector: Detector | None = None

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Which weights, how they are asked, the thresholds, and the versions of the rules."""
        from formalimg.judges.grounders.pixel_colors import colors_version

        return {
            **self._checkpoint.settings,
            "query": self._family.query,
            "together": self._family.together,
            "threshold": self._threshold,
            "overlap": self._most_overlap,
            "colors": colors_version(),
            "grounding_rules": RULES,
        }

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """The objects of these classes in an image."""
        if not classes:
            return Unscored("not understood", "no class is named that could be looked for")
        look = partial(self._find, image.pil, tuple(dict.fromkeys(classes)))
        found = await asyncio.get_running_loop().run_in_executor(self._thread, look)
        if found is None:
            return Unscored(
                "judge failed", f"{self.name} needs more memory than there is: see the options device and dtype"
            )
        return await asyncio.to_thread(self._grounding, image.pil, found)

    def _find(self, image: Image, classes: Sequence[str]) -> list[Found] | None:
        """What the detector finds; None if its memory is not enough."""
        if self._detector is None:
            self._detector = Detector(self.name, self._checkpoint, self._family)
        try:
            return self._detector.find(image, classes, self._threshold)
        except ImportError as error:  # some processors find out late what they need
            why = truncate(" ".join(str(error).split()), 200, 0)
            raise FormalimgError(f"{self.name} needs what is not installed ({why}): {INSTALL_LOCAL}") from None
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return None

    def _grounding(self, image: Image, found: Sequence[Found]) -> Grounding:
        from formalimg.judges.grounders.pixel_colors import color_in

        sifted = sift(found, self._most_overlap)
        colors = [color_in(image, one.box) for one in sifted.kept]
        objects = [SceneObject(one.label, one.box, seen.word) for one, seen in zip(sifted.kept, colors, strict=True)]
        evidence: dict[str, object] = {
            "found": [
                {**one.to_json(), "color": seen.word, "color_share": seen.share}
                for one, seen in zip(sifted.kept, colors, strict=True)
            ],
            "served": self._checkpoint.served("config.json", "transformers"),
        }
        if sifted.dropped:
            evidence["dropped"] = [one.to_json() for one in sifted.dropped]
        return Grounding(Scene.of(objects), evidence=evidence)


@needs(modules=("torch", "transformers"), install=INSTALL_LOCAL)
def open_detector(model: str, options: Mapping[str, str]) -> DetectorGrounder:
    """A zero-shot object detector on this machine or on the Hugging Face hub, such as OWLv2 or Grounding DINO.

    Args:
        model: the folder of a saved detector, or its id on the hub, such as `google/owlv2-base-patch16-ensemble`.
        options: `threshold` (the score from which a box counts), `overlap` (from which two boxes are one object),
            `query` (the words for a class, with `{class}`); `device`, `dtype`, `revision`, `offline`,
            `trust_remote_code`.

    Raises:
        FormalimgError: if an option is wrong, there is no such folder, or a library is missing.
    """
    require_modules("detector", open_detector)
    name = f"detector/{model}"
    given = Options(name, options)
    usual = family_of(model)
    query = given.text("query", usual.query)
    if "{class}" not in query:
        raise FormalimgError(f"query={query!r} of {name} has no {{class}}: write it where the class belongs")
    family = replace(usual, query=query)
    threshold = given.number("threshold", usual.threshold, least=0, most=1)
    most_overlap = given.number("overlap", 0.5, least=0.01, most=1)
    checkpoint = read_checkpoint(model, given, _DTYPE)
    given.done()
    return DetectorGrounder(name, checkpoint, family, threshold, most_overlap)
