"""Authoring task: CF-World groups from laws, with their checks."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypeAlias

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.acceptance import AcceptedItems, AuthoringState, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Reason, Rejection
from formalimg.benchmarks.authoring.task import AuthoringTask
from formalimg.benchmarks.authoring.writing_plan import AuthoringPlan, Slot
from formalimg.benchmarks.cfworld.authoring.answers import CriteriaAnswer, GroupAnswer, QuestionAnswer
from formalimg.benchmarks.cfworld.authoring.choices import CounterfactualChoices, Law, shipped_laws
from formalimg.benchmarks.cfworld.authoring.groups import (
    Questions,
    WrittenGroup,
    decode_questions,
    encode_questions,
    write_group_files,
)
from formalimg.benchmarks.cfworld.authoring.laws import hints
from formalimg.benchmarks.cfworld.authoring.question_requests import ask_for_questions
from formalimg.benchmarks.cfworld.authoring.templates import (
    CounterfactualTemplates,
    clean_fields,
    one_line,
    shared_stems,
    stem_overlap,
)
from formalimg.benchmarks.cfworld.group_checks import check_group, check_groups
from formalimg.benchmarks.cfworld.questions import template_score_questions
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup, CounterfactualSpec, Dimension, WeightedQuestion
from formalimg.types import Item

_TEXTS = ("changed", "factual", "implicit", "outcome", "described", "shows_factual", "shows")
_WORTH_A_LOOK = 0.3
"""Groups with less in common than this are not compared word by word: what is nearly the same has far more."""


def parse_group(answer: GroupAnswer, law: Law, name: str) -> CounterfactualGroup | Rejection:
    """Return the group of an answer, if its texts pass all checks."""
    texts = clean_fields({field: getattr(answer, field) for field in _TEXTS})
    if isinstance(texts, Rejection):
        return texts
    discipline = law.discipline or answer.discipline
    branch = law.branch if law.discipline else (answer.branch if answer.discipline == "physics" else "")
    group = CounterfactualGroup(name, discipline, branch, law.law, **texts)
    problems = sorted(check_group(group), key=lambda problem: problem.reason != "unsafe")
    if problems:
        return Rejection(problems[0].reason, truncate("; ".join(problem.detail for problem in problems), 250, 50))
    if _plain(group.changed) == _plain(group.law):
        return Rejection("law not changed", truncate(group.changed, 250, 50))
    return group


def are_near_duplicates(one: CounterfactualGroup, other: CounterfactualGroup) -> bool:
    """Would `check_groups` call one of them a duplicate of the other, whatever their ids?"""
    if min(stem_overlap(one.implicit, other.implicit), stem_overlap(one.outcome, other.outcome)) < _WORTH_A_LOOK:
        return False
    return any(problem.reason == "duplicate" for problem in check_groups([one, other]))


def group_objection(answer: CriteriaAnswer) -> Rejection | None:
    """Return why the checker rejects a group; None if it accepts it."""
    found: tuple[tuple[bool, Reason], ...] = (
        (answer.safe, "check: unsafe"),
        (answer.valid, "check: invalid"),
        (answer.unambiguous, "check: ambiguous"),
        (answer.deductive, "check: not deductive"),
    )
    return next((Rejection(reason, one_line(answer.why)) for fine, reason in found if not fine), None)


def _plain(sentence: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in sentence.lower()).split()


ORDER: tuple[Dimension, ...] = ("integrity", "logic", "assessment")
"""The order of questions, as in the published data."""

WrittenDimension: TypeAlias = Literal["integrity", "logic", "assessment"]
_MOST: Mapping[WrittenDimension, int] = {"integrity": 1, "logic": 3, "assessment": 1}
_LONGEST = 600
_ON_THE_POINT = 0.5
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def parse_questions(
    given: Sequence[QuestionAnswer], shows: str, most: Mapping[WrittenDimension, int] | None = None
) -> tuple[WeightedQuestion, ...] | Rejection:
    """The questions in order, with our weights, if their number is right and each makes sense."""
    counts = Counter(question.dimension for question in given)
    for dimension, limit in (most or _MOST).items():
        if not 1 <= counts[dimension] <= limit:
            wanted = "1" if limit == 1 else f"1 to {limit}"
            return Rejection("wrong number of questions", f"{counts[dimension]} of {dimension} instead of {wanted}")
    weights = {question.dimension: question.weight for question in template_score_questions(shows, law=shows)}
    found: list[WeightedQuestion] = []
    for entry in sorted(given, key=lambda entry: ORDER.index(entry.dimension)):
        texts = clean_fields({"question": entry.question, "criteria": entry.criteria})
        if isinstance(texts, Rejection):
            return texts
        found.append(WeightedQuestion(entry.dimension, **texts, weight=weights[entry.dimension]))
    return next(filter(None, (_objection(question, shows) for question in found)), None) or _all_different(found)


def _objection(question: WeightedQuestion, shows: str) -> Rejection | None:
    shown = truncate(question.question, 200, 50)
    if not question.question.endswith("?") or len(question.question) > _LONGEST:
        return Rejection("no question", shown)
    numbers = {float(number) for number in _NUMBER.findall(question.criteria)}
    if not {0.0, 1.0} <= numbers or max(numbers) > 1:
        return Rejection("no criteria", truncate(question.criteria, 200, 50))
    if question.dimension == "assessment" and shared_stems(shows, question.question) < _ON_THE_POINT:
        return Rejection("question beside the point", shown)
    return None


def _all_different(questions: Sequence[WeightedQuestion]) -> tuple[WeightedQuestion, ...] | Rejection:
    texts = [question.question.lower() for question in questions]
    repeated = next((text for text in texts if texts.count(text) > 1), None)
    return tuple(questions) if repeated is None else Rejection("no question", f"asked twice: {repeated[:200]}")


_NEAR = 0.8


class GroupAuthoring(AuthoringTask):
    """Authoring of CF-World groups; a slot holds a group, represented by its explicit item."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._choices: CounterfactualChoices = plan.choices
        self._laws = self._choices.laws or shipped_laws()
        questions = ("write-scores",) if self._choices.questions == "model" else ()
        self._texts = CounterfactualTemplates(("write-group", "check-group", *questions), prompts)

    @property
    def likeness(self) -> Similarity:
        """Groups are the same if `check_groups` says so."""
        return Similarity(lambda group: None, are_near_duplicates, "duplicate", _NEAR, _group_in)

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the laws, the source of questions, and the versions of the templates."""
        laws = hashlib.sha256(json.dumps(self._laws, ensure_ascii=False).encode()).hexdigest()[:16]
        return {
            "laws": f"{len(self._laws)}, sha256 {laws}",
            "per_law": self._choices.per_law,
            "questions": self._choices.questions,
            "prompts": self._texts.versions,
        }

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt."""
        notes: dict[str, Any] = {}
        result = await self._written(slot, number, talk, shelf, notes)
        return AttemptOutcome(slot.id, number, result, talk.expense, notes)

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """Return how many groups each field got, and which laws got fewer than planned."""
        groups = [_group_of(outcome.notes) for outcome in accepted]
        fields = Counter(group.branch or group.discipline for group in groups)
        had = Counter(outcome.slot // self._choices.per_law for outcome in accepted)
        short = [law.law for number, law in enumerate(self._laws) if had[number] < self._choices.per_law]
        return {"groups": len(groups), "by_field": dict(sorted(fields.items())), "laws_short_of_groups": short}

    def fewest_questions(self, first: str) -> int:
        """Return how many questions a group takes at least; those of its images are two."""
        return 4 if self._choices.questions == "model" else 2

    def items(self, stands: AuthoringState) -> tuple[Item[Any], ...]:
        """Return the three items of each group."""
        return tuple(item for each in _written_groups(stands.accepted) for item in each.items(self._plan.version))

    def write_companions(self, accepted: Sequence[AttemptOutcome], folder: Path) -> None:
        """Write the groups, and their explicit items without names."""
        write_group_files(_written_groups(accepted), folder, self._plan.version)

    async def _written(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec] | Rejection:
        place, index = divmod(slot.id, self._choices.per_law)
        law = self._laws[place]
        hint = hints(("places", "changes"), law.law, self._plan.seed, number * self._choices.per_law + index)
        answer = await talk.ask("writer", self._texts.asking_for_group(law, *hint), GroupAnswer)
        if isinstance(answer, Rejection):
            return answer
        group = parse_group(answer, law, f"law-{place + 1:03}-{index + 1}")
        if isinstance(group, Rejection):
            return group
        known = shelf.objection(group.explicit, group, slot.level)
        if known is not None:
            return known
        criteria = await talk.ask("checker", self._texts.asking_to_check_group(group), CriteriaAnswer)
        if isinstance(criteria, Rejection):
            return criteria
        refused = group_objection(criteria)
        if refused is not None:
            return refused
        questions = await self._questions(group, talk)
        if isinstance(questions, Rejection):
            return questions
        notes.update(group=asdict(group), questions=encode_questions(questions))
        return WrittenGroup(group, questions).items(self._plan.version)[1]

    async def _questions(self, group: CounterfactualGroup, talk: Conversation) -> Questions | Rejection:
        """Those of the factual image, and those of the explicit one, which are the implicit one's as well."""
        if self._choices.questions == "template":
            return {}
        found: dict[int, tuple[WeightedQuestion, ...]] = {}
        pairs: tuple[tuple[Literal[1, 2], str, str], ...]
        pairs = ((1, group.factual, group.law), (2, group.explicit, group.changed))
        for level, prompt, rule in pairs:
            shows = group.shows_factual if level == 1 else group.shows
            answer = await ask_for_questions(self._texts, talk, prompt, rule, shows, level)
            if isinstance(answer, Rejection):
                return answer
            questions = parse_questions(answer, shows)
            if isinstance(questions, Rejection):
                return questions
            found[level] = questions
        return found


def _written_groups(accepted: Sequence[AttemptOutcome]) -> list[WrittenGroup]:
    """Return the groups of accepted attempts, in slot order."""
    return [
        WrittenGroup(_group_of(outcome.notes), decode_questions(outcome.notes["questions"]))
        for outcome in sorted(accepted, key=lambda outcome: outcome.slot)
    ]


def _group_of(notes: Mapping[str, Any]) -> CounterfactualGroup:
    return CounterfactualGroup.from_fields(notes["group"])


def _group_in(item: Item[Any], notes: Mapping[str, Any]) -> CounterfactualGroup:
    return _group_of(notes)
