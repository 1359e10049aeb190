"""The looks of an adaptive run, `looks.jsonl`: its design, and for each look the images that were new and the decision.

Every look is on disk before the next image is made. A resumed run replays the looks: what was decided stays decided,
and a file whose decisions do not follow from its images is refused. So nobody can look more often than the design says,
or change the design after a look.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import read_plain_bytes
from formalimg._util.strict_json import is_text, loads_strict
from formalimg.errors import FormalimgError
from formalimg.runs.folder import LOOKS, RESTARTS
from formalimg.runs.image_store import write_run_file
from formalimg.runs.manifest import Identity, utc_now
from formalimg.runs.plan import judge_key
from formalimg.stats.sequential import LOOK_EVERY, AdaptiveDesign, AdaptiveTest
from formalimg.stats.sequential_pairs import PairedDesign, PairedTest
from formalimg.types import Judge

_MAX_BYTES = 10_000_000
"""As much of the file is read: a run folder may come from anywhere."""

_MAX_IMAGES, _MAX_OF_LEVEL, _MAX_PAIRS = 100_000, 10_000, 20_000
"""Limits of a design: of all images, of those of one level, and of the items of a comparison. Larger ones take long."""

_OUTCOMES = ("passed", "failed", "unscored")
_PAIRED_OUTCOMES = ("won", "lost", "tied", "unscored")


class ImagesOfLook(NamedTuple):
    """The images that are new in a look, by what became of them; and whether its level has no more."""

    # ids of items: passed, failed, unscored; in a comparison won, lost, tied, unscored
    outcomes: Mapping[str, Sequence[str]]
    exhausted: bool  # whether too few images could be scored, and none are left

    @property
    def items(self) -> tuple[str, ...]:
        """All items of the look."""
        return tuple(item for items in self.outcomes.values() for item in items)


@dataclass
class AdaptiveLooks:
    """The looks of a run: an adaptive test with the images that it has seen.

    Attributes:
        design: the design of the test.
        judge: the key of the judge whose verdicts count.
        against: the run that it is compared with; empty for the test of G.
        seen: the items of all looks, in order.
        restarts: how many looks each adaptive run had that was here before and was set aside by --restart.
        test: the test, with all looks replayed.
    """

    design: AdaptiveDesign | PairedDesign
    judge: str
    against: str = ""
    seen: list[ImagesOfLook] = field(default_factory=list)
    restarts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.total > _MAX_IMAGES or max(map(self.images_of, self.levels), default=0) > _MAX_OF_LEVEL:
            raise FormalimgError(
                f"an adaptive run has at most {_MAX_OF_LEVEL:,} images per level and {_MAX_IMAGES:,} in all: "
                "give --per-level (per_level=)"
            )
        if isinstance(self.design, PairedDesign) and self.total > _MAX_PAIRS:
            raise FormalimgError(
                f"at most {_MAX_PAIRS:,} items can be compared look by look: give --per-level (per_level=)"
            )
        self._known: set[str] = set()
        self.test: AdaptiveTest | PairedTest = (
            AdaptiveTest(self.design) if isinstance(self.design, AdaptiveDesign) else PairedTest(self.design)
        )
        self._counts: dict[tuple[int, str], int] = {}

    def is_by(self, judge: Judge | Identity | None) -> bool:
        """Return whether the decisions are those of this judge."""
        return judge is not None and judge_key(judge) == self.judge

    def __str__(self) -> str:
        """Return the design on one line, as the manifest keeps it."""
        return f"{self.design}, against {self.against}" if self.against else str(self.design)

    @property
    def items(self) -> tuple[str, ...]:
        """All items that were looked at, in order."""
        return tuple(item for images in self.seen for item in images.items)

    @property
    def epsilon(self) -> float | None:
        """The rate that a held level reaches; None for a comparison."""
        return self.design.epsilon if isinstance(self.design, AdaptiveDesign) else None

    @property
    def total(self) -> int:
        """The number of images of a run that is not adaptive."""
        return self.design.total if isinstance(self.design, AdaptiveDesign) else self.design.items

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels that are climbed; none for a comparison."""
        return tuple(sorted(self.design.images)) if isinstance(self.design, AdaptiveDesign) else ()

    def images_of(self, level: int) -> int:
        """Return the number of images that a level has; 0 for a comparison."""
        return self.design.images.get(level, 0) if isinstance(self.design, AdaptiveDesign) else 0

    @property
    def level(self) -> int | None:
        """The level that is under way; None for a comparison, and after the end."""
        return self.test.needs.level if isinstance(self.test, AdaptiveTest) and self.test.needs else None

    @property
    def missing(self) -> int | None:
        """How many more scored images it takes until the next look; None if the test has ended."""
        needs = self.test.needs
        if needs is None:
            return None
        scored = sum(count for (level, what), count in self._counts.items() if level == (self.level or 0))
        return (needs if isinstance(needs, int) else needs.counted) - scored

    def look(self, images: ImagesOfLook) -> str:
        """Look, and return the decision."""
        level = self.level or 0
        counts = dict(self._counts)
        for outcome, items in images.outcomes.items():
            if outcome != "unscored":
                counts[level, outcome] = counts.get((level, outcome), 0) + len(items)
        scored = sum(count for (of, _), count in counts.items() if of == level)
        decision: str
        if isinstance(self.test, AdaptiveTest):
            passed = counts.get((level, "passed"), 0)
            decision = self.test.look(passed, scored, exhausted=images.exhausted).decision
        else:
            won, lost = counts.get((level, "won"), 0), counts.get((level, "lost"), 0)
            decision = self.test.look(won, lost, scored, exhausted=images.exhausted).decision
        self._counts = counts
        self._known.update(images.items)
        self.seen.append(images)
        return decision

    # --- as lines

    def first_line(self) -> dict[str, Any]:
        """Return the design as the first line of the file has it."""
        line: dict[str, Any] = {"design": str(self), "judge": self.judge, "confidence": self.design.confidence}
        if isinstance(self.design, AdaptiveDesign):
            images = {str(level): self.design.images[level] for level in sorted(self.design.images)}
            return {**line, "epsilon": self.design.epsilon, "every": self.design.every, "images": images}
        return {**line, "against": self.against, "items": self.design.items}

    def replay(self, line: Mapping[str, Any]) -> None:
        """Take a line of the file; its decision has to be the one that follows."""
        names = _OUTCOMES if isinstance(self.design, AdaptiveDesign) else _PAIRED_OUTCOMES
        outcomes = {name: line.get(name) for name in names}
        for items in outcomes.values():
            if not isinstance(items, list) or not all(map(is_text, items)):
                raise ValueError("a look without its images")
        images = ImagesOfLook(
            {name: tuple(items) for name, items in outcomes.items() if items}, line["exhausted"] is True
        )
        if len(set(images.items)) < len(images.items) or not self._known.isdisjoint(images.items):
            raise FormalimgError("an image is looked at twice")
        if line.get("level") != self.level or self.look(images) != line.get("decision"):
            raise FormalimgError(f"the decision of look {len(self.seen)} does not follow from its images")

    def line(self, level: int | None, images: ImagesOfLook, decision: str) -> dict[str, Any]:
        """Return a look as a line of the file has it."""
        names = _OUTCOMES if isinstance(self.design, AdaptiveDesign) else _PAIRED_OUTCOMES
        outcomes = {name: list(images.outcomes.get(name, ())) for name in names}
        about = {"look": len(self.seen), "level": level}
        return {**about, **outcomes, "exhausted": images.exhausted, "decision": decision, "at": utc_now()}


class LooksFile:
    """The file of the looks, opened for writing by the process that holds the lock of the run folder."""

    def __init__(self, folder: Path, planned: AdaptiveLooks, *, has_images: bool) -> None:
        """Read what is there, and write the design if nothing is."""
        self._path = folder / LOOKS
        found = read_looks(folder)
        if found is None and has_images:
            raise FormalimgError(
                f"{folder} has lost its {LOOKS}, so nobody knows what was looked at: restore it, or give `run` "
                "the option --restart, which moves the old files aside and begins anew"
            )
        if found is not None and (found.judge != planned.judge or found.first_line() != planned.first_line()):
            raise FormalimgError(
                f"the looks in {self._path} were taken by another judge or design: give the same options as before, "
                "or choose another folder"
            )
        self.looks = found or planned
        lines = [] if found is None else _lines(read_plain_bytes(self._path, _MAX_BYTES))
        self._kept = [f"{line}\n".encode() for line in lines] or [_encoded(planned.first_line())]
        self._write()

    def add(self, images: ImagesOfLook) -> str:
        """Look at these images, store the look, and return the decision; it is on disk when this returns."""
        level = self.looks.level
        decision = self.looks.look(images)
        self._kept.append(_encoded(self.looks.line(level, images, decision)))
        self._write()
        return decision

    def _write(self) -> None:
        write_run_file(self._path, self._kept, fsync=True)


def read_looks(folder: Path) -> AdaptiveLooks | None:
    """Return the looks of a run folder; None if it has none."""
    path = folder / LOOKS
    try:
        lines = _lines(read_plain_bytes(path, _MAX_BYTES))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except ValueError:
        raise _damaged(path, "it is not text") from None
    if not lines:
        return None
    try:
        looks = _design(loads_strict(lines[0]))
        for line in lines[1:]:
            looks.replay(loads_strict(line))
    except FormalimgError as error:
        raise _damaged(path, str(error)) from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(path, "it holds a line that is none of ours") from error
    looks.restarts = read_restarts(folder)
    return looks


def read_restarts(folder: Path) -> tuple[int, ...]:
    """Return how many looks each adaptive run had that was in a run folder before, and was set aside."""
    path = folder / RESTARTS
    try:
        lines = _lines(read_plain_bytes(path, _MAX_BYTES))
        restarts = tuple(_count(loads_strict(line)["looks"]) for line in lines)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormalimgError(
            f"{path} is damaged: restore it from the folder that `run --restart` moved aside"
        ) from error
    return restarts


def _design(line: Mapping[str, Any]) -> AdaptiveLooks:
    design: AdaptiveDesign | PairedDesign
    if "items" in line:
        design = PairedDesign(_count(line["items"]), _rate(line["confidence"]))
    else:
        images = {_count(int(level)): _count(number) for level, number in line["images"].items()}
        if sum(images.values()) > _MAX_IMAGES or _count(line["every"]) < LOOK_EVERY:
            raise ValueError("a design that nobody can have made")
        design = AdaptiveDesign(images, _rate(line["epsilon"]), _count(line["every"]), _rate(line["confidence"]))
    against = line.get("against", "")
    if not is_text(line["judge"]) or not is_text(against):
        raise ValueError("no judge")
    return AdaptiveLooks(design, line["judge"], against)


def _count(value: object) -> int:
    if type(value) is not int or not 1 <= value <= _MAX_IMAGES:
        raise ValueError("not a count")
    return value


def _rate(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError("not a rate")
    return float(value)


def _lines(data: bytes) -> list[str]:
    return [line for line in data.decode().split("\n") if line.strip()]


def _encoded(line: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(line, ensure_ascii=False)}\n".encode()


def _damaged(path: Path, why: str) -> FormalimgError:
    return FormalimgError(
        f"{path} is damaged ({why}): restore it, or give `run` the option --restart, which begins anew"
    )
