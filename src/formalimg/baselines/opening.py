"""From the name of a built-in model to the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from formalimg.baselines.artist import Baseline, Imagined
from formalimg.errors import FormalimgError
from formalimg.models import ImageModel, ImageRequest, Refused
from formalimg.scenes import Scene

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
