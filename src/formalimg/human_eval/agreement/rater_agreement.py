"""Agreement of raters and a judge over the same cases: pairs, kappa, alpha, correlations, with tables and CSV rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeAlias

from formalimg.human_eval.agreement.rating_files import natural_sort
from formalimg.human_eval.agreement.study_tables import (
    Row,
    build_table,
    count_columns,
    figure_row,
    figure_rows,
    format_estimate,
    number,
)
from formalimg.reports.tables.format import NOTHING
from formalimg.reports.tables.model import Cell, Column
from formalimg.stats.agreement import Consistency, MeanConsistency, consistency, consistency_matrix, mean_consistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.correlation import Correlation, pearson, within_level_correlation
from formalimg.stats.observations import Observation, Rate, Summary
from formalimg.stats.precision_recall import Classification, classification
from formalimg.stats.ranking import RankAgreement, rank_agreement
from formalimg.stats.reliability import Reliability, cronbach_alpha, krippendorff_alpha
from formalimg.stats.summary import summarize
from formalimg.types import Table

MAJORITY = "majority"  # The name of the raters' majority among the raters
JUDGE = "judge"  # The name of the judge among the raters


ALL_RUNS = "all runs"  # The name of all runs together


class Case(NamedTuple):
    """A rating case: an image, or a question about an image."""

    run: str  # the run, by the name of its folder
    item: str  # the item
    sample: int  # which of the item's images
    question: int | None  # the number of the question about it, from 1; None for the image as a whole

    @property
    def belongs_to(self) -> str:
        """The item used for clustering, because ratings of images of the same item are not independent."""
        return self.item


class CaseInfo(NamedTuple):
    """The level of a case's item and its kind of question, which is empty for whole images."""

    level: int
    kind: str = ""


Answers: TypeAlias = Mapping[Case, bool | None]  # The answer to each case: yes, no, or None for no answer


class CaseAnswers(NamedTuple):
    """The answers to one case, from the raters and from the judge."""

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


class CronbachAlpha(NamedTuple):
    """Cronbach's alpha, and whether each column holds a single rater."""

    alpha: Reliability  # Cronbach's alpha
    # False where less than half was rated by everybody. Then several raters take turns in each column, as in the
    # study of FormalImg, and alpha depends a little on who is in which column
    one_rater_per_column: bool


def cronbach_of_ratings(
    ratings: Sequence[Mapping[str, float]], *, items: Sequence[Hashable], confidence: float
) -> CronbachAlpha:
    """Compute Cronbach's alpha from ratings.

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
    """Return the most frequent number of ratings per unit, preferring the larger number in a tie."""
    counts = Counter(len(row) for row in ratings if row)
    return max(counts, key=lambda number: (counts[number], number), default=0)


class PanelScore(NamedTuple):
    """The share of positive cases, according to the raters' majority and to the judge."""

    run: str  # the run
    level: int | None  # the level; None for all levels together
    human: Rate  # by the majority, over all rated cases; ties are unscored
    judge: Rate  # by the judge, over the same cases; what it left unscored may be others than the ties
    human_of_both: Rate  # the same over the cases that have both a majority and an answer of the judge
    judge_of_both: Rate


class RaterScore(NamedTuple):
    """The share of positive cases according to one rater."""

    rater: str  # the rater
    run: str  # the run
    level: int | None  # the level; None for all levels together
    rate: Rate  # over the cases of this run and level that the rater has answered


@dataclass(frozen=True)
class Panel:
    """The answers and agreement of raters and a judge over the same cases."""

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
    """Build the comparison of several raters and a judge over the same cases."""
    cases = list(majority)
    items = [case.belongs_to for case in cases]
    item_of = dict(zip(cases, items, strict=True))
    everyone = {**raters, MAJORITY: majority, JUDGE: {case: judge[case] for case in cases}}
    matrix = consistency_matrix(everyone, items=item_of, confidence=confidence)
    levels = sorted({info[case].level for case in cases})
    runs = sorted({case.run for case in cases})
    kinds = sorted({info[case].kind for case in cases} - {""})
    by_level = {level: [case for case in cases if info[case].level == level] for level in levels}
    by_run = {run: [case for case in cases if case.run == run] for run in runs}
    by_kind = {kind: [case for case in cases if info[case].kind == kind] for kind in kinds}

    def with_judge(subset: Sequence[Case]) -> Consistency:
        pairs = [(majority[case], judge[case]) for case in subset]
        return consistency(pairs, items=[case.belongs_to for case in subset], confidence=confidence)

    def within_levels(subset: Sequence[Case]) -> Correlation:
        return within_level_correlation(
            [(majority[case], judge[case]) for case in subset],
            [(case.run, info[case].level) for case in subset],
            items=[case.belongs_to for case in subset],
            confidence=confidence,
        )

    scores = [
        score for run, subset in by_run.items() for score in _score_runs(run, subset, majority, judge, info, confidence)
    ]
    score_pairs = {
        (score.run, score.level): (score.human_of_both.value, score.judge_of_both.value)
        for score in scores
        if score.level is not None
    }
    pairs_of_runs = {run: [pair for (name, _), pair in score_pairs.items() if name == run] for run in runs}
    pairs_of_levels = {level: [pair for (_, at), pair in score_pairs.items() if at == level] for level in levels}
    votes = [
        {rater: vote for rater, answers in raters.items() if (vote := answers.get(case)) is not None} for case in cases
    ]
    is_sparse = 2 * sum(map(len, votes)) < len(raters) * len(cases)
    turns = _answers_by_turn(dict(zip(cases, votes, strict=True))) if is_sparse else {}
    by_case = dict(zip(cases, votes, strict=True))
    case_answers = [
        CaseAnswers(*case, *info[case], sum(by_case[case].values()), len(by_case[case]), majority[case], judge[case])
        for case in sorted(cases, key=lambda case: (*case[:3], case.question or 0))
    ]
    units = [[answers.get(case) for answers in raters.values()] for case in cases]
    return Panel(
        len(cases),
        sum(answer is None for answer in majority.values()),
        matrix,
        mean_consistency(matrix, raters, answers=raters, items=item_of, confidence=confidence),
        krippendorff_alpha(units, items=items, confidence=confidence),
        *cronbach_of_ratings(votes, items=items, confidence=confidence),
        classification([(majority[case], judge[case]) for case in cases], items=items, confidence=confidence),
        with_judge(cases),
        {level: with_judge(subset) for level, subset in by_level.items()},
        {run: with_judge(subset) for run, subset in by_run.items()},
        {kind: with_judge(subset) for kind, subset in by_kind.items()},
        tuple(scores),
        within_levels(cases),
        {run: within_levels(subset) for run, subset in by_run.items()},
        {run: pearson(pairs, confidence) for run, pairs in pairs_of_runs.items()},
        {level: pearson(pairs, confidence) for level, pairs in pairs_of_levels.items()},
        rank_agreement(pairs_of_levels, confidence),
        tuple(score for rater, answers in raters.items() for score in _score_rater(rater, answers, info, confidence)),
        tuple(case_answers),
        tuple(score for turn, answers in turns.items() for score in _score_rater(turn, answers, info, confidence)),
    )


def pool_scores(panel: Panel, confidence: float) -> list[PanelScore]:
    """Return the scores of all runs of a panel pooled, clustered by item; empty for a single run."""
    if len(panel.with_judge_by_run) < 2:
        return []
    answers = {Case(*answer[:4]): answer for answer in panel.case_answers}
    human = {case: answer.human for case, answer in answers.items()}
    judge = {case: answer.judge for case, answer in answers.items()}
    info = {case: CaseInfo(answer.level, answer.kind) for case, answer in answers.items()}
    return _score_runs(ALL_RUNS, [*answers], human, judge, info, confidence)[-1:]


def _answers_by_turn(votes: Mapping[Case, Mapping[str, bool]]) -> dict[str, Answers]:
    """Regroup the votes by position: the first answer to each case, the second, and so on, in rater order."""
    answers = {case: list(by_rater.values()) for case, by_rater in votes.items()}
    return {
        f"answer {turn + 1}": {case: values[turn] for case, values in answers.items() if turn < len(values)}
        for turn in range(_typical_count(list(votes.values())))
    }


def _score_runs(
    name: str,
    cases: Sequence[Case],
    majority: Answers,
    judge: Answers,
    info: Mapping[Case, CaseInfo],
    confidence: float,
) -> list[PanelScore]:
    decided = {case for case in cases if majority[case] is not None and judge[case] is not None}

    def summarize_answers(answers: Answers, subset: Set[Case]) -> Summary:
        values = [Observation(case.item, info[case].level, answers[case] if case in subset else None) for case in cases]
        return summarize(values, bands={}, epsilon=None, confidence=confidence)

    subsets = ({*cases}, decided)
    summaries = [summarize_answers(answers, subset) for subset in subsets for answers in (majority, judge)]
    levels = [PanelScore(name, at, *(summary.levels[at] for summary in summaries)) for at in summaries[0].levels]
    return [*levels, PanelScore(name, None, *(summary.overall for summary in summaries))]


def _score_rater(
    rater: str, answers: Answers, info: Mapping[Case, CaseInfo], confidence: float
) -> Iterator[RaterScore]:
    for run in sorted({case.run for case in answers}):
        values = [Observation(case.item, info[case].level, yes) for case, yes in answers.items() if case.run == run]
        summary = summarize(values, bands={}, epsilon=None, confidence=confidence)
        for level, rate in [*summary.levels.items(), (None, summary.overall)]:
            yield RaterScore(rater, run, level, rate)


_MAX_HEAD_LETTERS = 72  # So many letters of names fit side by side, in terminals and on paper


_ACCURACY = {
    "accuracy": "accuracy",
    "F1": "f1",
    "recall (sensitivity)": "recall",
    "specificity": "specificity",
    "precision": "precision",
    "balanced accuracy": "balanced_accuracy",
}


def judge_accuracy_table(panels: Mapping[str, Panel], joint: str, intervals: str) -> Iterator[Table]:
    """Yield the accuracy of the judge against the raters, with exclusions, if any case is comparable."""
    if not any(panel.classified.n for panel in panels.values()):
        return
    counts = [
        {
            **panel.classified.confusion._asdict(),
            # Where both reasons hold, the first counts.
            f"left out, no {joint}": panel.undecided,
            "left out, no verdict": sum(case.judge is None and case.human is not None for case in panel.case_answers),
        }
        for panel in panels.values()
    ]
    rows: list[list[Cell]] = [
        [name, *(number(getattr(panel.classified, field)) for panel in panels.values())]
        for name, field in _ACCURACY.items()
    ]
    rows += [[name.replace("_", " "), *(str(values[name]) for values in counts)] for name in counts[0]]
    yield build_table(
        f"Judge accuracy against the {joint} of raters",
        f"In percent, {intervals}. Positive: the judge says yes. True: so do the raters, by {joint}. Cases without "
        f"a {joint} or without a verdict are left out.",
        ("", *(Column(name, "percent") for name in panels)),
        rows,
        "result",
    )


def reliability_table(alphas: Mapping[str, Reliability], by_turns: bool, intervals: str) -> Table:
    """Return the table of inter-rater reliability."""
    note = f"Alpha, {intervals}: 1 if all rate alike, 0 if only by chance. Left out: what too few have rated. "
    if any(alpha.value is None for alpha in alphas.values()):
        note += (
            f"{NOTHING} stands where there is nothing to compare: fewer than two raters or images, or ratings (for "
            "Cronbach's their sums) that are all the same. "
        )
    note += (
        "Less than half was rated by everybody, so raters take turns in the columns of Cronbach's."
        if by_turns
        else "Cronbach's has one column for each rater, and only what all of them rated."
    )
    rows = ((name, format_estimate(alpha), alpha.n, alpha.left_out) for name, alpha in alphas.items())
    columns: tuple[Column | str, ...] = ("", Column("alpha", align="right"), *count_columns("n", "left out"))
    return build_table("Inter-rater reliability", note, columns, rows, "result")


def rank_table(ranks: Mapping[str, RankAgreement], level: str, intervals: str) -> Iterator[Table]:
    """Yield the rank correlation of runs between raters and judge, by level, if anything can be ranked."""
    if all(agreement.mean is None for agreement in ranks.values()):
        return
    levels = sorted({at for agreement in ranks.values() for at in agreement.by_level})
    rows: list[list[Cell]] = [
        [str(at), *(number(agreement.by_level.get(at)) for agreement in ranks.values())] for at in levels
    ]
    means = (Estimate(agreement.mean, agreement.interval) for agreement in ranks.values())
    rows.append(["mean", *map(format_estimate, means)])
    yield build_table(
        "Rank correlation of runs by raters and judge",
        f"Spearman's correlation of their scores, {intervals} from four runs on. Each {level} that has one weighs the "
        "same in the mean, whose interval is as wide as that of one level: all levels rank the same runs.",
        (level, *(Column(name, "number") for name in ranks)),
        rows,
        "result",
    )


def pairwise_table(name: str, panel: Panel, joint: str) -> Table:
    """Return the pairwise agreement of all raters, their joint rating and the judge."""
    mean = panel.human
    bounds = f" ({100 * mean.interval.low:.1f}–{100 * mean.interval.high:.1f})" if mean.interval else ""
    note = f"How often they agree, in percent. The {joint} contains the ratings of each rater. " + (
        "No two raters rated the same." if mean.value is None else f"Mean over pairs: {100 * mean.value:.1f}{bounds}."
    )
    if mean.left_out and mean.pairs:
        note += f" Pairs of raters with nothing in common, left out of that: {mean.left_out}."
    names = {rater: joint if rater == MAJORITY else rater for rater in panel.matrix}
    if sum(map(len, names.values())) <= _MAX_HEAD_LETTERS:
        return build_table(
            f"Pairwise agreement: {name}",
            note,
            ("", *(Column(head, "percent") for head in names.values())),
            (
                (names[rater], *(pairs[second].value if second in pairs else "" for second in names))
                for rater, pairs in panel.matrix.items()
            ),
        )
    raters = [rater for rater in panel.matrix if rater not in (MAJORITY, JUDGE)]
    rows: list[list[Cell]] = []
    for rater in raters:
        pairs = panel.matrix[rater]
        shares = [share for second in raters if second != rater and (share := pairs[second].value) is not None]
        average = sum(shares) / len(shares) if shares else None
        rows.append([rater, average, pairs[MAJORITY].value, pairs[JUDGE].value])
    return build_table(
        f"Agreement per rater: {name}",
        f"{note} Other raters: the mean over all of them who rated the same. The JSON holds all pairs.",
        ("", *(Column(head, "percent") for head in ("other raters", joint, "judge"))),
        rows,
    )


def panel_rows(panel: Panel, unit: str) -> Iterator[Row]:
    """Yield the CSV rows of a panel, with `unit` in the column `of`."""
    for score in panel.scores:
        for figure, rater, rate in (
            ("score", MAJORITY, score.human),
            ("score", JUDGE, score.judge),
            ("score on what both decided", MAJORITY, score.human_of_both),
            ("score on what both decided", JUDGE, score.judge_of_both),
        ):
            yield figure_row(figure, rate, of=unit, run=score.run, level=score.level, first=rater)
    pair = {"of": unit, "first": MAJORITY, "second": JUDGE}
    yield from figure_rows(panel, [("agreement", f"with_judge_by_{by}", by) for by in ("level", "run", "kind")], **pair)
    for first, second in combinations(panel.matrix, 2):
        yield figure_row("agreement", panel.matrix[first][second], of=unit, first=first, second=second)
    figures = (
        ("mean agreement of people", "human", ""),
        ("Krippendorff's alpha of people", "alpha", ""),
        ("Cronbach's alpha of people", "cronbach", ""),
    )
    yield from figure_rows(panel, figures, of=unit)
    counts = {"n": panel.classified.n, "left_out": panel.classified.left_out}
    for row in figure_rows(panel.classified, [(name, field, "") for name, field in _ACCURACY.items()], **pair):
        yield {**counts, **row}
    correlations = (
        ("r within levels", "within_levels", ""),
        ("r within levels", "within_levels_by_run", "run"),
        ("r over levels", "over_levels_by_run", "run"),
        ("r from run to run", "r_by_run", "level"),
    )
    yield from figure_rows(panel, correlations, **pair)
    yield from rank_rows(panel.ranks, unit)
    for rater, run, level, rate in panel.by_rater:
        yield figure_row("score", rate, of=unit, run=run, level=level, first=rater)


def rank_rows(ranks: RankAgreement, unit: str) -> Iterator[Row]:
    """Yield the CSV rows of the rank correlation of runs, by level and on average."""
    pair = {"of": unit, "first": MAJORITY, "second": JUDGE}
    yield from figure_rows(ranks, (("rank correlation of runs", "by_level", "level"),), **pair)
    counts = {"n": ranks.levels, "left_out": ranks.left_out}
    yield figure_row("mean rank correlation of runs", Estimate(ranks.mean, ranks.interval), **pair, **counts)
