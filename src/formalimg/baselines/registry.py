"""An image model that imagines a scene and draws it."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models import Answer, Failed, Generated, ImageModel, ImageRequest, Refused, Setting
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


BASELINES = ("oracle", "painter", "reader", "scatter")
"""The names of the built-in models."""

_VERSION = 1
"""Raised with every change after which a model makes other images: those of another version are not reused."""

_LONGEST_MEMORY = 1_000


def open_baseline(name: str, options: Mapping[str, str]) -> ImageModel:
    """A built-in image model, which needs no weights and no network.

    Args:
        name: `oracle` draws what the formula asks for (the ceiling), `reader` what it understands of the words (the
            middle), `scatter` the named objects anywhere (the floor), `painter` a layout that it is given.
        options: for the reader, `memory`: how many facts it keeps in mind.

    Raises:
        FormalimgError: if there is no such model, no such option, or the option has an impossible value.
    """
    if name not in BASELINES:
        raise FormalimgError(
            f"there is no builtin/{name}: use one of {', '.join(f'builtin/{one}' for one in BASELINES)}"
        )
    known = ("memory",) if name == "reader" else ()
    unknown = sorted(set(options) - set(known))
    if unknown:
        advice = f"it has {', '.join(known)}" if known else "it has none"
        raise FormalimgError(f"builtin/{name} has no option {unknown[0]!r}: {advice}")
    match name:
        case "oracle":
            return _oracle()
        case "painter":
            return _painter()
        case "reader":
            return _reader(options)
        case _:
            return _scatter()


# Each loads its own parts only: they need numpy, the solver and the drawings.


def _oracle() -> Baseline:
    from formalimg.baselines.oracle import imagine

    return Baseline("builtin/oracle", imagine, {"version": _VERSION}, sees_spec=True)


def _reader(options: Mapping[str, str]) -> Baseline:
    from formalimg.baselines.reader import MEMORY, imagine

    memory = _number("memory", options.get("memory", str(MEMORY)))
    return Baseline(
        "builtin/reader",
        _from_words(lambda prompt, seed: imagine(prompt, seed, memory=memory)),
        {"version": _VERSION, "memory": memory},
    )


def _painter() -> Baseline:
    from formalimg.baselines.painter import imagine

    return Baseline("builtin/painter", imagine, {"version": _VERSION}, takes_images=True)


def _scatter() -> Baseline:
    from formalimg.baselines.scatter import imagine

    return Baseline("builtin/scatter", _from_words(imagine), {"version": _VERSION})


def _from_words(imagine: Callable[[str, int], Scene]) -> Callable[[ImageRequest], Imagined]:
    """An artist that sees the words and the seed of a request, and nothing else."""

    def imagined(request: ImageRequest) -> Imagined:
        scene = imagine(request.prompt, request.seed)
        return scene if scene.objects else Refused("the prompt names nothing that can be drawn")

    return imagined


def _number(option: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= _LONGEST_MEMORY):
        raise FormalimgError(f"{option}={text!r} is out of range: give a whole number from 1 to {_LONGEST_MEMORY}")
    return int(text)
