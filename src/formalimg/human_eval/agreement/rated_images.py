"""Matching of human ratings to the run, image and question they refer to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rater_agreement import JUDGE, MAJORITY, Answers, Case, CaseInfo
from formalimg.human_eval.agreement.rating_files import (
    Rating,
    RatingFile,
    RatingsError,
    RowIssue,
    Vote,
    VotesError,
    format_issues,
    natural_sort,
)
from formalimg.runs.manifest import Identity
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import StoredRun, open_run
from formalimg.types import RunRecord, Verdict

RunT = TypeVar("RunT", bound=RunRecord)


class ImageName(NamedTuple):
    """An image of a run, identified by its item and sample number."""

    item: str
    sample: int


class QuestionKey(NamedTuple):
    """A question about an image: its text, and its index among questions with the same text."""

    text: str
    occurrence: int


class JudgeAnswer(NamedTuple):
    """A judge's answer to a question: whether the image satisfies it, the question kind, the reason and the score."""

    holds: bool | None
    kind: str
    reason: str
    score: float | None


@dataclass(frozen=True)
class ImageJudgment:
    """A judge's verdict on an image."""

    level: int  # the level of the image's item
    passed: bool | None  # whether it meets all requirements; None if unscored
    score: float | None  # the fraction it meets; None if unscored
    answers: Mapping[QuestionKey, JudgeAnswer]  # the answer to each question; none if unscored
    reason: str = ""  # why it is unscored; empty if it is not


def image_judgments(run: RunRecord) -> dict[ImageName, ImageJudgment]:
    """Return the verdict on each image of a run, ordered by item and sample."""
    judgments = {}
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        parts = verdict.parts if isinstance(verdict, Verdict) else ()
        keys = question_keys(part.name for part in parts)
        answers = {
            key: JudgeAnswer(part.score == 1, part.kind, part.reason, part.score)
            for key, part in zip(keys, parts, strict=True)
        }
        judgments[ImageName(outcome.item, outcome.sample)] = ImageJudgment(
            outcome.level, outcome.passed, outcome.score, answers, outcome.reason
        )
    return judgments


def question_keys(texts: Iterable[str]) -> list[QuestionKey]:
    """Return a unique key for each question text; repeated texts get different indices."""
    counts = Counter[str]()
    keys = []
    for text in texts:
        keys.append(QuestionKey(text, counts[text]))
        counts[text] += 1
    return keys


@contextmanager
def two_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None
) -> Iterator[tuple[StoredRun, StoredRun]]:
    """Open a run once for each of two judges, by default the two most recent ones."""
    with closing(open_run(folder)) as run:
        judges = list(run.judges())
        if first is None or second is None:
            first, second = _pick_last_two(run)
    for judge in (first, second):
        if judge not in judges:
            raise FormalimgError(f"{judge.name} has not judged {folder} with these settings: use StoredRun.judges()")
    if first == second:
        raise FormalimgError(f"{first.name} cannot be compared with itself: name two judges")
    with closing(open_run(folder, first)) as first_run, closing(open_run(folder, second)) as second_run:
        yield first_run, second_run


def _pick_last_two(run: StoredRun) -> tuple[Identity, Identity]:
    judges = run.judges()
    if len(judges) < 2:
        raise FormalimgError(
            f"{run.folder} was judged by {judges[0].name if judges else 'nobody'}"
            f"{' alone' if judges else ''}: give human --ratings of its images (`formalimg annotate` collects them) "
            "or --votes, or let another judge look with `formalimg judge`"
        )
    return judges[-2], judges[-1]


def judge_of(run: RunRecord) -> Identity:
    """Return the judge of a run."""
    if run.manifest.judge is None:
        raise FormalimgError(f"nobody has judged {run.folder} yet: use `formalimg judge`")
    return run.manifest.judge


def find_judge(run: StoredRun, name: str) -> Identity:
    """Return the judge of a run by name, or by its 1-based position in the order of first use."""
    judges = run.judges()
    names = ", ".join(f"{number} {judge.name}" for number, judge in enumerate(judges, 1)) or "nobody"
    if name.isascii() and name.isdigit() and 1 <= int(name[:9]) <= len(judges):
        return judges[int(name) - 1]
    matches = [judge for judge in judges if judge.name == name]
    if len(matches) > 1:
        raise FormalimgError(f"several judges of {run.folder} are called {name}: name them by number; it has {names}")
    if not matches:
        raise FormalimgError(f"no judge of {run.folder} is called {name}: it has {names}")
    return matches[0]


class UnmatchedRowError(Exception):
    """A row of a rating file that matches no image of the runs."""


def find_run(name: str, runs: Sequence[RunT]) -> RunT:
    """Return the run whose folder has the given name or, failing that, the run whose model has it."""
    matches = [run for run in runs if run.folder.name == name]
    matches = matches or [run for run in runs if run.manifest.model.name == name]
    if not matches:
        names = ", ".join(f"{run.folder.name} ({run.manifest.model.name})" for run in runs)
        raise UnmatchedRowError(f"no run is called {name} or of that model: add its folder, or write one of {names}")
    if len(matches) > 1:
        names = ", ".join(run.folder.name for run in matches)
        raise UnmatchedRowError(f"several runs are of the model {name}: write the name of a folder, one of {names}")
    return matches[0]


def require_unique_names(runs: Sequence[RunRecord]) -> None:
    """Raise an error if two run folders have the same name."""
    names = [run.folder.name for run in runs]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise FormalimgError(f"two of the runs are called {duplicate}: rename one of the folders")


def one_judge(runs: Sequence[RunRecord]) -> Identity:
    """Return the judge shared by all runs, or raise an error if they differ."""
    judges = [judge_of(run) for run in runs]
    if not judges:
        raise FormalimgError("there are no runs: name at least one")
    if any(judge != judges[0] for judge in judges):
        names = sorted({judge.name for judge in judges})
        text = " and ".join(names) if len(names) > 1 else f"{names[0]} with different settings"
        raise FormalimgError(f"the runs were judged by {text}: let one judge look at all of them, or name one that did")
    return judges[0]


@dataclass(frozen=True)
class MatchedVotes:
    """Votes matched to images and questions."""

    suite: str  # the benchmark
    judges: Mapping[str, Identity | None]  # the judge of each run; None where there is none
    votes: Mapping[str, Answers]  # the votes of each rater, in the order of their names
    info: Mapping[Case, CaseInfo]  # level and kind of each case that was voted on
    judge: Answers  # the judge's answers to the same cases
    scores: Mapping[Case, float | None]  # the judge's score of each image that was voted on, 0 to 1; None if unscored
    questions: Mapping[Case, tuple[Case, ...]]  # the questions about each image that was voted on
    unscored: Mapping[str, int]  # images that were voted on and have no verdict, by reason


@dataclass(frozen=True)
class _VotedRun:
    name: str
    levels: Mapping[str, int]
    judgments: Mapping[ImageName, ImageJudgment]
    questions: Mapping[str, Sequence[tuple[QuestionKey, str]]]  # by item, with their kinds


def match_votes(file: RatingFile[Vote], runs: Sequence[StoredRun]) -> MatchedVotes:
    """Match each vote to an image or question of the runs."""
    suites = sorted({run.manifest.suite for run in runs})
    if len(suites) != 1:
        raise FormalimgError(f"votes are on runs of one suite, not of {', '.join(suites) or 'none'}: name such runs")
    require_unique_names(runs)
    issues = list(file.issues)
    votes: dict[str, dict[Case, bool | None]] = {rater: {} for rater in natural_sort(vote.rater for vote in file.rows)}
    info: dict[Case, CaseInfo] = {}
    judge: dict[Case, bool | None] = {}
    questions: dict[Case, tuple[Case, ...]] = {}
    voted_runs: dict[str, _VotedRun] = {}
    for vote in file.rows:
        try:
            if vote.rater in (MAJORITY, JUDGE):
                raise UnmatchedRowError(f"the rater is called {vote.rater}, which is reserved: use another name")
            run = find_run(vote.model, runs)
            if run.folder.name not in voted_runs:
                voted_runs[run.folder.name] = _load_voted_run(run)
            case = _match_vote(vote, voted_runs[run.folder.name])
            if case in votes[vote.rater]:
                raise UnmatchedRowError(f"{vote.rater} votes twice on {_format_case(case)}")
        except UnmatchedRowError as unmatched:
            issues.append(RowIssue(vote.line, str(unmatched)))
            continue
        votes[vote.rater][case] = vote.yes
        image = case._replace(question=None)
        if image not in questions:
            cases = _list_cases(image, voted_runs[case.run])
            questions[image] = tuple(cases)[1:]
            for image_case, (case_info, answer) in cases.items():
                info[image_case], judge[image_case] = case_info, answer
    if issues:
        raise VotesError(format_issues(issues, file.file))
    judgments = {image: voted_runs[image.run].judgments[ImageName(image.item, image.sample)] for image in questions}
    unscored = Counter(judgment.reason for judgment in judgments.values() if judgment.passed is None)
    scores = {image: judgment.score for image, judgment in judgments.items()}
    judges = {run.folder.name: run.manifest.judge for run in runs}
    return MatchedVotes(suites[0], judges, votes, info, judge, scores, questions, dict(sorted(unscored.items())))


def _match_vote(vote: Vote, run: _VotedRun) -> Case:
    if vote.item not in run.levels:
        raise UnmatchedRowError(
            f"{run.name} has no item {vote.item}: write the id of an item, as in its images/metadata.jsonl"
        )
    if ImageName(vote.item, vote.sample) not in run.judgments:
        raise UnmatchedRowError(
            f"{run.name} has no sample {vote.sample} of item {vote.item}: samples are counted from 0"
        )
    count = len(run.questions[vote.item])
    if vote.question is not None and vote.question > count:
        reason = f"has {count} questions, numbered from 1" if count else "has no questions that could be known"
        raise UnmatchedRowError(f"there is no question {vote.question}: item {vote.item} of {run.name} {reason}")
    return Case(run.name, vote.item, vote.sample, vote.question)


def _load_voted_run(run: StoredRun) -> _VotedRun:
    judgments = image_judgments(run)
    questions: dict[str, list[tuple[QuestionKey, str]]] = {}
    suite = get_suite(run.manifest.suite)
    for item in run.suite_items():
        pairs = suite.vote_questions(item) or ()
        keys = question_keys(question for question, _ in pairs)
        questions[item.id] = list(zip(keys, (kind for _, kind in pairs), strict=True))
    for image, judgment in judgments.items():  # in other suites, only verdicts hold the questions
        if not questions.get(image.item):
            questions[image.item] = [(key, answer.kind) for key, answer in judgment.answers.items()]
    return _VotedRun(run.folder.name, {name: item.level for name, item in run.items.items()}, judgments, questions)


def _list_cases(image: Case, run: _VotedRun) -> dict[Case, tuple[CaseInfo, bool | None]]:
    judgment = run.judgments[ImageName(image.item, image.sample)]
    cases: dict[Case, tuple[CaseInfo, bool | None]] = {image: (CaseInfo(judgment.level), judgment.passed)}
    for number, (key, kind) in enumerate(run.questions[image.item], 1):
        answer = judgment.answers.get(key)
        cases[image._replace(question=number)] = (CaseInfo(judgment.level, kind), answer.holds if answer else None)
    return cases


def _format_case(case: Case) -> str:
    part = "the whole image" if case.question is None else f"question {case.question}"
    return f"{part} of item {case.item}, sample {case.sample}, of {case.run}"


class RatedImage(NamedTuple):
    """A rated image, identified by run folder, item and sample."""

    run: str
    item: str
    sample: int


@dataclass(frozen=True)
class MatchedRatings:
    """Labels or scores matched to images."""

    outcomes: Mapping[RatedImage, ImageOutcome]  # the judge's outcome of each rated image, in the order of the runs
    # the rating by each rater, for each rated image and each question about it (None: the whole)
    ratings: Mapping[RatedImage, Mapping[int | None, Mapping[str, float]]]
    raters: tuple[str, ...]  # the names of the raters
    without_image: tuple[str, ...]  # ratings of items or samples that their run does not have, one line each
    not_rated: int  # how many images of the runs that could have been rated have no rating


RowCheck = Callable[[RunRecord, Rating], str]
"""Returns what is wrong with a rating of an existing image; empty if it is valid."""


def match_ratings(
    file: RatingFile[Rating], runs: Sequence[RunRecord], check: RowCheck, *, levels: frozenset[int]
) -> MatchedRatings:
    """Match each label or score to an image of the runs."""
    require_unique_names(runs)
    outcomes = {
        RatedImage(run.folder.name, outcome.item, outcome.sample): outcome for run in runs for outcome in run.outcomes()
    }
    issues = list(file.issues)
    unmatched: list[RowIssue] = []
    ratings: dict[RatedImage, dict[int | None, dict[str, float]]] = {}
    for rating in file.rows:
        try:
            run = find_run(rating.model, runs)
        except UnmatchedRowError as error:
            issues.append(RowIssue(rating.line, str(error)))
            continue
        image = RatedImage(run.folder.name, rating.item, rating.sample)
        if image not in outcomes:
            message = f"{image.run} has no sample {rating.sample} of item {rating.item}"
            unmatched.append(RowIssue(rating.line, message))
            continue
        by_rater = ratings.setdefault(image, {}).setdefault(rating.question, {})
        issue = check(run, rating)
        if not issue and rating.rater in by_rater:
            rater = f"{rating.rater} rates" if rating.rater else "without a rater, somebody rates"
            issue = f"{rater} {_format_case(Case(*image, rating.question))} twice"
        if issue:
            issues.append(RowIssue(rating.line, issue))
        by_rater[rating.rater] = rating.value
    if issues:
        raise RatingsError(format_issues(issues, file.file))
    return MatchedRatings(
        {image: outcome for image, outcome in outcomes.items() if image in ratings},
        ratings,
        tuple(natural_sort(rating.rater for rating in file.rows)),
        tuple(format_issues(unmatched)),
        sum(outcome.level in levels and image not in ratings for image, outcome in outcomes.items()),
    )
