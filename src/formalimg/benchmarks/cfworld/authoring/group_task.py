"""Authoring task: write CF-World groups for laws, check them, and store them in files."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from formalimg._util.io import atomic_write_text
from formalimg._util.strict_json import loads_strict
from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import (
    AcceptedItems,
    AttemptOutcome,
    AuthoringState,
    Rejection,
    Similarity,
    accept,
    refuse,
)
from formalimg.benchmarks.authoring.task import AuthoringPlan, AuthoringTask, Slot
from formalimg.benchmarks.cfworld.authoring.choices import CounterfactualChoices, Law, builtin_laws
from formalimg.benchmarks.cfworld.authoring.question_task import write_questions
from formalimg.benchmarks.cfworld.authoring.templates import (
    CounterfactualTemplates,
    CriteriaAnswer,
    GroupAnswer,
    clean_fields,
    draw_hints,
    first_objection,
    word_stems,
)
from formalimg.benchmarks.cfworld.group_checks import check_group, check_groups
from formalimg.benchmarks.cfworld.items import denominalised_items, items_of_groups
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup, CounterfactualSpec, WeightedQuestion
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from formalimg.types import Item

GROUPS_FILE = "groups.jsonl"

Questions = Mapping[int, tuple[WeightedQuestion, ...]]


@dataclass(frozen=True)
class WrittenGroup:
    """A group, with its questions if a model wrote them."""

    group: CounterfactualGroup
    questions: Questions = field(default_factory=dict)  # of level 1, and of 2 and 3 under 2; none for templates

    def items(self, version: str = "") -> list[Item[CounterfactualSpec]]:
        """Return the three items of the group."""
        return [self._with_questions(item) for item in items_of_groups([self.group], version)]

    def denominalised(self, version: str = "") -> list[Item[CounterfactualSpec]]:
        """Return the explicit item with its outcome described instead of named."""
        return [self._with_questions(item) for item in denominalised_items([self.group], version)]

    def _with_questions(self, item: Item[CounterfactualSpec]) -> Item[CounterfactualSpec]:
        if not self.questions:
            return item
        return replace(item, spec=replace(item.spec, questions=self.questions[min(item.level, 2)]))


def encode_questions(questions: Questions) -> dict[str, list[dict[str, Any]]]:
    """Encode questions as plain data."""
    return {str(level): [asdict(question) for question in listed] for level, listed in sorted(questions.items())}


def read_groups(path: Path) -> list[CounterfactualGroup]:
    """Read groups from a JSONL file."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    groups: list[CounterfactualGroup] = []
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            groups.append(CounterfactualGroup.from_fields(parse_line(line)))
        except FormalimgError as error:
            problems.append(f"{path}, line {number}: {error}")
    if problems:
        raise ItemsError(problems[:20])
    return groups


def parse_line(line: bytes) -> dict[str, Any]:
    """Parse a line of JSON that must hold an object."""
    try:
        fields = loads_strict(line)
        json.dumps(fields, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"not JSON ({truncate(str(error), 80, 20)}): each line is an object, {{…}}") from error
    if not isinstance(fields, dict):
        raise FormalimgError("not an object: each line is {…}")
    return fields


def write_group_files(groups: Sequence[WrittenGroup], folder: Path, version: str) -> None:
    """Write `groups.jsonl`, and the explicit items with described outcomes to the subfolder `denominalised`."""
    lines = (json.dumps(asdict(written.group), ensure_ascii=False) + "\n" for written in groups)
    atomic_write_text(folder / GROUPS_FILE, "".join(lines))
    write_items([item for written in groups for item in written.denominalised(version)], folder / "denominalised")


# --- the task

_TEXTS = ("changed", "factual", "implicit", "outcome", "described", "shows_factual", "shows")
_NOT_WORD = re.compile(r"[\W_]")
_NEAR = 0.8
_COMPARABLE = 0.3  # Groups with less in common are not compared word by word: what is nearly the same has far more


def parse_group(answer: GroupAnswer, law: Law, name: str) -> CounterfactualGroup | Rejection:
    """Return the group in an answer, or a rejection if any of its texts fails a check."""
    texts = clean_fields({text: getattr(answer, text) for text in _TEXTS})
    if isinstance(texts, Rejection):
        return texts
    discipline = law.discipline or answer.discipline
    branch = law.branch if law.discipline else (answer.branch if answer.discipline == "physics" else "")
    group = CounterfactualGroup(name, discipline, branch, law.law, **texts)
    problems = sorted(check_group(group), key=lambda problem: problem.reason != "unsafe")
    if problems:
        return Rejection(problems[0].reason, truncate("; ".join(problem.detail for problem in problems), 250, 50))
    if _NOT_WORD.sub(" ", group.changed.lower()).split() == _NOT_WORD.sub(" ", group.law.lower()).split():
        return Rejection("law not changed", truncate(group.changed, 250, 50))
    return group


def are_near_duplicates(first: CounterfactualGroup, second: CounterfactualGroup) -> bool:
    """Return whether `check_groups` would report one of two groups as a duplicate of the other."""
    for text in ("implicit", "outcome"):
        stems, second_stems = word_stems(getattr(first, text)), word_stems(getattr(second, text))
        if stems | second_stems and len(stems & second_stems) / len(stems | second_stems) < _COMPARABLE:
            return False
    return any(problem.reason == "duplicate" for problem in check_groups([first, second]))


class GroupAuthoring(AuthoringTask):
    """Authoring of CF-World groups; a slot holds a group, represented by its explicit item."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._choices: CounterfactualChoices = plan.choices
        self._laws = self._choices.laws or builtin_laws()
        questions = ("write-scores",) if self._choices.questions == "model" else ()
        self._texts = CounterfactualTemplates(("write-group", "check-group", *questions), prompts)

    @property
    def likeness(self) -> Similarity:
        return Similarity(
            lambda group: None,
            are_near_duplicates,
            "duplicate",
            _NEAR,
            lambda item, notes: CounterfactualGroup.from_fields(notes["group"]),
        )

    @property
    def shapes(self) -> Mapping[str, object]:
        laws = hashlib.sha256(json.dumps(self._laws, ensure_ascii=False).encode()).hexdigest()[:16]
        return {
            "laws": f"{len(self._laws)}, sha256 {laws}",
            "per_law": self._choices.per_law,
            "questions": self._choices.questions,
            "prompts": self._texts.versions,
        }

    async def write(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec]:
        law_number, index = divmod(slot.id, self._choices.per_law)
        law = self._laws[law_number]
        hint = draw_hints(("places", "changes"), law.law, self._plan.seed, number * self._choices.per_law + index)
        field_of_law = ", ".join(filter(None, (law.discipline, law.branch)))
        values = {
            "law": law.law,
            "field": field_of_law or "not said: choose the one it belongs to",
            **dict(zip(("place", "change"), hint, strict=True)),
        }
        answer = accept(await talk.ask("writer", self._texts.fill("write-group", values), GroupAnswer))
        group = accept(parse_group(answer, law, f"law-{law_number + 1:03}-{index + 1}"))
        refuse(shelf.objection(group.explicit, group, slot.level))
        check = accept(await talk.ask("checker", self._texts.fill("check-group", asdict(group)), CriteriaAnswer))
        refuse(
            first_objection(
                check.why,
                (check.safe, "check: unsafe"),
                (check.valid, "check: invalid"),
                (check.unambiguous, "check: ambiguous"),
                (check.deductive, "check: not deductive"),
            )
        )
        questions = await self._write_questions(group, talk)
        notes.update(group=asdict(group), questions=encode_questions(questions))
        return WrittenGroup(group, questions).items(self._plan.version)[1]

    async def _write_questions(self, group: CounterfactualGroup, talk: Conversation) -> Questions:
        """Return the questions for the factual image and those for the two counterfactual images."""
        if self._choices.questions == "template":
            return {}
        return {
            level: await write_questions(self._texts, talk, prompt, rule, shows, factual=level == 1)
            for level, prompt, rule, shows in (
                (1, group.factual, group.law, group.shows_factual),
                (2, group.explicit, group.changed, group.shows),
            )
        }

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        groups = [written.group for written in _written_groups(accepted)]
        fields = Counter(group.branch or group.discipline for group in groups)
        per_law = Counter(outcome.slot // self._choices.per_law for outcome in accepted)
        short = [law.law for number, law in enumerate(self._laws) if per_law[number] < self._choices.per_law]
        return {"groups": len(groups), "by_field": dict(sorted(fields.items())), "laws_short_of_groups": short}

    def fewest_questions(self, first: str) -> int:
        return 4 if self._choices.questions == "model" else 2

    def items(self, stands: AuthoringState) -> tuple[Item[Any], ...]:
        return tuple(item for written in _written_groups(stands.accepted) for item in written.items(self._plan.version))

    def write_companions(self, accepted: Sequence[AttemptOutcome], folder: Path) -> None:
        write_group_files(_written_groups(accepted), folder, self._plan.version)


def _written_groups(accepted: Sequence[AttemptOutcome]) -> list[WrittenGroup]:
    """Return the groups of accepted attempts, in slot order."""
    return [
        WrittenGroup(
            CounterfactualGroup.from_fields(outcome.notes["group"]),
            {
                int(level): tuple(WeightedQuestion(**question) for question in listed)
                for level, listed in outcome.notes["questions"].items()
            },
        )
        for outcome in sorted(accepted, key=lambda outcome: outcome.slot)
    ]
