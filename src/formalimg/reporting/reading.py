"""What the tables are made from: each image of a run, read once."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.judges import Part
from formalimg.runs import RunRecord
from formalimg.stats import Missing, Summary
from formalimg.suites import Profile


class SeenImage(NamedTuple):
    """What a verdict tells the tables.

    Attributes:
        item: the item's id.
        level: the item's level.
        passed: the verdict; None if unscored.
        parts: what was asked, piece by piece; none if unscored.
        looked_at: did a judge look at the image?
        cost: what judging it cost, in US dollars; None if nobody knows the price.
        sample: which of the item's images, from 0.
        score: the score as the judge gave it; None if unscored.
        reason: why it is unscored; empty if scored.
        by_rule: did it fail by a rule, before anybody looked?
    """

    item: str
    level: int
    passed: bool | None
    parts: tuple[Part, ...]
    looked_at: bool
    cost: float | None
    sample: int
    score: float | None
    reason: str
    by_rule: bool


class GradedImage(NamedTuple):
    """An image of a suite whose images have scores, such as CF-World.

    Attributes:
        item: the item's id.
        group: the group that the item belongs to.
        level: the item's level.
        sample: which of the item's images, from 0.
        score: the score as the judge gave it; None if unscored.
        counting: the score that counts, after the gate; None if unscored, or if nobody knows whether the gate is open.
        is_gated: does it count as 0 because the gate of its group is closed?
        parts: the questions with their scores; none if unscored.
        asked: the dimensions that the item has questions of.
        tags: words to group items by.
        reason: why nothing counts; empty if something does.
    """

    item: str
    group: str
    level: int
    sample: int
    score: float | None
    counting: float | None
    is_gated: bool
    parts: tuple[Part, ...]
    asked: frozenset[str]
    tags: tuple[str, ...]
    reason: str


class SeenRun(NamedTuple):
    """A run as the tables need it: its name in the report, its record, its numbers, and its images.

    Those of suites whose images have scores are also there with all that is known of their scores.
    """

    name: str
    record: RunRecord
    summary: Summary
    images: tuple[SeenImage, ...]
    graded: tuple[GradedImage, ...] = ()


class HowCounted(NamedTuple):
    """By which rules figures are made.

    Attributes:
        missing: what is done with images that have no verdict.
        confidence: how sure the intervals are.
        profile: whose rules hold where a paper and its published code differ.
        references: whether published figures stand beside the runs.
        threshold: the score that opens the gate of a group, for suites that have one.
    """

    missing: Missing
    confidence: float
    profile: Profile
    references: bool
    threshold: float
