"""What came of a review: decisions read from the queue, each line checked again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from formalimg.errors import FormalimgError, presentable
from formalimg.suites import Group, ItemsError, check_group, check_groups, write_items
from formalimg.writers.counterfactuals.answers import QuestionAnswer
from formalimg.writers.counterfactuals.finishing import put_groups
from formalimg.writers.counterfactuals.questioning import questions_of
from formalimg.writers.counterfactuals.review_queue import ADDED, digest_of
from formalimg.writers.counterfactuals.written_group import Questions, WrittenGroup, fields_in, write_text
from formalimg.writers.rejection import Rejection

DECISIONS = ("accept", "edit", "reject")
REPORT_FILE = "review.json"


@dataclass
class Review:
    """What people decided.

    Attributes:
        accepted: the groups to keep, edited ones as they were edited, in the order of the queue.
        decisions: of each group, by its id; empty for undecided ones.
        notes: what people wrote beside a group, by its id.
        overruled: what the checker has against groups that a person accepted all the same.
    """

    accepted: list[WrittenGroup] = field(default_factory=list)
    decisions: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    overruled: dict[str, list[str]] = field(default_factory=dict)

    @property
    def undecided(self) -> list[str]:
        """The groups that nobody has decided about."""
        return [name for name, decision in self.decisions.items() if not decision]


def read_review(path: Path) -> Review:
    """The decisions in a queue.

    Raises:
        FormalimgError: if the file cannot be read.
        ItemsError: naming every line that makes no sense: no group, an unknown decision, a group that was changed
            though nobody said edit, or an edited one that the checker objects to.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise FormalimgError(f"cannot read the queue {path}: {error.strerror}") from error
    review, wrong, places = Review(), [], dict[str, int]()
    for number, line in enumerate(lines, 1):
        try:
            name = _take(fields_in(line), review)
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


def put_review(review: Review, folder: Path, version: str = "") -> Path | None:
    """Write the accepted groups, their items and `review.json`; gives where the items lie, None if there are none."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FormalimgError(f"{folder} already holds something: choose another folder, or empty it")
    counts = {name: list(review.decisions.values()).count(name) for name in DECISIONS}
    report = {
        "groups": len(review.decisions),
        **counts,
        "undecided": review.undecided,
        "overruled": review.overruled,
        "notes": review.notes,
    }
    path = None
    if review.accepted:
        put_groups(review.accepted, folder, version)
        path = write_items([item for each in review.accepted for item in each.items(version)], folder)
    write_text(folder / REPORT_FILE, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return path


def _take(line: Mapping[str, Any], review: Review) -> str:
    """Add what one line says to the review, and tell which group it is about."""
    missing = [name for name in ADDED if name not in line]
    if missing:
        raise FormalimgError(f"{missing[0]} is missing: leave the fields of a line as they are")
    shown = {name: value for name, value in line.items() if name not in ADDED}
    group = Group.from_fields({name: value for name, value in shown.items() if name != "questions"})
    decision, note = line["decision"], line["note"]
    if not isinstance(note, str):
        raise FormalimgError("note must be text")
    if decision not in ("", *DECISIONS):
        raise FormalimgError(f"unknown decision {presentable(repr(decision), 40, 10)}: write {', '.join(DECISIONS)}")
    if group.id in review.decisions:
        raise FormalimgError(f"group {group.id} stands there twice")
    changed = digest_of(shown) != line["digest"]
    if changed and decision in ("", "accept"):
        raise FormalimgError(f"group {group.id} was changed: write edit for its decision, or take the change back")
    questions = _questions(shown.get("questions", {}), group) if decision != "reject" else {}
    if decision == "edit":
        _require_sound(group, changed)
    review.decisions[group.id] = decision
    if note:
        review.notes[group.id] = note
    if decision in ("accept", "edit"):
        review.accepted.append(WrittenGroup(group, questions))
    return group.id


def _require_sound(group: Group, changed: bool) -> None:
    if not changed:
        raise FormalimgError(f"group {group.id} is as it was: change it, or write accept")
    if not all(text.isprintable() for text in asdict(group).values()):
        raise FormalimgError("edited, but with characters that cannot be printed")
    problem = next(iter(check_group(group)), None)
    if problem is not None:
        raise FormalimgError(f"edited, but {problem.reason}: {problem.detail}")


def _questions(given: object, group: Group) -> Questions:
    if given == {}:
        return {}
    if not isinstance(given, dict) or set(given) != {"1", "2"}:
        raise FormalimgError("questions are those of level 1, and those of 2 and 3 under 2")
    found = {}
    for level, shows in ((1, group.shows_factual), (2, group.shows)):
        try:
            entries = [QuestionAnswer.model_validate(entry) for entry in given[str(level)]]
        except (ValidationError, TypeError) as error:
            raise FormalimgError("a question has dimension, question and criteria") from error
        questions = questions_of(entries, shows)
        if isinstance(questions, Rejection):
            raise FormalimgError(f"questions of level {level}: {questions.reason}: {questions.detail}")
        found[level] = questions
    return found
