"""Figures of studies: detected boxes, preferences, and judge agreement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import exp
from typing import Protocol

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.human_eval.agreement.boxes import BoxAccuracy, BoxStudy
from formalimg.human_eval.agreement.consistency import HumanScoreStudy
from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement
from formalimg.human_eval.agreement.preferences import PreferenceStudy
from formalimg.human_eval.agreement.score_agreement import JudgeScoreAgreement
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
from formalimg.stats.precision_recall import Proportion


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


class DrawnStudy(Protocol):
    """A study that has figures of its own."""

    def figures(self) -> Iterable[Figure]:
        """Return its figures."""


def study_figures(
    study: VoteStudy | HumanScoreStudy | BoxStudy | PreferenceStudy | JudgeAgreement | JudgeScoreAgreement | DrawnStudy,
) -> tuple[Figure, ...]:
    """Return all figures of a study of judges or raters, or of one that only some benchmarks have.

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
        case _:
            return tuple(study.figures())
