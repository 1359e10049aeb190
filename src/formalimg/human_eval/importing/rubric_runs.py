"""Import of external rubric verdicts as runs; each combination of judge and temperature becomes a judge of the run.

A table (CSV, TSV, JSON Lines or JSON) has `model`, `item`, `judge`, a column for each criterion from 1 to 5, and
optionally `sample`, `temperature`, `note` and `error`. Other names for the same are known (`RUBRIC_NAMES`). `N/A` is a
criterion that does not apply.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from formalimg._util.record_files import TableRecord, read_table
from formalimg._util.text import truncate
from formalimg.benchmarks.record import free_name
from formalimg.errors import FormalimgError
from formalimg.human_eval.importing.answers import (
    ANSWER_NAMES,
    ImportedRun,
    ImportedRuns,
    describe_source,
    file_mark,
    find_item,
    read_name,
    read_sample,
    split_by_model,
)
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult
from formalimg.models.folder.file_matching import is_any_image
from formalimg.runs.config import RunConfig, run_name
from formalimg.runs.execution import execute
from formalimg.runs.manifest import Identity
from formalimg.runs.records import ImportedImage, write_imported_run
from formalimg.types import Item, Part, Setting, Unscored, Verdict

RUBRIC_NAMES = {
    "model": (*ANSWER_NAMES["model"], "model_id"),
    "item": ANSWER_NAMES["item"],
    "sample": ANSWER_NAMES["sample"],
    "judge": ("judge", "judge_id", "judge_model", "rater", "rater_id"),
    "temperature": ("temperature", "judge_temp", "judge_temperature"),
    "note": ("note", "notes", "comment", "rationale", "reason"),
    "error": ("error", "judge_error"),
}
"""The names under which each field is found, the first that is there."""

LEAST, MOST = 1, 5  # The scale of a criterion
PASS_FROM = 4  # An image passes if each criterion that applies has this rating or a higher one
NOT_APPLICABLE = ("n/a", "na", "not applicable", "-", "–")
_MODEL = "imported"
_MAX_CRITERIA, _MAX_ROWS = 50, 500_000
_MAX_NOTE = 2_000

_ImageKey: TypeAlias = tuple[str, str, int]  # An image by the model, the item and the sample


class RubricVerdict(NamedTuple):
    """A rubric verdict as recorded in a file."""

    model: str  # the image; the model is empty if the file names none
    item: str
    sample: int
    judge: str  # who judged, and at which `temperature`; empty if the file does not say
    temperature: str
    # by criterion; None for one that does not apply. A criterion without a rating is missing
    ratings: Mapping[str, int | None]
    note: str  # what the judge wrote
    error: str  # why there are no ratings, if the file says so


@dataclass(frozen=True)
class RubricTable:
    """The rubric verdicts in a file."""

    path: Path  # the file
    criteria: tuple[str, ...]  # the criteria, in the order of the columns
    verdicts: tuple[RubricVerdict, ...]  # the verdicts; of several by one judge on one image, the last
    skipped: int  # how many records could not be read
    repeated: int  # how many verdicts were replaced by a later one


def read_rubrics(path: str | Path, criteria: Sequence[str] = ()) -> RubricTable:
    """Read rubric verdicts from a file."""
    path = Path(path)
    unread: list[str] = []
    rows = read_table(path, lambda position, reason: unread.append(position))
    if len(rows) > _MAX_ROWS:
        raise FormalimgError(f"{path} has more than {_MAX_ROWS:,} verdicts: split it")
    columns = tuple(dict.fromkeys(name for row in rows for name in row.fields))
    names = tuple(criteria) or tuple(column for column in columns if _is_criterion(column, rows))
    absent = next((name for name in names if name not in columns), None)
    if absent is not None:
        raise FormalimgError(f"{path} has no column {absent!r}: it has {truncate(', '.join(columns), 200, 50)}")
    if not 0 < len(names) <= _MAX_CRITERIA:
        raise FormalimgError(
            f"{path} has no columns of ratings from {LEAST} to {MOST}, or more than {_MAX_CRITERIA}: name them with "
            "--criteria"
        )
    parsed = [verdict for row in rows if (verdict := _parse_verdict(row, names)) is not None]
    verdicts = {verdict[:5]: verdict for verdict in parsed}
    if not verdicts:
        raise FormalimgError(f"{path} holds no verdicts: give a table with model, item, judge and criteria")
    skipped = len(unread) + len(rows) - len(parsed)
    return RubricTable(path, names, tuple(verdicts.values()), skipped, len(parsed) - len(verdicts))


def read_rating(value: object) -> int | str | None:
    """Parse a rating: None if the criterion does not apply, the original text if invalid, empty if missing."""
    text = " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
    if text.lower() in NOT_APPLICABLE:
        return None
    number = text.removesuffix(".0")
    is_rating = number.isascii() and number.isdigit() and len(number) == 1 and LEAST <= int(number) <= MOST
    return int(number) if is_rating else text


def _is_criterion(column: str, rows: Sequence[TableRecord]) -> bool:
    if any(column in names for names in RUBRIC_NAMES.values()):
        return False
    ratings = [read_rating(row.fields.get(column)) for row in rows]
    has_text = any(isinstance(rating, str) and rating for rating in ratings)
    return not has_text and any(isinstance(rating, int) for rating in ratings)


def _parse_verdict(row: TableRecord, criteria: Sequence[str]) -> RubricVerdict | None:
    item, judge = row.text(RUBRIC_NAMES["item"]), read_name(row, RUBRIC_NAMES["judge"])
    sample = read_sample(row, RUBRIC_NAMES["sample"])
    if not item or not judge or sample is None:
        return None
    ratings = {name: read_rating(row.fields.get(name)) for name in criteria}
    texts = {name: value for name, value in ratings.items() if isinstance(value, str) and value}
    reason = "; ".join(f"the rating of {name} is {truncate(value, 40, 10)}" for name, value in texts.items())
    return RubricVerdict(
        read_name(row, RUBRIC_NAMES["model"]),
        item,
        sample,
        judge,
        row.text(RUBRIC_NAMES["temperature"]),
        {name: value for name, value in ratings.items() if not isinstance(value, str)},
        truncate(row.text(RUBRIC_NAMES["note"]), _MAX_NOTE, 0),
        truncate(row.text(RUBRIC_NAMES["error"]), 200, 20) or reason,
    )


def rubric_verdict(rubric: RubricVerdict | None, criteria: Sequence[str]) -> Verdict | Unscored:
    """Compute the verdict from ratings, ignoring criteria that do not apply."""
    if rubric is None:
        return Unscored("judge failed", "the file has no verdict of this judge on this image")
    evidence = {"explanation": rubric.note} if rubric.note else {}
    missing = next((name for name in criteria if name not in rubric.ratings), None)
    if missing is not None:
        return Unscored("judge failed", rubric.error or f"there is no rating of {missing}", evidence)
    ratings = {name: rating for name, rating in rubric.ratings.items() if rating is not None}
    if not ratings:
        return Unscored("not understood", "no criterion applies", evidence)
    parts = tuple(
        Part(name, name, (rating - LEAST) / (MOST - LEAST), reason=f"{rating} of {MOST}")
        for name, rating in ratings.items()
    )
    return Verdict(all(rating >= PASS_FROM for rating in ratings.values()), parts, evidence)


def import_rubrics(
    table: RubricTable,
    items: Sequence[Item[object]],
    out: Path,
    *,
    images: Path | None = None,
    together: bool = False,
    made_with: str = "",
) -> ImportedRuns:
    """Write the runs created from rubric verdicts, one per image model or a single run for all."""
    by_id = {item.id: item for item in items}
    positions = {id_: position for position, id_ in enumerate(by_id)}
    by_judge: dict[tuple[str, str], dict[_ImageKey, RubricVerdict]] = {}
    unknown = 0
    for verdict in table.verdicts:
        item = find_item(verdict.item, by_id)
        if item not in by_id:
            unknown += 1
            continue
        by_image = by_judge.setdefault((verdict.judge, verdict.temperature), {})
        by_image[verdict.model or _MODEL, item, verdict.sample] = verdict
    keys = {key for by_image in by_judge.values() for key in by_image}
    if not keys:
        raise FormalimgError(f"{table.path} is about none of these items: give the items it is about with --items")
    ordered = sorted(keys, key=lambda key: (key[0], positions[key[1]], key[2]))
    files = None if images is None else {key: _find_file(images, *key) for key in ordered}
    placed = [ImportedImage(by_id[item], sample, model, sample) for model, item, sample in ordered]
    runs = []
    for model, settings, of_run in split_by_model(placed, together=together):
        folder = out / run_name(of_run[0].item.suite, "all-models" if together else model)
        run_keys = [(image.model, image.item.id, image.model_sample) for image in of_run]
        sources = None if files is None else [files[key] for key in run_keys]
        scored = 0
        for (name, temperature), by_image in by_judge.items():
            if any(key in by_image for key in run_keys):
                verdicts = [rubric_verdict(by_image.get(key), table.criteria) for key in run_keys]
                at: dict[str, Setting] = {"temperature": temperature} if temperature else {}
                judge = Identity(name, {**at, "imported_from": file_mark(table.path)})
                identity = Identity(model, settings)
                _write_run(folder, identity, judge, of_run, sources, verdicts, table.path, made_with)
                scored = max(scored, sum(isinstance(verdict, Verdict) for verdict in verdicts))
        runs.append(ImportedRun(folder, model, len(of_run), scored))
    counts = {
        "verdicts are about items that are not there, and were left out": unknown,
        "records could not be read, and were left out": table.skipped,
        "verdicts were replaced by a later one of the same judge and image": table.repeated,
    }
    notes = [f"{count:,} {reason}" for reason, count in counts.items() if count]
    return ImportedRuns(tuple(runs), (*notes, f"criteria from {LEAST} to {MOST}: {', '.join(table.criteria)}"))


def _write_run(
    folder: Path,
    model: Identity,
    judge: Identity,
    images: Sequence[ImportedImage],
    files: Sequence[Path] | None,
    verdicts: Sequence[Verdict | Unscored],
    path: Path,
    made_with: str,
) -> None:
    if files is None:
        write_imported_run(folder, model, judge, images, verdicts, describe_source(path), made_with)
        return
    by_file = {(image.item.id, image.sample): file for image, file in zip(images, files, strict=True)}
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    keys = [(image.item.id, digest) for image, digest in zip(images, digests, strict=True)]
    rubric = _RubricJudge(judge.name, judge.settings, dict(zip(keys, verdicts, strict=True)))
    items = list({image.item.id: image.item for image in images}.values())
    samples = 1 + max(image.sample for image in images)
    server = _RatedImages(model.name, {**model.settings, "imported": True}, by_file)
    execute(RunConfig(items, server, samples=samples, made_with=made_with), folder, rubric)


@dataclass(frozen=True)
class _RatedImages:
    """An image model that returns existing images from files."""

    name: str
    settings: Mapping[str, Setting]
    files: Mapping[tuple[str, int], Path]  # by item and sample
    batch: int = 1
    concurrency: int = 4
    sees_spec: bool = False
    style: str = "none"

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        for request in requests:
            path = self.files.get((request.item, request.sample))
            if path is None:
                yield Failed("there are fewer images of this item", absent=True)
                continue
            yield Generated(await asyncio.to_thread(path.read_bytes), {"file": path.name})


@dataclass(frozen=True)
class _RubricJudge:
    """A judge that returns verdicts from a file."""

    name: str  # the judge in the file
    settings: Mapping[str, Setting]  # the temperature, and the file
    verdicts: Mapping[tuple[str, str], Verdict | Unscored]  # by item and digest of the image
    concurrency: int = 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        verdict = self.verdicts.get((item.id, hashlib.sha256(image.data).hexdigest()))
        return verdict if verdict is not None else Unscored("judge failed", "the file has no verdict on this image")


def _find_file(folder: Path, model: str, item: str, sample: int) -> Path:
    short = model.rpartition("/")[2]
    stems = [f"{item}-{sample}", f"{item}_{sample}", *([item] if sample == 0 else [])]
    for name in dict.fromkeys((short, free_name(model, ()))):
        if name == ".." or not (folder / name).is_dir():
            continue
        files = {path.stem: path for path in sorted((folder / name).iterdir())}
        file = next((files[stem] for stem in stems if stem in files and is_any_image(files[stem].name)), None)
        if file is not None:
            return file
    raise FormalimgError(
        f"there is no image {folder / short / item}.png: name the folder that has a folder of each model"
    )
