"""Pair images with prompts: one prompt for all, or a file with one for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from formalimg._util.record_files import read_records
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.scoring.given_images import find_image_files

_FIELDS = ("image", "prompt")


def pair_images(paths: Sequence[Path], prompt: str | None, prompts_file: Path | None) -> list[tuple[Path, str]]:
    """Return the images of these files and folders, each with its prompt."""
    if (prompt is None) == (prompts_file is None):
        raise FormalimgError("say what the images should show: give --prompt, or --prompts-file with one for each")
    images = find_image_files(paths)
    if prompt is not None:
        if not images:
            raise FormalimgError("there is nothing to score: name the images, or a folder of them")
        return [(image, prompt) for image in images]
    assert prompts_file is not None, "one of the two is given"
    records = read_records(prompts_file, "prompt")
    for number, record in enumerate(records, 1):
        if not isinstance(record.get("prompt"), str) or not isinstance(record.get("image", ""), str):
            raise FormalimgError(f"{prompts_file}, entry {number}: give {' and '.join(_FIELDS)} as texts")
    if not any("image" in record for record in records):
        if len(records) != len(images):
            raise FormalimgError(
                f"{prompts_file} has {len(records)} prompts, and there are {len(images)} images: give one for each"
            )
        return [(image, record["prompt"]) for image, record in zip(images, records, strict=True)]
    missing = next((number for number, record in enumerate(records, 1) if "image" not in record), None)
    if missing is not None:
        raise FormalimgError(f"{prompts_file}, entry {missing} names no image, as others do: give each its image")
    return [(_find(record["image"], images, prompts_file), record["prompt"]) for record in records]


def _find(name: str, images: Sequence[Path], prompts_file: Path) -> Path:
    """Return the image of this name: among the given ones by path or file name, or from the folder of the file."""
    if images:
        found = [image for image in images if name in (str(image), image.name)]
        found = found or [image for image in images if str(image).endswith(f"/{name}")]
        if len(set(found)) == 1:
            return found[0]
        problem = "is none of the given images" if not found else "is the name of several of the given images"
        raise FormalimgError(f"{truncate(name, 80, 40)!r} in {prompts_file} {problem}: name it as it was given")
    place = prompts_file.parent / name
    if not place.is_file():
        raise FormalimgError(f"there is no image {truncate(str(place), 100, 100)}, which {prompts_file} names")
    return place
