"""Surroundings: plain objects not mentioned in any question, added to set the scale for requested sizes."""

from __future__ import annotations

from dataclasses import replace
from math import log
from statistics import fmean

from formalimg.drawing.brief import BriefObject, SceneBrief
from formalimg.drawing.catalog import DrawnCatalog
from formalimg.drawing.sizes import FEWEST_REFERENCES

_ALIKE = {
    "key": ("ring",),
    "cup": ("bowl",),
    "spoon": ("fork", "knife", "screwdriver"),
    "bottle": ("snow globe",),
    "backpack": ("suitcase", "basket"),
    "chair": ("bench", "sofa", "table", "desk"),
    "bicycle": (),
    "car": ("truck", "bus", "toy car"),
    "house": ("barn", "garage", "greenhouse", "warehouse", "skyscraper", "mailbox"),
}
"""The surroundings: classes of well-known sizes; each with those that it could be taken for, or whose parts it has."""


def with_surroundings(brief: SceneBrief, catalog: DrawnCatalog) -> SceneBrief:
    """Return the brief with enough additional objects to set a scale; unchanged if it requests no sizes.

    Of the things that set a scale, those come that are nearest in length to what is there: all are seen well then.
    """
    if not any(obj.size for obj in brief.objects):
        return brief
    labels = {obj.item for obj in brief.objects}
    lengths = {label: _log_length(label, catalog) for label in labels}
    references = {obj.item for obj in brief.objects if obj.size is None and lengths[obj.item] is not None}
    missing = FEWEST_REFERENCES - len(references)
    sizes = [length for length in lengths.values() if length is not None]
    if missing <= 0 or not sizes:
        return brief
    middle = fmean(sizes)
    others = [label for label, alike in _ALIKE.items() if labels.isdisjoint((label, *alike))]
    nearest = sorted(others, key=lambda label: abs((_log_length(label, catalog) or 0.0) - middle))
    return replace(brief, objects=(*brief.objects, *map(BriefObject, nearest[:missing])))


def _log_length(label: str, catalog: DrawnCatalog) -> float | None:
    entry = catalog.classes.get(label)
    return log(entry.usual_length) if entry is not None and entry.usual_length else None
