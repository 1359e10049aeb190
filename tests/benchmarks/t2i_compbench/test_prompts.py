"""Prompts of T2I-CompBench: what is read of them, the lists they come in, and the formulas they become."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

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
    read_prompt,
    translated_shares,
)
from formalimg.benchmarks.t2i_compbench.rule import official_verdict
from formalimg.errors import FormalimgError
from formalimg.language.parser import understand
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.compbench_oracle import Found, expect_numeracy, expect_spatial
from tests.support.sizes import tries

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


PHRASES = (
    "on side of",
    "next to",
    "near",
    "on the left of",
    "on the right of",
    "on the bottom of",
    "on the top of",
    "on top of",
)
WORDS = ("cup", "girl", "man", "car", "television", "goldfish", "pen")
LABELS = ("cup", "person", "car", "tv", "television", "fish", "goldfish", "pen", "carrot", "pencil case")
NUMBERS = ("one", "two", "three", "four")
PLURALS = {"girl": "girls", "man": "men", "goldfish": "goldfish"}
SIZES = ((512, 512), (1024, 1024), (640, 480), (300, 900))


def by_class(found: list[Found]) -> dict[str, list[dict[str, Any]]]:
    return {
        label: [{"box": box, "score": score} for name, box, score in found if name == label]
        for label in dict.fromkeys(label for label, _, _ in found)
    }


def random_boxes(rng: random.Random, size: tuple[int, int]) -> list[Found]:
    """Boxes of few classes, many of them on a coarse grid, some inside others, some less sure than the threshold."""
    grid = rng.choice([1, 25])
    found: list[Found] = []
    for _ in range(rng.choice([0, 1, 2, 3, 6, 9])):
        left, top = (rng.randint(0, side // grid) * grid for side in size)
        box = [float(left), float(top), float(left + rng.randint(1, 200)), float(top + rng.randint(1, 200))]
        found.append((rng.choice(LABELS), box, rng.choice([0.5, rng.uniform(0.3, 1), rng.uniform(0.5, 1), 1.0])))
        if rng.random() < 0.3:
            shrunk = [box[0] + 1, box[1] + 1, box[2] - rng.choice([0, 1, 20]), box[3]]
            found.append((found[-1][0], [*shrunk[:2], max(shrunk[2], shrunk[0]), max(shrunk[3], shrunk[1])], 0.8))
    # Of equal scores the first counts, and only the order within a class survives in a mapping by class.
    return [(label, box, score - n * 1e-9) for n, (label, box, score) in enumerate(found)]


@pytest.mark.parametrize("code", [False, True], ids=["official", "official-code"])
def test_spatial_scores_are_those_of_a_second_implementation(code: bool) -> None:
    rng = random.Random(31)
    seen: Counter[str] = Counter()
    for _ in range(tries(800, 20_000)):
        size = rng.choice(SIZES)
        first, phrase, second = rng.choice(WORDS), rng.choice(PHRASES), rng.choice(WORDS)
        found = random_boxes(rng, size)
        for word in (first, second):  # often both are there
            if rng.random() < 0.8:
                label = "person" if word in ("girl", "man") else word
                left, top = (rng.randint(0, side) for side in size)
                box = [float(left), float(top), float(left + rng.randint(1, 300)), float(top + rng.randint(1, 300))]
                found.append((label, box, rng.uniform(0.51, 0.999)))
        asked = {"task": "spatial", "prompt": f"a {first} {phrase} a {second}"}
        verdict = official_verdict(asked, detections=by_class(found), size=size, as_code=code)
        wanted = expect_spatial(first, phrase, second, found, size, code=code)
        assert verdict.score == pytest.approx(wanted, abs=1e-9), (asked, found, size)
        seen["0" if wanted == 0 else "some" if not verdict.passed else "passed"] += 1
    assert min(seen.values()) > 20, seen
    assert len(seen) == 3


@pytest.mark.parametrize("code", [False, True], ids=["official", "official-code"])
def test_numeracy_scores_are_those_of_a_second_implementation(code: bool) -> None:
    rng = random.Random(32)
    seen: Counter[str] = Counter()
    for _ in range(tries(800, 20_000)):
        size = rng.choice(SIZES)
        asked = [(word, rng.randint(1, 4)) for word in rng.sample(WORDS, rng.randint(1, 4))]
        said = [f"{NUMBERS[n - 1]} {word if n == 1 else PLURALS.get(word, f'{word}s')}" for word, n in asked]
        found = random_boxes(rng, size)
        prompt = {"task": "numeracy", "prompt": " and ".join(said)}
        verdict = official_verdict(prompt, detections=by_class(found), size=size, as_code=code)
        wanted = expect_numeracy(asked, found, size, code=code)
        assert verdict.score == pytest.approx(wanted, abs=1e-9), (prompt, found, size)
        assert verdict.passed == math.isclose(wanted, 1)
        seen["0" if wanted == 0 else "some" if wanted < 1 else "1"] += 1
    assert min(seen["0"], seen["some"], seen["1"]) > 10, seen


def test_attributes_are_a_product_and_the_code_has_four_decimals() -> None:
    asked = {"task": "color", "prompt": "a green bench and a blue bowl"}
    found = official_verdict(asked, probabilities=[0.9, 0.123456])
    assert found.score == pytest.approx(0.9 * 0.123456)
    assert not found.passed
    assert found.reasons == ("a blue bowl wanted, P(yes) is 0.12",)
    assert official_verdict(asked, probabilities=[0.9, 0.123456], as_code=True).score == 0.1111
    assert official_verdict(asked, probabilities=[0.9, 0.51]).passed


def box(x: float, y: float, side: float = 40, score: float = 0.8) -> dict[str, Any]:
    return {"box": [x, y, x + side, y + side], "score": score}


def score_of(task: str, prompt: str, *, as_code: Any = False, **boxes: Any) -> float:
    asked = {"task": task, "prompt": prompt}
    return official_verdict(asked, detections=boxes, size=(480, 479), as_code=as_code).score


def test_the_code_calls_near_what_is_far_apart_on_one_axis_only() -> None:
    row = {"cup": [box(0, 0)], "dog": [box(400, 0)]}
    assert score_of("spatial", "a cup next to a dog", **row) == pytest.approx(0.4 + 150 / 400 / 2)
    assert score_of("spatial", "a cup next to a dog", as_code=True, **row) == pytest.approx(0.9)
    corners = {"cup": [box(0, 0)], "dog": [box(400, 300)]}
    same = [score_of("spatial", "a cup near a dog", as_code=code, **corners) for code in (False, True)]
    assert same[0] == same[1]


def test_the_code_never_scores_on_top_of() -> None:
    column = {"cup": [box(0, 0)], "dog": [box(0, 200)]}
    for phrase, code, wanted in (
        ("on the top of", False, 0.9),
        ("on the top of", True, 0.9),
        ("on top of", False, 0.9),
        ("on top of", True, 0),
    ):
        assert score_of("spatial", f"a cup {phrase} a dog", as_code=code, **column) == pytest.approx(wanted)


def test_the_code_takes_one_box_for_two_persons() -> None:
    one, two = {"person": [box(0, 0)]}, {"person": [box(0, 0), box(200, 0, score=0.7)]}
    assert score_of("spatial", "a girl near a man", **one) == 0, "one of two is not enough"
    assert score_of("spatial", "a girl near a man", as_code=True, **one) == pytest.approx(0.9)
    assert score_of("spatial", "a girl on the left of a man", **two) == pytest.approx(0.25 * 1.5 + 0.5)
    assert score_of("spatial", "a girl on the right of a man", **two) == pytest.approx(0.25 * 1.5 + 0.5)
    assert score_of("spatial", "a girl on the left of a man", as_code=True, **two) == 0


def test_the_code_finds_no_televisions_and_takes_carrots_for_cars() -> None:
    assert score_of("numeracy", "one television", tv=[box(0, 0)]) == 1
    assert score_of("numeracy", "one television", as_code=True, tv=[box(0, 0)]) == 0
    assert score_of("numeracy", "two cars", carrot=[box(0, 0), box(200, 0)]) == 0
    assert score_of("numeracy", "two cars", as_code=True, carrot=[box(0, 0), box(200, 0)]) == 1


def test_a_score_below_a_half_is_none() -> None:
    assert score_of("spatial", "a cup near a dog", cup=[box(0, 0, score=1.0)]) == 0
    assert score_of("spatial", "a cup on the left of a dog", cup=[box(200, 0)], dog=[box(0, 0)]) == 0


@pytest.mark.parametrize(
    ("metadata", "seen", "problem"),
    [
        ({"task": "depth", "prompt": "a cup"}, {}, "task must be one of color"),
        ({"task": "spatial", "prompt": "a cup"}, {}, "asks for nothing that spatial knows"),
        ({"task": "numeracy", "prompt": "many things"}, {}, "asks for nothing that numeracy knows"),
        ({"task": "color", "prompt": "a red cup"}, {"probabilities": [0.5, 0.5]}, "for each of: a red cup"),
        ({"task": "color", "prompt": "a red cup"}, {"probabilities": [1.5]}, "for each of: a red cup"),
        ({"task": "numeracy", "prompt": "two cups"}, {"detections": {"cup": [{"box": [1]}]}}, "four numbers"),
        ({"task": "numeracy", "prompt": "two cups"}, {"detections": {"cup": [{"box": [0, 0, 1, math.nan]}]}}, "four"),
    ],
)
def test_what_is_malformed_is_an_error_in_one_line(metadata: Any, seen: Any, problem: str) -> None:
    with pytest.raises(FormalimgError, match=problem):
        official_verdict(metadata, **seen)
