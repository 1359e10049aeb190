"""Two judges side by side over the levels of a run (Figure 14 of ConceptMix), and where they agree."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.analysis import JudgesCompared, judge_names
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.looks import numbered_look
from formalimg.reporting.drawings.naming import slug
from formalimg.reporting.drawings.panels import LinePanel, Panels, panel_chart
from formalimg.reporting.drawings.rows import bar_chart
from formalimg.reporting.drawings.series import Chart, Point, Series, known_points, point_of_rate
from formalimg.reporting.words import level_head, level_word
from formalimg.suites import suite as suite_of


def drawings_of_judges(study: JudgesCompared) -> Iterator[Drawing]:
    """What the run scores by each judge, and how often they say the same, by kind of question."""
    suite = suite_of(study.suite)
    name = f"{suite.name}-judges-{slug(study.run)}"
    sureness = f"Thin lines: {100 * study.confidence:g} % intervals."
    series = tuple(
        Series(
            who,
            numbered_look(number),
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
            Panels(
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
            (Series("", numbered_look(0), kinds),),
            "the same (%)",
            percent=True,
        )
        yield bar_chart(f"{name}-kinds", chart)
