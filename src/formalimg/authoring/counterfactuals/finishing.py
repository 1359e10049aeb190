"""What accepted attempts become: all levels of each group or pair, and groups as such beside the items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formalimg.authoring.counterfactuals.choices import GROUPS, PAIRS
from formalimg.authoring.counterfactuals.written_group import WrittenGroup, decode_questions, write_groups
from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import WritingPlan
from formalimg.authoring.rejection import Rejection
from formalimg.suites import Group, Item, write_items

DENOMINALISED_FOLDER = "denominalised"


def items_of_outcomes(plan: WritingPlan, accepted: Sequence[Outcome]) -> tuple[Item[Any], ...]:
    """The items of all accepted attempts, in the order of their places."""
    found: list[Item[Any]] = []
    for outcome in sorted(accepted, key=lambda outcome: outcome.slot):
        if plan.suite == GROUPS:
            found += _written(outcome).items(plan.version)
        elif plan.suite == PAIRS:
            from formalimg.authoring.counterfactuals.pair_craft import pair_items
            from formalimg.authoring.counterfactuals.pairing import Pair

            found += pair_items(Pair(*outcome.notes["pair"]), outcome.slot, plan.version)
        elif not isinstance(outcome.result, Rejection):
            found.append(outcome.result)
    return tuple(found)


def put_beside(plan: WritingPlan, accepted: Sequence[Outcome], folder: Path) -> None:
    """Write what belongs to the items: groups, and their explicit items without names."""
    if plan.suite == GROUPS:
        written = [_written(outcome) for outcome in sorted(accepted, key=lambda outcome: outcome.slot)]
        put_groups(written, folder, plan.version)


def put_groups(written: Sequence[WrittenGroup], folder: Path, version: str) -> None:
    """Write `groups.jsonl`, and the explicit items without names to a folder of their own: they are another suite."""
    write_groups([each.group for each in written], folder)
    nameless = [item for each in written for item in each.denominalised(version)]
    write_items(nameless, folder / DENOMINALISED_FOLDER)


def _written(outcome: Outcome) -> WrittenGroup:
    return WrittenGroup(Group.from_fields(outcome.notes["group"]), decode_questions(outcome.notes["questions"]))
