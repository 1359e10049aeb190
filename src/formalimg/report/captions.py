"""What stands under a table: the rules by which its figures were made, and what they leave out."""

from __future__ import annotations

from formalimg.report.comparison import Comparison, Row, Section
from formalimg.report.figures import INCOMPLETE, counted, epsilon_text, incomplete, percent, told
from formalimg.stats import Band, Rate

_RULES = {
    "exclude": "Pictures without a verdict are left out of the rates",
    "fail": "Pictures without a verdict count as failures",
    "error": "Every picture has a verdict",
}


def caption(section: Section, comparison: Comparison) -> str:
    """What the figures are and how they were made."""
    sentences = [
        f"{section.suite.title}: pictures that show all that was asked, in percent, by {section.suite.level}",
        _extent(section),
        f"{_RULES[comparison.missing]} (missing: {comparison.missing})",
        f"Intervals: {100 * comparison.confidence:g} %",
    ]
    if section.epsilon is not None:
        sentences.append(
            f"G{epsilon_text(section.epsilon)}: the largest {section.suite.level} up to which "
            f"at least {percent(section.epsilon).removesuffix('.0')} % of pictures pass"
        )
    if any(map(_has_mark, section.rows)):
        sentences.append(f"{INCOMPLETE} not all pictures were scored")
    return f"{'. '.join(sentences)}."


def remarks(section: Section) -> list[str]:
    """What must be known besides: how the runs differ, what has no verdict and why, what failed by rule."""
    found = list(section.notes)
    for row in section.rows:
        if row.unscored:
            count = sum(row.unscored.values())
            found.append(
                f"{row.name}: {count:,} of {counted(row.summary.overall.expected, 'picture')} unscored: "
                f"{told(row.unscored)}."
            )
        if row.by_rule:
            found.append(
                f"{row.name}: {counted(sum(row.by_rule.values()), 'picture')} failed by rule: {told(row.by_rule)}."
            )
    return found


def _extent(section: Section) -> str:
    extents = dict.fromkeys(
        f"{counted(row.items, 'item')}, {counted(row.card.samples, 'picture')} of each" for row in section.rows
    )
    return "; ".join(extents)


def _has_mark(row: Row) -> bool:
    summary = row.summary
    figures: list[Rate | Band] = [*summary.levels.values(), *summary.bands.values(), summary.overall]
    return any(map(incomplete, figures))
