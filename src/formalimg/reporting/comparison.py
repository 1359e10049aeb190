"""Runs side by side: what every table, figure and file of a report is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg.reporting.tables import Table
from formalimg.runs import RunManifest, Spent
from formalimg.stats import Missing, Summary
from formalimg.suites import Profile, Suite


class Tally(NamedTuple):
    """How often something was asked of images that a judge looked at and scored, and how often it was not shown."""

    failed: int
    asked: int

    @property
    def share(self) -> float:
        """The share of what was asked that failed."""
        return self.failed / self.asked if self.asked else 0.0


class ImagesOfEach(NamedTuple):
    """How many images were to be made of each item, at least and at most."""

    fewest: int
    most: int


class Detail(NamedTuple):
    """What happened most often where images have no verdict for one reason, and how often."""

    text: str
    times: int


@dataclass(frozen=True)
class Row:
    """One run in a table.

    Attributes:
        name: what the run is called here: its model, and what tells it from other runs of the same model.
        folder: where the run lies.
        card: what was asked of the run.
        items: how many items it is over.
        images_of_each: how many images of an item there should be.
        summary: its numbers.
        unscored: how many images have no verdict, by reason.
        details: what happened to these images, the commonest for each reason that has details.
        by_rule: how many images failed by a rule before anyone looked for objects in them, by rule.
        kinds: parts of verdicts by their kind: clauses by what they speak of, concepts by category. Verdicts
            by rule have none.
        predicates: the same by their words: clauses by predicate, each counting for all of its predicates; concepts by
            category and value.
        spent: what the run has cost.
        gated: the images (item and sample) that count as 0 because the gate of their group is closed.
    """

    name: str
    folder: Path
    manifest: RunManifest
    items: int
    images_of_each: ImagesOfEach
    summary: Summary
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    by_rule: Mapping[str, int]
    kinds: Mapping[str, Tally]
    predicates: Mapping[str, Tally]
    spent: Spent
    gated: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True)
class PublishedRow:
    """Figures that somebody published, to compare with. They have no intervals.

    Attributes:
        model: the model.
        source: where the figures stand.
        rates: the rate, 0 to 1, for each level.
        bands: the means of the rates, or what was printed in their place; None where a level is not published.
        generalizability: the largest level up to which the rates hold; None where a level is not published.
        judge: who graded the images, where that is not the same for all rows of a suite.
    """

    model: str
    source: str
    rates: Mapping[int, float]
    bands: Mapping[str, float | None]
    generalizability: int | None
    judge: str = ""

    @property
    def name(self) -> str:
        """The model and, where it matters, the judge."""
        return f"{self.model}, by {self.judge}" if self.judge else self.model


@dataclass(frozen=True)
class Section:
    """All runs of one suite.

    Attributes:
        suite: the suite.
        epsilon: the rate to be held; None where the suite has no such number.
        rows: one for each run.
        published: figures to compare with.
        notes: what a reader must know before comparing the rows.
        tables: what the suite has to tell besides.
    """

    suite: Suite
    epsilon: float | None
    rows: tuple[Row, ...]
    published: tuple[PublishedRow, ...]
    notes: tuple[str, ...]
    tables: tuple[Table, ...] = ()

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels that any row has a figure for, in order."""
        found = {level for row in self.rows for level in row.summary.levels}
        found.update(level for row in self.published for level in row.rates)
        return tuple(sorted(found))


@dataclass(frozen=True)
class Comparison:
    """Runs side by side, suite by suite.

    Attributes:
        sections: one for each suite.
        missing: what was done with images that have no verdict.
        confidence: how sure the intervals are.
        threshold: the score that opens the gate of a group, for suites that have one.
        profile: whose rules hold where a paper and its published code differ.
    """

    sections: tuple[Section, ...]
    missing: Missing
    confidence: float
    threshold: float = 0.5
    profile: Profile = "paper"
