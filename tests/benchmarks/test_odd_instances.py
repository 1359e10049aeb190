"""Odd published instances of FormalImg: loaded, tagged with what is odd, and stored without loss."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools.docs_reference import DATA, DOCS, site_version

from formalimg.benchmarks.formal.published import write_published
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load, load_with_skipped
from formalimg.benchmarks.odd_records import ODD_TAGS
from formalimg.benchmarks.record import ItemsError
from formalimg.types import Item
from tests.support.published import FOLDER, published_instances
from tests.support.sizes import tries

DSL = "(exists ?x (and (Is ?x 'cup') (HasColor ?x 'red')))"
PAIR = "(exists ?x (exists ?y (and (Is ?x 'cup') (Is ?y 'table') ({} ?x ?y))))"
INSTANCE: dict[str, Any] = {"prompt": "A red cup.", "dsl": DSL, "cnf": DSL, "k": 1, "object_classes": ["cup"]}
TWO = INSTANCE | {"k": 2, "object_classes": ["table", "cup"]}


def loaded(instance: dict[str, Any] | bytes, folder: Path) -> Item[Any]:
    """The item of an instance, after a round trip through items.jsonl."""
    path = folder / "natural" / "7.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(instance if isinstance(instance, bytes) else json.dumps(instance).encode())
    (item,) = load("natural", folder)
    write_items([item], folder / "again")
    assert load("natural", folder / "again") == [item]
    return item


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in INSTANCE.items() if key != name}


ODD: dict[str, tuple[dict[str, Any] | bytes, tuple[str, ...], int]] = {
    "sound": (INSTANCE, (), 1),
    "a predicate of Knolling": (TWO | {"dsl": PAIR.format("Above")}, ("unknown-predicate",), 2),
    "a predicate nobody knows": (TWO | {"dsl": PAIR.format("Behind")}, ("unknown-predicate",), 2),
    "too few arguments": (INSTANCE | {"dsl": DSL.replace(" 'red'", "")}, ("wrong-arity",), 1),
    "an unknown word": (INSTANCE | {"dsl": DSL.replace("red", "mauve")}, ("outside-vocabulary",), 1),
    "k of another formula": (INSTANCE | {"k": 4}, ("k-differs",), 4),
    "k is text": (INSTANCE | {"k": "1"}, ("k-malformed",), 1),
    "k is text and differs": (INSTANCE | {"k": "3"}, ("k-differs", "k-malformed"), 3),
    "k is true": (INSTANCE | {"k": True}, ("k-malformed",), 1),
    "k is huge": (INSTANCE | {"k": 10**40}, ("k-malformed",), 1),
    "k has a point": (INSTANCE | {"k": 1.0}, ("k-malformed",), 1),
    "no k": (without("k"), ("k-malformed",), 1),
    "other classes": (INSTANCE | {"object_classes": ["fork", "cup"]}, ("classes-differ",), 1),
    "classes twice": (INSTANCE | {"object_classes": ["cup", "cup"]}, (), 1),
    "classes are text": (INSTANCE | {"object_classes": "cup"}, ("classes-malformed",), 1),
    "no classes": (INSTANCE | {"object_classes": []}, ("classes-malformed",), 1),
    "classes missing": (without("object_classes"), ("classes-malformed",), 1),
    "no cnf": (without("cnf"), ("no-cnf",), 1),
    "extra fields": (INSTANCE | {"difficulty": 3}, ("extra-fields",), 1),
    "no prompt": (without("prompt"), ("no-prompt",), 1),
    "blank prompt": (INSTANCE | {"prompt": " \n"}, ("no-prompt",), 1),
    "prompt is a number": (INSTANCE | {"prompt": 5}, ("no-prompt",), 1),
    "half a character": (INSTANCE | {"prompt": "A \ud800 cup."}, ("broken-text",), 1),
    "unclosed formula": (INSTANCE | {"dsl": DSL[:-1]}, ("unreadable-formula",), 1),
    "unbound variable": (INSTANCE | {"dsl": "(Is ?x 'cup')"}, ("unreadable-formula",), 1),
    "formula is a list": (INSTANCE | {"dsl": ["and"]}, ("unreadable-formula",), 1),
    "formula is a deep list": (
        json.dumps(INSTANCE | {"dsl": "DEEP"}).replace('"DEEP"', "[" * 900 + "]" * 900).encode(),
        ("unreadable-formula",),
        1,
    ),
    "no formula": (without("dsl"), ("unreadable-formula",), 1),
    "no formula and no k": (
        {"prompt": "A cup."},
        ("unreadable-formula", "k-malformed", "classes-malformed", "no-cnf"),
        0,
    ),
    "nothing": ({}, ("no-prompt", "unreadable-formula", "k-malformed", "classes-malformed", "no-cnf"), 0),
    "a field twice": (json.dumps(INSTANCE).replace("{", '{"k": 9, ', 1).encode(), ("repeated-field",), 1),
    "not UTF-8": (json.dumps(INSTANCE).encode().replace(b"A red", b"\xff red"), ("broken-text",), 1),
    "a byte order mark": (b"\xef\xbb\xbf" + json.dumps(INSTANCE).encode(), (), 1),
    "NaN": (json.dumps(INSTANCE | {"k": float("nan")}).encode(), ("k-malformed",), 1),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_instance_is_loaded_and_tagged(name: str, tmp_path: Path) -> None:
    instance, tags, level = ODD[name]
    item = loaded(instance, tmp_path)
    assert (item.tags, item.level) == (tags, level)


def test_the_published_classes_are_looked_for_in_their_order(tmp_path: Path) -> None:
    assert loaded(INSTANCE | {"object_classes": ["fork", "cup"]}, tmp_path).spec.object_classes == ("fork", "cup")
    assert loaded(TWO | {"dsl": PAIR.format("On")}, tmp_path).spec.object_classes == ("cup", "table")  # they agree
    assert loaded(INSTANCE | {"object_classes": None}, tmp_path).spec.object_classes == ("cup",)


def test_a_text_that_is_no_formula_is_kept_with_the_reason(tmp_path: Path) -> None:
    spec = loaded(INSTANCE | {"dsl": "(Is ?x 'cup')"}, tmp_path).spec
    assert spec.text == "(Is ?x 'cup')"
    assert "?x is not bound" in spec.unreadable_because
    assert loaded(without("dsl"), tmp_path).spec.unreadable_because.startswith("the published dsl is no formula")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a predicate nobody knows", "natural has no predicate Behind"),
        ("too few arguments", "HasColor is written"),
        ("k of another formula", "the level is 4, but dsl has K = 1"),
        ("other classes", "give the tag classes-differ"),
        ("no prompt", "prompt must be text and not empty"),
        ("unbound variable", "not bound"),
    ],
)
def test_our_own_items_stay_strict(name: str, says: str, tmp_path: Path) -> None:
    """Without the tag that tells of it, the same item is refused in items.jsonl."""
    loaded(ODD[name][0], tmp_path)
    path = tmp_path / "again" / "items.jsonl"
    fields = json.loads(path.read_text(encoding="utf-8"))
    del fields["tags"]
    path.write_text(json.dumps(fields) + "\n")
    with pytest.raises(ItemsError, match=says):
        load("natural", path)


def test_a_formula_may_not_pose_as_unreadable(tmp_path: Path) -> None:
    loaded(INSTANCE, tmp_path)
    path = tmp_path / "again" / "items.jsonl"
    fields = json.loads(path.read_text(encoding="utf-8")) | {"tags": ["unreadable-formula"]}
    path.write_text(json.dumps(fields) + "\n")
    with pytest.raises(ItemsError, match="dsl is a formula"):
        load("natural", path)


def test_odd_items_are_written_as_published_where_they_have_a_formula(tmp_path: Path) -> None:
    item = loaded(INSTANCE | {"k": 4, "object_classes": ["fork", "cup"]}, tmp_path)
    write_published([item], tmp_path / "out")
    assert load("natural", tmp_path / "out") == [item]
    with pytest.raises(ItemsError, match="leave the item out"):
        write_published([loaded(INSTANCE | {"dsl": "(and"}, tmp_path)], tmp_path / "other")


def test_the_published_instances_with_above_are_loaded() -> None:
    published_instances()
    items = {item.id: item for item in load("natural", FOLDER)}
    assert len(items) == 32
    assert {name for name, item in items.items() if item.tags} == {"1244", "1578"}
    assert items["1244"].tags == items["1578"].tags == ("unknown-predicate",)


# --- seeded changes to the published files

VALUES: list[Any] = [None, True, 0, -3, 2.5, "", " ", "x", "3", "\ud800", [], [""], ["a", 1], {}, "9" * 200, 10**30]


def _change_value(fields: dict[str, Any], rng: random.Random) -> object:
    fields[rng.choice(list(fields))] = copy.deepcopy(rng.choice(VALUES))
    return fields


def _drop_field(fields: dict[str, Any], rng: random.Random) -> object:
    del fields[rng.choice(list(fields))]
    return fields


def _cut_text(fields: dict[str, Any], rng: random.Random) -> object:
    name = rng.choice(["prompt", "dsl", "cnf"])
    start = rng.randrange(len(fields[name]))
    fields[name] = fields[name][:start] + rng.choice(["", "(", ")", "'", "?", "\0"]) + fields[name][start + 1 :]
    return fields


def _rename_predicate(fields: dict[str, Any], rng: random.Random) -> object:
    old = rng.choice(["Is", "And", "exists", "forall", "LeftOf", "HasColor", "OnLeftSide", "implies"])
    fields["dsl"] = fields["dsl"].replace(f"({old} ", f"({rng.choice(['Behind', 'Count', 'not', 'iff', 'Above'])} ")
    return fields


def _change_k(fields: dict[str, Any], rng: random.Random) -> object:
    fields["k"] = rng.choice([fields["k"] + 1, str(fields["k"]), float(fields["k"]), -1, 0, 99])
    return fields


def _no_object(fields: dict[str, Any], rng: random.Random) -> object:
    return rng.choice([[fields], None, 7, "text"])


CHANGES: list[Callable[[dict[str, Any], random.Random], object]] = [
    _change_value,
    _drop_field,
    _cut_text,
    _rename_predicate,
    _change_k,
    _no_object,
]


def test_no_change_to_a_single_published_file_keeps_the_others_from_being_read(tmp_path: Path) -> None:
    """300 seeded changes: all 62 items stay but files that are no object, and all survive the round trip."""
    texts = {(one.suite, one.id): json.dumps(one.data) for one in published_instances()}
    assert len(texts) == 62
    for (suite, name), text in texts.items():
        (tmp_path / suite).mkdir(exist_ok=True)
        (tmp_path / suite / f"{name}.json").write_text(text)
    rng = random.Random(17)
    expected = {suite: sum(one == suite for one, _ in texts) for suite in ("natural", "knolling")}
    for number in range(tries(15, 300)):
        suite, name = rng.choice(list(texts))
        path = tmp_path / suite / f"{name}.json"
        changed = CHANGES[number % len(CHANGES)](json.loads(texts[suite, name]), rng)
        path.write_text(json.dumps(changed))
        loaded = load_with_skipped(suite, tmp_path)
        items, skipped = loaded.items, loaded.skipped
        is_instance = isinstance(changed, dict)
        assert len(items) == expected[suite] - (not is_instance)
        assert [each.where for each in skipped] == ([] if is_instance else [str(path)])
        write_items(items, tmp_path / "again")
        assert load(suite, tmp_path / "again") == items
        path.write_text(texts[suite, name])


def test_the_docs_explain_every_tag() -> None:
    page = site_version(DATA, (DOCS / DATA).read_text(encoding="utf-8"))
    assert all(f"| `{tag}` | {meaning} |" in page for tag, meaning in ODD_TAGS.items())
