"""Files that claim to be images of items, and which of them are believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.models.folder.matching import Found, Matching, named
from formalimg.models.folder.wishes import FolderImage, Wishes

_SHOWN = 3


class Claim(NamedTuple):
    """What a file says it is.

    Attributes:
        file: its name, as seen from the folder.
        image: what it shows; None if that is nothing that was asked for.
        blocked: whether it is only a marker that says that there is no image.
        there: whether the file exists.
    """

    file: str
    image: FolderImage | None
    blocked: bool = False
    there: bool = True


def settle(claims: Iterable[Claim], wishes: Wishes, folder: str, place: str, layout: str) -> Matching:
    """Give each wanted image its file.

    Args:
        claims: what the files say.
        wishes: what is wanted.
        folder: where the files' names lead from.
        place: how the user called it.
        layout: how it was read.

    Raises:
        FormalimgError: if files that differ stand for the same image.
    """
    files: dict[FolderImage, list[str]] = {}
    markers: dict[FolderImage, str] = {}
    absent: list[str] = []
    extra: list[str] = []
    for file, image, blocked, there in dict.fromkeys(claims):
        if image is None or image not in wishes.wanted:
            extra.extend([file] if there else [])
        elif not there:
            absent.append(file)
        elif blocked:
            markers[image] = file
        else:
            files.setdefault(image, []).append(file)
    several = {image: tuple(names) for image, names in files.items() if len(names) > 1}
    _refuse_differing(several, folder)
    return Matching(
        place,
        layout,
        found=tuple(Found(*image, files[image][0]) for image in wishes.wanted if image in files),
        # An image beside its marker was made at a later attempt.
        blocked=tuple(Found(*one, markers[one]) for one in wishes.wanted if one in markers and one not in files),
        missing=tuple(wish for one, wish in wishes.wanted.items() if one not in files and one not in markers),
        extra=tuple(extra),
        duplicates=tuple(several.values()),
        absent=tuple(absent),
    )


def _refuse_differing(several: dict[FolderImage, tuple[str, ...]], folder: str) -> None:
    differing = [image for image, names in several.items() if not _same_bytes([Path(folder, n) for n in names])]
    if not differing:
        return
    shown = ", ".join(
        f"{' and '.join(map(named, several[image]))} (item {named(image.item)}, sample {image.sample})"
        for image in differing[:_SHOWN]
    )
    more = f" and {len(differing) - _SHOWN:,} more" if len(differing) > _SHOWN else ""
    raise FormalimgError(f"different files for the same image in {named(folder)}: {shown}{more}; keep one of each")


def _same_bytes(paths: Sequence[Path]) -> bool:
    try:
        if len({path.stat().st_size for path in paths}) > 1:
            return False
        first = paths[0].read_bytes()
        return all(path.read_bytes() == first for path in paths[1:])
    except OSError as error:
        raise FormalimgError(f"cannot read {error.filename}: {error.strerror}") from error
