"""What the stages of a run hand on to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from formalimg.models import Answer, ImageModel
from formalimg.runs.inspection import Seen
from formalimg.runs.rows import VerdictRow
from formalimg.suites import Item


class Planned(NamedTuple):
    """An image to be made.

    Attributes:
        item: of which item.
        sample: which of the item's images, from 0.
        key: the key of everything that shapes the image.
        seed: the seed to make it with.
        question: the key of what the item asks, under which it is judged.
    """

    item: Item[object]
    sample: int
    key: str
    seed: int
    question: str


class MadeImage(NamedTuple):
    """An image that is stored: its file in `images`, and the digest of its bytes."""

    file: str
    sha256: str


class Arrived(NamedTuple):
    """What an image model answered, and after how many seconds."""

    planned: Planned
    answer: Answer
    seconds: float


class Waiting(NamedTuple):
    """A stored image that waits for a judge; already looked at, if it was just made."""

    item: Item[object]
    question: str
    made: MadeImage
    seen: Seen | None = None


class Judgement(NamedTuple):
    """What a judge said of an image, and after how many seconds."""

    entry: Waiting
    row: VerdictRow
    seconds: float


def in_batches(planned: Sequence[Planned], model: ImageModel) -> Iterator[Sequence[Planned]]:
    """Each is cut when it is taken: a model may find out meanwhile how many it can make at once."""
    start = 0
    while start < len(planned):
        batch = planned[start : start + max(1, model.batch)]
        start += len(batch)
        yield batch
