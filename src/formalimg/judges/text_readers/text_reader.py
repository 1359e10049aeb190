"""Contracts of text readers: `TextReader`, `TextReading`, `TextLine`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from formalimg.scenes.objects import Box
from formalimg.types import Concurrent, Unscored

if TYPE_CHECKING:
    from formalimg.judges.base import LoadedImage


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
    """Image in, text out."""

    async def read(self, image: LoadedImage) -> TextReading | Unscored:
        """Return the text in an image, or why it cannot be read."""
        ...
