"""Written groups with their questions, and their files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg._util.io import atomic_write_text
from formalimg._util.strict_json import loads_strict
from formalimg._util.text import truncate
from formalimg.authoring.counterfactuals.choices import GROUPS, PAIRS
from formalimg.authoring.outcomes import AttemptOutcome, Rejection
from formalimg.authoring.plan import AuthoringPlan
from formalimg.errors import FormalimgError
from formalimg.suites import (
    CounterfactualGroup,
    CounterfactualSpec,
    Item,
    ItemsError,
    WeightedQuestion,
    denominalised_items,
    items_of_groups,
    write_items,
)

if TYPE_CHECKING:
    from formalimg.authoring.task import AuthoringTask


GROUPS_FILE = "groups.jsonl"

Questions = Mapping[int, tuple[WeightedQuestion, ...]]


@dataclass(frozen=True)
class WrittenGroup:
    """A group with the questions a model wrote for it.

    Attributes:
        group: the group.
        questions: for level 1, and for 2 and 3 together under 2; none where they come from templates.
    """

    group: CounterfactualGroup
    questions: Questions = field(default_factory=dict)

    def items(self, version: str = "") -> list[Item[CounterfactualSpec]]:
        """Return the three items of the group."""
        return [self._asked(item) for item in items_of_groups([self.group], version)]

    def denominalised(self, version: str = "") -> list[Item[CounterfactualSpec]]:
        """Return the explicit item without the names of its outcome."""
        return [self._asked(item) for item in denominalised_items([self.group], version)]

    def _asked(self, item: Item[CounterfactualSpec]) -> Item[CounterfactualSpec]:
        if not self.questions:
            return item
        return replace(item, spec=replace(item.spec, questions=self.questions[min(item.level, 2)]))


def encode_questions(questions: Questions) -> dict[str, list[dict[str, Any]]]:
    """Encode questions as plain data."""
    return {str(level): [asdict(question) for question in asked] for level, asked in sorted(questions.items())}


def decode_questions(kept: Mapping[str, Sequence[Mapping[str, Any]]]) -> Questions:
    """Decode questions from plain data."""
    return {int(level): tuple(WeightedQuestion(**question) for question in asked) for level, asked in kept.items()}


def write_groups(groups: Iterable[CounterfactualGroup], folder: Path) -> Path:
    """Write groups to `<folder>/groups.jsonl`, one per line; the file is replaced all at once."""
    text = "".join(json.dumps(asdict(group), ensure_ascii=False) + "\n" for group in groups)
    return atomic_write_text(folder / GROUPS_FILE, text)


def read_groups(path: Path) -> list[CounterfactualGroup]:
    """Read groups from a JSONL file.

    Raises:
        ItemsError: naming the lines that are no groups.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    found: list[CounterfactualGroup] = []
    wrong: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(CounterfactualGroup.from_fields(parse_line(line)))
        except FormalimgError as error:
            wrong.append(f"{path}, line {number}: {error}")
    if wrong:
        raise ItemsError(wrong[:20])
    return found


def parse_line(line: bytes) -> dict[str, Any]:
    """Parse a line of JSON.

    Raises:
        FormalimgError: if the line holds no object.
    """
    try:
        fields = loads_strict(line)
        json.dumps(fields, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"not JSON ({truncate(str(error), 80, 20)}): each line is an object, {{…}}") from error
    if not isinstance(fields, dict):
        raise FormalimgError("not an object: each line is {…}")
    return fields


DENOMINALISED_FOLDER = "denominalised"


def items_from_outcomes(plan: AuthoringPlan, accepted: Sequence[AttemptOutcome]) -> tuple[Item[Any], ...]:
    """Return the items of all accepted attempts, in slot order."""
    if plan.counterfactual.prompts:
        from formalimg.authoring.counterfactuals.question_task import items_with_questions  # loaded only if needed

        return tuple(items_with_questions(plan, accepted))
    found: list[Item[Any]] = []
    for outcome in sorted(accepted, key=lambda outcome: outcome.slot):
        if plan.suite == GROUPS:
            found += _written(outcome).items(plan.version)
        elif plan.suite == PAIRS:
            from formalimg.authoring.counterfactuals.pair_task import ObjectPair, pair_items

            found += pair_items(ObjectPair(*outcome.notes["pair"]), outcome.slot, plan.version)
        elif not isinstance(outcome.result, Rejection):
            found.append(outcome.result)
    return tuple(found)


def write_companions(plan: AuthoringPlan, accepted: Sequence[AttemptOutcome], folder: Path) -> None:
    """Write the groups and their explicit items without names beside the items."""
    if plan.suite == GROUPS and not plan.counterfactual.prompts:
        written = [_written(outcome) for outcome in sorted(accepted, key=lambda outcome: outcome.slot)]
        write_group_files(written, folder, plan.version)


def write_group_files(written: Sequence[WrittenGroup], folder: Path, version: str) -> None:
    """Write `groups.jsonl`, and the explicit items without names to a folder of their own: they are another suite."""
    write_groups([each.group for each in written], folder)
    nameless = [item for each in written for item in each.denominalised(version)]
    write_items(nameless, folder / DENOMINALISED_FOLDER)


def _written(outcome: AttemptOutcome) -> WrittenGroup:
    return WrittenGroup(
        CounterfactualGroup.from_fields(outcome.notes["group"]), decode_questions(outcome.notes["questions"])
    )


def counterfactual_authoring(plan: AuthoringPlan, prompts: Path | None) -> AuthoringTask:
    """Return the authoring task of a plan."""
    if plan.counterfactual.prompts:
        from formalimg.authoring.counterfactuals.question_task import QuestionAuthoring  # each loads what it needs

        return QuestionAuthoring(plan, prompts)
    if plan.suite == GROUPS:
        from formalimg.authoring.counterfactuals.group_task import GroupAuthoring

        return GroupAuthoring(plan, prompts)
    if plan.suite == PAIRS:
        from formalimg.authoring.counterfactuals.pair_task import PairAuthoring

        return PairAuthoring(plan, prompts)
    from formalimg.authoring.counterfactuals.description_task import DescriptionAuthoring

    return DescriptionAuthoring(plan, prompts)
