"""Protocols and data types shared by judges, grounders and text readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import SystemRandom
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from formalimg._util.images import png_bytes
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.errors import FormalimgError
from formalimg.scenes.objects import Box
from formalimg.scenes.scene import Scene
from formalimg.types import Concurrent, Item, Part, Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image


UnscoredReason: TypeAlias = Literal[
    "no image",  # the image model has not answered yet
    "refused",  # the image model declined
    "generation failed",  # the image model did not answer
    "unreadable image",  # a file that cannot be decoded
    "too large",  # more pixels than anyone should decode
    "not understood",  # the judge looked, and cannot tell
    "judge failed",  # the judge did not answer
    "not judged",  # no judge has looked yet
]

DECLINED = "declined to look"
"""What the detail of a `judge failed` says where the judge's model refused, as by a content filter."""

MAX_OBJECTS = 1000
"""The most objects of a scene that is judged: time grows with their number, and no image of a suite shows so many."""


@dataclass(frozen=True)
class LoadedImage:
    """An image to be judged, as file content and as decoded pixels."""

    data: bytes  # the file as the image model returned it: PNG, JPEG or WebP
    pil: Image  # the decoded image, upright, in RGB


def load_image(image: Image) -> LoadedImage:
    """Wrap a PIL image as a `LoadedImage`, encoded as PNG."""
    return LoadedImage(png_bytes(image), image)


def load_uncached(image: Image) -> LoadedImage:
    """Load an image with imperceptibly changed corner pixels, so that no cache has an answer for it."""
    image = image.convert("RGB")
    rng = SystemRandom()
    right, bottom = image.width - 1, image.height - 1
    for corner in ((0, 0), (right, 0), (0, bottom), (right, bottom)):
        color = image.getpixel(corner)
        assert isinstance(color, tuple), "it is RGB"
        image.putpixel(corner, tuple(max(0, value - rng.randrange(8)) for value in color))
    return load_image(image)


@dataclass(frozen=True)
class Grounding:
    """The objects that a grounder found in an image."""

    scene: Scene  # the objects, on a canvas of 1000 by 1000 whatever the size of the image
    # 0 to 1; how sure the grounder is that this is all of it. Below its threshold it returns `Unscored`
    confidence: float = 1.0
    # anything else worth keeping, as plain data, such as raw answers
    evidence: Mapping[str, object] = field(default_factory=dict)
    cost: float | None = 0.0  # the cost of grounding in US dollars; None if the price is unknown


@dataclass(frozen=True)
class TextLine:
    """A line of text in an image."""

    text: str  # what it says
    box: Box  # where it is, on a canvas of 1000 by 1000 whatever the size of the image
    confidence: float = 1.0  # 0 to 1


@dataclass(frozen=True)
class TextReading:
    """The text in an image."""

    lines: tuple[TextLine, ...]  # the lines, in any order; none if the image shows no text
    evidence: Mapping[str, object] = field(default_factory=dict)  # anything else worth keeping, as plain data
    cost: float | None = 0.0  # the cost of reading in US dollars; None if the price is unknown


@runtime_checkable
class TextReader(Concurrent, Protocol):
    """Protocol for text readers, which return the text in an image."""

    async def read(self, image: LoadedImage) -> TextReading | Unscored: ...


def find_formula(item: Item[object]) -> FormulaSpec | Unscored:
    """Return the item's formula spec, or `Unscored` if the item has no readable formula."""
    spec = item.spec
    if not isinstance(spec, FormulaSpec):
        return Unscored("not understood", f"item {item.id} of {item.suite} has no formula")
    if spec.unreadable is not None:
        return Unscored("not understood", f"item {item.id} of {item.suite}: {spec.unreadable_because}")
    return spec


def soft_score(verdict: Verdict) -> float | None:
    """Return the weighted mean of `p_yes` over the parts, or None if any part has no probability."""
    weight, total = 0.0, 0.0
    for part in verdict.parts:
        if part.p_yes is None:
            return None
        weight += part.weight
        total += part.p_yes * part.weight
    return total / weight if weight else None


def part_to_json(part: Part) -> dict[str, object]:
    """Convert a part of a verdict to JSON-compatible data."""
    data: dict[str, object] = {
        "name": part.name,
        "kind": part.kind,
        "score": part.score,
        "weight": part.weight,
        "about": list(part.about),
        "reason": part.reason,
    }
    return data if part.p_yes is None else {**data, "p_yes": part.p_yes}


def part_from_json(data: Mapping[str, object]) -> Part:
    """Rebuild a part from the output of `part_to_json`."""
    # A report reads tens of thousands: without a loop over the names, and with tuples of types, not unions.
    name, kind, score = data["name"], data["kind"], data["score"]
    weight, about, reason, p_yes = data["weight"], data["about"], data["reason"], data.get("p_yes")
    if not (isinstance(score, (int, float)) and isinstance(weight, (int, float)) and isinstance(about, list)):
        raise FormalimgError(f"not a part of a verdict: {data!r}")
    if p_yes is not None and not (isinstance(p_yes, (int, float)) and 0 <= p_yes <= 1):
        raise FormalimgError(f"not a part of a verdict: {data!r}")
    soft = None if p_yes is None else float(p_yes)
    return Part(str(name), str(kind), float(score), float(weight), tuple(map(str, about)), str(reason), soft)
