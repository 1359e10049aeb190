"""Question files of published benchmarks, each in its own format: T2I-CoReBench, DPG-Bench, OneIG-Bench, TIIF-Bench.

The records here are written for the tests; the published files are read where they lie beside the checkout.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from formalimg.benchmarks.items_file import decode_item, encode_item
from formalimg.benchmarks.loader import load, load_with_skipped
from formalimg.benchmarks.odd_records import odd_tags
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from formalimg.models.folder.folder_model import FolderModel, open_folder
from formalimg.runs.execution import images_to_match
from formalimg.types import Item
from tests.benchmarks.test_question_files import DSG
from tests.support.published import FOLDER

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
