"""What to say when not one of the wanted images is there."""

from __future__ import annotations

from formalimg._util.text import truncate
from formalimg.models.folder.imagefolder import METADATA
from formalimg.models.folder.matching import Matching, named
from formalimg.models.folder.scanning import Folder, is_any_image
from formalimg.models.folder.wishes import Wishes

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
