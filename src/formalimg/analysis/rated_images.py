"""Which run is meant where a table names one, by its folder or by its model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from formalimg.analysis.human_ratings import Rating, RatingsError, Vote, VotesError
from formalimg.analysis.judge_agreement import ImageName, Opinion, Question, numbered, opinions
from formalimg.analysis.rater_agreement import JUDGE, MAJORITY, About, Answers, Case, in_order
from formalimg.analysis.rating_files import Finding, Sheet, tell
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, Outcome, RunRecord, StoredRun
from formalimg.suites import ConceptSpec

Run = TypeVar("Run", bound=RunRecord)


class MisplacedError(Exception):
    """Why a row of a table has no place among the runs."""


def run_named(name: str, runs: Sequence[Run]) -> Run:
    """The run of this folder or, if there is none, of this model.

    Raises:
        MisplacedError: if there is none, or several are of the model.
    """
    found = [run for run in runs if run.folder.name == name] or [run for run in runs if run.manifest.model.name == name]
    if not found:
        there = ", ".join(f"{run.folder.name} ({run.manifest.model.name})" for run in runs)
        raise MisplacedError(f"no run is called {name} or of that model: add its folder, or write one of {there}")
    if len(found) > 1:
        there = ", ".join(run.folder.name for run in found)
        raise MisplacedError(f"several runs are of the model {name}: write the name of a folder, one of {there}")
    return found[0]


def check_names(runs: Sequence[RunRecord]) -> None:
    """Refuses runs whose folders have the same name.

    Raises:
        FormalimgError: if there are such runs.
    """
    names = [run.folder.name for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FormalimgError(f"two of the runs are called {twice}, and nothing tells them apart: rename a folder")


@dataclass(frozen=True)
class Ballots:
    """Votes that all have their place.

    Attributes:
        suite: the benchmark.
        judges: who judged, by run; None where nobody did.
        votes: for each person, in the order of their names, the votes.
        about: for each case that was voted on, what it is about.
        judge: what the judge says to the questions and images that were voted on.
        asked: the questions about each image that was voted on.
        unscored: images that were voted on and have no verdict, by reason.
    """

    suite: str
    judges: Mapping[str, Identity | None]
    votes: Mapping[str, Answers]
    about: Mapping[Case, About]
    judge: Answers
    asked: Mapping[Case, tuple[Case, ...]]
    unscored: Mapping[str, int]


class _Asked(NamedTuple):
    """A question of an item, and what sort of question it is."""

    question: Question
    kind: str


@dataclass(frozen=True)
class _VotedRun:
    """What has to be known of a run to find the places of votes."""

    name: str
    levels: Mapping[str, int]
    opinions: Mapping[ImageName, Opinion]
    asked: Mapping[str, tuple[_Asked, ...]]


def cast(sheet: Sheet[Vote], runs: Sequence[StoredRun]) -> Ballots:
    """Finds the place of each vote.

    Raises:
        VotesError: if the table has mistakes, or votes are for what the runs do not have; all of them are named.
        FormalimgError: if the runs are of several suites, or cannot be told apart.
    """
    suite = _one_suite(runs)
    findings = list(sheet.findings)
    found: dict[str, dict[Case, bool | None]] = {rater: {} for rater in in_order(vote.rater for vote in sheet.rows)}
    about: dict[Case, About] = {}
    judge: dict[Case, bool | None] = {}
    asked: dict[Case, tuple[Case, ...]] = {}
    known: dict[str, _VotedRun] = {}
    for vote in sheet.rows:
        try:
            run = _run_of(vote, runs)
            if run.folder.name not in known:
                known[run.folder.name] = _voted_run(run)
            case = _place(vote, known[run.folder.name])
            if case in found[vote.rater]:
                raise MisplacedError(f"{vote.rater} votes twice on {_told(case)}")
        except MisplacedError as misplaced:
            findings.append(Finding(vote.line, str(misplaced)))
            continue
        found[vote.rater][case] = vote.yes
        image = case._replace(question=None)
        if image not in asked:
            cases = _cases_of(image, known[case.run])
            asked[image] = tuple(cases)[1:]
            for each, (what, said) in cases.items():
                about[each], judge[each] = what, said
    if findings:
        raise VotesError(tell(findings, sheet.file))
    voted = [known[image.run].opinions[ImageName(image.item, image.sample)] for image in asked]
    unscored = Counter(opinion.reason for opinion in voted if opinion.passed is None)
    judges = {run.folder.name: run.manifest.judge for run in runs}
    return Ballots(suite, judges, found, about, judge, asked, dict(sorted(unscored.items())))


def _one_suite(runs: Sequence[StoredRun]) -> str:
    suites = sorted({run.manifest.suite for run in runs})
    if len(suites) != 1:
        raise FormalimgError(f"votes are on runs of one suite, not of {', '.join(suites) or 'none'}: name such runs")
    check_names(runs)
    return suites[0]


def _run_of(vote: Vote, runs: Sequence[StoredRun]) -> StoredRun:
    if vote.rater in (MAJORITY, JUDGE):
        raise MisplacedError(f"the rater is called {vote.rater}, which stands for something else: use another name")
    return run_named(vote.model, runs)


def _place(vote: Vote, run: _VotedRun) -> Case:
    if vote.item not in run.levels:
        raise MisplacedError(
            f"{run.name} has no item {vote.item}: write the id of an item, as in its images/metadata.jsonl"
        )
    if ImageName(vote.item, vote.sample) not in run.opinions:
        raise MisplacedError(f"{run.name} has no sample {vote.sample} of item {vote.item}: samples are counted from 0")
    asked = len(run.asked[vote.item])
    if vote.question is not None and vote.question > asked:
        told = f"has {asked} questions, numbered from 1" if asked else "has no questions that could be known"
        raise MisplacedError(f"there is no question {vote.question}: item {vote.item} of {run.name} {told}")
    return Case(run.name, vote.item, vote.sample, vote.question)


def _voted_run(run: StoredRun) -> _VotedRun:
    said = opinions(run)
    asked: dict[str, tuple[_Asked, ...]] = {}
    for item in run.suite_items():
        if isinstance(item.spec, ConceptSpec):
            questions = numbered(concept.question for concept in item.spec.concepts)
            kinds = [concept.category for concept in item.spec.concepts]
            asked[item.id] = tuple(map(_Asked, questions, kinds))
    for image, opinion in said.items():  # other suites: what is asked stands in the verdicts alone
        if not asked.get(image.item):
            asked[image.item] = tuple(_Asked(question, it.kind) for question, it in opinion.answers.items())
    return _VotedRun(run.folder.name, {name: item.level for name, item in run.items.items()}, said, asked)


def _cases_of(image: Case, run: _VotedRun) -> dict[Case, tuple[About, bool | None]]:
    """The image itself, then its questions: what each is about, and what the judge says."""
    opinion = run.opinions[ImageName(image.item, image.sample)]
    found: dict[Case, tuple[About, bool | None]] = {image: (About(opinion.level), opinion.passed)}
    for number, (question, kind) in enumerate(run.asked[image.item], 1):
        answer = opinion.answers.get(question)
        found[image._replace(question=number)] = (About(opinion.level, kind), answer.holds if answer else None)
    return found


def _told(case: Case) -> str:
    whole = "the whole image" if case.question is None else f"question {case.question}"
    return f"{whole} of item {case.item}, sample {case.sample}, of {case.run}"


class RatedImage(NamedTuple):
    """An image that people have rated, by the folder of its run, its item and its sample."""

    run: str
    item: str
    sample: int


@dataclass(frozen=True)
class RatedImages:
    """Ratings that have their place.

    Attributes:
        outcomes: how the judge's scoring of each rated image fared, in the order of the runs.
        said: for each rated image and each question about it (None: the whole) what each person says.
        raters: the people, by name.
        without_image: ratings of items or samples that their run does not have, one line each.
        not_rated: how many images of the runs that could have been rated nobody has rated.
    """

    outcomes: Mapping[RatedImage, Outcome]
    said: Mapping[RatedImage, Mapping[int | None, Mapping[str, float]]]
    raters: tuple[str, ...]
    without_image: tuple[str, ...]
    not_rated: int


Refusal = Callable[[RunRecord, Rating], str]
"""Why a rating of an image that is there makes no sense; empty if it does."""


def place(sheet: Sheet[Rating], runs: Sequence[RunRecord], refusal: Refusal, *, levels: frozenset[int]) -> RatedImages:
    """Finds the images that ratings are about.

    Args:
        sheet: what people say.
        runs: the runs that their images are in, named by folder or by model.
        refusal: why a rating makes no sense, apart from what is said here.
        levels: the levels whose images are there to be rated.

    Raises:
        RatingsError: if the table has mistakes, or a rating names no run, is said twice, or makes no sense; all of them
            are named.
        FormalimgError: if the runs cannot be told apart.
    """
    check_names(runs)
    planned = {run.folder.name: {ImageName(it.item, it.sample): it for it in run.outcomes()} for run in runs}
    findings = list(sheet.findings)
    lost: list[Finding] = []
    said: dict[RatedImage, dict[int | None, dict[str, float]]] = {}
    for rating in sheet.rows:
        try:
            run = run_named(rating.model, runs)
        except MisplacedError as misplaced:
            findings.append(Finding(rating.line, str(misplaced)))
            continue
        image = RatedImage(run.folder.name, rating.item, rating.sample)
        if ImageName(rating.item, rating.sample) not in planned[image.run]:
            message = f"{image.run} has no sample {rating.sample} of item {rating.item}"
            lost.append(Finding(rating.line, message))
            continue
        by_question = said.setdefault(image, {}).setdefault(rating.question, {})
        wrong = refusal(run, rating) or (_said_twice(rating, image.run) if rating.rater in by_question else "")
        if wrong:
            findings.append(Finding(rating.line, wrong))
        by_question[rating.rater] = rating.value
    if findings:
        raise RatingsError(tell(findings, sheet.file))
    outcomes = {
        RatedImage(run, *image): outcome for run, inside in planned.items() for image, outcome in inside.items()
    }
    return RatedImages(
        {image: outcome for image, outcome in outcomes.items() if image in said},
        said,
        tuple(in_order(rating.rater for rating in sheet.rows)),
        tuple(tell(lost)),
        sum(outcome.level in levels and image not in said for image, outcome in outcomes.items()),
    )


def one_judge(runs: Sequence[RunRecord]) -> Identity:
    """Who judged all of these runs.

    Raises:
        FormalimgError: if nobody judged one of them, or several did: their scores do not belong together.
    """
    found: list[Identity] = []
    for run in runs:
        if run.manifest.judge is None:
            raise FormalimgError(f"nobody has judged {run.folder} yet: use `formalimg judge`")
        if run.manifest.judge not in found:
            found.append(run.manifest.judge)
    if len(found) > 1:
        names = " and ".join(sorted({judge.name for judge in found}))
        how = names if len({judge.name for judge in found}) > 1 else f"{names} with different settings"
        raise FormalimgError(f"the runs were judged by {how}: let one judge look at all of them, or name one that did")
    if not found:
        raise FormalimgError("there are no runs: name at least one")
    return found[0]


def _said_twice(rating: Rating, run: str) -> str:
    who = f"{rating.rater} rates" if rating.rater else "without a rater, somebody rates"
    what = "the whole image" if rating.question is None else f"question {rating.question}"
    return f"{who} {what} of item {rating.item}, sample {rating.sample}, of {run} twice"
