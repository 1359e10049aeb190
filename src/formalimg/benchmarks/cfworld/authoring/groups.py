"""Written groups with their questions, and their files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from formalimg._util.io import atomic_write_text
from formalimg._util.strict_json import loads_strict
from formalimg._util.text import truncate
from formalimg.benchmarks.cfworld.items import denominalised_items, items_of_groups
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup, CounterfactualSpec, WeightedQuestion
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from formalimg.types import Item

GROUPS_FILE = "groups.jsonl"

LEVELS = (1, 2, 3)
"""Factual, explicit and implicit: one item of a group for each."""

Questions = Mapping[int, tuple[WeightedQuestion, ...]]


@dataclass(frozen=True)
class WrittenGroup:
    """A group with the questions a model wrote for it."""

    group: CounterfactualGroup  # the group
    # for level 1, and for 2 and 3 together under 2; none where they come from templates
    questions: Questions = field(default_factory=dict)

    def items(self, version: str = "") -> list[Item[CounterfactualSpec]]:
        """Return the three items of the group."""
        return [self._asked(item) for item in items_of_groups([self.group], version)]

    def denominalised(self, version: str = "") -> list[Item[CounterfactualSpec]]:
        """Return the explicit item without the names of its outcome."""
        return [self._asked(item) for item in denominalised_items([self.group], version)]

    def _asked(self, item: Item[CounterfactualSpec]) -> Item[CounterfactualSpec]:
        if not self.questions:
            return item
        return replace(item, spec=replace(item.spec, questions=self.questions[min(item.level, 2)]))


def encode_questions(questions: Questions) -> dict[str, list[dict[str, Any]]]:
    """Encode questions as plain data."""
    return {str(level): [asdict(question) for question in asked] for level, asked in sorted(questions.items())}


def decode_questions(kept: Mapping[str, Sequence[Mapping[str, Any]]]) -> Questions:
    """Decode questions from plain data."""
    return {int(level): tuple(WeightedQuestion(**question) for question in asked) for level, asked in kept.items()}


def write_groups(groups: Iterable[CounterfactualGroup], folder: Path) -> Path:
    """Write groups to `<folder>/groups.jsonl`, one per line; the file is replaced all at once."""
    text = "".join(json.dumps(asdict(group), ensure_ascii=False) + "\n" for group in groups)
    return atomic_write_text(folder / GROUPS_FILE, text)


def read_groups(path: Path) -> list[CounterfactualGroup]:
    """Read groups from a JSONL file."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    found: list[CounterfactualGroup] = []
    wrong: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(CounterfactualGroup.from_fields(parse_line(line)))
        except FormalimgError as error:
            wrong.append(f"{path}, line {number}: {error}")
    if wrong:
        raise ItemsError(wrong[:20])
    return found


def parse_line(line: bytes) -> dict[str, Any]:
    """Parse a line of JSON."""
    try:
        fields = loads_strict(line)
        json.dumps(fields, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"not JSON ({truncate(str(error), 80, 20)}): each line is an object, {{…}}") from error
    if not isinstance(fields, dict):
        raise FormalimgError("not an object: each line is {…}")
    return fields


DENOMINALISED_FOLDER = "denominalised"


def write_group_files(written: Sequence[WrittenGroup], folder: Path, version: str) -> None:
    """Write `groups.jsonl`, and the explicit items without names to a folder of their own: they are another suite."""
    write_groups([each.group for each in written], folder)
    nameless = [item for each in written for item in each.denominalised(version)]
    write_items(nameless, folder / DENOMINALISED_FOLDER)
