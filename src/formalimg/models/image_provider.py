"""What providers of remote image models bring: one call. Retries, limits and prices are the same for all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from formalimg.models.base import CallError, Named, Setting, Usage
from formalimg.models.image import Answer, Failed, Generated, ImageRequest, Refused
from formalimg.models.pricing import Price, price
from formalimg.models.retry import USUAL, Door, RetryPolicy
from formalimg.models.secrets import without_keys


@dataclass(frozen=True)
class Painted:
    """An image as a provider gave it.

    Attributes:
        data: the file as it came.
        served: what was really used (model id, size, seed, revised prompt …), as far as the provider says.
        usage: what it cost in tokens or images.
    """

    data: bytes
    served: Mapping[str, Setting] = field(default_factory=dict)
    usage: Usage = field(default_factory=lambda: Usage(images=1))


class ImageProvider(Named, Protocol):
    """One call to a remote image model."""

    @property
    def takes_images(self) -> bool:
        """Can it be given a reference image beside the words?"""
        ...

    async def paint(self, request: ImageRequest) -> Painted:
        """Make one image.

        Raises:
            CallError: if no image came.
            FormalimgError: if no call can ever succeed: a wrong key, a model that does not exist.
        """
        ...


class RemoteImageModel:
    """An image model behind a provider. What a call cannot bring is an answer with its reason.

    Attributes:
        name, settings, batch, concurrency, sees_spec: as for every image model.
        takes_images: can it be given a reference image beside the words?
    """

    batch = 1
    sees_spec = False

    def __init__(self, provider: ImageProvider, door: Door, concurrency: int, price: Price) -> None:
        self.name = provider.name
        self.concurrency = concurrency
        self.takes_images = provider.takes_images
        self._provider = provider
        self._door = door
        self._price = price

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything besides the request that shapes the images."""
        return self._provider.settings

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[Answer]:
        """One answer for each request, in their order."""
        for request in requests:
            yield await self._answer(request)

    async def _answer(self, request: ImageRequest) -> Answer:
        if request.reference is not None and not self.takes_images:
            return Failed(f"{self.name} takes words only, but an image was to go with them")
        try:
            painted = await self._door.politely(lambda: self._provider.paint(request))
        except CallError as error:
            return Refused(error.reason) if error.fault == "refused" else Failed(f"{error.fault}: {error.reason}")
        return Generated(painted.data, without_keys(painted.served), self._price.cost(painted.usage))


def remote(provider: ImageProvider, *, retry_policy: RetryPolicy = USUAL, door: Door | None = None) -> RemoteImageModel:
    """An image model of a provider's calls: with limits, retries, time-outs and prices.

    Args:
        provider: makes the calls.
        retry_policy: how.
        door: the way to the model, if several share one limit; a new one if None.
    """
    return RemoteImageModel(provider, door or Door(retry_policy), retry_policy.concurrency, price(provider.name))
