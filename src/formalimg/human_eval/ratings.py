"""Human ratings of runs, from a study folder or a CSV file, the image labels that correct a judge, and pilots."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.boxes import BoxCorrection, BoxStudy
from formalimg.human_eval.agreement.image_labels import DrawnBy, RunLabels, labels_of_ratings
from formalimg.human_eval.agreement.preferences import Preference, PreferenceStudy
from formalimg.human_eval.agreement.rated_images import (
    ImageName,
    UnmatchedRowError,
    find_run,
    one_judge,
    require_unique_names,
)
from formalimg.human_eval.agreement.rating_files import (
    CANNOT_TELL,
    LikertRating,
    Rating,
    Vote,
    load_likert_file,
    load_score_file,
    read_votes,
)
from formalimg.human_eval.agreement.studies import HumanRatings, HumanStudy, study_human_ratings
from formalimg.human_eval.agreement.study_tables import RaterAttentionSummary, exclude_inattentive
from formalimg.human_eval.correction import CorrectionSample
from formalimg.human_eval.database import images_digest
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest
from formalimg.human_eval.protocol import PASSING_SCORE
from formalimg.human_eval.records import RatedTask, StudyRecord, read_study, summarize_raters
from formalimg.runs.reader import StoredRun
from formalimg.scenes.scene import Scene
from formalimg.stats.agreement import PASS_RATING, ComplianceRule, complies, majority
from formalimg.stats.variance_components import (
    DEFAULT_SPREAD,
    AnswerSpread,
    BinaryAnswer,
    ItemAnswers,
    estimate_components,
    estimate_correlation,
)


def human_ratings(
    path: str | Path,
    runs: Sequence[StoredRun],
    exclude_inattentive: float | None = None,
    rule: ComplianceRule | None = None,
) -> HumanRatings:
    """Load human ratings from a study folder or a CSV file."""
    path = Path(path)
    if path.is_dir():
        study = read_study(path)
        _require_same_images(study, runs, path)
        names = {run.folder.resolve().name for run in runs}
        study = replace(study, tasks=tuple(task for task in study.tasks if task.runs <= names))
        ratings = _convert_tasks(study, _judge_attention(study, exclude_inattentive))
        return replace(ratings, rule=rule or study.manifest.label_rule)
    if exclude_inattentive is not None:
        raise FormalimgError(f"{path} has no attention checks: name the folder of the study instead")
    return replace(_read_file(path), rule=rule or "majority")


def _judge_attention(study: StudyRecord, max_missed: float | None) -> RaterAttentionSummary:
    raters = summarize_raters(study)
    rules = study.manifest.rules if max_missed is None else None
    if max_missed is not None:
        raters = exclude_inattentive(raters, max_missed)
    elif all(rater.left_out for rater in raters):
        raise FormalimgError(
            "the rules of the study exclude every rater: `formalimg agree --exclude-inattentive 1` counts them all "
            "the same"
        )
    left_out = {rater.rater for rater in raters if rater.left_out}
    unfinished = sum(not task.finished for task in study.tasks if not task.is_check and task.rater not in left_out)
    return RaterAttentionSummary(raters, unfinished, max_missed, rules.in_words() if rules else "")


def _convert_tasks(study: StudyRecord, attention: RaterAttentionSummary) -> HumanRatings:
    left_out = {rater.rater for rater in attention.raters if rater.left_out}
    tasks = [task for task in study.tasks if not task.is_check and task.rater not in left_out]
    finished = [task for task in tasks if task.finished]
    ratings = HumanRatings(attention=attention)
    answers = [
        ((task.run, task.item, task.sample, step.question, task.rater), task.answers[step.name].value)
        for task in finished
        for step in task.steps
    ]
    match study.manifest.protocol:
        case "questions":
            votes = [Vote(*subject, None if value == CANNOT_TELL else value is True, 0) for subject, value in answers]
            return replace(ratings, votes=votes)
        case "scores":
            scores = [Rating(*subject, value, 0) for subject, value in answers if isinstance(value, int | float)]
            return replace(ratings, scores=scores)
        case "likert":
            points = [
                LikertRating(task.run, task.item, task.sample, task.rater, task.points, cannot_tell=task.cannot_tell)
                for task in tasks
            ]
            return replace(ratings, points=points if finished else ())
        case "ab":
            preferences = [
                Preference(task.item, task.sample, task.level, task.run, task.other.run, task.rater, task.preferred)
                for task in finished
                if task.other is not None
            ]
            return replace(ratings, preferences=preferences)
        case "boxes":
            corrections = [
                BoxCorrection(
                    *(task.run, task.item, task.sample, task.level, task.rater),
                    None if task.grounded is None else Scene.from_json(task.grounded),
                    Scene.from_json(task.answers["boxes"].value),
                )
                for task in finished
            ]
            return replace(ratings, corrections=corrections)


def _require_same_images(study: StudyRecord, runs: Sequence[StoredRun], path: Path) -> None:
    by_name = {run.folder.resolve().name: run for run in runs}
    names = [run.name for run in study.manifest.runs]
    if not by_name.keys() & {*names}:
        raise FormalimgError(f"{path} is about {', '.join(names)}: name at least one of these runs")
    tasks = [task for task in study.tasks if not task.is_check]
    for number, rated in enumerate(study.manifest.runs):
        if rated.name not in by_name:
            continue
        made = by_name[rated.name].made()
        images = {(task.item, task.sample) for task in tasks if task.run == rated.name}
        images |= {task.other[1:] for task in tasks if task.other is not None and task.other.run == rated.name}
        if study.manifest.correction is not None:  # an interrupted --more may have named images without tasks
            images = study.manifest.correction.images_of(number)
        digests = ((*image, made[image].sha256 if image in made else "") for image in images)
        if images_digest(digests) != rated.images_digest:
            raise FormalimgError(
                f"the images of {by_name[rated.name].folder} are not those that raters saw in {path}: name the "
                "original run"
            )


def _read_file(path: Path) -> HumanRatings:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            columns = {cell.strip().lower() for cell in next(csv.reader(file), [])}
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormalimgError(f"{path} is not a CSV table in UTF-8: {error}") from error
    kinds = [column for column in ("vote", "score", "rating") if column in columns]
    match kinds:
        case ["vote"]:
            return HumanRatings(votes=read_votes(path))
        case ["score"]:
            return HumanRatings(scores=load_score_file(path).require_valid())
        case ["rating"]:
            return HumanRatings(points=load_likert_file(path).require_valid())
    raise FormalimgError(f"{path} must have one of the columns vote, score or rating, and has {len(kinds)} of them")


_REFUSALS = {  # why ratings of these kinds label no images
    BoxStudy: "has corrected boxes, which are no labels of whole images",
    PreferenceStudy: "compares images in pairs, which labels none of them",
}
_DRAW = "draw a study with `formalimg annotate --for-correction`"


def human_labels(
    path: str | Path,
    runs: Sequence[StoredRun],
    exclude_inattentive: float | None = None,
    profile: Literal["paper", "official-code"] = "paper",
    study: HumanStudy | None = None,
) -> dict[Path, RunLabels]:
    """Load one label per image that people rated, keyed by resolved run folder.

    Images of a study are a random sample of their runs, unless those with borderline scores were taken first: then the
    labels are refused. For a file this is unknown. `study` is the study of these ratings, if it is already available.
    """
    path = Path(path)
    ratings = human_ratings(path, runs, exclude_inattentive)
    study = study_human_ratings(ratings, runs, profile=profile) if study is None else study
    if refusal := _REFUSALS.get(type(study)):
        return {run.folder.resolve(): RunLabels(str(path), refused=f"{path} {refusal}: {_DRAW}") for run in runs}
    by_folder = labels_of_ratings(str(path), ratings, study, runs)
    if not path.is_dir():
        return by_folder
    manifest = read_study_manifest(path)
    if manifest.borderline:
        reason = f"{path} has images of borderline scores, which stand for no others: {_DRAW}"
        return {folder: replace(labels, refused=reason) for folder, labels in by_folder.items()}
    absent = sorted({run.name for run in manifest.runs} - {run.folder.resolve().name for run in runs})
    notes = (f"{path} labels {', '.join(absent)} as well, which this report is not about.",) if absent else ()
    drawn_by, sample = None, manifest.correction
    if isinstance(sample, CorrectionSample):
        verdicts = {ImageName(image.item, image.sample): image.judge for image in sample.images}
        drawn_by = DrawnBy(sample.judge, verdicts, sum(cell.images for cell in sample.cells))
    by_item = drawn_by is None and not manifest.imported
    return {
        folder: replace(labels, assumed=False, drawn_by=drawn_by, drawn_by_item=by_item, notes=(*labels.notes, *notes))
        for folder, labels in by_folder.items()
    }


def image_labels(study: StudyRecord) -> Mapping[tuple[str, str, int], bool]:
    """Return the label of each fully rated image, keyed by run, item and sample; ties are omitted."""
    excluded = {rater.rater for rater in summarize_raters(study) if rater.excluded}
    by_image: dict[tuple[str, str, int], list[RatedTask]] = {}
    for task in study.tasks:
        if not task.is_check and task.rater not in excluded:
            by_image.setdefault((task.run, task.item, task.sample), []).append(task)
    labels = {
        image: _combine_answers(tasks, study.manifest)
        for image, tasks in by_image.items()
        if all(task.finished for task in tasks)
    }
    return {image: label for image, label in labels.items() if label is not None}


def _combine_answers(tasks: Sequence[RatedTask], manifest: StudyManifest) -> bool | None:
    """Combine answers into the label of an image, using the mean for scores and the whole-image answer otherwise."""
    answers: list[float] = []
    for task in tasks:
        numbers = [answer.value for answer in task.answers.values() if isinstance(answer.value, int | float)]
        if manifest.protocol == "scores":
            answers += [fmean(numbers)] if numbers else []
        elif isinstance(first := task.answers[task.steps[0].name].value, int | float):
            answers.append(first)
    if not answers:
        return None
    if manifest.protocol == "likert":
        return complies([int(points) for points in answers], manifest.label_rule)
    if manifest.protocol == "scores":
        return fmean(answers) >= PASSING_SCORE
    return majority(bool(answer) for answer in answers)


def read_pilot(suite: str, runs: Sequence[StoredRun], study: Path | None = None) -> AnswerSpread:
    """Estimate variance components from two runs, using defaults for anything that was not rated."""
    require_unique_names(runs)
    one_judge(runs)
    prompts: dict[str, tuple[int, str]] = {}
    for run in runs:
        if run.manifest.suite != suite:
            raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: name pilot runs of {suite}")
        for item in run.items.values():
            if prompts.setdefault(item.id, (item.level, item.prompt)) != (item.level, item.prompt):
                raise FormalimgError(
                    f"item {item.id} is not the same in the pilot runs: name two runs over the same items"
                )
    passed: list[dict[str, dict[int, bool]]] = [{} for _ in runs]
    for run, items in zip(runs, passed, strict=True):
        for image in run.outcomes():
            if image.passed is not None:
                items.setdefault(image.item, {})[image.sample] = image.passed
    if all(len(samples) < 2 for items in passed for samples in items.values()):
        raise FormalimgError(
            "the pilot runs have one image per item: make two or more with `formalimg run --samples 2`"
        )
    verdicts: list[ItemAnswers] = [
        {item: [[BinaryAnswer("", float(yes))] for yes in samples.values()] for item, samples in items.items()}
        for items in passed
    ]
    spread = DEFAULT_SPREAD._replace(judge=estimate_components(verdicts, DEFAULT_SPREAD.judge))
    if study is None:
        return spread
    answers = _rater_answers(human_ratings(study, runs), runs, study)
    ratings = [
        {item: [answers.get((number, item, sample), []) for sample in samples] for item, samples in items.items()}
        for number, items in enumerate(passed)
    ]
    spread = spread._replace(people=estimate_components(ratings, DEFAULT_SPREAD.people))
    return spread._replace(correlation=estimate_correlation(verdicts, ratings, spread))


def _rater_answers(
    ratings: HumanRatings, runs: Sequence[StoredRun], study: Path
) -> dict[tuple[int, str, int], list[BinaryAnswer]]:
    rows = [
        (vote.model, vote.item, vote.sample, vote.rater, vote.yes)
        for vote in ratings.votes
        if not vote.question and vote.yes is not None
    ]
    rows += [
        (rating.model, rating.item, rating.sample, rating.rater, rating.points >= PASS_RATING)
        for rating in ratings.points
        if rating.points is not None
    ]
    answers: dict[tuple[int, str, int], list[BinaryAnswer]] = {}
    for model, item, sample, rater, yes in rows:
        try:
            number = runs.index(find_run(model, runs))
        except UnmatchedRowError as error:
            raise FormalimgError(f"{study}: {error}") from None
        answers.setdefault((number, item, sample), []).append(BinaryAnswer(rater, float(yes)))
    if not answers:
        raise FormalimgError(f"{study} has no yes or no about whole images: name a study of votes or Likert ratings")
    return answers
