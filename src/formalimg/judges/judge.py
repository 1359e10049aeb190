"""Judges and grounders: who looks at pictures, and what everyone who writes or calls one agrees on."""

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
class Picture:
    """A picture to be judged.

    Attributes:
        data: the file as the image model gave it: PNG, JPEG or WebP.
        image: the same decoded, upright, in RGB.
    """

    data: bytes
    image: Image


class Judge(Engaged, Protocol):
    """Item and picture in, verdict out."""

    async def judge(self, item: Item[object], picture: Picture) -> Verdict | Unscored:
        """What the picture shows of what the item asks. What cannot be told is `Unscored`, never a guess."""
        ...


@dataclass(frozen=True)
class Grounding:
    """What a grounder saw in a picture.

    Attributes:
        scene: the things, on a canvas of 1000 by 1000 whatever the picture's size.
        confidence: 0 to 1; how sure the grounder is that this is all of it. Below its own threshold it says `Unscored`.
        evidence: anything else worth keeping, as plain data, such as raw answers.
        cost: what looking cost, in US dollars; None if nobody knows the price.
    """

    scene: Scene
    confidence: float = 1.0
    evidence: Mapping[str, object] = field(default_factory=dict)
    cost: float | None = 0.0


class Grounder(Engaged, Protocol):
    """Picture in, scene out."""

    async def ground(self, picture: Picture, classes: Sequence[str]) -> Grounding | Unscored:
        """The things in a picture.

        Args:
            picture: the picture; a grounder looks at nothing else.
            classes: the classes that matter to whoever asks. A grounder may report others too.
        """
        ...
