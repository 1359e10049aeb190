"""Human labels of the images of a run, one for each image: they correct the rates of a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from typing import NamedTuple, TypeVar

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.consistency import HumanScoreStudy
from formalimg.human_eval.agreement.human_ratings import LIKERT_RULES, LikertRating, Vote
from formalimg.human_eval.agreement.judge_agreement import ImageName
from formalimg.human_eval.agreement.rated_images import UnmatchedRowError, find_run, require_unique_names
from formalimg.human_eval.agreement.rating_files import (
    BadRowError,
    RatingColumns,
    RowIssue,
    format_issues,
    parse_subject,
    read_rating_file,
)
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
    """What people say about the images of one run, in one label for each image."""

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
    """A judge whose answers decided how likely each image was drawn."""

    judge: str  # the name of the judge
    answers: Mapping[ImageName, bool]  # its answer to each image that was drawn
    images: int  # how many images it had judged


def labels_of_ratings(
    source: str, ratings: HumanRatings, studied: HumanStudy, runs: Sequence[StoredRun]
) -> dict[Path, RunLabels]:
    """Return the labels that human ratings give to the images of runs, by the resolved folders of the runs.

    Votes: what most raters say about the image as a whole. Likert ratings: the rule of the study, once all of them are
    there. Questions: also the fraction answered with yes by most. Scores: the joint score.
    """
    found: dict[Path, RunLabels] = {}
    for run in runs:
        labels = _labels_of_run(source, ratings, studied, run, runs)
        if labels.passed or labels.scores:
            found[run.folder.resolve()] = labels
    return found


def _labels_of_run(
    source: str, ratings: HumanRatings, studied: HumanStudy, run: StoredRun, runs: Sequence[StoredRun]
) -> RunLabels:
    if isinstance(studied, HumanScoreStudy):
        own = [it for it in studied.pairs if it.run == run.folder.name]
        scores = {ImageName(it.item, it.sample): it.human for it in own if it.human is not None}
        return RunLabels(
            source,
            scores=scores,
            rule="mean score of raters",
            raters=_extent(len(it.by_rater) for it in own if it.human is not None),
            notes=_counted(len(own) - len(scores), "not all questions are scored"),
        )
    if ratings.points:
        points = [it for it in ratings.points if find_run(it.model, runs) is run]
        return _likert_labels(source, points, ratings.rule)
    return _vote_labels(source, [it for it in ratings.votes if find_run(it.model, runs) is run], run)


def _likert_labels(source: str, points: Sequence[LikertRating], rule: ComplianceRule) -> RunLabels:
    by_image: dict[ImageName, list[int | None]] = {}
    for it in points:
        own = by_image.setdefault(ImageName(it.item, it.sample), [])
        if not it.cannot_tell:
            own.append(it.points)
    nobody = sum(not own for own in by_image.values())
    done = {image: complies(own, rule) for image, own in by_image.items() if own and None not in own}
    passed = {image: label for image, label in done.items() if label is not None}
    notes = (
        *_counted(len(by_image) - len(done) - nobody, "ratings are still to come"),
        *_counted(len(done) - len(passed), "as many ratings of 4 or more as below"),
        *_counted(nobody, "all raters cannot tell"),
    )
    raters = _extent(len(by_image[image]) for image in passed)
    return RunLabels(source, passed, rule=LIKERT_RULES[rule], raters=raters, notes=notes)


def _vote_labels(source: str, votes: Sequence[Vote], run: StoredRun) -> RunLabels:
    whole = _majorities((ImageName(it.item, it.sample), it.yes) for it in votes if it.question is None)
    about = suite(run.manifest.suite)
    asked = {item.id: len(about.vote_questions(item) or ()) for item in run.suite_items()}
    by_question = _majorities(
        ((ImageName(it.item, it.sample), it.question), it.yes) for it in votes if it.question is not None
    )
    shown: dict[ImageName, list[bool]] = {}
    for (image, _), yes in by_question.items():
        if yes is not None:
            shown.setdefault(image, []).append(yes)
    passed = {image: yes for image, yes in whole.items() if yes is not None}
    votes_per_image = Counter(
        ImageName(it.item, it.sample) for it in votes if it.question is None and it.yes is not None
    )
    return RunLabels(
        source,
        passed,
        {image: fsum(own) / len(own) for image, own in shown.items() if len(own) == asked.get(image.item)},
        rule=_VOTE_RULE,
        raters=_extent(votes_per_image[image] for image in passed),
        notes=_counted(len(whole) - len(passed), "as many say yes as no, or all cannot tell"),
    )


def _majorities(votes: Iterable[tuple[CaseT, bool | None]]) -> dict[CaseT, bool | None]:
    by_case: dict[CaseT, list[bool]] = {}
    for case, yes in votes:
        own = by_case.setdefault(case, [])
        if yes is not None:
            own.append(yes)
    return {case: majority(own) for case, own in by_case.items()}


def _extent(numbers: Iterable[int]) -> tuple[int, int]:
    counts = tuple(numbers)
    return min(counts, default=0), max(counts, default=0)


def _counted(images: int, why: str) -> tuple[str, ...]:
    return (f"{images:,} rated image{'s' * (images != 1)} without a label: {why}.",) if images else ()


class _LabelRow(NamedTuple):
    run: str
    image: ImageName
    rater: str
    yes: bool
    line: int


def read_image_labels(path: str | Path, runs: Sequence[StoredRun]) -> dict[Path, RunLabels]:
    """Read labels of images from a CSV file, by the resolved folders of the runs.

    Its first line names the columns: item, sample (default 0), label (yes or no, 1 or 0, pass or fail), run or model
    (may be missing for one run), and rater (may be missing; the majority counts). Lines that cannot be used are left
    out and counted, and so are labels of images that the runs do not have.
    """
    require_unique_names(runs)
    file = read_rating_file(path, _COLUMNS, _parse_label)
    issues = list(file.issues)
    votes: dict[Path, dict[ImageName, dict[str, bool]]] = {}
    unknown: list[RowIssue] = []
    images = {run.folder: {ImageName(it.item, it.sample) for it in run.outcomes()} for run in runs}
    for row in file.rows:
        try:
            run = _run_of_row(row, runs)
        except UnmatchedRowError as error:
            unknown.append(RowIssue(row.line, str(error)))
            continue
        if row.image not in images[run.folder]:
            wrong = f"{run.folder.name} has no sample {row.image.sample} of item {row.image.item}"
            unknown.append(RowIssue(row.line, wrong))
            continue
        own = votes.setdefault(run.folder.resolve(), {}).setdefault(row.image, {})
        if row.rater in own:
            issues.append(RowIssue(row.line, f"item {row.image.item} is labelled twice: the first label counts"))
            continue
        own[row.rater] = row.yes
    if not votes:
        first = format_issues([*issues, *unknown], str(path))
        raise FormalimgError(first[0] if first else f"{path} has no labels: write one line for each image")
    notes = (
        *_odd_lines(issues, str(path), "odd and left out"),
        *_odd_lines(unknown, str(path), "of images that are not here"),
    )
    found = {}
    for folder, by_image in votes.items():
        decided = _majorities((image, yes) for image, own in by_image.items() for yes in own.values())
        passed = {image: yes for image, yes in decided.items() if yes is not None}
        split = _counted(len(decided) - len(passed), "as many say yes as no")
        raters = _extent(len(by_image[image]) for image in passed)
        found[folder] = RunLabels(str(path), passed, rule=_VOTE_RULE, raters=raters, notes=(*notes, *split))
    return found


def merge_labels(*found: Mapping[Path, RunLabels]) -> dict[Path, RunLabels]:
    """Return labels of several sources together."""
    merged: dict[Path, RunLabels] = {}
    for labels in found:
        for folder, own in labels.items():
            if folder in merged:
                raise FormalimgError(
                    f"{merged[folder].source} and {own.source} both label {folder.name}: give one of them"
                )
            merged[folder] = own
    return merged


def refuse_labels(labels: Mapping[Path, RunLabels], why: str) -> dict[Path, RunLabels]:
    """Return the labels marked as unfit to correct rates."""
    return {folder: replace(own, refused=why) for folder, own in labels.items()}


def _odd_lines(issues: Sequence[RowIssue], path: str, what: str) -> tuple[str, ...]:
    if not issues:
        return ()
    lines = f"{len(issues):,} line{'s' * (len(issues) != 1)} of {path}"
    return (f"{lines} {'is' if len(issues) == 1 else 'are'} {what}, the first: {format_issues(issues)[0]}.",)


def _run_of_row(row: _LabelRow, runs: Sequence[StoredRun]) -> StoredRun:
    if row.run:
        return find_run(row.run, runs)
    if len(runs) == 1:
        return runs[0]
    raise UnmatchedRowError("which run is labelled is not said: add a column run with the names of the folders")


def _parse_label(cells: Mapping[str, str], line: int) -> _LabelRow:
    text = cells["label"].lower()
    if text not in (*_YES, *_NO):
        raise BadRowError(f"the label is {cells['label']!r}: write yes or no, 1 or 0, pass or fail")
    subject = parse_subject({"model": "", **cells})
    run = cells.get("run") or cells.get("model") or ""
    return _LabelRow(run, ImageName(subject.item, subject.sample), subject.rater, text in _YES, line)
