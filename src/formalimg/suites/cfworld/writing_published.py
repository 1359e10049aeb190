"""Writing items of CF-World as its authors published theirs, so that their scripts read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formalimg._util.io import write_folder
from formalimg.errors import FormalimgError
from formalimg.suites.cfworld.names import CF_WORLD
from formalimg.suites.cfworld.published_groups import LEVELS, PROMPTS, QUESTION_TYPES, QUESTIONS, QUESTIONS_ENDING
from formalimg.suites.cfworld.spec import CounterfactualSpec
from formalimg.suites.cfworld.trees import Tree, tree_tagged
from formalimg.suites.item import Item, id_order, is_number

_GENERATOR = "formalimg"
_TYPE_OF = {QUESTION_TYPES[name]: name for name in QUESTION_TYPES if name != "Logic Consistency"}

_Levels = Mapping[int, Item[CounterfactualSpec]]


def write_counterfactuals(items: Iterable[Item[CounterfactualSpec]], folder: str | Path) -> None:
    """Write groups as published: `<folder>/prompt/<tree>.json` and `<folder>/eval_questions/<tree>_gemini.json`.

    All files appear or none. Groups with published ids keep their numbers; other groups are numbered from 0, field by
    field, in the order they come in. Versions have no place in this form.

    Raises:
        FormalimgError: if an item is of another suite, a group lacks a level, or the folder already holds something.
    """
    trees: dict[Tree, dict[str, dict[int, Item[CounterfactualSpec]]]] = {}
    for item in items:
        if item.suite != CF_WORLD or not item.tags:
            raise FormalimgError(f"item {item.id}: only items of {CF_WORLD} that have a field as tag can be written")
        levels = trees.setdefault(tree_tagged(item.tags), {}).setdefault(item.spec.group, {})
        if item.level in levels:
            raise FormalimgError(f"group {item.spec.group} has two items of level {item.level}: leave one out")
        levels[item.level] = item
    texts: dict[str, str] = {}
    for tree, groups in trees.items():
        for group, levels in groups.items():
            if sorted(levels) != list(LEVELS):
                raise FormalimgError(f"group {group} must have the levels 1, 2 and 3 to be written")
        numbered = _numbered(tree, groups)
        texts[f"{PROMPTS}/{tree.path}.json"] = _text([_group(number, levels) for number, levels in numbered.items()])
        texts[f"{QUESTIONS}/{tree.path}{QUESTIONS_ENDING}.json"] = _text(_questions(numbered))
    if not texts:
        raise FormalimgError("there are no items to write")
    write_folder(Path(folder), texts)


def _numbered(tree: Tree, groups: Mapping[str, _Levels]) -> dict[str, _Levels]:
    prefix = f"{tree.slug}-"
    own = {group: group.removeprefix(prefix) for group in groups if group.startswith(prefix)}
    if len(own) == len(groups) and all(map(is_number, own.values())):
        return {own[group]: groups[group] for group in sorted(groups, key=lambda group: id_order(own[group]))}
    return {str(number): levels for number, levels in enumerate(groups.values())}


def _group(number: str, levels: _Levels) -> dict[str, str]:
    assessments = {level: levels[level].spec.assessment for level in LEVELS}
    if assessments[3] == assessments[2]:
        assessments[3] = ""  # said once, it holds for both
    elif assessments[2]:
        raise FormalimgError(f"group {levels[2].spec.group} is judged by other points at L3 than at L2: make them one")
    fields = {"id": number, "category": levels[1].tags[-1]}
    for level in LEVELS:
        fields[f"prompt_l{level}"] = levels[level].prompt
        if assessments[level]:
            fields[f"ap_l{level}"] = assessments[level]
    return fields


def _questions(groups: Mapping[str, _Levels]) -> list[dict[str, Any]]:
    asked = [
        (number, levels[level], question)
        for number, levels in groups.items()
        for level in LEVELS
        for question in levels[level].spec.questions
    ]
    return [
        {
            "id": str(place),
            "source_id": number,
            "prompt_level": f"l{item.level}",
            "category": item.tags[-1],
            "question_type": _TYPE_OF[question.dimension],
            "question": question.question,
            "evaluation_criteria": question.criteria,
            "weight": question.weight,
            "generator_model": _GENERATOR,
        }
        for place, (number, item, question) in enumerate(asked, 1)
    ]


def _text(records: Sequence[Mapping[str, Any]]) -> str:
    # ASCII only: the published scripts open files with whatever encoding their machine has.
    return json.dumps(records, indent=4)
