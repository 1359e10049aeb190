"""Question graphs in files of others: forgiving names, odd records as tags, and the formats of published benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from formalimg.benchmarks.items_file import decode_item, encode_item, write_items
from formalimg.benchmarks.loader import load, load_with_skipped
from formalimg.benchmarks.odd_records import odd_tags
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from tests.support.sizes import tries

OURS = """item,prompt,question,question_id,expected,parents,category,weight
shelf,A red cup and no dog,Is there a cup?,cup,,,object,
shelf,,Is the cup red?,red,yes,cup,attribute,2
shelf,,Is there a dog?,dog,No,,object,
"""
SHELF = QuestionSpec(
    (
        GraphQuestion("cup", "Is there a cup?", category="object"),
        GraphQuestion("red", "Is the cup red?", ("cup",), category="attribute", weight=2.0),
        GraphQuestion("dog", "Is there a dog?", expected="no", category="object"),
    )
)
DSG_COLUMNS = "item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,tuple"
DSG = f"""{DSG_COLUMNS},question_natural_language
lab_1,A cup,cup,1,0,entity,whole,entity - whole (cup),Is there a cup?
lab_1,A cup,red,2,1,attribute,color,"attribute - color (cup, red)",Is the cup red?
lab_1,A cup,table,3,"2, table",relation,spatial,"relation (cup, table)",Is the red cup on it?
lab_2,Two dogs,dogs,2,"1,2",other,count,"other - count (dogs, ==2)",Are there two dogs?
"""


def test_a_table_of_questions_becomes_items(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(OURS)
    (item,) = load("questions", tmp_path / "mine.csv")
    assert (item.suite, item.id, item.level, item.prompt, item.spec) == (
        "questions",
        "shelf",
        1,
        "A red cup and no dog",
        SHELF,
    )
    assert item.tags == ()
    assert decode_item(encode_item(item), "questions") == item


@pytest.mark.parametrize("suffix", ["jsonl", "json"])
@pytest.mark.parametrize("nested", [True, False])
def test_json_holds_questions_or_items_with_questions(tmp_path: Path, suffix: str, nested: bool) -> None:
    asked: list[dict[str, object]] = [
        {"Question": "Is there a cup?", "id": "cup", "category": "object"},
        {"Question": "Is the cup red?", "id": "red", "depends-on": ["cup"], "type": "attribute", "weight": 2},
        {"Question": "Is there a dog?", "id": "dog", "expected answer": "no", "category": "object"},
    ]
    whole = {"prompt": "A red cup and no dog"}
    records = (
        [{"id": "shelf", **whole, "questions": asked}]
        if nested
        else [{"item": "shelf", **whole, **one} for one in asked]
    )
    path = tmp_path / f"mine.{suffix}"
    path.write_text(json.dumps(records) if suffix == "json" else "\n".join(map(json.dumps, records)))
    (item,) = load("questions", path)
    assert (item.id, item.prompt, item.spec) == ("shelf", "A red cup and no dog", SHELF)


def test_an_items_file_of_ours_is_still_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(DSG)
    items = load("questions", tmp_path / "mine.csv")
    write_items(items, tmp_path / "items")
    assert load("questions", tmp_path / "items") == items
    assert load("questions", tmp_path / "items" / "items.jsonl") == items


def test_dsg_is_known_by_its_columns(tmp_path: Path) -> None:
    (tmp_path / "anns.csv").write_text(DSG)
    first, second = load("questions", tmp_path)  # the only file of questions in the folder
    assert first.spec.zeroing == "direct"
    assert [one.parents for one in first.spec.questions] == [(), ("1",), ("2",)]
    assert [one.category for one in first.spec.questions] == ["entity", "attribute", "relation"]
    assert first.tags == ("lab", "unknown-parent")
    assert second.tags == ("lab", "unknown-parent", "circular-parents")
    assert second.spec.with_zeroing("transitive").questions[0].parents == ()
    assert all(one.expected == "yes" for one in first.spec.questions)


@pytest.mark.parametrize(
    ("record", "tag"),
    [
        ({"parents": ["9"]}, "unknown-parent"),
        ({"parents": ["a"], "question_id": "a"}, "circular-parents"),
        ({"expected": "maybe"}, "expected-unknown"),
        ({"weight": "much"}, "question-mended"),
        ({"weight": -1}, "question-mended"),
        ({"question": ""}, "empty-question"),
        ({"prompt": "another"}, "prompts-differ"),
        ({"question_id": "1"}, "duplicate-question"),
        ({"zeroing": "sometimes"}, "field-malformed"),
        ({"question": "Is it\u0007red?"}, "broken-text"),
    ],
)
def test_odd_records_are_tagged_and_asked_all_the_same(tmp_path: Path, record: dict[str, object], tag: str) -> None:
    plain = {"item": "shelf", "prompt": "A cup", "question": "Is there a cup?", "question_id": "1"}
    odd = {"item": "shelf", "prompt": "A cup", "question": "Is it red?", "question_id": "2", **record}
    (tmp_path / "odd.jsonl").write_text(f"{json.dumps(plain)}\n{json.dumps(odd)}\nnot json\n")
    loaded = load_with_skipped("questions", tmp_path / "odd.jsonl")
    (item,), skipped = loaded.items, loaded.skipped
    assert tag in odd_tags(item.tags)
    assert item.spec.questions[0].question == "Is there a cup?"
    assert [one.where for one in skipped] == [f"{tmp_path / 'odd.jsonl'}, line 3"]
    assert decode_item(encode_item(item), "questions") == item


def test_items_without_questions_or_prompt_or_a_good_name_stay(tmp_path: Path) -> None:
    records = [{"id": "a b/c", "prompt": "A cup", "questions": []}, {"item": "d", "question": "Is it?"}]
    (tmp_path / "odd.json").write_text(json.dumps([*records, {"id": "e", "prompt": "A dog", "questions": ["Is it?"]}]))
    items = {item.id: item for item in load("questions", tmp_path / "odd.json")}
    assert odd_tags(items["a-b-c"].tags) == ("odd-name", "no-questions")
    assert odd_tags(items["d"].tags) == ("no-prompt",)
    assert odd_tags(items["e"].tags) == ()
    for item in items.values():
        assert decode_item(encode_item(item), "questions") == item


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "item,answer\n1,yes\n", "it holds no questions"),
        ("a.csv", "", "it holds no questions"),
        ("a.json", "{", "fix the file"),
        ("a.txt", "Is it?\n", "ends in .csv"),
    ],
)
def test_what_holds_no_questions_is_refused_in_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormalimgError, match=name) as raised:
        load("questions", tmp_path / name)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_of_several_question_files_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(OURS)
    (tmp_path / "b.csv").write_text(DSG)
    with pytest.raises(ItemsError, match=r"holds a\.csv, b\.csv: give the file"):
        load("questions", tmp_path)


@given(
    some.lists(
        some.dictionaries(
            some.sampled_from(["item", "prompt", "question", "id", "parents", "expected", "weight", "questions", "x"]),
            some.recursive(some.none() | some.booleans() | some.integers() | some.text(max_size=8), some.lists),
        ),
        max_size=5,
    )
)
@settings(max_examples=tries(20, 400), deadline=None)
def test_no_file_of_objects_ends_in_anything_but_items_or_one_message(
    tmp_path_factory: pytest.TempPathFactory, records: list[object]
) -> None:
    path = tmp_path_factory.mktemp("any") / "any.json"
    path.write_text(json.dumps(records))
    try:
        items = load("questions", path)
    except FormalimgError:
        return
    for item in items:
        assert decode_item(encode_item(item), "questions") == item


DIRECT_AND_NOT = QuestionSpec(
    (
        GraphQuestion("1", "Is there a cup?"),
        GraphQuestion("2", "Is it red?", ("1",)),
        GraphQuestion("3", "Is the red darker on the left?", ("2",)),
    )
)


def test_zeroing_is_by_the_parents_own_answer_or_by_all_above() -> None:
    met = {"1": False, "2": True, "3": True}
    assert DIRECT_AND_NOT.failed_parents(met) == {"2": "1", "3": "2"}
    assert DIRECT_AND_NOT.with_zeroing("direct").failed_parents(met) == {"2": "1"}
    assert DIRECT_AND_NOT.failed_parents(dict.fromkeys(met, True)) == {}
