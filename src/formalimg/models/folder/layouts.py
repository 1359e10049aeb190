"""Folder layouts of benchmarks: published (FormalImg), GenEval and CF-World."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    MatchedBy,
    is_any_image,
    is_image,
    is_number,
    short_name,
)
from formalimg.models.folder.metadata import read_jsonl_rows

_MARKER = ".blocked"
_WITH_SAMPLE = re.compile(r"(.+)[_-]([0-9]{1,9})", re.DOTALL)
_MAX_IMGS_DEPTH = 2
_SHOWN = 6


def published_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of the layout `published`: images named by their items.

    Raises:
        FormalimgError: if it holds the images of several models, or a name is ambiguous.
    """
    inside = images_prefix(folder)
    for file in folder.files:
        if not file.startswith(inside):
            continue
        blocked = file.endswith(_MARKER)
        name = file.removesuffix(_MARKER) if blocked else file
        if is_image(name):
            yield CandidateFile(file, _image(name.removeprefix(inside), index), blocked)
        elif is_any_image(name):
            yield CandidateFile(file, None)


def images_prefix(folder: FolderListing) -> str:
    """Return the prefix of the image paths in a folder: empty, or such as `responses/knolling/my-model/imgs/`.

    Raises:
        FormalimgError: if there are several.
    """
    depths: dict[int, dict[str, None]] = {}
    flat = False
    for file in folder.files:
        if not is_image(file.removesuffix(_MARKER)):
            continue
        parents = file.split("/")[:-1]
        flat = flat or not parents
        skipped = 1 if parents[:1] == ["responses"] else 0
        if "imgs" in parents:
            depth = parents.index("imgs")
            if depth - skipped <= _MAX_IMGS_DEPTH and parents[depth - 1 : depth] != ["grounding"]:
                depths.setdefault(depth, {})["/".join(parents[: depth + 1]) + "/"] = None
    closest_match = min(depths, default=None)
    if closest_match is None or (flat and closest_match > 0):
        return ""
    places = list(depths[closest_match])
    if len(places) > 1:
        shown = ", ".join(map(short_name, places[:_SHOWN])) + (" …" if len(places) > _SHOWN else "")
        raise FormalimgError(f"{folder.path} holds the images of {len(places)} models: give one of {shown}")
    return places[0]


def _image(name: str, index: ItemIndex) -> FolderImage | None:
    """Parse a file name; exact ids take precedence over ids up to leading zeros."""
    return _read(name, index, index.item_called) or _read(name, index, index.item_numbered)


def _read(name: str, index: ItemIndex, item_of: Callable[[str], str | None]) -> FolderImage | None:
    *parents, last = name.split("/")
    stem = last[: last.rfind(".")]
    if len(parents) == 1:
        item = item_of(parents[0])
        return FolderImage(item, int(stem)) if item is not None and is_number(stem) else None
    if parents:
        return None
    readings = [(stem, 0)]
    if with_sample := _WITH_SAMPLE.fullmatch(stem):
        readings.append((with_sample[1], int(with_sample[2])))
    possible = [FolderImage(item, sample) for part, sample in readings if (item := item_of(part)) is not None]
    wanted = [image for image in possible if image in index.wanted]
    if len(wanted) > 1:
        raise FormalimgError(
            f"{short_name(name)} can be item {short_name(wanted[0].item)} or sample {wanted[1].sample} of item "
            f"{short_name(wanted[1].item)}: put samples into a folder for each item, as in "
            f"{short_name(wanted[1].item)}/0.png"
        )
    return next(iter(wanted or possible), None)


_SAMPLE = re.compile(r"([0-9]{1,9})/samples/([0-9]{1,9})\.(?:png|jpe?g|webp)", re.IGNORECASE)
_GRID = re.compile(r"[0-9]+/grid\.[a-z]+", re.IGNORECASE)


def is_geneval_layout(folder: FolderListing) -> bool:
    """Return whether a folder has the layout of GenEval."""
    return any(_SAMPLE.fullmatch(file) for file in folder.files)


def geneval_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of GenEval's layout: `00000/samples/0000.png`, prompts in `00000/metadata.jsonl`.

    Without a prompt, the number of the folder is the index of the item in the suite.

    Raises:
        FormalimgError: if a prompt or a number is ambiguous.
    """
    described = {file for file in folder.files if file.endswith("/metadata.jsonl")}
    items: dict[str, tuple[str | None, MatchedBy]] = {}
    for file in folder.files:
        sample = _SAMPLE.fullmatch(file)
        if sample is None:
            if is_any_image(file) and not _GRID.fullmatch(file):
                yield CandidateFile(file, None)
            continue
        number = sample[1]
        if number not in items:
            beside = f"{number}/metadata.jsonl"
            prompt = _prompt(folder, beside) if beside in described else None
            items[number] = (
                (_item_at(number, folder, index), "place")
                if prompt is None
                else (_item_with(prompt, beside, index), "prompt")
            )
        item, by = items[number]
        yield CandidateFile(file, None if item is None else FolderImage(item, int(sample[2])), by=by)


def _prompt(folder: FolderListing, file: str) -> str | None:
    for where, row in read_jsonl_rows(folder.path, file):
        prompt = row.get("prompt")
        if prompt is not None and not isinstance(prompt, str):
            raise FormalimgError(f"{where}: prompt must be text")
        return prompt
    return None


def _item_with(prompt: str, file: str, index: ItemIndex) -> str | None:
    items = index.items_with(prompt)
    if len(items) > 1:
        two = " and ".join(map(short_name, items[:2]))
        raise FormalimgError(f"{file}: items {two} have the same prompt: use a map or layout=imagefolder")
    return items[0] if items else None


def _item_at(number: str, folder: FolderListing, index: ItemIndex) -> str | None:
    # A number counts in the suite that the images were made for. If not all of that suite is wanted now, it would
    # lead to the wrong item, and nobody would notice.
    if not index.places_known and int(number) >= len(index.items):
        raise FormalimgError(
            f"{short_name(folder.path)}: folder {number} is beyond the {len(index.items):,} wanted items, so numbers "
            "do not say which item is meant: ask for the whole suite, or put a metadata.jsonl with the prompt into each"
        )
    return index.item_at(int(number))


_NAME = re.compile(
    r"(?P<id>[0-9]{1,9})(?:_(?P<mark>l[123]|factual))?(?:_(?P<sample>[0-9]{1,9}))?\.(?:png|jpe?g|webp)", re.IGNORECASE
)
_DENOMINALISED, _RULES, _ATTRIBUTES = "de-norm", "rule_decouple", "sampled_attribute_decoupling"
_PROBES = (_DENOMINALISED, _RULES, _ATTRIBUTES)
_RULE_ITEM = re.compile(r"rule-[0-9]+-([0-9]+)")
_MAX_TREE_DEPTH = 3
_SHOWN_HOMES = 6


class _CfWorldFile(NamedTuple):
    """A file parsed by its name, and the folder that holds all of its kind."""

    file: str
    image: FolderImage | None = None
    home: tuple[str, ...] = ()
    probe: str = ""


def is_cfworld_layout(folder: FolderListing) -> bool:
    """Return whether a folder has the layout of CF-World."""
    above = _above(folder)
    for file in folder.files:
        *parents, last = file.split("/")
        name = _NAME.fullmatch(last)
        if name and ((name["mark"] or "").lower().startswith("l") or _probe_at([*above, *parents]) is not None):
            return True
    return False


def cfworld_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of CF-World's layout: `<tree>/<id>_<level>.png`, and its probes.

    `<tree>` is the field, such as `Biology` or `physics/Classical Mechanics`. The probes are in
    `de-norm/<tree>/<id>.png`, `rule_decouple/<id>.png`, and `sampled_Attribute_decoupling/<id>.png` and
    `<id>_factual.png`. Items are named by tree and id: `physics-classical-mechanics-12-l3`, `rule-4-25`,
    `pair-93-rare`, `pair-93-common`.

    Raises:
        FormalimgError: if there are images of several models, or explicit prompts in both wordings.
    """
    above = _above(folder)
    rules = {number[1]: item for item in index.items if (number := _RULE_ITEM.fullmatch(item))}
    wording = _wording(index)
    readings = [
        _parse_file(file, (*above, *file.split("/")[:-1]), index, rules, wording)
        for file in folder.files
        if is_any_image(file)
    ]
    _reject_two_wordings(readings, folder)
    _reject_several_models(readings, folder, len(above))
    yield from (CandidateFile(reading.file, reading.image) for reading in readings)


def _wording(index: ItemIndex) -> frozenset[str]:
    """Return the wordings of explicit prompts that match: as they are, de-nominalised, or either."""
    if index.suite == "cf-world-denominalised":
        return frozenset({_DENOMINALISED})
    if index.suite or not all(item.endswith("-l2") for item in index.items):
        return frozenset({""})
    return frozenset({"", _DENOMINALISED})


def _parse_file(
    file: str, parents: tuple[str, ...], index: ItemIndex, rules: Mapping[str, str], wording: frozenset[str]
) -> _CfWorldFile:
    name = _NAME.fullmatch(file.rpartition("/")[2])
    if name is None:
        return _CfWorldFile(file)
    number, mark, sample = name["id"], (name["mark"] or "").lower(), int(name["sample"] or 0)
    place = _probe_at(parents)
    probe = "" if place is None else parents[place].lower()
    home = parents[:place]
    item = None
    if probe == _RULES and not mark:
        item = rules.get(number)
    elif probe == _ATTRIBUTES and mark in ("", "factual"):
        item = index.item_called(f"pair-{number}-{'common' if mark else 'rare'}")
    elif probe in wording and (not mark if probe else mark.startswith("l")):
        for depth in range(_MAX_TREE_DEPTH, 0, -1):
            item = index.item_called(f"{_slug(parents[-depth:])}-{number}-{mark or 'l2'}")
            if item is not None:
                home = home if probe else parents[:-depth]
                break
    return _CfWorldFile(file) if item is None else _CfWorldFile(file, FolderImage(item, sample), home, probe)


def _above(folder: FolderListing) -> tuple[str, ...]:
    """Return the names of the folder and its parents: `de-norm/physics` is a part of a tree."""
    return Path(folder.path).absolute().parts[-_MAX_TREE_DEPTH:]


def _probe_at(parents: Sequence[str]) -> int | None:
    """Return the position of the innermost folder that is named like a probe."""
    return next((place for place in reversed(range(len(parents))) if parents[place].lower() in _PROBES), None)


def _slug(parts: Sequence[str]) -> str:
    return re.sub(r"[^a-z0-9]+", "-", "/".join(parts).lower()).strip("-")


def _reject_two_wordings(readings: Sequence[_CfWorldFile], folder: FolderListing) -> None:
    # Both suites call these items the same, and only who knows the suite can tell which of them is wanted.
    explicit = next((one for one in readings if one.image and not one.probe and one.image.item[-3:] == "-l2"), None)
    reworded = next((one for one in readings if one.image and one.probe == _DENOMINALISED), None)
    if explicit and reworded:
        raise FormalimgError(
            f"{short_name(folder.path)} holds explicit prompts in both wordings, {short_name(explicit.file)} and "
            f"{short_name(reworded.file)}: give the folder {_DENOMINALISED} itself, or move it away"
        )


def _reject_several_models(readings: Sequence[_CfWorldFile], folder: FolderListing, depth: int) -> None:
    homes = list(dict.fromkeys(one.home for one in readings if one.image))
    if len(homes) > 1:
        shown = ", ".join(short_name("/".join(home[depth:]) or ".") for home in homes[:_SHOWN_HOMES])
        more = " …" if len(homes) > _SHOWN_HOMES else ""
        raise FormalimgError(
            f"{short_name(folder.path)} holds the images of {len(homes)} models: give one of {shown}{more}"
        )
