"""The images of a run that people can look at."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.runs import ImageLocation, StoredRun
from formalimg.scenes import Scene, SceneError


class Rateable(NamedTuple):
    """An image that is there.

    Attributes:
        item, sample, level: which it is.
        file: its path inside the run folder, with slashes.
        sha256: the digest of its bytes.
        grounded: what the judge saw in it, in the grounding format; None if nobody needs it, or the judge could not
            tell.
    """

    item: str
    sample: int
    level: int
    file: str
    sha256: str
    grounded: dict[str, object] | None


def rateable_images(run: StoredRun, levels: Collection[int] | None, *, grounded: bool) -> tuple[list[Rateable], int]:
    """The images of these levels that are there, and how many of those that were planned are not.

    Args:
        run: the run.
        levels: only images of these levels; None for all.
        grounded: whether what the judge saw is needed.

    Raises:
        FormalimgError: if a file is gone, or nobody has said what is in the images though it is needed.
    """
    made = run.made()
    found: list[Rateable] = []
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
            raise FormalimgError(f"{judged.image} is gone: let `formalimg generate` make it again")
        file = f"images/{judged.image.name}"
        seen = judged.verdict.evidence.get("scene") if grounded else None
        scene = None if seen is None else _checked(seen, judged.image)
        found.append(Rateable(item, sample, level, file, before.sha256, scene))
    if grounded and found and not any(image.grounded is not None for image in found):
        raise FormalimgError(
            f"nobody has found boxes in the images of {run.folder}: take runs of knolling or natural that a grounder "
            "has judged"
        )
    return found, missing


def _checked(seen: object, image: ImageLocation) -> dict[str, object]:
    try:
        return Scene.from_json(seen).to_json()
    except SceneError as error:
        raise FormalimgError(f"what the judge saw in {image} is no scene ({error}): judge the run again") from error
