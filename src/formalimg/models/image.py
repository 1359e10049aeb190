"""Image models: words in, an image out. What everyone who writes or calls one agrees on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from formalimg.models.base import Engaged, Setting


@dataclass(frozen=True)
class ImageRequest:
    """One image to be made.

    Attributes:
        item: the id of the item the image is for; only models that fetch finished images look at it.
        sample: which of the item's images this is, from 0.
        prompt: the words.
        seed: for models that can be seeded, so that the image can be made again.
        size: width and height wished for, in pixels; a model may answer with another size.
        spec: what the image must show, in the suite's own terms. None unless the model `sees_spec`.
        reference: an image to go by, such as a drawn layout: the bytes of a PNG file; None if there is none.
    """

    item: str
    sample: int
    prompt: str
    seed: int
    size: int = 1024
    spec: object | None = None
    reference: bytes | None = None


@dataclass(frozen=True)
class Generated:
    """An image was made.

    Attributes:
        data: the file as it came: PNG, JPEG or WebP.
        served: what was really used (model id, size, steps …), as far as the model says.
        cost: what it cost, in US dollars; None if nobody knows the price.
    """

    data: bytes
    served: Mapping[str, Setting] = field(default_factory=dict)
    cost: float | None = 0.0


@dataclass(frozen=True)
class Refused:
    """The model declined to make this image, for instance by a safety filter."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """No image came, and it is not known what the model would have made: an outage, a time-out.

    Attributes:
        reason: what happened, in one line.
        absent: nobody tried to make one: it should have been there already, and is not.
    """

    reason: str
    absent: bool = False


Answer: TypeAlias = Generated | Refused | Failed


class ImageModel(Engaged, Protocol):
    """Text in, image out."""

    @property
    def batch(self) -> int:
        """How many requests it likes to be given at once."""
        ...

    @property
    def sees_spec(self) -> bool:
        """Must requests carry what the image has to show? Only for models that mark the ceiling."""
        ...

    def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[Answer]:
        """One answer for each request, in their order, each as soon as it is there.

        What goes wrong with an image is an answer, not an exception. An exception fails the requests that have
        not been answered yet; a `FormalimgError` (a wrong key, a model that does not exist) ends the run.
        """
        ...
