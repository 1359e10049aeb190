"""Runs without images: verdicts that follow from answers which were given elsewhere, stored like those of any judge.

Nothing of such a run can be generated or judged again, because its images are not here. Everything that reads verdicts
goes on as always. An image that is not here has a digest made of its name, by which the verdicts of several judges on
it are found together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.judges import Unscored, Verdict
from formalimg.runs.database import ImageRow, verdict_row
from formalimg.runs.image_store import image_name
from formalimg.runs.manifest import MANIFEST_FILE, Identity, RunManifest, read_manifest, utc_now
from formalimg.runs.messages import ImageToJudge, JudgeResult, PlannedImage, StoredImage
from formalimg.runs.plan import image_seed, question_key
from formalimg.runs.store import RunStore
from formalimg.suites import Item, count_odd, odd_text


@dataclass(frozen=True)
class ImportedVerdict:
    """The verdict on an image that is not here.

    Attributes:
        item: the item.
        sample: the number of the image among those of the item, from 0.
        verdict: the verdict, or why there is none.
        model: the image model that made it.
        model_sample: the number of the image among those of the item by this model: other than `sample` in a run of
            several models.
    """

    item: Item[object]
    sample: int
    verdict: Verdict | Unscored
    model: str
    model_sample: int = 0


def write_imported_run(
    folder: Path, model: Identity, judge: Identity, verdicts: Sequence[ImportedVerdict], source: str, made_with: str
) -> None:
    """Write verdicts that were made elsewhere to a run folder; a second judge of the same images may be added.

    Args:
        folder: the run folder.
        model: the image model.
        judge: who gave the answers.
        verdicts: the verdicts on all images of the run.
        source: where they come from, in words: the name of the file, its digest, the date.
        made_with: the version of formalimg.

    Raises:
        LockedError: if another process is writing to the folder.
        FormalimgError: if it holds another run, or one with images.
    """
    items = {one.item.id: one.item for one in verdicts}
    first = verdicts[0].item
    manifest = RunManifest(
        suite=first.suite,
        suite_version=first.version,
        items_digest="",
        model=model,
        judge=None,
        samples=1 + max(one.sample for one in verdicts),
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
    for one in verdicts:
        digest = _image_digest(one)
        planned.append(
            PlannedImage(one.item, one.sample, digest, image_seed(0, one.item, one.sample), questions[one.item.id])
        )
    with RunStore(folder, manifest) as store:
        store.plan(dict(enumerate(items.values())), planned, manifest)
        store.record_images((it, _image_row(it, one), 0.0) for it, one in zip(planned, verdicts, strict=True))
        store.begin_judging(judge)
        store.record_verdicts(
            JudgeResult(
                ImageToJudge(it.item, it.question, StoredImage(image_name(it.item.id, it.sample, b""), it.key)),
                verdict_row(one.verdict),
                0.0,
            )
            for it, one in zip(planned, verdicts, strict=True)
        )


def _image_digest(one: ImportedVerdict) -> str:
    """Return the digest of an image that is not here: the same for every judge, another for every image."""
    name = ["imported image", one.item.suite, one.model, one.item.id, one.model_sample]
    return hashlib.sha256(json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _image_row(planned: PlannedImage, one: ImportedVerdict) -> ImageRow:
    served = json.dumps({"model": one.model, "model_sample": one.model_sample}, ensure_ascii=False)
    return ImageRow("made", "", image_name(planned.item.id, planned.sample, b""), planned.key, 0, served=served)
