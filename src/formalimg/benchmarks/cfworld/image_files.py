"""Image folder layout of CF-World: `<tree>/<id>_<level>.png`, and the folders of its probes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.cfworld.published_records import make_slug
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    is_any_image,
    short_name,
)
from formalimg.models.folder.layouts import ImageLayout

_NAME = re.compile(
    r"(?P<id>[0-9]{1,9})(?:_(?P<mark>l[123]|factual))?(?:_(?P<sample>[0-9]{1,9}))?\.(?:png|jpe?g|webp)", re.IGNORECASE
)
_DENOMINALISED, _RULES, _ATTRIBUTES = "de-norm", "rule_decouple", "sampled_attribute_decoupling"
_PROBES = (_DENOMINALISED, _RULES, _ATTRIBUTES)
_RULE_ITEM = re.compile(r"rule-[0-9]+-([0-9]+)")
_MAX_TREE_DEPTH = 3
_SHOWN_HOMES = 6


class _ParsedFile(NamedTuple):
    """An image file parsed by its name, and the folder of the model that it belongs to."""

    file: str
    image: FolderImage | None = None
    home: tuple[str, ...] = ()
    probe: str = ""


def has_image_layout(folder: FolderListing) -> bool:
    """Return whether a folder has the layout of CF-World."""
    above = _folder_names(folder)
    for file in folder.files:
        *parents, last = file.split("/")
        name = _NAME.fullmatch(last)
        if name and ((name["mark"] or "").lower().startswith("l") or _probe_at([*above, *parents]) is not None):
            return True
    return False


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of CF-World's layout: `<tree>/<id>_<level>.png`, and its probes.

    `<tree>` is the field, such as `Biology` or `physics/Classical Mechanics`. The probes are in
    `de-norm/<tree>/<id>.png`, `rule_decouple/<id>.png`, and `sampled_Attribute_decoupling/<id>.png` and
    `<id>_factual.png`. Items are named by tree and id: `physics-classical-mechanics-12-l3`, `rule-4-25`,
    `pair-93-rare`, `pair-93-common`.
    """
    above = _folder_names(folder)
    rules = {number[1]: item for item in index.items if (number := _RULE_ITEM.fullmatch(item))}
    if index.suite == "cf-world-denominalised":
        wordings = {_DENOMINALISED}
    elif index.suite or not all(item.endswith("-l2") for item in index.items):
        wordings = {""}
    else:
        wordings = {"", _DENOMINALISED}
    readings = [
        _parse_file(file, (*above, *file.split("/")[:-1]), index, rules, wordings)
        for file in folder.files
        if is_any_image(file)
    ]
    _reject_two_wordings(readings, folder)
    _reject_several_models(readings, folder, len(above))
    yield from (CandidateFile(reading.file, reading.image) for reading in readings)


def _parse_file(
    file: str, parents: tuple[str, ...], index: ItemIndex, rules: Mapping[str, str], wordings: set[str]
) -> _ParsedFile:
    name = _NAME.fullmatch(file.rpartition("/")[2])
    if name is None:
        return _ParsedFile(file)
    number, mark, sample = name["id"], (name["mark"] or "").lower(), int(name["sample"] or 0)
    position = _probe_at(parents)
    probe = "" if position is None else parents[position].lower()
    home = parents[:position]
    item = None
    if probe == _RULES and not mark:
        item = rules.get(number)
    elif probe == _ATTRIBUTES and mark in ("", "factual"):
        item = index.item_called(f"pair-{number}-{'common' if mark else 'rare'}")
    elif probe in wordings and (not mark if probe else mark.startswith("l")):
        for depth in range(_MAX_TREE_DEPTH, 0, -1):
            item = index.item_called(f"{make_slug('/'.join(parents[-depth:]))}-{number}-{mark or 'l2'}")
            if item is not None:
                home = home if probe else parents[:-depth]
                break
    return _ParsedFile(file) if item is None else _ParsedFile(file, FolderImage(item, sample), home, probe)


def _folder_names(folder: FolderListing) -> tuple[str, ...]:
    return Path(folder.path).absolute().parts[-_MAX_TREE_DEPTH:]


def _probe_at(parents: Sequence[str]) -> int | None:
    return next((position for position in reversed(range(len(parents))) if parents[position].lower() in _PROBES), None)


def _reject_two_wordings(readings: Sequence[_ParsedFile], folder: FolderListing) -> None:
    # Both suites call these items the same, and only who knows the suite can tell which of them is wanted.
    explicit = next(
        (reading for reading in readings if reading.image and not reading.probe and reading.image.item[-3:] == "-l2"),
        None,
    )
    reworded = next((reading for reading in readings if reading.image and reading.probe == _DENOMINALISED), None)
    if explicit and reworded:
        raise FormalimgError(
            f"{short_name(folder.path)} holds explicit prompts in both wordings, {short_name(explicit.file)} and "
            f"{short_name(reworded.file)}: give the folder {_DENOMINALISED} itself, or move it away"
        )


def _reject_several_models(readings: Sequence[_ParsedFile], folder: FolderListing, depth: int) -> None:
    homes = list(dict.fromkeys(reading.home for reading in readings if reading.image))
    if len(homes) > 1:
        listed = ", ".join(short_name("/".join(home[depth:]) or ".") for home in homes[:_SHOWN_HOMES])
        more = " …" if len(homes) > _SHOWN_HOMES else ""
        raise FormalimgError(
            f"{short_name(folder.path)} holds the images of {len(homes)} models: give one of {listed}{more}"
        )


LAYOUT = ImageLayout("cf-world", has_image_layout, image_candidates)
