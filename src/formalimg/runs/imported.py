"""Runs without images: verdicts that follow from answers which were given elsewhere, stored like those of any judge.

Nothing of such a run can be generated or judged again, because its images are not here. Everything that reads verdicts
goes on as always. An image that is not here has a digest made of its name, by which the verdicts of several judges on
it are found together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.odd_records import count_odd, odd_text
from formalimg.errors import FormalimgError
from formalimg.runs.database import ImageRow, verdict_row
from formalimg.runs.image_store import image_name
from formalimg.runs.manifest import MANIFEST_FILE, Identity, RunManifest, read_manifest, utc_now
from formalimg.runs.messages import ImageToJudge, JudgeResult, PlannedImage, StoredImage
from formalimg.runs.plan import image_seed, question_key
from formalimg.runs.store import RunStore
from formalimg.types import Item, Unscored, Verdict


class ImportedImage(NamedTuple):
    """An image that is not here."""

    item: Item[object]  # the item
    sample: int  # the number of the image among those of the item, from 0
    model: str  # the image model that made it
    # the number of the image among those of the item by this model: other than `sample` in a run of several models
    model_sample: int = 0


def write_imported_run(
    folder: Path,
    model: Identity,
    judge: Identity,
    images: Sequence[ImportedImage],
    verdicts: Iterable[Verdict | Unscored],
    source: str,
    made_with: str,
) -> None:
    """Write verdicts that were made elsewhere to a run folder; a second judge of the same images may be added."""
    items = {image.item.id: image.item for image in images}
    first = images[0].item
    manifest = RunManifest(
        suite=first.suite,
        suite_version=first.version,
        items_digest="",
        model=model,
        judge=None,
        samples=1 + max(image.sample for image in images),
        seed=0,
        size=0,
        created=utc_now(),
        made_with=made_with,
        odd=odd_text(count_odd(item.tags for item in items.values())),
        imported=source,
    )
    if (folder / MANIFEST_FILE).exists():
        stored = read_manifest(folder)
        if not stored.imported:
            raise FormalimgError(f"{folder} holds a run with images: choose another folder for what is imported")
        known = stored.imported.split("; ")
        manifest = replace(
            manifest, created=stored.created, imported="; ".join(known if source in known else [*known, source])
        )
    questions = {item.id: question_key(item) for item in items.values()}
    planned = []
    for image in images:
        seed = image_seed(0, image.item, image.sample)
        planned.append(PlannedImage(image.item, image.sample, _image_digest(image), seed, questions[image.item.id]))
    with RunStore(folder, manifest) as store:
        store.plan(dict(enumerate(items.values())), planned, manifest)
        store.record_images((it, _image_row(it, image), 0.0) for it, image in zip(planned, images, strict=True))
        store.begin_judging(judge)
        store.record_verdicts(
            JudgeResult(
                ImageToJudge(it.item, it.question, StoredImage(image_name(it.item.id, it.sample, b""), it.key)),
                verdict_row(verdict),
                0.0,
            )
            for it, verdict in zip(planned, verdicts, strict=True)
        )


def _image_digest(image: ImportedImage) -> str:
    """Return the digest of an image that is not here: the same for every judge, another for every image."""
    name = ["imported image", image.item.suite, image.model, image.item.id, image.model_sample]
    return hashlib.sha256(json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _image_row(planned: PlannedImage, image: ImportedImage) -> ImageRow:
    served = json.dumps({"model": image.model, "model_sample": image.model_sample}, ensure_ascii=False)
    return ImageRow("made", "", image_name(planned.item.id, planned.sample, b""), planned.key, 0, served=served)
