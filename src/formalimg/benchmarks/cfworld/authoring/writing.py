"""Authoring of CF-World: the task that a user chooses, and what it takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.authoring.task import Authoring, AuthoringTask
from formalimg.benchmarks.authoring.writing_plan import AuthoringExtent, AuthoringPlan, WritingChoices
from formalimg.benchmarks.cfworld.authoring.choices import (
    DENOMINALISED,
    GROUPS,
    PAIRS,
    RULES,
    CounterfactualChoices,
    default_extent,
    named_outcomes,
)
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.reviewing import Reviewing

_SUITES = {"groups": GROUPS, "denominalise": DENOMINALISED, "pairs": PAIRS}
"""The suite that each task gives items of; questions are for the suite that is named."""

_UNITS = {GROUPS: "groups", DENOMINALISED: "outcomes", PAIRS: "pairs"}
"""What the places of each suite are for."""


class CfWorldWriting(Authoring):
    """How CF-World is written: groups from laws, questions, outcomes without names, or rare pairs."""

    options = frozenset(("--task", "--laws", "--per-law", "--questions", "--items"))
    choices = CounterfactualChoices()
    level_of_groups = 2

    def choose(self, name: str, options: Mapping[str, Any]) -> tuple[str, WritingChoices]:
        """Return the suite of the task that was chosen, and the laws, items or prompts that it is written from."""
        from formalimg.benchmarks.cfworld.authoring.laws import read_laws  # these here, because plans do without them
        from formalimg.benchmarks.loader import load

        task, laws, items = options.get("--task"), options.get("--laws"), options.get("--items")
        asks = task == "questions"
        if task is not None and name not in (GROUPS, RULES):
            raise FormalimgError(f"--task: for {GROUPS} only, not for {name}")
        if task is not None and name == RULES and not asks:
            raise FormalimgError(f"--task {task}: only questions are written for {RULES}")
        if asks and items is None:
            raise FormalimgError("questions are written for prompts that exist: name their items with --items")
        return _SUITES.get(task or "", name), CounterfactualChoices(
            () if laws is None else read_laws(laws),
            options.get("--per-law", 1),
            options.get("--questions", "template"),
            () if items is None or asks else named_outcomes(load(GROUPS, items)),
            tuple(load(name, items)) if asks else (),
        )

    def extent(self, name: str, choices: Any, levels: tuple[int, ...], per_level: int) -> AuthoringExtent:
        """Return the size that follows from the laws, items or prompts."""
        return default_extent(name, choices, levels, per_level)

    def task(self, plan: AuthoringPlan, prompts: Path | None) -> AuthoringTask:
        """Return the task of a plan."""
        if plan.choices.prompts:  # each loads what it needs
            from formalimg.benchmarks.cfworld.authoring.question_task import QuestionAuthoring

            return QuestionAuthoring(plan, prompts)
        if plan.suite == GROUPS:
            from formalimg.benchmarks.cfworld.authoring.group_task import GroupAuthoring

            return GroupAuthoring(plan, prompts)
        if plan.suite == PAIRS:
            from formalimg.benchmarks.cfworld.authoring.pair_task import PairAuthoring

            return PairAuthoring(plan, prompts)
        from formalimg.benchmarks.cfworld.authoring.description_task import DescriptionAuthoring

        return DescriptionAuthoring(plan, prompts)

    def is_checked(self, plan: AuthoringPlan) -> bool:
        """Return whether a model checks what was written: questions are checked without one."""
        return not plan.choices.prompts

    def unit(self, plan: AuthoringPlan) -> str:
        """Return what places are for."""
        return "prompts" if plan.choices.prompts else _UNITS[plan.suite]

    def reviewing(self) -> Reviewing:
        """Return how people review groups."""
        from formalimg.benchmarks.cfworld.authoring.review_desk import GroupReviewing

        return GroupReviewing()
