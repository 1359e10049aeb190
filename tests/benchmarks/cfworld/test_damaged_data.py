"""Damaged files in the published form: odd records are read, tagged and named; only files that are none are refused."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load, load_with_skipped
from formalimg.benchmarks.odd_records import odd_tags
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from formalimg.types import Item
from tests.benchmarks.cfworld.reading import read_cf_world
from tests.benchmarks.cfworld.test_published_data import FOLDER
from tests.benchmarks.cfworld.test_tidying import ASKED, COMMON, GROUP, PAIR, RULE, question, repository
from tests.support.sizes import tries

FIELD = ("physics", "mechanics")


def read(place: Path, suite: str = "cf-world") -> tuple[list[Item[Any]], list[str]]:
    """The items of a repository, after a round trip through items.jsonl, and why records were skipped."""
    loaded = load_with_skipped(suite, place)
    items, skipped = loaded.items, loaded.skipped
    write_items(items, place / "again")
    assert load(suite, place / "again") == items
    return items, [why for _, why in skipped]


def without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


@pytest.mark.parametrize(
    ("group", "tags", "prompt"),
    [
        ({**GROUP, "prompt_l1": ""}, ("no-prompt",), ""),
        (without(GROUP, "prompt_l1"), ("no-prompt",), ""),
        ({**GROUP, "prompt_l1": 7}, ("field-malformed",), "7"),
        ({**GROUP, "prompt_l1": None}, ("no-prompt", "field-malformed"), ""),
        ({**GROUP, "prmpt_l1": "x"}, ("extra-fields",), GROUP["prompt_l1"]),
        ({**GROUP, "ap_l3": "a", "ap_3": "b"}, ("extra-fields",), GROUP["prompt_l1"]),
        ({**GROUP, "prompt_l1": "Up \ud800."}, ("broken-text",), "Up \ufffd."),
    ],
)
def test_an_odd_group_is_read_and_tagged(
    group: dict[str, Any], tags: tuple[str, ...], prompt: str, tmp_path: Path
) -> None:
    items, skipped = read(repository(tmp_path, [group]))
    assert (items[0].prompt, items[0].tags, skipped) == (prompt, (*FIELD, *tags), [])
    assert [item.prompt for item in items[1:]] == [GROUP["prompt_l2"], GROUP["prompt_l3"]]
    assert "no-prompt" not in (*items[1].tags, *items[2].tags)


@pytest.mark.parametrize(
    ("number", "name", "tags"),
    [
        ("../x", "x", ("odd-name", "no-questions")),
        (True, "record-1", ("odd-name", "no-questions")),
        ([0], "record-1", ("odd-name", "no-questions")),
        ("0" * 5000, "0" * 40, ("odd-name", "no-questions")),
    ],
)
def test_an_id_that_is_no_number_becomes_a_name(
    number: object, name: str, tags: tuple[str, ...], tmp_path: Path
) -> None:
    items, skipped = read(repository(tmp_path, [{**GROUP, "id": number}]))
    assert [item.id for item in items] == [f"physics-classical-mechanics-{name}-l{level}" for level in (1, 2, 3)]
    assert items[0].tags == (*FIELD, *tags)
    assert all("has questions for group 0" in why for why in skipped)


def test_of_two_groups_with_one_id_the_first_has_the_questions(tmp_path: Path) -> None:
    items, _ = read(repository(tmp_path, [GROUP, {**GROUP, "prompt_l1": "Another."}]))
    by_id = {item.id.removeprefix("physics-classical-mechanics-"): item for item in items}
    assert list(by_id) == ["0-again-l1", "0-again-l2", "0-again-l3", "0-l1", "0-l2", "0-l3"]
    assert by_id["0-again-l1"].prompt == "Another."
    assert odd_tags(by_id["0-again-l1"].tags) == ("no-questions", "duplicate-id")
    assert (by_id["0-l1"].tags, len(by_id["0-l1"].spec.questions)) == (FIELD, 3)


@pytest.mark.parametrize(
    ("extra", "tags", "count", "why"),
    [
        (question(10, "l1", "Style", weight=4), ("unknown-question-type",), 4, ""),
        (question(10, "l1"), ("assessment-count",), 4, ""),
        (question(10, "l1", "Visual Integrity", weight=0), ("question-mended",), 4, ""),
        (question(10, "l1", "Visual Integrity", weight="3"), (), 4, ""),
        (question(10, "L1", "Visual Integrity"), (), 4, ""),
        (question(10, "l1", question=" "), ("questions-incomplete",), 0, "has no question, so it cannot be asked"),
        (question(10, "l1", evaluation_criteria=None), ("questions-incomplete", "field-malformed"), 0, "has no eval"),
        (question(10, "l4"), (), 3, "does not say which prompt it is about (source_id '0', prompt_level 'l4')"),
        (question(10, "l1", source_id="5"), (), 3, "has questions for group 5, l1, which is not there"),
        ({"id": "1"}, (), 3, "does not say which prompt it is about"),
        ("text", (), 3, "a question must be a JSON object"),
    ],
)
def test_an_odd_question_is_asked_if_it_can_be_and_else_named(
    extra: Any, tags: tuple[str, ...], count: int, why: str, tmp_path: Path
) -> None:
    items, skipped = read(repository(tmp_path, [GROUP], [*ASKED, extra]))
    assert (items[0].tags, len(items[0].spec.questions)) == ((*FIELD, *tags), count)
    assert [item.tags for item in items[1:]] == [FIELD, FIELD]
    assert len(skipped) == bool(why)
    assert why in "".join(skipped)


@pytest.mark.parametrize(
    ("groups", "message"),
    [({}, "must be a list of records"), ("[{", "not valid JSON"), ("[" * 100_000, "nested too deep")],
)
def test_a_file_that_is_no_list_of_records_is_refused(groups: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(ItemsError, match=message) as caught:
        load("cf-world", repository(tmp_path, groups))
    assert len(caught.value.findings) == 1


def test_a_field_without_its_questions_is_refused_and_questions_without_their_field_are_skipped(tmp_path: Path) -> None:
    repository(tmp_path, [GROUP])
    (tmp_path / "eval_questions" / "Poetry_gemini.json").write_text("[]")
    loaded = load_with_skipped("cf-world", tmp_path)
    items, skipped = loaded.items, loaded.skipped
    assert (len(items), [each.where for each in skipped]) == (3, ["eval_questions/Poetry_gemini.json"])
    (tmp_path / "prompt" / "Biology.json").write_text("[]")
    with pytest.raises(ItemsError, match=r"^eval_questions/Biology_gemini.json: is missing"):
        load("cf-world", tmp_path)


def test_folders_without_the_data_say_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=r"folders prompt, eval_questions \(prompt is not there\)"):
        load("cf-world", tmp_path)
    with pytest.raises(FormalimgError, match=r"prompt_ablation is not there"):
        load("cf-world-rules", repository(tmp_path, [GROUP]))
    with pytest.raises(FormalimgError, match="not a suite of CF-World"):
        read_cf_world(tmp_path, "knolling")


REWORDED = "de-norm/physics/Classical Mechanics"
SOUND = {"id": "0", "prompt": "a", "category": "b"}


@pytest.mark.parametrize(
    ("suite", "records", "tags", "unscored", "skipped"),
    [
        ("rule_decouple", [{**RULE, "category": "odd"}], [("unknown-category",)], 1, 0),
        ("rule_decouple", [without(RULE, "ap")], [("no-questions",)], 1, 0),
        ("rule_decouple", [{**RULE, "rule_id": None}], [("odd-name",)], 0, 0),
        ("attribute_decouple", [PAIR], [("no-partner",)], 0, 0),
        ("attribute_decouple", [PAIR, {**COMMON, "category": "unusual"}], [("id-and-category-differ",), ()], 0, 0),
        ("attribute_decouple", [PAIR, COMMON, COMMON], [(), ("duplicate-id", "no-partner"), ()], 0, 0),
        ("attribute_decouple", [PAIR, {**COMMON, "A": []}], [("no-questions", "field-malformed"), ()], 1, 0),
        (REWORDED, [SOUND, {"id": "4", "prompt": "b"}], [(), ("no-group",)], 1, 0),
        (REWORDED, [{"id": "4", "prompt": "b"}], [("no-group",)], 1, 1),
        (REWORDED, [{"id": "0"}], [("no-prompt",)], 0, 0),
    ],
)
def test_odd_records_of_probes_are_kept(
    suite: str, records: list[dict[str, Any]], tags: list[tuple[str, ...]], unscored: int, skipped: int, tmp_path: Path
) -> None:
    (tmp_path / "prompt_ablation/de-norm/physics").mkdir(parents=True)
    place = repository(tmp_path, [GROUP], probes={suite: records})
    name = {"rule_decouple": "rules", "attribute_decouple": "attributes"}.get(suite, "denominalised")
    items, reasons = read(place, f"cf-world-{name}")
    if suite == "attribute_decouple" and len(records) == 3:
        assert [item.id for item in items] == ["pair-7-common", "pair-7-common-2", "pair-7-rare"]
        assert odd_tags(items[1].tags)[0] == "duplicate-id"
        return
    assert [odd_tags(item.tags) for item in items] == tags
    assert (sum(not item.spec.questions for item in items), len(reasons)) == (unscored, skipped)


def test_other_wordings_of_no_known_field_are_skipped(tmp_path: Path) -> None:
    place = repository(tmp_path, [GROUP], probes={REWORDED: [SOUND], "de-norm/Poetry": [SOUND]})
    loaded = load_with_skipped("cf-world-denominalised", place)
    items, skipped = loaded.items, loaded.skipped
    assert (len(items), [each.where for each in skipped]) == (1, ["prompt_ablation/de-norm/Poetry.json"])


VALUES: list[Any] = [None, True, 0, -3, 2.5, "", " ", "x", "\ud800", "l9", [], ["a"], {}, {"a": 1}, "9" * 200, 10**30]


def _change_value(record: dict[str, Any], rng: random.Random) -> None:
    record[rng.choice(list(record))] = copy.deepcopy(rng.choice(VALUES))


def _drop_field(record: dict[str, Any], rng: random.Random) -> None:
    del record[rng.choice(list(record))]


def _rename_field(record: dict[str, Any], rng: random.Random) -> None:
    name = rng.choice(list(record))
    record[rng.choice(["", "Prompt", f"{name}_", name.upper()])] = record.pop(name)


MUTATIONS: list[Callable[[dict[str, Any], random.Random], None]] = [_change_value, _drop_field, _rename_field]

PLACES = {
    "cf-world": ("prompt/Geography.json", "eval_questions/Geography_gemini.json"),
    "cf-world-rules": ("prompt_ablation/rule_decouple.json",),
    "cf-world-attributes": ("prompt_ablation/attribute_decouple.json",),
    "cf-world-denominalised": ("prompt_ablation/de-norm/Geography.json",),
}


@pytest.mark.parametrize("suite", PLACES)
def test_no_change_to_a_single_published_record_keeps_the_others_from_being_read(suite: str, tmp_path: Path) -> None:
    """75 seeded changes to each file: the number of items stays, and all survive the round trip."""
    if not FOLDER.is_dir():
        pytest.skip(f"the published data is not at {FOLDER}")
    names = {*PLACES["cf-world"], *PLACES[suite]}
    texts = {name: (FOLDER / name).read_text(encoding="utf-8") for name in names}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    expected, rng = len(load(suite, tmp_path)), random.Random(suite)
    for name in PLACES[suite]:
        for _ in range(tries(5, 75)):
            records = json.loads(texts[name])
            rng.choice(MUTATIONS)(rng.choice(records), rng)
            (tmp_path / name).write_text(json.dumps(records), encoding="utf-8")
            items, _ = read(tmp_path, suite)
            assert len(items) == expected
        (tmp_path / name).write_text(texts[name], encoding="utf-8")
