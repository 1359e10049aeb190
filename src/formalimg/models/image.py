"""Base contract of image models: ImageModel, ImageRequest, and the results Generated, Refused and Failed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from formalimg.models.base import Concurrent, Setting


@dataclass(frozen=True)
class ImageRequest:
    """One image to generate.

    Attributes:
        item: id of the item the image is for; only models that load finished images use it.
        sample: index of the image among those of the item, from 0.
        prompt: the text prompt.
        seed: seed for models that take one, so that the image can be reproduced.
        size: requested width and height in pixels; a model may return another size.
        spec: what the image must show, in the suite's own terms. None unless the model `sees_spec`.
        reference: a conditioning image such as a rendered layout, as the bytes of a PNG file; None if there is none.
        suite: name of the item's suite; only built-in models use it, which draw each suite in a world of its own.
    """

    item: str
    sample: int
    prompt: str
    seed: int
    size: int = 1024
    spec: object | None = None
    reference: bytes | None = None
    suite: str = ""


@dataclass(frozen=True)
class Generated:
    """An image was generated.

    Attributes:
        data: the file as received: PNG, JPEG or WebP.
        served: what was actually used (model id, size, steps …), as far as the model reports it.
        cost: cost of all attempts in US dollars; None if the price is unknown.
    """

    data: bytes
    served: Mapping[str, Setting] = field(default_factory=dict)
    cost: float | None = 0.0


@dataclass(frozen=True)
class Refused:
    """The model declined to generate this image, for instance by a safety filter.

    Attributes:
        reason: what happened, on one line.
        cost: cost of all attempts in US dollars, as some refusals are paid for; None if the price is unknown.
    """

    reason: str
    cost: float | None = 0.0


@dataclass(frozen=True)
class Failed:
    """No image was received, and it is unknown what the model would have generated: an outage, a timeout.

    Attributes:
        reason: what happened, on one line.
        absent: no generation was attempted: the image should have existed already and does not.
        cost: cost of all attempts in US dollars: an answer of no use is paid for; None if the price is unknown.
    """

    reason: str
    absent: bool = False
    cost: float | None = 0.0


ImageResult: TypeAlias = Generated | Refused | Failed


class ImageModel(Concurrent, Protocol):
    """Text in, image out."""

    @property
    def batch(self) -> int:
        """Preferred number of requests per `generate` call."""
        ...

    @property
    def sees_spec(self) -> bool:
        """Whether requests must carry `spec`. Only for baselines that mark the ceiling."""
        ...

    def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order, each as soon as it is available.

        A failure of one image is a result, not an exception. An exception fails the requests that have no result
        yet; a `FormalimgError` (invalid key, unknown model) ends the run.
        """
        ...
