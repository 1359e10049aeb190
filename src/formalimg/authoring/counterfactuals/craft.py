"""The craft for each task of CF-World."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.authoring.counterfactuals.choices import GROUPS, PAIRS
from formalimg.authoring.plan import WritingPlan

if TYPE_CHECKING:
    from formalimg.authoring.craft import Craft


def counterfactual_craft(plan: WritingPlan, prompts: Path | None) -> Craft:
    """The craft for a plan."""
    if plan.suite == GROUPS:
        from formalimg.authoring.counterfactuals.group_craft import GroupCraft  # each loads only what it needs

        return GroupCraft(plan, prompts)
    if plan.suite == PAIRS:
        from formalimg.authoring.counterfactuals.pair_craft import PairCraft

        return PairCraft(plan, prompts)
    from formalimg.authoring.counterfactuals.description_craft import DescriptionCraft

    return DescriptionCraft(plan, prompts)
