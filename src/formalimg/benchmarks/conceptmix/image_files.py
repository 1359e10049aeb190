"""Folder layout of ConceptMix: `<model>/<k>/<index><first 50 characters of the prompt>.png`, next to a `result.json`.

File names are matched to the requested items by prompt, and by the index in published ids such as `k1-070`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg._util.io import read_text
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    is_any_image,
    is_image,
    short_name,
)
from formalimg.models.folder.layouts import ImageLayout, MetadataEntry, entry_candidates, parse_json

_RESULTS = "result.json"
_NAMED = re.compile(r"[0-9]{1,2}/[0-9]+\w*[^\W\d_]\w*\.(?:png|jpe?g|webp)", re.IGNORECASE)
_START = re.compile(r"[0-9]{1,9}")
_SAMPLE = re.compile(r"(.*)_([0-9]{1,9})", re.DOTALL)
_PUBLISHED_ID = re.compile(r"k([0-9]{1,9})-([0-9]{1,9})")
_MAX_NAME = 50
_SHOWN = 6
_NOT_WANTED = ""  # The item of images whose prompt is that of a wanted item which has its own: no item is called so


class ConceptImageName(NamedTuple):
    """A parsed file name: level (the folder), leading index, and trailing sample number."""

    level: str
    number: int
    sample: int


def prompt_in_name(prompt: str) -> str:
    """Return the form of a prompt that the published scripts use in file names."""
    return re.sub(r"\W", "", prompt[:_MAX_NAME].replace(" ", "_"))


def format_image_name(level: int, number: int, prompt: str, sample: int, suffix: str) -> str:
    """Return the path of an image within the model's folder, with a suffix for samples after the first."""
    return f"{level}/{number}{prompt_in_name(prompt)}{f'_{sample}' if sample else ''}{suffix}"


def find_published_index(item: str, level: int) -> int | None:
    """Return the index in a published item's id, or None for other items."""
    match = _PUBLISHED_ID.fullmatch(item)
    return int(match[2]) if match and int(match[1]) == level else None


def has_image_layout(folder: FolderListing) -> bool:
    """Return whether a folder has the layout of ConceptMix: a result.json, or image names in its format."""
    level = Path(folder.path).absolute().name  # it may be the folder of one level
    return any(
        file.rpartition("/")[2] == _RESULTS or _NAMED.fullmatch("/".join([level, *file.split("/")][-2:]))
        for file in folder.files
    )


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files in a folder with ConceptMix's layout, by result.json or else by their names.

    Only the last part of a path in result.json is used. Records may be repeated: the scripts append to the file.
    """
    results = [file for file in folder.files if file.rpartition("/")[2] == _RESULTS]
    entries = list({entry[1:]: entry for file in results for entry in _read_entries(folder, file)}.values())
    described = dict.fromkeys(entry.file for entry in entries)
    names = _ItemNames(index)
    matches = {
        file: item
        for file in folder.files
        if file not in described and is_image(file) and (item := names.find_item(_find_level(file, folder), file))
    }
    homes = list(dict.fromkeys("/".join(file.split("/")[:-2]) for file in (*described, *matches)))
    if len(homes) > 1:  # images of other models would be taken for extra samples
        choices = ", ".join(short_name(home or ".") for home in homes[:_SHOWN])
        more = " …" if len(homes) > _SHOWN else ""
        raise FormalimgError(
            f"{short_name(folder.path)} holds the images of {len(homes)} models: give one of {choices}{more}"
        )
    for candidate in entry_candidates(_with_items(entries, folder, index, names), index, folder.path):
        yield candidate._replace(by="prompt")  # the index in the name only tells items with the same one apart
    for file in folder.files:
        if is_any_image(file) and file not in described:
            yield CandidateFile(file, matches.get(file), by="name")


def _read_entries(folder: FolderListing, file: str) -> Iterator[MetadataEntry]:
    records = parse_json(read_text(Path(folder.path, file)), file)
    if not isinstance(records, list):
        raise FormalimgError(f"{file}: must be a list of records with prompt and image_path")
    for number, record in enumerate(records, 1):
        location = f"{file}, record {number}"
        texts = [record.get(key) if isinstance(record, dict) else None for key in ("prompt", "image_path")]
        if not all(isinstance(text, str) and text for text in texts):
            raise FormalimgError(f"{location}: must have a prompt and an image_path, both text")
        prompt, path = map(str, texts)
        beside = file.removesuffix(_RESULTS) + re.split(r"[/\\]", path)[-1]
        yield MetadataEntry(location, beside, None, None, prompt, None)


def _with_items(
    entries: Sequence[MetadataEntry], folder: FolderListing, index: ItemIndex, names: _ItemNames
) -> Iterator[MetadataEntry]:
    """Yield the records, extended by the item and sample parsed from each file name."""
    by_prompt: dict[str, list[tuple[MetadataEntry, ConceptImageName | None]]] = {}
    for entry in entries:
        text = entry.prompt or ""
        name = read_name(_find_level(entry.file, folder), Path(entry.file).stem, text)
        # The prompts of published items have no blanks around them.
        prompt = text if index.items_with(text) else text.strip()
        by_prompt.setdefault(prompt, []).append((entry._replace(prompt=prompt), name))
    for prompt, pairs in by_prompt.items():
        items = _items_of_names([name for _, name in pairs if name], index.items_with(prompt), names)
        for entry, name in pairs:
            yield entry if name is None else entry._replace(item=items.get(name[:2]), sample=name.sample)


def _items_of_names(
    listed: Sequence[ConceptImageName], items: Sequence[str], names: _ItemNames
) -> Mapping[tuple[str, int], str]:
    """Map level and index to an item, for the images of one prompt.

    Published items have their index in their ids. Others are matched to the names in order, if their numbers agree.
    """
    published = {name[:2]: item for name in listed if (item := names.published(name)) in items and item is not None}
    remaining = [item for item in items if item not in published.values()]
    unmatched = sorted({name[:2] for name in listed} - published.keys(), key=lambda name: (len(name[0]), name))
    if items and not remaining:
        return {**published, **dict.fromkeys(unmatched, _NOT_WANTED)}
    return (
        {**published, **dict(zip(unmatched, remaining, strict=True))} if len(unmatched) == len(remaining) else published
    )


def read_name(level: str, stem: str, prompt: str) -> ConceptImageName | None:
    """Parse an image's file name, given its prompt; return None if the name does not match."""
    rest = prompt_in_name(prompt)
    for text, sample in _split_sample(stem):
        number = text.removesuffix(rest) if text.endswith(rest) else ""
        if _START.fullmatch(number):
            return ConceptImageName(level, int(number), sample)
    return None


def _split_sample(stem: str) -> list[tuple[str, int]]:
    """Return the possible splits of a file stem into name and sample number, first without a sample."""
    match = _SAMPLE.fullmatch(stem)
    return [(stem, 0), *([(match[1], int(match[2]))] if match else [])]


class _ItemNames:
    """The requested items, indexed by the file-name form of their prompts, and by level and index."""

    def __init__(self, index: ItemIndex) -> None:
        self._by_prompt: dict[str, list[str]] = {}
        self._by_index: dict[tuple[int, int], str] = {}
        for item, prompt in {image.item: image.prompt for image in index.wanted.values()}.items():
            self._by_prompt.setdefault(prompt_in_name(prompt), []).append(item)
            if match := _PUBLISHED_ID.fullmatch(item):
                self._by_index[int(match[1]), int(match[2])] = item

    def published(self, name: ConceptImageName) -> str | None:
        """Return the published item whose level and index match the file name, or None if there is none."""
        return self._by_index.get((int(name.level), name.number)) if name.level.isdecimal() else None

    def find_item(self, level: str, file: str) -> FolderImage | None:
        """Return the image that a file's name identifies, or None."""
        matches = []
        for text, sample in _split_sample(Path(file).stem):
            start = _START.match(text)
            for end in range(1, start.end() + 1 if start else 1):
                items = self._by_prompt.get(text[end:], [])
                published = self.published(ConceptImageName(level, int(text[:end]), sample))
                if published in items:
                    return FolderImage(str(published), sample)
                # Published ids say the index, so a name with another index is none of theirs.
                matches += [FolderImage(item, sample) for item in items if not _PUBLISHED_ID.fullmatch(item)]
        if len(matches) > 1:
            two = " and ".join(short_name(match.item) for match in matches[:2])
            raise FormalimgError(
                f"{short_name(file)} can be the image of items {two}: put the {_RESULTS} of its folder beside it, "
                "or use a map"
            )
        return matches[0] if matches else None


def _find_level(file: str, folder: FolderListing) -> str:
    return Path(folder.path).absolute().joinpath(file).parent.name


LAYOUT = ImageLayout("conceptmix", has_image_layout, image_candidates)
