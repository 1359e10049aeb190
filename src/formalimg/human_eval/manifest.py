"""The manifest of a rating study, `study.toml`, and the configuration it is compared with on resume."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError
from formalimg.human_eval.correction_sample import CorrectionSample, ItemSample, parse_sample, sample_lines
from formalimg.human_eval.protocol import RatingProtocol
from formalimg.human_eval.rules import StudyRules, parse_rules
from formalimg.runs.manifest import MAX_MANIFEST_BYTES, read_manifest_table
from formalimg.stats.agreement import ComplianceRule

MANIFEST_FILE = "study.toml"
MAX_RATERS = 100_000
SCHEMA = 2
"""Schema version of new studies; a larger number means that a later version of formalimg made them."""

SCHEMAS = (1, SCHEMA)
"""Schema versions that can be read and resumed. 1: without pairs of images, completion codes and rules."""


@dataclass(frozen=True)
class RatedRun:
    """A run whose images are rated."""

    name: str  # the name of its folder, used in exports
    folder: str  # its path relative to the study
    model: str  # the image model
    items_digest: str  # digest of the items of the run
    images: int  # number of rated images
    images_digest: str  # digest of the bytes of these images
    without_image: int  # number of planned images that do not exist and cannot be rated


@dataclass(frozen=True)
class StudyManifest:
    """The settings of a study."""

    protocol: RatingProtocol  # how raters judge
    suite: str  # the benchmark
    raters: int  # number of raters
    per_image: int  # number of ratings per image
    levels: tuple[int, ...]  # only images of these levels; empty for all
    per_level: int  # number of images per run and level; 0 for all
    checks: float  # minimum share of attention checks
    seed: int  # determines choice, assignment and order; tokens are random
    created: str  # when the study was created, in UTC
    made_with: str  # the version of formalimg
    runs: tuple[RatedRun, ...]  # the rated runs
    borderline: bool = False  # whether images with a borderline score were taken before others; written only if so
    # the random sample of a study that corrects one or several runs; None for others, and then not written
    correction: CorrectionSample | ItemSample | None = None
    imported: str = ""  # where ratings come from that were given elsewhere: file, digest and date; written only if so
    instructions: bool = False  # whether raters first see instructions and practice; written only if so
    # where raters go when they have finished, such as a page of their platform; empty for none
    completion_url: str = ""
    # who is excluded, as stated beforehand; None if no rule was stated, and then not written
    rules: StudyRules | None = None
    # how Likert ratings of an image become a label; empty in other studies, and in those made before there was a
    # choice
    rule: ComplianceRule | Literal[""] = ""
    schema: int = SCHEMA  # the schema version

    @property
    def labels(self) -> int | None:
        """How many images or items were asked for at first, in a study that corrects a judge."""
        return self.correction.labels if self.correction else None

    @property
    def label_rule(self) -> ComplianceRule:
        """How Likert ratings become labels: by their mean in studies that were made when there was no other rule."""
        return self.rule or "mean"


_STORED_NAMES = {
    "per_image": "per_picture",
    "images": "pictures",
    "images_digest": "pictures_digest",
    "without_image": "without_picture",
}
"""Fields that have another name in `study.toml`: stored studies keep the names they were written with."""

_OPTIONAL = {"borderline": bool, "imported": str, "instructions": bool, "completion_url": str, "rule": str}
"""Fields that are written only if they say something."""

_TYPES = {"str": str, "int": int, "float": float, "RatingProtocol": str, "tuple[int, ...]": list}
"""The TOML type of each field type that is written as it is."""


def write_study_manifest(manifest: StudyManifest, folder: Path) -> None:
    """Write `study.toml`."""
    table = asdict(manifest)
    runs = table.pop("runs")
    del table["correction"], table["rules"]
    schema = table.pop("schema")
    for name in _OPTIONAL:
        if not table[name]:
            del table[name]
    lines = [
        "# What people are asked to do. Answers are in ratings.sqlite, which knows links only by their digests:",
        "# a link that is lost is replaced by a new one.",
        *_pairs({"schema": schema, **table}),
    ]
    if manifest.rules is not None:
        lines += ["", *manifest.rules.lines()]
    for run in runs:
        lines += ["", "[[runs]]", *_pairs(run)]
    if manifest.correction is not None:
        lines += ["", *sample_lines(manifest.correction)]
    data = "".join(f"{line}\n" for line in lines).encode()
    if len(data) > MAX_MANIFEST_BYTES:
        raise FormalimgError(f"{MANIFEST_FILE} would have {len(data):,} bytes, too many to be read: draw fewer images")
    atomic_write(folder / MANIFEST_FILE, [data])


def is_study(folder: Path) -> bool:
    """Return whether the folder has the manifest of a study."""
    return (folder / MANIFEST_FILE).is_file()


def read_study_manifest(folder: Path) -> StudyManifest:
    """Read the manifest of a study."""
    path = folder / MANIFEST_FILE
    table = read_manifest_table(path, "study", SCHEMAS, "use the version that made it, or make a new study")
    try:
        plain = _read(StudyManifest, table)
        if plain["protocol"] not in get_args(RatingProtocol):
            raise KeyError("protocol")
        if not isinstance(table.get("runs"), list):
            raise KeyError("runs")
        if not 1 <= plain["raters"] <= MAX_RATERS or not 0 <= plain["checks"] <= 1:  # also refuses NaN
            raise KeyError("raters or checks")
        if not all(type(level) is int for level in plain["levels"]):
            raise KeyError("levels")
        runs = tuple(RatedRun(**_read(RatedRun, run)) for run in table["runs"])
        if any("\0" in run.folder for run in runs):
            raise KeyError("folder")
        optional = {name: table[name] for name in _OPTIONAL if name in table}
        for name, value in optional.items():
            if not isinstance(value, _OPTIONAL[name]):
                raise KeyError(name)
        if not str(optional.get("completion_url") or "https://").startswith(("https://", "http://")):
            raise KeyError("completion_url")
        if optional.get("rule", "mean") not in get_args(ComplianceRule):
            raise KeyError("rule")
        correction = parse_sample(table["correction"]) if "correction" in table else None
        rules = parse_rules(table["rules"]) if "rules" in table else None
        return StudyManifest(
            **{**plain, "levels": tuple(plain["levels"]), "runs": runs, "correction": correction},
            **optional,
            rules=rules,
        )
    except KeyError as error:
        raise FormalimgError(f"{path} is damaged: {error.args[0]} is missing or invalid") from error


def _read(kind: type[StudyManifest] | type[RatedRun], table: object) -> dict[str, Any]:
    found = {}
    for field in fields(kind):
        wanted = _TYPES.get(str(field.type))
        if wanted is None or field.name in _OPTIONAL:
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
    """Settings of a study, as in `create_study`; None, or no runs, where any value is accepted."""

    runs: tuple[Path, ...] = ()  # the folders of the runs
    protocol: RatingProtocol | None = None
    raters: int | None = None
    per_image: int | None = None
    levels: tuple[int, ...] | None = None  # empty for all
    per_level: int | None = None
    checks: float | None = None
    seed: int | None = None
    borderline: bool | None = None
    labels: int | None = None  # number of images drawn to correct the judge, or of items in several runs


_SETTINGS = ("protocol", "raters", "per_image", "levels", "per_level", "checks", "seed", "borderline", "labels")


def require_same_config(folder: Path, manifest: StudyManifest, wanted: StudyConfig) -> None:
    """Refuse to resume a study with other settings."""
    pairs = [(name, getattr(manifest, name), getattr(wanted, name)) for name in _SETTINGS]
    found = [
        f"{name.replace('_', ' ')}: was {_format(old)}, now {_format(new)}"
        for name, old, new in pairs
        if new is not None and new != old
    ]
    there = {str((folder / run.folder).resolve()) for run in manifest.runs}
    requested = {str(run.resolve()) for run in wanted.runs}
    if requested and requested != there:
        found.append(f"runs: was {_format(tuple(sorted(there)))}, now {_format(tuple(sorted(requested)))}")
    if found:
        raise FormalimgError(f"{folder} is a study with other settings ({'; '.join(found)}): choose another folder")


def _format(value: object) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) or "all" if isinstance(value, tuple) else str(value)
