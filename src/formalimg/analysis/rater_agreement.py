"""What people say yes or no to: images, and questions about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from formalimg.stats import (
    Classification,
    Consistency,
    Correlation,
    MeanConsistency,
    Observation,
    RankAgreement,
    Rate,
    Reliability,
    Summary,
    classification,
    consistency,
    consistency_matrix,
    cronbach_alpha,
    krippendorff_alpha,
    mean_consistency,
    pearson,
    rank_agreement,
    summarize,
)

MAJORITY, JUDGE = "majority", "judge"
"""What the majority of people and the judge are called among the raters."""


class Case(NamedTuple):
    """What people vote on.

    Attributes:
        run: the run, by the name of its folder.
        item: the item.
        sample: which of the item's images.
        question: the number of the question about it, from 1; None for the image as a whole.
    """

    run: str
    item: str
    sample: int
    question: int | None

    @property
    def belongs_to(self) -> str:
        """The item. What is said about its images, whichever model made them, is not independent."""
        return self.item


class About(NamedTuple):
    """The level of a case's item, and what sort of question it is; empty for whole images."""

    level: int
    kind: str = ""


Answers: TypeAlias = Mapping[Case, bool | None]
"""Yes, no or none, by case."""


class CaseSaid(NamedTuple):
    """What people and the judge say to one case.

    Attributes:
        run, item, sample, question: which case it is; see `Case`.
        level, kind: what it is about; see `About`.
        yes, votes: how many people say yes, of how many.
        people: what they say together; None if that is open.
        judge: what the judge says; None if it says nothing.
    """

    run: str
    item: str
    sample: int
    question: int | None
    level: int
    kind: str
    yes: int
    votes: int
    people: bool | None
    judge: bool | None


def said_to_each(
    raters: Mapping[str, Answers], people: Answers, judge: Answers, about: Mapping[Case, About]
) -> tuple[CaseSaid, ...]:
    """What people and the judge say, case by case, in the order of runs, items, samples and questions."""
    found = []
    for case in sorted(people, key=lambda case: (*case[:3], case.question or 0)):
        votes = [vote for said in raters.values() if (vote := said.get(case)) is not None]
        found.append(CaseSaid(*case, *about[case], sum(votes), len(votes), people[case], judge[case]))
    return tuple(found)


def in_order(names: Iterable[str]) -> list[str]:
    """Names sorted so that rater-2 comes before rater-10; each once."""
    return sorted(set(names), key=lambda name: ([_part(it) for it in re.split(r"([0-9]+)", name)], name))


def _part(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (0, text)


class ColumnsAlpha(NamedTuple):
    """Cronbach's alpha, and what its columns are.

    Attributes:
        alpha: Cronbach's alpha.
        one_rater_per_column: False where less than half was rated by everybody. Then several people take turns in each
            column, as in the study of FormalImg, and alpha depends a little on who sits where.
    """

    alpha: Reliability
    one_rater_per_column: bool


def alpha_of_columns(
    ratings: Sequence[Mapping[str, float]], *, items: Sequence[Hashable], confidence: float
) -> ColumnsAlpha:
    """Cronbach's alpha of what people gave.

    Each person has a column if at least half of the objects were rated by all of them. Otherwise the first rating of
    each object, in the order of the raters' names, makes the first column, the second rating the second, …, with
    as many columns as objects usually have ratings. Objects with fewer ratings are left out and counted; of those with
    more, the first ones count.

    Args:
        ratings: for each object that was rated, what each person gave to it.
        items: for each object the item it belongs to.
        confidence: of the interval.
    """
    raters = in_order(rater for row in ratings for rater in row)
    given = [[row.get(rater) for rater in raters] for row in ratings]
    everybody = 2 * sum(None not in row for row in given) >= len(given)
    if not everybody:
        columns = usual_number(ratings)
        turns = [[rating for rating in row if rating is not None] for row in given]
        given = [(row + [None] * columns)[:columns] for row in turns]
    return ColumnsAlpha(cronbach_alpha(given, items=items, confidence=confidence), everybody)


def usual_number(ratings: Sequence[Mapping[str, float]]) -> int:
    """How many ratings most objects have, of those that have any; the larger of two numbers that are equally usual."""
    counts = Counter(len(row) for row in ratings if row)
    return max(counts, key=lambda number: (counts[number], number), default=0)


class Score(NamedTuple):
    """The share of cases that people (by majority) and the judge say yes to.

    Attributes:
        run: the run.
        level: the level; None for all levels together.
        people: by the majority, over all cases that people voted on; ties are unscored.
        judge: by the judge, over the same cases; what it left unscored may be others than the ties.
        people_of_both, judge_of_both: the same over the cases that have both a majority and an answer of the judge.
    """

    run: str
    level: int | None
    people: Rate
    judge: Rate
    people_of_both: Rate
    judge_of_both: Rate


class RaterScore(NamedTuple):
    """The share of cases that one person says yes to.

    Attributes:
        rater: the person.
        run: the run.
        level: the level; None for all levels together.
        rate: over the cases of this run and level that the person has answered.
    """

    rater: str
    run: str
    level: int | None
    rate: Rate


@dataclass(frozen=True)
class Panel:
    """People and a judge over the same cases.

    Attributes:
        cases: how many cases people voted on.
        undecided: for how many of these there is no majority.
        matrix: for each rater (also the majority and the judge) and each other one, how often they say the same. The
            majority contains the vote of each rater it is compared with.
        people: the mean consistency of any two people.
        alpha: Krippendorff's alpha of all people, for answers that are yes or no.
        cronbach: Cronbach's alpha of the same, with 1 for yes and 0 for no.
        one_rater_per_column: whether Cronbach's alpha has one column for each person; see `ColumnsAlpha`.
        classified: how well the judge tells what the majority says.
        with_judge: how often majority and judge say the same.
        with_judge_by_level, with_judge_by_run, with_judge_by_kind: the same for parts of the cases.
        scores: run by run, each level and then all of them.
        r_by_level: for each run, how the scores of people and judge on the cases of both go together from level to
            level.
        r_by_run: for each level, how they go together from run to run.
        ranks: for each level, how alike people and judge rank the runs by the same scores, and the mean of that.
        by_rater: the share of yes of each person, run by run, each level and then all of them.
        told: what people and the judge say, case by case.
        by_turn: where people take turns, and answer less than half of the cases on average: the share of yes among the
            first, second, … answers to each case, as if each were one person's; run by run, as `by_rater`.
    """

    cases: int
    undecided: int
    matrix: Mapping[str, Mapping[str, Consistency]]
    people: MeanConsistency
    alpha: Reliability
    cronbach: Reliability
    one_rater_per_column: bool
    classified: Classification
    with_judge: Consistency
    with_judge_by_level: Mapping[int, Consistency]
    with_judge_by_run: Mapping[str, Consistency]
    with_judge_by_kind: Mapping[str, Consistency]
    scores: tuple[Score, ...]
    r_by_level: Mapping[str, Correlation]
    r_by_run: Mapping[int, Correlation]
    ranks: RankAgreement
    by_rater: tuple[RaterScore, ...]
    told: tuple[CaseSaid, ...]
    by_turn: tuple[RaterScore, ...]


def panel_of(
    raters: Mapping[str, Answers], majority: Answers, judge: Answers, about: Mapping[Case, About], confidence: float
) -> Panel:
    """What several people and a judge say about the same cases.

    Args:
        raters: what each person says.
        majority: what they say together, such as most of them, to each case that anybody voted on.
        judge: what the judge says.
        about: what the cases are about.
        confidence: of all intervals.
    """
    cases = list(majority)
    items = {case: case.belongs_to for case in cases}
    everyone = {**raters, MAJORITY: majority, JUDGE: {case: judge[case] for case in cases}}
    matrix = consistency_matrix(everyone, items=items, confidence=confidence)

    def with_judge(chosen: Iterable[Case]) -> Consistency:
        those = list(chosen)
        pairs = [(majority[case], judge[case]) for case in those]
        return consistency(pairs, items=[items[case] for case in those], confidence=confidence)

    belongs = [items[case] for case in cases]
    levels = sorted({about[case].level for case in cases})
    runs = sorted({case.run for case in cases})
    kinds = sorted({about[case].kind for case in cases} - {""})
    scores = [score for run in runs for score in _scores(run, majority, judge, about, confidence)]
    given = [{who: vote for who, said in raters.items() if (vote := said.get(case)) is not None} for case in cases]
    columns = alpha_of_columns(given, items=belongs, confidence=confidence)
    few = 2 * sum(map(len, given)) < len(raters) * len(cases)
    turns = _by_turn(dict(zip(cases, given, strict=True))) if few else {}
    return Panel(
        len(cases),
        sum(said is None for said in majority.values()),
        matrix,
        mean_consistency(matrix, raters),
        krippendorff_alpha(
            [[said.get(case) for said in raters.values()] for case in cases], items=belongs, confidence=confidence
        ),
        *columns,
        classification([(majority[case], judge[case]) for case in cases], items=belongs, confidence=confidence),
        with_judge(cases),
        {level: with_judge(case for case in cases if about[case].level == level) for level in levels},
        {run: with_judge(case for case in cases if case.run == run) for run in runs},
        {kind: with_judge(case for case in cases if about[case].kind == kind) for kind in kinds},
        tuple(scores),
        {
            run: _r([score for score in scores if score.run == run and score.level is not None], confidence)
            for run in runs
        },
        {level: _r([score for score in scores if score.level == level], confidence) for level in levels},
        rank_agreement(
            {level: _on_both(score for score in scores if score.level == level) for level in levels}, confidence
        ),
        tuple(score for who, said in raters.items() for score in _scores_of(who, said, about, confidence)),
        said_to_each(raters, majority, judge, about),
        tuple(score for turn, said in turns.items() for score in _scores_of(turn, said, about, confidence)),
    )


def _by_turn(given: Mapping[Case, Mapping[str, bool]]) -> dict[str, Answers]:
    """The first answers to all cases, the second answers, and so on, in the order of the raters."""
    answers = {case: list(said.values()) for case, said in given.items()}
    return {
        f"answer {turn + 1}": {case: said[turn] for case, said in answers.items() if turn < len(said)}
        for turn in range(usual_number(list(given.values())))
    }


def _scores(run: str, majority: Answers, judge: Answers, about: Mapping[Case, About], confidence: float) -> list[Score]:
    """Each level of a run, then all of them."""
    cases = {case: None for case in majority if case.run == run}
    both = {case for case in cases if majority[case] is not None and judge[case] is not None}

    def summary(said: Answers, among: Set[Case]) -> Summary:
        seen = [Observation(case.item, about[case].level, said[case] if case in among else None) for case in cases]
        return summarize(seen, bands={}, epsilon=None, confidence=confidence)

    wholes = [summary(said, among) for among in (cases.keys(), both) for said in (majority, judge)]
    levels = [Score(run, level, *(whole.levels[level] for whole in wholes)) for level in wholes[0].levels]
    return [*levels, Score(run, None, *(whole.overall for whole in wholes))]


def _scores_of(rater: str, said: Answers, about: Mapping[Case, About], confidence: float) -> Iterator[RaterScore]:
    """Each run that a person has answered about: its levels, then all of them."""
    for run in sorted({case.run for case in said}):
        seen = [Observation(it.item, about[it].level, yes) for it, yes in said.items() if it.run == run]
        found = summarize(seen, bands={}, epsilon=None, confidence=confidence)
        for level, rate in [*found.levels.items(), (None, found.overall)]:
            yield RaterScore(rater, run, level, rate)


def _r(scores: list[Score], confidence: float) -> Correlation:
    return pearson(_on_both(scores), confidence)


def _on_both(scores: Iterable[Score]) -> list[tuple[float | None, float | None]]:
    """What people and judge give, on what both decided."""
    return [(score.people_of_both.value, score.judge_of_both.value) for score in scores]
