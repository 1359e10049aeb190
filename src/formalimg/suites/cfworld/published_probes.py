"""The published probes: `prompt_ablation/rule_decouple.json`, `attribute_decouple.json` and `de-norm/<tree>.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from formalimg.suites.cfworld.names import CF_WORLD_ATTRIBUTES, CF_WORLD_DENOMINALISED, CF_WORLD_RULES
from formalimg.suites.cfworld.probe_questions import pair_spec, rule_spec
from formalimg.suites.cfworld.published_groups import PublishedGroup, PublishedTree, json_files
from formalimg.suites.cfworld.records import RecordForm, read_entries
from formalimg.suites.cfworld.spec import CounterfactualSpec
from formalimg.suites.cfworld.tidying import Tidying
from formalimg.suites.findings import Findings
from formalimg.suites.item import Item

PROBES = "prompt_ablation"
_REWORDED_FOLDER = "de-norm"

_RULE = RecordForm("a rule", texts=("category", "prompt", "ap"), ids=("id", "rule_id"))
_PAIR = RecordForm("a pair", texts=("A", "B", "prompt", "category"), id_pattern="(0|[1-9][0-9]{0,8})(_factual)?")
_REWORDED = RecordForm("a de-nominalised prompt", texts=("prompt",), optional=("category",))

_RULE_LEVELS = {"original": 1, "cf": 2}
_PAIR_LEVELS = {"factual": 1, "unusual": 2}


def read_rules(root: Path, findings: Findings, tidied: list[Tidying]) -> list[Item[CounterfactualSpec]]:
    """The items of the rule probe. Their questions were not published, so what decides is asked by template."""
    items = []
    for where, texts, _ in read_entries(root, f"{PROBES}/rule_decouple.json", _RULE, findings, tidied):
        level = _level(texts["category"], _RULE_LEVELS, where, findings)
        group = f"rule-{texts['rule_id']}"
        items.append(
            Item(CF_WORLD_RULES, f"{group}-{texts['id']}", level, texts["prompt"], rule_spec(group, texts["ap"])),
        )
    return items


def read_pairs(root: Path, findings: Findings, tidied: list[Tidying]) -> list[Item[CounterfactualSpec]]:
    """The items of the attribute probe, with our question about each: the published scorer has one for all."""
    items: dict[str, Item[CounterfactualSpec]] = {}
    before = len(findings)
    for where, texts, _ in read_entries(root, f"{PROBES}/attribute_decouple.json", _PAIR, findings, tidied):
        level = _level(texts["category"], _PAIR_LEVELS, where, findings)
        number, _, ending = texts["id"].partition("_")
        if level and (level == 1) != (ending == "factual"):
            findings.add(where, f"the id and the category {texts['category']!r} contradict each other: mend one")
        group = f"pair-{number}"
        spec = pair_spec(group, texts["A"], texts["B"], texts["prompt"])
        item = f"{group}-{'common' if ending else 'rare'}"
        items[item] = Item(CF_WORLD_ATTRIBUTES, item, level, texts["prompt"], spec)
    if len(findings) > before:
        return list(items.values())  # the partner of a pair may be among what cannot be read
    for item, found in items.items():
        partner = f"{found.spec.group}-{'rare' if item.endswith('common') else 'common'}"
        if partner not in items:
            findings.add(f"{PROBES}/attribute_decouple.json", f"{item} has no partner {partner}: add it")
    return list(items.values())


def read_denominalised(
    root: Path, trees: Sequence[PublishedTree], findings: Findings, tidied: list[Tidying]
) -> list[Item[CounterfactualSpec]]:
    """The explicit prompts of the groups in other words, judged by the questions of L2."""
    known = {each.tree.path for each in trees}
    for path in json_files(root / PROBES / _REWORDED_FOLDER):
        if path not in known:
            name = f"{PROBES}/{_REWORDED_FOLDER}/{path}.json"
            findings.add(name, "there is no such file in prompt: take it away, or add that")
    return [item for each in trees for item in _reworded_of(each, root, findings, tidied)]


def _reworded_of(
    tree: PublishedTree, root: Path, findings: Findings, tidied: list[Tidying]
) -> list[Item[CounterfactualSpec]]:
    """The prompts of a field. What only follows from a file that cannot be read is no finding of its own."""
    name = f"{PROBES}/{_REWORDED_FOLDER}/{tree.tree.path}.json"
    groups = {group.number: group for group in tree.groups}
    before = len(findings)
    entries = read_entries(root, name, _REWORDED, findings, tidied)
    is_sound = len(findings) == before
    items = []
    for where, texts, _ in entries:
        group = groups.pop(texts["id"], None)
        if group is not None:
            items.append(_reworded(group, where, texts["prompt"], bool(texts["category"]), tidied))
        elif tree.is_sound:
            findings.add(where, "there is no such group in prompt: take it away, or add that")
    if is_sound:
        for number in groups:
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
    return Item(CF_WORLD_DENOMINALISED, f"{group.id}-l2", 2, prompt, spec, group.tree.tags)


def _level(category: str, levels: dict[str, int], where: str, findings: Findings) -> int:
    if category not in levels:
        findings.add(where, f"unknown category {category!r}: known are {', '.join(levels)}")
    return levels.get(category, 0)
