"""Images of a run that raters can be shown, with what the judge says of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.protocol import runs_for
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.reader import StoredRun
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene


class RateableImage(NamedTuple):
    """An existing image of a run."""

    item: str  # identify it
    sample: int
    level: int
    file: str  # its path inside the run folder, with slashes
    sha256: str  # the digest of its bytes
    # the scene that the judge found, in the grounding format; None if not needed or not found
    grounded: dict[str, object] | None
    score: float | None = None  # the score that the last judge gave; None if unscored
    passed: bool | None = None  # its answer; None if unscored


def rateable_images(
    run: StoredRun, levels: Collection[int] | None, *, grounded: bool
) -> tuple[list[RateableImage], int]:
    """Return the existing images of these levels, and the number of planned images that are missing."""
    made = run.made()
    found: list[RateableImage] = []
    missing = 0
    for judged in run.judged():
        item, level, sample, *_ = judged.outcome
        if levels is not None and level not in levels:
            continue
        before = made.get((item, sample))
        if before is None or judged.image is None:
            missing += 1
            continue
        if not judged.image.is_file():
            raise FormalimgError(f"{judged.image} is missing: run `formalimg run --no-judge` to make it again")
        file = f"images/{judged.image.name}"
        seen = judged.verdict.evidence.get("scene") if grounded else None
        scene = None if seen is None else _checked(seen, judged.image)
        outcome = judged.outcome
        found.append(RateableImage(item, sample, level, file, before.sha256, scene, outcome.score, outcome.passed))
    if grounded and found and not any(image.grounded is not None for image in found):
        raise FormalimgError(
            f"no grounder has judged the images of {run.folder}: {runs_for('boxes')} that a grounder has judged"
        )
    return found, missing


def _checked(seen: object, image: ImageLocation) -> dict[str, object]:
    try:
        return Scene.from_json(seen).to_json()
    except SceneError as error:
        raise FormalimgError(f"the stored scene of {image} is invalid ({error}): judge the run again") from error
