"""What the tables are made from: each picture of a run, read once."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.judges import Part
from formalimg.runs import RunRecord
from formalimg.stats import Missing, Summary
from formalimg.suites import Profile


class SeenPicture(NamedTuple):
    """What a verdict tells the tables.

    Attributes:
        item: the item's id.
        level: the item's level.
        passed: the verdict; None if unscored.
        parts: what was asked, piece by piece; none if unscored.
        looked_at: did a judge look at the picture?
        cost: what judging it cost, in US dollars; None if nobody knows the price.
    """

    item: str
    level: int
    passed: bool | None
    parts: tuple[Part, ...]
    looked_at: bool
    cost: float | None


class SeenRun(NamedTuple):
    """A run as the tables need it: its name in the report, its record, its numbers, and its pictures."""

    name: str
    record: RunRecord
    summary: Summary
    pictures: tuple[SeenPicture, ...]


class HowCounted(NamedTuple):
    """By which rules figures are made.

    Attributes:
        missing: what is done with pictures that have no verdict.
        confidence: how sure the intervals are.
        profile: whose rules hold where a paper and its published code differ.
        references: whether published figures stand beside the runs.
    """

    missing: Missing
    confidence: float
    profile: Profile
    references: bool
