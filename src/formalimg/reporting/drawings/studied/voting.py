"""People and a judge over the same cases.

Rates over levels (Figure 3 of FormalImg and of ConceptMix), run against run (Figure 3b of ConceptMix), and any two of
them (its Figure 11).
"""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.analysis import Panel
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.heat import HeatMap, heat_map
from formalimg.reporting.drawings.looks import numbered_look
from formalimg.reporting.drawings.panels import LinePanel, Panels, panel_chart
from formalimg.reporting.drawings.rows import bar_chart
from formalimg.reporting.drawings.scatter import Scatter, ScatterPanel, Spot, scatter_chart
from formalimg.reporting.drawings.series import Chart, Point, Series, known_points, point_of_rate
from formalimg.reporting.words import level_head, level_name, level_word
from formalimg.stats import Correlation, Interval
from formalimg.suites import Suite

PEOPLE, JUDGE = numbered_look(1)._replace(dash="3 1.5"), numbered_look(0)
"""How people and judge look wherever they stand beside each other."""

_FEWEST_RUNS = 2

_SHADED = "Shaded: from the person who says yes least often to the one who does most often."
_SHADED_BY_TURN = (
    "Shaded: how far it depends on who is asked: from the lowest to the highest share of yes among the first, second, "
    "and further answers, because people took turns."
)


def drawings_of_panel(
    panel: Panel, suite: Suite, name: str, of: str, people: str, confidence: float
) -> Iterator[Drawing]:
    """The figures of one panel.

    Args:
        panel: what people and judge say.
        suite: the suite that the images are of.
        name: what the names of the figures begin with.
        of: what is voted on, such as `whole images`.
        people: what stands for all people together, such as `majority of people`.
        confidence: of all intervals.
    """
    measure = "images that pass (%)" if suite.kind != "concepts" else "yes (%)"
    by_level = _by_level(panel, suite, f"{suite.title}: people and judge, {of}, by level", measure, people, confidence)
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


def _by_level(panel: Panel, suite: Suite, title: str, measure: str, people: str, confidence: float) -> Panels:
    """A panel for each run: people with the range from one person to another, and the judge with its intervals."""
    levels = sorted({score.level for score in panel.scores if score.level is not None})
    persons = panel.by_turn or panel.by_rater
    several = {one.rater for one in persons if one.rate.value is not None}
    panels = []
    for run in dict.fromkeys(score.run for score in panel.scores):
        said: dict[str, Point | None] = {}
        judged: dict[str, Point | None] = {}
        spread: dict[str, Interval] = {}
        for score in panel.scores:
            if score.run != run or score.level is None:
                continue
            head = level_head(suite, score.level)
            both = point_of_rate(score.people_of_both)
            said[head] = None if both is None else both._replace(interval=None)
            judged[head] = point_of_rate(score.judge_of_both)
            own = [
                one.rate.value
                for one in persons
                if (one.run, one.level) == (run, score.level) and one.rate.value is not None
            ]
            if len(several) > 1 and own:
                spread[head] = Interval(min(own), max(own))
        series = (Series(people, PEOPLE, known_points(said)), Series("judge", JUDGE, known_points(judged)))
        shades = {people: spread} if spread else {}
        panels.append(LinePanel(run, series, shades, _r(panel.r_by_level.get(run))))
    return Panels(
        title,
        f"Over what both decided; hollow: not all cases. Thin lines: {100 * confidence:g} % intervals of the judge. "
        f"{_SHADED_BY_TURN if panel.by_turn else _SHADED} r is Pearson's, over levels.",
        tuple(level_head(suite, level) for level in levels),
        tuple(panels),
        measure,
        level_word(suite),
        shaded="range of answers" if panel.by_turn else "range of persons",
    )


def _against(panel: Panel, suite: Suite, title: str, people: str) -> Scatter:
    """A panel for each level, and first one for all, in which each run is a point; none for fewer than two runs."""
    runs = list(dict.fromkeys(score.run for score in panel.scores))
    looks = {run: numbered_look(number) for number, run in enumerate(runs)}
    panels = []
    levels = sorted({score.level for score in panel.scores if score.level is not None})
    for level in (None, *levels) if len(runs) >= _FEWEST_RUNS else ():
        spots = []
        for score in panel.scores:
            said, judged = score.people_of_both.value, score.judge_of_both.value
            if score.level == level and said is not None and judged is not None:
                spots.append(Spot(score.run, looks[score.run], said, judged))
        name = "all levels" if level is None else level_name(suite, level)
        if len(spots) >= _FEWEST_RUNS:
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
    """Everybody against everybody: the share of cases in which two say the same."""
    names = {who: people if who == "majority" else who for who in panel.matrix}
    shares = {
        (names[one], names[other]): found.value
        for one, row in panel.matrix.items()
        for other, found in row.items()
        if one != other and found.value is not None
    }
    low = min(shares.values(), default=0.0)
    heard = [who for who in names.values() if any(who in pair for pair in shares)]
    return HeatMap(
        title,
        "The share of cases in which two say the same, of those that both decided. What people say together contains "
        f"what each of them says. Palest: {low:.2f}, darkest: 1.00.",
        tuple(heard),
        tuple(heard),
        shares,
        {pair: f"{share:.2f}" for pair, share in shares.items()},
        low=low,
        high=1,
    )


def _by_kind(panel: Panel, suite: Suite, of: str, people: str, confidence: float) -> Chart:
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
