"""Runs as pandas data frames: one row for each image, for each part of a verdict, or for each pair of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from formalimg._util.installing import import_pandas
from formalimg.human_eval.agreement.judge_agreement import ImageName
from formalimg.runs.reader import Judged
from formalimg.types import RunRecord, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

    from formalimg.reports.comparison_model import Comparison

_SHARED_COLUMNS = ("suite", "model", "judge", "item", "level", "sample")
_IMAGE_COLUMNS = ("prompt", "passed", "score", "unscored", "detail", "seed", "cost", "tags", "image", "sha256")
_PART_COLUMNS = ("part", "kind", "holds", "part_score", "weight", "about", "reason")
_PAIR_COLUMNS = (
    *("suite", "first", "second", "number", "by", "difference", "low", "high"),
    *("p", "adjusted_p", "is_certain", "items", "judge_difference"),
)


def image_frame(run: RunRecord, labels: Mapping[ImageName, bool] | None = None) -> DataFrame:
    """Return one row per planned image; without a verdict, `passed` is missing and `unscored` says why."""
    rows = []
    for judged in run.judged():
        outcome, item = judged.outcome, run.items[judged.outcome.item]
        verdict = (outcome.passed, outcome.score, outcome.reason, outcome.detail, judged.seed, judged.verdict.cost)
        image = None if judged.image is None else str(judged.image)
        row = (*_shared_cells(run, judged), item.prompt, *verdict, ", ".join(item.tags), image, judged.sha256)
        rows.append(row)
    pandas = import_pandas()
    frame: DataFrame = pandas.DataFrame(rows, columns=[*_SHARED_COLUMNS, *_IMAGE_COLUMNS])
    # Nullable types: a missing verdict is neither False nor 0.
    frame = frame.astype({"passed": "boolean", "score": "Float64", "cost": "Float64"})
    if labels is not None:
        images = zip(frame["item"], frame["sample"], strict=True)
        frame["label"] = pandas.array([labels.get(ImageName(*image)) for image in images], dtype="boolean")
    return frame


def part_frame(run: RunRecord) -> DataFrame:
    """Return one row for each part of each verdict: a clause, a concept, a question."""
    rows = [
        (
            *_shared_cells(run, judged),
            *(part.name, part.kind, part.score >= 1, part.score, part.weight, ", ".join(part.about), part.reason),
        )
        for judged in run.judged()
        if isinstance(judged.verdict, Verdict)
        for part in judged.verdict.parts
    ]
    frame: DataFrame = import_pandas().DataFrame(rows, columns=[*_SHARED_COLUMNS, *_PART_COLUMNS])
    return frame


def pair_frame(comparison: Comparison) -> DataFrame:
    """Return one row for each pair of runs."""
    rows = []
    for section in comparison.sections:
        for pair in section.pairs:
            difference, judge = pair.found, pair.judge or pair.found
            low, high = difference.interval or (None, None)
            names = (section.suite.name, pair.first, pair.second, pair.number, pair.by)
            tests = (difference.p, difference.adjusted_p, pair.is_certain, difference.items)
            rows.append((*names, difference.estimate, low, high, *tests, judge.estimate))
    frame: DataFrame = import_pandas().DataFrame(rows, columns=[*_PAIR_COLUMNS])
    return frame


def _shared_cells(run: RunRecord, judged: Judged) -> tuple[object, ...]:
    manifest, outcome = run.manifest, judged.outcome
    judge = manifest.judge.name if manifest.judge else None
    return manifest.suite, manifest.model.name, judge, outcome.item, outcome.level, outcome.sample
