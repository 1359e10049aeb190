"""Figures of the votes and points of people, beside what a judge says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formalimg.analysis import PeopleStudied
from formalimg.reporting.drawings.boxes import Boxes, box_chart
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.histogram import Column, Histogram, histogram
from formalimg.reporting.drawings.studied.voting import drawings_of_panel
from formalimg.reporting.words import level_head, level_word
from formalimg.suites import Suite
from formalimg.suites import suite as suite_of


def drawings_of_people(study: PeopleStudied) -> Iterator[Drawing]:
    """What people say, step by step, and whether their two steps agree."""
    suite = suite_of(study.suite)
    people = "mean of people" if study.points is not None else "majority"
    for step, of, panel in (
        ("whole", "whole images", study.whole),
        ("all-questions", "all questions of an image", study.all_questions),
        ("questions", "single questions", study.questions),
    ):
        if panel is not None:
            yield from drawings_of_panel(panel, suite, f"{suite.name}-people-{step}", of, people, study.confidence)
    steps = _steps(study, suite)
    if steps.figures:
        yield box_chart(f"{suite.name}-people-steps", steps)
    if study.points is not None and any(study.points.histogram.values()):
        yield histogram(f"{suite.name}-people-points", _points(study.points.histogram, suite))


def _steps(study: PeopleStudied, suite: Suite) -> Boxes:
    """How often each person says the same of an image and of its questions, by level (Figure 10 of ConceptMix)."""
    levels = sorted({level for by_level in study.divergence_by_rater.values() for level in by_level})
    figures = {
        level_head(suite, level): {
            rater: value
            for rater, by_level in study.divergence_by_rater.items()
            if level in by_level and (value := by_level[level].agreement.value) is not None
        }
        for level in levels
    }
    return Boxes(
        f"{suite.title}: whole images against their questions, person by person",
        "How often a person says of an image as a whole what the answers to its questions amount to. Boxes: from "
        "quartile to quartile, with the median; whiskers: to the smallest and the largest; points: persons.",
        {name: of for name, of in figures.items() if of},
        "the same in both steps (%)",
        level_word(suite),
    )


def _points(counts: Mapping[int, int], suite: Suite) -> Histogram:
    return Histogram(
        f"{suite.title}: points that people gave",
        "Single ratings; dark: those with which an image would pass.",
        tuple(
            Column(points - 0.5, points + 0.5, counts.get(points, 0), f"{points} points", points >= 4)
            for points in range(1, 6)
        ),
        "ratings",
        "points",
        tuple((float(points), str(points)) for points in range(1, 6)),
    )
