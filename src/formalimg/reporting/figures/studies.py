"""Figures of studies: captions (Figure 9 of ConceptMix), gate calibration, detected boxes, and judge agreement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp

from formalimg.analysis import (
    BoxAccuracy,
    BoxStudy,
    CaptionStudy,
    GateCalibration,
    HumanScoreStudy,
    JudgeAgreement,
    JudgeScoreAgreement,
    PreferenceStudy,
    ThresholdResult,
    VoteStudy,
    judge_names,
)
from formalimg.reporting.figures.axes import Axis
from formalimg.reporting.figures.bar_charts import bar_chart, dot_chart
from formalimg.reporting.figures.distributions import Histogram, HistogramBar, histogram
from formalimg.reporting.figures.files import slug
from formalimg.reporting.figures.heatmap import HeatMap, heat_map
from formalimg.reporting.figures.line_charts import LinePanel, PanelChart, panel_chart
from formalimg.reporting.figures.ratings import judge_score_figures, rating_figures, score_rating_figures
from formalimg.reporting.figures.scatter import Curve, Curves, curve_chart
from formalimg.reporting.figures.series import Chart, Point, Series, known_points, numbered_style, point_of_rate
from formalimg.reporting.figures.svg import Figure
from formalimg.reporting.labels import level_head, level_name, level_word
from formalimg.stats import Interval, Proportion
from formalimg.suites import CATEGORIES
from formalimg.suites import suite as suite_of


def caption_figures(study: CaptionStudy) -> Iterator[Figure]:
    """Yield which categories captions combine, and how many; of the captions that name an object, as in the paper."""
    counts = study.with_object
    if not counts.captions:
        return
    total = counts.captions
    note = f"Of the {total:,} captions that name an object, out of {study.captions:,}."
    together: dict[tuple[str, str], float] = {
        (one, other): counts.together(one, other) / total for one in CATEGORIES for other in CATEGORIES
    }
    yield heat_map(
        "captions-together",
        HeatMap(
            "Captions that speak of two categories of concepts, in percent",
            f"{note} On the diagonal: those that speak of the one category.",
            CATEGORIES,
            CATEGORIES,
            together,
            {pair: f"{100 * share:.1f}" for pair, share in together.items()},
        ),
    )
    sizes = counts.histogram
    yield histogram(
        "captions-categories",
        Histogram(
            "How many categories of concepts captions speak of",
            f"{note} Mean {counts.mean:.2f}." if counts.mean is not None else note,
            tuple(HistogramBar(n - 0.5, n + 0.5, count, f"{n} categories") for n, count in enumerate(sizes) if n),
            "captions",
            "categories in a caption",
            tuple((float(n), str(n)) for n in range(1, len(sizes))),
        ),
    )


_TICKS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def gate_figures(study: GateCalibration) -> Iterator[Figure]:
    """Yield accuracy and F1 of every threshold, with the thresholds of the paper as points."""
    best = () if study.best is None else ((study.best.value, f"best accuracy: {study.best.value:.2f}"),)
    yield curve_chart(
        "cf-world-gate",
        Curves(
            "CF-World: how well thresholds on factual images agree with people",
            f"{study.images:,} factual images, {study.recognisable:,} of them recognisable; an image passes with "
            "a score of the threshold or above.",
            (
                _curve("accuracy", study, lambda at: at.accuracy),
                _curve("F1", study, lambda at: at.f1)._replace(style=numbered_style(1)),
            ),
            "threshold on the score of the factual image",
            "agreement with people (%)",
            Axis(0, 1, tuple((tick, f"{tick:g}") for tick in _TICKS)),
            best,
        ),
    )


def _curve(name: str, study: GateCalibration, reached: Callable[[ThresholdResult], float | None]) -> Curve:
    line = _steps(study.curve, [reached(at) for at in study.curve])
    return Curve(name, numbered_style(0), line, tuple((at.threshold, reached(at)) for at in study.table))


def _steps(curve: Sequence[ThresholdResult], reached: Sequence[float | None]) -> tuple[tuple[float, float | None], ...]:
    """Return a step function: all thresholds above one, up to and including the next, reach the same."""
    if not curve:
        return ()
    found = [(curve[0].threshold, reached[0])]
    for before, at, value in zip(curve, curve[1:], reached[1:], strict=False):
        found += [(before.threshold, value), (at.threshold, value)]
    return tuple(found)


def box_figures(study: BoxStudy) -> Iterator[Figure]:
    """Yield recall and precision of the detected boxes, by level and by class."""
    suite = suite_of(study.suite)
    levels = {level_name(suite, level): boxes for level, boxes in study.by_level.items()}
    for by, parts, draw in (("level", levels, bar_chart), ("class", study.by_class, dot_chart)):
        series = tuple(
            Series(name, numbered_style(number), _known(parts, name))
            for number, name in enumerate(("precision", "recall"))
        )
        names = tuple(part for part in parts if any(part in one.points for one in series))
        if names:
            chart = Chart(
                f"{suite.title}: boxes that were found, by {by}",
                f"Boxes match if they overlap by {study.iou:g} or more. {study.images:,} images. Thin lines: "
                f"{100 * study.confidence:g} % intervals.",
                names,
                series,
                "boxes (%)",
                percent=True,
            )
            yield draw(f"{suite.name}-boxes-by-{by}", chart)


def _known(parts: Mapping[str, BoxAccuracy], name: str) -> dict[str, Point]:
    shares: dict[str, Proportion] = {
        part: boxes.precision if name == "precision" else boxes.recall for part, boxes in parts.items()
    }
    return {part: Point(share.value, share.interval) for part, share in shares.items() if share.value is not None}


def preference_figures(study: PreferenceStudy) -> Iterator[Figure]:
    """Yield the strength of each run, as its chance against a run of mean strength."""
    if study.overall is None:
        return
    suite = suite_of(study.suite)
    points = {
        it.model: Point(
            _chance(it.strength), Interval(*(_chance(bound) for bound in it.interval)) if it.interval else None
        )
        for it in study.overall.models
    }
    chart = Chart(
        f"{suite.title}: how often raters prefer a run",
        f"Against a run of mean strength, ties aside; {study.answers:,} answers. Thin lines: "
        f"{100 * study.confidence:g} % intervals.",
        tuple(points),
        (Series("preferred", numbered_style(0), points),),
        "preferred (%)",
        percent=True,
    )
    yield dot_chart(f"{suite.name}-preferences", chart)


def _chance(strength: float) -> float:
    return 1 / (1 + exp(-strength))


def judge_figures(study: JudgeAgreement) -> Iterator[Figure]:
    """Yield the scores of a run by each judge, and how often they agree, by kind of question."""
    suite = suite_of(study.suite)
    name = f"{suite.name}-judges-{slug(study.run)}"
    sureness = f"Thin lines: {100 * study.confidence:g} % intervals."
    series = tuple(
        Series(
            who,
            numbered_style(number),
            known_points(
                {level_head(suite, level): point_of_rate(it) for level, it in scores.full_mark_by_level.items()}
            ),
        )
        for number, (who, scores) in enumerate(
            zip(judge_names([study.first.judge, study.second.judge]), (study.first, study.second), strict=True)
        )
    )
    if any(one.points for one in series):
        yield panel_chart(
            f"{name}-rates",
            PanelChart(
                f"{suite.title}: two judges over {study.run}, by level",
                f"Images that a judge left unscored are left out of its rates. {sureness}",
                tuple(level_head(suite, level) for level in sorted(study.passed_by_level)),
                (LinePanel("", series),),
                "images that pass (%)",
                level_word(suite),
            ),
        )
    kinds = {
        kind or "all": Point(found.value, found.interval, not found.left_out)
        for kind, found in study.questions_by_kind.items()
        if found.value is not None
    }
    if kinds:
        chart = Chart(
            f"{suite.title}: how often two judges say the same over {study.run}, by kind",
            f"Of single questions that both answered. {sureness}",
            tuple(sorted(kinds, key=lambda kind: (kinds[kind].value, kind))),
            (Series("", numbered_style(0), kinds),),
            "the same (%)",
            percent=True,
        )
        yield bar_chart(f"{name}-kinds", chart)


def study_figures(
    study: VoteStudy
    | HumanScoreStudy
    | BoxStudy
    | PreferenceStudy
    | JudgeAgreement
    | JudgeScoreAgreement
    | GateCalibration
    | CaptionStudy,
) -> tuple[Figure, ...]:
    """Return all figures of a study of judges, raters, captions or the gate of CF-World.

    Returns:
        The figures; none for what the study tells nothing about.
    """
    match study:
        case VoteStudy():
            return tuple(rating_figures(study))
        case HumanScoreStudy():
            return tuple(score_rating_figures(study))
        case BoxStudy():
            return tuple(box_figures(study))
        case PreferenceStudy():
            return tuple(preference_figures(study))
        case JudgeAgreement():
            return tuple(judge_figures(study))
        case JudgeScoreAgreement():
            return tuple(judge_score_figures(study))
        case GateCalibration():
            return tuple(gate_figures(study))
        case CaptionStudy():
            return tuple(caption_figures(study))
