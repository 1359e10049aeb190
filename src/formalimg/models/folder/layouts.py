"""Folder layouts: how files, folders and metadata (`metadata.jsonl`, `metadata.csv`, maps) identify images."""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from formalimg._util.io import read_text
from formalimg._util.strict_json import loads_strict
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    MatchedBy,
    RequestedImage,
    is_any_image,
    is_image,
    is_number,
    normalize_unicode,
    short_name,
)

METADATA = ("metadata.jsonl", "metadata.csv")
_DRIVE = re.compile(r"[A-Za-z]:")
# what the field is called that names the file; `file_name` is that of Hugging Face
_FILE_FIELDS = ("file_name", "file", "path", "image")
_MAX_DIGITS = 9
_MARKER = ".blocked"
_WITH_SAMPLE = re.compile(r"(.+)[_-]([0-9]{1,9})", re.DOTALL)
_MAX_IMGS_DEPTH = 2
_SHOWN = 6

_Row: TypeAlias = tuple[str, Mapping[str, Any]]  # the location of a row, for messages, and its fields


def read_jsonl_rows(folder: str, file: str) -> Iterator[_Row]:
    """Read the objects of a JSON Lines file, skipping empty lines."""
    for number, line in enumerate(read_text(Path(folder, file)).split("\n"), 1):
        if line.strip():
            location = f"{file}, line {number}"
            fields = parse_json(line, location)
            if not isinstance(fields, dict):
                raise FormalimgError(f'{location}: must be a JSON object such as {{"file_name": "a.png", "item": "7"}}')
            yield (location, fields)


def _read_csv(folder: str, file: str) -> Iterator[_Row]:
    """Read the rows of a CSV file with a header, omitting empty cells."""
    reader = csv.DictReader(io.StringIO(read_text(Path(folder, file)), newline=""), strict=True)
    try:
        names = reader.fieldnames or ()
        if len(set(names)) < len(names):
            raise FormalimgError(f"{file}, line 1: two columns have the same name")
        for row in reader:
            location = f"{file}, line {reader.line_num}"
            if None in row:
                raise FormalimgError(f"{location}: has more cells than the first line has names")
            yield (location, {name: cell for name, cell in row.items() if cell})
    except csv.Error as error:
        raise FormalimgError(f"{file}, line {reader.reader.line_num}: cannot be read: {error}") from error


def parse_json(text: str, location: str) -> Any:
    """Parse JSON strictly."""
    try:
        return loads_strict(text)
    except (ValueError, RecursionError) as error:
        raise FormalimgError(truncate(f"{location}: cannot be read as JSON: {error}", 200, 100)) from error


class MetadataEntry(NamedTuple):
    """Metadata of a file."""

    where: str  # position in the metadata file, for messages
    file: str  # the file
    item: str | None  # the id of its item; takes precedence over the prompt
    id: str | None  # the id of its item, or an unrelated id of the user's own if no item has it
    prompt: str | None  # the prompt it was generated from
    sample: int | None  # index among the item's images; None if the entries are in the order of the samples


def _parse_entry(row: _Row, file_fields: tuple[str, ...]) -> MetadataEntry:
    """Parse a metadata row, ignoring unknown fields."""
    location, fields = row
    file = next((fields[name] for name in file_fields if fields.get(name) is not None), None)
    if not isinstance(file, str) or not file or "\0" in file:
        raise FormalimgError(f"{location}: {' or '.join(file_fields)} must name a file")
    prompt = fields.get("prompt") if fields.get("prompt") is not None else fields.get("text")
    if prompt is not None and not isinstance(prompt, str):
        raise FormalimgError(f"{location}: prompt must be text")
    item, identity = (_parse_id(fields.get(name), name, location) for name in ("item", "id"))
    if item is None and identity is None and prompt is None:
        raise FormalimgError(f"{location}: must say the item: add item, id or prompt")
    return MetadataEntry(location, file, item, identity, prompt, _parse_sample(fields.get("sample"), location))


def entry_candidates(entries: Iterable[MetadataEntry], index: ItemIndex, folder: str) -> Iterator[CandidateFile]:
    """Yield the candidate files of metadata entries, whose paths are relative to the folder."""
    numbered: Counter[str] = Counter()
    for entry in entries:
        item, by = _find_item(entry, index)
        image = None
        if item is not None:
            image = FolderImage(item, numbered[item] if entry.sample is None else entry.sample)
            numbered[item] += entry.sample is None
        # isfile, because a Path would raise for names that no file can have.
        exists = os.path.isfile(os.path.join(folder, entry.file))  # noqa: PTH113, PTH118
        yield CandidateFile(entry.file, image, exists=exists, by=by)


def _find_item(entry: MetadataEntry, index: ItemIndex) -> tuple[str | None, MatchedBy]:
    by_prompt = index.items_with(entry.prompt)
    item = index.item_numbered(entry.id) if entry.item is None and entry.id is not None else None
    if entry.item is not None:
        item = index.item_numbered(entry.item)
    elif item is None:
        if len(by_prompt) > 1:
            raise FormalimgError(
                f"{entry.where}: items {' and '.join(map(short_name, by_prompt[:2]))} have this prompt: add item"
            )
        return by_prompt[0] if by_prompt else None, "prompt"
    if item is not None and by_prompt and item not in by_prompt:
        raise FormalimgError(
            f"{entry.where}: says item {short_name(item)}, but the prompt is that of item {short_name(by_prompt[0])}: "
            "correct one, or remove the other"
        )
    return item, "id"


def _parse_id(value: Any, name: str, location: str) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise FormalimgError(f"{location}: {name} must be text or a whole number")


def _parse_sample(value: Any, location: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and is_number(value) and len(value) <= _MAX_DIGITS:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise FormalimgError(f"{location}: sample must be a whole number from 0 on")


def _imagefolder_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of a folder with metadata, the layout that runs use for their own images."""
    present = [name for name in METADATA if name in folder.files]
    if len(present) != 1:
        problem = "both metadata.jsonl and metadata.csv: keep one" if present else "no metadata.jsonl or metadata.csv"
        raise FormalimgError(f"{short_name(folder.path)} has {problem}")
    rows = (read_jsonl_rows if present[0] == METADATA[0] else _read_csv)(folder.path, present[0])
    entries = [_normalize_path(_parse_entry(row, _FILE_FIELDS)) for row in rows]
    spelled = {normalize_unicode(file): file for file in folder.files}
    entries = [entry._replace(file=spelled.get(normalize_unicode(entry.file), entry.file)) for entry in entries]
    yield from entry_candidates(entries, index, folder.path)
    described = {entry.file for entry in entries}
    yield from (CandidateFile(file, None) for file in folder.files if is_any_image(file) and file not in described)


def _normalize_path(entry: MetadataEntry) -> MetadataEntry:
    parts = entry.file.split("/")
    if not parts[0] or ".." in parts or "\\" in entry.file or _DRIVE.match(entry.file):
        raise FormalimgError(
            f"{entry.where}: file_name must be a path inside the folder, with / between folders; "
            f"{short_name(entry.file)!r} is not (a map file may name files anywhere)"
        )
    return entry._replace(file="/".join(part for part in parts if part not in ("", ".")))


def map_candidates(path: Path, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of an image map, whose paths are relative to its folder.

    A map is a JSON file such as `{"7": "images/seven.png"}`, by items or by prompts, or a list of objects; or a file of
    JSON lines or CSV with the fields of a metadata file.
    """
    read = {".jsonl": read_jsonl_rows, ".csv": _read_csv}.get(path.suffix.lower())
    if read is not None:
        entries = [_parse_entry(row, _FILE_FIELDS) for row in read(str(path.parent), path.name)]
    else:
        entries = list(_map_entries(parse_json(read_text(path), str(path)), short_name(path.name), index))
    yield from entry_candidates(entries, index, str(path.parent))


def _map_entries(content: Any, name: str, index: ItemIndex) -> Iterator[MetadataEntry]:
    if isinstance(content, list):
        for number, fields in enumerate(content, 1):
            location = f"{name}, entry {number}"
            if not isinstance(fields, dict):
                raise FormalimgError(f'{location}: must be an object such as {{"item": "7", "file": "a.png"}}')
            yield _parse_entry((location, fields), _FILE_FIELDS)
        return
    if not isinstance(content, dict):
        raise FormalimgError(f'{name} must be an object such as {{"7": "a.png"}}, or a list of objects')
    # By prompts, if they are prompts and no ids: so some benchmarks list images.
    by_prompt = not any(map(index.item_called, content)) and any(map(index.items_with, content))
    for item, files in content.items():
        listed = isinstance(files, list)
        for sample, file in enumerate(files if listed else [files]):
            location = f"{name}, item {short_name(item)}"
            fields = {"prompt" if by_prompt else "item": item, "file": file, "sample": sample}
            yield _parse_entry((location, fields), ("file",))


@dataclass(frozen=True)
class ImageLayout:
    """A layout of images in a folder."""

    name: str  # as users write it: `layout=…`
    fits: Callable[[FolderListing], bool]  # whether a folder looks like it
    # the candidate files of a folder for the images that are wanted
    candidates: Callable[[FolderListing, ItemIndex], Iterable[CandidateFile]]
    # how the file of an image may be called, for messages; None: it is described by item and prompt
    example: Callable[[RequestedImage], str] | None = None


def image_layouts() -> dict[str, ImageLayout]:
    """Return all layouts by name, in order of precedence; the last one matches any folder."""
    from formalimg.benchmarks.registry import suite, suite_names  # here, because only folders of images need it

    layouts = [IMAGEFOLDER, *(suite(name).image_layout() for name in suite_names()), PUBLISHED]
    return {layout.name: layout for layout in layouts if layout is not None}


def _published_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of the `published` layout, in which images are named after their items."""
    inside = _images_prefix(folder)
    for file in folder.files:
        if not file.startswith(inside):
            continue
        blocked = file.endswith(_MARKER)
        name = file.removesuffix(_MARKER) if blocked else file
        if is_image(name):
            name = name.removeprefix(inside)
            # Exact ids take precedence over ids up to leading zeros.
            image = _parse_name(name, index, index.item_called) or _parse_name(name, index, index.item_numbered)
            yield CandidateFile(file, image, blocked)
        elif is_any_image(name):
            yield CandidateFile(file, None)


def _images_prefix(folder: FolderListing) -> str:
    """Return the common prefix of image paths in a folder: empty, or such as `responses/knolling/my-model/imgs/`."""
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
        names = ", ".join(map(short_name, places[:_SHOWN])) + (" …" if len(places) > _SHOWN else "")
        raise FormalimgError(f"{folder.path} holds the images of {len(places)} models: give one of {names}")
    return places[0]


def _parse_name(name: str, index: ItemIndex, item_of: Callable[[str], str | None]) -> FolderImage | None:
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
    requested = [image for image in possible if image in index.wanted]
    if len(requested) > 1:
        raise FormalimgError(
            f"{short_name(name)} can be item {short_name(requested[0].item)} or sample {requested[1].sample} of item "
            f"{short_name(requested[1].item)}: put samples into a folder for each item, as in "
            f"{short_name(requested[1].item)}/0.png"
        )
    return next(iter(requested or possible), None)


def _example_name(request: RequestedImage) -> str:
    item, sample = short_name(request.item), request.sample
    return f"{item}_{sample}.png" if sample else f"{item}.png or {item}_0.png"


IMAGEFOLDER = ImageLayout(
    "imagefolder", lambda folder: any(name in folder.files for name in METADATA), _imagefolder_candidates
)
PUBLISHED = ImageLayout("published", lambda folder: True, _published_candidates, _example_name)
