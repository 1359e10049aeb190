"""Odd files in the published form: read by rule and told, or refused with the place and the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from formalimg.suites import ItemsError, load
from formalimg.suites.cfworld.published import Published, read_cf_world

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


def question(number: int, level: str, kind: str = "Assessment Point", **change: Any) -> dict[str, Any]:
    fields = {
        "id": str(number),
        "source_id": "0",
        "prompt_level": level,
        "category": " ",
        "question_type": kind,
        "question": f"Is it so, {kind}?",
        "evaluation_criteria": "1.0 – yes. 0.0 – no.",
        "weight": 15,
        "generator_model": "someone",
    }
    return {**fields, **change}


ASKED = [question(1, "l1"), question(2, "l2", "Counterfactual Logic"), question(3, "l2"), question(4, "l3")]


def repository(
    folder: Path,
    groups: object,
    questions: object = ASKED,
    tree: str = "physics/Classical Mechanics",
    probes: Mapping[str, object] | None = None,
) -> Path:
    files = {f"prompt/{tree}": groups, f"eval_questions/{tree}_gemini": questions}
    files |= {f"prompt_ablation/{name}": records for name, records in (probes or {}).items()}
    for name, records in files.items():
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(records if isinstance(records, str) else json.dumps(records), encoding="utf-8")
    return folder


def told(published: Published) -> list[tuple[str, str]]:
    return [(each.what, each.how) for each in published.tidied]


def test_a_sound_group_is_read_and_only_what_differs_is_told(tmp_path: Path) -> None:
    published = read_cf_world(repository(tmp_path, [GROUP]))
    first, second, third = published.items
    assert first.id == "physics-classical-mechanics-0-l1"
    assert (third.level, third.prompt, third.tags) == (3, GROUP["prompt_l3"], ("physics", "mechanics"))
    assert [each.dimension for each in second.spec.questions] == ["logic", "assessment"]
    assert third.spec.assessment == GROUP["ap_l2"]
    assert told(published) == [("questions of L3 differ", "kept as they are")]


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
    assert expected in told(published)
    assert published.tidied[0].where == "prompt/physics/Classical Mechanics.json, id 0"
    assert [item.prompt for item in published.items] == [GROUP[f"prompt_l{level}"] for level in (1, 2, 3)]


def test_a_mistyped_key_is_read_as_meant_and_goes_to_its_level_alone(tmp_path: Path) -> None:
    group = {key: value for key, value in GROUP.items() if key != "ap_l2"} | {"ap_3": "Up."}
    published = read_cf_world(repository(tmp_path, [group], [question(1, "l1")]))
    assert [item.spec.assessment for item in published.items] == [GROUP["ap_l1"], "", "Up."]
    assert published.unscorable == tuple(item.id for item in published.items[1:])
    assert [what for what, _ in told(published)] == [
        "mistyped key",
        "no assessment point",
        "assessment point of L3 alone",
        "no questions",
        "no questions",
    ]


def test_duplicates_stay_and_are_told(tmp_path: Path) -> None:
    asked = [*ASKED, *(question(10 + int(q["id"]), q["prompt_level"], source_id="1") for q in ASKED if q["id"] != "2")]
    published = read_cf_world(repository(tmp_path, [GROUP, {**GROUP, "id": 1}], asked))
    assert len(published.items) == 6
    assert ("duplicate", "kept; says the same as id 0") in told(published)
    assert ("ids of two types", "read as text, '1'") in told(published)


@pytest.mark.parametrize(
    ("groups", "questions", "message"),
    [
        ([GROUP], [*ASKED, question(9, "l1", "Style")], "id 9: unknown question_type 'Style'"),
        ([GROUP], [*ASKED, question(9, "l4")], "unknown prompt_level 'l4'"),
        ([GROUP], [*ASKED, question(9, "l1", source_id="5")], "questions for group 5, l1, which is not there"),
        ([GROUP], [*ASKED, question(9, "l1")], "group 0, l1: must have one question of the type Assessment Point"),
        ([GROUP], [*ASKED, question(9, "l1", "Visual Integrity", weight=0)], "weight must be above 0"),
        ([GROUP], [*ASKED, question(9, "l1", "Visual Integrity", weight="3")], "weight must be a number"),
        ([GROUP], [*ASKED, question(9, "l1", question=" ")], "question must be text and not empty"),
        ([{**GROUP, "prompt_l2": ""}], ASKED, "prompt_l2 must be text and not empty"),
        ([{**GROUP, "prmpt_l1": "x"}], ASKED, "unknown field prmpt_l1"),
        ([{**GROUP, "ap_l3": "a", "ap_3": "b"}], ASKED, "unknown field ap_3"),
        ([GROUP, GROUP], ASKED, "another record has this id"),
        ([{**GROUP, "id": "../x"}], ASKED, "id must be a number"),
        ([{**GROUP, "id": True}], ASKED, "id must be a number"),
        ([{**GROUP, "prompt_l1": "\ud800"}], ASKED, "half a character"),
        (["text"], ASKED, "record 1: must be an object"),
        ({}, ASKED, "must be a list of records"),
        ("[{", ASKED, "not valid JSON"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(
    groups: object, questions: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ItemsError, match=message):
        load("cf-world", repository(tmp_path, groups, questions))


def test_files_without_their_counterpart_are_refused(tmp_path: Path) -> None:
    repository(tmp_path, [GROUP])
    (tmp_path / "prompt" / "Biology.json").write_text("[]")
    (tmp_path / "eval_questions" / "Poetry_gemini.json").write_text("[]")
    with pytest.raises(ItemsError) as caught:
        load("cf-world", tmp_path)
    assert [finding.split(":")[0] for finding in caught.value.findings] == [
        "eval_questions/Poetry_gemini.json",
        "eval_questions/Biology_gemini.json",
    ]


def test_folders_without_the_data_say_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=r"folders prompt, eval_questions \(prompt is not there\)"):
        load("cf-world", tmp_path)
    with pytest.raises(FormalimgError, match=r"prompt_ablation is not there"):
        load("cf-world-rules", repository(tmp_path, [GROUP]))
    with pytest.raises(FormalimgError, match="no suite of CF-World"):
        read_cf_world(tmp_path, "knolling")


def test_fields_that_were_not_published_are_called_by_their_names(tmp_path: Path) -> None:
    items = read_cf_world(repository(tmp_path, [GROUP], tree="arts/Old Music")).items
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


@pytest.mark.parametrize(
    ("suite", "records", "message"),
    [
        ("rule_decouple", [{**RULE, "category": "odd"}], "unknown category 'odd': known are original, cf"),
        ("attribute_decouple", [PAIR], "pair-7-rare has no partner pair-7-common"),
        ("attribute_decouple", [PAIR, {**COMMON, "category": "unusual"}], "contradict each other"),
        ("de-norm/physics/Classical Mechanics", [], "lacks group 0"),
        ("de-norm/physics/Classical Mechanics", [{"id": "0", "prompt": "a"}, {"id": "4", "prompt": "b"}], "no such"),
    ],
)
def test_probes_that_contradict_themselves_are_refused(
    suite: str, records: list[dict[str, Any]], message: str, tmp_path: Path
) -> None:
    (tmp_path / "prompt_ablation/de-norm/physics").mkdir(parents=True)
    place = repository(tmp_path, [GROUP], probes={suite: records})
    name = {"rule_decouple": "rules", "attribute_decouple": "attributes"}.get(suite, "denominalised")
    with pytest.raises(ItemsError, match=message):
        load(f"cf-world-{name}", place)
