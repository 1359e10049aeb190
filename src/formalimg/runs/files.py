"""Files of a run folder, written so that they are there as a whole or not at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from formalimg._util.images import image_type
from formalimg._util.io import PARTIAL_SUFFIX, atomic_write
from formalimg.errors import FormalimgError

IMAGES = "images"
METADATA = "metadata.jsonl"

_ENDINGS = ("png", "jpg", "webp")


def write_file(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file of a run atomically; the error says how to go on.

    Raises:
        FormalimgError: if it cannot be written, for example because the disk is full.
    """
    atomic_write(path, chunks, hint="free some space or fix it, then run the same command again to resume")


def remove_partial(folder: Path) -> None:
    """Remove what a killed process left half written."""
    for path in (*folder.glob(f".*{PARTIAL_SUFFIX}"), *(folder / IMAGES).glob(f".*{PARTIAL_SUFFIX}")):
        path.unlink(missing_ok=True)


def outdated(there: Iterable[str], images: Iterable[tuple[str, int]], named: Collection[str]) -> list[str]:
    """Which of the files that are there belong to these images (item and sample), but are not among the named ones.

    An image that is made anew may come as another type of file, and an ImageFolder must hold no file that its metadata
    does not name. Files that belong to no image of the run are left alone.
    """
    stems = {image_stem(*image) for image in images}
    parted = ((name, *name.rpartition(".")) for name in there)
    return [name for name, stem, _, ending in parted if name not in named and ending in _ENDINGS and stem in stems]


def image_name(item: str, sample: int, data: bytes) -> str:
    """The name of an image's file: `<item>.png`, and `<item>_<sample>.png` for further samples."""
    return f"{image_stem(item, sample)}.{image_type(data) or 'webp'}"


def image_stem(item: str, sample: int) -> str:
    """The name of an image's file without its ending; never the same for two images."""
    # The first image of an item called a_1 must not be taken for the second of a.
    return f"{item}_{sample}" if sample or re.search(r"_[0-9]+$", item) else item


def metadata_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """The lines of `metadata.jsonl`, by which the images load as a Hugging Face ImageFolder."""
    return (f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in rows)


def refuse_strange(folder: Path) -> None:
    """Refuse a folder that holds images of somebody else's: they would be written over.

    Raises:
        FormalimgError: if there is something in its `images`, but no run.
    """
    known = any((folder / name).exists() for name in ("run.toml", "results.sqlite"))
    if not known and (folder / IMAGES).is_dir() and any((folder / IMAGES).iterdir()):
        raise FormalimgError(f"{folder} is no run, and its {IMAGES} holds files: choose another folder for the run")


def make_folder(folder: Path) -> None:
    """Make the run folder and its `images`."""
    try:
        (folder / IMAGES).mkdir(parents=True, exist_ok=True)
        if not os.access(folder / IMAGES, os.W_OK):
            raise PermissionError(13, "no permission to write", str(folder))
    except OSError as error:
        raise FormalimgError(f"cannot make the run folder {folder}: {error.strerror}") from error
