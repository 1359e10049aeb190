"""What providers of remote image models bring: one call. Retries, limits and prices are the same for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from formalimg.models.calls import Usage
from formalimg.models.identity import Named, Setting
from formalimg.models.image import ImageRequest


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
