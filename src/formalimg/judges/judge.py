"""Judges and grounders: who looks at images, and what everyone who writes or calls one agrees on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from formalimg.judges.verdict import Unscored, Verdict
from formalimg.models import Engaged
from formalimg.scenes import Scene
from formalimg.suites import Item

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class LoadedImage:
    """An image to be judged.

    Attributes:
        data: the file as the image model gave it: PNG, JPEG or WebP.
        pil: the same decoded, upright, in RGB.
    """

    data: bytes
    pil: Image


class Judge(Engaged, Protocol):
    """Item and image in, verdict out."""

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """What the image shows of what the item asks. What cannot be told is `Unscored`, never a guess."""
        ...


@dataclass(frozen=True)
class Grounding:
    """What a grounder saw in an image.

    Attributes:
        scene: the objects, on a canvas of 1000 by 1000 whatever the image's size.
        confidence: 0 to 1; how sure the grounder is that this is all of it. Below its own threshold it says `Unscored`.
        evidence: anything else worth keeping, as plain data, such as raw answers.
        cost: what looking cost, in US dollars; None if nobody knows the price.
    """

    scene: Scene
    confidence: float = 1.0
    evidence: Mapping[str, object] = field(default_factory=dict)
    cost: float | None = 0.0


class Grounder(Engaged, Protocol):
    """Image in, scene out."""

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """The objects in an image.

        Args:
            image: the image; a grounder looks at nothing else.
            classes: the classes that matter to whoever asks. A grounder may report others too.
        """
        ...
