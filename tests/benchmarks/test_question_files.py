"""Question graphs in files of others: forgiving names, odd records as tags, and the formats of published benchmarks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from PIL import Image

from formalimg.benchmarks.items_file import decode_item, encode_item, write_items
from formalimg.benchmarks.loader import load, load_with_skipped
from formalimg.benchmarks.odd_records import odd_tags
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from formalimg.models.folder.folder_model import FolderModel, open_folder
from formalimg.runs.execution import images_to_match
from formalimg.types import Item
from tests.support.published import FOLDER
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


OFFICIAL = FOLDER.parents[1]


def _asked(item: Item[QuestionSpec]) -> list[tuple[str, str, str]]:
    return [(one.question, one.expected, one.category) for one in item.spec.questions]


def _corebench(name: str, *checks: object) -> dict[str, object]:
    return {name: {"Main Class": "Composition", "Sub Class": "Cups", "Prompt": "A red cup", "Checklist": list(checks)}}


def test_corebench_is_known_by_its_fields_and_comes_in_parts(tmp_path: Path) -> None:
    there = {"question": "Is there a cup?", "tags": ["object"]}
    both = {"question": "Is the word on the cup, and red?", "tags": ["content", "layout"]}
    (tmp_path / "C-A.json").write_text(json.dumps(_corebench("C-A-001", there, both)))
    (tmp_path / "C-B.json").write_text(json.dumps(_corebench("C-B-001", there, {"tags": []}, "odd")))
    first, second = load("questions", tmp_path)
    assert (first.id, first.prompt, first.tags) == ("C-A-001", "A red cup", ("Cups", "Composition"))
    assert _asked(first) == [
        ("Is there a cup?", "yes", "object"),
        ("Is the word on the cup, and red?", "yes", "content+layout"),
    ]
    assert odd_tags(second.tags) == ("empty-question",)
    assert load("questions", tmp_path / "C-A.json") == [first]
    assert decode_item(encode_item(first), "questions") == first


def test_parts_of_different_formats_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "C-A.json").write_text(json.dumps(_corebench("C-A-001", {"question": "Is it?", "tags": []})))
    (tmp_path / "anns.csv").write_text(DSG)
    with pytest.raises(ItemsError, match=r"holds C-A\.json, anns\.csv: give the file"):
        load("questions", tmp_path)


@pytest.mark.parametrize("names", [("0", "1"), ("partiprompts0", "COCOval2014000000010363")])
def test_dpg_is_told_from_dsg_by_the_names_of_its_items(tmp_path: Path, names: tuple[str, str]) -> None:
    (tmp_path / "dpg.csv").write_text(DSG.replace("lab_1", names[0]).replace("lab_2", names[1]))
    items = {item.id: item for item in load("questions", tmp_path / "dpg.csv")}
    first, second = (items[name] for name in names)
    assert (first.spec.zeroing, second.spec.zeroing) == ("transitive", "transitive")
    assert first.tags == ("first-row", "unknown-parent")
    assert [one.category for one in first.spec.questions] == ["entity", "attribute", "relation"]
    assert [one.category for one in second.spec.questions] == ["other"]


@pytest.mark.parametrize("as_text", [True, False])
def test_oneig_takes_its_prompts_from_the_table_above(tmp_path: Path, as_text: bool) -> None:
    asked: object = {"1": "Is there a cup?", "2": "Is it red?"}
    above: object = {"1": [0], "2": [1]}
    if as_text:
        asked, above = json.dumps(asked), json.dumps(above)
    folder = tmp_path / "scripts" / "alignment" / "Q_D"
    folder.mkdir(parents=True)
    (folder / "anime.json").write_text(json.dumps({"000": {"question": asked, "dependency": above}}))
    (folder / "human.json").write_text(json.dumps({"000": {"question": {"1": "Is there a man?"}, "dependency": {}}}))
    (tmp_path / "OneIG-Bench.csv").write_text(
        "category,id,prompt_en\nAnime_Stylization,000,A red cup\nPortrait,000,A man\n"
    )
    first, second = load("questions", folder)
    assert (first.id, first.prompt, first.tags) == ("anime-000", "A red cup", ("anime",))
    assert (second.id, second.prompt) == ("human-000", "A man")
    assert first.spec.zeroing == "direct"
    assert [one.parents for one in first.spec.questions] == [(), ("1",)]
    (tmp_path / "OneIG-Bench.csv").unlink()
    assert all(odd_tags(item.tags) == ("no-prompt",) for item in load("questions", folder))


def test_questions_of_ours_with_the_same_fields_are_not_taken_for_oneig(tmp_path: Path) -> None:
    record = {"item": "shelf", "prompt": "A cup", "id": "1", "question": "Is there a cup?", "dependency": "0"}
    (tmp_path / "mine.json").write_text(json.dumps([record]))
    (item,) = load("questions", tmp_path)
    assert (item.id, item.spec.zeroing) == ("shelf", "transitive")


def test_tiif_has_two_prompts_for_the_same_questions(tmp_path: Path) -> None:
    asked, prompts = tmp_path / "mini_eval_prompts", tmp_path / "mini_prompts"
    asked.mkdir()
    prompts.mkdir()
    record = {"type": "negation", "yn_question_list": ["Is it a cup?", "Is it red?", "Is it?"]}
    (asked / "negation_eval_prompts.jsonl").write_text(json.dumps({**record, "yn_answer_list": ["yes", "No"]}) + "\n")
    described = {"type": "negation", "short_description": "A cup, not red", "long_description": "A cup that is not red"}
    (prompts / "negation_prompts.jsonl").write_text(json.dumps(described) + "\n")
    long, short = load("questions", asked)
    assert (long.id, long.prompt, long.tags[:2]) == ("negation-long-0", "A cup that is not red", ("negation", "long"))
    assert (short.id, short.prompt) == ("negation-short-0", "A cup, not red")
    assert [one.expected for one in short.spec.questions] == ["yes", "no", "yes"]
    assert odd_tags(short.tags) == ("expected-unknown",)


@pytest.mark.skipif(not (OFFICIAL / "corebench").is_dir(), reason=f"the files of CoReBench are not at {OFFICIAL}")
def test_the_published_files_of_corebench_load() -> None:
    loaded = load_with_skipped("questions", OFFICIAL / "corebench")
    items, skipped = loaded.items, loaded.skipped
    counted = Counter(item.tags[0] for item in items)
    assert counted == {"Multi-Attribute": 90, "Multi-Instance": 90, "Multi-Relation": 90, "Text Rendering": 90}
    assert sum(len(item.spec.questions) for item in items) == 1862 + 2601 + 1545 + 2354
    assert not skipped
    assert not any(odd_tags(item.tags) for item in items)


def _open(folder: Path, *files: str) -> FolderModel:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), "red").save(folder / name)
    return open_folder(str(folder), {})


@pytest.mark.parametrize(
    ("file", "item", "sample"),
    [
        ("C-MA/C-MA-001-1.png", "C-MA-001", 1),
        ("anime/painter/000.webp", "anime-000", 0),
        ("action+3d/painter/short_description/4.png", "action_3d-short-4", 0),
    ],
)
def test_images_are_found_in_the_layouts_of_the_authors(tmp_path: Path, file: str, item: str, sample: int) -> None:
    items = [Item("questions", item, 1, "A cup", QuestionSpec())]
    matching = _open(tmp_path, file).match(images_to_match(dict(enumerate(items)), samples=2))
    assert [(image.item, image.sample) for image in matching.found] == [(item, sample)]


def test_images_of_several_models_are_not_mixed(tmp_path: Path) -> None:
    items = [Item("questions", "anime-000", 1, "A cup", QuestionSpec())]
    with pytest.raises(FormalimgError, match=r"2 models \(one, two\): give a folder with those of one"):
        _open(tmp_path, "anime/one/000.png", "anime/two/000.png").match(
            images_to_match(dict(enumerate(items)), samples=1)
        )
