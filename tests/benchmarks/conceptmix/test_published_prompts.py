"""The 2,100 published prompts: all are read, the odd ones are tagged, and no damage to a record stops the others."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formalimg import load
from formalimg.benchmarks.conceptmix.published import write_published_prompts
from formalimg.benchmarks.items_file import decode_item, encode_item, write_items
from formalimg.benchmarks.odd_records import ODD_TAGS
from tests.support.published import published_concept_items, published_concepts
from tests.support.sizes import tries

ODD = {
    "counts-differ-from-k": "k5-277 k6-158 k6-253 k7-063 k7-183 k7-269 k7-273",
    "questions-moved": "k2-022 k3-026 k3-087 k3-198 k3-244 k4-111 k5-023 k5-043 k5-087 k5-205 k5-232 k5-292 k6-053 "
    "k6-128 k6-158 k6-218 k6-291",
    "concept-without-question": "k6-053 k6-158 k6-283 k6-291",
    "question-without-concept": "k6-053 k6-283 k6-291",
    "duplicate-prompt": "k1-070 k1-210",
    "binding-changed": "k4-101 k6-276 k7-020",
}
"""The odd records, by tag; each was read by a person."""


def test_all_published_prompts_are_read_and_the_odd_ones_tagged(tmp_path: Path) -> None:
    items = published_concept_items()
    assert len(items) == 2_100
    assert sum(len(item.spec.concepts) for item in items) == 10_503
    assert {level: sum(item.level == level for item in items) for level in range(1, 8)} == dict.fromkeys(
        range(1, 8), 300
    )
    found: dict[str, list[str]] = {}
    for item in items:
        for tag in item.tags:
            found.setdefault(tag, []).append(item.id)
    assert found == {tag: ids.split() for tag, ids in ODD.items()}
    write_items(items, tmp_path)
    assert load("conceptmix", tmp_path) == items


def test_questions_and_concepts_stay_as_published_word_for_word(tmp_path: Path) -> None:
    items = [item for item in published_concept_items() if item.spec.binding is not None]
    assert len(items) == 2_097
    levels: dict[int, dict[int, Any]] = {}
    for path in (published_concepts() / "sentence_collection").glob("*_sentences_k=*.json"):
        records = json.loads(path.read_text(encoding="utf-8"))
        levels[int(path.stem[-1])] = {record["index"]: record for record in records}
    write_published_prompts(items, tmp_path / "copy")
    for level in levels:
        (path,) = (tmp_path / "copy").glob(f"*_sentences_k={level}.json")
        indexes = (int(item.id[3:]) for item in items if item.level == level)
        for index, copied in zip(indexes, json.loads(path.read_text(encoding="utf-8")), strict=True):
            published = levels[level][index]
            asked = [line for line in published["question"] if line.strip()]
            assert {**copied, "index": index} == {**published, "question": asked}


def test_equal_concepts_have_the_objects_that_their_questions_are_about() -> None:
    # The example of appendix A.5: the necklace is asked about first, and drawn second.
    (item,) = (item for item in published_concept_items() if item.id == "k4-002")
    reds = [(one.question.strip(), one.objects) for one in item.spec.concepts if one.value == "red"]
    assert reds == [("Is the color of the necklace red?", (2,)), ("Is the color of the table red?", (1,))]
    assert (item.tags, item.spec.order) == ((), ())


def test_questions_of_odd_records_belong_to_their_concepts() -> None:
    items = {item.id: item for item in published_concept_items()}

    def asked(item: str, value: str) -> str:
        return next(one.question for one in items[item].spec.concepts if one.value == value)

    for item, value, about in (
        ("k2-022", "dirt road", "dirt road"),
        ("k2-022", "red", "screwdriver red"),
        ("k5-043", "sheep", "sheep"),
        ("k6-158", "3", "three horses"),
    ):
        assert about in asked(item, value)
    assert [one.value for one in items["k6-158"].spec.unasked] == ["horse"]
    assert [one.value for one in items["k6-053"].spec.unasked] == ["ink"]
    assert len(items["k7-063"].spec.concepts) == 9


PLAIN = (None, True, 0, -1, 7, 1.5, float("nan"), 10**30, "", " ", "?", "Is it?", "\ud800", "\u202e\0", "x" * 5_000)
NESTED: tuple[Any, ...] = ([], [None], ["a", 3], {}, {"a": []}, [[[]]], ["object"] * 40)


def _strange(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice((*PLAIN, *NESTED)))


def _replace(record: dict[str, Any], rng: random.Random) -> Any:
    record[rng.choice(list(record))] = _strange(rng)
    return record


def _drop(record: dict[str, Any], rng: random.Random) -> Any:
    del record[rng.choice(list(record))]
    return record


def _replace_inside(record: dict[str, Any], rng: random.Random) -> Any:
    lists = [value for value in record.values() if isinstance(value, list) and value]
    if lists:
        inside = rng.choice(lists)
        inside[rng.randrange(len(inside))] = _strange(rng)
    return record


def _shorten(record: dict[str, Any], rng: random.Random) -> Any:
    for value in record.values():
        if isinstance(value, list) and value and rng.random() < 0.5:
            del value[rng.randrange(len(value)) :]
    return record


def _repeat(record: dict[str, Any], rng: random.Random) -> Any:
    for value in record.values():
        if isinstance(value, list) and rng.random() < 0.5:
            value.extend(value * rng.randrange(1, 30))
            rng.shuffle(value)
    return record


def _replace_object(record: dict[str, Any], rng: random.Random) -> Any:
    for entry in [*record.get("objects", ()), *record.get("relation", ())]:
        if rng.random() < 0.5:
            entry[rng.choice([*entry, "name", "color", "odd"])] = _strange(rng)
    return record


MUTATIONS: tuple[Callable[[dict[str, Any], random.Random], Any], ...] = (
    _replace,
    _replace,
    _drop,
    _replace_inside,
    _shorten,
    _repeat,
    _replace_object,
    lambda record, rng: _strange(rng),
)


@pytest.mark.parametrize("seed", range(tries(1, 15)))
def test_no_damage_to_single_records_stops_the_others(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    level = rng.randrange(1, 8)
    source = published_concepts() / "sentence_collection"
    names = (f"300_sentences_k={level}.json", f"300_refined_config_k={level}.json")
    files = [json.loads((source / name).read_text(encoding="utf-8")) for name in names]
    whole = {item.id: item for item in load("conceptmix", source / names[0])}
    damaged = rng.sample(range(300), 30)
    for place in damaged:
        records = rng.choice(files)
        records[place] = rng.choice(MUTATIONS)(records[place], rng)
    for name, records in zip(names, files, strict=True):
        (tmp_path / name).write_text(json.dumps(records), encoding="utf-8")
    items = {item.id: item for item in load("conceptmix", tmp_path)}
    assert len(items) == 300
    untouched = {f"k{level}-{place + 1:03}" for place in range(300) if place not in damaged}
    # A damaged index or prompt may be that of another record.
    same = {id_ for id_ in untouched if items.get(id_) == whole[id_]}
    assert len(untouched) - len(same) <= 3
    for item in items.values():
        assert set(item.tags) <= set(ODD_TAGS)
        if "no-prompt" not in item.tags:
            assert decode_item(encode_item(item), "conceptmix") == item
