"""What stands under a table: the rules by which its figures were made, and what they leave out."""

from __future__ import annotations

from typing import Literal, TypeAlias

from formalimg.report.comparison import Comparison, Row, Section
from formalimg.report.counterfactual.captions import levels_told, scoring_rules
from formalimg.report.figures import INCOMPLETE, counted, cut, epsilon_text, incomplete, percent, told
from formalimg.report.words import rule_text
from formalimg.stats import Band, Rate

WithInterval: TypeAlias = Literal["every figure", "G alone"]
"""Which figures of a table have their intervals beside them."""

_LONGEST_DETAIL = 100


def caption(section: Section, comparison: Comparison, with_interval: WithInterval = "every figure") -> str:
    """What the figures are and how they were made."""
    if section.suite.kind == "counterfactual":
        return _caption_of_scores(section, comparison)
    sentences = [
        f"{section.suite.title}: pictures that show all that was asked, in percent, by {section.suite.level}",
        "; ".join(dict.fromkeys(map(extent, section.rows))),
        rule_text(comparison.missing),
    ]
    sureness = f"{100 * comparison.confidence:g} %"
    if with_interval == "every figure":
        sentences.append(f"Intervals: {sureness}")
    if section.epsilon is not None:
        held = (
            f"G{epsilon_text(section.epsilon)}: the largest {section.suite.level} up to which "
            f"at least {percent(section.epsilon).removesuffix('.0')} % of pictures pass"
        )
        sentences.append(f"{held}, with its {sureness} interval" if with_interval == "G alone" else held)
    if any(map(_has_mark, section.rows)):
        sentences.append(f"{INCOMPLETE} not all pictures were scored")
    return f"{'. '.join(sentences)}."


def _caption_of_scores(section: Section, comparison: Comparison) -> str:
    about = section.suite
    sentences = [
        f"{about.title}: mean scores of pictures, from 0 to 1{levels_told(about)}",
        "; ".join(dict.fromkeys(map(extent, section.rows))),
        *scoring_rules(about, comparison.missing, comparison.threshold, comparison.profile),
        f"Intervals: {100 * comparison.confidence:g} %, over groups",
    ]
    if any(map(_has_mark, section.rows)):
        sentences.append(f"{INCOMPLETE} not all pictures were scored")
    return f"{'. '.join(sentences)}."


def remarks(section: Section) -> list[str]:
    """What must be known besides: how the runs differ, what has no verdict and why, what failed by rule."""
    found = list(section.notes)
    for row in section.rows:
        if row.unscored:
            found.append(
                f"{row.name}: {row.summary.overall.expected - row.summary.overall.scored:,} of "
                f"{counted(row.summary.overall.expected, 'picture')} unscored: {_reasons(row)}."
            )
        if row.by_rule:
            found.append(
                f"{row.name}: {counted(sum(row.by_rule.values()), 'picture')} failed by rule: {told(row.by_rule)}."
            )
    return found


def extent(row: Row) -> str:
    """How much was asked: `20 items, 2 pictures of each`, or `1 to 2 pictures of each, 32 in all`."""
    fewest, most = row.pictures_of_each
    if fewest == most:
        return f"{counted(row.items, 'item')}, {counted(most, 'picture')} of each"
    return (
        f"{counted(row.items, 'item')}, {fewest} to {counted(most, 'picture')} of each, "
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
