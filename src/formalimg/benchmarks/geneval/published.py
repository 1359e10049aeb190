"""GenEval's published files: `evaluation_metadata.jsonl` and image folders.

A line of metadata is a prompt with the objects that it asks for. The id of an item is the number of its line, from 0,
as in the names of the image folders: `00000/samples/0000.png`, with the prompt in `00000/metadata.jsonl`. What is odd
is tagged; a line is skipped only if it is no object, or has neither prompt nor objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from formalimg._util.io import atomic_write_text
from formalimg._util.record_files import read_file_bytes
from formalimg._util.text import truncate
from formalimg.benchmarks.geneval.form import TAGS, parse_metadata
from formalimg.benchmarks.object_spec import OBJECT_COLORS, ObjectSpec
from formalimg.benchmarks.odd_records import (
    BROKEN_TEXT,
    DUPLICATE_PROMPT,
    EXTRA_FIELDS,
    NO_PROMPT,
    OUTSIDE_VOCABULARY,
    UNKNOWN_TASK,
    UNREADABLE_OBJECTS,
    clean_text,
    ordered_tags,
)
from formalimg.benchmarks.record import ItemFindings, decode_leniently
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    MatchedBy,
    RequestedImage,
    is_any_image,
    short_name,
)
from formalimg.models.folder.layouts import ImageLayout, read_jsonl_rows
from formalimg.types import Item

METADATA_FILE = "evaluation_metadata.jsonl"
_PLACES = (METADATA_FILE, f"prompts/{METADATA_FILE}")
_FIELDS = {"tag", "include", "exclude", "prompt"}
_OTHER_LEVEL = len(TAGS) + 1


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in a metadata file, or in a folder that contains one, as created by `formalimg pull`."""
    file = path
    if path.is_dir():
        files = [path / name for name in _PLACES if (path / name).is_file()]
        if not files:
            findings.add(str(path), f"there is no {METADATA_FILE}: give the file, or the folder that was pulled")
            return []
        file = files[0]
    items: list[Item[Any]] = []
    prompts: set[str] = set()
    for number, line in enumerate(read_file_bytes(file).splitlines()):
        if not line.strip():
            continue
        item = _read_line(line, number, suite, prompts, f"{file}, line {number + 1}", findings)
        if item is not None:
            items.append(item)
    return items


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Write items as a metadata file, one line per item, in order."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise FormalimgError(f"{folder} is not empty: choose a folder that does not exist yet")
    lines = [
        json.dumps({**item.spec.to_metadata(), "prompt": item.prompt}, ensure_ascii=False) + "\n" for item in items
    ]
    atomic_write_text(folder / METADATA_FILE, "".join(lines))


def _read_line(
    line: bytes, number: int, suite: str, prompts: set[str], location: str, findings: ItemFindings
) -> Item[Any] | None:
    try:
        fields, tags = decode_leniently(line)
    except ValueError as error:
        findings.skip(location, str(error))
        return None
    if not isinstance(fields, dict):
        findings.skip(location, "it is no object with tag, include and prompt")
        return None
    odd = set(tags)
    value = fields.get("prompt")
    prompt, broken = clean_text(" ".join(value.split())) if isinstance(value, str) else ("", False)
    if broken or not prompt.isprintable():
        odd.add(BROKEN_TEXT)
    spec = _read_spec(fields, odd)
    if not prompt and not spec.include:
        findings.skip(location, "it has neither a prompt nor objects")
        return None
    if not prompt:
        odd.add(NO_PROMPT)
    elif prompt in prompts:
        odd.add(DUPLICATE_PROMPT)
    prompts.add(prompt)
    if set(fields) - _FIELDS:
        odd.add(EXTRA_FIELDS)
    level = TAGS.index(spec.tag) + 1 if spec.tag in TAGS else _OTHER_LEVEL
    if level == _OTHER_LEVEL:
        odd.add(UNKNOWN_TASK)
    plain = (spec.tag,) if spec.tag in TAGS else ()
    return Item(suite, str(number), level, prompt, spec, (*plain, *ordered_tags(odd)))


def _read_spec(fields: dict[str, Any], odd: set[str]) -> ObjectSpec:
    tag = fields.get("tag")
    task = tag if isinstance(tag, str) and tag in TAGS else "other"
    try:
        spec = parse_metadata({**fields, "tag": task})
    except FormalimgError:
        odd.add(UNREADABLE_OBJECTS)
        return ObjectSpec(task, ())
    if any(included.color and included.color not in OBJECT_COLORS for included in spec.include):
        odd.add(OUTSIDE_VOCABULARY)
    return spec


_SAMPLE = re.compile(r"([0-9]{1,9})/samples/([0-9]{1,9})\.(?:png|jpe?g|webp)", re.IGNORECASE)
_GRID = re.compile(r"[0-9]+/grid\.[a-z]+", re.IGNORECASE)


def has_image_layout(folder: FolderListing) -> bool:
    """Return whether a folder has the layout of GenEval."""
    return any(_SAMPLE.fullmatch(file) for file in folder.files)


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files in GenEval's layout: `00000/samples/0000.png`, with prompts in `00000/metadata.jsonl`.

    Without a prompt, the number of the folder is the index of the item in the suite.
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
            prompt = _read_prompt(folder, beside) if beside in described else None
            items[number] = (
                (_item_at(number, folder, index), "place")
                if prompt is None
                else (_item_with(prompt, beside, index), "prompt")
            )
        item, by = items[number]
        yield CandidateFile(file, None if item is None else FolderImage(item, int(sample[2])), by=by)


def _read_prompt(folder: FolderListing, file: str) -> str | None:
    for location, row in read_jsonl_rows(folder.path, file):
        prompt = row.get("prompt")
        if prompt is not None and not isinstance(prompt, str):
            raise FormalimgError(f"{location}: prompt must be text")
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


def example_file(image: RequestedImage) -> str:
    """Return an example file name for an image."""
    file = f"{image.number or 0:05}/samples/{image.sample:04}.png"
    return f"{file}, or the prompt {truncate(image.prompt, 30, 10)!r} in a metadata.jsonl beside samples/"


LAYOUT = ImageLayout("geneval", has_image_layout, image_candidates, example_file)
