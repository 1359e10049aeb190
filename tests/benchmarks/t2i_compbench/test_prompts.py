"""Prompts of T2I-CompBench: what is read of them, the lists they come in, and the formulas they become."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.items_file import decode_item, encode_item
from formalimg.benchmarks.loader import load, load_with_skipped
from formalimg.benchmarks.object_spec import to_formula
from formalimg.benchmarks.odd_records import odd_tags
from formalimg.benchmarks.registry import suite
from formalimg.benchmarks.t2i_compbench.composition import (
    COMPOSITION_TASKS,
    CompositionTask,
    CountedObject,
    composition_objects,
    find_classes,
    find_counted_objects,
    find_noun_phrases,
    find_placed_objects,
    read_prompt,
    translated_shares,
)
from formalimg.errors import FormalimgError
from formalimg.language.parser import understand
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene

LISTS = {
    "color": ["a red cup and a blue bottle", "A kitchen with a white stove and a gold kettle."],
    "shape": ["a round plate and a square box"],
    "texture": ["a wooden spoon and a glass bottle"],
    "spatial": ["a cup on the left of a bottle", "a spoon next to a bowl"],
    "numeracy": ["two cups", "a bowl, two cups and three bottles were on the shelf"],
}


def write_lists(folder: Path, lists: dict[str, list[str]] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for task, prompts in (lists or LISTS).items():
        (folder / f"{task}_val.txt").write_text("".join(f"{prompt}\n" for prompt in prompts), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("prompt", "phrases"),
    [
        ("a green lamp and a blue stool", ["a green lamp", "a blue stool"]),
        ("a red apple and yellow pears", ["a red apple", "yellow pears"]),
        ("A hall with white tiles and a beige door.", ["A hall", "white tiles", "a beige door"]),
        ("a black and white goat in a field", ["a black and white goat", "a field"]),
        ("A long, narrow room with two windows", ["A long, narrow room", "two windows"]),
        ("The metal spoon and wooden ladle stir the soup.", ["The metal spoon", "wooden ladle", "the soup"]),
        ("The boots rest on the shelf by the glass wall.", ["The boots", "the shelf", "the glass wall"]),
        ("The mast and the building dominated the bay.", ["The mast", "the building", "the bay"]),
        ("a cubic box of chalk and a lamp stand", ["a cubic box", "chalk", "a lamp stand"]),
        ("two bikes are parked near a silver van", ["two bikes", "a silver van"]),
        ("The clock with a red roof reads 11:44.", ["The clock", "a red roof"]),
        ("a white goat and a white goat", ["a white goat", "a white goat"]),
        ("", []),
        ("of and with, the", []),
    ],
)  # fmt: skip
def test_noun_phrases_by_our_own_reader(prompt: str, phrases: list[str]) -> None:
    assert list(find_noun_phrases(prompt)) == phrases


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    for task in COMPOSITION_TASKS:
        spec = read_prompt(task, text)
        ids = [question.id for question in spec.questions]
        assert len(set(ids)) == len(ids)
        if task in ("spatial", "numeracy") and spec.questions:
            assert sum(question.weight for question in spec.questions) == pytest.approx(1)
            assert find_classes(spec)
        composition_objects(spec, text)


@given(
    st.sampled_from(["cup", "girl", "mouse", "school bus", "television"]),
    st.sampled_from(["near", "next to", "on side of", "on the left of", "on the top of", "on top of"]),
    st.sampled_from(["bowl", "man", "airplane"]),
)
def test_two_objects_and_their_places_are_read_back_from_the_questions(first: str, phrase: str, second: str) -> None:
    placed = find_placed_objects(read_prompt("spatial", f"a {first} {phrase} a {second}"))
    assert placed is not None
    assert tuple(placed) == (first, phrase, second)


def test_numbers_are_read_before_known_objects_only() -> None:
    spec = read_prompt("numeracy", "Three mice, an egg and seven sheep shared a picnic on four hills")
    assert find_counted_objects(spec) == (CountedObject("mouse", 3), CountedObject("egg", 1), CountedObject("sheep", 7))
    assert [question.question for question in spec.questions][:2] == ["mouse?", "How many mice?"]
    assert find_classes(read_prompt("numeracy", "two men, one girl and three ships")) == ("person", "boat")


def test_the_lists_become_items_and_back(tmp_path: Path) -> None:
    items = load("t2i-compbench", write_lists(tmp_path / "lists"))
    assert {item.id for item in items} == {f"{task}-{n:04}" for task, those in LISTS.items() for n in range(len(those))}
    assert all(item.level == COMPOSITION_TASKS.index(item.tags[0]) + 1 for item in items)
    assert not any(odd_tags(item.tags) for item in items)
    assert [decode_item(encode_item(item), "t2i-compbench") for item in items] == items
    suite("t2i-compbench").write_published(items, tmp_path / "again")
    assert load("t2i-compbench", tmp_path / "again") == items
    with pytest.raises(FormalimgError, match="not empty"):
        suite("t2i-compbench").write_published(items, tmp_path / "again")
    (tmp_path / "lists" / "color_val.txt").rename(tmp_path / "color_train.txt")
    assert [item.level for item in load("t2i-compbench", tmp_path / "color_train.txt")] == [1, 1]


def test_odd_lines_are_tagged_and_stay(tmp_path: Path) -> None:
    lines = [
        "a cup near a dog",
        "",
        "a cup near a dog",
        "a lonely cup",
        "a cup near a pig\tmore",
        "a \x07 cup near a cow",
    ]
    loaded = load_with_skipped("t2i-compbench", write_lists(tmp_path, {"spatial": lines}))
    items, skipped = loaded.items, loaded.skipped
    assert [(item.id, odd_tags(item.tags)) for item in items] == [
        ("spatial-0000", ()),
        ("spatial-0002", ("duplicate-prompt",)),
        ("spatial-0003", ("no-questions",)),
        ("spatial-0004", ("extra-fields",)),
        ("spatial-0005", ("broken-text",)),
    ]
    assert not skipped
    assert [decode_item(encode_item(item), "t2i-compbench") for item in items] == items
    (tmp_path / "numeracy.txt").write_bytes(b"two cups\r\n\xff\xfe three dogs\n")
    assert [odd_tags(one.tags) for one in load("t2i-compbench", tmp_path / "numeracy.txt")] == [(), ("broken-text",)]


@pytest.mark.parametrize("name", ["complex_val.txt", "3d_spatial_val.txt", "non_spatial_val.txt", "prompts.txt"])
def test_other_lists_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a cup\n")
    for place in (tmp_path, tmp_path / name):
        with pytest.raises(FormalimgError, match=r"none of the lists color_val\.txt, shape_val\.txt"):
            load("t2i-compbench", place)


TRANSLATED: list[tuple[CompositionTask, str]] = [
    ("color", "a red cup and a blue bottle"),
    ("color", "a wallet and a white cup"),
    ("spatial", "a cup on the left of a bottle"),
    ("spatial", "a bottle on the right of a cup"),
    ("numeracy", "two cups"),
    ("numeracy", "three cups and one bottle"),
]


@pytest.mark.parametrize(("task", "prompt"), TRANSLATED)
def test_formulas_say_the_same_as_those_of_the_reader_of_plain_english(task: CompositionTask, prompt: str) -> None:
    asked = composition_objects(read_prompt(task, prompt), prompt)
    assert asked is not None
    ours, other = to_formula(asked), understand(prompt, "knolling").formula
    rng = random.Random(prompt)
    truths = set()
    for _ in range(600):
        objects = []
        for _ in range(rng.randint(1, 5)):
            x, y = rng.randint(0, 800), rng.randint(0, 800)
            label = rng.choice(["cup", "cup", "bottle", "wallet"])
            objects.append(SceneObject(label, Box(x, y, x + 100, y + 100), rng.choice(["red", "blue", "white"])))
        scene = Scene.of(objects)
        found = verify(ours, scene).passed
        assert found == verify(other, scene).passed, (str(ours), str(other), scene)
        truths.add(found)
    assert truths == {True, False}


@pytest.mark.parametrize(
    ("task", "prompt"),
    [
        ("color", "A kitchen with a white stove and a gold kettle."),
        ("color", "a gold clock and a red cup"),
        ("color", "a red vintage racing car and a blue cup"),
        ("color", "a cup and a bottle"),
        ("shape", "a round plate and a square box"),
        ("shape", "a jagged stone and a red cup"),
        ("texture", "a wooden spoon and a glass bottle"),
        ("spatial", "a spoon next to a bowl"),
    ],
)
def test_what_boxes_and_colours_do_not_decide_has_no_formula(task: CompositionTask, prompt: str) -> None:
    assert composition_objects(read_prompt(task, prompt), prompt) is None


def test_the_share_of_translated_prompts(tmp_path: Path) -> None:
    shares = translated_shares(load("t2i-compbench", write_lists(tmp_path)))
    assert [(one.task, one.translated, one.items) for one in shares] == [
        ("color", 1, 2),
        ("shape", 0, 1),
        ("texture", 0, 1),
        ("spatial", 1, 2),
        ("numeracy", 2, 2),
    ]
