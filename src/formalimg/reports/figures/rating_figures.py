"""Figures on human ratings and judge comparisons: rates by level, runs against each other, and pairs of raters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formalimg.benchmarks.registry import suite as find_suite
from formalimg.human_eval.agreement.rater_agreement import Panel
from formalimg.human_eval.agreement.score_agreement import HumanScoreStudy, JudgeScoreAgreement, ScoreGap
from formalimg.human_eval.agreement.vote_study import VoteStudy
from formalimg.reports.figures.bar_charts import bar_chart, dot_chart
from formalimg.reports.figures.distributions import (
    BoxPlot,
    HeatMap,
    Histogram,
    HistogramBar,
    box_chart,
    heat_map,
    histogram,
)
from formalimg.reports.figures.figure_files import slug
from formalimg.reports.figures.line_charts import (
    LinePanel,
    PanelChart,
    Scatter,
    ScatterPanel,
    Spot,
    panel_chart,
    scatter_chart,
)
from formalimg.reports.figures.series import (
    JUDGE,
    PEOPLE,
    Chart,
    Point,
    Series,
    known_points,
    numbered_style,
    point_of_rate,
)
from formalimg.reports.figures.svg import Figure
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.runs.manifest import judge_names
from formalimg.stats.correlation import Correlation
from formalimg.stats.observations import Interval
from formalimg.types import Benchmark

_MIN_RUNS = 2

_SHADED = "Shaded: from the rater who says yes least often to the one who does most often."
_SHADED_BY_TURN = (
    "Shaded: how far it depends on who is asked: from the lowest to the highest share of yes among the first, second, "
    "and further answers, because raters took turns."
)


def rating_figures(study: VoteStudy) -> Iterator[Figure]:
    """Yield the figures of a rating study, step by step, and a figure of the agreement between both steps."""
    suite = find_suite(study.suite)
    people = "mean of people" if study.points is not None else "majority"
    for step, subject, panel in (
        ("whole", "whole images", study.whole),
        ("all-questions", "all questions of an image", study.all_questions),
        ("questions", "single questions", study.questions),
    ):
        if panel is not None:
            yield from _panel_figures(panel, suite, f"{suite.name}-people-{step}", subject, people, study.confidence)
    steps = _step_agreement(study, suite)
    if steps.figures:
        yield box_chart(f"{suite.name}-people-steps", steps)
    if study.points is not None and any(study.points.histogram.values()):
        yield histogram(f"{suite.name}-people-points", _point_histogram(study.points.histogram, suite))


def _panel_figures(
    panel: Panel, suite: Benchmark, name: str, subject: str, people: str, confidence: float
) -> Iterator[Figure]:
    """Yield the figures of one panel of raters."""
    by_level = _level_panels(panel, suite, subject, people, confidence)
    if any(series.points for line_panel in by_level.panels for series in line_panel.series):
        yield panel_chart(f"{name}-rates", by_level)
    by_run = _run_scatter(panel, suite, subject, people)
    if by_run.panels:
        yield scatter_chart(f"{name}-runs", by_run)
    pairs = _rater_pairs(panel, f"{suite.title}: how often two say the same, {subject}", people)
    if pairs.cells:
        yield heat_map(f"{name}-pairs", pairs)
    points = {
        kind: Point(share.value, share.interval, not share.left_out)
        for kind, share in panel.with_judge_by_kind.items()
        if share.value is not None
    }
    if points:
        title = f"{suite.title}: how often judge and people say the same, {subject}, by kind"
        note = f"Judge against {people}, of what both decided. Thin lines: {100 * confidence:g} % intervals."
        kinds = tuple(sorted(points, key=lambda kind: (points[kind].value, kind)))
        chart = Chart(title, note, kinds, (Series("", JUDGE, points),), "the same (%)", percent=True)
        yield bar_chart(f"{name}-kinds", chart)


def _level_panels(panel: Panel, suite: Benchmark, subject: str, people: str, confidence: float) -> PanelChart:
    """Return a panel for each run with the range of the raters' rates, and the judge's rates with intervals."""
    levels = sorted({score.level for score in panel.scores if score.level is not None})
    answers = panel.by_turn or panel.by_rater
    raters = {answer.rater for answer in answers if answer.rate.value is not None}
    panels = []
    for run in dict.fromkeys(score.run for score in panel.scores):
        rated: dict[str, Point | None] = {}
        judged: dict[str, Point | None] = {}
        spread: dict[str, Interval] = {}
        for score in panel.scores:
            if score.run != run or score.level is None:
                continue
            head = level_head(suite, score.level)
            point = point_of_rate(score.human_of_both)
            rated[head] = None if point is None else point._replace(interval=None)
            judged[head] = point_of_rate(score.judge_of_both)
            values = [
                answer.rate.value
                for answer in answers
                if (answer.run, answer.level) == (run, score.level) and answer.rate.value is not None
            ]
            if len(raters) > 1 and values:
                spread[head] = Interval(min(values), max(values))
        series = (Series(people, PEOPLE, known_points(rated)), Series("judge", JUDGE, known_points(judged)))
        shades = {people: spread} if spread else {}
        panels.append(LinePanel(run, series, shades, _correlation_text(panel.within_levels_by_run.get(run))))
    word = level_word(suite) or "levels"
    over = {run: text for run, r in panel.over_levels_by_run.items() if (text := _correlation_text(r))}
    if len(panels) == 1 and over:  # only a single panel has room for both
        within = f"{panels[0].remark} within, " if panels[0].remark else ""
        panels = [panels[0]._replace(remark=f"{within}{over[panels[0].title]} over {word}")]
    over_text = f" Over {word}: {', '.join(f'{run} {text}' for run, text in over.items())}." if over else ""
    return PanelChart(
        f"{suite.title}: people and judge, {subject}, by level",
        f"Over what both decided; hollow: not all cases. Thin lines: {100 * confidence:g} % intervals of the judge. "
        f"{_SHADED_BY_TURN if panel.by_turn else _SHADED} r is that of single answers within levels.{over_text}",
        tuple(level_head(suite, level) for level in levels),
        tuple(panels),
        suite.rated_share,
        level_word(suite),
        shaded="range of answers" if panel.by_turn else "range of raters",
    )


def _run_scatter(panel: Panel, suite: Benchmark, subject: str, people: str) -> Scatter:
    """Return scatter panels for all levels and for each level, with a point per run, if there are several runs."""
    runs = list(dict.fromkeys(score.run for score in panel.scores))
    styles = {run: numbered_style(number) for number, run in enumerate(runs)}
    panels = []
    levels = sorted({score.level for score in panel.scores if score.level is not None})
    for level in (None, *levels) if len(runs) >= _MIN_RUNS else ():
        spots = []
        for score in panel.scores:
            rated, judged = score.human_of_both.value, score.judge_of_both.value
            if score.level == level and rated is not None and judged is not None:
                spots.append(Spot(score.run, styles[score.run], rated, judged))
        name = "all levels" if level is None else level_name(suite, level)
        if len(spots) >= _MIN_RUNS:
            correlation = _correlation_text(None if level is None else panel.r_by_run.get(level))
            panels.append(ScatterPanel(", ".join(filter(None, (name, correlation))), tuple(spots)))
    title = f"{suite.title}: people and judge, {subject}, run by run"
    note = "Over what both decided, in percent of yes. On the dotted line both say the same. r is Pearson's, over runs."
    return Scatter(title, note, tuple(panels), people, "judge")


def _rater_pairs(panel: Panel, title: str, people: str) -> HeatMap:
    """Return a heatmap of pairwise rater agreement, the share of cases in which two raters give the same answer."""
    names = {rater: people if rater == "majority" else rater for rater in panel.matrix}
    shares = {
        (names[first], names[second]): share.value
        for first, row in panel.matrix.items()
        for second, share in row.items()
        if first != second and share.value is not None
    }
    low = min(shares.values(), default=0.0)
    raters = tuple(rater for rater in names.values() if any(rater in pair for pair in shares))
    note = (
        "The share of cases in which two say the same, of those that both decided. What people say together contains "
        f"what each of them says. Palest: {low:.2f}, darkest: 1.00."
    )
    written = {pair: f"{share:.2f}" for pair, share in shares.items()}
    return HeatMap(title, note, raters, raters, shares, written, low=low, high=1)


def _correlation_text(r: Correlation | None) -> str:
    return "" if r is None or r.value is None else f"r = {r.value:.2f}"


def _step_agreement(study: VoteStudy, suite: Benchmark) -> BoxPlot:
    """Return how often raters judge an image and its questions consistently, by level."""
    by_level: dict[str, dict[str, float]] = {}
    for level in sorted({level for levels in study.divergence_by_rater.values() for level in levels}):
        for rater, levels in study.divergence_by_rater.items():
            value = levels[level].agreement.value if level in levels else None
            if value is not None:
                by_level.setdefault(level_head(suite, level), {})[rater] = value
    return BoxPlot(
        f"{suite.title}: whole images against their questions, rater by rater",
        "How often a rater says of an image as a whole what the answers to its questions amount to. Boxes: from "
        "quartile to quartile, with the median; whiskers: to the smallest and the largest; points: raters.",
        by_level,
        "the same in both steps (%)",
        level_word(suite),
    )


def _point_histogram(counts: Mapping[int, int], suite: Benchmark) -> Histogram:
    points = range(1, 6)
    bars = (HistogramBar(n - 0.5, n + 0.5, counts.get(n, 0), f"{n} points", n >= 4) for n in points)
    title = f"{suite.title}: points that people gave"
    note = "Single ratings; dark: those with which an image would pass."
    return Histogram(title, note, tuple(bars), "ratings", "points", tuple((float(n), str(n)) for n in points))


# --- scores

_NEAR = 0.125
_TICKS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_SCORED_BY_BOTH = "Mean scores of the images that both scored, before any gate"


def score_rating_figures(study: HumanScoreStudy) -> Iterator[Figure]:
    """Yield figures of the differences between judge and raters by image, and of their means by level and topic."""
    suite = find_suite(study.suite)
    name = f"{suite.name}-people"
    for key, subject, gaps in (
        ("differences", "scores of images", study.questions),
        ("differences-whole", "scores of whole images", study.whole),
    ):
        if gaps is not None and gaps.overall.n:
            yield histogram(f"{name}-{key}", _gap_histogram(gaps.overall, suite, subject))
    means: dict[str, tuple[str, Mapping[str, ScoreGap]]] = {}
    scores = study.questions or study.whole
    if scores is not None:
        means["levels"] = "level", {level_head(suite, level): gap for level, gap in scores.by_level.items()}
        if len(scores.by_run) > 1:
            means["runs"] = "run", scores.by_run
    means["dimensions"] = "dimension", study.by_dimension
    means["fields"] = "field", study.by_tag
    for key, (by, by_head) in means.items():
        pairs = {head: (gap.human, gap.judge, gap.left_out) for head, gap in by_head.items()}
        title = f"{suite.title}: judge and people, by {by}"
        yield from _mean_figures(f"{name}-{key}", title, f"{_SCORED_BY_BOTH}.", pairs, ("people", "judge"))
    if study.passing is not None:
        passing = _rater_pairs(study.passing, f"{suite.title}: how often two agree on whether an image passes", "mean")
        if passing.cells:
            yield heat_map(f"{name}-pairs", passing)


def judge_score_figures(study: JudgeScoreAgreement) -> Iterator[Figure]:
    """Yield the mean scores of two judges, by level and by dimension."""
    suite = find_suite(study.suite)
    first, second = judge_names([study.first, study.second])
    note = f"{_SCORED_BY_BOTH}; {study.scores.n:,} images."
    for by, by_head in (
        ("level", {level_head(suite, level): score for level, score in study.scores_by_level.items()}),
        ("dimension", dict(study.scores_by_dimension)),
    ):
        pairs = {head: (score.first, score.second, score.left_out) for head, score in by_head.items()}
        name = f"{suite.name}-judges-{slug(study.run)}-{by}s"
        title = f"{suite.title}: two judges over {study.run}, by {by}"
        yield from _mean_figures(name, title, note, pairs, (first, second))


def _gap_histogram(gap: ScoreGap, suite: Benchmark, subject: str) -> Histogram:
    near = f"{gap.near.happened:,} of {gap.n:,} differ by no more than {_NEAR:g} (dark)"
    mean = "" if gap.mean is None else f"; mean {gap.mean:+.3f}"
    deviation = "" if gap.sd is None else f", standard deviation {gap.sd:.3f}"
    return Histogram(
        f"{suite.title}: how much higher the judge scores than people, {subject}",
        f"{near}{mean}{deviation}. Bins of 0.05.",
        tuple(
            HistogramBar(low, high, images, f"{low:+.3f} to {high:+.3f}", abs(low + high) / 2 < _NEAR)
            for low, high, images in gap.histogram
        ),
        "pictures",
        "score of the judge minus score of people",
        tuple((value, f"{value:+g}" if value else "0") for value in _TICKS),
    )


def _mean_figures(
    name: str,
    title: str,
    note: str,
    pairs: Mapping[str, tuple[float | None, float | None, int]],
    sides: tuple[str, str],
) -> Iterator[Figure]:
    """Yield a figure of the mean scores of both sides, limited to the names that both sides have."""
    means_of_both = {
        head: (first, second, left_out)
        for head, (first, second, left_out) in pairs.items()
        if first is not None and second is not None
    }
    if not means_of_both:
        return
    series = tuple(
        Series(side, style, {head: Point(means[n], None, not means[2]) for head, means in means_of_both.items()})
        for n, (side, style) in enumerate(zip(sides, (PEOPLE._replace(dash=""), JUDGE), strict=True))
    )
    yield dot_chart(name, Chart(title, note, tuple(means_of_both), series, "mean score", percent=False))
