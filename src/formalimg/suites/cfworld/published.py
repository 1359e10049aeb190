"""CF-World and its probes as published by their authors.

The repository has `prompt` (groups, one file for each field), `eval_questions` (questions, under the same names) and
`prompt_ablation` (the probes: `rule_decouple.json`, `attribute_decouple.json` and `de-norm/<field>.json`). The files
have irregularities. Each is repaired by a rule, or kept as it is, and reported; nothing is dropped, and what cannot be
scored is kept and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.suites.cfworld.published_groups import (
    LEVELS,
    PROMPTS,
    QUESTIONS,
    PublishedField,
    PublishedGroup,
    json_files,
    read_fields,
)
from formalimg.suites.cfworld.published_records import DataRepair, RecordSchema, format_repairs, read_records
from formalimg.suites.cfworld.questions import pair_spec, rule_spec
from formalimg.suites.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    CounterfactualSpec,
)
from formalimg.suites.item import Item
from formalimg.suites.record import ItemFindings

PROBES = "prompt_ablation"
_REWORDED_FOLDER = "de-norm"

_RULE = RecordSchema("a rule", texts=("category", "prompt", "ap"), ids=("id", "rule_id"))
_PAIR = RecordSchema("a pair", texts=("A", "B", "prompt", "category"), id_pattern="(0|[1-9][0-9]{0,8})(_factual)?")
_REWORDED = RecordSchema("a de-nominalised prompt", texts=("prompt",), optional=("category",))

_RULE_LEVELS = {"original": 1, "cf": 2}
_PAIR_LEVELS = {"factual": 1, "unusual": 2}


def read_rules(root: Path, findings: ItemFindings, repairs: list[DataRepair]) -> list[Item[CounterfactualSpec]]:
    """Read the items of the rule probe. Their questions were not published, so they get template questions."""
    items = []
    for where, texts, _ in read_records(root, f"{PROBES}/rule_decouple.json", _RULE, findings, repairs):
        level = _level(texts["category"], _RULE_LEVELS, where, findings)
        group = f"rule-{texts['rule_id']}"
        items.append(
            Item(CF_WORLD_RULES, f"{group}-{texts['id']}", level, texts["prompt"], rule_spec(group, texts["ap"]))
        )
    return items


def read_pairs(root: Path, findings: ItemFindings, repairs: list[DataRepair]) -> list[Item[CounterfactualSpec]]:
    """Read the items of the attribute probe, with a template question each: the published scorer has one for all."""
    items: dict[str, Item[CounterfactualSpec]] = {}
    before = len(findings)
    for where, texts, _ in read_records(root, f"{PROBES}/attribute_decouple.json", _PAIR, findings, repairs):
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
    root: Path, fields_read: Sequence[PublishedField], findings: ItemFindings, repairs: list[DataRepair]
) -> list[Item[CounterfactualSpec]]:
    """Read the reworded explicit prompts of the groups, judged by the questions of L2."""
    known = {each.field.path for each in fields_read}
    for path in json_files(root / PROBES / _REWORDED_FOLDER):
        if path not in known:
            name = f"{PROBES}/{_REWORDED_FOLDER}/{path}.json"
            findings.add(name, "there is no such file in prompt: take it away, or add that")
    return [item for each in fields_read for item in _reworded_of(each, root, findings, repairs)]


def _reworded_of(
    field: PublishedField, root: Path, findings: ItemFindings, repairs: list[DataRepair]
) -> list[Item[CounterfactualSpec]]:
    """Read the reworded prompts of a field. What only follows from an unreadable file is not reported again."""
    name = f"{PROBES}/{_REWORDED_FOLDER}/{field.field.path}.json"
    groups = {group.number: group for group in field.groups}
    before = len(findings)
    records = read_records(root, name, _REWORDED, findings, repairs)
    is_sound = len(findings) == before
    items = []
    for where, texts, _ in records:
        group = groups.pop(texts["id"], None)
        if group is not None:
            items.append(_reworded(group, where, texts["prompt"], bool(texts["category"]), repairs))
        elif field.is_sound:
            findings.add(where, "there is no such group in prompt: take it away, or add that")
    if is_sound:
        for number in groups:
            findings.add(name, f"lacks group {number}: add it")
    return items


def _reworded(
    group: PublishedGroup, where: str, prompt: str, has_category: bool, repairs: list[DataRepair]
) -> Item[CounterfactualSpec]:
    if not has_category:
        repairs.append(DataRepair(where, "no category", "none is needed: the file says the field"))
    if prompt == group.prompts[2]:
        repairs.append(DataRepair(where, "same prompt as L2", "kept: it is not in other words"))
    if not group.questions[2]:
        repairs.append(DataRepair(where, "no questions", "kept, but nobody can score it"))
    spec = CounterfactualSpec(group.id, group.assessments[2], group.questions[2])
    return Item(CF_WORLD_DENOMINALISED, f"{group.id}-l2", 2, prompt, spec, group.field.tags)


def _level(category: str, levels: dict[str, int], where: str, findings: ItemFindings) -> int:
    if category not in levels:
        findings.add(where, f"unknown category {category!r}: known are {', '.join(levels)}")
    return levels.get(category, 0)


_FOLDERS = {
    CF_WORLD: (PROMPTS, QUESTIONS),
    CF_WORLD_RULES: (PROBES,),
    CF_WORLD_ATTRIBUTES: (PROBES,),
    CF_WORLD_DENOMINALISED: (PROMPTS, QUESTIONS, PROBES),
}
"""Folders of the repository that each suite needs."""


class PublishedItems(NamedTuple):
    """Published items, and their irregularities.

    Attributes:
        items: all of them, in the order of the files.
        repairs: every irregularity, where it is, and how it was repaired.
        unscorable: the ids of items without questions.
    """

    items: tuple[Item[CounterfactualSpec], ...]
    repairs: tuple[DataRepair, ...]
    unscorable: tuple[str, ...]


def read_cf_world(place: str | Path, suite: str = CF_WORLD) -> PublishedItems:
    """Read CF-World or one of its probes, from the authors' repository or from `formalimg pull`.

    Args:
        place: the folder that holds `prompt`, `eval_questions` and `prompt_ablation`, or one of these.
        suite: `cf-world`, `cf-world-rules`, `cf-world-attributes` or `cf-world-denominalised`.

    Raises:
        ItemsError: listing every problem of the files, each with its place.
        FormalimgError: if the folders are not there, or the suite is unknown.
    """
    findings = ItemFindings()
    published = _read(Path(place), suite, findings)
    findings.raise_any()
    return published


def read_published_items(place: Path, suite: str, findings: ItemFindings) -> list[Item[CounterfactualSpec]]:
    """Read the items of a suite; problems of the files are added to the findings."""
    return list(_read(place, suite, findings).items)


def repair_report(place: str | Path, suite: str = CF_WORLD) -> list[str]:
    """Return the irregularities of published data and their repairs, as text lines.

    Raises:
        FormalimgError: as `read_cf_world` does.
    """
    items, repairs, unscorable = read_cf_world(place, suite)
    groups = {item.spec.group for item in items}
    questions = sum(len(item.spec.questions) for item in items)
    lines = [f"{len(groups):,} groups, {len(items):,} prompts, {questions:,} questions"]
    if unscorable:
        lines.append(f"{len(unscorable):,} prompts without questions, never scored: {', '.join(unscorable)}")
    return [*lines, *format_repairs(repairs)]


def _read(place: Path, suite: str, findings: ItemFindings) -> PublishedItems:
    root = _root(place, suite)
    repairs: list[DataRepair] = []
    items: Sequence[Item[CounterfactualSpec]]
    if suite == CF_WORLD_RULES:
        items = read_rules(root, findings, repairs)
    elif suite == CF_WORLD_ATTRIBUTES:
        items = read_pairs(root, findings, repairs)
    elif suite == CF_WORLD_DENOMINALISED:
        # Repairs of the groups are reported with cf-world, and not again with its probe.
        items = read_denominalised(root, read_fields(root, findings, []), findings, repairs)
    else:
        items = _items_of(read_fields(root, findings, repairs))
    unscorable = tuple(item.id for item in items if not item.spec.questions)
    return PublishedItems(tuple(items), tuple(repairs), unscorable)


def _root(place: Path, suite: str) -> Path:
    if suite not in _FOLDERS:
        raise FormalimgError(f"{suite} is not a suite of CF-World: use one of {', '.join(_FOLDERS)}")
    inside = place.absolute()  # `.` may be one of the folders
    root = inside.parent if inside.name in (PROMPTS, QUESTIONS, PROBES) else place
    for folder in _FOLDERS[suite]:
        if not (root / folder).is_dir():
            raise FormalimgError(
                f"{place} holds no items of {suite}: give items.jsonl, or the repository with its folders "
                f"{', '.join(_FOLDERS[suite])} ({folder} is not there)"
            )
    return root


def _items_of(fields_read: Sequence[PublishedField]) -> list[Item[CounterfactualSpec]]:
    return [
        Item(
            CF_WORLD,
            f"{group.id}-l{level}",
            level,
            group.prompts[level],
            CounterfactualSpec(group.id, group.assessments[level], group.questions[level]),
            group.field.tags,
        )
        for field in fields_read
        for group in field.groups
        for level in LEVELS
    ]
