"""Published grounding files (`responses/knolling/<model>/grounding/json/<id>.json`), judged in bulk.

The image beside a file, `imgs/<id>.png`, is shown if it exists; otherwise the boxes are drawn. Further images of an
item have names such as `<id>_1.json`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from formalimg._util.io import read_plain_bytes
from formalimg._util.strict_json import loads_strict
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.icon_scene import layout_error_png, layout_png
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.scene_judge import RULES, judge_grounding, judge_written_layout
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Setting, Unscored, Verdict

_PATTERNS = ("grounding/json", "*/grounding/json", "*/*/grounding/json", "*/*/*/grounding/json", "json")
"""Where grounding files are below a folder that is given; it may also be the folder of the files itself."""
_SAMPLE = re.compile(r"(.+?)(?:_(\d{1,4}))?")
_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
_MAX_GROUNDING_BYTES, _MAX_IMAGE_BYTES = 10_000_000, 200_000_000


@dataclass(frozen=True)
class GroundingFolder:
    """A folder with the grounding files of one model."""

    path: Path  # the folder with the files
    model: str  # the model whose images they are about, after the folder above

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """The files by stem, sorted by name."""
        return {path.stem: path for path in sorted(self.path.glob("*.json"))}

    @cached_property
    def digest(self) -> str:
        """A digest of all files in the folder."""
        total = hashlib.sha256()
        for name, path in self.files.items():
            total.update(name.encode("utf-8", "surrogateescape") + b"\0" + hashlib.sha256(_read_file(path)).digest())
        return total.hexdigest()[:16]

    def samples(self, items: Sequence[str]) -> int:
        """Return the maximum number of images per item."""
        ids, largest = frozenset(items), 1
        for name in self.files:
            match = _SAMPLE.fullmatch(name)
            if match and name not in ids and match[1] in ids and match[2]:
                largest = max(largest, int(match[2]) + 1)
        return largest

    def unknown_files(self, items: Sequence[str], samples: int) -> list[str]:
        """Return the names of files that do not belong to any of the items."""
        names = {name for item in items for sample in range(samples) for name in _file_names(item, sample)}
        return [path.name for name, path in self.files.items() if name not in names]

    def file(self, item: str, sample: int) -> Path | None:
        """Return the grounding file of an image, or None if it does not exist."""
        return next((self.files[name] for name in _file_names(item, sample) if name in self.files), None)

    def picture(self, item: str, sample: int) -> Path | None:
        """Return the original image from the `imgs` folder, or None if it does not exist."""
        images = self.path.resolve().parent.parent / "imgs"
        names = (f"{name}{suffix}" for name in _file_names(item, sample) for suffix in _IMAGE_SUFFIXES)
        return next((path for name in names if (path := images / name).is_file()), None)


def find_grounding_folders(path: Path) -> list[GroundingFolder]:
    """Find the folders with grounding files at or below a path, one per model."""
    for candidates in (*(sorted(path.glob(pattern)) for pattern in _PATTERNS), [path]):
        folders = [folder for folder in candidates if folder.is_dir() and any(folder.glob("*.json"))]
        if folders:
            names = [
                [part for part in folder.resolve().parts if part not in ("json", "grounding")] for folder in folders
            ]
            return [GroundingFolder(folder, parts[-1]) for folder, parts in zip(folders, names, strict=True)]
    raise FormalimgError(
        f"{path} holds no grounding files: give a folder with files such as 0.json, or one above "
        "MODEL/grounding/json/0.json"
    )


@dataclass(frozen=True)
class GroundedImages:
    """An image model that returns the images of grounding files, or drawings of their boxes if missing."""

    folder: GroundingFolder  # the files
    name: str  # the model that made the images
    batch: int = 16  # as for every image model
    concurrency: int = 2
    sees_spec: bool = False
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"source": "grounding files"})

    def fingerprint(self, item: str, sample: int) -> str | None:
        """Return a fingerprint of the image's file that changes if it is replaced, or None if there is no file."""
        path = self.folder.picture(item, sample) or self.folder.file(item, sample)
        if path is None:
            return None
        status = path.stat()
        return f"{path.suffix} {status.st_size} {status.st_mtime_ns}"

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield the image for each request, or an absent result if it has no grounding file."""
        for request in requests:
            yield await asyncio.to_thread(self._load, request.item, request.sample)

    def _load(self, item: str, sample: int) -> ImageResult:
        file = self.folder.file(item, sample)
        if file is None:
            return Failed("there is no grounding file for it", absent=True)
        picture = self.folder.picture(item, sample)
        if picture is None:
            return Generated(_draw_file(file))
        try:
            return Generated(read_plain_bytes(picture, _MAX_IMAGE_BYTES))
        except OSError as error:
            return Failed(f"cannot read {picture.name}: {error.strerror}")


@dataclass(frozen=True)
class GroundingFileJudge:
    """A judge that decides by published grounding files instead of the image."""

    folder: GroundingFolder  # the files
    # whether a file that cannot be read as a scene is a failure, as for layouts that a chat model planned; else it is
    # unscored, because nobody knows what the image shows
    fails_unreadable: bool = False
    # whether verdicts are those of the published evaluator, which decides on objects as they were written, and leaves
    # out only what is no JSON
    is_published: bool = False
    name: str = "groundings"  # as for every judge
    concurrency: int = 2

    @property
    def settings(self) -> Mapping[str, Setting]:
        if self.is_published:
            return {"files": self.folder.digest, "protocol": "published", "protocol_rules": 1}
        return {
            "files": self.folder.digest,
            "unreadable": "fail" if self.fails_unreadable else "unscored",
            "semantics": "strict",
            "judging_rules": RULES,
        }

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        if not isinstance(item.spec, FormulaSpec):
            return Unscored("not understood", f"item {item.id} of {item.suite} has no formula")
        path = self._file(item.id, image)
        if path is None:
            return Unscored("judge failed", f"there is no grounding file for item {item.id}: give one")
        if self.is_published:
            try:
                data = json.loads(_read_file(path).decode("utf-8"))
            except (ValueError, RecursionError) as error:
                return Unscored("not understood", f"{path.name}: it is not JSON: {error}")
            return await judge_written_layout(item, data.get("objects", []) if isinstance(data, dict) else None)
        try:
            scene = read_grounding_file(path)
        except SceneError as error:
            problem = f"{path.name}: {' '.join(str(error).split())}"
            if self.fails_unreadable:
                return Verdict(False, (), {"rule": "unreadable layout", "explanation": problem})
            return Unscored("not understood", problem)
        return await asyncio.to_thread(judge_grounding, item.spec.formula, Grounding(scene))

    def _file(self, item: str, image: LoadedImage) -> Path | None:
        if self.folder.file(item, 1) is None:
            return self.folder.file(item, 0)
        sample = 0
        while (path := self.folder.file(item, sample)) is not None:
            picture = self.folder.picture(item, sample)
            if image.data == (_draw_file(path) if picture is None else _read_file(picture, _MAX_IMAGE_BYTES)):
                return path
            sample += 1
        return None


def read_grounding_file(path: Path) -> Scene:
    """Read a scene from a grounding file."""
    try:
        return Scene.from_json(loads_strict(_read_file(path)))
    except SceneError:
        raise
    except (ValueError, RecursionError) as error:
        raise SceneError([f"it is not JSON: {error}"]) from error


def _draw_file(path: Path) -> bytes:
    try:
        return layout_png(read_grounding_file(path))
    except SceneError as error:
        return layout_error_png(" ".join(str(error).split()))


def _read_file(path: Path, limit: int = _MAX_GROUNDING_BYTES) -> bytes:
    try:
        return read_plain_bytes(path, limit)
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error


def _file_names(item: str, sample: int) -> tuple[str, ...]:
    return (f"{item}_{sample}",) if sample else (item, f"{item}_0")
