"""Variance components of a pilot: two judged runs over the same items, with optional human ratings of their images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import UnmatchedRowError, find_run, one_judge, require_unique_names
from formalimg.human_eval.agreement.studies import HumanRatings
from formalimg.human_eval.ratings import human_ratings
from formalimg.runs.reader import StoredRun
from formalimg.stats.agreement import PASS_RATING
from formalimg.stats.variance_components import (
    DEFAULT_SPREAD,
    AnswerSpread,
    BinaryAnswer,
    ItemAnswers,
    estimate_components,
    estimate_correlation,
)


def read_pilot(suite: str, runs: Sequence[StoredRun], study: Path | None = None) -> AnswerSpread:
    """Estimate variance components from two runs, using defaults for anything that was not rated."""
    require_unique_names(runs)
    one_judge(runs)
    for run in runs:
        if run.manifest.suite != suite:
            raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: name pilot runs of {suite}")
    _require_same_items(runs)
    passed = [_read_verdicts(run) for run in runs]
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


def _require_same_items(runs: Sequence[StoredRun]) -> None:
    first, *rest = ({item.id: (item.level, item.prompt) for item in run.items.values()} for run in runs)
    for items in rest:
        for name in first.keys() & items.keys():
            if first[name] != items[name]:
                raise FormalimgError(
                    f"item {name} is not the same in the pilot runs: name two runs over the same items"
                )


def _read_verdicts(run: StoredRun) -> dict[str, dict[int, bool]]:
    """Return whether each image with a verdict passes, keyed by item and sample."""
    verdicts: dict[str, dict[int, bool]] = {}
    for image in run.outcomes():
        if image.passed is not None:
            verdicts.setdefault(image.item, {})[image.sample] = image.passed
    return verdicts


def _rater_answers(
    ratings: HumanRatings, runs: Sequence[StoredRun], study: Path
) -> dict[tuple[int, str, int], list[BinaryAnswer]]:
    """Return whether each rater accepts each image as a whole, keyed by run, item and sample."""
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
