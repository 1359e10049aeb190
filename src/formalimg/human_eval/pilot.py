"""Variance components of a pilot: two judged runs over the same items, and ratings of their images if there are any."""

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
    """Return the variance components of two runs, with the defaults for what nobody rated."""
    require_unique_names(runs)
    one_judge(runs)
    for run in runs:
        if run.manifest.suite != suite:
            raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: name pilot runs of {suite}")
    _require_same_items(runs)
    images = [_image_names(run) for run in runs]
    if all(len(samples) < 2 for model in images for samples in model.values()):
        raise FormalimgError(
            "the pilot runs have one image per item: make two or more with `formalimg run --samples 2`"
        )
    verdicts = [_verdicts(run, names) for run, names in zip(runs, images, strict=True)]
    spread = DEFAULT_SPREAD._replace(judge=estimate_components(verdicts, DEFAULT_SPREAD.judge))
    if study is None:
        return spread
    answers = _rater_answers(human_ratings(study, runs), runs, study)
    ratings = [
        {item: [answers.get((number, item, sample), []) for sample in samples] for item, samples in names.items()}
        for number, names in enumerate(images)
    ]
    spread = spread._replace(people=estimate_components(ratings, DEFAULT_SPREAD.people))
    return spread._replace(correlation=estimate_correlation(verdicts, ratings, spread))


def _require_same_items(runs: Sequence[StoredRun]) -> None:
    first, *others = ({item.id: (item.level, item.prompt) for item in run.items.values()} for run in runs)
    for other in others:
        for name in first.keys() & other.keys():
            if first[name] != other[name]:
                raise FormalimgError(
                    f"item {name} is not the same in the pilot runs: name two runs over the same items"
                )


def _image_names(run: StoredRun) -> dict[str, list[int]]:
    """Return the samples of each item that have a verdict."""
    names: dict[str, list[int]] = {}
    for image in run.outcomes():
        if image.passed is not None:
            names.setdefault(image.item, []).append(image.sample)
    return names


def _verdicts(run: StoredRun, names: dict[str, list[int]]) -> ItemAnswers:
    passed = {(image.item, image.sample): bool(image.passed) for image in run.outcomes()}
    return {
        item: [[BinaryAnswer("", float(passed[item, sample]))] for sample in samples] for item, samples in names.items()
    }


def _rater_answers(
    ratings: HumanRatings, runs: Sequence[StoredRun], study: Path
) -> dict[tuple[int, str, int], list[BinaryAnswer]]:
    """Return whether each rater accepts each image as a whole, by run, item and sample."""
    rows = [(vote.model, vote.item, vote.sample, vote.rater, vote.yes) for vote in ratings.votes if not vote.question]
    rows += [
        (it.model, it.item, it.sample, it.rater, it.points >= PASS_RATING)
        for it in ratings.points
        if it.points is not None
    ]
    answers: dict[tuple[int, str, int], list[BinaryAnswer]] = {}
    for model, item, sample, rater, yes in rows:
        if yes is None:
            continue
        try:
            number = runs.index(find_run(model, runs))
        except UnmatchedRowError as error:
            raise FormalimgError(f"{study}: {error}") from None
        answers.setdefault((number, item, sample), []).append(BinaryAnswer(rater, float(yes)))
    if not answers:
        raise FormalimgError(f"{study} has no yes or no about whole images: name a study of votes or Likert ratings")
    return answers
