"""Decisions of a human review, read from the queue and checked again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from formalimg._util.io import atomic_write_text
from formalimg.benchmarks.cfworld.authoring.groups import WrittenGroup, parse_line, write_group_files
from formalimg.benchmarks.cfworld.authoring.review_queue import DECISIONS, ReviewLine
from formalimg.benchmarks.cfworld.group_checks import check_groups
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError

REPORT_FILE = "review.json"


@dataclass
class ReviewDecisions:
    """Decisions of reviewers."""

    # the groups to keep, edited ones as they were edited, in the order of the queue
    accepted: list[WrittenGroup] = field(default_factory=list)
    decisions: dict[str, str] = field(default_factory=dict)  # of each group, by its id; empty for undecided ones
    notes: dict[str, str] = field(default_factory=dict)  # what people wrote beside a group, by its id
    # what the checker has against groups that a person accepted all the same
    overruled: dict[str, list[str]] = field(default_factory=dict)

    @property
    def undecided(self) -> list[str]:
        """Return the undecided groups."""
        return [name for name, decision in self.decisions.items() if not decision]


def read_review(path: Path) -> ReviewDecisions:
    """Read the decisions from a queue."""
    review, wrong, places = ReviewDecisions(), [], dict[str, int]()
    for number, line in enumerate(queue_bytes(path).splitlines(), 1):
        try:
            name = _take(ReviewLine.from_fields(parse_line(line)), review)
            places[name] = number
        except FormalimgError as error:
            wrong.append(f"{path}, line {number}: {error}")
    for problem in check_groups([each.group for each in review.accepted]):
        said = f"{problem.reason}: {problem.detail}"
        if problem.reason == "duplicate" and review.decisions[problem.group] == "edit":
            wrong.append(f"{path}, line {places[problem.group]}: edited, but {said}")
        else:
            review.overruled.setdefault(problem.group, []).append(said)
    if wrong:
        raise ItemsError(wrong[:20])
    if not review.decisions:
        raise FormalimgError(f"{path} holds no groups: export a queue first")
    return review


def queue_bytes(path: Path) -> bytes:
    """Return the content of a queue file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormalimgError(f"cannot read the queue {path}: {error.strerror}") from error


def write_review(review: ReviewDecisions, folder: Path, version: str = "") -> Path | None:
    """Write the accepted groups, their items and `review.json`; gives where the items lie, None if there are none."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FormalimgError(f"{folder} already holds something: choose another folder, or empty it")
    counts: dict[str, int] = {name: list(review.decisions.values()).count(name) for name in DECISIONS}
    report = {
        "groups": len(review.decisions),
        **counts,
        "undecided": review.undecided,
        "overruled": review.overruled,
        "notes": review.notes,
    }
    path = None
    if review.accepted:
        write_group_files(review.accepted, folder, version)
        path = write_items([item for each in review.accepted for item in each.items(version)], folder)
    atomic_write_text(folder / REPORT_FILE, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return path


def _take(line: ReviewLine, review: ReviewDecisions) -> str:
    """Add what one line says to the review, and tell which group it is about."""
    name = line.group.id
    if name in review.decisions:
        raise FormalimgError(f"group {name} stands there twice")
    kept = line.kept()
    review.decisions[name] = line.decision
    if line.note:
        review.notes[name] = line.note
    if kept is not None:
        review.accepted.append(kept)
    return name
