"""The published rules of T2I-CompBench, against a second implementation and case by case."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pytest

from formalimg.benchmarks.t2i_compbench.rule import official_verdict, position_score
from formalimg.errors import FormalimgError
from tests.support.compbench_oracle import Found, expect_numeracy, expect_spatial
from tests.support.sizes import tries

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


def test_boxes_that_cover_each_other_are_one_thing() -> None:
    assert score_of("numeracy", "one cup", cup=[box(0, 0, 100), box(2, 2, 96), box(30, 30, 20)]) == 1
    assert score_of("numeracy", "two cups", cup=[box(0, 0, 100), box(60, 0, 100)]) == 1


def test_distances_are_those_of_an_image_of_480_pixels() -> None:
    asked = {"task": "spatial", "prompt": "a cup near a dog"}
    apart = {"cup": [box(0, 0)], "dog": [box(200, 0)]}
    small, large = (official_verdict(asked, detections=apart, size=size).score for size in ((480, 479), (960, 958)))
    assert small < large == pytest.approx(0.9)


@pytest.mark.parametrize(("relation", "other"), [("left of", "right of"), ("above", "below")])
def test_opposite_relations_are_each_others_mirror_image(relation: Any, other: Any) -> None:
    rng = random.Random(33)
    for _ in range(500):
        first, second = ([x := rng.randint(0, 300), y := rng.randint(0, 300), x + 50, y + 80] for _ in range(2))
        assert position_score(relation, first, second, as_code=False) == position_score(
            other, second, first, as_code=False
        )
        assert 0 <= position_score(relation, first, second, as_code=True) <= 1


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
