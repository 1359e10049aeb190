"""GenEval's published files: `evaluation_metadata.jsonl` and image folders.

A line of metadata is a prompt with the objects that it asks for. The id of an item is the number of its line, from 0,
as in the names of the image folders: `00000/samples/0000.png`, with the prompt in `00000/metadata.jsonl`. Odd lines are
tagged; a line is skipped only if it is not an object, or has neither prompt nor objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from formalimg._util.io import write_folder
from formalimg._util.record_files import read_file_bytes
from formalimg._util.text import truncate
from formalimg.benchmarks.geneval.form import TAGS, parse_metadata
from formalimg.benchmarks.object_spec import OBJECT_COLORS, ObjectSpec
from formalimg.benchmarks.odd_records import (
    DUPLICATE_PROMPT,
    EXTRA_FIELDS,
    NO_PROMPT,
    OUTSIDE_VOCABULARY,
    UNKNOWN_TASK,
    UNREADABLE_OBJECTS,
    clean_line,
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


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in a metadata file, or in a folder that contains one, as created by `formalimg pull`."""
    if path.is_dir():
        files = [path / name for name in (METADATA_FILE, f"prompts/{METADATA_FILE}") if (path / name).is_file()]
        if not files:
            findings.add(str(path), f"there is no {METADATA_FILE}: give the file, or the folder that was pulled")
            return []
        path = files[0]
    items: list[Item[Any]] = []
    prompts: set[str] = set()
    for number, line in enumerate(read_file_bytes(path).splitlines()):
        if line.strip():
            try:
                items.append(_read_line(line, number, suite, prompts))
            except ValueError as error:
                findings.skip(f"{path}, line {number + 1}", str(error))
    return items


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Write items as a metadata file, one line per item, in order."""
    records = [{**item.spec.to_metadata(), "prompt": item.prompt} for item in items]
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    write_folder(folder, {METADATA_FILE: text})


def _read_line(line: bytes, number: int, suite: str, prompts: set[str]) -> Item[Any]:
    fields, tags = decode_leniently(line)
    if not isinstance(fields, dict):
        raise ValueError("it is no object with tag, include and prompt")
    odd = set(tags)
    value = fields.get("prompt")
    prompt = clean_line(" ".join(value.split()), odd) if isinstance(value, str) else ""
    task = fields.get("tag")
    task = task if isinstance(task, str) and task in TAGS else "other"
    try:
        spec = parse_metadata({**fields, "tag": task})
    except FormalimgError:
        odd.add(UNREADABLE_OBJECTS)
        spec = ObjectSpec(task, ())
    if not prompt and not spec.include:
        raise ValueError("it has neither a prompt nor objects")
    odd |= {
        tag
        for tag, applies in (
            (OUTSIDE_VOCABULARY, any(included.color not in ("", *OBJECT_COLORS) for included in spec.include)),
            (NO_PROMPT, not prompt),
            (DUPLICATE_PROMPT, prompt and prompt in prompts),
            (EXTRA_FIELDS, fields.keys() - {"tag", "include", "exclude", "prompt"}),
            (UNKNOWN_TASK, task == "other"),
        )
        if applies
    }
    prompts.add(prompt)
    plain = (task,) if task in TAGS else ()
    return Item(suite, str(number), (*TAGS, "other").index(task) + 1, prompt, spec, (*plain, *ordered_tags(odd)))


_SAMPLE = re.compile(r"([0-9]{1,9})/samples/([0-9]{1,9})\.(?:png|jpe?g|webp)", re.IGNORECASE)
_GRID = re.compile(r"[0-9]+/grid\.[a-z]+", re.IGNORECASE)


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files in GenEval's layout: `00000/samples/0000.png`, with prompts in `00000/metadata.jsonl`.

    Without a prompt, the number of the folder is the index of the item in the suite.
    """
    files = set(folder.files)
    items: dict[str, tuple[str | None, MatchedBy]] = {}
    for file in folder.files:
        sample = _SAMPLE.fullmatch(file)
        if sample is None:
            if is_any_image(file) and not _GRID.fullmatch(file):
                yield CandidateFile(file, None)
            continue
        number, beside = sample[1], f"{sample[1]}/metadata.jsonl"
        if number not in items:
            prompt = _read_prompt(folder, beside) if beside in files else None
            items[number] = (
                (_item_at(number, folder, index), "place")
                if prompt is None
                else (_item_with(prompt, beside, index), "prompt")
            )
        item, by = items[number]
        yield CandidateFile(file, None if item is None else FolderImage(item, int(sample[2])), by=by)


def _read_prompt(folder: FolderListing, file: str) -> str | None:
    location, row = next(iter(read_jsonl_rows(folder.path, file)), ("", {}))
    prompt = row.get("prompt")
    if prompt is not None and not isinstance(prompt, str):
        raise FormalimgError(f"{location}: prompt must be text")
    return prompt


def _item_with(prompt: str, file: str, index: ItemIndex) -> str | None:
    items = index.items_with(prompt)
    if len(items) > 1:
        two = " and ".join(map(short_name, items[:2]))
        raise FormalimgError(f"{file}: items {two} have the same prompt: use a map or layout=imagefolder")
    return items[0] if items else None


def _item_at(number: str, folder: FolderListing, index: ItemIndex) -> str | None:
    # A number counts in the suite that the images were made for: in a part of it, it would lead to the wrong item.
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


LAYOUT = ImageLayout(
    "geneval", lambda folder: any(map(_SAMPLE.fullmatch, folder.files)), image_candidates, example_file
)
