"""The grounder that asks a detector for boxes and looks up colours itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.detector.family import Family, family_of
from formalimg.judges.detector.rules import Found, sift
from formalimg.judges.judge import Grounding, LoadedImage
from formalimg.judges.verdict import Unscored
from formalimg.models import (
    INSTALL_LOCAL,
    Checkpoint,
    Options,
    Setting,
    is_out_of_memory,
    needs,
    read_checkpoint,
    require_modules,
)
from formalimg.scenes import Scene, SceneObject

if TYPE_CHECKING:
    from PIL.Image import Image

    from formalimg.judges.detector.detecting import Detector

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
        from formalimg.judges.detector.colors import colors_version

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
        from formalimg.judges.detector.detecting import Detector

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
        from formalimg.judges.detector.colors import color_in

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
