"""What the verification of a bundle tells: what differs, what was computed again, and what nobody can compute again."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

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
            tuple(Unproven(what, count, reason) for (what, reason), count in counts.items() if count)
            for counts in (self._missing, self._unproven)
        )
        return BundleCheck(
            tuple(self.findings),
            digest,
            is_cited,
            made_with,
            files,
            self.verdicts,
            self.by_answers,
            self.by_scene,
            self.by_image,
            self.images_to_judge,
            self.numbers,
            self.planned,
            missing,
            unproven,
        )
