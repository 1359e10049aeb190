"""Comparisons for `agree` and `report`: two judges, or human ratings and a judge."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.analysis import (
        HumanScoreStudy,
        HumanStudy,
        JudgeAgreement,
        JudgeScoreAgreement,
        RunLabels,
        VoteStudy,
    )
    from formalimg.runs import Identity, StoredRun
    from formalimg.stats import ScoreProfile


def compare_judge_pairs(
    runs: list[Path], judges: tuple[str, str] | None, profile: ScoreProfile
) -> Iterator[JudgeAgreement | JudgeScoreAgreement]:
    """Yield the comparison of two judges on each run, by pass and fail or by score."""
    from formalimg.analysis import compare_judges, compare_scores
    from formalimg.runs import open_run
    from formalimg.suites import suite

    for folder in runs:
        with closing(open_run(folder)) as run:
            first, second = _judge_pair(run, judges) if judges else (None, None)
            has_scores = suite(run.manifest.suite).traits.has_scores
        if has_scores:
            yield compare_scores(folder, first, second, profile=profile)
        else:
            yield compare_judges(folder, first, second)


def compare_with_votes(runs: list[Path], judges: tuple[str, str] | None, votes: Path) -> list[VoteStudy]:
    """Compare human votes with each judge."""
    from formalimg.analysis import study_votes

    return [study_votes(votes, opened) for opened in _runs_by_judge(runs, judges)]


def compare_with_scores(
    runs: list[Path], judges: tuple[str, str] | None, scores: Path, profile: ScoreProfile
) -> list[HumanScoreStudy]:
    """Compare human scores with each judge."""
    from formalimg.analysis import study_human_scores

    return [study_human_scores(scores, opened, profile=profile) for opened in _runs_by_judge(runs, judges)]


def compare_with_ratings(
    runs: list[Path],
    judges: tuple[str, str] | None,
    ratings: Path,
    exclude_inattentive: float | None,
    iou: float | None,
    profile: ScoreProfile,
) -> list[HumanStudy]:
    """Compare a rating study with each judge; corrected boxes belong to one judge."""
    from formalimg.analysis import BoxStudy, study_human_ratings
    from formalimg.human_eval import human_ratings
    from formalimg.judges import MIN_OVERLAP

    found = [
        study_human_ratings(
            human_ratings(ratings, opened, exclude_inattentive),
            opened,
            iou=MIN_OVERLAP if iou is None else iou,
            profile=profile,
        )
        for opened in _runs_by_judge([folder.resolve() for folder in runs], judges)
    ]
    boxes = isinstance(found[0], BoxStudy)
    if iou is not None and not boxes:
        raise FormalimgError(f"only boxes overlap, and {ratings} has none: leave --iou out")
    if judges and boxes:
        raise FormalimgError("raters corrected the boxes of one judge: leave --judges out")
    return found


class SaidByPeople(NamedTuple):
    """What people say about the images of runs: studies that compare it with judges, and one label for each image."""

    studies: list[HumanStudy]
    labels: dict[Path, RunLabels]


def read_human_ratings(
    runs: list[Path],
    ratings: list[Path],
    labels: list[Path],
    exclude_inattentive: float | None,
    profile: ScoreProfile,
) -> SaidByPeople:
    """Read human ratings of runs for a report, from studies, files of ratings, and files of labels."""
    if not ratings and not labels:
        return SaidByPeople([], {})
    from formalimg.analysis import merge_labels, read_image_labels
    from formalimg.human_eval import human_labels

    studies: list[HumanStudy] = []
    found: list[dict[Path, RunLabels]] = []
    for path in ratings:
        rated = runs_of_rated_suite(runs, path)
        (studied,) = compare_with_ratings(rated, None, path, exclude_inattentive, None, profile)
        studies.append(studied)
        found += [
            human_labels(path, opened, exclude_inattentive, profile, studied)
            for opened in _runs_by_judge([folder.resolve() for folder in rated], None)
        ]
    for path in labels:
        found += [
            read_image_labels(path, opened) for opened in _runs_by_judge([folder.resolve() for folder in runs], None)
        ]
    return SaidByPeople(studies, merge_labels(*found))


def runs_of_rated_suite(runs: list[Path], ratings: Path) -> list[Path]:
    """Return the runs of the rated suite, where runs of several suites are reported together.

    All of them if the ratings name no run: reading the ratings then reports what is wrong.
    """
    from formalimg.runs import open_run

    named = _rated_runs(ratings)
    suites: dict[Path, str] = {}
    rated: set[str] = set()
    for folder in runs:
        with closing(open_run(folder)) as run:
            suites[folder] = run.manifest.suite
            if {folder.resolve().name, run.manifest.model.name} & named:
                rated.add(run.manifest.suite)
    return [folder for folder in runs if suites[folder] in rated] or runs


def _rated_runs(ratings: Path) -> set[str]:
    """Return the runs, or their models, that a study or a table names."""
    from formalimg.human_eval import read_study_manifest

    if ratings.is_dir():
        return {run.name for run in read_study_manifest(ratings).runs}
    try:
        with ratings.open(encoding="utf-8-sig", newline="") as file:
            table = csv.reader(file)
            heads = [head.strip().lower() for head in next(table, [])]
            return {row[heads.index("model")].strip() for row in table if len(row) > heads.index("model")}
    except (OSError, ValueError, csv.Error):  # also where there is no such column
        return set()


def _runs_by_judge(runs: list[Path], judges: tuple[str, str] | None) -> Iterator[list[StoredRun]]:
    """Yield the runs opened with the last judge; or once with each of two judges."""
    from formalimg.runs import open_run

    for which in range(2 if judges else 1):
        with ExitStack() as stack:
            by_judge = [stack.enter_context(closing(open_run(folder))) for folder in runs]
            if judges:
                chosen = [_judge_pair(run, judges)[which] for run in by_judge]
                by_judge = [stack.enter_context(closing(open_run(*pair))) for pair in zip(runs, chosen, strict=True)]
            yield by_judge


def _judge_pair(run: StoredRun, judges: tuple[str, str]) -> tuple[Identity, Identity]:
    from formalimg.analysis import find_judge

    return find_judge(run, judges[0]), find_judge(run, judges[1])
