"""Figures of human ratings: raters and judge over the same cases.

Rates over levels, run against run, and any two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.human_eval.agreement.consistency import HumanScoreStudy
from formalimg.human_eval.agreement.rater_agreement import Panel
from formalimg.human_eval.agreement.score_agreement import JudgeScoreAgreement, ScoreGap
from formalimg.human_eval.agreement.vote_study import VoteStudy
from formalimg.reports.figures.bar_charts import bar_chart, dot_chart
from formalimg.reports.figures.distributions import BoxPlot, Histogram, HistogramBar, box_chart, histogram
from formalimg.reports.figures.figure_files import slug
from formalimg.reports.figures.heatmap import HeatMap, heat_map
from formalimg.reports.figures.line_charts import LinePanel, PanelChart, panel_chart
from formalimg.reports.figures.scatter import Scatter, ScatterPanel, Spot, scatter_chart
from formalimg.reports.figures.series import Chart, Point, Series, known_points, numbered_style, point_of_rate
from formalimg.reports.figures.svg import Figure
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.runs.manifest import judge_names
from formalimg.stats.correlation import Correlation
from formalimg.stats.observations import Interval
from formalimg.types import Benchmark

PEOPLE, JUDGE = numbered_style(1)._replace(dash="3 1.5"), numbered_style(0)
"""The styles of raters and judge wherever they are side by side."""

_MIN_RUNS = 2

_SHADED = "Shaded: from the rater who says yes least often to the one who does most often."
_SHADED_BY_TURN = (
    "Shaded: how far it depends on who is asked: from the lowest to the highest share of yes among the first, second, "
    "and further answers, because raters took turns."
)


def panel_figures(
    panel: Panel, suite: Benchmark, name: str, of: str, people: str, confidence: float
) -> Iterator[Figure]:
    """Yield the figures of one panel of raters."""
    title = f"{suite.title}: people and judge, {of}, by level"
    by_level = _by_level(panel, suite, title, suite.rated_share, people, confidence)
    if any(one.points for each in by_level.panels for one in each.series):
        yield panel_chart(f"{name}-rates", by_level)
    against = _against(panel, suite, f"{suite.title}: people and judge, {of}, run by run", people)
    if against.panels:
        yield scatter_chart(f"{name}-runs", against)
    pairs = pairs_of(panel, f"{suite.title}: how often two say the same, {of}", people)
    if pairs.cells:
        yield heat_map(f"{name}-pairs", pairs)
    kinds = _by_kind(panel, suite, of, people, confidence)
    if kinds.series[0].points:
        yield bar_chart(f"{name}-kinds", kinds)


def _by_level(panel: Panel, suite: Benchmark, title: str, measure: str, people: str, confidence: float) -> PanelChart:
    """Return a panel for each run: raters with the range from one to another, and the judge with its intervals."""
    levels = sorted({score.level for score in panel.scores if score.level is not None})
    raters = panel.by_turn or panel.by_rater
    several = {one.rater for one in raters if one.rate.value is not None}
    panels = []
    for run in dict.fromkeys(score.run for score in panel.scores):
        rated: dict[str, Point | None] = {}
        judged: dict[str, Point | None] = {}
        spread: dict[str, Interval] = {}
        for score in panel.scores:
            if score.run != run or score.level is None:
                continue
            head = level_head(suite, score.level)
            both = point_of_rate(score.human_of_both)
            rated[head] = None if both is None else both._replace(interval=None)
            judged[head] = point_of_rate(score.judge_of_both)
            own = [
                one.rate.value
                for one in raters
                if (one.run, one.level) == (run, score.level) and one.rate.value is not None
            ]
            if len(several) > 1 and own:
                spread[head] = Interval(min(own), max(own))
        series = (Series(people, PEOPLE, known_points(rated)), Series("judge", JUDGE, known_points(judged)))
        shades = {people: spread} if spread else {}
        panels.append(LinePanel(run, series, shades, _r(panel.within_levels_by_run.get(run))))
    word = level_word(suite) or "levels"
    over = {run: r for run, found in panel.over_levels_by_run.items() if (r := _r(found))}
    if len(panels) == 1 and over:  # only a single panel has room for both
        within = f"{panels[0].remark} within, " if panels[0].remark else ""
        panels = [panels[0]._replace(remark=f"{within}{over[panels[0].title]} over {word}")]
    over_text = f" Over {word}: {', '.join(f'{run} {r}' for run, r in over.items())}." if over else ""
    return PanelChart(
        title,
        f"Over what both decided; hollow: not all cases. Thin lines: {100 * confidence:g} % intervals of the judge. "
        f"{_SHADED_BY_TURN if panel.by_turn else _SHADED} r is that of single answers within levels.{over_text}",
        tuple(level_head(suite, level) for level in levels),
        tuple(panels),
        measure,
        level_word(suite),
        shaded="range of answers" if panel.by_turn else "range of raters",
    )


def _against(panel: Panel, suite: Benchmark, title: str, people: str) -> Scatter:
    """Return a panel for all levels, then one for each, with a point for each run; none for fewer than two runs."""
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
            r = None if level is None else panel.r_by_run.get(level)
            panels.append(ScatterPanel(", ".join(filter(None, (name, _r(r)))), tuple(spots)))
    return Scatter(
        title,
        "Over what both decided, in percent of yes. On the dotted line both say the same. r is Pearson's, over runs.",
        tuple(panels),
        people,
        "judge",
    )


def pairs_of(panel: Panel, title: str, people: str) -> HeatMap:
    """Return the agreement of any two raters: the share of cases in which both say the same."""
    names = {who: people if who == "majority" else who for who in panel.matrix}
    shares = {
        (names[one], names[other]): found.value
        for one, row in panel.matrix.items()
        for other, found in row.items()
        if one != other and found.value is not None
    }
    low = min(shares.values(), default=0.0)
    raters = [who for who in names.values() if any(who in pair for pair in shares)]
    return HeatMap(
        title,
        "The share of cases in which two say the same, of those that both decided. What people say together contains "
        f"what each of them says. Palest: {low:.2f}, darkest: 1.00.",
        tuple(raters),
        tuple(raters),
        shares,
        {pair: f"{share:.2f}" for pair, share in shares.items()},
        low=low,
        high=1,
    )


def _by_kind(panel: Panel, suite: Benchmark, of: str, people: str, confidence: float) -> Chart:
    points = {
        kind: Point(found.value, found.interval, not found.left_out)
        for kind, found in panel.with_judge_by_kind.items()
        if found.value is not None
    }
    return Chart(
        f"{suite.title}: how often judge and people say the same, {of}, by kind",
        f"Judge against {people}, of what both decided. Thin lines: {100 * confidence:g} % intervals.",
        tuple(sorted(points, key=lambda kind: (points[kind].value, kind))),
        (Series("", JUDGE, points),),
        "the same (%)",
        percent=True,
    )


def _r(r: Correlation | None) -> str:
    return "" if r is None or r.value is None else f"r = {r.value:.2f}"


def rating_figures(study: VoteStudy) -> Iterator[Figure]:
    """Yield the figures of a study of ratings, step by step, and whether the two steps agree."""
    suite = suite_of(study.suite)
    people = "mean of people" if study.points is not None else "majority"
    for step, of, panel in (
        ("whole", "whole images", study.whole),
        ("all-questions", "all questions of an image", study.all_questions),
        ("questions", "single questions", study.questions),
    ):
        if panel is not None:
            yield from panel_figures(panel, suite, f"{suite.name}-people-{step}", of, people, study.confidence)
    steps = _steps(study, suite)
    if steps.figures:
        yield box_chart(f"{suite.name}-people-steps", steps)
    if study.points is not None and any(study.points.histogram.values()):
        yield histogram(f"{suite.name}-people-points", _points(study.points.histogram, suite))


def _steps(study: VoteStudy, suite: Benchmark) -> BoxPlot:
    """Return how often raters say the same of an image and of its questions, by level."""
    levels = sorted({level for by_level in study.divergence_by_rater.values() for level in by_level})
    figures = {
        level_head(suite, level): {
            rater: value
            for rater, by_level in study.divergence_by_rater.items()
            if level in by_level and (value := by_level[level].agreement.value) is not None
        }
        for level in levels
    }
    return BoxPlot(
        f"{suite.title}: whole images against their questions, rater by rater",
        "How often a rater says of an image as a whole what the answers to its questions amount to. Boxes: from "
        "quartile to quartile, with the median; whiskers: to the smallest and the largest; points: raters.",
        {name: of for name, of in figures.items() if of},
        "the same in both steps (%)",
        level_word(suite),
    )


def _points(counts: Mapping[int, int], suite: Benchmark) -> Histogram:
    return Histogram(
        f"{suite.title}: points that people gave",
        "Single ratings; dark: those with which an image would pass.",
        tuple(
            HistogramBar(points - 0.5, points + 0.5, counts.get(points, 0), f"{points} points", points >= 4)
            for points in range(1, 6)
        ),
        "ratings",
        "points",
        tuple((float(points), str(points)) for points in range(1, 6)),
    )


_NEAR = 0.125
_TICKS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def score_rating_figures(study: HumanScoreStudy) -> Iterator[Figure]:
    """Yield the differences between judge and raters by image, and their means by level and by what is scored."""
    suite = suite_of(study.suite)
    name = f"{suite.name}-people"
    for which, of, gaps in (
        ("differences", "scores of images", study.questions),
        ("differences-whole", "scores of whole images", study.whole),
    ):
        if gaps is not None and gaps.overall.n:
            yield histogram(f"{name}-{which}", _differences(gaps.overall, suite, of))
    sides = study.questions or study.whole
    if sides is not None:
        levels = {level_head(suite, level): gap for level, gap in sides.by_level.items()}
        yield from _means(f"{name}-levels", f"{suite.title}: judge and people, by level", levels)
        if len(sides.by_run) > 1:
            yield from _means(f"{name}-runs", f"{suite.title}: judge and people, by run", sides.by_run)
    yield from _means(f"{name}-dimensions", f"{suite.title}: judge and people, by dimension", study.by_dimension)
    yield from _means(f"{name}-fields", f"{suite.title}: judge and people, by field", study.by_tag)
    if study.passing is not None:
        pairs = pairs_of(study.passing, f"{suite.title}: how often two agree on whether an image passes", "mean")
        if pairs.cells:
            yield heat_map(f"{name}-pairs", pairs)


def judge_score_figures(study: JudgeScoreAgreement) -> Iterator[Figure]:
    """Yield the mean scores of two judges, by level and by dimension."""
    suite = suite_of(study.suite)
    name = f"{suite.name}-judges-{slug(study.run)}"
    first, second = judge_names([study.first, study.second])
    for by, sides in (
        ("level", {level_head(suite, level): it for level, it in study.scores_by_level.items()}),
        ("dimension", dict(study.scores_by_dimension)),
    ):
        there = {head: it for head, it in sides.items() if it.first is not None and it.second is not None}
        if there:
            yield dot_chart(
                f"{name}-{by}s",
                _two(
                    f"{suite.title}: two judges over {study.run}, by {by}",
                    f"Mean scores of the images that both scored, before any gate; {study.scores.n:,} images.",
                    {head: (it.first or 0.0, it.second or 0.0, it.left_out) for head, it in there.items()},
                    (first, second),
                ),
            )


def _differences(gap: ScoreGap, suite: Benchmark, of: str) -> Histogram:
    near = f"{gap.near.happened:,} of {gap.n:,} differ by no more than {_NEAR:g} (dark)"
    mean = "" if gap.mean is None else f"; mean {gap.mean:+.3f}"
    return Histogram(
        f"{suite.title}: how much higher the judge scores than people, {of}",
        f"{near}{mean}{'' if gap.sd is None else f', standard deviation {gap.sd:.3f}'}. Bins of 0.05.",
        tuple(
            HistogramBar(low, high, images, f"{low:+.3f} to {high:+.3f}", abs(low + high) / 2 < _NEAR)
            for low, high, images in gap.histogram
        ),
        "pictures",
        "score of the judge minus score of people",
        tuple((value, f"{value:+g}" if value else "0") for value in _TICKS),
    )


def _means(name: str, title: str, gaps: Mapping[str, ScoreGap]) -> Iterator[Figure]:
    there = {
        head: (gap.human, gap.judge, gap.left_out)
        for head, gap in gaps.items()
        if gap.human is not None and gap.judge is not None
    }
    if there:
        note = "Mean scores of the images that both scored, before any gate."
        yield dot_chart(name, _two(title, note, there, ("people", "judge")))


def _two(title: str, note: str, means: Mapping[str, tuple[float, float, int]], names: Sequence[str]) -> Chart:
    sides = (names[0], PEOPLE._replace(dash="")), (names[1], JUDGE)
    return Chart(
        title,
        note,
        tuple(means),
        tuple(
            Series(who, style, {head: Point(both[side], None, not both[2]) for head, both in means.items()})
            for side, (who, style) in enumerate(sides)
        ),
        "mean score",
        percent=False,
    )
