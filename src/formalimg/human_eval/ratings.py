"""Load human ratings from a study folder or a CSV file, checked against the rated runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.attention import RaterAttention, RaterAttentionSummary, exclude_inattentive
from formalimg.human_eval.agreement.boxes import BoxCorrection
from formalimg.human_eval.agreement.human_ratings import (
    LikertRating,
    Rating,
    Vote,
    read_human_scores,
    read_likert_ratings,
    read_votes,
)
from formalimg.human_eval.agreement.preferences import Preference
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.agreement.studies import HumanRatings
from formalimg.human_eval.database import images_digest
from formalimg.human_eval.pairs import preferred_run
from formalimg.human_eval.protocol import RatingStep
from formalimg.human_eval.records import RatedTask, StudyRecord, read_study
from formalimg.human_eval.study_export import summarize_raters
from formalimg.runs.reader import StoredRun
from formalimg.scenes.scene import Scene
from formalimg.stats.agreement import ComplianceRule


def human_ratings(
    path: str | Path,
    runs: Sequence[StoredRun],
    exclude_inattentive: float | None = None,
    rule: ComplianceRule | None = None,
) -> HumanRatings:
    """Load human ratings."""
    path = Path(path)
    if path.is_dir():
        study = read_study(path)
        _require_same_images(study, runs, path)
        ratings = _from_study(_of_runs(study, runs), _conduct(study, exclude_inattentive))
        return replace(ratings, rule=rule or study.manifest.label_rule)
    if exclude_inattentive is not None:
        raise FormalimgError(f"{path} has no attention checks: name the folder of the study instead")
    return replace(_read(path), rule=rule or "majority")


def _conduct(study: StudyRecord, max_missed: float | None) -> RaterAttentionSummary:
    found = summarize_raters(study)
    raters = tuple(RaterAttention(*it[:7], cannot_tell=it.cannot_tell) for it in found)
    rules = study.manifest.rules if max_missed is None else None
    if max_missed is not None:
        raters = exclude_inattentive(raters, max_missed)
    elif rules is not None:
        raters = tuple(
            it._replace(left_out=bool(own.excluded), reason=own.excluded) for it, own in zip(raters, found, strict=True)
        )
        if all(it.left_out for it in raters):
            raise FormalimgError(
                "the rules of the study exclude every rater: `formalimg agree --exclude-inattentive 1` counts them all "
                "the same"
            )
    left_out = {it.rater for it in raters if it.left_out}
    counted = [task for task in study.tasks if not task.is_check and task.rater not in left_out]
    unfinished = sum(not task.finished for task in counted)
    return RaterAttentionSummary(raters, unfinished, max_missed, rules.in_words() if rules else "")


def _of_runs(study: StudyRecord, runs: Sequence[StoredRun]) -> StudyRecord:
    """Return the study without images of other runs, and pairs with such images."""
    names = {run.folder.resolve().name for run in runs}
    tasks = [task for task in study.tasks if {task.run, task.other.run if task.other else task.run} <= names]
    return replace(study, tasks=tuple(tasks))


def _from_study(study: StudyRecord, conduct: RaterAttentionSummary) -> HumanRatings:
    counted = [task for task in study.tasks if not task.is_check and task.rater not in conduct.left_out]
    done = [task for task in counted if task.finished]
    ratings = HumanRatings(attention=conduct)
    match study.manifest.protocol:
        case "questions":
            votes = [
                Vote(task.run, task.item, task.sample, step.question, task.rater, _vote(given), 0)
                for task in done
                for step, given in _answers(task)
            ]
            return replace(ratings, votes=votes)
        case "scores":
            scores = [
                Rating(task.run, task.item, task.sample, step.question, task.rater, _number(given), 0)
                for task in done
                for step, given in _answers(task)
                if given != CANNOT_TELL
            ]
            return replace(ratings, scores=scores)
        case "likert":
            points = [
                LikertRating(
                    task.run, task.item, task.sample, task.rater, _points(task), cannot_tell=_cannot_tell(task)
                )
                for task in counted
            ]
            return replace(ratings, points=points if done else ())
        case "ab":
            preferences = [
                Preference(
                    *(task.item, task.sample, task.level, task.run, task.other.run, task.rater), preferred_run(task)
                )
                for task in done
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
                for task in done
            ]
            return replace(ratings, corrections=corrections)


def _answers(task: RatedTask) -> list[tuple[RatingStep, object]]:
    answers = task.answers
    return [(step, answers[step.name].value) for step in task.steps]


def _vote(given: object) -> bool | None:
    return None if given == CANNOT_TELL else given is True


def _cannot_tell(task: RatedTask) -> bool:
    return bool(task.finished) and task.answers["compliance"].value == CANNOT_TELL


def _points(task: RatedTask) -> int | None:
    return int(_number(task.answers["compliance"].value)) if task.finished and not _cannot_tell(task) else None


def _number(value: object) -> float:
    assert isinstance(value, int | float)  # nothing else is ever stored
    return value


def _require_same_images(study: StudyRecord, runs: Sequence[StoredRun], path: Path) -> None:
    """Refuse runs that the study is not about, or whose images have been regenerated since."""
    named = {run.folder.resolve().name: run for run in runs}
    names = [rated.name for rated in study.manifest.runs]
    if not named.keys() & {*names}:
        raise FormalimgError(f"{path} is about {', '.join(names)}: name at least one of these runs")
    for number, rated in enumerate(study.manifest.runs):
        if rated.name not in named:
            continue
        made = named[rated.name].made()
        real = [task for task in study.tasks if not task.is_check]
        shown = {(task.item, task.sample) for task in real if task.run == rated.name}
        shown |= {task.other[1:] for task in real if task.other is not None and task.other.run == rated.name}
        if study.manifest.correction is not None:  # an interrupted --more may have named images without tasks
            shown = study.manifest.correction.images_of(number)
        if images_digest((*it, made[it].sha256 if it in made else "") for it in shown) != rated.images_digest:
            raise FormalimgError(
                f"the images of {named[rated.name].folder} are not those that raters saw in {path}: name the "
                "original run"
            )


def _read(path: Path) -> HumanRatings:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            heads = {cell.strip().lower() for cell in next(csv.reader(file), [])}
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormalimgError(f"{path} is not a CSV table in UTF-8: {error}") from error
    kinds = [head for head in ("vote", "score", "rating") if head in heads]
    match kinds:
        case ["vote"]:
            return HumanRatings(votes=read_votes(path))
        case ["score"]:
            return HumanRatings(scores=read_human_scores(path))
        case ["rating"]:
            return HumanRatings(points=read_likert_ratings(path))
    raise FormalimgError(f"{path} must have one of the columns vote, score or rating, and has {len(kinds)} of them")
