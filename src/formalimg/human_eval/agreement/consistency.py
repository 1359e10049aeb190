"""Studies of human scores: differences from the scores of a judge, and reliability of the raters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.human_eval.agreement.attention import RaterAttentionSummary, attention_table
from formalimg.human_eval.agreement.rater_agreement import (
    Case,
    CaseInfo,
    Panel,
    build_panel,
    cronbach_of_ratings,
    natural_sort,
)
from formalimg.human_eval.agreement.rater_tables import (
    judge_accuracy_table,
    pairwise_table,
    panel_rows,
    rank_rows,
    rank_table,
    reliability_table,
)
from formalimg.human_eval.agreement.score_agreement import NEAR, QUANTILES, ScoreGap, ScorePair, score_gap
from formalimg.human_eval.agreement.study_tables import (
    StudyFormat,
    build_table,
    count_columns,
    export_json,
    figure_row,
    interval_note,
    number,
    render_study,
    scores_headline,
    similar_names_note,
    study_csv_text,
)
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Column, Number
from formalimg.reports.tables.terminal import render_terminal
from formalimg.runs.manifest import Identity
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.correlation import Correlation
from formalimg.stats.observations import PASS_THRESHOLD, Profile
from formalimg.stats.ranking import RankAgreement, rank_agreement
from formalimg.stats.reliability import Reliability, krippendorff_alpha
from formalimg.types import Table

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


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


class RaterScoreSummary(NamedTuple):
    """Reliability, pass decisions and run ranks computed from the scores of several raters; see `ScoresStudied`."""

    pairs: tuple[ImageScores, ...]
    by_tag: Mapping[str, ScoreGap]
    cronbach: Reliability
    one_rater_per_column: bool
    alpha: Reliability
    passing: Panel | None
    ranks: RankAgreement


def summarize_rater_scores(images: Sequence[ImageScores], confidence: float) -> RaterScoreSummary:
    """Summarize the scores of several raters."""
    units = [(image.item, by_rater) for image in images for by_rater in image.single.values()]
    items = [item for item, _ in units]
    scores = [[by_rater[rater] for rater in sorted(by_rater)] for _, by_rater in units]
    return RaterScoreSummary(
        tuple(images),
        _measure_tags(images, confidence),
        *cronbach_of_ratings([by_rater for _, by_rater in units], items=items, confidence=confidence),
        krippendorff_alpha(scores, "interval", items=items, confidence=confidence),
        _build_passing_panel(images, confidence),
        _rank_runs(images, confidence),
    )


def _measure_tags(images: Sequence[ImageScores], confidence: float) -> dict[str, ScoreGap]:
    by_tag: dict[str, list[ScorePair]] = {}
    for image in images:
        if image.tags:
            by_tag.setdefault(image.tags[0], []).append(ScorePair(image.judge, image.human, image.item))
    return {tag: score_gap(pairs, confidence) for tag, pairs in sorted(by_tag.items())}


def _build_passing_panel(images: Sequence[ImageScores], confidence: float) -> Panel | None:
    cases = {Case(image.run, image.item, image.sample, None): image for image in images if image.by_rater}
    if not cases:
        return None
    raters = natural_sort(rater for image in cases.values() for rater in image.by_rater)
    return build_panel(
        {
            rater: {case: _passes(image.by_rater[rater]) for case, image in cases.items() if rater in image.by_rater}
            for rater in raters
        },
        {case: _passes(image.human) for case, image in cases.items()},
        {case: _passes(image.judge) for case, image in cases.items()},
        {case: CaseInfo(image.level) for case, image in cases.items()},
        confidence,
    )


def _passes(score: float | None) -> bool | None:
    return None if score is None else round(score, 9) >= PASS_THRESHOLD  # as the judge of scores rounds


def _rank_runs(images: Sequence[ImageScores], confidence: float) -> RankAgreement:
    """Return the rank correlation between raters and judge of the runs' mean scores, over images scored by both."""
    by_level: dict[int, dict[str, list[tuple[float, float]]]] = {}
    for image in images:
        pairs = by_level.setdefault(image.level, {}).setdefault(image.run, [])
        if image.human is not None and image.judge is not None:
            pairs.append((image.human, image.judge))

    def mean_scores(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
        # Rounded, so that means which differ by rounding alone share their rank.
        human, judge = (round(fsum(scores) / len(pairs), 9) for scores in zip(*pairs, strict=True))
        return human, judge

    means = {level: [mean_scores(pairs) for pairs in by_run.values() if pairs] for level, by_run in by_level.items()}
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


_QUANTILE_COLUMNS = tuple(f"q{100 * share:g}" for share in QUANTILES)
_CSV_COLUMNS = (
    *("judge", "of", "run", "level", "kind", "n", "left_out", "judge_mean", "people_mean"),
    *("difference", "difference_low", "difference_high", "sd", *_QUANTILE_COLUMNS),
    *("near", "near_low", "near_high", "r", "bin_low", "bin_high", "pictures"),
    *("r_low", "r_high", "r_within_levels"),
)
_MAX_BAR = 40


def human_scores_text(studies: Sequence[HumanScoreStudy], format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return human score studies as text in the given format."""
    return render_study(
        format,
        lambda: [table for study in studies for table in score_study_tables(study)],
        lambda: study_csv_text(_CSV_COLUMNS, (row for study in studies for row in _gap_rows(study))),
        lambda: {"scores": [export_json(study) for study in studies]},
    )


def human_scores_table(studies: Sequence[HumanScoreStudy]) -> ConsoleRenderable:
    """Return human score studies as a renderable for `rich`."""
    return render_terminal(table for study in studies for table in score_study_tables(study))


def score_study_tables(study: HumanScoreStudy) -> Iterator[Table]:
    """Yield the tables of score gaps, rater agreement, pass decisions and score distributions."""
    intervals = interval_note(study.confidence)
    kinds = _list_kinds(study)
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
    if (accuracy := judge_accuracy_table(passing, "mean", intervals)) is not None:
        yield accuracy
    alphas = {"Cronbach's, single scores": study.cronbach, "Krippendorff's, single scores": study.alpha}
    alphas |= {f"Krippendorff's, {name}": panel.alpha for name, panel in passing.items()}
    yield reliability_table(alphas, not study.one_rater_per_column, intervals)
    ranks = {"mean scores": study.ranks, **{name: panel.ranks for name, panel in passing.items()}}
    if (ranked := rank_table(ranks, get_suite(study.suite).level, intervals)) is not None:
        yield ranked
    for name, panel in passing.items():
        yield pairwise_table(name, panel, "mean")
    if study.attention is not None:
        yield attention_table(study.attention)
    for title, gaps in kinds:
        yield _build_histogram_table(f"Distribution of differences: {title}", gaps.overall)


def _list_kinds(study: HumanScoreStudy) -> list[tuple[str, ScoreGaps]]:
    kinds = (("questions, summed up", study.questions), ("whole images", study.whole))
    return [(title, gaps) for title, gaps in kinds if gaps is not None]


def _describe_study(study: HumanScoreStudy) -> str:
    note = (
        f"{count_noun(study.scores, 'score')} by {count_noun(len(study.raters), 'rater')} of "
        f"{count_noun(study.images, 'image')}; the judge is {study.judge.name}, before any gate. Intervals are "
        f"{100 * study.confidence:g} %. Near: no more than {NEAR:g} apart, in percent."
    )
    if study.profile == "official-code":
        note += " Questions are summed up as in the published code."
    if study.incomplete:
        note += f" Not all questions scored by raters: {study.incomplete}."
    for reason, images in study.unscored.items():
        note += f" Unscored by the judge ({reason}): {images}."
    if study.without_image:
        note += f" Scores without an image: {'; '.join(study.without_image)}."
    if study.not_rated:
        note += f" Images without human scores: {study.not_rated}."
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
    note = "Judge minus human; the JSON and CSV have finer bins."
    return build_table(title, note, ("", *count_columns("images"), ""), rows, "detail")


def _gap_parts(gaps: ScoreGaps) -> list[tuple[dict[str, object], ScoreGap]]:
    """Return the gap of each level and run, with the CSV columns that identify the level or run."""
    parts: list[tuple[dict[str, object], ScoreGap]] = [({"level": level}, gap) for level, gap in gaps.by_level.items()]
    return parts + [({"run": run}, gap) for run, gap in gaps.by_run.items()]


def _gap_rows(study: HumanScoreStudy) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of `human_scores_text`: one row per level or run with all figures, then the histogram bins."""
    for title, gaps in _list_kinds(study):
        name = {"judge": study.judge.name, "of": title}
        yield {**name, **_gap_columns(gaps.overall), "r_within_levels": gaps.within_levels.value}
        parts = _gap_parts(gaps)
        if gaps is study.questions:
            parts += [({"kind": dimension}, gap) for dimension, gap in study.by_dimension.items()]
        for part, gap in parts:
            yield {**name, **part, **_gap_columns(gap)}
        for low, high, images in gaps.overall.histogram:
            yield {**name, "bin_low": low, "bin_high": high, "pictures": images}


def _gap_columns(gap: ScoreGap) -> dict[str, object]:
    columns: dict[str, object] = {"n": gap.n, "left_out": gap.left_out, "judge_mean": gap.judge}
    columns |= {
        "people_mean": gap.human,
        "difference": gap.mean,
        "sd": gap.sd,
        "near": gap.near.value,
        "r": gap.r.value,
    }
    columns |= zip(_QUANTILE_COLUMNS, gap.quantiles.values(), strict=False)
    for name, interval in (("difference", gap.interval), ("near", gap.near.interval), ("r", gap.r.interval)):
        if interval is not None:
            columns |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return columns


def score_study_rows(study: HumanScoreStudy) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of a human score study, in the columns shared by all human studies."""
    for title, gaps in _list_kinds(study):
        yield from _figure_rows(gaps.overall, {"of": title})
        yield figure_row("r within levels", gaps.within_levels, of=title)
        for part, gap in _gap_parts(gaps):
            yield from _figure_rows(gap, {"of": title, **part})
    for kind, gap in [*study.by_dimension.items(), *study.by_tag.items()]:
        yield from _figure_rows(gap, {"of": "dimensions" if kind in study.by_dimension else "fields", "kind": kind})
    yield figure_row("Cronbach's alpha of people", study.cronbach, of="single scores")
    yield figure_row("Krippendorff's alpha of people", study.alpha, of="single scores")
    if study.passing is not None:
        yield from panel_rows(study.passing, "passing images")
    yield from rank_rows(study.ranks, "mean scores")


def _figure_rows(gap: ScoreGap, part: Mapping[str, object]) -> Iterator[dict[str, object]]:
    counts = {"n": gap.n, "left_out": gap.left_out}
    yield figure_row("judge minus people", Estimate(gap.mean, gap.interval), **part, **counts)
    yield {"figure": "score", **part, "first": "people", "value": gap.human, **counts}
    yield {"figure": "score", **part, "first": "judge", "value": gap.judge, **counts}
    yield figure_row("near", gap.near, **part)
    yield figure_row("r", gap.r, **part)
