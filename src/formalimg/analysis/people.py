"""People and judges over the same images, as in the human study of ConceptMix (section 3 and appendix A)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.ballots import cast
from formalimg.analysis.cases import MAJORITY, Answers, Case
from formalimg.analysis.conduct import Conduct
from formalimg.analysis.panels import Panel, panel_of
from formalimg.analysis.points_studied import PointsStudied
from formalimg.analysis.sheets import Sheet
from formalimg.analysis.votes import Vote, sheet_of_votes
from formalimg.runs import Identity, StoredRun
from formalimg.stats import Consistency, consistency, majority
from formalimg.stats import Share as Share  # the room's front door has it from here


class Divergence(NamedTuple):
    """How often people say of an image as a whole something else than their answers to its questions amount to.

    Attributes:
        agreement: how often the two say the same; a case is a person and an image.
        yes_then_no: the share of cases with yes for the whole, and no to a question.
        no_then_yes: the share of cases with no for the whole, and yes to all questions.
    """

    agreement: Consistency
    yes_then_no: Share
    no_then_yes: Share


@dataclass(frozen=True)
class PeopleStudied:
    """What people say about images, beside what a judge says.

    Attributes:
        judges: who judged, by run; None where nobody did.
        suite: the benchmark.
        raters: the people.
        votes: how many votes they cast.
        without_votes: runs that nobody voted on.
        whole: their votes on whole images (the first step); None if there are none.
        all_questions: whether all questions of an image are answered with yes (the second step), one by one person,
            or by the majority on each question. One no decides; without it, all answers must be there.
        questions: their votes on single questions.
        divergence, divergence_by_level: between the two steps; None if no person took both on any image.
        confidence: of all intervals.
        divergence_by_rater: the same for each person, level by level.
        points: their ratings, if they gave five points; then `whole` compares what passes by these. None otherwise.
        conduct: how the raters did, as far as that is known.
        unscored: images that people voted on and the judge left unscored, by reason.
    """

    judges: Mapping[str, Identity | None]
    suite: str
    raters: tuple[str, ...]
    votes: int
    without_votes: tuple[str, ...]
    whole: Panel | None
    all_questions: Panel | None
    questions: Panel | None
    divergence: Divergence | None
    divergence_by_level: Mapping[int, Divergence]
    confidence: float
    divergence_by_rater: Mapping[str, Mapping[int, Divergence]] = field(default_factory=dict)
    points: PointsStudied | None = None
    conduct: Conduct | None = None
    unscored: Mapping[str, int] = field(default_factory=dict)

    @property
    def together(self) -> str:
        """What people say together is called: their majority or, of points, their mean."""
        return MAJORITY if self.points is None else "mean"


def study_votes(
    votes: Sequence[Vote] | str | Path, runs: Sequence[StoredRun], *, confidence: float = 0.95
) -> PeopleStudied:
    """Compares the votes of people with each other and with the judges of the runs they voted on.

    Args:
        votes: the votes, as `read_votes` gives them; or the file that they are in, whose mistakes are then named
            together with those that only the runs bring to light.
        runs: runs of one suite, each opened with the judge to compare with. Votes name them by folder or by model.
        confidence: of all intervals.

    Raises:
        VotesError: if votes make no sense, or are for images or questions that the runs do not have; all of them are
            named.
        FormalimgError: if the runs are of several suites, or cannot be told apart.
    """
    sheet = sheet_of_votes(votes) if isinstance(votes, str | Path) else Sheet("", tuple(votes))
    ballots = cast(sheet, runs)
    whole = _of_kind(ballots.votes, whole=True)
    questions = _of_kind(ballots.votes, whole=False)
    steps = {rater: _amounts_to(said, ballots.asked) for rater, said in questions.items()}
    by_question = _majorities(questions)

    def panel(raters: Mapping[str, Answers], most: Answers) -> Panel | None:
        return panel_of(raters, most, ballots.judge, ballots.about, confidence) if most else None

    def divergence(level: int | None = None, raters: Iterable[str] = tuple(ballots.votes)) -> Divergence | None:
        both = [
            (image, whole.get(rater, {}).get(image), steps.get(rater, {}).get(image))
            for rater in raters
            for image in {**whole.get(rater, {}), **steps.get(rater, {})}
            if level in (None, ballots.about[image].level)
        ]
        return _divergence(both, confidence)

    def by_level(raters: Iterable[str] = tuple(ballots.votes)) -> dict[int, Divergence]:
        levels = sorted({about.level for about in ballots.about.values()})
        return {level: found for level in levels if (found := divergence(level, raters)) is not None}

    voted = {case.run for said in ballots.votes.values() for case in said}
    return PeopleStudied(
        ballots.judges,
        ballots.suite,
        tuple(ballots.votes),
        len(sheet.rows),
        tuple(run for run in ballots.judges if run not in voted),
        panel(whole, _majorities(whole)),
        panel(steps, _amounts_to(by_question, ballots.asked)),
        panel(questions, by_question),
        divergence(),
        by_level(),
        confidence,
        {rater: apart for rater in ballots.votes if (apart := by_level([rater]))},
        unscored=ballots.unscored,
    )


def _of_kind(votes: Mapping[str, Answers], *, whole: bool) -> dict[str, Answers]:
    """The votes on whole images, or those on questions, of everyone who cast such votes."""
    found = {
        rater: {case: said for case, said in cast.items() if (case.question is None) == whole}
        for rater, cast in votes.items()
    }
    return {rater: said for rater, said in found.items() if said}


def _majorities(votes: Mapping[str, Answers]) -> dict[Case, bool | None]:
    cases = dict.fromkeys(case for said in votes.values() for case in said)
    by_case = {case: [said[case] for said in votes.values() if case in said] for case in cases}
    return {case: majority(vote for vote in those if vote is not None) for case, those in by_case.items()}


def _amounts_to(said: Answers, asked: Mapping[Case, tuple[Case, ...]]) -> dict[Case, bool | None]:
    """Whether all questions about an image are answered with yes; one no decides, and else none may be open."""
    found: dict[Case, bool | None] = {}
    for image in dict.fromkeys(case._replace(question=None) for case in said):
        answers = [said.get(question) for question in asked[image]]
        found[image] = False if False in answers else None if None in answers else True
    return found


def _divergence(both: Sequence[tuple[Case, bool | None, bool | None]], confidence: float) -> Divergence | None:
    agreement = consistency(
        [(first, second) for _, first, second in both],
        items=[case.belongs_to for case, *_ in both],
        confidence=confidence,
    )
    if not agreement.n:
        return None
    known = [(case, (first, second)) for case, first, second in both if first is not None and second is not None]

    def share(of: tuple[bool, bool]) -> Share:
        found = consistency(
            [(steps == of, True) for _, steps in known],
            items=[case.belongs_to for case, _ in known],
            confidence=confidence,
        )
        return Share(found.equal, found.n, found.value, found.interval)

    return Divergence(agreement, share((True, False)), share((False, True)))
