"""The published data of CF-World, where it lies beside the checkout: everything is read, counted and reported."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.cfworld.published_records import format_repairs, write_published_groups
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.odd_records import plain_tags
from formalimg.types import Item
from tests.benchmarks.cfworld.reading import PublishedItems, read_cf_world

FOLDER = Path(__file__).parents[4] / "shared" / "official" / "cf-world"

GROUPS = {
    "biology": 285,
    "chemical": 173,
    "geography": 26,
    "sociology": 22,
    "physics-astronomy": 75,
    "physics-classical-mechanics": 259,
    "physics-electromagnetism": 55,
    "physics-optics": 102,
    "physics-thermodynamics": 95,
}
QUESTIONS = dict(zip(GROUPS, [3159, 1616, 239, 215, 766, 2560, 535, 918, 880], strict=True))
SETS_OF_L2 = {**GROUPS, "geography": 22, "physics-classical-mechanics": 257}
WITHOUT_L2 = [*(f"geography-{number}" for number in range(4)), *(f"physics-classical-mechanics-{n}" for n in (51, 52))]


def published(suite: str) -> PublishedItems:
    """A suite of the published data; skips the test where the data is missing."""
    if not FOLDER.is_dir():
        pytest.skip(f"the published data is not at {FOLDER}")
    return read_cf_world(FOLDER, suite)


@pytest.fixture(scope="module")
def cf_world() -> PublishedItems:
    return published("cf-world")


def scorable(cf_world: PublishedItems, level: int = 0) -> list[Item[CounterfactualSpec]]:
    return [item for item in cf_world.items if item.spec.questions and level in (0, item.level)]


def tree_of(item: Item[Any]) -> str:
    return str(item.spec.group.rpartition("-")[0])


def test_every_group_has_three_items_under_the_name_of_its_file(cf_world: PublishedItems) -> None:
    assert len(cf_world.items) == len({item.id for item in cf_world.items}) == 3276
    for level in (1, 2, 3):
        assert Counter(tree_of(item) for item in cf_world.items if item.level == level) == GROUPS
    assert all(item.id == f"{item.spec.group}-l{item.level}" for item in cf_world.items)
    by_tags = Counter(plain_tags(item.tags) for item in cf_world.items if item.level == 1)
    assert (by_tags["chemistry",], by_tags["physics", "mechanics"], len(by_tags)) == (173, 259, 9)
    assert sum(count for tags, count in by_tags.items() if tags[0] == "physics") == 586


def test_every_question_is_with_its_prompt(cf_world: PublishedItems) -> None:
    per_tree: Counter[str] = Counter()
    for item in cf_world.items:
        per_tree[tree_of(item)] += len(item.spec.questions)
    assert per_tree == QUESTIONS
    per_level = {level: sum(len(item.spec.questions) for item in scorable(cf_world, level)) for level in (1, 2, 3)}
    assert per_level == {1: 3304, 2: 3792, 3: 3792}
    weighted = Counter((q.dimension, q.weight) for item in cf_world.items for q in item.spec.questions)
    assert weighted == {("integrity", 3): 3272, ("assessment", 15): 3263, ("logic", 8): 4351, ("adherence", 2): 2}
    assert [i.id for i in cf_world.items if any(q.dimension == "adherence" for q in i.spec.questions)] == [
        "biology-34-l2",
        "biology-34-l3",
    ]


def test_questions_per_prompt_and_their_weights_are_as_counted(cf_world: PublishedItems) -> None:
    sizes = Counter(len(item.spec.questions) for item in scorable(cf_world))
    assert sizes == {3: 2385, 4: 659, 5: 217, 6: 2}
    sums = Counter(sum(question.weight for question in item.spec.questions) for item in scorable(cf_world))
    assert sums == {26: 2385, 29: 6, 34: 653, 36: 2, 37: 3, 42: 212, 50: 2}
    logic = {
        level: Counter([q.dimension for q in item.spec.questions].count("logic") for item in scorable(cf_world, level))
        for level in (1, 2, 3)
    }
    assert logic[1] == {1: 1091 - 28, 2: 28}
    assert logic[2] == logic[3] == {1: 1086 - 422, 2: 315, 3: 106, 4: 1}
    two = [i.id for i in cf_world.items if [q.dimension for q in i.spec.questions].count("integrity") > 1]
    mechanics = [f"physics-classical-mechanics-{number}-l{level}" for number in (210, 215, 252) for level in (2, 3)]
    assert two == ["biology-135-l1", "biology-239-l1", "biology-270-l1", *mechanics]


def test_l3_is_asked_what_l2_is_asked(cf_world: PublishedItems) -> None:
    second, third = (
        {item.spec.group: item.spec.questions for item in cf_world.items if item.level == level} for level in (2, 3)
    )
    assert second == third
    assert Counter(tree_of(item) for item in scorable(cf_world, 2)) == SETS_OF_L2
    assert not [each for each in cf_world.repairs if each.reason == "questions of L3 differ"]


def test_what_nobody_can_score_is_kept_and_named(cf_world: PublishedItems) -> None:
    lacking = ["chemical-47-l1", *(f"{group}-l{level}" for group in WITHOUT_L2 for level in (2, 3))]
    assert sorted(cf_world.unscorable) == sorted(lacking)
    assert len(scorable(cf_world)) == 3263
    assert {item.id for item in cf_world.items} >= {*lacking}
    spec = {item.id: item.spec for item in cf_world.items}
    assert spec["chemical-47-l1"].assessment == spec["geography-0-l2"].assessment == ""
    assert spec["geography-0-l3"].assessment


def test_everything_that_was_tidied_up_is_told(cf_world: PublishedItems) -> None:
    assert Counter(each.reason for each in cf_world.repairs) == {
        "blanks at the edges": 169,
        "no category": 41,
        "mistyped key": 2,
        "no assessment point": 7,
        "assessment point of L3 alone": 6,
        "assessment point of L3 differs": 7,
        "duplicate": 10,
        "no questions": 13,
    }  # so no weight is unusual, and every prompt that has questions has some of integrity and of logic
    missing = Counter(each.location.split(",")[0] for each in cf_world.repairs if each.reason == "no category")
    assert missing == {
        "prompt/Biology.json": 23,
        "prompt/physics/Astronomy.json": 16,
        "prompt/physics/Classical Mechanics.json": 1,
        "prompt/physics/Thermodynamics.json": 1,
    }
    duplicates = [each.location.split()[-1] for each in cf_world.repairs if each.reason == "duplicate"]
    assert duplicates == ["223", "224", "225", "226", "227", "241", "242", "244", "245", "255"]
    assert len({item.spec.group for item in cf_world.items}) == 1_092
    assert (len(cf_world.items), len(cf_world.unscorable)) == (3_276, 13)
    assert sum(len(item.spec.questions) for item in cf_world.items) == 10_888
    report = format_repairs(cf_world.repairs)
    blanks = report.index("blanks at the edges: 169")
    assert report[blanks + 4] == "  and 166 more"
    assert sum("kept; says the same as id" in line for line in report) == 10
    assert "  prompt/physics/Classical Mechanics.json, id 51: ap_3 read as ap_l3" in report


def test_nothing_but_edge_blanks_is_taken_off_the_words(cf_world: PublishedItems) -> None:
    """Every text of the files is a text of an item, and the other way round; read here by other means."""
    prompts: Counter[str] = Counter()
    points: Counter[str] = Counter()
    third_points = 0
    for path in FOLDER.glob("prompt/**/*.json"):
        for record in json.loads(path.read_text(encoding="utf-8")):
            prompts.update(record[f"prompt_l{level}"].strip() for level in (1, 2, 3))
            points[record.get("ap_l1", "").strip()] += 1
            points[record.get("ap_l2", "").strip()] += 1
            third_points += "ap_l3" in record
    assert third_points == 145
    assert Counter(item.prompt for item in cf_world.items) == prompts
    assert len(prompts) == 3094
    assert Counter(item.spec.assessment for item in cf_world.items if item.level < 3) == points
    per_level = [len({item.prompt for item in cf_world.items if item.level == level}) for level in (1, 2, 3)]
    assert per_level == [932, 1081, 1081]


def test_the_rule_probe_is_asked_only_what_decides() -> None:
    items = published("cf-world-rules").items
    assert Counter(item.level for item in items) == {1: 60, 2: 138}
    per_rule = Counter((item.spec.group, item.level) for item in items)
    assert Counter(per_rule[f"rule-{rule}", 1] for rule in range(33)) == {1: 6, 2: 27}
    assert all(per_rule[f"rule-{rule}", 1] == 1 for rule in range(6))
    assert Counter(item.spec.group for item in items) == {f"rule-{rule}": 6 for rule in range(33)}
    assert {tuple((q.dimension, q.weight) for q in item.spec.questions) for item in items} == {(("assessment", 15),)}
    assert len({item.spec.questions[0].question for item in items}) > 150


def test_the_attribute_probe_has_its_pairs_and_its_ids_are_names() -> None:
    items, tidied, unscorable, skipped = published("cf-world-attributes")
    assert not skipped
    assert (Counter(item.level for item in items), unscorable) == ({1: 113, 2: 113}, ())
    assert set(Counter(item.spec.group for item in items).values()) == {2}
    assert Counter(each.reason for each in tidied) == {"ids of two types": 113}
    otter = {item.id: item for item in items}["pair-93-rare"]
    (question,) = otter.spec.questions
    assert (question.dimension, question.weight) == ("assessment", 15)
    assert "“Giant Otter” and “ St. Peter's Basilica”" in question.question, "with the blank that the scorer sends"
    assert otter.prompt.rstrip(".") in question.question


def test_the_denominalised_probe_is_judged_by_the_questions_of_l2(cf_world: PublishedItems) -> None:
    items, tidied, unscorable, skipped = published("cf-world-denominalised")
    assert not skipped
    explicit = {item.id: item for item in cf_world.items if item.level == 2}
    assert {item.id: (item.spec, item.tags) for item in items} == {i: (o.spec, o.tags) for i, o in explicit.items()}
    assert sorted(unscorable) == [f"{group}-l2" for group in WITHOUT_L2]
    same = [item.id for item in items if item.prompt == explicit[item.id].prompt]
    assert same == [f"physics-thermodynamics-{number}-l2" for number in (7, 25, 28)]
    counted = {"no category": 16, "blanks at the edges": 7, "no questions": 6, "same prompt as L2": 3}
    assert Counter(each.reason for each in tidied) == counted


def test_the_data_survive_both_forms(cf_world: PublishedItems, tmp_path: Path) -> None:
    write_published_groups(cf_world.items, tmp_path / "again")
    again = read_cf_world(tmp_path / "again")
    assert again.items == cf_world.items
    kinds = Counter(each.reason for each in again.repairs)
    assert kinds == {"duplicate": 10, "no questions": 13, "no assessment point": 7, "assessment point of L3 alone": 6}
    ids = {*cf_world.unscorable, "biology-34-l3"}
    few = sorted((item for item in cf_world.items if item.id in ids), key=lambda item: item.id)
    write_items(few, tmp_path)
    assert load("cf-world", tmp_path) == few


def test_any_of_the_folders_leads_to_the_items(cf_world: PublishedItems) -> None:
    assert {item.id for item in load("cf-world", FOLDER / "prompt")} == {item.id for item in cf_world.items}
    assert len(load("cf-world-rules", FOLDER / "prompt_ablation")) == 198
