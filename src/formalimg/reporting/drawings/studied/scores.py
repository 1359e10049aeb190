"""How far scores of CF-World lie apart: a judge's and those of people (its Figure 5a), or those of two judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from formalimg.analysis import ScoreGap, ScoresCompared, ScoresStudied, judge_names
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.heat import heat_map
from formalimg.reporting.drawings.histogram import Column, Histogram, histogram
from formalimg.reporting.drawings.naming import slug
from formalimg.reporting.drawings.rows import dot_chart
from formalimg.reporting.drawings.series import Chart, Point, Series
from formalimg.reporting.drawings.studied.voting import JUDGE, PEOPLE, pairs_of
from formalimg.reporting.words import level_head
from formalimg.suites import Suite
from formalimg.suites import suite as suite_of

_NEAR = 0.125
_TICKS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def drawings_of_scores(study: ScoresStudied) -> Iterator[Drawing]:
    """The differences between judge and people, image by image, and their means by level and by what is scored."""
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


def drawings_of_two_scores(study: ScoresCompared) -> Iterator[Drawing]:
    """The mean scores of two judges, by level and by dimension."""
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


def _differences(gap: ScoreGap, suite: Suite, of: str) -> Histogram:
    near = f"{gap.near.happened:,} of {gap.n:,} differ by no more than {_NEAR:g} (dark)"
    mean = "" if gap.mean is None else f"; mean {gap.mean:+.3f}"
    return Histogram(
        f"{suite.title}: how much higher the judge scores than people, {of}",
        f"{near}{mean}{'' if gap.sd is None else f', standard deviation {gap.sd:.3f}'}. Bins of 0.05.",
        tuple(
            Column(low, high, images, f"{low:+.3f} to {high:+.3f}", abs(low + high) / 2 < _NEAR)
            for low, high, images in gap.histogram
        ),
        "pictures",
        "score of the judge minus score of people",
        tuple((value, f"{value:+g}" if value else "0") for value in _TICKS),
    )


def _means(name: str, title: str, gaps: Mapping[str, ScoreGap]) -> Iterator[Drawing]:
    there = {
        head: (gap.people, gap.judge, gap.left_out)
        for head, gap in gaps.items()
        if gap.people is not None and gap.judge is not None
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
            Series(who, look, {head: Point(both[side], None, not both[2]) for head, both in means.items()})
            for side, (who, look) in enumerate(sides)
        ),
        "mean score",
        percent=False,
    )
