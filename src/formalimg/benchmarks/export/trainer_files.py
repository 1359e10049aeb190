"""Train and test files of a suite in the formats of RL trainers.

Whatever differs from row to row is one JSON text: Arrow, which most trainers read with, wants one type for a column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from formalimg.benchmarks.conditions import Condition, StyleText
from formalimg.benchmarks.export.splits import TrainTestSplit
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite
from formalimg.types import Item

Trainer: TypeAlias = Literal["flow_grpo", "flow-factory", "verl-omni", "trl"]
"""A trainer whose files can be written."""

TRAINERS: tuple[Trainer, ...] = get_args(Trainer)


class _TrainRow(NamedTuple):
    """One item for a trainer: what the model is asked, and what the reward needs to know."""

    prompt: str
    task: Mapping[str, Any]
    tag: str
    split: str
    place: int
    suite: str


def trainer_files(split: TrainTestSplit, trainer: Trainer, style: StyleText = "none") -> dict[str, str]:
    """Return the files of train and test items, by their names."""
    form = _FORMS[trainer]
    sides = {"train": split.train, "test": split.test}
    return {
        form.file_name.format(split=name): form.write([form.row(row) for row in _rows(items, name, style)])
        for name, items in sides.items()
    }


def task_metadata(item: Item[Any]) -> dict[str, Any]:
    """Return what an image of an item is scored by, as rewards take it.

    A formula that boxes and colours decide is given itself: then it does not matter which items a server knows.
    """
    found = suite(item.suite)
    if isinstance(item.spec, FormulaSpec) and item.spec.unreadable is None and found.is_grounded:
        return {"formula": item.spec.text, "vocabulary": found.vocabulary, "item": item.id}
    return {"suite": item.suite, "id": item.id}


def can_be_scored(item: Item[Any]) -> bool:
    """Return whether there is a prompt to send and something to score its image by; published data may lack either."""
    return bool(item.prompt.strip()) and not (isinstance(item.spec, FormulaSpec) and item.spec.unreadable is not None)


def _rows(items: Iterable[Item[Any]], split: str, style: StyleText) -> Iterable[_TrainRow]:
    condition = Condition(style=style)
    for place, item in enumerate(items):
        found = suite(item.suite)
        tag = found.level_names.get(item.level, f"{found.level}={item.level}")
        yield _TrainRow(condition.model_input(item).prompt, task_metadata(item), tag, split, place, item.suite)


class _TrainerForm(NamedTuple):
    """How a trainer wants its files: their names, a row, and how rows are written."""

    file_name: str
    row: Callable[[_TrainRow], Mapping[str, Any]]
    write: Callable[[Sequence[Mapping[str, Any]]], str]


def _flow_grpo_row(row: _TrainRow) -> Mapping[str, Any]:
    return {"prompt": row.prompt, "tag": row.tag, **row.task}  # a line is the metadata of its prompt


def _flow_factory_row(row: _TrainRow) -> Mapping[str, Any]:
    return {"prompt": row.prompt, "metadata": _metadata(row)}


def _verl_omni_row(row: _TrainRow) -> Mapping[str, Any]:
    return {
        "data_source": f"formalimg/{row.suite}",
        "prompt": [{"role": "user", "content": row.prompt}],
        "ability": "text-to-image",
        "reward_model": {"style": "rule", "ground_truth": json.dumps(row.task, ensure_ascii=False)},
        "extra_info": {"split": row.split, "index": row.place, "raw_prompt": row.prompt, "tag": row.tag},
    }


def _trl_row(row: _TrainRow) -> Mapping[str, Any]:
    return {"prompt": [{"role": "user", "content": row.prompt}], "metadata": _metadata(row)}


def _metadata(row: _TrainRow) -> str:
    return json.dumps({"tag": row.tag, **row.task}, ensure_ascii=False)


def _lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _list(rows: Sequence[Mapping[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


_FORMS: Mapping[Trainer, _TrainerForm] = {
    "flow_grpo": _TrainerForm("{split}_metadata.jsonl", _flow_grpo_row, _lines),
    "flow-factory": _TrainerForm("{split}.jsonl", _flow_factory_row, _lines),
    "verl-omni": _TrainerForm("{split}.json", _verl_omni_row, _list),  # not every version of it knows .jsonl
    "trl": _TrainerForm("{split}.jsonl", _trl_row, _lines),
}
