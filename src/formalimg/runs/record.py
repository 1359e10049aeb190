"""Runs as they are read: what was asked, what came, what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from formalimg.judges import Unscored, Verdict
from formalimg.models import Setting
from formalimg.runs.image_store import ImageLocation
from formalimg.suites import Item


@dataclass(frozen=True)
class Identity:
    """A model or a judge, by name and settings."""

    name: str
    settings: Mapping[str, Setting]


@dataclass(frozen=True)
class RunManifest:
    """What was asked of a run: enough to do it again.

    Attributes:
        suite, suite_version: the benchmark.
        items_digest: of what all items of the run ask; runs with the same digest ask the same.
        model: the image model.
        judge: who judged last; None if nobody has yet.
        samples: images per item.
        seed: the number from which all seeds of the run follow.
        size: the width and height that were asked for, in pixels.
        created: when the run began, in UTC, as in 2026-01-31T10:00:00Z.
        made_with: the version of formalimg.
        condition: how items were put to the model; empty for their words alone.
        style: the text about the style that was put in front: long, short or none.
        prompts: the texts that were sent besides the items' own words, with their versions.
        task: what the model was asked for: an image, or a layout.
        layouts: where the layouts came from that were given to the model; empty if none were.
        images: the address on an object store where the images lie; empty if they are in the run folder.
    """

    suite: str
    suite_version: str
    items_digest: str
    model: Identity
    judge: Identity | None
    samples: int
    seed: int
    size: int
    created: str
    made_with: str
    condition: str = ""
    style: str = "none"
    prompts: str = ""
    task: str = "image"
    layouts: str = ""
    images: str = ""


class PlannedItem(NamedTuple):
    """An item of a run, as it was asked.

    Attributes:
        id: its name in the suite.
        level: its level.
        prompt: the words sent to the model.
        formula: the logic of it as text; empty for suites without.
        tags: words to group items by.
    """

    id: str
    level: int
    prompt: str
    formula: str
    tags: tuple[str, ...]


class Outcome(NamedTuple):
    """How one image of one item fared.

    Attributes:
        item: the item's id.
        level: the item's level.
        sample: which of the item's images, from 0.
        passed: the verdict; None if unscored.
        score: the share of parts that hold; None if unscored.
        reason: why it is unscored; empty if scored.
        detail: what happened, in one line; empty if scored.
    """

    item: str
    level: int
    sample: int
    passed: bool | None
    score: float | None
    reason: str
    detail: str


@dataclass(frozen=True)
class Judged:
    """One image with all that is known of it.

    Attributes:
        outcome: how it fared.
        seed: the seed it was made with.
        image: the file, in the run folder or on an object store; None if there is none.
        served: what the image model said it used.
        verdict: parts and evidence, or why there is no verdict.
    """

    outcome: Outcome
    seed: int
    image: ImageLocation | None
    served: Mapping[str, Setting]
    verdict: Verdict | Unscored


class Spent(NamedTuple):
    """What a run has cost.

    Attributes:
        dollars: in US dollars, as far as prices are known.
        unpriced: how many images and verdicts had a price that nobody knows.
    """

    dollars: float
    unpriced: int


class RunRecord(Protocol):
    """A run folder, opened for reading. Never locks, never writes; a run may go on meanwhile."""

    @property
    def folder(self) -> Path:
        """Where it lies."""
        ...

    @property
    def manifest(self) -> RunManifest:
        """What was asked."""
        ...

    @property
    def items(self) -> Mapping[str, PlannedItem]:
        """The items, by id, in the order of the suite."""
        ...

    def suite_items(self) -> Sequence[Item[object]]:
        """The items as the suite has them, with all that they ask for."""
        ...

    def outcomes(self) -> Sequence[Outcome]:
        """How each planned image fared, in the order of items and samples."""
        ...

    def spent(self) -> Spent:
        """What the run has cost so far, all attempts and all judges together."""
        ...

    def judged(self, images: Sequence[tuple[str, int]] | None = None) -> Iterator[Judged]:
        """All that is known of these images (item and sample), or of all planned ones."""
        ...
