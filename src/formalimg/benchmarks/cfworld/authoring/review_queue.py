"""The review queue: one line per group, with the checker's findings and the reviewer's decision."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pydantic import ValidationError

from formalimg._util.io import atomic_write_text
from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.authoring.task import ImportedReview, LevelQuestions
from formalimg.benchmarks.cfworld.authoring.group_task import (
    GROUPS_FILE,
    Questions,
    WrittenGroup,
    encode_questions,
    parse_line,
    read_groups,
    write_group_files,
)
from formalimg.benchmarks.cfworld.authoring.question_task import parse_questions
from formalimg.benchmarks.cfworld.authoring.templates import Branch, Discipline, QuestionAnswer
from formalimg.benchmarks.cfworld.group_checks import check_group, check_groups
from formalimg.benchmarks.cfworld.items import builtin_groups
from formalimg.benchmarks.cfworld.spec import CF_WORLD, LEVELS, CounterfactualGroup
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError

Decision: TypeAlias = Literal["accept", "edit", "reject"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)

ADDED = ("problems", "digest", "decision", "note")  # The fields of a line besides those of the group and its questions
_QUESTIONS_FORM = "questions are those of level 1, and those of 2 and 3 under 2"


@dataclass(frozen=True)
class ReviewLine:
    """A group in the review queue."""

    group: CounterfactualGroup
    own_questions: object  # as stored, if a model wrote them; None if they come from the template
    problems: object  # what the checker found when the line was written
    digest: object  # of the fields that a reviewer may edit, as they were exported
    decision: Decision | Literal[""]
    note: str

    @classmethod
    def from_fields(cls, line: Mapping[str, Any]) -> ReviewLine:
        """Build a line from its fields."""
        missing = [name for name in ADDED if name not in line]
        if missing:
            raise FormalimgError(f"{missing[0]} is missing: leave the fields of a line as they are")
        fields = {name: value for name, value in line.items() if name not in ADDED}
        questions = fields.pop("questions", None)
        if questions is None and "questions" in line:
            raise FormalimgError(_QUESTIONS_FORM)
        group = CounterfactualGroup.from_fields(fields)
        decision, note = line["decision"], line["note"]
        if not isinstance(note, str):
            raise FormalimgError("note must be text")
        if decision not in ("", *DECISIONS):
            raise FormalimgError(f"unknown decision {truncate(repr(decision), 40, 10)}: write {', '.join(DECISIONS)}")
        return cls(group, questions, line["problems"], line["digest"], decision, note)

    @property
    def editable(self) -> dict[str, Any]:
        """The fields that a reviewer sees and may edit."""
        fields: dict[str, Any] = asdict(self.group)
        return fields if self.own_questions is None else {**fields, "questions": self.own_questions}

    @property
    def stored(self) -> dict[str, Any]:
        """All fields of the line."""
        return {**self.editable, **{name: getattr(self, name) for name in ADDED}}

    @property
    def id(self) -> str:
        """The id of the group."""
        return self.group.id

    @property
    def field(self) -> str:
        """The branch of the group, or its discipline if it has no branch."""
        return self.group.branch or self.group.discipline

    @property
    def fields_on_offer(self) -> Mapping[str, Sequence[str]]:
        """The disciplines and branches to choose from, including those of the group."""
        return {
            "discipline": list(dict.fromkeys((*get_args(Discipline), self.group.discipline))),
            "branch": list(dict.fromkeys((*get_args(Branch), self.group.branch))),
        }

    @property
    def searched_text(self) -> str:
        """All texts of the group and the reviewer's note, for searching."""
        return "\n".join((*asdict(self.group).values(), self.note))

    @property
    def findings(self) -> list[str]:
        """The checker's findings as a list of text, even if the file was edited by hand."""
        if isinstance(self.problems, list):
            return [str(problem) for problem in self.problems]
        return [str(self.problems)] if self.problems else []

    @property
    def is_changed(self) -> bool:
        """Whether the group differs from the exported one."""
        return digest_of(self.editable) != self.digest

    @property
    def version(self) -> str:
        """The digest of all fields of the line, which identifies its version."""
        return digest_of(self.stored)

    def level_questions(self) -> list[LevelQuestions]:
        """Return the weighted questions of the group; empty if the questions in the file are not valid."""
        try:
            items = {item.level: item.spec.questions for item in WrittenGroup(self.group, self.questions()).items()}
        except FormalimgError:
            return []
        return [
            LevelQuestions(
                title, str(level), [{**asdict(question), "weight": f"{question.weight:g}"} for question in items[level]]
            )
            for level, title in ((1, "of factual images"), (2, "of explicit and implicit images"))
        ]

    def kept(self) -> WrittenGroup | None:
        """Return the accepted group; None if it is rejected or undecided."""
        name = self.group.id
        if self.is_changed and self.decision in ("", "accept"):
            raise FormalimgError(f"group {name} was changed: set its decision to edit, or undo the change")
        if self.decision == "reject":
            return None
        questions = self.questions()
        if self.decision == "edit":
            if not self.is_changed:
                raise FormalimgError(
                    f"group {name} is marked as edited but unchanged: edit it, or set its decision to accept"
                )
            if objections := self.objections():
                raise FormalimgError(f"edited, but {objections[0]}")
        return WrittenGroup(self.group, questions) if self.decision else None

    def objections(self, before: Sequence[CounterfactualGroup] = ()) -> list[str]:
        """Return the problems of the group in its current form."""
        problems = [f"{problem.reason}: {problem.detail}" for problem in check_group(self.group, before)]
        if not all(text.isprintable() for text in asdict(self.group).values()):
            problems.insert(0, "with characters that cannot be printed")
        try:
            self.questions()
        except FormalimgError as error:
            problems.append(str(error))
        return problems

    def questions(self) -> Questions:
        """Return the questions written by a model, with their weights; empty if they come from the template."""
        written = self.own_questions
        if written is None or written == {}:
            return {}
        if not isinstance(written, dict) or set(written) != {"1", "2"}:
            raise FormalimgError(_QUESTIONS_FORM)
        by_level = {}
        for level, shows in ((1, self.group.shows_factual), (2, self.group.shows)):
            try:
                entries = [QuestionAnswer.model_validate(entry) for entry in written[str(level)]]
            except (ValidationError, TypeError) as error:
                raise FormalimgError("a question has dimension, question and criteria") from error
            questions = parse_questions(entries, shows)
            if isinstance(questions, Rejection):
                raise FormalimgError(f"questions of level {level}: {questions.reason}: {questions.detail}")
            by_level[level] = questions
        return by_level


def digest_of(fields: Mapping[str, Any]) -> str:
    """Return the digest that detects changes to fields."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


# --- the queue


def export_queue(source: str, path: Path) -> int:
    """Write the groups of a folder, a groups file or the shipped suite to a queue, and return their number."""
    if path.exists():
        raise FormalimgError(f"{path} already exists and may hold decisions: choose another name")
    lines = queue_lines(_groups_to_review(source))
    atomic_write_text(path, "".join(f"{line}\n" for line in lines))
    return len(lines)


def _groups_to_review(source: str) -> list[WrittenGroup]:
    """Return the groups of a source, with their questions if these are not from the template."""
    if source == CF_WORLD:
        return [WrittenGroup(group) for group in builtin_groups()]
    folder = Path(source)
    path = folder / GROUPS_FILE if folder.is_dir() else folder
    if not path.is_file():
        raise FormalimgError(f"there is no {path}: give a folder with {GROUPS_FILE}, such a file, or {CF_WORLD}")
    groups = read_groups(path)
    if not groups:
        raise FormalimgError(f"{path} holds no groups")
    items = load(CF_WORLD, path.parent) if (path.parent / "items.jsonl").is_file() else []
    questions: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for item in items:
        questions[item.spec.group][item.level] = item.spec.questions
    return [WrittenGroup(group, _find_own_questions(group, questions[group.id])) for group in groups]


def _find_own_questions(group: CounterfactualGroup, questions: Mapping[int, Any]) -> Questions:
    template = {item.level: item.spec.questions for item in WrittenGroup(group).items()}
    if all(questions.get(level, template[level]) == template[level] for level in template):
        return {}
    if set(questions) != set(template) or questions[2] != questions[3]:
        raise FormalimgError(
            f"group {group.id}: its items must have all three levels, 2 and 3 with one set of questions"
        )
    return {1: questions[1], 2: questions[2]}


def queue_lines(groups: Sequence[WrittenGroup]) -> list[str]:
    """Return one line of JSON per group: its fields, the checker's findings, and empty fields for the decision."""
    problems: defaultdict[str, list[str]] = defaultdict(list)
    for problem in check_groups([written.group for written in groups]):
        problems[problem.group].append(f"{problem.reason}: {problem.detail}")
    lines = []
    for written in groups:
        fields: dict[str, Any] = asdict(written.group)
        if written.questions:  # without the weights, which are not for people to change
            fields["questions"] = {
                level: [{name: text for name, text in question.items() if name != "weight"} for question in questions]
                for level, questions in encode_questions(written.questions).items()
            }
        added = dict(zip(ADDED, (problems[written.group.id], digest_of(fields), "", ""), strict=True))
        lines.append(json.dumps({**fields, **added}, ensure_ascii=False))
    return lines


def read_queue(path: Path) -> bytes:
    """Return the content of a queue file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormalimgError(f"cannot read the queue {path}: {error.strerror}") from error


def parse_queue(content: bytes, path: Path, cache: Mapping[bytes, ReviewLine]) -> dict[bytes, ReviewLine]:
    """Return the lines of a queue by their text, checking only those that are not in the cache."""
    lines: dict[bytes, ReviewLine] = {}
    names: set[str] = set()
    problems: list[str] = []
    for number, text in enumerate(content.splitlines(), 1):
        try:
            line = cache.get(text)
            if line is None:
                line = ReviewLine.from_fields(parse_line(text))
                line.kept()
            if line.id in names:
                raise FormalimgError(f"group {line.id} occurs twice")
        except FormalimgError as error:
            problems.append(f"{path}, line {number}: {error}")
            continue
        names.add(line.id)
        lines[text] = line
    if problems:
        raise ItemsError(problems[:20])
    if not lines:
        raise FormalimgError(f"{path} holds no groups: export a queue first")
    return lines


@dataclass
class ReviewDecisions:
    """The decisions of the reviewers about a queue."""

    decisions: dict[str, str]  # by group; empty for undecided ones
    notes: dict[str, str]  # by group
    accepted: list[WrittenGroup]  # as edited, in the order of the queue
    overruled: dict[str, list[str]] = field(default_factory=dict)  # the problems of accepted groups

    @property
    def undecided(self) -> list[str]:
        """The ids of the undecided groups."""
        return [name for name, decision in self.decisions.items() if not decision]


def read_review(path: Path) -> ReviewDecisions:
    """Read the decisions from a queue."""
    lines = list(parse_queue(read_queue(path), path, {}).values())
    numbers = {line.id: number for number, line in enumerate(lines, 1)}
    review = ReviewDecisions(
        {line.id: str(line.decision) for line in lines},
        {line.id: line.note for line in lines if line.note},
        [group for line in lines if (group := line.kept()) is not None],
    )
    problems: list[str] = []
    for name, reason, detail in check_groups([written.group for written in review.accepted]):
        if reason == "duplicate" and review.decisions[name] == "edit":
            problems.append(f"{path}, line {numbers[name]}: edited, but {reason}: {detail}")
        else:
            review.overruled.setdefault(name, []).append(f"{reason}: {detail}")
    if problems:
        raise ItemsError(problems[:20])
    return review


def write_review(review: ReviewDecisions, folder: Path, version: str = "") -> Path | None:
    """Write the accepted groups, their items and `review.json`; return the items file, or None if there is none."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FormalimgError(f"{folder} already holds something: choose another folder, or empty it")
    counts = Counter(review.decisions.values())
    report: dict[str, object] = {
        "groups": len(review.decisions),
        **{decision: counts[decision] for decision in DECISIONS},
        "undecided": review.undecided,
        "overruled": review.overruled,
        "notes": review.notes,
    }
    path = None
    if review.accepted:
        write_group_files(review.accepted, folder, version)
        path = write_items([item for written in review.accepted for item in written.items(version)], folder)
    atomic_write_text(folder / "review.json", json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return path


def import_queue(path: Path, folder: Path, version: str) -> ImportedReview:
    """Write the accepted groups of a queue with their items and a report, and return the decisions."""
    review = read_review(path)
    items = write_review(review, folder, version)
    count = len(review.accepted) * len(LEVELS)
    return ImportedReview(review.decisions, review.undecided, review.overruled, count, items)
