"""An image model that imagines a scene and draws it."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from formalimg.models import Answer, Failed, Generated, ImageRequest, Refused, Setting
from formalimg.scenes import DrawingError, Scene, draw
from formalimg.suites import Kind, StyleText

Imagined: TypeAlias = Scene | Refused | Failed
"""What is to be drawn, or why nothing is."""


@dataclass(frozen=True)
class Baseline:
    """An image model inside the package. The same request always gives the same bytes.

    Attributes:
        name: how users write it.
        imagine: decides what is to be drawn.
        settings: what shapes its images besides the request.
        sees_spec: whether requests must carry what the image has to show.
        batch: how many requests it likes to be given at once.
        concurrency: how many calls of `generate` may run at the same time.
        style: it knows one style only, and needs no text about it.
        covers: the kinds of suites whose images it can draw.
        takes_images: can it be given an image to go by?
    """

    name: str
    imagine: Callable[[ImageRequest], Imagined]
    settings: Mapping[str, Setting]
    sees_spec: bool = False
    batch: int = 1
    concurrency: int = field(default_factory=lambda: os.cpu_count() or 1)
    style: StyleText = "none"
    covers: tuple[Kind, ...] = ("formula",)
    takes_images: bool = False

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[Answer]:
        """One answer for each request, in their order. The work is done in a thread, so that others can go on."""
        for request in requests:
            yield await asyncio.to_thread(self.answer, request)

    def answer(self, request: ImageRequest) -> Answer:
        """The answer to one request."""
        imagined = self.imagine(request)
        if not isinstance(imagined, Scene):
            return imagined
        try:
            image = draw(imagined, request.size)
        except DrawingError as error:
            return Failed(f"{self.name} cannot draw this: {error}")
        file = io.BytesIO()
        image.save(file, "PNG", compress_level=1)
        return Generated(file.getvalue(), {"size": request.size})
