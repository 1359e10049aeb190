"""Layouts that a run of the layout task has made, for runs that give them to image models."""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.judges import Unscored
from formalimg.runs.inspection import inspect
from formalimg.runs.record import RunRecord
from formalimg.scenes import Scene, SceneError, read_layout


def layouts_of(run: RunRecord) -> dict[str, Scene]:
    """The first layout of each item, by its id; right or wrong, as the planner made them.

    Raises:
        FormalimgError: if the run holds images and no layouts.
    """
    found = {}
    for judged in run.judged():
        if judged.image is None or judged.outcome.sample:
            continue
        try:
            image = inspect(judged.image.read_bytes())
        except OSError as error:
            raise FormalimgError(f"cannot read the layout {judged.image}: {error.strerror}") from error
        try:
            if isinstance(image, Unscored):
                raise SceneError([image.detail])
            found[judged.outcome.item] = read_layout(image.pil)
        except SceneError as error:
            advice = "make one with `formalimg run knolling --task layout`"
            raise FormalimgError(f"{run.folder} is no run of the layout task ({error}): {advice}") from error
    return found
