"""Scores of the same images by a judge and by raters, or by two judges: differences, reliability and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum, sqrt
from statistics import fmean
from typing import NamedTuple

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.human_eval.agreement.rater_agreement import (
    Case,
    CaseInfo,
    Panel,
    build_panel,
    cronbach_of_ratings,
    judge_accuracy_table,
    pairwise_table,
    panel_rows,
    rank_rows,
    rank_table,
    reliability_table,
)
from formalimg.human_eval.agreement.rating_files import natural_sort
from formalimg.human_eval.agreement.study_tables import (
    RaterAttentionSummary,
    Row,
    attention_table,
    build_table,
    count_columns,
    figure_row,
    figure_rows,
    interval_note,
    number,
    scores_headline,
    similar_names_note,
)
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Column, Number
from formalimg.runs.manifest import Identity
from formalimg.stats.agreement import Consistency, consistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.correlation import Correlation, pearson
from formalimg.stats.intervals import mean_interval
from formalimg.stats.observations import PASS_THRESHOLD, Interval, Profile
from formalimg.stats.precision_recall import Proportion
from formalimg.stats.ranking import RankAgreement, rank_agreement
from formalimg.stats.reliability import Reliability, krippendorff_alpha
from formalimg.types import Table

NEAR = 0.125  # Scores that differ by no more than this are near each other
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

_WIDTH, _BINS, _NOISE, _MAX_BAR = 0.05, 20, 1e-9, 40


class HistogramBin(NamedTuple):
    """Number of images with a difference between `low` and `high`; boundary values belong to the bin nearer to 0."""

    low: float
    high: float
    images: int


class ScorePair(NamedTuple):
    """The scores of one image by a judge and by raters, and its item."""

    judge: float | None
    human: float | None
    item: Hashable


class ScoreGap(NamedTuple):
    """The gap between judge scores and rater scores."""

    n: int  # how many images have both scores
    left_out: int  # how many have only one, or none
    judge: float | None  # the mean scores of these images; None if there are none
    human: float | None
    mean: float | None  # the mean difference, judge minus human
    interval: Interval | None  # its normal interval, clustered by item; None where the spread is unknown
    sd: float | None  # the standard deviation of the differences; None for fewer than two
    quantiles: dict[float, float]  # of the differences, by share; empty if there are none
    near: Proportion  # how many differ by no more than 0.125, with its exact interval, clustered by item
    # Pearson's correlation of the scores, with its interval over items; of several levels together, it has much of
    # how they differ
    r: Correlation
    # of the differences, in bins of 0.05, the middle one around 0; the five in the middle are `near`
    histogram: tuple[HistogramBin, ...]


def score_gap(pairs: Sequence[ScorePair], confidence: float = 0.95) -> ScoreGap:
    """Compute the gap between judge scores and human scores."""
    scored = [(judge, human, item) for judge, human, item in pairs if judge is not None and human is not None]
    differences = [judge - human for judge, human, _ in scored]
    items = [item for *_, item in scored]
    n = len(scored)
    mean = fsum(differences) / n if n else None
    quantiles: dict[float, float] = {}
    if n:
        import numpy as np

        quantiles = dict(zip(QUANTILES, np.quantile(differences, QUANTILES).tolist(), strict=True))
    near = consistency(
        [(abs(difference) <= NEAR + _NOISE, True) for difference in differences], items=items, confidence=confidence
    )
    return ScoreGap(
        n,
        len(pairs) - n,
        fsum(judge for judge, *_ in scored) / n if n else None,
        fsum(human for _, human, _ in scored) / n if n else None,
        mean,
        mean_interval(differences, confidence, items=items),
        None if mean is None or n < 2 else sqrt(fsum((value - mean) ** 2 for value in differences) / (n - 1)),
        quantiles,
        Proportion(near.equal, near.n, near.value, near.interval),
        pearson([(judge, human) for judge, human, _ in scored], confidence, items=items),
        _build_histogram(differences),
    )


class JudgeScoreDifference(NamedTuple):
    """The difference between the scores of two judges; see `ScoreGap`."""

    n: int  # how many images both scored
    left_out: int  # how many only one of them scored, or neither
    first: float | None  # the mean scores of these images; None if there are none
    second: float | None
    difference: float | None  # the mean difference, first minus second
    interval: Interval | None
    sd: float | None
    near: Proportion
    r: Correlation


def score_difference(
    pairs: Sequence[tuple[float | None, float | None, str]], confidence: float
) -> JudgeScoreDifference:
    """Compute the difference between two judges from pairs of scores, each with the item of the image."""
    gap = score_gap([ScorePair(*pair) for pair in pairs], confidence)
    means = gap.judge, gap.human, gap.mean
    return JudgeScoreDifference(gap.n, gap.left_out, *means, gap.interval, gap.sd, gap.near, gap.r)


def _build_histogram(differences: Sequence[float]) -> tuple[HistogramBin, ...]:
    steps = ((value, max(0, ceil((abs(value) - _WIDTH / 2 - _NOISE) / _WIDTH))) for value in differences)
    counts = Counter(step if value > 0 else -step for value, step in steps)

    def edge(halves: int) -> float:
        return max(-1.0, min(1.0, round(halves * _WIDTH / 2, 3)))

    return tuple(
        HistogramBin(edge(2 * number - 1), edge(2 * number + 1), counts[number]) for number in range(-_BINS, _BINS + 1)
    )


class ScoredCounts(NamedTuple):
    """Numbers of images scored by both judges, by only one of them, and by neither."""

    both: int
    only_first: int
    only_second: int
    neither: int


def count_scored(scored: Iterable[tuple[bool, bool]]) -> ScoredCounts:
    """Count images by which of the two judges scored them."""
    counts = Counter(scored)
    return ScoredCounts(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


class QuestionScores(NamedTuple):
    """The scores of two judges for one question about an image (None if unknown), and their reasons if available."""

    question: str
    dimension: str
    first: float | None
    second: float | None
    first_reason: str
    second_reason: str

    @property
    def distance(self) -> float:
        """The absolute difference of the scores; 0 if either is unknown."""
        return 0.0 if self.first is None or self.second is None else abs(self.first - self.second)


class ScoreDisagreement(NamedTuple):
    """An image scored differently by two judges, as a whole or on individual questions."""

    item: str
    sample: int
    level: int
    first: float
    second: float
    questions: tuple[QuestionScores, ...]

    @property
    def largest(self) -> QuestionScores | None:
        """The question with the largest score difference; None if all scores are equal."""
        largest = max(self.questions, key=lambda question: question.distance, default=None)
        return largest if largest is not None and largest.distance else None


@dataclass(frozen=True)
class JudgeScoreAgreement:
    """Agreement between the scores of two judges for the same images of one run, before any gate."""

    run: str  # the name of the run folder
    suite: str  # the benchmark
    first: Identity  # the judges
    second: Identity
    images: ScoredCounts  # how many images they scored
    scores: JudgeScoreDifference  # the differences of their scores
    scores_by_level: Mapping[int, JudgeScoreDifference]
    # the same for each dimension by itself: the mean of its questions
    scores_by_dimension: Mapping[str, JudgeScoreDifference]
    passed: Consistency  # how often they agree on whether an image passes, with a score of 0.5 or more
    passed_by_level: Mapping[int, Consistency]
    # the images that they score differently, the largest differences first
    disagreements: tuple[ScoreDisagreement, ...]
    profile: Profile  # the formula that sums up questions
    confidence: float  # of all intervals
    within_levels: Correlation  # the correlation of their scores within levels


class ImageScores(NamedTuple):
    """The scores of an image, from the raters and from the judge."""

    run: str  # which image it is
    item: str
    sample: int
    level: int
    tags: tuple[str, ...]  # of its item; the first is the discipline
    human: float | None  # the joint score of the raters; None if they left out questions
    judge: float | None  # the score by the judge; None if unscored
    by_rater: Mapping[str, float]  # the score by each rater who left out no question
    single: Mapping[int | None, Mapping[str, float]]  # all scores, by question (None: the whole image) and by rater


def summarize_rater_scores(
    images: Sequence[ImageScores], confidence: float
) -> tuple[
    tuple[ImageScores, ...], Mapping[str, ScoreGap], Reliability, bool, Reliability, Panel | None, RankAgreement
]:
    """Return what the scores of several raters tell, as `HumanScoreStudy` holds it from `pairs` to `ranks`."""
    units = [(image.item, by_rater) for image in images for by_rater in image.single.values()]
    items = [item for item, _ in units]
    scores = [[by_rater[rater] for rater in sorted(by_rater)] for _, by_rater in units]
    by_tag: dict[str, list[ScorePair]] = {}
    for image in images:
        if image.tags:
            by_tag.setdefault(image.tags[0], []).append(ScorePair(image.judge, image.human, image.item))
    return (
        tuple(images),
        {tag: score_gap(pairs, confidence) for tag, pairs in sorted(by_tag.items())},
        *cronbach_of_ratings([by_rater for _, by_rater in units], items=items, confidence=confidence),
        krippendorff_alpha(scores, "interval", items=items, confidence=confidence),
        _build_passing_panel(images, confidence),
        _rank_runs(images, confidence),
    )


def _build_passing_panel(images: Sequence[ImageScores], confidence: float) -> Panel | None:
    cases = {Case(image.run, image.item, image.sample, None): image for image in images if image.by_rater}
    if not cases:
        return None

    def passes(score: float | None) -> bool | None:
        return None if score is None else round(score, 9) >= PASS_THRESHOLD  # as the judge of scores rounds

    raters = natural_sort(rater for image in cases.values() for rater in image.by_rater)
    return build_panel(
        {
            rater: {case: passes(image.by_rater[rater]) for case, image in cases.items() if rater in image.by_rater}
            for rater in raters
        },
        {case: passes(image.human) for case, image in cases.items()},
        {case: passes(image.judge) for case, image in cases.items()},
        {case: CaseInfo(image.level) for case, image in cases.items()},
        confidence,
    )


def _rank_runs(images: Sequence[ImageScores], confidence: float) -> RankAgreement:
    """Return the rank correlation between raters and judge of the runs' mean scores, over images scored by both."""
    by_level: dict[int, dict[str, list[tuple[float, float]]]] = {}
    for image in images:
        pairs = by_level.setdefault(image.level, {}).setdefault(image.run, [])
        if image.human is not None and image.judge is not None:
            pairs.append((image.human, image.judge))

    def mean(scores: Iterable[float]) -> float:
        return round(fmean(scores), 9)  # so that means which differ by rounding alone share their rank

    means = {
        level: [
            (mean(human for human, _ in pairs), mean(judge for _, judge in pairs)) for pairs in by_run.values() if pairs
        ]
        for level, by_run in by_level.items()
    }
    return rank_agreement(means, confidence)


class ScoreGaps(NamedTuple):
    """Gaps between judge scores and human scores, and their correlation within the levels of each run."""

    overall: ScoreGap  # the gaps
    by_level: Mapping[int, ScoreGap]
    by_run: Mapping[str, ScoreGap]
    within_levels: Correlation  # the correlation of the scores, each relative to the mean of its run and level


@dataclass(frozen=True)
class HumanScoreStudy:
    """The scores of raters and of a judge for the same images."""

    suite: str  # the benchmark
    judge: Identity  # the judge
    raters: tuple[str, ...]  # the names of the raters
    scores: int  # how many scores they gave
    images: int  # how many images they scored
    unscored: Mapping[str, int]  # those that the judge left unscored, by reason
    incomplete: int  # those of which raters scored some questions, and not all
    without_image: tuple[str, ...]  # scores for items or samples that their run does not have, one line each
    not_rated: int  # images of the runs without human scores
    # images scored question by question, and summed up with the weights of the judge; None if there are none
    questions: ScoreGaps | None
    by_dimension: Mapping[str, ScoreGap]  # the same for each dimension by itself: the mean of its questions
    whole: ScoreGaps | None  # images scored as a whole; None if there are none
    profile: Profile  # the formula that sums up questions
    confidence: float  # of all intervals
    # image by image, the scores of raters and judge, summed up; images that were scored only as a whole have that
    # score
    pairs: tuple[ImageScores, ...]
    by_tag: Mapping[str, ScoreGap]  # the gaps of these, by the first tag of the items: their discipline
    cronbach: Reliability  # Cronbach's alpha of single scores
    one_rater_per_column: bool  # whether it has one column for each rater; see `CronbachAlpha`
    alpha: Reliability  # Krippendorff's alpha of single scores
    passing: Panel | None  # what passes, with 0.5 or more, by each rater, by the mean of all raters, and by the judge
    ranks: RankAgreement  # for each level, the rank correlation of the runs' mean scores by raters and judge
    attention: RaterAttentionSummary | None = None  # progress and attention checks of the raters; None if unknown

    @property
    def kinds(self) -> list[tuple[str, ScoreGaps]]:
        """The gaps of images scored by question and as a whole, as far as there are any."""
        kinds = (("questions, summed up", self.questions), ("whole images", self.whole))
        return [(title, gaps) for title, gaps in kinds if gaps is not None]


def score_study_tables(study: HumanScoreStudy) -> Iterator[Table]:
    """Yield the tables of score gaps, rater agreement, pass decisions and score distributions."""
    intervals = interval_note(study.confidence)
    kinds = study.kinds
    for title, gaps in kinds[:1]:
        yield scores_headline(
            f"Judge and raters: {title}",
            f"Intervals are {100 * study.confidence:g} %, for other items of the same kind.",
            gaps.overall.near,
            (gaps.overall.judge, gaps.overall.human),
            Estimate(gaps.overall.mean, gaps.overall.interval),
            gaps.within_levels,
            names=("judge", "mean of raters"),
            distance=NEAR,
        )
    for title, gaps in kinds:
        yield _build_gap_table(f"Judge minus human: {title}", study, gaps)
    passing = {} if study.passing is None else {f"images with {PASS_THRESHOLD:g} or more": study.passing}
    yield from judge_accuracy_table(passing, "mean", intervals)
    alphas = {"Cronbach's, single scores": study.cronbach, "Krippendorff's, single scores": study.alpha}
    alphas |= {f"Krippendorff's, {name}": panel.alpha for name, panel in passing.items()}
    yield reliability_table(alphas, not study.one_rater_per_column, intervals)
    ranks = {"mean scores": study.ranks, **{name: panel.ranks for name, panel in passing.items()}}
    yield from rank_table(ranks, get_suite(study.suite).level, intervals)
    for name, panel in passing.items():
        yield pairwise_table(name, panel, "mean")
    if study.attention is not None:
        yield attention_table(study.attention)
    for title, gaps in kinds:
        yield _build_histogram_table(f"Distribution of differences: {title}", gaps.overall)


def _describe_study(study: HumanScoreStudy) -> str:
    note = (
        f"{count_noun(study.scores, 'score')} by {count_noun(len(study.raters), 'rater')} of "
        f"{count_noun(study.images, 'image')}; the judge is {study.judge.name}, before any gate. Intervals are "
        f"{100 * study.confidence:g} %. Near: no more than {NEAR:g} apart, in percent."
    )
    more = {
        "Questions are summed up as in the published code": study.profile == "official-code",
        f"Not all questions scored by raters: {study.incomplete}": study.incomplete,
        **{f"Unscored by the judge ({reason}): {images}": images for reason, images in study.unscored.items()},
        f"Scores without an image: {'; '.join(study.without_image)}": study.without_image,
        f"Images without human scores: {study.not_rated}": study.not_rated,
    }
    note += "".join(f" {text}." for text, is_said in more.items() if is_said)
    return note + similar_names_note(study.raters)


def _build_gap_table(title: str, study: HumanScoreStudy, gaps: ScoreGaps) -> Table:
    level = get_suite(study.suite).level
    parts = [
        *(study.by_dimension.items() if gaps is study.questions else ()),
        *(study.by_tag.items() if len(study.by_tag) > 1 and gaps is (study.questions or study.whole) else ()),
        *((f"{level}{at}", gap) for at, gap in gaps.by_level.items()),
        *(gaps.by_run.items() if len(gaps.by_run) > 1 else ()),
        ("all", gaps.overall),
    ]
    columns: list[Column | str] = [
        *("", Column("judge", "score"), Column("human", "score"), Column("difference", "difference")),
        *(Column("sd", "score"), Column("median", "difference"), Column("near", "percent"), Column("r", "number")),
        *count_columns("n", "left out"),
    ]
    rows = (
        (
            *(name, gap.judge, gap.human, Number(gap.mean, gap.interval), gap.sd, gap.quantiles.get(0.5)),
            *(number(gap.near), number(gap.r), gap.n, gap.left_out),
        )
        for name, gap in parts
    )
    return build_table(title, _describe_study(study), columns, rows, "result")


def _build_histogram_table(title: str, gap: ScoreGap) -> Table:
    """Build a histogram table of score differences, with bins grouped by five so that the middle group is `near`."""
    bins, middle = gap.histogram, len(gap.histogram) // 2
    rows = []
    for start in range(middle - 22, middle + 23, 5):
        inside = bins[max(0, start) : start + 5]
        count = sum(part.images for part in inside)
        bar = "█" * round(_MAX_BAR * count / gap.n) if gap.n else ""
        rows.append((f"{inside[0].low:+.3f} to {inside[-1].high:+.3f}", count, bar))
    note = "Judge minus human; the JSON has finer bins."
    return build_table(title, note, ("", *count_columns("images"), ""), rows, "detail")


def score_study_rows(study: HumanScoreStudy) -> Iterator[Row]:
    """Yield the CSV rows of a human score study."""
    for title, gaps in study.kinds:
        yield from _figure_rows(gaps.overall, {"of": title})
        yield figure_row("r within levels", gaps.within_levels, of=title)
        for level, gap in gaps.by_level.items():
            yield from _figure_rows(gap, {"of": title, "level": level})
        for run, gap in gaps.by_run.items():
            yield from _figure_rows(gap, {"of": title, "run": run})
    for kind, gap in [*study.by_dimension.items(), *study.by_tag.items()]:
        yield from _figure_rows(gap, {"of": "dimensions" if kind in study.by_dimension else "fields", "kind": kind})
    alphas = (("Cronbach's alpha of people", "cronbach", ""), ("Krippendorff's alpha of people", "alpha", ""))
    yield from figure_rows(study, alphas, of="single scores")
    if study.passing is not None:
        yield from panel_rows(study.passing, "passing images")
    yield from rank_rows(study.ranks, "mean scores")


def _figure_rows(gap: ScoreGap, part: Row) -> Iterator[Row]:
    counts = {"n": gap.n, "left_out": gap.left_out}
    yield figure_row("judge minus people", Estimate(gap.mean, gap.interval), **part, **counts)
    yield figure_row("score", gap.human, **part, first="people", **counts)
    yield figure_row("score", gap.judge, **part, first="judge", **counts)
    yield from figure_rows(gap, (("near", "near", ""), ("r", "r", "")), **part)
