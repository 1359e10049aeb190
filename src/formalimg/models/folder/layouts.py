"""Images named by their items, `7.png`, as FormalImg's own scripts keep them.

Several images of an item are `7_0.png`, `7_1.png`, …, or `7-0.png`, or `7/0.png`. In the authors' repository the
images lie in `responses/<task>/<model>/imgs/`, where `7.png.blocked` marks what a provider declined to make.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg._util.io import read_text
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    Claim,
    Folder,
    FolderImage,
    Wishes,
    is_any_image,
    is_image,
    is_number,
    named,
)
from formalimg.models.folder.metadata import Entry, claims_of, json_rows, json_value

_MARKER = ".blocked"
_WITH_SAMPLE = re.compile(r"(.+)[_-]([0-9]{1,9})", re.DOTALL)
_DEEPEST_IMGS = 2
_SHOWN = 6


def claims_by_name(folder: Folder, wishes: Wishes) -> Iterator[Claim]:
    """What the files of a folder are by their names.

    Raises:
        FormalimgError: if it holds the images of several models, or a name can be read in two ways.
    """
    inside = images_prefix(folder)
    for file in folder.files:
        if not file.startswith(inside):
            continue
        blocked = file.endswith(_MARKER)
        name = file.removesuffix(_MARKER) if blocked else file
        if is_image(name):
            yield Claim(file, _image(name.removeprefix(inside), wishes), blocked)
        elif is_any_image(name):
            yield Claim(file, None)


def images_prefix(folder: Folder) -> str:
    """Where in a folder the images lie: empty, or such as `responses/knolling/my-model/imgs/`.

    Raises:
        FormalimgError: if there are several such places.
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
            if depth - skipped <= _DEEPEST_IMGS and parents[depth - 1 : depth] != ["grounding"]:
                depths.setdefault(depth, {})["/".join(parents[: depth + 1]) + "/"] = None
    closest_match = min(depths, default=None)
    if closest_match is None or (flat and closest_match > 0):
        return ""
    places = list(depths[closest_match])
    if len(places) > 1:
        shown = ", ".join(map(named, places[:_SHOWN])) + (" …" if len(places) > _SHOWN else "")
        raise FormalimgError(f"{folder.path} holds the images of {len(places)} models: give one of {shown}")
    return places[0]


def _image(name: str, wishes: Wishes) -> FolderImage | None:
    """What a file shows by its name; names that are an id to the letter come before those that are but for zeros."""
    return _read(name, wishes, wishes.item_called) or _read(name, wishes, wishes.item_numbered)


def _read(name: str, wishes: Wishes, item_of: Callable[[str], str | None]) -> FolderImage | None:
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
    wanted = [image for image in possible if image in wishes.wanted]
    if len(wanted) > 1:
        raise FormalimgError(
            f"{named(name)} can be item {named(wanted[0].item)} or sample {wanted[1].sample} of item "
            f"{named(wanted[1].item)}: put samples into a folder for each item, as in {named(wanted[1].item)}/0.png"
        )
    return next(iter(wanted or possible), None)


_SAMPLE = re.compile(r"([0-9]{1,9})/samples/([0-9]{1,9})\.(?:png|jpe?g|webp)", re.IGNORECASE)
_GRID = re.compile(r"[0-9]+/grid\.[a-z]+", re.IGNORECASE)


def looks_like_geneval(folder: Folder) -> bool:
    """Is there any file where GenEval puts its images?"""
    return any(_SAMPLE.fullmatch(file) for file in folder.files)


def claims_by_folder(folder: Folder, wishes: Wishes) -> Iterator[Claim]:
    """What the images are by the prompt beside them, or by the number of their folder.

    Raises:
        FormalimgError: if a prompt or a number does not say which item is meant.
    """
    described = {file for file in folder.files if file.endswith("/metadata.jsonl")}
    items: dict[str, str | None] = {}
    for file in folder.files:
        sample = _SAMPLE.fullmatch(file)
        if sample is None:
            if is_any_image(file) and not _GRID.fullmatch(file):
                yield Claim(file, None)
            continue
        number = sample[1]
        if number not in items:
            beside = f"{number}/metadata.jsonl"
            prompt = _prompt(folder, beside) if beside in described else None
            items[number] = _item_at(number, folder, wishes) if prompt is None else _item_with(prompt, beside, wishes)
        item = items[number]
        yield Claim(file, None if item is None else FolderImage(item, int(sample[2])))


def _prompt(folder: Folder, file: str) -> str | None:
    for where, row in json_rows(folder.path, file):
        prompt = row.get("prompt")
        if prompt is not None and not isinstance(prompt, str):
            raise FormalimgError(f"{where}: prompt must be text")
        return prompt
    return None


def _item_with(prompt: str, file: str, wishes: Wishes) -> str | None:
    items = wishes.items_with(prompt)
    if len(items) > 1:
        two = " and ".join(map(named, items[:2]))
        raise FormalimgError(f"{file}: items {two} have the same prompt: use a map or layout=imagefolder")
    return items[0] if items else None


def _item_at(number: str, folder: Folder, wishes: Wishes) -> str | None:
    # A number counts in the suite that the images were made for. If not all of that suite is wanted now, it would
    # lead to the wrong item, and nobody would notice.
    if not wishes.places_known and int(number) >= len(wishes.items):
        raise FormalimgError(
            f"{named(folder.path)}: folder {number} is beyond the {len(wishes.items):,} wanted items, so numbers do "
            "not say which item is meant: ask for the whole suite, or put a metadata.jsonl with the prompt into each"
        )
    return wishes.item_at(int(number))


_RESULTS = re.compile(r"(?:.*/)?result\.json")


def looks_like_conceptmix(folder: Folder) -> bool:
    """Is there a file of results with images beside it?"""
    return any(_RESULTS.fullmatch(file) for file in folder.files)


def claims_by_results(folder: Folder, wishes: Wishes) -> Iterator[Claim]:
    """What the files of results say about the images beside them.

    Raises:
        FormalimgError: if there are none, or they cannot be read.
    """
    files = [file for file in folder.files if _RESULTS.fullmatch(file)]
    if not files:
        raise FormalimgError(f"{named(folder.path)} has no result.json, as ConceptMix's scripts write it")
    entries = {entry[1:]: entry for file in files for entry in _entries(folder, file)}.values()
    yield from claims_of(list(entries), wishes, folder.path)
    described = {entry.file for entry in entries}
    yield from (Claim(file, None) for file in folder.files if is_any_image(file) and file not in described)


def _entries(folder: Folder, file: str) -> Iterator[Entry]:
    records = json_value(read_text(Path(folder.path, file)), file)
    if not isinstance(records, list):
        raise FormalimgError(f"{file}: must be a list of records with prompt and image_path")
    beside = file.removesuffix("result.json")
    for number, record in enumerate(records, 1):
        where = f"{file}, record {number}"
        texts = [record.get(key) if isinstance(record, dict) else None for key in ("prompt", "image_path")]
        if not all(isinstance(text, str) and text for text in texts):
            raise FormalimgError(f"{where}: must have a prompt and an image_path, both in words")
        prompt, path = map(str, texts)
        yield Entry(where, beside + re.split(r"[/\\]", path)[-1], None, None, prompt, None)


_NAME = re.compile(
    r"(?P<id>[0-9]{1,9})(?:_(?P<mark>l[123]|factual))?(?:_(?P<sample>[0-9]{1,9}))?\.(?:png|jpe?g|webp)", re.IGNORECASE
)
_DENOMINALISED, _RULES, _ATTRIBUTES = "de-norm", "rule_decouple", "sampled_attribute_decoupling"
_PROBES = (_DENOMINALISED, _RULES, _ATTRIBUTES)
_RULE_ITEM = re.compile(r"rule-[0-9]+-([0-9]+)")
_DEEPEST_TREE = 3
_SHOWN_HOMES = 6


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
        shown = ", ".join(named("/".join(home[depth:]) or ".") for home in homes[:_SHOWN_HOMES])
        more = " …" if len(homes) > _SHOWN_HOMES else ""
        raise FormalimgError(f"{named(folder.path)} holds the images of {len(homes)} models: give one of {shown}{more}")
