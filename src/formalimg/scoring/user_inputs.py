"""Images, prompts and questions provided by the user for scoring."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from formalimg._util.image_input import AnyImage, NoImageError, image_file_bytes
from formalimg._util.record_files import read_records
from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import MAX_WEIGHT, ExpectedAnswer, GraphQuestion, find_graph_problem
from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult
from formalimg.models.folder.file_matching import is_any_image, scan_folder
from formalimg.types import Setting

GIVEN = "folder/given"  # The name under which runs record given images as their model
_MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class UserImage:
    """An image to be scored."""

    name: str  # the path of its file, as it was given, or its number
    sha256: str  # the digest of its bytes
    load: Callable[[], bytes]  # reads its bytes

    @property
    def slug(self) -> str:
        """The file name reduced to letters, digits and hyphens, for use in item ids."""
        return re.sub(r"[^a-z0-9]+", "-", Path(self.name).stem.lower()).strip("-")[:40] or "image"


def open_user_image(image: AnyImage, number: int) -> UserImage:
    """Open an image provided by the user as a path, bytes or an object."""
    if isinstance(image, str | os.PathLike):
        path = Path(image)
        return UserImage(os.fspath(path), _hash_bytes(_read_file(path)), partial(_read_file, path))
    try:
        data = image_file_bytes(image)
    except NoImageError as error:
        raise FormalimgError(f"image {number} is none: {error}") from error
    return UserImage(f"image {number}", _hash_bytes(data), lambda: data)


def find_image_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files among the paths, and all images in the folders in natural order."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [path / file for file in scan_folder(str(path)).files if is_any_image(file)]
            if not inside:
                raise FormalimgError(f"{path} holds no images: give a folder with PNG, JPEG or WebP files")
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise FormalimgError(f"there is no image {truncate(str(path), 100, 100)}: check the path")
    return files


class UserImages:
    """An image model that serves images provided by the user, by item id.

    Attributes:
        name, settings, batch, concurrency, sees_spec, style: as for every image model.
    """

    name = GIVEN
    batch = 1
    concurrency = 16
    sees_spec = False
    style = "none"

    def __init__(self, images: Mapping[str, UserImage]) -> None:
        self.settings: Mapping[str, Setting] = {"version": 1}
        self._images = images

    def fingerprint(self, item: str, sample: int) -> str:
        """Return the digest of the item's image, which changes if the image is replaced."""
        return self._images[item].sha256

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one unmodified image per request."""
        for request in requests:
            image = self._images[request.item]
            try:
                data = await asyncio.to_thread(image.load)
            except FormalimgError as error:
                yield Failed(str(error))
                continue
            yield Generated(data, {"file": truncate(image.name, 150, 150)})


def _read_file(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise FormalimgError(f"there is no image {truncate(str(path), 100, 100)}: check the path")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FormalimgError(f"cannot read the image {truncate(str(path), 100, 100)}: {reason}") from error
    if len(data) > _MAX_BYTES:
        raise FormalimgError(f"{truncate(str(path), 100, 100)} is too large for an image: give one below 256 MB")
    return data


def _hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pair_images(paths: Sequence[Path], prompt: str | None, prompts_file: Path | None) -> list[tuple[Path, str]]:
    """Pair each image in the files and folders with its prompt."""
    if (prompt is None) == (prompts_file is None):
        raise FormalimgError("say what the images should show: give --prompt, or --prompts-file with one for each")
    images = find_image_files(paths)
    if prompt is not None:
        if not images:
            raise FormalimgError("nothing to score: name the images, or a folder of them")
        return [(image, prompt) for image in images]
    assert prompts_file is not None, "one of the two is given"
    records = read_records(prompts_file, "prompt")
    for number, record in enumerate(records, 1):
        if not isinstance(record.get("prompt"), str) or not isinstance(record.get("image", ""), str):
            raise FormalimgError(f"{prompts_file}, entry {number}: give image and prompt as texts")
    if not any("image" in record for record in records):
        if len(records) != len(images):
            raise FormalimgError(
                f"{prompts_file} has {len(records)} prompts, and there are {len(images)} images: give one for each"
            )
        return [(image, record["prompt"]) for image, record in zip(images, records, strict=True)]
    missing = next((number for number, record in enumerate(records, 1) if "image" not in record), None)
    if missing is not None:
        raise FormalimgError(f"{prompts_file}, entry {missing} names no image, as others do: give each its image")
    return [(_find_image(record["image"], images, prompts_file), record["prompt"]) for record in records]


def _find_image(name: str, images: Sequence[Path], prompts_file: Path) -> Path:
    """Find an image by path or file name among the given images or, without any, next to the prompts file."""
    if images:
        matches = [image for image in images if name in (str(image), image.name)]
        matches = matches or [image for image in images if str(image).endswith(f"/{name}")]
        if len(set(matches)) == 1:
            return matches[0]
        problem = "is none of the given images" if not matches else "is the name of several of the given images"
        raise FormalimgError(f"{truncate(name, 80, 40)!r} in {prompts_file} {problem}: name it as it was given")
    path = prompts_file.parent / name
    if not path.is_file():
        raise FormalimgError(f"there is no image {truncate(str(path), 100, 100)}, which {prompts_file} names")
    return path


_FIELDS = ("question", "id", "parents", "expected", "category", "weight")


def read_questions(path: str | Path) -> tuple[GraphQuestion, ...]:
    """Read questions from a file.

    A `.jsonl` file has one object per line, a `.json` file a list of them, a `.csv` file a heading; the fields are
    `question`, and optionally `id` (by default the number of the question), `parents` (ids; in CSV separated by
    blanks), `expected` (yes or no), `category` and `weight`. Any other file has one question per line.
    """
    file = Path(path)
    questions = tuple(
        question_of(record, number, f"{file}, question {number}")
        for number, record in enumerate(read_records(file, "question"), 1)
    )
    problem = find_graph_problem(questions)
    if problem is not None:
        raise FormalimgError(f"{file}: {problem}: fix the file")
    return questions


def question_of(record: Mapping[str, Any], number: int, location: str) -> GraphQuestion:
    """Parse a question from a record."""
    unknown = next((str(name) for name in record if name not in _FIELDS), None)
    if unknown is not None:
        raise FormalimgError(f"{location}: unknown field {unknown[:40]!r}: choose from {', '.join(_FIELDS)}")
    parents = record.get("parents", ())
    if isinstance(parents, str):
        parents = parents.replace(",", " ").split()
    expected = str(record.get("expected", "yes")).strip().lower()
    words = " ".join(str(record.get("question", "")).split())
    name, category = str(record.get("id", number)).strip(), str(record.get("category", "other")).strip() or "other"
    if not words:
        raise FormalimgError(f"{location}: it has no words: give a question")
    if not (words + name + category).isprintable():
        raise FormalimgError(f"{location}: it holds characters that cannot be shown: take them out")
    if expected not in ("yes", "no"):
        raise FormalimgError(f"{location}: expected is {expected[:40]!r}: give yes or no")
    if not isinstance(parents, list | tuple):
        raise FormalimgError(f"{location}: parents must be a list of ids")
    try:
        weight = float(record.get("weight", 1))
    except (TypeError, ValueError):
        weight = 0.0
    if not 0 < weight <= MAX_WEIGHT:
        raise FormalimgError(f"{location}: weight must be a number above 0, of at most {MAX_WEIGHT:g}")
    return GraphQuestion(
        name,
        words,
        tuple(str(parent).strip() for parent in parents),
        cast(ExpectedAnswer, expected),
        category,
        weight,
    )
