"""Runs as pandas data frames in long form: one row for each image, or one for each part of a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from formalimg._util.installing import import_pandas
from formalimg.human_eval.agreement.judge_agreement import ImageName
from formalimg.runs.reader import Judged
from formalimg.types import RunRecord, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

_IMAGE_COLUMNS = (
    "suite",
    "model",
    "judge",
    "item",
    "level",
    "sample",
    "prompt",
    "passed",
    "score",
    "unscored",
    "detail",
    "seed",
    "cost",
    "tags",
    "image",
    "sha256",
)
_PART_COLUMNS = ("suite", "model", "judge", "item", "level", "sample")
_OF_PART = ("part", "kind", "holds", "part_score", "weight", "about", "reason")


def image_frame(run: RunRecord, labels: Mapping[ImageName, bool] | None = None) -> DataFrame:
    """Return one row per planned image; without a verdict, `passed` is missing and `unscored` says why."""
    pandas = import_pandas()
    frame: DataFrame = pandas.DataFrame([_image_row(run, judged) for judged in run.judged()], columns=[*_IMAGE_COLUMNS])
    # Nullable types: a missing verdict is neither False nor 0.
    frame = frame.astype({"passed": "boolean", "score": "Float64", "cost": "Float64"})
    if labels is not None:
        images = zip(frame["item"], frame["sample"], strict=True)
        frame["label"] = pandas.array([labels.get(ImageName(*image)) for image in images], dtype="boolean")
    return frame


def part_frame(run: RunRecord) -> DataFrame:
    """Return one row for each part of each verdict: a clause, a concept, a question."""
    pandas = import_pandas()
    return pandas.DataFrame([*_part_rows(run)], columns=[*_PART_COLUMNS, *_OF_PART])


def _image_row(run: RunRecord, judged: Judged) -> dict[str, object]:
    manifest, outcome, item = run.manifest, judged.outcome, run.items[judged.outcome.item]
    return {
        "suite": manifest.suite,
        "model": manifest.model.name,
        "judge": manifest.judge.name if manifest.judge else None,
        "item": outcome.item,
        "level": outcome.level,
        "sample": outcome.sample,
        "prompt": item.prompt,
        "passed": outcome.passed,
        "score": outcome.score,
        "unscored": outcome.reason,
        "detail": outcome.detail,
        "seed": judged.seed,
        "cost": judged.verdict.cost,
        "tags": ", ".join(item.tags),
        "image": None if judged.image is None else str(judged.image),
        "sha256": judged.sha256,
    }


def _part_rows(run: RunRecord) -> Iterator[dict[str, object]]:
    for judged in run.judged():
        if not isinstance(judged.verdict, Verdict) or not judged.verdict.parts:
            continue
        image = _image_row(run, judged)
        shared = {name: image[name] for name in _PART_COLUMNS}
        for part in judged.verdict.parts:
            yield {
                **shared,
                "part": part.name,
                "kind": part.kind,
                "holds": part.score >= 1,
                "part_score": part.score,
                "weight": part.weight,
                "about": ", ".join(part.about),
                "reason": part.reason,
            }
