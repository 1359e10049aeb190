"""The probes of CF-World: how much worse the counterfactual is than the factual, and for which rule or pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formalimg.reporting.counterfactual.captions import scoring_rules
from formalimg.reporting.counterfactual.columns import intervals_told, level_heads, mean_figures
from formalimg.reporting.counterfactual.summary import means
from formalimg.reporting.reading import GradedImage, HowCounted, SeenRun
from formalimg.reporting.reference import reference_rows
from formalimg.reporting.run_columns import run_cell, run_head, with_figures
from formalimg.reporting.tables import Figure, Table, TableRow
from formalimg.stats import ScoreObservation, score_difference
from formalimg.suites import Suite

_LEVELS = (1, 2)
_GROUPS = {"cf-world-rules": "rule", "cf-world-attributes": "pair"}
"""What groups are called."""


def differences(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> Table:
    """The means of both levels, and the difference between them, group by group."""
    published = reference_rows(suite.name) if how.references else ()
    word = _GROUPS.get(suite.name, "group")
    rows = [TableRow(run.name, (run.name, *_figures(run.graded, how))) for run in runs]
    rows += [
        TableRow(
            row.name,
            (
                row.name,
                *(Figure(row.rates.get(level), "score") for level in _LEVELS),
                Figure(None, "difference"),
                Figure(None, "count"),
            ),
            row.model,
            row.judge,
        )
        for row in published
    ]
    sources = "; ".join(dict.fromkeys(row.source for row in published))
    return Table(
        "differences",
        f"{level_heads(suite, _LEVELS)[0].capitalize()} and {level_heads(suite, _LEVELS)[1]} scores",
        f"difference: the mean over {word}s of the second mean minus the first; each {word} counts once, so that it "
        f"may differ from the difference of the means. {word}s: those that have both. {intervals_told(how)}. "
        f"{'. '.join(scoring_rules(suite, how.missing, how.threshold, how.profile))}."
        + (f" Published: {sources}." if sources else ""),
        ("run", *level_heads(suite, _LEVELS), "difference", f"{word}s"),
        with_figures(rows),
    )


def by_group(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> Table:
    """The means of both levels for each rule or pair, in the order of the suite."""
    word = _GROUPS.get(suite.name, "group")
    rows = []
    for group in dict.fromkeys(one.group for run in runs for one in run.graded):
        for run in runs:
            here = [one for one in run.graded if one.group == group]
            if here:
                *figures, _ = _figures(here, how)
                plain = [figure._replace(interval=None) for figure in figures]  # one or two images tell of no others
                rows.append(TableRow(run.name, (group, *run_cell(run.name, runs), *plain)))
    return Table(
        f"by {word}",
        f"Scores by {word}",
        f"{'. '.join(scoring_rules(suite, how.missing, how.threshold, how.profile))}.",
        (word, *run_head(runs), *level_heads(suite, _LEVELS), "difference"),
        with_figures(rows),
    )


def _figures(images: Sequence[GradedImage], how: HowCounted) -> tuple[Figure, ...]:
    """The means of both levels, the difference between them, and how many groups have both."""
    found = score_difference(_counted(images, how), confidence=how.confidence)
    both = [figure for figure in mean_figures(means(images, how), _LEVELS) if isinstance(figure, Figure)]
    return (*both, Figure(found.value, "difference", found.interval), Figure(found.groups, "count"))


def _counted(images: Iterable[GradedImage], how: HowCounted) -> list[ScoreObservation]:
    """The scores by the rule for what is missing."""
    return [
        ScoreObservation(
            one.group, one.level, one.sample, 0.0 if one.counting is None and how.missing == "fail" else one.counting
        )
        for one in images
    ]
