"""GenEval's published lines as items: tagged where they are odd, stored and written back as they are, translated."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formalimg import load
from formalimg.benchmarks.download.contents import digest
from formalimg.benchmarks.download.pull import pull
from formalimg.benchmarks.download.source import source
from formalimg.benchmarks.geneval.form import TAGS, parse_metadata
from formalimg.benchmarks.geneval.rule import official_verdict, relations_between
from formalimg.benchmarks.items_file import decode_item, encode_item, write_items
from formalimg.benchmarks.loader import load_with_skipped
from formalimg.benchmarks.object_spec import OBJECT_COLORS, RELATIONS, to_formula, translate
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from tests.support.command import formalimg
from tests.support.geneval_oracle import expect, expect_strict, stands
from tests.support.sizes import tries

ROOT = Path(__file__).parents[3]
OURS = ROOT / "examples" / "geneval" / "evaluation_metadata.jsonl"
PUBLISHED = ROOT.parent / "shared" / "official" / "geneval" / "evaluation_metadata.jsonl"
CUP = {"class": "cup", "count": 1}


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "evaluation_metadata.jsonl"
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return path


def test_lines_become_items_in_their_order_with_the_task_as_level_and_tag() -> None:
    items = load("geneval", OURS)
    assert [item.id for item in items] == [str(number) for number in range(len(items))]
    assert Counter(item.level for item in items) == dict.fromkeys(range(1, 7), 2)
    assert all(item.tags == (TAGS[item.level - 1],) for item in items)
    assert load("geneval", OURS.parent) == items, "the folder that holds the file"


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published file does not lie beside the checkout")
def test_all_published_lines_load_without_tags_and_translate(tmp_path: Path) -> None:
    items = load("geneval", PUBLISHED)
    assert Counter(item.level for item in items) == dict(enumerate([80, 99, 80, 94, 100, 100], start=1))
    assert all(len(item.tags) == 1 for item in items)
    for item in items:
        assert decode_item(encode_item(item), "geneval") == item
        assert translate(item.spec)
        assert to_formula(item.spec)
    suite("geneval").write_published(items, tmp_path / "again")
    again, lines = (tmp_path / "again" / PUBLISHED.name).read_text(), PUBLISHED.read_text()
    assert [json.loads(line) for line in again.splitlines()] == [json.loads(line) for line in lines.splitlines()]
    pinned = source("geneval")
    assert digest({pinned.data[0]: PUBLISHED.read_bytes()}) == pinned.digest


def test_what_was_pulled_is_loaded_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "repository" / "prompts").mkdir(parents=True)
    (tmp_path / "repository" / "prompts" / OURS.name).write_bytes(OURS.read_bytes())
    with pytest.raises(FormalimgError, match="not the data files of geneval"):
        pull("geneval", tmp_path / "data", tmp_path / "repository")
    pull(replace(source("geneval"), digest=""), tmp_path / "data", tmp_path / "repository")
    assert load("geneval", tmp_path / "data") == load("geneval", OURS)


def test_odd_lines_are_tagged_and_only_those_without_anything_skipped(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"tag": "colors", "include": [{**CUP, "color": "teal"}], "prompt": "a teal cup", "note": 1},
        {"tag": "shapes", "include": [CUP], "prompt": "a round cup"},
        {"tag": "position", "include": [{**CUP, "position": ["above", 4]}], "prompt": "a cup above"},
        {"tag": "single_object", "include": [CUP]},
        {"tag": "single_object", "include": [CUP], "prompt": "a round cup"},
        "no json\n",
        "[1]\n",
        {"tag": "colors"},
    )
    loaded = load_with_skipped("geneval", path)
    assert {item.id: (item.level, item.tags[-1]) for item in loaded.items} == {
        "0": (4, "outside-vocabulary"),
        "1": (7, "unknown-task"),
        "2": (5, "unreadable-objects"),
        "3": (1, "no-prompt"),
        "4": (1, "duplicate-prompt"),
    }
    assert "extra-fields" in loaded.items[0].tags
    assert [one.where[-6:] for one in loaded.skipped] == ["line 6", "line 7", "line 8"]
    write_items(loaded.items, tmp_path / "items")
    assert load("geneval", tmp_path / "items") == loaded.items


def test_without_a_path_the_message_says_how_to_get_the_items() -> None:
    with pytest.raises(FormalimgError, match="formalimg pull geneval"):
        load("geneval")


def test_a_folder_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=r"evaluation_metadata\.jsonl"):
        load("geneval", tmp_path)


@pytest.mark.parametrize(
    ("metadata", "texts"),
    [
        ({"include": [CUP]}, ["(exists ?x (Is ?x 'cup'))"]),
        ({"include": [{"class": "cup", "count": 2}]}, ["(at-least 2 ?x (Is ?x 'cup'))"]),
        (
            {"include": [{"class": "cup", "count": 2}], "exclude": [{"class": "cup", "count": 3}]},
            ["(exactly 2 ?x (Is ?x 'cup'))"],
        ),
        (
            {"include": [{**CUP, "color": "red"}], "exclude": [{"class": "hot dog", "count": 1}]},
            ["(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))", "(at-most 0 ?x (Is ?x 'hot dog'))"],
        ),
        (
            {"include": [CUP, {"class": "dog", "count": 1, "position": ["left of", 0]}]},
            ["(exists ?x (and (Is ?x 'dog') (exists ?x0 (and (Is ?x0 'cup') (LeftOf ?x ?x0)))))"],
        ),
    ],
)
def test_translated_clauses(metadata: dict[str, Any], texts: list[str]) -> None:
    spec = parse_metadata(metadata)
    assert [clause.text for clause in translate(spec)] == texts
    assert all(str(clause.formula) == clause.text for clause in translate(spec))


def test_an_item_is_shown_with_its_objects_and_formulas() -> None:
    done = formalimg("items", "show", "geneval/8", "--items", str(OURS))
    assert done.code == 0, done.err
    assert "geneval/8, position" in done.out
    assert "1 knife, right of bowl" in done.out
    assert "(RightOf ?x ?x0)" in done.out
    assert "fewer than 4 carrot" in formalimg("items", "show", "geneval/4", "--items", str(OURS)).out


def box(x: float, y: float = 100, *, score: float = 0.95, color: str = "red", side: float = 40) -> dict[str, Any]:
    return {"box": [x, y, x + side, y + side], "score": score, "color": color}


def asked(*include: dict[str, Any], tag: str = "two_object", **more: Any) -> dict[str, Any]:
    return {"tag": tag, "include": list(include), "prompt": "a photo", **more}


def random_case(rng: random.Random) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Metadata in every mixture of the fields, with detections that often fit it."""
    classes = rng.sample(["cup", "dog", "car", "bench"], 3)
    include: list[dict[str, Any]] = []
    for place in range(rng.randint(1, 3)):
        entry: dict[str, Any] = {"class": rng.choice(classes), "count": rng.choice([1, 1, 1, 2, 3])}
        if rng.random() < 0.35:
            entry["color"] = rng.choice(OBJECT_COLORS[:2])
        if place and rng.random() < 0.6:
            entry["position"] = [rng.choice(RELATIONS), rng.randrange(place)]
        include.append(entry)
    metadata = asked(*include, tag=rng.choice(TAGS))
    if rng.random() < 0.3:
        metadata["exclude"] = [{"class": rng.choice(classes), "count": rng.randint(1, 4)}]
    grid = rng.choice([1, 20])  # coarse places give equal and aligned boxes
    detections = {
        name: [
            {
                "box": [
                    left := rng.randint(0, 400 // grid) * grid,
                    top := rng.randint(0, 400 // grid) * grid,
                    left + rng.randint(1, 100),
                    top + rng.randint(1, 100),
                ],
                "score": rng.choice([rng.random(), 0.3, 0.9, rng.uniform(0.9, 1)]),
                "color": rng.choice(OBJECT_COLORS[:2]) if rng.random() < 0.2 else OBJECT_COLORS[0],
            }
            for _ in range(rng.choice([0, 1, 1, 2, 3, 20]))
        ]
        for name in classes
        if rng.random() < 0.95
    }
    return metadata, detections


def test_verdicts_and_numbers_of_reasons_are_those_of_a_second_implementation() -> None:
    rng = random.Random(21)
    seen: Counter[object] = Counter()
    for _ in range(tries(700, 20_000)):
        metadata, detections = random_case(rng)
        found = official_verdict(metadata, detections)
        assert (found.passed, len(found.reasons)) == expect(metadata, detections), (metadata, detections)
        assert found.passed == all(check.passed for check in found.checks) == (found.score == 1)
        seen[found.passed, min(len(found.reasons), 2)] += 1
    assert min(seen[True, 0], seen[False, 1], seen[False, 2]) > 100, "cases of each kind are tried"


def test_strict_verdicts_and_scores_are_those_of_a_second_implementation() -> None:
    rng = random.Random(22)
    passed = 0
    for _ in range(tries(700, 20_000)):
        metadata, detections = random_case(rng)
        found = official_verdict(metadata, detections, strict=True)
        verdict, score = expect_strict(metadata, detections)
        assert found.passed == verdict, (metadata, detections)
        assert found.score == pytest.approx(score, abs=1e-12)
        assert found.passed == (not found.reasons)
        passed += found.passed
    assert passed > 20


def test_relations_are_those_of_a_second_implementation() -> None:
    rng = random.Random(23)
    seen: Counter[int] = Counter()
    for _ in range(tries(700, 20_000)):
        boxes = [[rng.uniform(0, 200) for _ in range(4)] for _ in range(2)]
        found = relations_between(*boxes)
        assert set(found) == {one for one in RELATIONS if stands(one, *boxes)}
        seen[len(found)] += 1
    assert all(seen[number] for number in (0, 1, 2))


def test_confidence_must_exceed_the_threshold_of_the_tag() -> None:
    assert not official_verdict(asked(CUP), {"cup": [box(0, score=0.3)]}).passed
    assert official_verdict(asked(CUP), {"cup": [box(0, score=0.31)]}).passed
    assert not official_verdict(asked(CUP, tag="counting"), {"cup": [box(0, score=0.9)]}).passed
    assert official_verdict(asked(CUP, tag="counting"), {"cup": [box(0, score=0.91)]}).passed
    assert official_verdict(asked(CUP), {"cup": [box(0, score=0.2)]}, threshold=0.1).passed
    assert official_verdict(asked(CUP, tag="counting"), {"cup": [box(0, score=0.5)]}, counting_threshold=0.4).passed


def test_the_colour_is_asked_of_the_most_confident_boxes_only() -> None:
    red = asked({**CUP, "color": "red"})
    cups = [box(0, score=0.8, color="blue"), box(100, score=0.7, color="red")]
    found = official_verdict(red, {"cup": cups})
    assert not found.passed
    assert found.reasons == ("1 red cup wanted, 0 found: 1 blue",)
    assert official_verdict(red, {"cup": [cups[0], {**cups[1], "score": 0.9}]}).passed


def test_too_many_fail_only_where_they_are_excluded_or_the_rule_is_strict() -> None:
    three = {"cup": [box(0), box(100), box(200)]}
    two = {"class": "cup", "count": 2}
    assert official_verdict(asked(two), three).passed
    found = official_verdict(asked(two, tag="counting", exclude=[{"class": "cup", "count": 3}]), three)
    assert found.reasons == ("fewer than 3 cup wanted, 3 found",)
    strict = official_verdict(asked(two), three, strict=True)
    assert strict.reasons == ("exactly 2 cup wanted, 3 found",)
    assert strict.score == 0.5


def test_at_most_sixteen_boxes_of_a_class_count() -> None:
    many = {"cup": [box(20 * place) for place in range(30)]}
    found = official_verdict(asked(CUP, exclude=[{"class": "cup", "count": 17}]), many)
    assert found.passed
    assert official_verdict(asked(CUP), many, strict=True).score == 1 - 15


def test_what_was_not_looked_at_fails_without_a_reason_of_its_own() -> None:
    metadata = asked(CUP, {"class": "dog", "count": 1, "color": "red", "position": ["above", 0]})
    found = official_verdict(metadata, {"cup": [box(0)]})
    assert [(check.kind, check.passed, bool(check.reason)) for check in found.checks] == [
        ("object", True, False),
        ("object", False, True),
        ("attribute", False, False),
        ("relation", False, False),
    ]


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"tag": "colors", "include": []}, "include"),
        (asked({"class": "cup"}), "count"),
        (asked({"class": "cup", "count": True}), "count"),
        (asked({"class": "", "count": 1}), "class"),
        (asked({**CUP, "color": 3}), "color"),
        (asked({**CUP, "position": ["above", 0]}), "position"),
        (asked(CUP, {**CUP, "position": ["beside", 0]}), "position"),
        (asked(CUP, exclude=[{"class": "cup", "count": "2"}]), "exclude"),
        (asked(CUP, exclude=3), "exclude"),
        ({"tag": 3, "include": [CUP]}, "tag"),
    ],
)
def test_malformed_metadata_is_named(metadata: dict[str, Any], named: str) -> None:
    with pytest.raises(FormalimgError, match=named):
        official_verdict(metadata, {})


@pytest.mark.parametrize(
    "detection", [{}, {"box": [1, 2, 3]}, {"box": [1, 2, 3, "x"]}, {"box": [1, 2, 3, float("nan")]}, 7]
)
def test_malformed_detections_are_refused(detection: Any) -> None:
    with pytest.raises(FormalimgError, match="cup"):
        official_verdict(asked(CUP), {"cup": [detection]})
