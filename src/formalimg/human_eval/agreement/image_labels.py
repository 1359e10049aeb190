"""Human labels of the images of a run, one label per image, used to correct the rates of a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import NamedTuple, TypeVar

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import ImageName, UnmatchedRowError, find_run, require_unique_names
from formalimg.human_eval.agreement.rating_files import (
    LIKERT_RULES,
    BadRowError,
    LikertRating,
    RatingColumns,
    RowIssue,
    Vote,
    format_issues,
    parse_subject,
    read_rating_file,
)
from formalimg.human_eval.agreement.score_agreement import HumanScoreStudy, ImageScores
from formalimg.human_eval.agreement.studies import HumanRatings, HumanStudy
from formalimg.runs.reader import StoredRun
from formalimg.stats.agreement import ComplianceRule, complies, majority

_COLUMNS = RatingColumns("label", ("run", "model", "item", "sample", "rater"), ("item",))
_YES = ("1", "yes", "pass", "true")
_NO = ("0", "no", "fail", "false")
_VOTE_RULE = "majority of raters say yes"
CaseT = TypeVar("CaseT")


@dataclass(frozen=True)
class RunLabels:
    """Human labels of the images of one run, one label per image."""

    source: str  # the study or file
    passed: Mapping[ImageName, bool] = field(default_factory=dict)  # whether the image follows its prompt, by image
    # the score or the fraction of what was asked for that is shown, by image, where people gave one
    scores: Mapping[ImageName, float] = field(default_factory=dict)
    # whether it is only assumed that the images are a random sample within each level and judge answer
    assumed: bool = True
    # the judge's answers by which images were drawn, and its name, where they were drawn so
    drawn_by: DrawnBy | None = None
    # whether items were drawn at random within each level, whatever the judge says of their images
    drawn_by_item: bool = False
    rule: str = ""  # how the answers of raters become a label, as in "majority of raters ≥ 4 of 5"
    raters: tuple[int, int] = (0, 0)  # the fewest and the most raters of a labelled image
    notes: tuple[str, ...] = ()  # what was left out, and why
    refused: str = ""  # why they cannot correct the rates; empty if they can


class DrawnBy(NamedTuple):
    """A judge whose answers determined the sampling probability of each image."""

    judge: str  # the name of the judge
    answers: Mapping[ImageName, bool]  # its answer to each image that was drawn
    images: int  # how many images it had judged


def labels_of_ratings(
    source: str, ratings: HumanRatings, study: HumanStudy, runs: Sequence[StoredRun]
) -> dict[Path, RunLabels]:
    """Convert human ratings to labels of the images in each run, keyed by resolved run folder.

    Votes give the majority about the image as a whole; Likert ratings, once complete, the result of the study's rule;
    questions also the fraction that most raters answered with yes; scores the joint score.
    """
    by_folder: dict[Path, RunLabels] = {}
    for run in runs:
        if isinstance(study, HumanScoreStudy):
            labels = _labels_of_scores(source, [image for image in study.pairs if image.run == run.folder.name])
        elif ratings.points:
            points = [rating for rating in ratings.points if find_run(rating.model, runs) is run]
            labels = _labels_of_points(source, points, ratings.rule)
        else:
            labels = _labels_of_votes(
                source, [vote for vote in ratings.votes if find_run(vote.model, runs) is run], run
            )
        if labels.passed or labels.scores:
            by_folder[run.folder.resolve()] = labels
    return by_folder


def _labels_of_scores(source: str, images: Sequence[ImageScores]) -> RunLabels:
    scored = [image for image in images if image.human is not None]
    return RunLabels(
        source,
        scores={ImageName(image.item, image.sample): image.human for image in scored if image.human is not None},
        rule="mean score of raters",
        raters=_find_extent(len(image.by_rater) for image in scored),
        notes=_note_unlabelled(len(images) - len(scored), "not all questions are scored"),
    )


def _labels_of_points(source: str, points: Sequence[LikertRating], rule: ComplianceRule) -> RunLabels:
    by_image: dict[ImageName, list[int | None]] = {}
    for rating in points:
        numbers = by_image.setdefault(ImageName(rating.item, rating.sample), [])
        if not rating.cannot_tell:
            numbers.append(rating.points)
    nobody = sum(not numbers for numbers in by_image.values())
    complete = {
        image: complies(numbers, rule) for image, numbers in by_image.items() if numbers and None not in numbers
    }
    passed = {image: label for image, label in complete.items() if label is not None}
    notes = (
        *_note_unlabelled(len(by_image) - len(complete) - nobody, "ratings are still to come"),
        *_note_unlabelled(len(complete) - len(passed), "as many ratings of 4 or more as below"),
        *_note_unlabelled(nobody, "all raters cannot tell"),
    )
    raters = _find_extent(len(by_image[image]) for image in passed)
    return RunLabels(source, passed, rule=LIKERT_RULES[rule], raters=raters, notes=notes)


def _labels_of_votes(source: str, votes: Sequence[Vote], run: StoredRun) -> RunLabels:
    whole = [(ImageName(vote.item, vote.sample), vote.yes) for vote in votes if vote.question is None]
    labels = _find_majorities(whole)
    passed = {image: yes for image, yes in labels.items() if yes is not None}
    counts = Counter(image for image, yes in whole if yes is not None)
    suite = get_suite(run.manifest.suite)
    question_counts = {item.id: len(suite.vote_questions(item) or ()) for item in run.suite_items()}
    by_question = _find_majorities(
        ((ImageName(vote.item, vote.sample), vote.question), vote.yes) for vote in votes if vote.question is not None
    )
    answers: dict[ImageName, list[bool]] = {}
    for (image, _), yes in by_question.items():
        if yes is not None:
            answers.setdefault(image, []).append(yes)
    return RunLabels(
        source,
        passed,
        {image: fsum(yes) / len(yes) for image, yes in answers.items() if len(yes) == question_counts.get(image.item)},
        rule=_VOTE_RULE,
        raters=_find_extent(counts[image] for image in passed),
        notes=_note_unlabelled(len(labels) - len(passed), "as many say yes as no, or all cannot tell"),
    )


def _find_majorities(votes: Iterable[tuple[CaseT, bool | None]]) -> dict[CaseT, bool | None]:
    by_case: dict[CaseT, list[bool]] = {}
    for case, yes in votes:
        answers = by_case.setdefault(case, [])
        if yes is not None:
            answers.append(yes)
    return {case: majority(answers) for case, answers in by_case.items()}


def _find_extent(numbers: Iterable[int]) -> tuple[int, int]:
    counts = tuple(numbers)
    return min(counts, default=0), max(counts, default=0)


def _note_unlabelled(images: int, reason: str) -> tuple[str, ...]:
    return (f"{images:,} rated image{'s' * (images != 1)} without a label: {reason}.",) if images else ()


def read_image_labels(path: str | Path, runs: Sequence[StoredRun]) -> dict[Path, RunLabels]:
    """Read image labels from a CSV file, keyed by resolved run folder.

    Its first line names the columns: item, sample (default 0), label (yes or no, 1 or 0, pass or fail), run or model
    (may be missing for one run), and rater (may be missing; the majority counts). Lines that cannot be used are left
    out and counted, and so are labels of images that the runs do not have.
    """
    require_unique_names(runs)
    file = read_rating_file(path, _COLUMNS, _parse_label)
    issues = list(file.issues)
    votes: dict[Path, dict[ImageName, dict[str, bool]]] = {}
    unknown: list[RowIssue] = []
    images = {run.folder: {ImageName(image.item, image.sample) for image in run.outcomes()} for run in runs}
    for name, image, rater, yes, line in file.rows:
        try:
            if not name and len(runs) > 1:
                raise UnmatchedRowError("the labelled run is not named: add a column run with the names of the folders")
            run = find_run(name, runs) if name else runs[0]
            if image not in images[run.folder]:
                raise UnmatchedRowError(f"{run.folder.name} has no sample {image.sample} of item {image.item}")
        except UnmatchedRowError as error:
            unknown.append(RowIssue(line, str(error)))
            continue
        by_rater = votes.setdefault(run.folder.resolve(), {}).setdefault(image, {})
        if rater in by_rater:
            issues.append(RowIssue(line, f"item {image.item} is labelled twice: the first label counts"))
            continue
        by_rater[rater] = yes
    if not votes:
        lines = format_issues([*issues, *unknown], str(path))
        raise FormalimgError(lines[0] if lines else f"{path} has no labels: write one line for each image")
    notes = (
        *_note_unused_lines(issues, str(path), "odd and left out"),
        *_note_unused_lines(unknown, str(path), "of images that are not here"),
    )
    by_folder = {}
    for folder, by_image in votes.items():
        labels = _find_majorities((image, yes) for image, by_rater in by_image.items() for yes in by_rater.values())
        passed = {image: yes for image, yes in labels.items() if yes is not None}
        ties = _note_unlabelled(len(labels) - len(passed), "as many say yes as no")
        raters = _find_extent(len(by_image[image]) for image in passed)
        by_folder[folder] = RunLabels(str(path), passed, rule=_VOTE_RULE, raters=raters, notes=(*notes, *ties))
    return by_folder


def merge_labels(*sources: Mapping[Path, RunLabels]) -> dict[Path, RunLabels]:
    """Merge image labels from several sources."""
    merged: dict[Path, RunLabels] = {}
    for source in sources:
        for folder, labels in source.items():
            if folder in merged:
                raise FormalimgError(
                    f"{merged[folder].source} and {labels.source} both label {folder.name}: give one of them"
                )
            merged[folder] = labels
    return merged


def _note_unused_lines(issues: Sequence[RowIssue], path: str, reason: str) -> tuple[str, ...]:
    if not issues:
        return ()
    lines = f"{len(issues):,} line{'s' * (len(issues) != 1)} of {path}"
    return (f"{lines} {'is' if len(issues) == 1 else 'are'} {reason}, the first: {format_issues(issues)[0]}.",)


def _parse_label(cells: Mapping[str, str], line: int) -> tuple[str, ImageName, str, bool, int]:
    """Return the run, image, rater and label of a row, and its line."""
    text = cells["label"].lower()
    if text not in (*_YES, *_NO):
        raise BadRowError(f"the label is {cells['label']!r}: write yes or no, 1 or 0, pass or fail")
    _, item, sample, _, rater = parse_subject({"model": "", **cells})
    return cells.get("run") or cells.get("model") or "", ImageName(item, sample), rater, text in _YES, line
