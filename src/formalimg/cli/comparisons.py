"""What `formalimg agree` compares: two judges, or people and a judge."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.analysis import JudgesCompared, PeopleStudied, ScoresCompared, ScoresStudied, StudyOfPeople
    from formalimg.runs import Identity, StoredRun
    from formalimg.stats import ScoreProfile


def compare_judge_pairs(
    runs: list[Path], judges: tuple[str, str] | None, profile: ScoreProfile
) -> Iterator[JudgesCompared | ScoresCompared]:
    """What two judges say about each run: whether images pass, or how they score."""
    from formalimg.analysis import compare_judges, compare_scores
    from formalimg.runs import open_run
    from formalimg.suites import suite

    for folder in runs:
        with closing(open_run(folder)) as run:
            first, second = _named(run, judges) if judges else (None, None)
            has_scores = suite(run.manifest.suite).kind == "counterfactual"
        if has_scores:
            yield compare_scores(folder, first, second, profile=profile)
        else:
            yield compare_judges(folder, first, second)


def compare_with_votes(runs: list[Path], judges: tuple[str, str] | None, votes: Path) -> list[PeopleStudied]:
    """One study for each judge to compare with."""
    from formalimg.analysis import study_votes

    return [study_votes(votes, there) for there in _opened(runs, judges)]


def compare_with_scores(
    runs: list[Path], judges: tuple[str, str] | None, scores: Path, profile: ScoreProfile
) -> list[ScoresStudied]:
    """One study for each judge to compare with."""
    from formalimg.analysis import study_scores

    return [study_scores(scores, there, profile=profile) for there in _opened(runs, judges)]


def compare_with_ratings(
    runs: list[Path],
    judges: tuple[str, str] | None,
    ratings: Path,
    exclude_inattentive: float | None,
    iou: float | None,
    profile: ScoreProfile,
) -> list[StudyOfPeople]:
    """One study for each judge to compare with; boxes are those of one judge."""
    from formalimg.analysis import BoxesStudied, study_people
    from formalimg.human_eval import human_ratings
    from formalimg.judges import MIN_OVERLAP

    found = [
        study_people(
            human_ratings(ratings, there, exclude_inattentive),
            there,
            iou=MIN_OVERLAP if iou is None else iou,
            profile=profile,
        )
        for there in _opened([folder.resolve() for folder in runs], judges)
    ]
    boxes = isinstance(found[0], BoxesStudied)
    if iou is not None and not boxes:
        raise FormalimgError(f"only boxes overlap, and {ratings} has none: leave --iou out")
    if judges and boxes:
        raise FormalimgError("people corrected the boxes of one judge: leave --judges out")
    return found


def runs_of_rated_suite(runs: list[Path], ratings: Path) -> list[Path]:
    """The runs of the suite that people rated, where runs of several suites are reported together.

    All of them, if the ratings name no run: what is wrong with them is then told by those who read them.
    """
    from formalimg.runs import open_run

    named = _runs_named(ratings)
    suites: dict[Path, str] = {}
    rated: set[str] = set()
    for folder in runs:
        with closing(open_run(folder)) as run:
            suites[folder] = run.manifest.suite
            if {folder.resolve().name, run.manifest.model.name} & named:
                rated.add(run.manifest.suite)
    return [folder for folder in runs if suites[folder] in rated] or runs


def _runs_named(ratings: Path) -> set[str]:
    """The runs, or their models, that a study or a table is about."""
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


def _opened(runs: list[Path], judges: tuple[str, str] | None) -> Iterator[list[StoredRun]]:
    """The runs, opened with the last judge; or once with each of two judges."""
    from formalimg.runs import open_run

    for which in range(2 if judges else 1):
        with ExitStack() as opened:
            there = [opened.enter_context(closing(open_run(folder))) for folder in runs]
            if judges:
                chosen = [_named(run, judges)[which] for run in there]
                there = [opened.enter_context(closing(open_run(*pair))) for pair in zip(runs, chosen, strict=True)]
            yield there


def _named(run: StoredRun, judges: tuple[str, str]) -> tuple[Identity, Identity]:
    from formalimg.analysis import judge_named

    return judge_named(run, judges[0]), judge_named(run, judges[1])
