"""Compare judges with each other or with human ratings, for `agree`, `report` and `gate`."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

from formalimg.cli.commands import option
from formalimg.cli.output import open_runs
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.image_labels import RunLabels
    from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement
    from formalimg.human_eval.agreement.score_agreement import HumanScoreStudy, JudgeScoreAgreement
    from formalimg.human_eval.agreement.studies import HumanStudy
    from formalimg.human_eval.agreement.vote_study import VoteStudy
    from formalimg.runs.reader import StoredRun
    from formalimg.stats.agreement import ComplianceRule
    from formalimg.stats.observations import Profile

HumanRatingFiles: TypeAlias = Annotated[
    list[Path] | None,
    option(
        "--human --ratings STUDY|FILE",
        "Correct the judge by human ratings, and compare it with them: the folder of a study by `formalimg "
        "annotate`, or a CSV file with votes, scores, or ratings from 1 to 5; again for other runs.",
    ),
]
LabelFiles: TypeAlias = Annotated[
    list[Path] | None,
    option(
        "FILE",
        "Correct the judge by human labels in a CSV file with the columns item, sample, label (yes or no), "
        "and run, where there are several.",
    ),
]
ExcludeInattentive: TypeAlias = Annotated[
    float | None,
    option("SHARE", "With --human: exclude raters who missed more than this share of their attention checks."),
]


def compare_judge_pairs(
    runs: list[Path], judges: tuple[str, str] | None, profile: Profile
) -> Iterator[JudgeAgreement | JudgeScoreAgreement]:
    """Yield the comparison of two judges for each run, by verdict or by score."""
    from formalimg.benchmarks.registry import suite
    from formalimg.human_eval.agreement.judge_agreement import compare_judges
    from formalimg.human_eval.agreement.rated_images import find_judge
    from formalimg.runs.reader import open_run

    for folder in runs:
        with closing(open_run(folder)) as run:
            first, second = [find_judge(run, name) for name in judges] if judges else (None, None)
            scores = suite(run.manifest.suite).study("judge scores")
        if scores is None:
            yield compare_judges(folder, first, second)
        else:
            yield scores.make(folder, first, second, profile=profile)


def compare_with_votes(runs: list[Path], judges: Sequence[str], votes: Path) -> list[VoteStudy]:
    """Compare human votes with each judge."""
    from formalimg.human_eval.agreement.vote_study import study_votes

    return [study_votes(votes, opened) for opened in _runs_by_judge(runs, judges)]


def compare_with_scores(
    runs: list[Path], judges: Sequence[str], scores: Path, profile: Profile
) -> list[HumanScoreStudy]:
    """Compare human scores with each judge."""
    from formalimg.human_eval.agreement.studies import study_human_scores

    return [study_human_scores(scores, opened, profile=profile) for opened in _runs_by_judge(runs, judges)]


def compare_with_ratings(
    runs: list[Path],
    judges: Sequence[str],
    ratings: Path,
    exclude_inattentive: float | None,
    iou: float | None,
    profile: Profile,
    rule: ComplianceRule | None = None,
) -> list[HumanStudy]:
    """Compare a rating study with each judge. Box corrections can be compared with one judge only."""
    from formalimg.human_eval.agreement.boxes import BoxStudy
    from formalimg.human_eval.agreement.studies import study_human_ratings
    from formalimg.human_eval.ratings import human_ratings
    from formalimg.judges.boxes import MIN_OVERLAP

    studies = [
        study_human_ratings(
            human_ratings(ratings, opened, exclude_inattentive, rule),
            opened,
            iou=MIN_OVERLAP if iou is None else iou,
            profile=profile,
        )
        for opened in _runs_by_judge([folder.resolve() for folder in runs], judges)
    ]
    boxes = isinstance(studies[0], BoxStudy)
    if iou is not None and not boxes:
        raise FormalimgError(f"only boxes overlap, and {ratings} has none: leave --iou out")
    if judges and boxes:
        raise FormalimgError("raters corrected the boxes of one judge: name no judges")
    return studies


class ReportRatings(NamedTuple):
    """Human ratings of runs: studies that compare them with judges, and labels for each image."""

    studies: list[HumanStudy]
    labels: dict[Path, RunLabels]


def read_human_ratings(
    runs: list[Path],
    ratings: list[Path],
    labels: list[Path],
    exclude_inattentive: float | None,
    profile: Profile,
) -> ReportRatings:
    """Read human ratings for a report from studies, rating files and label files."""
    if not ratings and not labels:
        return ReportRatings([], {})
    from formalimg.human_eval.agreement.image_labels import merge_labels, read_image_labels
    from formalimg.human_eval.ratings import human_labels

    studies: list[HumanStudy] = []
    all_labels: list[dict[Path, RunLabels]] = []
    for path in ratings:
        rated = runs_of_rated_suite(runs, path)
        (studied,) = compare_with_ratings(rated, (), path, exclude_inattentive, None, profile)
        studies.append(studied)
        all_labels += [
            human_labels(path, opened, exclude_inattentive, profile, studied)
            for opened in _runs_by_judge([folder.resolve() for folder in rated], ())
        ]
    for path in labels:
        all_labels += [
            read_image_labels(path, opened) for opened in _runs_by_judge([folder.resolve() for folder in runs], ())
        ]
    return ReportRatings(studies, merge_labels(*all_labels))


def runs_of_rated_suite(runs: list[Path], ratings: Path) -> list[Path]:
    """Return the runs whose suite was rated, or all runs if the ratings match none of them.

    If all runs are returned, reading the ratings reports the mismatch.
    """
    from formalimg.runs.reader import open_run

    named = _read_run_names(ratings)
    suites: dict[Path, str] = {}
    rated: set[str] = set()
    for folder in runs:
        with closing(open_run(folder)) as run:
            suites[folder] = run.manifest.suite
            if {folder.resolve().name, run.manifest.model.name} & named:
                rated.add(run.manifest.suite)
    return [folder for folder in runs if suites[folder] in rated] or runs


def _read_run_names(ratings: Path) -> set[str]:
    """Return the names of the rated runs or models in a study or table."""
    from formalimg.human_eval.manifest import read_study_manifest

    if ratings.is_dir():
        return {run.name for run in read_study_manifest(ratings).runs}
    try:
        with ratings.open(encoding="utf-8-sig", newline="") as file:
            table = csv.reader(file)
            heads = [head.strip().lower() for head in next(table, [])]
            return {row[heads.index("model")].strip() for row in table if len(row) > heads.index("model")}
    except (OSError, ValueError, csv.Error):  # also where there is no such column
        return set()


def _runs_by_judge(runs: list[Path], judges: Sequence[str]) -> Iterator[list[StoredRun]]:
    """Yield the runs opened with their last judge, or once for each of the given judges."""
    for name in judges or (None,):
        with open_runs(runs, name) as by_judge:
            yield by_judge
