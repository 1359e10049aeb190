"""Registry of the baselines: built-in image models that compose a scene and render it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, Union

from formalimg._util.images import png_bytes
from formalimg.benchmarks.conditions import StyleText
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.benchmarks.registry import suite_names
from formalimg.drawing.icon_scene import DrawingError, draw, read_layout
from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import ImageModel, Setting

if TYPE_CHECKING:
    from PIL.Image import Image

    from formalimg.drawing.scene import DrawnScene

BASELINES = ("oracle", "painter", "reader", "scatter", "tiny")  # the names of the baselines, without `builtin/`
# Raised with every change after which a baseline makes other images: those of another version are not reused.
_VERSION = 1
_DRAWN_VERSION = 2  # the same for drawn worlds. It is no setting, so that images of Knolling stay as they are.
_MAX_MEMORY = 1_000
_MAX_BRACKETS = 100  # so many places that look like a layout are tried; each takes time, and a prompt has one

ComposedScene: TypeAlias = Scene | Refused | Failed  # the scene to draw, or why there is none
ComposedDrawing: TypeAlias = Union["DrawnScene", Refused, Failed]  # the same for suites with a drawn world


@dataclass(frozen=True)
class Baseline:
    """A built-in image model. Identical requests produce identical bytes."""

    name: str  # how users write it
    compose: Callable[[ImageRequest], ComposedScene]  # decides on the scene for a request
    settings: Mapping[str, Setting]  # what shapes its images besides the request
    sees_spec: bool = False  # whether requests must carry what the image has to show
    batch: int = 1  # the preferred number of requests per call
    # how many calls of `run --no-judge` may run at the same time
    concurrency: int = field(default_factory=lambda: os.cpu_count() or 1)
    style: StyleText = "none"  # it knows one style only, and needs no text about it
    # whether it draws suites of formulas only, or all that have a world to be drawn
    covers: Literal["formulas", "worlds"] = "formulas"
    takes_images: bool = False  # whether it accepts a reference image
    # the same for suites with a drawn world, such as Natural; None if it draws none
    compose_drawn: Callable[[ImageRequest], ComposedDrawing] | None = None
    # makes the image of a scene; None if it is drawn with icons
    paint: Callable[[Scene, ImageRequest], Image] | None = None

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order, computed in a thread."""
        for request in requests:
            yield await asyncio.to_thread(self.answer, request)

    def answer(self, request: ImageRequest) -> ImageResult:
        """Return the result for one request."""
        if request.suite and suite_of(request.suite).world == "drawn":
            return self._answer_drawn(request)
        scene = self.compose(request)
        if not isinstance(scene, Scene):
            return scene
        try:
            image = draw(scene, request.size) if self.paint is None else self.paint(scene, request)
        except DrawingError as error:
            return Failed(f"{self.name} cannot draw this: {error}")
        return Generated(png_bytes(image), {"size": image.width})

    def _answer_drawn(self, request: ImageRequest) -> ImageResult:
        """Return the result for a suite with a drawn world: a signed PNG file that embeds its scene."""
        from formalimg.drawing.render import draw_scene  # here, because few need them
        from formalimg.drawing.scene import DrawnScene
        from formalimg.drawing.signed_png import signed_png

        if self.compose_drawn is None:
            return Failed(f"{self.name} draws no scenes of {request.suite}: use builtin/oracle, or a real model")
        scene = self.compose_drawn(request)
        if not isinstance(scene, DrawnScene):
            return scene
        try:
            image = draw_scene(scene, request.size)
        except FormalimgError as error:
            return Failed(f"{self.name} cannot draw this: {error}")
        return Generated(signed_png(image, scene), {"size": request.size})

    def drawn_version(self, suite: str) -> int | None:
        """Return the drawing version for a suite with a drawn world, or None for other suites."""
        return _DRAWN_VERSION if suite_of(suite).world == "drawn" else None


def open_baseline(name: str, options: Mapping[str, str]) -> ImageModel:
    """Open a baseline: an image model that needs no weights and no network.

    Args:
        name: `oracle` draws what the formula asks for (the ceiling), `reader` what it understands of the prompt (the
            middle), `scatter` the named objects anywhere (the floor), `painter` a layout in the request. `tiny` is a
            small learned model.
        options: for the reader, `memory`: how many facts it keeps; and for drawn worlds the chances of its failures,
            such as `lose_attributes` (see `MisreadRates`); for tiny, `weights`: a file of other weights.
    """
    if name not in BASELINES:
        baselines = ", ".join(f"builtin/{baseline}" for baseline in BASELINES)
        raise FormalimgError(f"there is no builtin/{name}: use one of {baselines}")
    option_names = _reader_options(options) if name == "reader" else ("weights",) if name == "tiny" else ()
    unknown = sorted(set(options) - set(option_names))
    if unknown:
        advice = f"it has {', '.join(option_names)}" if option_names else "it has none"
        raise FormalimgError(f"builtin/{name} has no option {unknown[0]!r}: {advice}")
    settings = {"version": _VERSION}
    match name:  # each is imported here: they need numpy, the solver or image libraries
        case "oracle":
            from formalimg.models.builtin.oracle import compose_drawn_solution, compose_solution

            return Baseline(
                "builtin/oracle",
                compose_solution,
                settings,
                sees_spec=True,
                covers="worlds",
                compose_drawn=compose_drawn_solution,
            )
        case "painter":
            return Baseline(
                "builtin/painter", compose_layout, settings, takes_images=True, compose_drawn=_compose_drawn_layout
            )
        case "reader":
            return _open_reader(options)
        case "tiny":
            return _open_tiny(options)
        case _:
            from formalimg.models.builtin.placement import compose_scattered

            compose = _from_prompt(compose_scattered)
            return Baseline("builtin/scatter", compose, settings, covers="worlds", compose_drawn=_compose_drawn_scatter)


def _compose_drawn_scatter(request: ImageRequest) -> ComposedDrawing:
    from formalimg.models.builtin.drawn_reader import compose_drawn_scatter  # here, as most runs are of Knolling

    return compose_drawn_scatter(request)


def compose_layout(request: ImageRequest) -> Scene | Failed:
    """Read the layout from a request, either from the prompt text or from the metadata of the reference image."""
    try:
        if request.reference is None:
            return _layout_from_prompt(request.prompt)
        from PIL import Image

        with Image.open(io.BytesIO(request.reference)) as image:
            return read_layout(image)
    except SceneError as error:
        return Failed(f"builtin/painter draws layouts only ({error}): use --condition text-layout or image-layout")


def _layout_from_prompt(prompt: str) -> Scene:
    decoder = json.JSONDecoder()
    for bracket in islice(re.finditer(r"\[\s*\{", prompt), _MAX_BRACKETS):
        try:
            objects, _ = decoder.raw_decode(prompt, bracket.start())
        except (ValueError, RecursionError):
            continue
        return Scene.from_json({"objects": objects})
    raise SceneError(["there is no layout in the prompt"])


def _compose_drawn_layout(request: ImageRequest) -> ComposedDrawing:
    from formalimg.drawing.scene import DrawnScene

    layout = compose_layout(request)
    return DrawnScene(Scene.of(layout.objects, layout.relations or ())) if isinstance(layout, Scene) else layout


def _open_reader(options: Mapping[str, str]) -> Baseline:
    from formalimg.models.builtin.reader import DEFAULT_MEMORY, compose_scene

    text = options.get("memory", str(DEFAULT_MEMORY))
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= _MAX_MEMORY):
        raise FormalimgError(f"memory={text!r} is out of range: give a whole number from 1 to {_MAX_MEMORY}")
    memory, rate_names = int(text), [name for name in options if name != "memory"]
    rate_options = {name: _parse_chance(name, options[name]) for name in rate_names}

    def compose(prompt: str, seed: int) -> Scene:
        if rate_options:
            drawn = " and ".join(name for name in suite_names() if suite_of(name).world == "drawn")
            raise FormalimgError(f"builtin/reader has the option {rate_names[0]!r} for {drawn} only: leave it out")
        return compose_scene(prompt, seed, memory=memory)

    def compose_drawn(request: ImageRequest) -> ComposedDrawing:
        from formalimg.models.builtin.drawn_reader import compose_drawn_reading  # here, as Knolling needs none of it
        from formalimg.models.builtin.drawn_world import drawn_world

        rates = replace(drawn_world(request.suite).rates, **rate_options)
        return compose_drawn_reading(request.prompt, request.suite, rates, memory=memory, seed=request.seed)

    return Baseline(
        "builtin/reader",
        _from_prompt(compose),
        {"version": _VERSION, "memory": memory, **rate_options},
        covers="worlds",
        compose_drawn=compose_drawn,
    )


def _open_tiny(options: Mapping[str, str]) -> Baseline:
    from formalimg.models.builtin.tiny.model import WEIGHTS, enlarge, load_tiny, weights_digest

    path = Path(options["weights"]) if "weights" in options else WEIGHTS
    model = load_tiny(path)

    def paint(scene: Scene, request: ImageRequest) -> Image:
        return enlarge(model.paint(scene, request.seed), request.size)

    settings: dict[str, Setting] = {"version": _VERSION, "weights": weights_digest(path)}
    return Baseline("builtin/tiny", _from_prompt(model.plan), settings, paint=paint)


def _reader_options(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the reader's options, including the misread rates if other options are given."""
    if not set(options) - {"memory"}:
        return ("memory",)
    from formalimg.models.builtin.drawn_world import MISREAD_OPTIONS

    return ("memory", *MISREAD_OPTIONS)


def _from_prompt(compose: Callable[[str, int], Scene]) -> Callable[[ImageRequest], ComposedScene]:
    def compose_request(request: ImageRequest) -> ComposedScene:
        scene = compose(request.prompt, request.seed)
        return scene if scene.objects else Refused("the prompt names nothing that can be drawn")

    return compose_request


def _parse_chance(option: str, text: str) -> float:
    if not re.fullmatch(r"0|1|[01]?\.[0-9]{1,9}", text, re.ASCII) or float(text) > 1:
        raise FormalimgError(f"{option}={text!r} is out of range: give a chance from 0 to 1, such as 0.15")
    return float(text)
