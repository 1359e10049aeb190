"""Inter-rater agreement: raters and a judge over the same cases, with kappa, Krippendorff's and Cronbach's alpha."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from formalimg.stats.agreement import Consistency, MeanConsistency, consistency, consistency_matrix, mean_consistency
from formalimg.stats.correlation import Correlation, pearson, within_level_correlation
from formalimg.stats.observations import Observation, Rate, Summary
from formalimg.stats.precision_recall import Classification, classification
from formalimg.stats.ranking import RankAgreement, rank_agreement
from formalimg.stats.reliability import Reliability, cronbach_alpha, krippendorff_alpha
from formalimg.stats.summary import summarize

MAJORITY = "majority"
"""The name of the raters' majority among the raters."""

JUDGE = "judge"
"""The name of the judge among the raters."""


ALL_RUNS = "all runs"
"""The name of all runs together."""


class Case(NamedTuple):
    """An image, or a question about it, that raters answer."""

    run: str  # the run, by the name of its folder
    item: str  # the item
    sample: int  # which of the item's images
    question: int | None  # the number of the question about it, from 1; None for the image as a whole

    @property
    def belongs_to(self) -> str:
        """The item, by which cases are clustered: ratings of its images by any model are not independent."""
        return self.item


class CaseInfo(NamedTuple):
    """The level of a case's item, and the kind of question; empty for whole images."""

    level: int
    kind: str = ""


Answers: TypeAlias = Mapping[Case, bool | None]
"""The answer to each case: yes, no, or None for no answer."""


class CaseAnswers(NamedTuple):
    """The answers of the raters and the judge to one case."""

    run: str  # which case it is; see `Case`
    item: str
    sample: int
    question: int | None
    level: int  # see `CaseInfo`
    kind: str
    yes: int  # how many raters say yes, of how many
    votes: int
    human: bool | None  # the raters' joint answer; None if undecided
    judge: bool | None  # the judge's answer; None if unscored


def _case_answers(
    raters: Mapping[str, Answers], human: Answers, judge: Answers, info: Mapping[Case, CaseInfo]
) -> tuple[CaseAnswers, ...]:
    """Return the answers case by case, in the order of runs, items, samples and questions."""
    found = []
    for case in sorted(human, key=lambda case: (*case[:3], case.question or 0)):
        votes = [vote for answers in raters.values() if (vote := answers.get(case)) is not None]
        found.append(CaseAnswers(*case, *info[case], sum(votes), len(votes), human[case], judge[case]))
    return tuple(found)


def natural_sort(names: Iterable[str]) -> list[str]:
    """Return the distinct names, sorted so that rater-2 comes before rater-10."""
    return sorted(set(names), key=lambda name: ([_part(it) for it in re.split(r"([0-9]+)", name)], name))


def _part(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (0, text)


class CronbachAlpha(NamedTuple):
    """Cronbach's alpha, and whether its columns are raters."""

    alpha: Reliability  # Cronbach's alpha
    # False where less than half was rated by everybody. Then several raters take turns in each column, as in the
    # study of FormalImg, and alpha depends a little on who is in which column
    one_rater_per_column: bool


def cronbach_of_ratings(
    ratings: Sequence[Mapping[str, float]], *, items: Sequence[Hashable], confidence: float
) -> CronbachAlpha:
    """Return Cronbach's alpha of ratings.

    Each rater has a column if at least half of the units were rated by all of them. Otherwise the first rating of each
    unit, in the order of the raters' names, makes the first column, the second rating the second, …, with as many
    columns as units typically have ratings. Units with fewer ratings are left out and counted; of those with more, the
    first ones count.
    """
    raters = natural_sort(rater for row in ratings for rater in row)
    matrix = [[row.get(rater) for rater in raters] for row in ratings]
    by_rater = 2 * sum(None not in row for row in matrix) >= len(matrix)
    if not by_rater:
        columns = _typical_count(ratings)
        turns = [[rating for rating in row if rating is not None] for row in matrix]
        matrix = [(row + [None] * columns)[:columns] for row in turns]
    return CronbachAlpha(cronbach_alpha(matrix, items=items, confidence=confidence), by_rater)


def _typical_count(ratings: Sequence[Mapping[str, float]]) -> int:
    """Return the most frequent number of ratings per rated unit; of equally frequent ones the larger."""
    counts = Counter(len(row) for row in ratings if row)
    return max(counts, key=lambda number: (counts[number], number), default=0)


class PanelScore(NamedTuple):
    """The share of cases with yes, by the raters' majority and by the judge."""

    run: str  # the run
    level: int | None  # the level; None for all levels together
    human: Rate  # by the majority, over all rated cases; ties are unscored
    judge: Rate  # by the judge, over the same cases; what it left unscored may be others than the ties
    human_of_both: Rate  # the same over the cases that have both a majority and an answer of the judge
    judge_of_both: Rate


class RaterScore(NamedTuple):
    """The share of cases with yes by one rater."""

    rater: str  # the rater
    run: str  # the run
    level: int | None  # the level; None for all levels together
    rate: Rate  # over the cases of this run and level that the rater has answered


@dataclass(frozen=True)
class Panel:
    """Raters and a judge over the same cases."""

    cases: int  # how many cases were rated
    undecided: int  # for how many of these there is no majority
    # for each rater (also the majority and the judge) and each other one, how often they agree. The majority contains
    # the vote of each rater it is compared with
    matrix: Mapping[str, Mapping[str, Consistency]]
    human: MeanConsistency  # the mean pairwise agreement of raters
    alpha: Reliability  # Krippendorff's alpha of all raters, for yes/no answers
    cronbach: Reliability  # Cronbach's alpha of the same, with 1 for yes and 0 for no
    one_rater_per_column: bool  # whether Cronbach's alpha has one column for each rater; see `CronbachAlpha`
    classified: Classification  # accuracy of the judge against the majority
    with_judge: Consistency  # agreement of majority and judge
    with_judge_by_level: Mapping[int, Consistency]  # the same for parts of the cases
    with_judge_by_run: Mapping[str, Consistency]
    with_judge_by_kind: Mapping[str, Consistency]
    scores: tuple[PanelScore, ...]  # run by run, each level and then all of them
    # the correlation of the answers of majority and judge within the levels of each run: 0 for a judge who knows how
    # hard an item is, and nothing of the image
    within_levels: Correlation
    within_levels_by_run: Mapping[str, Correlation]  # the same for each run
    # for each run, the correlation of their scores over its levels: near 1 for such a judge, too
    over_levels_by_run: Mapping[str, Correlation]
    r_by_run: Mapping[int, Correlation]  # for each level, their correlation across runs
    ranks: RankAgreement  # for each level, the rank correlation of human and judge scores of the runs, and its mean
    by_rater: tuple[RaterScore, ...]  # the share of yes of each rater, run by run, each level and then all of them
    case_answers: tuple[CaseAnswers, ...]  # the answers case by case
    # where raters take turns, and answer less than half of the cases on average: the share of yes among the first,
    # second, … answers to each case, as if each were by one rater; run by run, as `by_rater`
    by_turn: tuple[RaterScore, ...]


def build_panel(
    raters: Mapping[str, Answers], majority: Answers, judge: Answers, info: Mapping[Case, CaseInfo], confidence: float
) -> Panel:
    """Compare several raters and a judge over the same cases."""
    cases = list(majority)
    items = [case.belongs_to for case in cases]
    everyone = {**raters, MAJORITY: majority, JUDGE: {case: judge[case] for case in cases}}
    item_of = dict(zip(cases, items, strict=True))
    matrix = consistency_matrix(everyone, items=item_of, confidence=confidence)

    def with_judge(chosen: Iterable[Case]) -> Consistency:
        among = list(chosen)
        pairs = [(majority[case], judge[case]) for case in among]
        return consistency(pairs, items=[case.belongs_to for case in among], confidence=confidence)

    def within_levels(chosen: Iterable[Case]) -> Correlation:
        among = list(chosen)
        return within_level_correlation(
            [(majority[case], judge[case]) for case in among],
            [(case.run, info[case].level) for case in among],
            items=[case.belongs_to for case in among],
            confidence=confidence,
        )

    levels = sorted({info[case].level for case in cases})
    runs = sorted({case.run for case in cases})
    kinds = sorted({info[case].kind for case in cases} - {""})
    scores = [score for run in runs for score in _run_scores(run, majority, judge, info, confidence)]
    votes = [{who: vote for who, own in raters.items() if (vote := own.get(case)) is not None} for case in cases]
    is_sparse = 2 * sum(map(len, votes)) < len(raters) * len(cases)
    turns = _answers_by_turn(dict(zip(cases, votes, strict=True))) if is_sparse else {}

    def correlation(chosen: Iterable[PanelScore]) -> Correlation:
        return pearson(_score_pairs(chosen), confidence)

    return Panel(
        len(cases),
        sum(answer is None for answer in majority.values()),
        matrix,
        mean_consistency(matrix, raters, answers=raters, items=item_of, confidence=confidence),
        krippendorff_alpha(
            [[own.get(case) for own in raters.values()] for case in cases], items=items, confidence=confidence
        ),
        *cronbach_of_ratings(votes, items=items, confidence=confidence),
        classification([(majority[case], judge[case]) for case in cases], items=items, confidence=confidence),
        with_judge(cases),
        {level: with_judge(case for case in cases if info[case].level == level) for level in levels},
        {run: with_judge(case for case in cases if case.run == run) for run in runs},
        {kind: with_judge(case for case in cases if info[case].kind == kind) for kind in kinds},
        tuple(scores),
        within_levels(cases),
        {run: within_levels(case for case in cases if case.run == run) for run in runs},
        {run: correlation(it for it in scores if it.run == run and it.level is not None) for run in runs},
        {level: correlation(it for it in scores if it.level == level) for level in levels},
        rank_agreement({level: _score_pairs(it for it in scores if it.level == level) for level in levels}, confidence),
        tuple(score for who, own in raters.items() for score in _rater_scores(who, own, info, confidence)),
        _case_answers(raters, majority, judge, info),
        tuple(score for turn, own in turns.items() for score in _rater_scores(turn, own, info, confidence)),
    )


def pooled_scores(panel: Panel, confidence: float) -> list[PanelScore]:
    """Return the scores of all runs of a panel together, clustered by item; none if there is one run only."""
    if len(panel.with_judge_by_run) < 2:
        return []
    answers = {Case(*it[:4]): it for it in panel.case_answers}
    human, judge = {case: it.human for case, it in answers.items()}, {case: it.judge for case, it in answers.items()}
    info = {case: CaseInfo(it.level, it.kind) for case, it in answers.items()}
    return _scores_of(ALL_RUNS, answers, human, judge, info, confidence)[-1:]


def _answers_by_turn(votes: Mapping[Case, Mapping[str, bool]]) -> dict[str, Answers]:
    """Return the first answers to all cases, the second answers, and so on, in the order of the raters."""
    answers = {case: list(by_rater.values()) for case, by_rater in votes.items()}
    return {
        f"answer {turn + 1}": {case: own[turn] for case, own in answers.items() if turn < len(own)}
        for turn in range(_typical_count(list(votes.values())))
    }


def _run_scores(
    run: str, majority: Answers, judge: Answers, info: Mapping[Case, CaseInfo], confidence: float
) -> list[PanelScore]:
    """Return the scores of each level of a run, then of all of them."""
    return _scores_of(run, [case for case in majority if case.run == run], majority, judge, info, confidence)


def _scores_of(
    name: str,
    chosen: Iterable[Case],
    majority: Answers,
    judge: Answers,
    info: Mapping[Case, CaseInfo],
    confidence: float,
) -> list[PanelScore]:
    cases = dict.fromkeys(chosen)
    both = {case for case in cases if majority[case] is not None and judge[case] is not None}

    def summary(answers: Answers, among: Set[Case]) -> Summary:
        observed = [
            Observation(case.item, info[case].level, answers[case] if case in among else None) for case in cases
        ]
        return summarize(observed, bands={}, epsilon=None, confidence=confidence)

    summaries = [summary(answers, among) for among in (cases.keys(), both) for answers in (majority, judge)]
    levels = [PanelScore(name, level, *(it.levels[level] for it in summaries)) for level in summaries[0].levels]
    return [*levels, PanelScore(name, None, *(it.overall for it in summaries))]


def _rater_scores(
    rater: str, answers: Answers, info: Mapping[Case, CaseInfo], confidence: float
) -> Iterator[RaterScore]:
    """Yield the scores of each run that a rater has answered: its levels, then all of them."""
    for run in sorted({case.run for case in answers}):
        observed = [Observation(it.item, info[it].level, yes) for it, yes in answers.items() if it.run == run]
        found = summarize(observed, bands={}, epsilon=None, confidence=confidence)
        for level, rate in [*found.levels.items(), (None, found.overall)]:
            yield RaterScore(rater, run, level, rate)


def _score_pairs(scores: Iterable[PanelScore]) -> list[tuple[float | None, float | None]]:
    """Return human and judge scores on what both decided."""
    return [(score.human_of_both.value, score.judge_of_both.value) for score in scores]
