"""Train/test splits without overlap in formulas, class pairs or relations.

Items with both features that are held out for the test and features used in training are excluded.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from importlib.resources import files
from itertools import combinations
from operator import or_
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

from formalimg.benchmarks.conditions import Condition, StyleText
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.items_file import in_order
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.types import Item

SplitBy: TypeAlias = Literal["formula", "class-pair", "relation"]  # What train and test have not in common
SPLITS: tuple[SplitBy, ...] = get_args(SplitBy)

TEST_SHARE = 0.1  # The share of the test in all items that are kept
_MAX_TRIED = 10  # Features whose every choice is tried, a thousand; relations are few, and pairs of classes many
_VARIABLE = re.compile(r"\?\w+")


class TrainTestSplit(NamedTuple):
    """Items for training, items for testing, and items that are excluded from both."""

    train: list[Item[Any]]
    test: list[Item[Any]]
    left_out: list[Item[Any]]


def split_items(
    items: Sequence[Item[Any]], by: SplitBy, *, test_share: float = TEST_SHARE, seed: int = 0
) -> TrainTestSplit:
    """Split a suite's items into train and test; the same items and seed give the same split.

    Items with the same formula always stay together. Items without any feature to hold out, such as those with a single
    class, are assigned at random, with the same share in each level.

    Args:
        items: the items.
        by: what train and test must not have in common.
        test_share: the share of the kept items that go to the test.
        seed: selects among splits.

    Raises:
        FormalimgError: if the items lack the property to split by, or one side would be empty.
    """
    if not 0 < test_share < 1:
        raise FormalimgError("the share of the test must be above 0 and below 1")
    groups = _group_items(items, by, seed)
    bound, free = [group for group in groups if group.features], [group for group in groups if not group.features]
    if by != "formula" and not bound:
        raise FormalimgError(f"no item of {items[0].suite} has a {by.replace('-', ' ')}: choose --split formula")
    train, test, left_out = _hold_out(bound, test_share)
    levels: dict[int, list[_ItemGroup]] = defaultdict(list)
    for group in free:
        levels[group.items[0].level].append(group)
    for members in levels.values():
        tested = round(test_share * len(members))
        test += members[:tested]
        train += members[tested:]
    split = TrainTestSplit(
        *(in_order(item for group in side for item in group.items) for side in (train, test, left_out))
    )
    if not split.train or not split.test:
        side = "test" if split.train else "train"
        raise FormalimgError(f"{len(items):,} items are too few to split by {by}: nothing is left for {side}")
    return split


def split_features(spec: object, by: SplitBy) -> frozenset[str]:
    """Return the features of a spec that must not occur in both sides; empty when splitting by formula."""
    if by == "formula":
        return frozenset()
    if not isinstance(spec, StatesRelations):
        raise FormalimgError("these items state no classes and relations: choose --split formula")
    if by == "class-pair":
        return frozenset(" + ".join(pair) for pair in combinations(sorted(set(spec.stated_classes)), 2))
    return frozenset(_read_families().get(relation, relation) for relation in spec.stated_relations)


@runtime_checkable
class StatesRelations(Protocol):
    """A spec that states classes of objects and relations between them."""

    @property
    def stated_classes(self) -> Iterable[str]:
        """The classes of objects."""
        ...

    @property
    def stated_relations(self) -> Iterable[str]:
        """The relations, where converses share a name unless `relations.toml` lists both."""
        ...


@cache
def _read_families() -> Mapping[str, str]:
    text = (files("formalimg.benchmarks.export") / "relations.toml").read_text(encoding="utf-8")
    return {name: family[0] for family in tomllib.loads(text)["families"] for name in family}


# --- groups of items that stay together


@dataclass(frozen=True)
class _ItemGroup:
    """Items with the same formula, which stay together in a split."""

    items: tuple[Item[Any], ...]
    features: frozenset[str]  # what must be on one side only
    order: str  # random


def _group_items(items: Sequence[Item[Any]], by: SplitBy, seed: int) -> list[_ItemGroup]:
    """Return the groups of items with the same formula, in random order."""
    by_key: dict[str, list[Item[Any]]] = defaultdict(list)
    for item in items:
        names: dict[str, str] = {}  # so that groups do not depend on the names of variables
        text = suite(item.suite).form.canonical_text(item.spec)
        by_key[_VARIABLE.sub(lambda match: names.setdefault(match[0], f"?v{len(names)}"), text)].append(item)  # noqa: B023
    groups = [
        _ItemGroup(
            tuple(members), split_features(members[0].spec, by), hashlib.sha256(f"{seed} {key}".encode()).hexdigest()
        )
        for key, members in by_key.items()
    ]
    return sorted(groups, key=lambda group: group.order)


# --- what is held out


def _hold_out(
    groups: Sequence[_ItemGroup], share: float
) -> tuple[list[_ItemGroup], list[_ItemGroup], list[_ItemGroup]]:
    """Return the train, test and excluded groups, minimizing the excluded ones."""
    names = sorted({name for group in groups for name in group.features})
    test_features = (_best_choice if len(names) <= _MAX_TRIED else _grow_choice)(groups, names, share)
    sides: tuple[list[_ItemGroup], list[_ItemGroup], list[_ItemGroup]] = ([], [], [])
    for group in groups:
        common = len(group.features & test_features)
        sides[0 if not common else 1 if common == len(group.features) else 2].append(group)
    return sides


def _best_choice(groups: Sequence[_ItemGroup], names: Sequence[str], share: float) -> frozenset[str]:
    """Return the test features that leave the most training groups, by exhaustive search."""
    choices = [frozenset(chosen) for size in range(1, len(names)) for chosen in combinations(names, size)]

    def loss(test_features: frozenset[str]) -> tuple[bool, int]:
        test = sum(group.features <= test_features for group in groups)
        train = sum(not group.features & test_features for group in groups)
        return not test or test < share * (test + train), -train

    return min(choices, key=loss, default=frozenset())


def _grow_choice(groups: Sequence[_ItemGroup], names: Sequence[str], share: float) -> frozenset[str]:
    """Return test features, grown greedily group by group until the test side has its share.

    Each step adds the group whose features exclude the fewest other groups from training.
    """
    test_features = frozenset[str]()
    having = {name: sum(1 << index for index, group in enumerate(groups) if name in group.features) for name in names}
    reach = [reduce(or_, map(having.__getitem__, group.features), 0) for group in groups]
    touched = 0  # the groups that have a feature of the test, as the bits of a number
    test: set[int] = set()
    while len(test) < share * (len(test) + len(groups) - touched.bit_count()):
        candidates = [index for index in range(len(groups)) if index not in test]
        best = min(candidates, key=lambda index: (reach[index] & ~touched).bit_count())
        if (touched | reach[best]).bit_count() == len(groups):  # nothing would be left to train on
            break
        test_features |= groups[best].features
        touched |= reach[best]
        test = {index for index in candidates if groups[index].features <= test_features} | test
    return test_features


# --- trainer files

Trainer: TypeAlias = Literal["flow_grpo", "flow-factory", "verl-omni", "trl"]  # A trainer whose files can be written
TRAINERS: tuple[Trainer, ...] = get_args(Trainer)


class _TrainRow(NamedTuple):
    """One item for a trainer: the model's prompt, and the task for the reward."""

    prompt: str
    task: Mapping[str, Any]
    tag: str
    split: str
    place: int
    suite: str


def trainer_files(split: TrainTestSplit, trainer: Trainer, style: StyleText = "none") -> dict[str, str]:
    """Return the content of the train and test files, by file name."""
    form = _FORMS[trainer]
    sides = {"train": split.train, "test": split.test}
    return {
        form.file_name.format(split=name): form.write([form.row(row) for row in _build_rows(items, name, style)])
        for name, items in sides.items()
    }


def task_metadata(item: Item[Any]) -> dict[str, Any]:
    """Return the metadata by which rewards score the images of an item.

    A formula that boxes and colours can decide is included itself, so that a server need not know the item.
    """
    benchmark = suite(item.suite)
    if isinstance(item.spec, FormulaSpec) and item.spec.unreadable is None and benchmark.is_grounded:
        return {"formula": item.spec.text, "vocabulary": benchmark.vocabulary, "item": item.id}
    return {"suite": item.suite, "id": item.id}


def can_be_scored(item: Item[Any]) -> bool:
    """Return whether an item has a prompt and a valid spec; published data may lack either."""
    return bool(item.prompt.strip()) and not (isinstance(item.spec, FormulaSpec) and item.spec.unreadable is not None)


def _build_rows(items: Iterable[Item[Any]], split: str, style: StyleText) -> Iterable[_TrainRow]:
    condition = Condition(style=style)
    for index, item in enumerate(items):
        benchmark = suite(item.suite)
        tag = benchmark.level_names.get(item.level, f"{benchmark.level}={item.level}")
        yield _TrainRow(condition.model_input(item).prompt, task_metadata(item), tag, split, index, item.suite)


class _TrainerForm(NamedTuple):
    """The file format of a trainer: file names, row format, and serialization."""

    file_name: str
    row: Callable[[_TrainRow], Mapping[str, Any]]
    write: Callable[[Sequence[Mapping[str, Any]]], str]


def _flow_grpo_row(row: _TrainRow) -> Mapping[str, Any]:
    return {"prompt": row.prompt, "tag": row.tag, **row.task}  # a line is the metadata of its prompt


def _flow_factory_row(row: _TrainRow) -> Mapping[str, Any]:
    return {"prompt": row.prompt, "metadata": _encode_metadata(row)}


def _verl_omni_row(row: _TrainRow) -> Mapping[str, Any]:
    return {
        "data_source": f"formalimg/{row.suite}",
        "prompt": [{"role": "user", "content": row.prompt}],
        "ability": "text-to-image",
        "reward_model": {"style": "rule", "ground_truth": json.dumps(row.task, ensure_ascii=False)},
        "extra_info": {"split": row.split, "index": row.place, "raw_prompt": row.prompt, "tag": row.tag},
    }


def _trl_row(row: _TrainRow) -> Mapping[str, Any]:
    return {"prompt": [{"role": "user", "content": row.prompt}], "metadata": _encode_metadata(row)}


def _encode_metadata(row: _TrainRow) -> str:
    return json.dumps({"tag": row.tag, **row.task}, ensure_ascii=False)


def _write_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _write_list(rows: Sequence[Mapping[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


_FORMS: Mapping[Trainer, _TrainerForm] = {
    "flow_grpo": _TrainerForm("{split}_metadata.jsonl", _flow_grpo_row, _write_lines),
    "flow-factory": _TrainerForm("{split}.jsonl", _flow_factory_row, _write_lines),
    "verl-omni": _TrainerForm("{split}.json", _verl_omni_row, _write_list),  # not every version of it knows .jsonl
    "trl": _TrainerForm("{split}.jsonl", _trl_row, _write_lines),
}
