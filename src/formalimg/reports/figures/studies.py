"""Figures of studies: detected boxes, preferences, and judge agreement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import exp
from typing import Protocol

from formalimg.benchmarks.registry import suite as find_suite
from formalimg.human_eval.agreement.boxes import BoxStudy
from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement
from formalimg.human_eval.agreement.preferences import PreferenceStudy
from formalimg.human_eval.agreement.score_agreement import HumanScoreStudy, JudgeScoreAgreement
from formalimg.human_eval.agreement.vote_study import VoteStudy
from formalimg.reports.figures.bar_charts import bar_chart, dot_chart
from formalimg.reports.figures.figure_files import slug
from formalimg.reports.figures.line_charts import LinePanel, PanelChart, panel_chart
from formalimg.reports.figures.rating_figures import judge_score_figures, rating_figures, score_rating_figures
from formalimg.reports.figures.series import Chart, Point, Series, known_points, numbered_style, point_of_rate
from formalimg.reports.figures.svg import Figure
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.runs.manifest import judge_names
from formalimg.stats.observations import Interval


class DrawnStudy(Protocol):
    """A study with its own figures."""

    def figures(self) -> Iterable[Figure]:
        """Return the figures of the study."""


def study_figures(
    study: VoteStudy | HumanScoreStudy | BoxStudy | PreferenceStudy | JudgeAgreement | JudgeScoreAgreement | DrawnStudy,
) -> tuple[Figure, ...]:
    """Return all figures of a study of judges or raters, or of any study with figures of its own.

    Returns:
        The figures; none for what the study tells nothing about.
    """
    match study:
        case VoteStudy():
            return tuple(rating_figures(study))
        case HumanScoreStudy():
            return tuple(score_rating_figures(study))
        case BoxStudy():
            return tuple(_box_figures(study))
        case PreferenceStudy():
            return tuple(_preference_figures(study))
        case JudgeAgreement():
            return tuple(_judge_figures(study))
        case JudgeScoreAgreement():
            return tuple(judge_score_figures(study))
        case _:
            return tuple(study.figures())


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
    yield dot_chart(
        f"{suite.name}-preferences", Chart(title, note, tuple(points), series, "preferred (%)", percent=True)
    )


def _judge_figures(study: JudgeAgreement) -> Iterator[Figure]:
    """Yield figures of the scores of a run by each judge, and of judge agreement by kind of question."""
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
        ordered = tuple(sorted(kinds, key=lambda kind: (kinds[kind].value, kind)))
        note = f"Of single questions that both answered. {confidence}"
        agreement = (Series("", numbered_style(0), kinds),)
        yield bar_chart(f"{name}-kinds", Chart(title, note, ordered, agreement, "the same (%)", percent=True))
