"""What the verification of a bundle tells: what differs, what was computed again, and what nobody can compute again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

from formalimg._util.strict_json import dumps_storable
from formalimg._util.text import truncate


class BundleFinding(NamedTuple):
    """Something in a bundle that is not as it should be: where, and what."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class Unproven(NamedTuple):
    """Something in a bundle that does not follow from anything else in it."""

    what: str  # what it is, in words, such as `images`
    number: int  # how many of it
    reason: str  # why it cannot be computed again

    def __str__(self) -> str:
        return f"{self.what} ({self.number:,}): {self.reason}"


@dataclass(frozen=True)
class BundleCheck:
    """The result of verifying a bundle."""

    findings: tuple[BundleFinding, ...]  # what differs; none if everything that was computed again is as it is stored
    digest: str  # the digest of the bundle
    is_cited: bool  # whether it was compared with a digest that was cited
    made_with: str  # the version of formalimg that made it
    files: int  # how many files were compared with their digests
    verdicts: int = 0  # how many verdicts there are
    by_answers: int = 0  # how many of them were made again from raw answers
    by_scene: int = 0  # how many of them were made again from the stored scene
    by_image: int = 0  # how many of them were made again from the image
    images_to_judge: int = 0  # how many could be made again from an image: `by_image` is a sample of them
    numbers: int = 0  # how many values of the report were computed again
    planned: int = 0  # how many images the runs have planned
    # what of the plan is not there: images that nobody tried to make, and images without a verdict
    missing: tuple[Unproven, ...] = ()
    unproven: tuple[Unproven, ...] = ()  # what does not follow from anything else in the bundle

    @property
    def is_complete(self) -> bool:
        """Whether nothing differs and nothing of the plan is missing."""
        return not self.findings and not self.missing

    def to_json(self) -> dict[str, object]:
        """Return the result as plain data."""
        lists = {
            name: [entry._asdict() for entry in getattr(self, name)] for name in ("findings", "missing", "unproven")
        }
        return {**asdict(self), **lists, "is_complete": self.is_complete}


@dataclass
class CheckTally:
    """Collects what the verification of a bundle tells."""

    findings: list[BundleFinding] = field(default_factory=list)
    verdicts: int = 0
    by_answers: int = 0
    by_scene: int = 0
    by_image: int = 0
    images_to_judge: int = 0
    numbers: int = 0
    planned: int = 0
    _missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    _unproven: Counter[tuple[str, str]] = field(default_factory=Counter)

    def differs(self, place: str, text: str) -> None:
        """Note something that differs."""
        self.findings.append(BundleFinding(truncate(place, 200, 60), truncate(text, 400, 100)))

    def lacks(self, count: int, what: str, reason: str) -> None:
        """Note something of the plan that is not there."""
        self._missing[what, reason] += count

    def cannot_prove(self, count: int, what: str, reason: str) -> None:
        """Note something that does not follow from anything else."""
        self._unproven[what, reason] += count

    def result(self, digest: str, made_with: str, files: int, *, is_cited: bool) -> BundleCheck:
        """Return everything that was noted."""
        missing, unproven = (
            tuple(Unproven(what, count, reason) for (what, reason), count in counter.items() if count)
            for counter in (self._missing, self._unproven)
        )
        counts = (self.verdicts, self.by_answers, self.by_scene, self.by_image, self.images_to_judge)
        sums = (*counts, self.numbers, self.planned)
        return BundleCheck(tuple(self.findings), digest, is_cited, made_with, files, *sums, missing, unproven)


TOLERANCE = 1e-9
"""Numbers may differ by this share: another processor may round otherwise in the last digits."""

_ABSENT: Final = object()


def value_differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each value that differs, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*new, *old)):
            inner = f"{path}.{name}".lstrip(".")
            yield from value_differences(old.get(name, _ABSENT), new.get(name, _ABSENT), inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            names = (before[key] for key in ("name", "suite") if isinstance(before, dict) and key in before)
            yield from value_differences(before, after, f"{path}[{next(names, number)}]")
    elif not is_same(old, new):
        yield path, old, new


def is_same(old: Any, new: Any) -> bool:
    """Return whether two values are the same, numbers but for their last digits."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(old == new)


def count_leaves(data: Any) -> int:
    """Return how many values there are in plain data."""
    if isinstance(data, dict | list):
        return sum(map(count_leaves, data.values() if isinstance(data, dict) else data))
    return 1


def value_text(value: Any) -> str:
    """Return a value as it is shown in a message."""
    return "absent" if value is _ABSENT else truncate(dumps_storable(value), 100, 40)
