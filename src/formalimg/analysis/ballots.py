"""Votes put beside the runs they are about: which image, which question, and what the judge says to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.analysis.cases import JUDGE, MAJORITY, About, Answers, Case, in_order
from formalimg.analysis.findings import Finding, tell
from formalimg.analysis.opinions import ImageName, Opinion, Question, numbered, opinions
from formalimg.analysis.run_names import MisplacedError, check_names, run_named
from formalimg.analysis.sheets import Sheet
from formalimg.analysis.votes import Vote, VotesError
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, StoredRun
from formalimg.suites import ConceptSpec


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
