"""`study.toml`: what people were asked to do, for people and for going on with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError
from formalimg.human_eval.protocol import Protocol
from formalimg.runs import read_manifest_table

CARD_FILE = "study.toml"
SCHEMA = 1
"""The form of studies; another number means that another version of formalimg made them."""


@dataclass(frozen=True)
class RatedRun:
    """A run whose images are rated.

    Attributes:
        name: the name of its folder, by which exports call it.
        folder: where it lies, seen from the study.
        model: the image model.
        items_digest: of what the run asks.
        images: how many of its images are rated.
        images_digest: of the bytes of these images.
        without_image: how many planned images nobody can rate, because there is none.
    """

    name: str
    folder: str
    model: str
    items_digest: str
    images: int
    images_digest: str
    without_image: int


@dataclass(frozen=True)
class StudyManifest:
    """What was asked of a study.

    Attributes:
        protocol: how people judge.
        suite: the benchmark.
        raters: how many people there are.
        per_image: how many of them look at each image.
        levels: only images of these levels; none for all.
        per_level: how many images of each run and level were taken; 0 for all.
        checks: the share of attention checks in what a rater sees, at least.
        seed: from which choice, assignment and order follow; tokens do not.
        created: when the study was made, in UTC.
        made_with: the version of formalimg.
        runs: whose images are rated.
    """

    protocol: Protocol
    suite: str
    raters: int
    per_image: int
    levels: tuple[int, ...]
    per_level: int
    checks: float
    seed: int
    created: str
    made_with: str
    runs: tuple[RatedRun, ...]


_STORED_NAMES = {
    "per_image": "per_picture",
    "images": "pictures",
    "images_digest": "pictures_digest",
    "without_image": "without_picture",
}
"""Fields that have another name in `study.toml`: stored studies keep the names they were written with."""

_TYPES = {"str": str, "int": int, "float": float, "Protocol": str, "tuple[int, ...]": list}
"""The fields of a card that are written as they are, by what is written."""


def write_study_card(manifest: StudyManifest, folder: Path) -> None:
    """Write `study.toml`."""
    table = asdict(manifest)
    runs = table.pop("runs")
    lines = [
        "# What people are asked to do. Answers are in ratings.sqlite, which knows links only by their digests:",
        "# a link that is lost is replaced by a new one.",
        *_pairs({"schema": SCHEMA, **table}),
    ]
    for run in runs:
        lines += ["", "[[runs]]", *_pairs(run)]
    atomic_write(folder / CARD_FILE, (f"{line}\n".encode() for line in lines))


def is_study(folder: Path) -> bool:
    """Is the folder a study, or was it meant to be one?"""
    return (folder / CARD_FILE).is_file()


def read_study_manifest(folder: Path) -> StudyManifest:
    """The card of a study.

    Raises:
        FormalimgError: if the folder is no study, or one of another version of formalimg.
    """
    path = folder / CARD_FILE
    table = read_manifest_table(path, "study", SCHEMA, "use the version that made it, or make a new study")
    try:
        plain = _read(StudyManifest, table)
        if plain["protocol"] not in get_args(Protocol):
            raise KeyError("protocol")
        if not isinstance(table.get("runs"), list):
            raise KeyError("runs")
        runs = tuple(RatedRun(**_read(RatedRun, run)) for run in table["runs"])
        return StudyManifest(**{**plain, "levels": tuple(plain["levels"]), "runs": runs})
    except KeyError as error:
        raise FormalimgError(f"{path} is damaged: {error.args[0]} is missing or no longer what it was") from error


def _read(kind: type[StudyManifest] | type[RatedRun], table: object) -> dict[str, Any]:
    found = {}
    for field in fields(kind):
        wanted = _TYPES.get(str(field.type))
        if wanted is None:
            continue
        stored = _STORED_NAMES.get(field.name, field.name)
        if not isinstance(table, dict) or type(table.get(stored)) is not wanted:
            raise KeyError(stored)
        found[field.name] = table[stored]
    return found


def _pairs(table: dict[str, Any]) -> list[str]:
    # JSON's strings and numbers are TOML's as well, but for one character.
    written = {name: json.dumps(value, ensure_ascii=False, allow_nan=False) for name, value in table.items()}
    return [f"{_STORED_NAMES.get(name, name)} = {value}".replace("\x7f", "\\u007f") for name, value in written.items()]


@dataclass(frozen=True)
class StudyConfig:
    """Settings of a study, as in `make_study`; None, or no runs, for what may be as it is.

    Attributes:
        runs: the folders of the runs.
        levels: no levels at all for all of them.
    """

    runs: tuple[Path, ...] = ()
    protocol: Protocol | None = None
    raters: int | None = None
    per_image: int | None = None
    levels: tuple[int, ...] | None = None
    per_level: int | None = None
    checks: float | None = None
    seed: int | None = None


_SETTINGS = ("protocol", "raters", "per_image", "levels", "per_level", "checks", "seed")


def require_wanted(folder: Path, manifest: StudyManifest, wanted: StudyConfig) -> None:
    """Refuse to go on with a study of other settings.

    Args:
        folder: where the study lies.
        manifest: what was asked of it.
        wanted: what is asked now.

    Raises:
        FormalimgError: naming all that is different.
    """
    pairs = [(name, getattr(manifest, name), getattr(wanted, name)) for name in _SETTINGS]
    found = [
        f"{name.replace('_', ' ')}: was {_told(old)}, now {_told(new)}"
        for name, old, new in pairs
        if new is not None and new != old
    ]
    there = {str((folder / run.folder).resolve()) for run in manifest.runs}
    asked = {str(run.resolve()) for run in wanted.runs}
    if asked and asked != there:
        found.append(f"runs: was {_told(tuple(sorted(there)))}, now {_told(tuple(sorted(asked)))}")
    if found:
        raise FormalimgError(f"{folder} is a study of other settings ({'; '.join(found)}): choose another folder")


def _told(value: object) -> str:
    return ", ".join(map(str, value)) or "all" if isinstance(value, tuple) else str(value)
