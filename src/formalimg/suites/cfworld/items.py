"""From groups to items: three of each, or one without the names of its outcome."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from formalimg.suites.cfworld.group import Group
from formalimg.suites.cfworld.names import CF_WORLD, CF_WORLD_DENOMINALISED
from formalimg.suites.cfworld.questions import template_scores
from formalimg.suites.cfworld.spec import CounterfactualSpec, Level
from formalimg.suites.item import Item


def items_of_groups(groups: Iterable[Group], version: str = "") -> list[Item[CounterfactualSpec]]:
    """The three items of each group, with questions by template."""
    return [
        Item(CF_WORLD, f"{group.id}-l{level}", level, group.prompt(level), _spec(group, level), _tags(group), version)
        for group in groups
        for level in get_args(Level)
    ]


def denominalised_items(groups: Iterable[Group], version: str = "") -> list[Item[CounterfactualSpec]]:
    """The explicit item of each group, without the names of its outcome; judged by the same questions."""
    return [
        Item(CF_WORLD_DENOMINALISED, f"{group.id}-l2", 2, group.denominalised, _spec(group, 2), _tags(group), version)
        for group in groups
    ]


def _spec(group: Group, level: Level) -> CounterfactualSpec:
    shows = group.assessment(level)
    if level == 1:
        return CounterfactualSpec(group.id, shows, template_scores(shows, law=group.law))
    return CounterfactualSpec(group.id, shows, template_scores(shows, changed=group.changed))


def _tags(group: Group) -> tuple[str, ...]:
    return tuple(filter(None, (group.discipline, group.branch)))
