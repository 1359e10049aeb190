"""Labels of images from a study or a file of ratings: one for each image, to correct the rates of a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from formalimg.human_eval.agreement.boxes import BoxStudy
from formalimg.human_eval.agreement.image_labels import DrawnBy, RunLabels, labels_of_ratings, refuse_labels
from formalimg.human_eval.agreement.judge_agreement import ImageName
from formalimg.human_eval.agreement.preferences import PreferenceStudy
from formalimg.human_eval.agreement.studies import HumanStudy, study_human_ratings
from formalimg.human_eval.correction_sample import CorrectionSample
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest
from formalimg.human_eval.protocol import PASSING_SCORE, RatingProtocol
from formalimg.human_eval.ratings import human_ratings
from formalimg.human_eval.records import RatedTask, StudyRecord
from formalimg.human_eval.study_export import summarize_raters
from formalimg.runs.reader import StoredRun
from formalimg.stats.agreement import complies, majority

_DRAW = "draw a study with `formalimg annotate --for-correction`"
_BORDERLINE = "{study} has images of borderline scores, which stand for no others: " + _DRAW
_PREFERENCES = "{study} compares images in pairs, which labels none of them: " + _DRAW
_BOXES = "{study} has corrected boxes, which are no labels of whole images: " + _DRAW


def human_labels(
    path: str | Path,
    runs: Sequence[StoredRun],
    exclude_inattentive: float | None = None,
    profile: Literal["paper", "official-code"] = "paper",
    studied: HumanStudy | None = None,
) -> dict[Path, RunLabels]:
    """Return one label for each image that people rated, by the resolved folders of the runs.

    Images of a study are a random sample of their runs, unless those with borderline scores were taken first: then the
    labels are refused. Of a file this is unknown.
    """
    place = Path(path)
    ratings = human_ratings(place, runs, exclude_inattentive)
    found = study_human_ratings(ratings, runs, profile=profile) if studied is None else studied
    is_folder = place.is_dir()
    if isinstance(found, BoxStudy | PreferenceStudy):
        why = _BOXES if isinstance(found, BoxStudy) else _PREFERENCES
        return {run.folder.resolve(): RunLabels(str(place), refused=why.format(study=place)) for run in runs}
    labels = labels_of_ratings(str(place), ratings, found, runs)
    if not is_folder:
        return labels
    manifest = read_study_manifest(place)
    if manifest.borderline:
        return refuse_labels(labels, _BORDERLINE.format(study=place))
    by_item = not isinstance(manifest.correction, CorrectionSample) and not manifest.imported
    others = sorted({rated.name for rated in manifest.runs} - {run.folder.resolve().name for run in runs})
    note = (f"{place} labels {', '.join(others)} as well, which this report is not about.",) if others else ()
    return {
        folder: replace(
            own, assumed=False, drawn_by=_drawn_by(manifest), drawn_by_item=by_item, notes=(*own.notes, *note)
        )
        for folder, own in labels.items()
    }


def _drawn_by(manifest: StudyManifest) -> DrawnBy | None:
    sample = manifest.correction
    if not isinstance(sample, CorrectionSample):
        return None
    return DrawnBy(
        sample.judge,
        {ImageName(it.item, it.sample): it.judge for it in sample.images},
        sum(cell.images for cell in sample.cells),
    )


def image_labels(study: StudyRecord) -> Mapping[tuple[str, str, int], bool]:
    """Return the label of each image whose ratings are all there, by run, item and sample; none for ties.

    By scores, a mean of half or more passes. Raters whom the rules of the study exclude do not count.
    """
    manifest = study.manifest
    excluded = {rater.rater for rater in summarize_raters(study) if rater.excluded}
    by_image: dict[tuple[str, str, int], list[RatedTask]] = {}
    for task in study.tasks:
        if not task.is_check and task.rater not in excluded:
            by_image.setdefault((task.run, task.item, task.sample), []).append(task)
    labels = {
        image: _label([given for task in own if (given := _answer(task, manifest.protocol)) is not None], manifest)
        for image, own in by_image.items()
        if all(task.finished for task in own)
    }
    return {image: label for image, label in labels.items() if label is not None}


def _answer(task: RatedTask, protocol: RatingProtocol) -> float | None:
    """Return the answer about the image as a whole; of scores, their mean; None if the rater cannot tell."""
    given = [answer.value for answer in task.answers.values() if isinstance(answer.value, int | float)]
    first = task.answers[task.steps[0].name].value
    if not given or (protocol != "scores" and isinstance(first, str)):
        return None
    return fmean(given) if protocol == "scores" or not isinstance(first, int | float) else first


def _label(answers: Sequence[float], manifest: StudyManifest) -> bool | None:
    if not answers:
        return None
    if manifest.protocol == "likert":
        return complies([int(points) for points in answers], manifest.label_rule)
    if manifest.protocol == "scores":
        return fmean(answers) >= PASSING_SCORE
    return majority(bool(answer) for answer in answers)
