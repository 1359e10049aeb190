"""What to say when not one of the wanted images is there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import Setting
from formalimg.models.folder.file_matching import (
    Claim,
    Folder,
    FolderImage,
    Found,
    Matching,
    Wanted,
    Wishes,
    is_any_image,
    named,
    scan,
    settle,
)
from formalimg.models.folder.layouts import (
    claims_by_folder,
    claims_by_name,
    claims_by_results,
    claims_by_tree,
    looks_like_cf_world,
    looks_like_conceptmix,
    looks_like_geneval,
)
from formalimg.models.folder.metadata import METADATA, claims_by_map, claims_by_metadata
from formalimg.models.image import Answer, Failed, Generated, ImageRequest, Refused

_SHOWN = 3


def nothing_found(matching: Matching, wishes: Wishes, folder: Folder | None) -> str:
    """One line: what was looked for, what is there, and what to do."""
    place = named(matching.place)
    images = [file for file in folder.files if is_any_image(file)] if folder else list(matching.extra)
    if matching.absent:
        return f"{place}: the images that it names are not there, such as {named(matching.absent[0])}: check the paths"
    if not images:
        return f"{place} holds no images: it should have files such as {_looked_for(matching.layout, wishes)}"
    below = (
        next((f for f in folder.files if f.endswith(tuple(f"/{name}" for name in METADATA))), None) if folder else None
    )
    if below is not None and matching.layout == "published":
        return f"{place}: no image is named after a wanted item; perhaps {named(f'{place}/{_parent(below)}')} was meant"
    there = ", ".join(map(named, images[:_SHOWN]))
    return (
        f"{place}: none of its {len(images):,} images ({there}{' …' if len(images) > _SHOWN else ''}) is one of "
        f"the {len(wishes.wanted):,} wanted: looked for {_looked_for(matching.layout, wishes)} "
        f"(layout={matching.layout}); "
        "rename them, or say which is which in a metadata.jsonl or a map"
    )


def _looked_for(layout: str, wishes: Wishes) -> str:
    wanted = next(iter(wishes.wanted.values()))
    item, sample = named(wanted.item), wanted.sample
    prompt = repr(truncate(wanted.prompt, 30, 10))
    match layout:
        case "published":
            return f"{item}_{sample}.png" if sample else f"{item}.png or {item}_0.png"
        case "geneval":
            file = f"{wanted.place or 0:05}/samples/{sample:04}.png"
            return f"{file}, or the prompt {prompt} in a metadata.jsonl beside samples/"
        case _:
            return f"item {item} or the prompt {prompt}"


def _parent(file: str) -> str:
    return file.rpartition("/")[0]


_IN_FOLDERS: Mapping[str, Callable[[Folder, Wishes], Iterable[Claim]]] = {
    "published": claims_by_name,
    "geneval": claims_by_folder,
    "imagefolder": claims_by_metadata,
    "conceptmix": claims_by_results,
    "cf-world": claims_by_tree,
}
_LAYOUTS = (*_IN_FOLDERS, "map")
_LARGEST = 256 * 1024 * 1024
_VERSION = 1


class FolderModel:
    """Images that are there already, by item and sample. Call `match` before `generate`.

    Attributes:
        name: `folder/` and the path as the user wrote it.
        settings: how the folder is read.
        batch, concurrency, sees_spec: as for every image model.
    """

    batch = 1
    concurrency = 16
    sees_spec = False
    style = "none"
    """Whatever the images were asked for with, it was not by us."""

    def __init__(self, given: str, path: Path, layout: str, folder: Folder | None) -> None:
        self.name = f"folder/{given}"
        self.settings: Mapping[str, Setting] = {"version": _VERSION, "layout": layout}
        self._given = given
        self._path = path
        self._layout = layout
        self._folder = folder
        self._matched: Mapping[FolderImage, Found] | None = None
        self._blocked: Mapping[FolderImage, Found] = {}

    def match(self, wanted: Sequence[Wanted]) -> Matching:
        """Look for these images, given in the order of the suite.

        Raises:
            FormalimgError: if there are none at all, or it is not certain which file is which image.
        """
        wishes = Wishes(wanted)
        if self._folder is None:
            claims = claims_by_map(self._path, wishes)
        else:
            claims = iter(_IN_FOLDERS[self._layout](self._folder, wishes))
        matching = settle(claims, wishes, self._root, self._given, self._layout)
        if wanted and not matching.found and not matching.blocked:
            raise FormalimgError(nothing_found(matching, wishes, self._folder))
        self._matched = {FolderImage(found.item, found.sample): found for found in matching.found}
        self._blocked = {FolderImage(found.item, found.sample): found for found in matching.blocked}
        return matching

    def fingerprint(self, item: str, sample: int) -> str:
        """Name, size and time of change of an image's file as it is now; empty if there is none."""
        found = self._found(item, sample) or self._blocked.get(FolderImage(item, sample))
        if found is None:
            return ""
        try:
            status = self._file(found).stat()
        except OSError:
            return ""
        return f"{_shown(found.file)}:{status.st_size}:{status.st_mtime_ns}"

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[Answer]:
        """The files as they are, one answer for each request."""
        for request in requests:
            yield await asyncio.to_thread(self._answer, request)

    def _answer(self, request: ImageRequest) -> Answer:
        found = self._found(request.item, request.sample)
        if found is None:
            blocked = self._blocked.get(FolderImage(request.item, request.sample))
            if blocked is not None:
                return Refused(f"blocked, as {named(blocked.file)} says")
            reason = f"no image for item {request.item}, sample {request.sample} in {self._given}"
            return Failed(reason, absent=True)
        try:
            with self._file(found).open("rb") as file:
                data = file.read(_LARGEST + 1)
        except OSError as error:
            return Failed(f"cannot read {named(found.file)} in {self._given}: {error.strerror}")
        if len(data) > _LARGEST:
            return Failed(f"{named(found.file)} in {self._given} is too large for an image")
        return Generated(data, {"file": _shown(found.file)})

    def _found(self, item: str, sample: int) -> Found | None:
        if self._matched is None:
            raise RuntimeError("match must be called before images are asked for")
        return self._matched.get(FolderImage(item, sample))

    def _file(self, found: Found) -> Path:
        return Path(self._root, found.file)

    @property
    def _root(self) -> str:
        return str(self._path.parent if self._folder is None else self._path)


def open_folder(path: str, options: Mapping[str, str]) -> FolderModel:
    """A folder of images, or a JSON file that maps items to images, as an image model.

    Args:
        path: the folder or the file.
        options: `layout` says how it is to be read: `published`, `geneval`, `imagefolder`, `conceptmix`, `cf-world` or
            `map`. Without it, the layout is seen from what is there.

    Raises:
        FormalimgError: if there is nothing at the path, or the options are wrong.
    """
    path = path.rstrip("/") or path  # with and without the slash it is the same folder, and the same model
    unknown = sorted(set(options) - {"layout"})
    if unknown:
        raise FormalimgError(f"folder/{path}: unknown option {unknown[0]!r}: the only one is layout")
    layout = options.get("layout")
    if layout is not None and layout not in _LAYOUTS:
        raise FormalimgError(f"folder/{path}: unknown layout {layout!r}: known are {', '.join(_LAYOUTS)}")
    # From os.path, because a Path would raise for users and names that cannot be.
    place = Path(os.path.expanduser(path))  # noqa: PTH111
    if not path or not os.path.exists(place):  # noqa: PTH110
        raise FormalimgError(f"there is no folder {path!r}: say where the images are, as in folder/my/images")
    if not place.is_dir():
        if layout not in (None, "map") or (layout is None and place.suffix.lower() != ".json"):
            raise FormalimgError(f"{path} is a file: give the folder of the images, or a map of them (a .json file)")
        return FolderModel(path, place, "map", None)
    if layout == "map":
        raise FormalimgError(f"{path} is a folder: layout=map needs the JSON file that maps items to images")
    folder = scan(str(place))
    return FolderModel(path, place, layout or _seen_layout(folder), folder)


def _seen_layout(folder: Folder) -> str:
    if any(name in folder.files for name in METADATA):
        return "imagefolder"
    if looks_like_conceptmix(folder):
        return "conceptmix"
    if looks_like_cf_world(folder):
        return "cf-world"
    return "geneval" if looks_like_geneval(folder) else "published"


def _shown(file: str) -> str:
    """A name that can be stored as text, whatever bytes it is made of."""
    return file.encode("utf-8", "replace").decode("utf-8")
