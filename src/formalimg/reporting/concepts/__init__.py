"""What there is to tell about runs of a suite of concepts, such as ConceptMix, besides its rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formalimg.reporting.concepts.answers import MarkedRun, has_answers, marked
from formalimg.reporting.concepts.categories import (
    by_category,
    by_difficulty,
    by_value,
    of_one_more_concept,
    values_of_one_more_concept,
)
from formalimg.reporting.concepts.grading import grading_cost
from formalimg.reporting.concepts.prompts import prompt_lengths
from formalimg.reporting.concepts.scores import concept_fractions, full_marks
from formalimg.reporting.reading import HowCounted, SeenRun
from formalimg.reporting.tables import Table
from formalimg.suites import Suite


def concept_tables(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
    """All tables about these runs; some may have no rows."""
    return tuple(_tables(suite, runs, how))


def _tables(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> Iterator[Table]:
    answered: list[MarkedRun] = [marked(run, how.missing) for run in runs if has_answers(run)]
    yield full_marks(suite, runs, how)
    yield concept_fractions(suite, answered, how)
    yield of_one_more_concept(suite, answered, how)
    yield values_of_one_more_concept(suite, answered, how)
    yield by_category(suite, answered, how)
    yield by_difficulty(suite, answered, how)
    yield by_value(suite, answered, how)
    yield prompt_lengths(suite, runs)
    yield grading_cost(runs)


__all__ = ["concept_tables"]
