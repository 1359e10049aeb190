"""Journals of looks: `looks.jsonl` for adaptive runs and `gate.jsonl` for sequential gates.

Every look is saved before the next image is generated and before its decision is printed. A resumed run replays the
looks: decisions stand, and a file whose decisions do not follow from its images is refused. This prevents extra looks,
and changes of the design after a look. A gate that is repeated without new items repeats its decision, and one with new
items has the error probability that the earlier looks have left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

from formalimg._util.io import read_plain_bytes
from formalimg._util.locks import FolderLock
from formalimg._util.strict_json import is_text, loads_strict
from formalimg.errors import FormalimgError
from formalimg.runs.folder import GATE_LOOKS, LOOKS, RESTARTS
from formalimg.runs.image_store import write_run_file
from formalimg.runs.manifest import Identity, utc_now
from formalimg.runs.plan import judge_key
from formalimg.stats.sequential import LOOK_EVERY, AdaptiveDesign, AdaptiveTest
from formalimg.stats.sequential_pairs import GateDecision, GateOutcome, PairedDesign, PairedTest, look_alpha
from formalimg.types import Judge

_MAX_BYTES = 10_000_000  # As much of a file is read: a run folder may come from anywhere
_MAX_IMAGES, _MAX_OF_LEVEL, _MAX_PAIRS = 100_000, 10_000, 20_000
"""Limits of a design: of all images, of those of one level, and of the items of a comparison. Larger ones take long."""

_OUTCOMES = ("passed", "failed", "unscored")
_PAIRED_OUTCOMES = ("won", "lost", "tied", "unscored")

_NOT_OURS = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What a line raises that formalimg has not written."""


class ImagesOfLook(NamedTuple):
    """The new images of a look by outcome, and whether the level is exhausted."""

    # ids of items: passed, failed, unscored; in a comparison won, lost, tied, unscored
    outcomes: Mapping[str, Sequence[str]]
    exhausted: bool  # whether too few images could be scored, and none are left

    @property
    def items(self) -> tuple[str, ...]:
        """All items of the look."""
        return tuple(item for items in self.outcomes.values() for item in items)


@dataclass
class AdaptiveLooks:
    """The design of an adaptive run and the images of all its looks."""

    design: AdaptiveDesign | PairedDesign
    judge: str  # the key of the judge whose verdicts count
    against: str = ""  # the run that it is compared with; empty for the test of G
    seen: list[ImagesOfLook] = field(default_factory=list)  # the images of all looks, in order
    restarts: tuple[int, ...] = ()  # how many looks each adaptive run had that was set aside here by --restart

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
        self.test: AdaptiveTest | PairedTest = (  # with all looks replayed
            AdaptiveTest(self.design) if isinstance(self.design, AdaptiveDesign) else PairedTest(self.design)
        )
        self.outcomes = _OUTCOMES if isinstance(self.design, AdaptiveDesign) else _PAIRED_OUTCOMES
        self._counts: dict[tuple[int, str], int] = {}

    def is_by(self, judge: Judge | Identity | None) -> bool:
        """Return whether the looks were decided by the judge."""
        return judge is not None and judge_key(judge) == self.judge

    def __str__(self) -> str:
        """Return the design on one line, as stored in the manifest."""
        return f"{self.design}, against {self.against}" if self.against else str(self.design)

    @property
    def items(self) -> tuple[str, ...]:
        """All items of all looks, in order."""
        return tuple(item for images in self.seen for item in images.items)

    @property
    def epsilon(self) -> float | None:
        """The pass rate required to hold a level, or None for a comparison."""
        return self.design.epsilon if isinstance(self.design, AdaptiveDesign) else None

    @property
    def total(self) -> int:
        """The maximum number of images."""
        return self.design.total if isinstance(self.design, AdaptiveDesign) else self.design.items

    @property
    def levels(self) -> tuple[int, ...]:
        """The tested levels in ascending order, or an empty tuple for a comparison."""
        return tuple(sorted(self.design.images)) if isinstance(self.design, AdaptiveDesign) else ()

    def images_of(self, level: int) -> int:
        """Return the number of images of a level, or 0 for a comparison."""
        return self.design.images.get(level, 0) if isinstance(self.design, AdaptiveDesign) else 0

    @property
    def level(self) -> int | None:
        """The current level, or None for a comparison or a finished test."""
        return self.test.needs.level if isinstance(self.test, AdaptiveTest) and self.test.needs else None

    @property
    def missing(self) -> int | None:
        """The number of scored images still required for the next look, or None if the test has ended."""
        needs = self.test.needs
        if needs is None:
            return None
        return (needs if isinstance(needs, int) else needs.counted) - sum(self._level_counts(self._counts).values())

    def _level_counts(self, counts: Mapping[tuple[int, str], int]) -> dict[str, int]:
        current = self.level or 0
        return {outcome: count for (level, outcome), count in counts.items() if level == current}

    def look(self, images: ImagesOfLook) -> str:
        """Record a look with new images and return the decision of the test."""
        level = self.level or 0
        counts = dict(self._counts)
        for outcome, items in images.outcomes.items():
            if outcome != "unscored":
                counts[level, outcome] = counts.get((level, outcome), 0) + len(items)
        by_outcome = self._level_counts(counts)
        scored = sum(by_outcome.values())
        decision: str
        if isinstance(self.test, AdaptiveTest):
            decision = self.test.look(by_outcome.get("passed", 0), scored, exhausted=images.exhausted).decision
        else:
            won, lost = by_outcome.get("won", 0), by_outcome.get("lost", 0)
            decision = self.test.look(won, lost, scored, exhausted=images.exhausted).decision
        self._counts = counts
        self.seen.append(images)
        return decision

    # --- as lines

    def first_line(self) -> dict[str, Any]:
        """Return the design as the first record of the file."""
        line: dict[str, Any] = {"design": str(self), "judge": self.judge, "confidence": self.design.confidence}
        if isinstance(self.design, AdaptiveDesign):
            images = {str(level): self.design.images[level] for level in sorted(self.design.images)}
            return {**line, "epsilon": self.design.epsilon, "every": self.design.every, "images": images}
        return {**line, "against": self.against, "items": self.design.items}

    def replay(self, line: Mapping[str, Any], known_items: set[str]) -> None:
        """Replay a stored look, and raise an error if its decision does not follow from its images."""
        outcomes = {name: line.get(name) for name in self.outcomes}
        for items in outcomes.values():
            if not isinstance(items, list) or not all(map(is_text, items)):
                raise ValueError("an analysis without its images")
        images = ImagesOfLook(
            {name: tuple(items) for name, items in outcomes.items() if items}, line["exhausted"] is True
        )
        if len(set(images.items)) < len(images.items) or not known_items.isdisjoint(images.items):
            raise FormalimgError("an image is analysed twice")
        known_items.update(images.items)
        if line.get("level") != self.level or self.look(images) != line.get("decision"):
            raise FormalimgError(f"the decision of look {len(self.seen)} does not follow from its images")


class LooksFile:
    """The file of looks, opened for writing by the process that holds the lock of the run folder."""

    def __init__(self, folder: Path, planned: AdaptiveLooks, *, has_images: bool) -> None:
        """Read the existing looks, or write the design to a new file."""
        self._path = folder / LOOKS
        stored = read_looks(folder)
        if stored is None and has_images:
            raise FormalimgError(
                f"{folder} has lost its {LOOKS}, so its analyses cannot be continued: restore it, or give `run` "
                "the option --restart, which moves the old files aside and starts over"
            )
        if stored is not None and (stored.judge != planned.judge or stored.first_line() != planned.first_line()):
            raise FormalimgError(
                f"the looks in {self._path} were taken by another judge or design: give the same options as before, "
                "or choose another folder"
            )
        self.looks = stored or planned
        self._lines = _read_lines(self._path) or [_encode_line(planned.first_line())]
        _write_lines(self._path, self._lines)

    def add(self, images: ImagesOfLook) -> str:
        """Record a look with the images, sync it to disk and return the decision."""
        looks, level = self.looks, self.looks.level
        decision = looks.look(images)
        outcomes = {name: list(images.outcomes.get(name, ())) for name in looks.outcomes}
        line = {"look": len(looks.seen), "level": level, **outcomes, "exhausted": images.exhausted}
        self._lines.append(_encode_line({**line, "decision": decision, "at": utc_now()}))
        _write_lines(self._path, self._lines)
        return decision


def read_looks(folder: Path) -> AdaptiveLooks | None:
    """Read the looks of a run folder, or return None if it has none."""
    path = folder / LOOKS
    lines = _read_lines(path)
    if not lines:
        return None
    try:
        looks = _read_design(loads_strict(lines[0]))
        known_items: set[str] = set()
        for line in lines[1:]:
            looks.replay(loads_strict(line), known_items)
    except FormalimgError as error:
        raise _damage_error(path, str(error)) from error
    except _NOT_OURS as error:
        raise _damage_error(path, "it holds a line that is none of ours") from error
    looks.restarts = read_restarts(folder)
    return looks


def read_restarts(folder: Path) -> tuple[int, ...]:
    """Return the number of looks of each earlier adaptive run that was moved out of the folder."""
    path = folder / RESTARTS
    try:
        return tuple(_require_count(loads_strict(line)["looks"]) for line in _read_lines(path))
    except _NOT_OURS as error:
        raise FormalimgError(
            f"{path} is damaged: restore it from the folder that `run --restart` moved aside"
        ) from error


def _read_design(line: Mapping[str, Any]) -> AdaptiveLooks:
    design: AdaptiveDesign | PairedDesign
    confidence = _require_rate(line["confidence"])
    if "items" in line:
        design = PairedDesign(_require_count(line["items"]), confidence)
    else:
        images = {_require_count(int(level)): _require_count(number) for level, number in line["images"].items()}
        interval = _require_count(line["every"])
        if sum(images.values()) > _MAX_IMAGES or interval < LOOK_EVERY:
            raise ValueError("an invalid design")
        design = AdaptiveDesign(images, _require_rate(line["epsilon"]), interval, confidence)
    against = line.get("against", "")
    if not is_text(line["judge"]) or not is_text(against):
        raise ValueError("no judge")
    return AdaptiveLooks(design, line["judge"], against)


def _require_count(value: object) -> int:
    if type(value) is not int or not 1 <= value <= _MAX_IMAGES:
        raise ValueError("not a count")
    return value


def _require_rate(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError("not a rate")
    return float(value)


def _read_lines(path: Path) -> list[bytes]:
    try:
        data = read_plain_bytes(path, _MAX_BYTES)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    return [line for line in data.split(b"\n") if line.strip()]


def _encode_line(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False).encode()


def _write_lines(path: Path, lines: Sequence[bytes]) -> None:
    write_run_file(path, (line + b"\n" for line in lines), fsync=True)


def _damage_error(path: Path, problem: str) -> FormalimgError:
    return FormalimgError(
        f"{path} is damaged ({problem}): restore it, or give `run` the option --restart, which starts over"
    )


# --- sequential gates, in the folder of the new run


class GateDesign(NamedTuple):
    """The design of a sequential gate, fixed by the first look."""

    against: str  # the baseline
    by: str  # who decides: the key of the judge, or `people`
    number: str  # the number that is compared
    margin: float  # the tolerated loss
    looks: int  # the number of planned looks


class GateLook(NamedTuple):
    """The decision of a sequential gate at a look, with the look number starting at 1."""

    design: GateDesign
    number: int
    decision: GateDecision


def take_gate_look(folder: Path, design: GateDesign, items: int, decide: Callable[[float], GateDecision]) -> GateLook:
    """Record a new look, or return the last one if it was decisive or no items were added."""
    lock = FolderLock(folder)
    try:
        looks = [look for look in read_gate_looks(folder) if look.design.against == design.against]
        if looks and looks[-1].design != design:
            pairs = zip(GateDesign._fields, looks[-1].design, design, strict=True)
            differences = "; ".join(f"{name}: was {old}, now {new}" for name, old, new in pairs if old != new)
            raise FormalimgError(
                f"{folder / GATE_LOOKS} has looks of another gate ({differences}): give the same options as at its "
                "first look"
            )
        if looks and (looks[-1].decision.outcome != "cannot tell" or items <= looks[-1].decision.items):
            return looks[-1]
        if len(looks) == design.looks:
            raise FormalimgError(
                f"all {design.looks} looks of this gate are taken, and it could not tell: start a new run, with more "
                "items for each look"
            )
        alpha = look_alpha([*(look.decision.items for look in looks), items], design.looks)
        look = GateLook(design, len(looks) + 1, decide(alpha))
        line = _encode_line({**design._asdict(), "look": look.number, **look.decision._asdict(), "at": utc_now()})
        _write_lines(folder / GATE_LOOKS, [*_read_lines(folder / GATE_LOOKS), line])
    finally:
        lock.release()
    return look


def read_gate_looks(folder: Path) -> list[GateLook]:
    """Return the looks of all gates in which the run was the candidate, in order."""
    path = folder / GATE_LOOKS
    try:
        return [_read_gate_look(loads_strict(line)) for line in _read_lines(path)]
    except _NOT_OURS:
        raise FormalimgError(f"{path} is damaged: restore it, or start a new run") from None


def _read_gate_look(record: dict[str, Any]) -> GateLook:
    texts = [record[name] for name in ("against", "by", "number")]
    outcome: GateOutcome = record["outcome"]
    counts = [record[name] for name in ("looks", "look", "items")]
    values = [record[name] for name in ("margin", "difference", "low", "high", "alpha")]
    if not all(map(is_text, texts)) or outcome not in get_args(GateOutcome) or type(record["is_open"]) is not bool:
        raise ValueError("not a look")
    if not {*map(type, counts)} <= {int} or not {*map(type, values)} <= {int, float}:
        raise ValueError("not a look")
    if type(record["growth"]) not in (int, float, type(None)):
        raise ValueError("not a look")
    design = GateDesign(*(record[name] for name in GateDesign._fields))
    return GateLook(design, record["look"], GateDecision(*(record[name] for name in GateDecision._fields)))
