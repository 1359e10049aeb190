"""CF-World and its probes as published by their authors.

The repository has `prompt` (groups, one file for each field), `eval_questions` (questions, under the same names) and
`prompt_ablation` (the probes: `rule_decouple.json`, `attribute_decouple.json` and `de-norm/<field>.json`). The files
have irregularities. Each is repaired by a rule and reported, or tagged with what is odd (see `odd_records`); nothing is
dropped, what cannot be scored is kept and named, and only a file that is no list of records is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.cfworld.items import pair_spec, rule_spec
from formalimg.benchmarks.cfworld.published_groups import (
    PROMPTS,
    QUESTIONS,
    PublishedField,
    PublishedGroup,
    json_files,
    read_fields,
)
from formalimg.benchmarks.cfworld.published_records import DataRepair, RecordSchema, format_repairs, read_records
from formalimg.benchmarks.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    LEVELS,
    CounterfactualSpec,
)
from formalimg.benchmarks.odd_records import (
    ID_AND_CATEGORY_DIFFER,
    NO_GROUP,
    NO_PARTNER,
    NO_PROMPT,
    NO_QUESTIONS,
    UNKNOWN_CATEGORY,
    SkippedRecord,
    ordered_tags,
)
from formalimg.benchmarks.record import ItemFindings, free_name
from formalimg.errors import FormalimgError
from formalimg.types import Item

PROBES = "prompt_ablation"
_REWORDED_FOLDER = "de-norm"

_RULE = RecordSchema("a rule", texts=("category", "prompt", "ap"), ids=("id", "rule_id"))
_PAIR = RecordSchema(
    "a pair",
    texts=("A", "B", "prompt", "category"),
    id_pattern="(0|[1-9][0-9]{0,8})(_factual)?",
    verbatim=("A", "B"),
)
_REWORDED = RecordSchema("a de-nominalised prompt", texts=("prompt",), optional=("category",))


def _read_rules(root: Path, findings: ItemFindings, repairs: list[DataRepair]) -> list[Item[CounterfactualSpec]]:
    """Read the items of the rule probe, with template questions because none were published."""
    levels = {"original": 1, "cf": 2}
    items = []
    for _, texts, _, tags in read_records(root, f"{PROBES}/rule_decouple.json", _RULE, findings, repairs):
        group = f"rule-{texts['rule_id'] or 'unknown'}"
        spec = rule_spec(group, texts["ap"]) if texts["ap"] else CounterfactualSpec(group, "", ())
        level = levels.get(texts["category"])
        items.append(_probe_item(CF_WORLD_RULES, f"{group}-{texts['id']}", level, texts["prompt"], spec, {*tags}))
    return items


def _read_pairs(root: Path, findings: ItemFindings, repairs: list[DataRepair]) -> list[Item[CounterfactualSpec]]:
    """Read the items of the attribute probe, each with a template question."""
    levels = {"factual": 1, "unusual": 2}
    records = read_records(root, f"{PROBES}/attribute_decouple.json", _PAIR, findings, repairs)
    ids = {record.texts["id"] for record in records}
    items: dict[str, Item[CounterfactualSpec]] = {}
    for _, texts, _, record_tags in records:
        tags, level = {*record_tags}, levels.get(texts["category"])
        number, _, ending = texts["id"].partition("_")
        if level and (level == 1) != (ending == "factual"):
            tags.add(ID_AND_CATEGORY_DIFFER)
        if (number if ending else f"{number}_factual") not in ids:
            tags.add(NO_PARTNER)
        group = f"pair-{number}"
        spec = CounterfactualSpec(group, "", ())
        if all(texts[name].strip() for name in ("A", "B", "prompt")):
            spec = pair_spec(group, texts["A"], texts["B"], texts["prompt"])
        name = free_name(f"{group}-{'common' if ending else 'rare'}", items)
        items[name] = _probe_item(CF_WORLD_ATTRIBUTES, name, level, texts["prompt"], spec, tags)
    return list(items.values())


def _probe_item(
    suite: str, name: str, level: int | None, prompt: str, spec: CounterfactualSpec, tags: set[str]
) -> Item[CounterfactualSpec]:
    """Return an item of a probe; without a category it is unscored and gets level 2."""
    if level is None:
        tags.add(UNKNOWN_CATEGORY)
        spec = CounterfactualSpec(spec.group, spec.assessment, ())
    elif not spec.questions:
        tags.add(NO_QUESTIONS)
    if not prompt:
        tags.add(NO_PROMPT)
    return Item(suite, name, level or 2, prompt, spec, ordered_tags(tags))


def _read_denominalised(
    root: Path, fields_read: Sequence[PublishedField], findings: ItemFindings, repairs: list[DataRepair]
) -> list[Item[CounterfactualSpec]]:
    paths = {published.field.path for published in fields_read}
    for path in json_files(root / PROBES / _REWORDED_FOLDER):
        if path not in paths:
            findings.skip(f"{PROBES}/{_REWORDED_FOLDER}/{path}.json", "there is no such file in prompt")
    return [item for published in fields_read for item in _read_reworded(published, root, findings, repairs)]


def _read_reworded(
    published: PublishedField, root: Path, findings: ItemFindings, repairs: list[DataRepair]
) -> list[Item[CounterfactualSpec]]:
    """Read the de-nominalised prompts of a field, without reporting errors that follow from an unreadable file."""
    field = published.field
    name = f"{PROBES}/{_REWORDED_FOLDER}/{field.path}.json"
    groups = {group.number: group for group in published.groups}
    before = len(findings)
    items = []
    for location, texts, _, tags in read_records(root, name, _REWORDED, findings, repairs):
        all_tags = {*tags} if texts["prompt"] else {*tags, NO_PROMPT}
        group = groups.pop(texts["id"], None)
        if group is not None:
            items.append(
                _build_reworded_item(group, location, texts["prompt"], bool(texts["category"]), all_tags, repairs)
            )
        else:
            group_id = f"{field.slug}-{texts['id']}"
            spec, tag_list = CounterfactualSpec(group_id, "", ()), ordered_tags({*all_tags, NO_GROUP})
            item_tags = (*field.tags, *tag_list)
            items.append(Item(CF_WORLD_DENOMINALISED, f"{group_id}-l2", 2, texts["prompt"], spec, item_tags))
    if published.is_sound and len(findings) == before:
        for number in groups:
            findings.skip(name, f"lacks group {number}")
    return items


def _build_reworded_item(
    group: PublishedGroup, location: str, prompt: str, has_category: bool, tags: set[str], repairs: list[DataRepair]
) -> Item[CounterfactualSpec]:
    if not has_category:
        repairs.append(DataRepair(location, "no category", "none is needed: the file says the field"))
    if prompt == group.prompts[2]:
        repairs.append(DataRepair(location, "same prompt as L2", "kept: it is not in other words"))
    if not group.questions[2]:
        repairs.append(DataRepair(location, "no questions", "kept, but nobody can score it"))
    spec = CounterfactualSpec(group.id, group.assessments[2], group.questions[2])
    # Tags of the prompt of L2 itself do not matter here.
    item_tags = ordered_tags({*tags, *(tag for tag in group.odd[2] if tag != NO_PROMPT)})
    return Item(CF_WORLD_DENOMINALISED, f"{group.id}-l2", 2, prompt, spec, (*group.field.tags, *item_tags))


_FOLDERS = {
    CF_WORLD: (PROMPTS, QUESTIONS),
    CF_WORLD_RULES: (PROBES,),
    CF_WORLD_ATTRIBUTES: (PROBES,),
    CF_WORLD_DENOMINALISED: (PROMPTS, QUESTIONS, PROBES),
}
"""Folders of the repository that each suite needs."""


class PublishedItems(NamedTuple):
    """Published items, and the irregularities found in their files."""

    items: tuple[Item[CounterfactualSpec], ...]  # all of them, in the order of the files
    repairs: tuple[DataRepair, ...]  # every irregularity, where it is, and how it was repaired
    unscorable: tuple[str, ...]  # the ids of items without questions
    skipped: tuple[SkippedRecord, ...] = ()  # what no item could be made of


def read_cf_world(path: str | Path, suite: str = CF_WORLD) -> PublishedItems:
    """Read CF-World or one of its probes from the authors' repository or a folder made by `formalimg pull`."""
    findings = ItemFindings()
    published = _read_published(Path(path), suite, findings)
    findings.raise_any()
    return published


def read_published_items(path: Path, suite: str, findings: ItemFindings) -> list[Item[CounterfactualSpec]]:
    """Read the items of a suite, and add problems and repairs to the findings."""
    published = _read_published(path, suite, findings)
    findings.repairs += format_repairs(published.repairs)
    return list(published.items)


def _read_published(path: Path, suite: str, findings: ItemFindings) -> PublishedItems:
    root = _find_root(path, suite)
    repairs: list[DataRepair] = []
    if suite == CF_WORLD_RULES:
        items = _read_rules(root, findings, repairs)
    elif suite == CF_WORLD_ATTRIBUTES:
        items = _read_pairs(root, findings, repairs)
    elif suite == CF_WORLD_DENOMINALISED:
        # Repairs of the groups are reported with cf-world, and not again with its probe.
        items = _read_denominalised(root, read_fields(root, findings, []), findings, repairs)
    else:
        items = _items_of_fields(read_fields(root, findings, repairs))
    unscorable = tuple(item.id for item in items if not item.spec.questions)
    return PublishedItems(tuple(items), tuple(repairs), unscorable, tuple(findings.skipped))


def _find_root(path: Path, suite: str) -> Path:
    if suite not in _FOLDERS:
        raise FormalimgError(f"{suite} is not a suite of CF-World: use one of {', '.join(_FOLDERS)}")
    folder = path.absolute()  # `.` may be one of the folders
    root = folder.parent if folder.name in (PROMPTS, QUESTIONS, PROBES) else path
    for name in _FOLDERS[suite]:
        if not (root / name).is_dir():
            raise FormalimgError(
                f"{path} holds no items of {suite}: give items.jsonl, or the repository with its folders "
                f"{', '.join(_FOLDERS[suite])} ({name} is not there)"
            )
    return root


def _items_of_fields(fields_read: Sequence[PublishedField]) -> list[Item[CounterfactualSpec]]:
    return [
        Item(
            CF_WORLD,
            f"{group.id}-l{level}",
            level,
            group.prompts[level],
            CounterfactualSpec(group.id, group.assessments[level], group.questions[level]),
            (*group.field.tags, *group.odd[level]),
        )
        for published in fields_read
        for group in published.groups
        for level in LEVELS
    ]
