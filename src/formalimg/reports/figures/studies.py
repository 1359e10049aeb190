"""Figures of studies of judges and raters: rates by level, runs and raters against each other, boxes, preferences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp
from typing import Any

from formalimg.benchmarks.registry import suite as find_suite
from formalimg.human_eval.agreement.boxes import BoxStudy
from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement
from formalimg.human_eval.agreement.preferences import PreferenceStudy
from formalimg.human_eval.agreement.rater_agreement import Panel
from formalimg.human_eval.agreement.score_agreement import HumanScoreStudy, JudgeScoreAgreement, ScoreGap
from formalimg.human_eval.agreement.vote_study import VoteStudy
from formalimg.reports.figures.charts import (
    BoxPlot,
    HeatMap,
    Histogram,
    HistogramBar,
    Spot,
    bar_chart,
    box_chart,
    dot_chart,
    heat_map,
    histogram,
    scatter_chart,
)
from formalimg.reports.figures.plots import (
    JUDGE,
    PEOPLE,
    Chart,
    LinePanel,
    PanelChart,
    Point,
    Series,
    known_points,
    numbered_style,
    panel_chart,
    point_of_rate,
)
from formalimg.reports.figures.svg import Figure, slug
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.runs.manifest import judge_names
from formalimg.stats.correlation import Correlation
from formalimg.stats.observations import Interval
from formalimg.types import Benchmark


def study_figures(study: Any) -> tuple[Figure, ...]:
    """Return all figures of a study of judges or raters, or of any study with a method `figures`."""
    match study:
        case VoteStudy():
            return tuple(_vote_figures(study))
        case HumanScoreStudy():
            return tuple(_human_score_figures(study))
        case BoxStudy():
            return tuple(_box_figures(study))
        case PreferenceStudy():
            return tuple(_preference_figures(study))
        case JudgeAgreement():
            return tuple(_judge_figures(study))
        case JudgeScoreAgreement():
            return tuple(_judge_score_figures(study))
        case _:
            return tuple(study.figures())


# --- votes

_BY_RUN = "Over what both decided, in percent of yes. On the dotted line both say the same."
_SHADED = "Shaded: from the rater who says yes least often to the one who does most often."
_SHADED_BY_TURN = (
    "Shaded: how far it depends on who is asked: from the lowest to the highest share of yes among the first, second, "
    "and further answers, because raters took turns."
)


def _vote_figures(study: VoteStudy) -> Iterator[Figure]:
    """Yield the figures of each step, one of the agreement between both steps, and one of points."""
    suite = find_suite(study.suite)
    people = "mean of people" if study.points is not None else "majority"
    for step, subject, panel in (
        ("whole", "whole images", study.whole),
        ("all-questions", "all questions of an image", study.all_questions),
        ("questions", "single questions", study.questions),
    ):
        if panel is not None:
            yield from _panel_figures(panel, suite, f"{suite.name}-people-{step}", subject, people, study.confidence)
    steps: dict[str, dict[str, float]] = {}
    for level in sorted({level for levels in study.divergence_by_rater.values() for level in levels}):
        for rater, levels in study.divergence_by_rater.items():
            value = levels[level].agreement.value if level in levels else None
            if value is not None:
                steps.setdefault(level_head(suite, level), {})[rater] = value
    if steps:
        title = f"{suite.title}: whole images against their questions, rater by rater"
        note = (
            "How often a rater says of an image as a whole what the answers to its questions amount to. Boxes: from "
            "quartile to quartile, with the median; whiskers: to the smallest and the largest; points: raters."
        )
        box_plot = BoxPlot(title, note, steps, "the same in both steps (%)", level_word(suite))
        yield box_chart(f"{suite.name}-people-steps", box_plot)
    if study.points is not None and any(study.points.histogram.values()):
        counts, points = study.points.histogram, range(1, 6)
        bars = (HistogramBar(n - 0.5, n + 0.5, counts.get(n, 0), f"{n} points", n >= 4) for n in points)
        title = f"{suite.title}: points that people gave"
        note = "Single ratings; dark: those with which an image would pass."
        ticks = tuple((float(n), str(n)) for n in points)
        yield histogram(f"{suite.name}-people-points", Histogram(title, note, tuple(bars), "ratings", "points", ticks))


def _panel_figures(
    panel: Panel, suite: Benchmark, name: str, subject: str, people: str, confidence: float
) -> Iterator[Figure]:
    by_level = _level_panels(panel, suite, subject, people, confidence)
    if any(series.points for line_panel in by_level.panels for series in line_panel.series):
        yield panel_chart(f"{name}-rates", by_level)
    spots = _run_spots(panel, suite)
    if spots:
        title = f"{suite.title}: people and judge, {subject}, run by run"
        note = f"{_BY_RUN} r is Pearson's, over runs."
        yield scatter_chart(f"{name}-runs", title, note, spots, people, "judge")
    yield from _rater_pairs(f"{name}-pairs", panel, f"{suite.title}: how often two say the same, {subject}", people)
    points = {
        kind: Point(share.value, share.interval, not share.left_out)
        for kind, share in panel.with_judge_by_kind.items()
        if share.value is not None
    }
    if points:
        title = f"{suite.title}: how often judge and people say the same, {subject}, by kind"
        note = f"Judge against {people}, of what both decided. Thin lines: {100 * confidence:g} % intervals."
        yield _same_chart(f"{name}-kinds", title, note, points)


def _same_chart(name: str, title: str, note: str, points: Mapping[str, Point]) -> Figure:
    """Draw how often two say the same by kind, the least often first."""
    kinds = tuple(sorted(points, key=lambda kind: (points[kind].value, kind)))
    return bar_chart(name, Chart(title, note, kinds, (Series("", JUDGE, points),), "the same (%)", percent=True))


def _level_panels(panel: Panel, suite: Benchmark, subject: str, people: str, confidence: float) -> PanelChart:
    """Return a panel for each run with the range of the raters' rates, and the judge's rates with intervals."""
    levels = sorted({score.level for score in panel.scores if score.level is not None})
    answers = [answer for answer in panel.by_turn or panel.by_rater if answer.rate.value is not None]
    raters = {answer.rater for answer in answers}
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
                answer.rate.value or 0.0 for answer in answers if (answer.run, answer.level) == (run, score.level)
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


def _run_spots(panel: Panel, suite: Benchmark) -> dict[str, list[Spot]]:
    """Return a point per run for all levels and for each level, as far as there are several runs."""
    runs = list(dict.fromkeys(score.run for score in panel.scores))
    panels = {}
    for level in (None, *sorted({score.level for score in panel.scores if score.level is not None})):
        spots = []
        for score in panel.scores:
            rated, judged = score.human_of_both.value, score.judge_of_both.value
            if score.level == level and rated is not None and judged is not None:
                spots.append(Spot(score.run, numbered_style(runs.index(score.run)), rated, judged))
        if len(spots) > 1:
            name = "all levels" if level is None else level_name(suite, level)
            correlation = _correlation_text(None if level is None else panel.r_by_run.get(level))
            panels[", ".join(filter(None, (name, correlation)))] = spots
    return panels


def _rater_pairs(name: str, panel: Panel, title: str, people: str) -> Iterator[Figure]:
    """Yield a heatmap of the share of cases in which two raters give the same answer, if there are two."""
    names = {rater: people if rater == "majority" else rater for rater in panel.matrix}
    shares = {
        (names[first], names[second]): share.value
        for first, row in panel.matrix.items()
        for second, share in row.items()
        if first != second and share.value is not None
    }
    if not shares:
        return
    low = min(shares.values())
    raters = tuple(rater for rater in names.values() if any(rater in pair for pair in shares))
    note = (
        "The share of cases in which two say the same, of those that both decided. What people say together contains "
        f"what each of them says. Palest: {low:.2f}, darkest: 1.00."
    )
    written = {pair: f"{share:.2f}" for pair, share in shares.items()}
    yield heat_map(name, HeatMap(title, note, raters, raters, shares, written, low=low, high=1))


def _correlation_text(r: Correlation | None) -> str:
    return "" if r is None or r.value is None else f"r = {r.value:.2f}"


# --- scores

_NEAR = 0.125
_SCORED_BY_BOTH = "Mean scores of the images that both scored, before any gate"


def _human_score_figures(study: HumanScoreStudy) -> Iterator[Figure]:
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
        title = f"{suite.title}: how often two agree on whether an image passes"
        yield from _rater_pairs(f"{name}-pairs", study.passing, title, "mean")


def _judge_score_figures(study: JudgeScoreAgreement) -> Iterator[Figure]:
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
        tuple((value, f"{value:+g}" if value else "0") for value in (-1.0, -0.5, 0.0, 0.5, 1.0)),
    )


def _mean_figures(
    name: str,
    title: str,
    note: str,
    pairs: Mapping[str, tuple[float | None, float | None, int]],
    sides: tuple[str, str],
) -> Iterator[Figure]:
    """Yield a figure of the mean scores of both sides, limited to the names that both sides have."""
    points: tuple[dict[str, Point], dict[str, Point]] = ({}, {})
    for head, (first, second, left_out) in pairs.items():
        if first is not None and second is not None:
            points[0][head], points[1][head] = (Point(mean, None, not left_out) for mean in (first, second))
    if points[0]:
        series = tuple(map(Series, sides, (PEOPLE._replace(dash=""), JUDGE), points))
        yield dot_chart(name, Chart(title, note, tuple(points[0]), series, "mean score", percent=False))


# --- boxes, preferences, and two judges


def _box_figures(study: BoxStudy) -> Iterator[Figure]:
    """Yield figures of the recall and precision of detected boxes, by level and by class."""
    suite = find_suite(study.suite)
    levels = {level_name(suite, level): boxes for level, boxes in study.by_level.items()}
    note = (
        f"Boxes match if they overlap by {study.iou:g} or more. {study.images:,} images. Thin lines: "
        f"{100 * study.confidence:g} % intervals."
    )
    for by, parts, draw in (("level", levels, bar_chart), ("class", study.by_class, dot_chart)):
        series = []
        for number, name in enumerate(("precision", "recall")):
            shares = {part: boxes.precision if name == "precision" else boxes.recall for part, boxes in parts.items()}
            points = {
                part: Point(share.value, share.interval) for part, share in shares.items() if share.value is not None
            }
            series.append(Series(name, numbered_style(number), points))
        names = tuple(part for part in parts if any(part in entry.points for entry in series))
        if names:
            title = f"{suite.title}: boxes that were found, by {by}"
            chart = Chart(title, note, names, tuple(series), "boxes (%)", percent=True)
            yield draw(f"{suite.name}-boxes-by-{by}", chart)


def _preference_figures(study: PreferenceStudy) -> Iterator[Figure]:
    """Yield a figure of the strength of each run: its probability of beating a run of average strength."""
    if study.overall is None:
        return

    def chance(strength: float) -> float:
        return 1 / (1 + exp(-strength))

    suite = find_suite(study.suite)
    points = {
        run.model: Point(chance(run.strength), Interval(*map(chance, run.interval)) if run.interval else None)
        for run in study.overall.models
    }
    title = f"{suite.title}: how often raters prefer a run"
    note = (
        f"Against a run of mean strength, ties aside; {study.answers:,} answers. Thin lines: "
        f"{100 * study.confidence:g} % intervals."
    )
    series = (Series("preferred", numbered_style(0), points),)
    chart = Chart(title, note, tuple(points), series, "preferred (%)", percent=True)
    yield dot_chart(f"{suite.name}-preferences", chart)


def _judge_figures(study: JudgeAgreement) -> Iterator[Figure]:
    suite = find_suite(study.suite)
    name = f"{suite.name}-judges-{slug(study.run)}"
    confidence = f"Thin lines: {100 * study.confidence:g} % intervals."
    series: list[Series] = []
    judges = (study.first, study.second)
    for judge_name, scores in zip(judge_names([judge.judge for judge in judges]), judges, strict=True):
        rates = {level_head(suite, level): point_of_rate(rate) for level, rate in scores.full_mark_by_level.items()}
        series.append(Series(judge_name, numbered_style(len(series)), known_points(rates)))
    if any(entry.points for entry in series):
        chart = PanelChart(
            f"{suite.title}: two judges over {study.run}, by level",
            f"Images that a judge left unscored are left out of its rates. {confidence}",
            tuple(level_head(suite, level) for level in sorted(study.passed_by_level)),
            (LinePanel("", tuple(series)),),
            "images that pass (%)",
            level_word(suite),
        )
        yield panel_chart(f"{name}-rates", chart)
    kinds = {
        kind or "all": Point(share.value, share.interval, not share.left_out)
        for kind, share in study.questions_by_kind.items()
        if share.value is not None
    }
    if kinds:
        title = f"{suite.title}: how often two judges say the same over {study.run}, by kind"
        yield _same_chart(f"{name}-kinds", title, f"Of single questions that both answered. {confidence}", kinds)
