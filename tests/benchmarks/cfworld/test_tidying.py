"""Odd files in the published form: read by rule, and reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.loader import load
from tests.benchmarks.cfworld.reading import PublishedItems, read_cf_world

GROUP: dict[str, Any] = {
    "id": "0",
    "category": "Falling",
    "prompt_l1": "An apple falls.",
    "ap_l1": "The apple is below the branch.",
    "prompt_l2": "If things fell up, an apple falls into the sky.",
    "ap_l2": "The apple is above the branch.",
    "prompt_l3": "If things fell up, an apple comes loose.",
}
PAIR = {"id": 7, "A": "cow", "B": " sofa", "prompt": "A cow on a sofa.", "category": "unusual"}
COMMON = {**PAIR, "id": "7_factual", "B": "meadow", "prompt": "A cow on a meadow.", "category": "factual"}
RULE = {"rule_id": 3, "id": 20, "category": "cf", "prompt": "Draw it.", "ap": "Arrow up"}


WEIGHTS = {"Visual Integrity": 3, "Counterfactual Logic": 8, "Assessment Point": 15}


def question(number: int, level: str, kind: str = "Assessment Point", **change: Any) -> dict[str, Any]:
    fields = {
        "id": str(number),
        "source_id": "0",
        "prompt_level": level,
        "category": " ",
        "question_type": kind,
        "question": f"Is it so, {kind}?",
        "evaluation_criteria": "1.0 – yes. 0.0 – no.",
        "weight": WEIGHTS.get(kind, 15),
        "generator_model": "someone",
    }
    return {**fields, **change}


ASKED = [
    *(question(number, "l1", kind) for number, kind in enumerate(WEIGHTS, 1)),
    *(question(number, "l2", kind) for number, kind in enumerate(WEIGHTS, 4)),
    *(question(number, "l3", kind, question=f"And {kind}?") for number, kind in enumerate(WEIGHTS, 7)),
]


def repository(
    folder: Path,
    groups: object,
    questions: object = ASKED,
    field: str = "physics/Classical Mechanics",
    probes: Mapping[str, object] | None = None,
) -> Path:
    files = {f"prompt/{field}": groups, f"eval_questions/{field}_gemini": questions}
    files |= {f"prompt_ablation/{name}": records for name, records in (probes or {}).items()}
    for name, records in files.items():
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(records if isinstance(records, str) else json.dumps(records), encoding="utf-8")
    return folder


def repairs_of(published: PublishedItems) -> list[tuple[str, str]]:
    return [(each.reason, each.effect) for each in published.repairs]


def test_a_sound_group_is_read_and_only_what_differs_is_told(tmp_path: Path) -> None:
    published = read_cf_world(repository(tmp_path, [GROUP]))
    first, second, third = published.items
    assert first.id == "physics-classical-mechanics-0-l1"
    assert (third.level, third.prompt, third.tags) == (3, GROUP["prompt_l3"], ("physics", "mechanics"))
    assert [each.dimension for each in second.spec.questions] == ["integrity", "logic", "assessment"]
    assert third.spec.assessment == GROUP["ap_l2"]
    assert repairs_of(published) == [("questions of L3 differ", "kept as they are")]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"prompt_l1": " An apple falls.\n", "ap_l2": "Above. "},
            ("blanks at the edges", "taken off prompt_l1, ap_l2"),
        ),
        ({"ap_l3": "The apple flies."}, ("assessment point of L3 differs", "left out: its questions are those of L2")),
        ({"category": " "}, ("no category", "none is needed: the file says the field")),
    ],
)
def test_each_oddity_is_told_with_what_was_made_of_it(
    change: dict[str, str], expected: tuple[str, str], tmp_path: Path
) -> None:
    published = read_cf_world(repository(tmp_path, [{**GROUP, **change}]))
    assert expected in repairs_of(published)
    assert published.repairs[0].location == "prompt/physics/Classical Mechanics.json, id 0"
    assert [item.prompt for item in published.items] == [GROUP[f"prompt_l{level}"] for level in (1, 2, 3)]


def test_a_mistyped_key_is_read_as_meant_and_goes_to_its_level_alone(tmp_path: Path) -> None:
    group = {key: value for key, value in GROUP.items() if key != "ap_l2"} | {"ap_3": "Up."}
    published = read_cf_world(repository(tmp_path, [group], ASKED[:3]))
    assert [item.spec.assessment for item in published.items] == [GROUP["ap_l1"], "", "Up."]
    assert published.unscorable == tuple(item.id for item in published.items[1:])
    assert [what for what, _ in repairs_of(published)] == [
        "mistyped key",
        "no assessment point",
        "assessment point of L3 alone",
        "no questions",
        "no questions",
    ]


def test_duplicates_stay_and_are_told(tmp_path: Path) -> None:
    asked = [*ASKED, *({**asked, "id": str(10 + int(asked["id"])), "source_id": "1"} for asked in ASKED)]
    published = read_cf_world(repository(tmp_path, [GROUP, {**GROUP, "id": 1}], asked))
    assert len(published.items) == 6
    assert ("duplicate", "kept; says the same as id 0") in repairs_of(published)
    assert ("ids of two types", "read as text, '1'") in repairs_of(published)


def test_weights_and_dimensions_that_are_unusual_are_told(tmp_path: Path) -> None:
    asked = [question(1, "l1", weight=20), *ASKED[3:]]
    published = read_cf_world(repository(tmp_path, [GROUP], asked))
    assert ("unusual weight", "kept: 20, where assessment has 15 elsewhere") in repairs_of(published)
    assert ("no question of a dimension", "scored without integrity and logic") in repairs_of(published)
    assert published.items[0].spec.questions[0].weight == 20
    assert [each.location.rpartition("/")[2] for each in published.repairs] == [
        "Classical Mechanics_gemini.json, id 1",
        "Classical Mechanics.json, id 0, l1",
        "Classical Mechanics.json, id 0",
    ]


def test_the_folder_one_is_in_may_be_one_of_the_repositorys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load("cf-world", repository(tmp_path, [GROUP]))
    monkeypatch.chdir(tmp_path / "prompt")
    assert load("cf-world", ".") == load("cf-world", Path()) == load("cf-world", "..") == expected


def test_fields_that_were_not_published_are_called_by_their_names(tmp_path: Path) -> None:
    items = read_cf_world(repository(tmp_path, [GROUP], field="arts/Old Music")).items
    assert (items[0].id, items[0].tags) == ("arts-old-music-0-l1", ("arts", "old-music"))


def test_probes_are_read_by_their_categories(tmp_path: Path) -> None:
    place = repository(tmp_path, [GROUP], probes={"rule_decouple": [RULE], "attribute_decouple": [PAIR, COMMON]})
    (rule,) = load("cf-world-rules", place)
    assert (rule.id, rule.level, rule.spec.group, rule.spec.assessment) == ("rule-3-20", 2, "rule-3", "Arrow up")
    assert [(item.id, item.level) for item in load("cf-world-attributes", place)] == [
        ("pair-7-common", 1),
        ("pair-7-rare", 2),
    ]


def test_other_wordings_are_asked_the_questions_of_l2_and_not_those_of_l3(tmp_path: Path) -> None:
    reworded = {"id": "0", "prompt": "If things fell up, an apple ends above the leaves.", "category": "Falling"}
    place = repository(tmp_path, [GROUP], probes={"de-norm/physics/Classical Mechanics": [reworded]})
    (item,) = load("cf-world-denominalised", place)
    _, explicit, implicit = load("cf-world", place)
    assert (item.id, item.prompt) == (explicit.id, reworded["prompt"])
    assert item.spec == explicit.spec != implicit.spec
