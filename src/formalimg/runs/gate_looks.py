"""The looks of sequential gates, `gate.jsonl` in the folder of the new run: one line for each decision.

A decision is on disk before it is printed. A later call with no more items repeats it, and one with more items has the
error probability that the earlier looks have left. So looking often makes no false decisions more likely.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from formalimg._util.io import read_plain_bytes
from formalimg._util.locks import FolderLock
from formalimg._util.strict_json import is_text, loads_strict
from formalimg.errors import FormalimgError
from formalimg.runs.folder import GATE_LOOKS
from formalimg.runs.image_store import write_run_file
from formalimg.runs.manifest import utc_now
from formalimg.stats.non_inferiority import GateDecision, GateOutcome, look_alpha

_MAX_BYTES = 10_000_000


class GateDesign(NamedTuple):
    """What a sequential gate tests; it is fixed by the first look."""

    against: str  # the baseline
    by: str  # who decides: the key of the judge, or `people`
    number: str  # the number that is compared
    margin: float  # the tolerated loss
    looks: int  # the number of planned looks


class GateLook(NamedTuple):
    """A decision of a sequential gate, and which look it was, from 1."""

    design: GateDesign
    number: int
    decision: GateDecision


def take_gate_look(folder: Path, design: GateDesign, items: int, decide: Callable[[float], GateDecision]) -> GateLook:
    """Take a look and store it; or repeat the last one if it decided, or there are no more items than it had."""
    lock = FolderLock(folder)
    try:
        looks = [look for look in read_gate_looks(folder) if look.design.against == design.against]
        if looks and looks[-1].design != design:
            raise FormalimgError(
                f"{folder / GATE_LOOKS} has looks of another gate ({_differences(looks[-1].design, design)}): "
                "give the same options as at its first look"
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
        _append(folder / GATE_LOOKS, look)
    finally:
        lock.release()
    return look


def read_gate_looks(folder: Path) -> list[GateLook]:
    """Return the looks of all gates in which a run was the new one, in order."""
    path = folder / GATE_LOOKS
    try:
        return [_look(loads_strict(line)) for line in _read(path).decode().splitlines()]
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, RecursionError):
        raise FormalimgError(f"{path} is damaged: restore it, or start a new run") from None


def _read(path: Path) -> bytes:
    try:
        return read_plain_bytes(path, _MAX_BYTES)
    except FileNotFoundError:
        return b""


def _append(path: Path, look: GateLook) -> None:
    record = {**look.design._asdict(), "look": look.number, **look.decision._asdict(), "at": utc_now()}
    line = f"{json.dumps(record, ensure_ascii=False)}\n".encode()
    write_run_file(path, [_read(path), line], fsync=True)


def _differences(before: GateDesign, now: GateDesign) -> str:
    return "; ".join(
        f"{name}: was {old}, now {new}"
        for name, old, new in zip(GateDesign._fields, before, now, strict=True)
        if old != new
    )


def _look(record: dict[str, Any]) -> GateLook:
    """Return a stored look; all its numbers are checked, because a run folder may come from anywhere."""
    texts = [record[name] for name in ("against", "by", "number")]
    outcome: GateOutcome = record["outcome"]
    counts = [record[name] for name in ("looks", "look", "items")]
    values = [record[name] for name in ("margin", "difference", "low", "high", "alpha")]
    if not all(map(is_text, texts)) or outcome not in get_args(GateOutcome) or type(record["is_open"]) is not bool:
        raise ValueError("not a look")
    if not (_are(int, counts) and _are((int, float), values) and _are((int, float, type(None)), [record["growth"]])):
        raise ValueError("not a look")
    design = GateDesign(*(record[name] for name in GateDesign._fields))
    return GateLook(design, record["look"], GateDecision(*(record[name] for name in GateDecision._fields)))


def _are(types: type | tuple[type, ...], values: Sequence[object]) -> bool:
    return all(isinstance(value, types) and not isinstance(value, bool) for value in values)
