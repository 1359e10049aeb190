"""Any Python function from words to an image, as an image model."""

from __future__ import annotations

import asyncio
import inspect
import io
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.models.identity import Setting
from formalimg.models.image import Answer, Generated, ImageRequest, Refused


class CallableModel:
    """A function that makes images.

    The function takes a prompt, and also `seed` and `size` if it has parameters of these names. It gives back a PIL
    image, the bytes of a PNG, JPEG or WebP file, or the path of one; None means that it declines. It may be async.
    """

    sees_spec = False
    style = "none"
    """A function gets the words of the item as they are, unless it is asked for otherwise."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        settings: Mapping[str, Setting] | None = None,
        batch: int = 1,
        concurrency: int = 1,
    ) -> None:
        """A model around a function.

        Args:
            function: what makes images. With a batch of more than 1 it takes a list of prompts (and of seeds) and
                gives back a list of images.
            name: what to call it in tables.
            settings: what else shapes its images and should be on record.
            batch: how many prompts it takes at once.
            concurrency: how many calls may run at the same time; one unless the function is safe for threads.
        """
        if not callable(function):
            raise FormalimgError(f"{function!r} makes no images: give a function from a prompt to an image")
        if batch < 1 or concurrency < 1:
            raise FormalimgError("batch and concurrency must be 1 or more")
        self._function = function
        self.name = name or f"python/{getattr(function, '__qualname__', type(function).__name__)}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self.batch = batch
        self.concurrency = concurrency
        self._takes = _parameters(function)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[Answer]:
        """One answer for each request; whatever the function raises fails the whole batch."""
        if self.batch == 1:
            for request in requests:
                yield _answer(await self._called(request.prompt, seed=request.seed, size=request.size))
            return
        seeds = [request.seed for request in requests]
        made = await self._called([request.prompt for request in requests], seed=seeds, size=requests[0].size)
        images = list(made)
        if len(images) != len(requests):
            raise ValueError(f"{len(requests)} prompts were given, but {len(images)} images came back")
        for image in images:
            yield _answer(image)

    async def _called(self, prompts: str | list[str], **wishes: object) -> Any:
        taken = {name: value for name, value in wishes.items() if name in self._takes}
        if inspect.iscoroutinefunction(self._function):
            return await self._function(prompts, **taken)
        made = await asyncio.to_thread(self._function, prompts, **taken)
        # Objects and partial functions do not always tell beforehand that they are async.
        return await made if inspect.isawaitable(made) else made


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C do not tell
        return frozenset()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return frozenset({"seed", "size"})
    return frozenset(parameters)


def _answer(image: Any) -> Answer:
    if image is None:
        return Refused("the function gave back None")
    if isinstance(image, bytes | bytearray | memoryview):
        return Generated(bytes(image))
    if isinstance(image, str | os.PathLike):
        return Generated(Path(image).read_bytes())
    if callable(getattr(image, "save", None)):
        file = io.BytesIO()
        image.save(file, format="PNG", compress_level=1)
        return Generated(file.getvalue())
    raise TypeError(f"an image must be a PIL image, bytes or a path, not {type(image).__name__}")
