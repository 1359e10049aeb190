"""Images named by their items, `7.png`, as FormalImg's own scripts keep them.

Several images of an item are `7_0.png`, `7_1.png`, …, or `7-0.png`, or `7/0.png`. In the authors' repository the
images lie in `responses/<task>/<model>/imgs/`, where `7.png.blocked` marks what a provider declined to make.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from formalimg.errors import FormalimgError
from formalimg.models.folder.claims import Claim
from formalimg.models.folder.matching import named
from formalimg.models.folder.scanning import Folder, is_any_image, is_image
from formalimg.models.folder.wishes import FolderImage, Wishes, is_number

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
