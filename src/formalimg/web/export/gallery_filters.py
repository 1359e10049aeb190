"""Gallery filters in an export: the images that match each choice, for the browser to combine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from formalimg.runs.image_counts import FacetIndex, ImageKey
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import StoredRun

_JOINT = ("kind", "word")
"""Filters that are about the same failed part: an image may match each of them alone, and not both."""

Choice = tuple[str, str]


def filter_places(run: StoredRun, choices: Iterable[Choice], places: Mapping[ImageKey, int]) -> dict[str, list[int]]:
    """Return the positions of the images for each filter choice and, where needed, for pairs of choices."""
    index, wanted = run.facets(), list(choices)

    def chosen(*choice: Choice) -> list[int]:
        return sorted(places[key] for key in _images_with(run, index, dict(choice)) if key in places)

    found = {"=".join(choice): chosen(choice) for choice in wanted}
    for pair in product(*([choice for choice in wanted if choice[0] == name] for name in _JOINT)):
        first, second = ("=".join(choice) for choice in pair)
        both = {*found[first]} & {*found[second]}
        joint = chosen(*pair) if both else []
        if {*joint} != both:
            found[f"{first}&{second}"] = joint
    return found


def _images_with(run: StoredRun, index: FacetIndex, choice: Mapping[str, str]) -> Iterable[ImageKey]:
    if "mark" in choice:
        marked = run.page(ImageFilter(mark=choice["mark"]), 0, len(index.images))  # type: ignore[arg-type]
        return [(image.outcome.item, image.outcome.sample) for image in marked.images]
    level = {"level": int(choice["level"])} if "level" in choice else {}
    return index.images_with(ImageFilter(**{**choice, **level}))  # type: ignore[arg-type]
