"""What fails (Figure 4 of FormalImg): clauses by kind and predicate, concepts by category, questions by dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from formalimg.reporting.comparison import Row, Section, Tally
from formalimg.reporting.drawings.looks import looks_of
from formalimg.reporting.drawings.series import Chart, Series, point_of_tally
from formalimg.reporting.words import FAILURES_COUNTED, words_of


def failures_by_kind(section: Section) -> Chart:
    """The share of parts that failed, by their kind."""
    return _failures(section, words_of(section.suite).kind, lambda row: row.kinds)


def failures_by_word(section: Section) -> Chart:
    """The share of parts that failed, by the words in them, such as predicates."""
    return _failures(section, words_of(section.suite).about, lambda row: row.predicates)


def _failures(section: Section, by: str, of: Callable[[Row], Mapping[str, Tally]]) -> Chart:
    words = words_of(section.suite)
    failed = f"{words.part}s {words.failed}"
    return Chart(
        f"{section.suite.title}: {failed}, by {by}",
        FAILURES_COUNTED,
        _most_first(section, of),
        tuple(
            Series(
                row.name,
                look,
                {name: point for name, tally in of(row).items() if (point := point_of_tally(tally)) is not None},
            )
            for row, look in zip(section.rows, looks_of(section.rows), strict=True)
        ),
        f"{failed} (%)",
        percent=True,
    )


def _most_first(section: Section, of: Callable[[Row], Mapping[str, Tally]]) -> tuple[str, ...]:
    """The names by what fails of them in all runs together."""

    def share(name: str) -> float:
        tallies = [of(row)[name] for row in section.rows if name in of(row)]
        return Tally(sum(tally.failed for tally in tallies), sum(tally.asked for tally in tallies)).share

    there = {name for row in section.rows for name, tally in of(row).items() if tally.asked}
    return tuple(sorted(there, key=lambda name: (-share(name), name)))
