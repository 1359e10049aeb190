"""What stands under a table: the rules by which its figures were made, and what they leave out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from formalimg.reporting.comparison import Comparison, Row, Section
from formalimg.reporting.counterfactual.captions import levels_told, scoring_rules
from formalimg.reporting.figures import INCOMPLETE, counted, cut, epsilon_text, incomplete, percent, told
from formalimg.reporting.words import rule_text
from formalimg.stats import Band, Rate

WithInterval: TypeAlias = Literal["every figure", "G alone"]
"""Which figures of a table have their intervals beside them."""

_LONGEST_DETAIL = 100


def caption(section: Section, comparison: Comparison, with_interval: WithInterval = "every figure") -> str:
    """What the figures are, who judged, and by which rules they were made."""
    of_scores = section.suite.kind == "counterfactual"
    sentences = [
        *(_scores(section, comparison) if of_scores else _rates(section, comparison, with_interval)),
        *([f"{INCOMPLETE} not all images were scored"] if any(map(_has_mark, section.rows)) else []),
    ]
    return f"{'. '.join(sentences)}."


def _rates(section: Section, comparison: Comparison, with_interval: WithInterval) -> Iterator[str]:
    yield f"{section.suite.title}: images that show all that was asked, in percent, by {section.suite.level}"
    yield from _runs(section)
    yield rule_text(comparison.missing)
    sureness = f"{100 * comparison.confidence:g} %"
    if with_interval == "every figure":
        yield f"Intervals: {sureness}"
    if section.epsilon is not None:
        held = (
            f"G{epsilon_text(section.epsilon)}: the largest {section.suite.level} up to which "
            f"at least {percent(section.epsilon).removesuffix('.0')} % of images pass"
        )
        yield f"{held}, with its {sureness} interval" if with_interval == "G alone" else held


def _scores(section: Section, comparison: Comparison) -> Iterator[str]:
    about = section.suite
    yield f"{about.title}: mean scores of images, from 0 to 1{levels_told(about)}"
    yield from _runs(section)
    yield from scoring_rules(about, comparison.missing, comparison.threshold, comparison.profile)
    yield f"Intervals: {100 * comparison.confidence:g} %, over groups"


def _runs(section: Section) -> Iterator[str]:
    """How much was asked, and who judged; where judges differ, the notes say it."""
    yield "; ".join(dict.fromkeys(map(extent, section.rows)))
    judges = [row.manifest.judge for row in section.rows]
    if judges[0] is not None and judges.count(judges[0]) == len(judges):
        yield f"Judged by {judges[0].name}"


def remarks(section: Section) -> list[str]:
    """What must be known besides: how the runs differ, what has no verdict and why, what failed by rule."""
    found = list(section.notes)
    for row in section.rows:
        if row.unscored:
            found.append(
                f"{row.name}: {row.summary.overall.expected - row.summary.overall.scored:,} of "
                f"{counted(row.summary.overall.expected, 'image')} unscored: {_reasons(row)}."
            )
        if row.by_rule:
            found.append(
                f"{row.name}: {counted(sum(row.by_rule.values()), 'image')} failed by rule: {told(row.by_rule)}."
            )
    return found


def extent(row: Row) -> str:
    """How much was asked: `20 items, 2 images of each`, or `1 to 2 images of each, 32 in all`."""
    fewest, most = row.images_of_each
    if fewest == most:
        return f"{counted(row.items, 'item')}, {counted(most, 'image')} of each"
    return (
        f"{counted(row.items, 'item')}, {fewest} to {counted(most, 'image')} of each, "
        f"{row.summary.overall.expected:,} in all"
    )


def _reasons(row: Row) -> str:
    """Each reason with its count and the commonest of its details."""
    found = []
    for reason, count in row.unscored.items():
        detail = row.details.get(reason)
        often = "" if detail is None or detail.times == count else "most often "
        found.append(f"{count:,} {reason}" + (f" ({often}{cut(detail.text, _LONGEST_DETAIL)})" if detail else ""))
    return "; ".join(found)


def _has_mark(row: Row) -> bool:
    summary = row.summary
    figures: list[Rate | Band] = [*summary.levels.values(), *summary.bands.values(), summary.overall]
    return any(map(incomplete, figures))
