"""The review queue: groups as lines of a file, for a person to decide about."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from formalimg._util.io import atomic_write_text
from formalimg.authoring.counterfactuals.choices import GROUPS
from formalimg.authoring.counterfactuals.written_group import (
    GROUPS_FILE,
    Questions,
    WrittenGroup,
    encode_questions,
    read_groups,
)
from formalimg.errors import FormalimgError
from formalimg.suites import check_groups, load, our_groups

ADDED = ("problems", "digest", "decision", "note")
"""The fields of a line besides those of the group and its questions."""


def groups_to_review(source: str) -> list[WrittenGroup]:
    """The groups of a folder that was written, of a file of groups, or those that ship, by the name of their suite.

    Questions that are not from the template come along, so that nobody reviews a group without them.

    Raises:
        FormalimgError: if there are no groups.
    """
    if source == GROUPS:
        return [WrittenGroup(group) for group in our_groups()]
    place = Path(source)
    path = place / GROUPS_FILE if place.is_dir() else place
    if not path.is_file():
        raise FormalimgError(f"there is no {path}: give a folder with {GROUPS_FILE}, such a file, or {GROUPS}")
    groups = read_groups(path)
    if not groups:
        raise FormalimgError(f"{path} holds no groups")
    items = load(GROUPS, path.parent) if (path.parent / "items.jsonl").is_file() else []
    asked: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for item in items:
        asked[item.spec.group][item.level] = item.spec.questions
    return [WrittenGroup(group, _own_questions(WrittenGroup(group), asked[group.id])) for group in groups]


def queue_lines(groups: Sequence[WrittenGroup]) -> list[str]:
    """A line of JSON for each group: its fields, what the checker finds, and what a person has to fill in."""
    problems: defaultdict[str, list[str]] = defaultdict(list)
    for problem in check_groups([each.group for each in groups]):
        problems[problem.group].append(f"{problem.reason}: {problem.detail}")
    return [_line(each, problems[each.group.id]) for each in groups]


def export_queue(source: str, path: Path) -> int:
    """Write the review queue of some groups to a file, and tell how many there are.

    Raises:
        FormalimgError: if there are no groups, or the file is there already: it may hold decisions.
    """
    if path.exists():
        raise FormalimgError(f"{path} is there already, perhaps with decisions: choose another name")
    lines = queue_lines(groups_to_review(source))
    atomic_write_text(path, "".join(f"{line}\n" for line in lines))
    return len(lines)


def digest_of(fields: Mapping[str, Any]) -> str:
    """By what is noticed that a group was changed."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def reviewed_fields(each: WrittenGroup) -> dict[str, Any]:
    """What a person sees of a group, and may change; weights are not theirs to change."""
    fields: dict[str, Any] = asdict(each.group)
    if each.questions:
        fields["questions"] = {
            level: [{name: text for name, text in question.items() if name != "weight"} for question in asked]
            for level, asked in encode_questions(each.questions).items()
        }
    return fields


def _line(each: WrittenGroup, problems: Sequence[str]) -> str:
    fields = reviewed_fields(each)
    added = dict(zip(ADDED, (list(problems), digest_of(fields), "", ""), strict=True))
    return json.dumps({**fields, **added}, ensure_ascii=False)


def _own_questions(plain: WrittenGroup, asked: Mapping[int, Any]) -> Questions:
    """The questions of a group's items, unless they are those of the template."""
    usual = {item.level: item.spec.questions for item in plain.items()}
    if all(asked.get(level, usual[level]) == usual[level] for level in usual):
        return {}
    if set(asked) != set(usual) or asked[2] != asked[3]:
        raise FormalimgError(
            f"group {plain.group.id}: its items must have all three levels, 2 and 3 with one set of questions"
        )
    return {1: asked[1], 2: asked[2]}
