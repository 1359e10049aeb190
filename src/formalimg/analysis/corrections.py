"""What a grounder found in images, and what people made of it."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.scenes import Scene


class Correction(NamedTuple):
    """An image whose boxes one person has put right.

    Attributes:
        run: the run that the image is in.
        item: the item.
        sample: which of the item's images, from 0.
        level: the item's level.
        rater: who corrected.
        found: what the grounder had found; None if it could not tell.
        corrected: what is there, by this person.
    """

    run: str
    item: str
    sample: int
    level: int
    rater: str
    found: Scene | None
    corrected: Scene

    @property
    def image(self) -> tuple[str, str, int]:
        """The run, the item and the sample."""
        return self.run, self.item, self.sample
