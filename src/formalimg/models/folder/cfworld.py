"""Images as CF-World's own scripts keep them: `<tree>/<id>_<level>.png`, and its probes in folders of their own.

`<tree>` is the field, such as `Biology` or `physics/Classical Mechanics`. The probes lie in `de-norm/<tree>/<id>.png`,
`rule_decouple/<id>.png`, and `sampled_Attribute_decoupling/<id>.png` and `<id>_factual.png`. Items are called by tree
and id: `physics-classical-mechanics-12-l3`, `rule-4-25`, `pair-93-rare`, `pair-93-common`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.models.folder.claims import Claim
from formalimg.models.folder.matching import named
from formalimg.models.folder.scanning import Folder, is_any_image
from formalimg.models.folder.wishes import FolderImage, Wishes

_NAME = re.compile(
    r"(?P<id>[0-9]{1,9})(?:_(?P<mark>l[123]|factual))?(?:_(?P<sample>[0-9]{1,9}))?\.(?:png|jpe?g|webp)", re.IGNORECASE
)
_DENOMINALISED, _RULES, _ATTRIBUTES = "de-norm", "rule_decouple", "sampled_attribute_decoupling"
_PROBES = (_DENOMINALISED, _RULES, _ATTRIBUTES)
_RULE_ITEM = re.compile(r"rule-[0-9]+-([0-9]+)")
_DEEPEST_TREE = 3
_SHOWN = 6


class _Reading(NamedTuple):
    """What a file is by its name, and the folder that holds all of its kind."""

    file: str
    image: FolderImage | None = None
    home: tuple[str, ...] = ()
    probe: str = ""


def looks_like_cf_world(folder: Folder) -> bool:
    """Is there any image where CF-World's scripts put theirs?"""
    above = _above(folder)
    for file in folder.files:
        *parents, last = file.split("/")
        name = _NAME.fullmatch(last)
        if name and ((name["mark"] or "").lower().startswith("l") or _probe_at([*above, *parents]) is not None):
            return True
    return False


def claims_by_tree(folder: Folder, wishes: Wishes) -> Iterator[Claim]:
    """What the images are by the folders they lie in.

    Raises:
        FormalimgError: if there are images of several models, or explicit prompts in both wordings.
    """
    above = _above(folder)
    rules = {number[1]: item for item in wishes.items if (number := _RULE_ITEM.fullmatch(item))}
    wording = _wording(wishes)
    readings = [
        _reading(file, (*above, *file.split("/")[:-1]), wishes, rules, wording)
        for file in folder.files
        if is_any_image(file)
    ]
    _refuse_two_wordings(readings, folder)
    _refuse_several_models(readings, folder, len(above))
    yield from (Claim(reading.file, reading.image) for reading in readings)


def _wording(wishes: Wishes) -> frozenset[str]:
    """Whether images of explicit prompts are wanted as they are, de-nominalised, or perhaps either."""
    if wishes.suite == "cf-world-denominalised":
        return frozenset({_DENOMINALISED})
    if wishes.suite or not all(item.endswith("-l2") for item in wishes.items):
        return frozenset({""})
    return frozenset({"", _DENOMINALISED})


def _reading(
    file: str, parents: tuple[str, ...], wishes: Wishes, rules: Mapping[str, str], wording: frozenset[str]
) -> _Reading:
    name = _NAME.fullmatch(file.rpartition("/")[2])
    if name is None:
        return _Reading(file)
    number, mark, sample = name["id"], (name["mark"] or "").lower(), int(name["sample"] or 0)
    place = _probe_at(parents)
    probe = "" if place is None else parents[place].lower()
    home = parents[:place]
    item = None
    if probe == _RULES and not mark:
        item = rules.get(number)
    elif probe == _ATTRIBUTES and mark in ("", "factual"):
        item = wishes.item_called(f"pair-{number}-{'common' if mark else 'rare'}")
    elif probe in wording and (not mark if probe else mark.startswith("l")):
        for depth in range(_DEEPEST_TREE, 0, -1):
            item = wishes.item_called(f"{_slug(parents[-depth:])}-{number}-{mark or 'l2'}")
            if item is not None:
                home = home if probe else parents[:-depth]
                break
    return _Reading(file) if item is None else _Reading(file, FolderImage(item, sample), home, probe)


def _above(folder: Folder) -> tuple[str, ...]:
    """The folder's own name and those next above it: whoever gives `de-norm/physics` gives a part of a tree."""
    return Path(folder.path).absolute().parts[-_DEEPEST_TREE:]


def _probe_at(parents: Sequence[str]) -> int | None:
    """The place of the innermost folder that is called like a probe."""
    return next((place for place in reversed(range(len(parents))) if parents[place].lower() in _PROBES), None)


def _slug(parts: Sequence[str]) -> str:
    return re.sub(r"[^a-z0-9]+", "-", "/".join(parts).lower()).strip("-")


def _refuse_two_wordings(readings: Sequence[_Reading], folder: Folder) -> None:
    # Both suites call these items the same, and only who knows the suite can tell which of them is wanted.
    explicit = next((one for one in readings if one.image and not one.probe and one.image.item[-3:] == "-l2"), None)
    reworded = next((one for one in readings if one.image and one.probe == _DENOMINALISED), None)
    if explicit and reworded:
        raise FormalimgError(
            f"{named(folder.path)} holds explicit prompts in both wordings, {named(explicit.file)} and "
            f"{named(reworded.file)}: give the folder {_DENOMINALISED} itself, or move it away"
        )


def _refuse_several_models(readings: Sequence[_Reading], folder: Folder, depth: int) -> None:
    homes = list(dict.fromkeys(one.home for one in readings if one.image))
    if len(homes) > 1:
        shown = ", ".join(named("/".join(home[depth:]) or ".") for home in homes[:_SHOWN])
        more = " …" if len(homes) > _SHOWN else ""
        raise FormalimgError(f"{named(folder.path)} holds the images of {len(homes)} models: give one of {shown}{more}")
