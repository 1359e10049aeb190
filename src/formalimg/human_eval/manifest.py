"""The manifest of a rating study, `study.toml`, and the configuration checked against it on resume."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError
from formalimg.human_eval.attention_checks import StudyRules
from formalimg.human_eval.correction import CorrectionSample, ItemSample
from formalimg.human_eval.protocol import RatingProtocol
from formalimg.runs.manifest import MAX_MANIFEST_BYTES, read_manifest_table
from formalimg.stats.agreement import ComplianceRule

MANIFEST_FILE = "study.toml"
SCHEMA = 2  # Schema version of new studies; a larger number means that a later version of formalimg made them
SCHEMAS = (1, SCHEMA)
"""Schema versions that can be read and resumed. 1: without pairs of images, completion codes and rules."""


@dataclass(frozen=True)
class RatedRun:
    """A run whose images are rated in a study."""

    name: str  # the name of its folder, used in exports
    folder: Annotated[str, Field(pattern=r"^[^\x00]*$")]  # its path relative to the study
    model: str  # the image model
    items_digest: str  # digest of the items of the run
    images: Annotated[int, Field(alias="pictures")]  # number of rated images
    images_digest: Annotated[str, Field(alias="pictures_digest")]  # digest of the bytes of these images
    without_image: Annotated[int, Field(alias="without_picture")]  # number of planned images that do not exist


@dataclass(frozen=True)
class StudyManifest:
    """The settings of a study, stored under the field aliases; empty optional fields are omitted."""

    protocol: RatingProtocol  # how raters judge
    suite: str  # the benchmark
    raters: Annotated[int, Field(ge=1, le=100_000)]  # number of raters
    per_image: Annotated[int, Field(alias="per_picture")]  # number of ratings per image
    levels: tuple[int, ...]  # only images of these levels; empty for all
    per_level: int  # number of images per run and level; 0 for all
    checks: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]  # minimum share of attention checks
    seed: int  # determines choice, assignment and order; tokens are random
    created: str  # when the study was created, in UTC
    made_with: str  # the version of formalimg
    runs: tuple[RatedRun, ...]  # the rated runs
    borderline: bool = False  # whether images with a borderline score were taken before others
    correction: CorrectionSample | ItemSample | None = None  # the random sample of a study that corrects runs
    imported: str = ""  # where ratings come from that were given elsewhere: file, digest and date
    instructions: bool = False  # whether raters first see instructions and practice
    # where raters go when they have finished, such as a page of their platform
    completion_url: Annotated[str, Field(pattern="^(https?://|$)")] = ""
    rules: StudyRules | None = None  # who is excluded, as stated beforehand
    # how Likert ratings of an image become a label; empty in other studies, and in those made before there was a
    # choice
    rule: ComplianceRule | Literal[""] = ""
    schema: int = SCHEMA  # the schema version

    @property
    def labels(self) -> int | None:
        """The initial number of images or items to label, in a study that corrects a judge."""
        return self.correction.labels if self.correction else None

    @property
    def label_rule(self) -> ComplianceRule:
        """The rule by which Likert ratings become labels; the mean for studies created before the rule was stored."""
        return self.rule or "mean"


# Fields that are written only if they say something
_OPTIONAL = ("borderline", "imported", "instructions", "completion_url", "rule", "checks_per_rater", "guess_chance")
_RULES_COMMENT = "# Stated before the first answer, and applied by `formalimg agree`, `report --human` and --export."


def write_study_manifest(manifest: StudyManifest, folder: Path) -> None:
    """Write the manifest of a study to `study.toml`."""
    table = _manifest_type().dump_python(manifest, by_alias=True)
    tables = {name: table.pop(name) for name in ("schema", "runs", "correction", "rules")}
    lines = [
        "# What people are asked to do. Answers are in ratings.sqlite, which knows links only by their digests:",
        "# a link that is lost is replaced by a new one.",
        *_format_pairs({"schema": tables["schema"], **table}),
    ]
    if manifest.rules is not None:
        words = [f"# {manifest.rules.in_words()}"] if manifest.rules.checks else []
        lines += ["", _RULES_COMMENT, *words, "[rules]", *_format_pairs(tables["rules"])]
    for run in tables["runs"]:
        lines += ["", "[[runs]]", *_format_pairs(run)]
    if manifest.correction is not None:
        lines += ["", "[correction]", *_format_sample(manifest.correction)]
    data = "".join(f"{line}\n" for line in lines).encode()
    if len(data) > MAX_MANIFEST_BYTES:
        raise FormalimgError(f"{MANIFEST_FILE} would have {len(data):,} bytes, too many to be read: draw fewer images")
    atomic_write(folder / MANIFEST_FILE, [data])


def _format_sample(sample: CorrectionSample | ItemSample) -> list[str]:
    """Format the settings of a sample, followed by one line per cell and image, or per level and item."""
    lines = []
    for name, value in vars(sample).items():
        if isinstance(value, tuple):
            columns = ", ".join(value[0]._fields)
            lines += [f"# {columns}", f"{name} = [", *(f"  {_format_value(row)}," for row in value), "]"]
        else:
            lines += _format_pairs({name: value})
    return lines


def _format_pairs(table: Mapping[str, object]) -> list[str]:
    return [f"{name} = {_format_value(value)}" for name, value in table.items() if value or name not in _OPTIONAL]


def _format_value(value: object) -> str:
    # JSON's strings, numbers and lists are TOML's as well, but for one character.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def is_study(folder: Path) -> bool:
    """Return whether the folder contains a study manifest."""
    return (folder / MANIFEST_FILE).is_file()


def read_study_manifest(folder: Path) -> StudyManifest:
    """Read the manifest of a study."""
    path = folder / MANIFEST_FILE
    table = read_manifest_table(path, "study", SCHEMAS, "use the version that made it, or make a new study")
    try:
        # Dates, which TOML has and JSON has not, become lists, which no field is.
        text = json.dumps(table, default=lambda date: [str(date)])
        manifest = _manifest_type().validate_json(text, strict=True)
        if manifest.rules is not None and not {"max_missed_checks", "min_median_seconds"} <= table["rules"].keys():
            raise FormalimgError("no rule is assumed")
    except (ValidationError, FormalimgError) as error:
        name = error.errors()[0]["loc"][0] if isinstance(error, ValidationError) else "rules"
        raise FormalimgError(f"{path} is damaged: {name} is missing or invalid") from error
    if manifest.correction is not None:
        sample = manifest.correction
        rows = sample.images if isinstance(sample, CorrectionSample) else sample.items
        if not rows or len({row[:2] for row in rows}) < len(rows):
            raise FormalimgError(f"{path} is damaged: correction is missing or invalid")
    return manifest


@cache
def _manifest_type() -> TypeAdapter[StudyManifest]:
    return TypeAdapter(StudyManifest)


@dataclass(frozen=True)
class StudyConfig:
    """Settings of a study, as in `create_study`; None, or an empty `runs`, accepts any value."""

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


def require_same_config(folder: Path, manifest: StudyManifest, config: StudyConfig) -> None:
    """Raise an error if the study was created with other settings."""
    settings = {name: (getattr(manifest, name), value) for name, value in vars(config).items() if name != "runs"}
    if config.runs:
        before = sorted({str((folder / run.folder).resolve()) for run in manifest.runs})
        settings["runs"] = (tuple(before), tuple(sorted({str(run.resolve()) for run in config.runs})))
    differences = [
        f"{name.replace('_', ' ')}: was {_format_setting(old)}, now {_format_setting(new)}"
        for name, (old, new) in settings.items()
        if new is not None and new != old
    ]
    if differences:
        text = "; ".join(differences)
        raise FormalimgError(f"{folder} is a study with other settings ({text}): choose another folder")


def _format_setting(value: object) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) or "all" if isinstance(value, tuple) else str(value)
