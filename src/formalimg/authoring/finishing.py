"""What accepted attempts become: items, and the files they are put into."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formalimg.authoring.plan import WritingPlan
from formalimg.authoring.standing import Standing
from formalimg.suites import Item, suite, write_items


def finished_items(plan: WritingPlan, stands: Standing) -> tuple[Item[Any], ...]:
    """The items of all accepted attempts, in the order of their places."""
    if suite(plan.suite).kind == "counterfactual":
        from formalimg.authoring.counterfactuals.finishing import items_of_outcomes

        return items_of_outcomes(plan, stands.accepted)
    return tuple(item for _, item in sorted(stands.shelf.items.items()))


def put_down(plan: WritingPlan, items: Sequence[Item[Any]], stands: Standing, folder: Path) -> Path:
    """Write the items to the folder, with what else belongs to them."""
    if suite(plan.suite).kind == "counterfactual":
        from formalimg.authoring.counterfactuals.finishing import put_beside

        put_beside(plan, stands.accepted, folder)
    return write_items(items, folder)
