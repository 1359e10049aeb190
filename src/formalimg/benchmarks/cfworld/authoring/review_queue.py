"""The review queue: one line per group, with the findings of the checker and the decision."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pydantic import ValidationError

from formalimg._util.io import atomic_write_text
from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.authoring.reviewing import LevelQuestions
from formalimg.benchmarks.cfworld.authoring.answers import Branch, Discipline, QuestionAnswer
from formalimg.benchmarks.cfworld.authoring.choices import GROUPS
from formalimg.benchmarks.cfworld.authoring.group_task import parse_questions
from formalimg.benchmarks.cfworld.authoring.groups import (
    GROUPS_FILE,
    Questions,
    WrittenGroup,
    encode_questions,
    read_groups,
)
from formalimg.benchmarks.cfworld.group_checks import check_group, check_groups
from formalimg.benchmarks.cfworld.items import builtin_groups
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup, WeightedQuestion
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError

Decision: TypeAlias = Literal["accept", "edit", "reject"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
DISCIPLINES: tuple[str, ...] = get_args(Discipline)
BRANCHES: tuple[str, ...] = get_args(Branch)

_QUESTIONS_FORM = "questions are those of level 1, and those of 2 and 3 under 2"


@dataclass(frozen=True)
class ReviewLine:
    """A group in the review queue."""

    group: CounterfactualGroup  # the group as it stands there now
    # its questions as they stand there, if a model wrote them; None if they come from the template
    own_questions: object
    problems: object  # what the checker found when the line was written
    digest: object  # by what is noticed that the group was changed
    decision: Decision | Literal[""]  # accept, edit or reject; empty if nobody has decided
    note: str  # what somebody wrote beside it

    @classmethod
    def from_fields(cls, line: Mapping[str, Any]) -> ReviewLine:
        """Build a line from its fields."""
        missing = [name for name in ADDED if name not in line]
        if missing:
            raise FormalimgError(f"{missing[0]} is missing: leave the fields of a line as they are")
        shown = {name: value for name, value in line.items() if name not in ADDED}
        questions = shown.pop("questions", None)
        if questions is None and "questions" in line:
            raise FormalimgError(_QUESTIONS_FORM)
        group = CounterfactualGroup.from_fields(shown)
        decision, note = line["decision"], line["note"]
        if not isinstance(note, str):
            raise FormalimgError("note must be text")
        if decision not in ("", *DECISIONS):
            known = ", ".join(DECISIONS)
            raise FormalimgError(f"unknown decision {truncate(repr(decision), 40, 10)}: write {known}")
        return cls(group, questions, line["problems"], line["digest"], decision, note)

    @property
    def shown(self) -> dict[str, Any]:
        """Return the fields that a reviewer sees and may edit."""
        fields: dict[str, Any] = asdict(self.group)
        return fields if self.own_questions is None else {**fields, "questions": self.own_questions}

    @property
    def id(self) -> str:
        """The name of the group."""
        return self.group.id

    @property
    def field(self) -> str:
        """The branch, or the discipline where there is none."""
        return self.group.branch or self.group.discipline

    @property
    def fields_on_offer(self) -> Mapping[str, Sequence[str]]:
        """The disciplines and branches to choose from, with those of the group."""
        return {
            "discipline": list(dict.fromkeys((*DISCIPLINES, self.group.discipline))),
            "branch": list(dict.fromkeys((*BRANCHES, self.group.branch))),
        }

    @property
    def searched_text(self) -> str:
        """All texts of the group, and the note."""
        return "\n".join((*asdict(self.group).values(), self.note))

    @property
    def findings(self) -> list[str]:
        """The findings of the checker; a file edited by hand may hold anything there."""
        given = self.problems
        return [str(each) for each in given] if isinstance(given, list) else [str(given)] * bool(given)

    def level_questions(self) -> list[LevelQuestions]:
        """Return the weighted questions of the group; none if those in the file cannot score an image."""
        try:
            items = {item.level: item.spec.questions for item in WrittenGroup(self.group, self.questions()).items()}
        except FormalimgError:
            return []
        return [
            LevelQuestions("of factual images", "1", _plain_questions(items[1])),
            LevelQuestions("of explicit and implicit images", "2", _plain_questions(items[2])),
        ]

    @property
    def is_changed(self) -> bool:
        """Return whether the group differs from the exported one."""
        return digest_of(self.shown) != self.digest

    @property
    def version(self) -> str:
        """By what is noticed that anything in the line was changed."""
        return digest_of(self._fields())

    def text(self) -> str:
        """Return the line as it is stored."""
        return json.dumps(self._fields(), ensure_ascii=False)

    def kept(self) -> WrittenGroup | None:
        """Return the accepted group; None if it is rejected or undecided."""
        name = self.group.id
        if self.is_changed and self.decision in ("", "accept"):
            raise FormalimgError(f"group {name} was changed: write edit for its decision, or take the change back")
        if self.decision == "reject":
            return None
        questions = self.questions()
        if self.decision == "edit":
            if not self.is_changed:
                raise FormalimgError(f"group {name} is as it was: change it, or write accept")
            objection = next(iter(self.objections()), None)
            if objection is not None:
                raise FormalimgError(f"edited, but {objection}")
        return WrittenGroup(self.group, questions) if self.decision else None

    def objections(self, before: Sequence[CounterfactualGroup] = ()) -> list[str]:
        """Return the problems of the group as it is now."""
        found = [f"{problem.reason}: {problem.detail}" for problem in check_group(self.group, before)]
        if not all(text.isprintable() for text in asdict(self.group).values()):
            found.insert(0, "with characters that cannot be printed")
        try:
            self.questions()
        except FormalimgError as error:
            found.append(str(error))
        return found

    def questions(self) -> Questions:
        """The questions that a model wrote, with their weights; none if they come from the template."""
        given = self.own_questions
        if given is None or given == {}:
            return {}
        if not isinstance(given, dict) or set(given) != {"1", "2"}:
            raise FormalimgError(_QUESTIONS_FORM)
        found = {}
        for level, shows in ((1, self.group.shows_factual), (2, self.group.shows)):
            try:
                entries = [QuestionAnswer.model_validate(entry) for entry in given[str(level)]]
            except (ValidationError, TypeError) as error:
                raise FormalimgError("a question has dimension, question and criteria") from error
            questions = parse_questions(entries, shows)
            if isinstance(questions, Rejection):
                raise FormalimgError(f"questions of level {level}: {questions.reason}: {questions.detail}")
            found[level] = questions
        return found

    def _fields(self) -> dict[str, Any]:
        return {**self.shown, **{name: getattr(self, name) for name in ADDED}}


def _plain_questions(questions: Sequence[WeightedQuestion]) -> list[dict[str, object]]:
    return [{**asdict(question), "weight": f"{question.weight:g}"} for question in questions]


ADDED = ("problems", "digest", "decision", "note")
"""The fields of a line besides those of the group and its questions."""


def groups_to_review(source: str) -> list[WrittenGroup]:
    """The groups of a folder that was written, of a file of groups, or those that ship, by the name of their suite.

    Questions that are not from the template come along, so that nobody reviews a group without them.
    """
    if source == GROUPS:
        return [WrittenGroup(group) for group in builtin_groups()]
    place = Path(source)
    path = place / GROUPS_FILE if place.is_dir() else place
    if not path.is_file():
        raise FormalimgError(f"there is no {path}: give a folder with {GROUPS_FILE}, such a file, or {GROUPS}")
    groups = read_groups(path)
    if not groups:
        raise FormalimgError(f"{path} holds no groups")
    items = load(GROUPS, path.parent) if (path.parent / "items.jsonl").is_file() else []
    asked: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for item in items:
        asked[item.spec.group][item.level] = item.spec.questions
    return [WrittenGroup(group, _own_questions(WrittenGroup(group), asked[group.id])) for group in groups]


def queue_lines(groups: Sequence[WrittenGroup]) -> list[str]:
    """A line of JSON for each group: its fields, what the checker finds, and what a person has to fill in."""
    problems: defaultdict[str, list[str]] = defaultdict(list)
    for problem in check_groups([each.group for each in groups]):
        problems[problem.group].append(f"{problem.reason}: {problem.detail}")
    return [_line(each, problems[each.group.id]) for each in groups]


def export_queue(source: str, path: Path) -> int:
    """Write the review queue of some groups to a file, and tell how many there are."""
    if path.exists():
        raise FormalimgError(f"{path} is there already, perhaps with decisions: choose another name")
    lines = queue_lines(groups_to_review(source))
    atomic_write_text(path, "".join(f"{line}\n" for line in lines))
    return len(lines)


def digest_of(fields: Mapping[str, Any]) -> str:
    """By what is noticed that a group was changed."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def reviewed_fields(each: WrittenGroup) -> dict[str, Any]:
    """What a person sees of a group, and may change; weights are not theirs to change."""
    fields: dict[str, Any] = asdict(each.group)
    if each.questions:
        fields["questions"] = {
            level: [{name: text for name, text in question.items() if name != "weight"} for question in asked]
            for level, asked in encode_questions(each.questions).items()
        }
    return fields


def _line(each: WrittenGroup, problems: Sequence[str]) -> str:
    fields = reviewed_fields(each)
    added = dict(zip(ADDED, (list(problems), digest_of(fields), "", ""), strict=True))
    return json.dumps({**fields, **added}, ensure_ascii=False)


def _own_questions(plain: WrittenGroup, asked: Mapping[int, Any]) -> Questions:
    """The questions of a group's items, unless they are those of the template."""
    usual = {item.level: item.spec.questions for item in plain.items()}
    if all(asked.get(level, usual[level]) == usual[level] for level in usual):
        return {}
    if set(asked) != set(usual) or asked[2] != asked[3]:
        raise FormalimgError(
            f"group {plain.group.id}: its items must have all three levels, 2 and 3 with one set of questions"
        )
    return {1: asked[1], 2: asked[2]}
