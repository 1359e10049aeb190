"""Rubric verdicts of other judges become runs: each judge, and each temperature, is a judge of the run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.record import free_name
from formalimg.errors import FormalimgError
from formalimg.human_eval.importing.answer_files import find_item
from formalimg.human_eval.importing.answer_runs import ImportedRun, ImportedRuns
from formalimg.human_eval.importing.file_source import describe_source, file_mark
from formalimg.human_eval.importing.rubric_tables import LEAST, MOST, RubricTable, RubricVerdict
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult
from formalimg.models.folder.file_matching import is_any_image
from formalimg.runs.config import RunConfig, run_name
from formalimg.runs.execution import execute
from formalimg.runs.manifest import Identity
from formalimg.runs.records import ImportedImage, write_imported_run
from formalimg.types import Item, Part, Setting, Unscored, Verdict

PASS_FROM = 4
"""An image passes if each criterion that applies has this rating or a higher one."""

_MODEL = "imported"


class _ImageName(NamedTuple):
    model: str
    item: str
    sample: int


class _JudgeName(NamedTuple):
    name: str
    temperature: str

    def identity(self, path: Path) -> Identity:
        temperature: dict[str, Setting] = {"temperature": self.temperature} if self.temperature else {}
        return Identity(self.name, {**temperature, "imported_from": file_mark(path)})


def rubric_verdict(given: RubricVerdict | None, criteria: Sequence[str]) -> Verdict | Unscored:
    """Return the verdict that ratings make; a criterion that does not apply is no part of it."""
    if given is None:
        return Unscored("judge failed", "the file has no verdict of this judge on this image")
    evidence = {"explanation": given.note} if given.note else {}
    missing = next((name for name in criteria if name not in given.ratings), None)
    if missing is not None:
        return Unscored("judge failed", given.error or f"there is no rating of {missing}", evidence)
    rated = {name: rating for name, rating in given.ratings.items() if rating is not None}
    if not rated:
        return Unscored("not understood", "no criterion applies", evidence)
    parts = tuple(
        Part(name, name, (rating - LEAST) / (MOST - LEAST), reason=f"{rating} of {MOST}")
        for name, rating in rated.items()
    )
    return Verdict(all(rating >= PASS_FROM for rating in rated.values()), parts, evidence)


def import_rubrics(
    table: RubricTable,
    items: Sequence[Item[object]],
    out: Path,
    *,
    images: Path | None = None,
    together: bool = False,
    made_with: str = "",
) -> ImportedRuns:
    """Write the runs that rubric verdicts make, one for each image model or one of all."""
    known = {item.id: item for item in items}
    verdicts: dict[_JudgeName, dict[_ImageName, RubricVerdict]] = {}
    left_out = 0
    for given in table.verdicts:
        item = find_item(given.item, known)
        if item not in known:
            left_out += 1
            continue
        by_image = verdicts.setdefault(_JudgeName(given.judge, given.temperature), {})
        by_image[_ImageName(given.model or _MODEL, item, given.sample)] = given
    places = {item: place for place, item in enumerate(known)}
    names = sorted(
        {name for by_image in verdicts.values() for name in by_image},
        key=lambda name: (name.model, places[name.item], name.sample),
    )
    if not names:
        raise FormalimgError(f"{table.path} is about none of these items: give the items it is about with --items")
    files = None if images is None else {name: _find_file(images, name) for name in names}
    made = []
    for model, settings, placed in _runs(names, known, together=together):
        folder = out / run_name(placed[0].item.suite, "all-models" if together else model)
        own = [_ImageName(image.model, image.item.id, image.model_sample) for image in placed]
        sources = None if files is None else [files[name] for name in own]
        scored = 0
        for judge, by_image in verdicts.items():
            found = [rubric_verdict(by_image.get(name), table.criteria) for name in own]
            if any(name in by_image for name in own):
                by = judge.identity(table.path)
                _write(folder, Identity(model, settings), by, placed, sources, found, table.path, made_with)
                scored = max(scored, sum(isinstance(verdict, Verdict) for verdict in found))
        made.append(ImportedRun(folder, model, len(placed), scored))
    return ImportedRuns(tuple(made), tuple(_notes(table, left_out)))


def _write(
    folder: Path,
    model: Identity,
    judge: Identity,
    images: Sequence[ImportedImage],
    files: Sequence[Path] | None,
    verdicts: Sequence[Verdict | Unscored],
    path: Path,
    made_with: str,
) -> None:
    """Write the verdicts of one judge to a run folder, with the images if there are files of them."""
    if files is None:
        write_imported_run(folder, model, judge, images, verdicts, describe_source(path), made_with)
        return
    by_file = {(image.item.id, image.sample): file for image, file in zip(images, files, strict=True)}
    keys = [(image.item.id, _digest(file)) for image, file in zip(images, files, strict=True)]
    rubric = RubricJudge(judge, dict(zip(keys, verdicts, strict=True)))
    items = list({image.item.id: image.item for image in images}.values())
    samples = 1 + max(image.sample for image in images)
    served = RatedImages(model.name, model.settings, by_file)
    execute(RunConfig(items, served, samples=samples, made_with=made_with), folder, rubric)


def _notes(table: RubricTable, left_out: int) -> Iterator[str]:
    counts = {
        "verdicts are about items that are not there, and were left out": left_out,
        "records could not be read, and were left out": table.skipped,
        "verdicts were replaced by a later one of the same judge and image": table.repeated,
    }
    yield from (f"{count:,} {why}" for why, count in counts.items() if count)
    yield f"criteria from {LEAST} to {MOST}: {', '.join(table.criteria)}"


class RatedImages:
    """An image model that serves the images that were judged elsewhere.

    Attributes:
        name, settings, batch, concurrency, sees_spec, style: as for every image model.
    """

    batch = 1
    concurrency = 4
    sees_spec = False
    style = "none"

    def __init__(self, name: str, settings: Mapping[str, Setting], files: Mapping[tuple[str, int], Path]) -> None:
        self.name = name
        self.settings: Mapping[str, Setting] = {**settings, "imported": True}
        self._files = files

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield the images as they are, one result per request."""
        for request in requests:
            path = self._files.get((request.item, request.sample))
            if path is None:
                yield Failed("there are fewer images of this item", absent=True)
                continue
            yield Generated(await asyncio.to_thread(path.read_bytes), {"file": path.name})


@dataclass(frozen=True)
class RubricJudge:
    """A judge that gives the verdicts of a file."""

    identity: Identity  # who gave them
    verdicts: Mapping[tuple[str, str], Verdict | Unscored]  # by item and digest of the image
    concurrency: int = 1

    @property
    def name(self) -> str:
        """The name of the judge in the file."""
        return self.identity.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The temperature, and the file."""
        return self.identity.settings

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Return the verdict of the file on this image."""
        found = self.verdicts.get((item.id, hashlib.sha256(image.data).hexdigest()))
        return found if found is not None else Unscored("judge failed", "the file has no verdict on this image")


def _runs(
    names: Sequence[_ImageName], items: Mapping[str, Item[object]], *, together: bool
) -> list[tuple[str, dict[str, Setting], list[ImportedImage]]]:
    """Return the image model of each run, its settings and its images."""
    by_model: dict[str, list[ImportedImage]] = {}
    for name in names:
        image = ImportedImage(items[name.item], name.sample, name.model, name.sample)
        by_model.setdefault(name.model, []).append(image)
    if not together:
        return [(model, {}, images) for model, images in by_model.items()]
    pairs = sorted({(name.model, name.sample) for name in names})
    images = [
        image._replace(sample=pairs.index((image.model, image.model_sample)))
        for own in by_model.values()
        for image in own
    ]
    settings: dict[str, Setting] = {"models": ", ".join(by_model)[:500]}
    return [(f"{len(by_model)} models together", settings, images)]


def _find_file(folder: Path, name: _ImageName) -> Path:
    """Return the file of an image: in a folder that is called like the model, with or without its provider."""
    short = name.model.rpartition("/")[2]
    stems = [f"{name.item}-{name.sample}", f"{name.item}_{name.sample}", *([name.item] if name.sample == 0 else [])]
    for model in dict.fromkeys((short, free_name(name.model, ()))):
        place = folder / model
        listed = {path.stem: path for path in sorted(place.iterdir())} if model != ".." and place.is_dir() else {}
        found = next((listed[stem] for stem in stems if stem in listed and is_any_image(listed[stem].name)), None)
        if found is not None:
            return found
    raise FormalimgError(
        f"there is no image {folder / short / name.item}.png: name the folder that has a folder of each model"
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
