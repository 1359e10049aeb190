"""The published probes: `prompt_ablation/rule_decouple.json`, `attribute_decouple.json` and `de-norm/<tree>.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from formalimg.suites.cfworld.items import DENOMINALISED
from formalimg.suites.cfworld.our_probes import ATTRIBUTES, RULES
from formalimg.suites.cfworld.probe_questions import pair_spec, rule_spec
from formalimg.suites.cfworld.published_groups import PublishedGroup
from formalimg.suites.cfworld.records import RecordForm, read_entries
from formalimg.suites.cfworld.spec import CounterfactualSpec
from formalimg.suites.cfworld.tidying import Tidying
from formalimg.suites.findings import Findings
from formalimg.suites.item import Item

PROBES = "prompt_ablation"

_RULE = RecordForm(texts=("category", "prompt", "ap"), ids=("id", "rule_id"))
_PAIR = RecordForm(texts=("A", "B", "prompt", "category"), id_pattern="(0|[1-9][0-9]{0,8})(_factual)?")
_REWORDED = RecordForm(texts=("prompt",), optional=("category",))

_RULE_LEVELS = {"original": 1, "cf": 2}
_PAIR_LEVELS = {"factual": 1, "unusual": 2}


def read_rules(root: Path, findings: Findings, tidied: list[Tidying]) -> list[Item[CounterfactualSpec]]:
    """The items of the rule probe. Their questions were not published, so what decides is asked by template."""
    items = []
    for where, texts, _ in read_entries(root, f"{PROBES}/rule_decouple.json", _RULE, findings, tidied):
        level = _level(texts["category"], _RULE_LEVELS, where, findings)
        group = f"rule-{texts['rule_id']}"
        items.append(
            Item(RULES, f"{group}-{texts['id']}", level, texts["prompt"], rule_spec(group, texts["ap"])),
        )
    return items


def read_pairs(root: Path, findings: Findings, tidied: list[Tidying]) -> list[Item[CounterfactualSpec]]:
    """The items of the attribute probe, with our question about each: the published scorer has one for all."""
    items: dict[str, Item[CounterfactualSpec]] = {}
    for where, texts, _ in read_entries(root, f"{PROBES}/attribute_decouple.json", _PAIR, findings, tidied):
        level = _level(texts["category"], _PAIR_LEVELS, where, findings)
        number, _, ending = texts["id"].partition("_")
        if level and (level == 1) != (ending == "factual"):
            findings.add(where, f"the id and the category {texts['category']!r} contradict each other: mend one")
        group = f"pair-{number}"
        spec = pair_spec(group, texts["A"], texts["B"], texts["prompt"])
        item = f"{group}-{'common' if ending else 'rare'}"
        items[item] = Item(ATTRIBUTES, item, level, texts["prompt"], spec)
    for item, found in items.items():
        partner = f"{found.spec.group}-{'rare' if item.endswith('common') else 'common'}"
        if partner not in items:
            findings.add(f"{PROBES}/attribute_decouple.json", f"{item} has no partner {partner}: add it")
    return list(items.values())


def read_denominalised(
    root: Path, groups: Sequence[PublishedGroup], findings: Findings, tidied: list[Tidying]
) -> list[Item[CounterfactualSpec]]:
    """The explicit prompts of the groups in other words, judged by the questions of L2."""
    items = []
    by_tree: dict[str, dict[str, PublishedGroup]] = {}
    for group in groups:
        by_tree.setdefault(group.tree.path, {})[group.number] = group
    for path, members in by_tree.items():
        name = f"{PROBES}/de-norm/{path}.json"
        for where, texts, _ in read_entries(root, name, _REWORDED, findings, tidied):
            group_here = members.pop(texts["id"], None)
            if group_here is None:
                findings.add(where, "there is no such group in prompt: take it away, or add that")
                continue
            items.append(_reworded(group_here, where, texts["prompt"], bool(texts["category"]), tidied))
        for number in members:
            findings.add(name, f"lacks group {number}: add it")
    return items


def _reworded(
    group: PublishedGroup, where: str, prompt: str, has_category: bool, tidied: list[Tidying]
) -> Item[CounterfactualSpec]:
    if not has_category:
        tidied.append(Tidying(where, "no category", "none is needed: the file says the field"))
    if prompt == group.prompts[2]:
        tidied.append(Tidying(where, "same prompt as L2", "kept: it is not in other words"))
    if not group.questions[2]:
        tidied.append(Tidying(where, "no questions", "kept, but nobody can score it"))
    spec = CounterfactualSpec(group.id, group.assessments[2], group.questions[2])
    return Item(DENOMINALISED, f"{group.id}-l2", 2, prompt, spec, group.tree.tags)


def _level(category: str, levels: dict[str, int], where: str, findings: Findings) -> int:
    if category not in levels:
        findings.add(where, f"unknown category {category!r}: known are {', '.join(levels)}")
    return levels.get(category, 0)
