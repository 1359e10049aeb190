"""Keeping images: from what an image model answered to files and rows. Runs in threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from formalimg._util.strict_json import dumps_storable
from formalimg.judges import Unscored
from formalimg.models import Generated
from formalimg.runs.channel import Channel
from formalimg.runs.handing import Arrived, MadeImage, Planned
from formalimg.runs.inspection import Seen, look
from formalimg.runs.rows import ImageRow, no_image_row, paid
from formalimg.runs.store import RunStore, sha256_of

_TOGETHER = 16
_SMALL = 32_000
"""Images of no more than so many bytes are kept several at a time: the way to a thread takes longer than they do."""


class Kept(NamedTuple):
    """What came of a planned image, as it is stored; and the image itself, if there is one."""

    planned: Planned
    row: ImageRow
    seconds: float
    seen: Seen | None

    @property
    def made(self) -> MadeImage | None:
        """The stored file, if there is one."""
        return None if self.row.file is None or self.row.sha256 is None else MadeImage(self.row.file, self.row.sha256)


def together(first: Arrived, arrived: Channel[Arrived]) -> list[Arrived]:
    """An answer with those that wait behind it, as many as are well kept at once."""
    small = not isinstance(first.answer, Generated) or len(first.answer.data) <= _SMALL
    return [first, *arrived.more(_TOGETHER - 1)] if small else [first]


def keep(store: RunStore, batch: Sequence[Arrived]) -> list[Kept]:
    """Write the files of the images among these answers, then record them all.

    Raises:
        FormalimgError: if something cannot be written.
    """
    kept = [_kept(store, arrived) for arrived in batch]
    store.record_images((one.planned, one.row, one.seconds) for one in kept)
    return kept


def read(store: RunStore, made: MadeImage) -> Seen | Unscored:
    """A stored image, or why it cannot be seen."""
    place = store.images.place(made.file, made.sha256)
    try:
        data = place.read_bytes()
    except OSError as error:
        return Unscored("unreadable image", f"cannot read {place}: {error.strerror}")
    if sha256_of(data) != made.sha256:
        return Unscored("unreadable image", f"{place} is not the file that was made: remove it and go on with the run")
    return look(data)


def _kept(store: RunStore, arrived: Arrived) -> Kept:
    planned, answer, seconds = arrived
    seen = look(answer.data) if isinstance(answer, Generated) else None
    if isinstance(answer, Generated) and isinstance(seen, Seen):
        name = store.keep_image(planned.item.id, planned.sample, answer.data)
        served = dumps_storable(dict(answer.served))
        digest, size = sha256_of(answer.data), len(answer.data)
        row = ImageRow("made", "", name, digest, size, *seen.image.pil.size, served, *paid(answer))
        return Kept(planned, row, seconds, seen)
    reason = seen if isinstance(seen, Unscored) else answer
    assert not isinstance(reason, Generated)
    cost, unpriced = paid(answer)
    return Kept(planned, no_image_row(reason)._replace(cost=cost, unpriced=unpriced), seconds, None)
