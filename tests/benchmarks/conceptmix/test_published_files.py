"""Sentences, bindings, results and scores in the form of the published code: read with its oddities, and written."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formalimg import load
from formalimg.benchmarks.conceptmix.published import ScoredImage, format_scores, read_scores, write_published_prompts
from formalimg.benchmarks.conceptmix.spec import (
    Binding,
    BoundObject,
    Concept,
    ConceptSpec,
    RequestedConcept,
    SpatialRelation,
)
from formalimg.benchmarks.items_file import decode_item, encode_item, write_items
from formalimg.benchmarks.odd_records import ODD_TAGS
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import RequestedImage
from formalimg.models.folder.folder_model import open_folder
from formalimg.types import Item
from tests.support.models import speckled
from tests.support.published import published_concept_items, published_concepts
from tests.support.sizes import tries

SENTENCE = {
    "index": 1,
    "sentence": "A red fork lies on top of a novel.",
    "categories": ["object", "object", "color", "spatial"],
    "skills": ["fork", "novel", "red", "top"],
    "question": ["Is there a fork?  ", "", "Is there a novel?", "Is the fork red?", "Does the fork lie on the novel?"],
}
BINDING = {
    "objects": [{"id": 1, "item": "fork", "color": "red"}, {"id": 2, "item": "novel"}],
    "relation": [{"name": "top", "description": "{ObjectA} on {ObjectB}", "ObjectA_id": "1", "ObjectB_id": 2}],
    "index": 1,
}


def published(folder: Path, sentence: dict[str, Any], binding: dict[str, Any] | None = None, k: int = 3) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"300_sentences_k={k}.json").write_text(json.dumps([sentence]))
    if binding is not None:
        (folder / f"300_refined_config_k={k}.json").write_text(json.dumps([binding]))
    return folder


def test_blank_lines_ids_in_quotes_and_edge_blanks_are_read_as_meant(tmp_path: Path) -> None:
    (item,) = load("conceptmix", published(tmp_path / "sentence_collection", SENTENCE, BINDING).parent)
    assert (item.id, item.level, item.prompt, item.tags) == ("k3-001", 3, SENTENCE["sentence"], ())
    fork, _, red, top = item.spec.concepts
    assert (fork.question, fork.statement, fork.objects) == (
        "Is there a fork?  ",
        "the image contains one or more forks",
        (1,),
    )
    assert (red.category, red.value, red.objects) == ("color", "red", (1,))
    assert top.objects == (1, 2)
    assert item.spec.binding is not None
    assert item.spec.binding.relations == (SpatialRelation("top", "{ObjectA} on {ObjectB}", 1, 2),)
    assert decode_item(encode_item(item), "conceptmix") == item


@pytest.mark.parametrize("numbered", ["1. {}", "2) {}", "Question 3: {}", "#4: {}"])
def test_numbers_of_questions_are_kept_and_preambles_left_out(numbered: str, tmp_path: Path) -> None:
    lines = ["Here are the questions:", *(numbered.format(line) for line in SENTENCE["question"] if line)]  # type: ignore[attr-defined]
    (item,) = load("conceptmix", published(tmp_path, {**SENTENCE, "question": lines}))
    assert [asked.question for asked in item.spec.concepts] == lines[1:]
    assert (item.spec.binding, item.tags) == (None, ("line-without-question",))


def test_a_binding_that_changes_what_was_given_is_left_out_and_said(tmp_path: Path) -> None:
    changed = {**BINDING, "objects": [{"id": 1, "item": "fork", "color": "blue"}, {"id": 2, "item": "novel"}]}
    (item,) = load("conceptmix", published(tmp_path, SENTENCE, changed))
    assert (item.tags, item.spec.binding) == (("binding-changed",), None)


@pytest.mark.parametrize(
    ("change", "tags"),
    [
        ({"question": ["Is there a fork?"]}, ["counts-differ-from-k", "concept-without-question"]),
        ({"skills": ["fork"]}, ["unknown-concept", "counts-differ-from-k"]),
        ({"categories": ["object", "object", "colour", "spatial"]}, ["unknown-concept"]),
        ({"sentence": " "}, ["no-prompt"]),
        ({"index": "1"}, ["odd-index"]),
        ({"index": -1}, ["odd-index"]),
        ({"question": 7}, ["broken-text", "counts-differ-from-k", "concept-without-question", "no-questions"]),
        ({"sentence": "A \ud800 fork."}, ["broken-text"]),
        ({"skills": ["fork", "novel", "\ud800", "top"]}, ["broken-text"]),
        ({"skills": ["fork", "novel", " ", "top"]}, ["unknown-concept"]),
        ({"question": [*SENTENCE["question"], "Is it nice?"]}, ["counts-differ-from-k", "question-without-concept"]),  # type: ignore[misc]
        ({"question": "\n".join(SENTENCE["question"])}, []),  # type: ignore[arg-type]
    ],
)
def test_an_odd_record_is_read_and_tagged(change: dict[str, Any], tags: list[str], tmp_path: Path) -> None:
    (item,) = load("conceptmix", published(tmp_path, {**SENTENCE, **change}))
    assert list(item.tags) == tags
    if "no-prompt" not in tags:
        assert decode_item(encode_item(item), "conceptmix") == item


def test_every_question_of_an_odd_record_is_asked_and_every_concept_is_listed(tmp_path: Path) -> None:
    lines = ["Is the sky blue?", "Is there a novel?", "Does the fork lie on the novel?", "Is there a fork?"]
    (item,) = load("conceptmix", published(tmp_path, {**SENTENCE, "question": lines}, BINDING))
    assert item.tags == ("questions-moved", "concept-without-question", "question-without-concept")
    assert [asked.question for asked in item.spec.concepts] == lines
    assert {asked.value: asked.question for asked in item.spec.concepts} == {
        "fork": "Is there a fork?",
        "novel": "Is there a novel?",
        "top": "Does the fork lie on the novel?",
        "": "Is the sky blue?",
    }
    assert item.spec.unasked == (Concept("color", "red"),)
    assert item.spec.drawn.count(Concept("color", "red")) == 1
    write_items([item], tmp_path / "ours")
    assert load("conceptmix", tmp_path / "ours") == [item]
    entry = json.loads((tmp_path / "ours" / "items.jsonl").read_text())
    assert [each["value"] for each in entry["order"]] == SENTENCE["skills"]
    for order in ([], entry["order"][1:], [*entry["unasked"], *entry["concepts"][1:]], "fork"):
        with pytest.raises(FormalimgError, match="order must"):
            decode_item(json.dumps({**entry, "order": order}), "conceptmix")
    for tag, message in (
        ("concept-without-question", "unasked must be"),
        ("question-without-concept", "concepts must"),
    ):
        untagged = {**entry, "tags": [other for other in entry["tags"] if other != tag]}
        with pytest.raises(FormalimgError, match=message):
            decode_item(json.dumps(untagged), "conceptmix")


@pytest.mark.parametrize("indexes", [(1, 1), ([1],), (True,), ("1",), (2,)])
def test_bindings_of_which_nobody_knows_whose_they_are_are_left_out(
    indexes: tuple[object, ...], tmp_path: Path
) -> None:
    folder = published(tmp_path, SENTENCE, BINDING)
    (folder / "300_refined_config_k=3.json").write_text(json.dumps([{**BINDING, "index": each} for each in indexes]))
    (item,) = load("conceptmix", folder)
    assert item.spec.binding is None
    assert item.tags == ("no-binding",)


def test_of_a_field_that_stands_there_twice_the_last_counts(tmp_path: Path) -> None:
    folder = published(tmp_path, SENTENCE)
    file = folder / "300_sentences_k=3.json"
    file.write_text(file.read_text().replace('"sentence"', '"sentence": "Lost.", "sentence"'))
    (item,) = load("conceptmix", folder)
    assert (item.prompt, item.tags) == (SENTENCE["sentence"], ("repeated-field",))


def test_records_without_an_index_of_their_own_are_named_by_their_place(tmp_path: Path) -> None:
    records: list[object] = [SENTENCE, {**SENTENCE, "sentence": "Another fork."}, "no record", {**SENTENCE, "index": 7}]
    (tmp_path / "300_sentences_k=3.json").write_text(json.dumps(records))
    (tmp_path / "300_refined_config_k=3.json").write_text(json.dumps([BINDING]))
    items = {item.id: item for item in load("conceptmix", tmp_path)}
    assert sorted(items) == ["k3-001", "k3-007", "k3-x002", "k3-x003"]
    assert items["k3-001"].tags == ("duplicate-prompt",)
    assert items["k3-x002"].tags == ("odd-index",)
    assert items["k3-x003"].tags[:2] == ("odd-index", "no-prompt")
    assert items["k3-007"].tags == ("no-binding", "duplicate-prompt")


@pytest.mark.parametrize("text", ["{}", "7", "[{", '{"records": []}'])
@pytest.mark.parametrize("name", ["300_sentences_k=3.json", "300_refined_config_k=3.json"])
def test_only_a_file_that_is_no_list_is_an_error(name: str, text: str, tmp_path: Path) -> None:
    folder = published(tmp_path, SENTENCE, BINDING)
    (folder / name).write_text(text)
    with pytest.raises(FormalimgError, match=rf"{name}: (must be a list of records|not valid JSON)"):
        load("conceptmix", folder)


def test_folders_without_sentences_say_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="300_sentences_k=1"):
        load("conceptmix", tmp_path)
    published(tmp_path, SENTENCE)
    (tmp_path / "100_sentences_k=3.json").write_text("[]")
    with pytest.raises(FormalimgError, match="several files of sentences with k=3"):
        load("conceptmix", tmp_path)


def item_of(number: int, k: int) -> Item[ConceptSpec]:
    concepts = [RequestedConcept("object", "fork", "a fork", "Is there a fork?", (1,))]
    concepts += [RequestedConcept("color", "red", "it is red", f"Is it red, {number}?", (1,))] * k
    binding = Binding((BoundObject("fork", {"color": "red"}),))
    return Item(
        "conceptmix", str(number), k, f"Prompt {number}, a fork.", ConceptSpec(tuple(concepts[: k + 1]), binding)
    )


def test_items_are_written_as_published_and_read_back(tmp_path: Path) -> None:
    items = [item_of(number, 1) for number in range(3)]
    write_published_prompts(items, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "3_refined_config_k=1.json",
        "3_sentences_k=1.json",
    ]
    back = load("conceptmix", tmp_path / "out")
    assert [item.prompt for item in back] == [item.prompt for item in items]
    assert [[asked.question for asked in item.spec.concepts] for item in back] == [
        [asked.question for asked in item.spec.concepts] for item in items
    ]
    assert back[0].spec.binding == items[0].spec.binding
    with pytest.raises(FormalimgError, match="is not empty"):
        write_published_prompts(items, tmp_path / "out")


def test_our_own_form_is_read_back_and_checked(tmp_path: Path) -> None:
    items = [item_of(number, 1) for number in range(3)]
    path = write_items(items, tmp_path)
    assert load("conceptmix", tmp_path) == items
    fields = json.loads(path.read_text().splitlines()[0])
    changes: list[tuple[dict[str, object], str]] = [
        ({"level": 2}, "the level is 2, but there are 2 concepts"),
        ({"concepts": [{"category": "object"}]}, "concepts must be a list"),
        ({"binding": {"objects": []}}, "at least one object"),
        ({"binding": {"objects": [{"id": 1, "item": "fork"}]}}, "lacks the color 'red'"),
        ({"binding": {"objects": [{"id": 2, "item": "fork", "color": "red"}]}}, "must count from 1"),
    ]
    for change, message in changes:
        path.write_text(json.dumps({**fields, **change}) + "\n")
        with pytest.raises(FormalimgError, match=message):
            load("conceptmix", tmp_path)


def test_scores_are_worked_out_from_the_records_and_not_believed(tmp_path: Path) -> None:
    whole = ScoredImage("1.png", ("a?", "b?"), (1, 1))
    half = ScoredImage("2.png", ("a?", "b?"), (1, 0))
    path = tmp_path / "m_k=1_score.json"
    path.write_text(format_scores([whole, half]))
    assert read_scores(path) == [whole, half]
    assert json.loads(path.read_text())[-1] == {"proportion_all_correct": 0.5, "average_score_per_image": 0.75}
    # As the published code counts: 4 of 6 questions. The mean of the fractions would be 5 of 8.
    longer = ScoredImage("3.png", ("a?", "b?", "c?", "d?"), (1, 1, 1, 0))
    totals = json.loads(format_scores([half, longer]))[-1]
    assert totals == {"proportion_all_correct": 0.0, "average_score_per_image": 4 / 6}
    # The published code leaves out what was not answered, and takes the image as wholly correct.
    records = [{"image_path": "3.png", "questions": ["a?", " ", "b?"], "scores": [1]}, {"proportion_all_correct": 1}]
    path.write_text(json.dumps(records))
    (unscored,) = read_scores(path)
    assert (unscored.passed, unscored.fraction) == (None, None)
    with pytest.raises(FormalimgError, match="complete scores"):
        format_scores([unscored])
    for text, message in [
        ("[{", "did not end"),
        ("{}", "list of records"),
        ('[{"scores": [2]}]', "record 1: must have"),
    ]:
        path.write_text(text)
        with pytest.raises(FormalimgError, match=message):
            read_scores(path)


def test_images_are_found_by_the_results_beside_them(tmp_path: Path) -> None:
    for k, prompt in ((1, "A cat."), (2, "Two cats.")):
        folder = tmp_path / str(k)
        folder.mkdir()
        (folder / f"1{prompt[:3]}.png").write_bytes(speckled(prompt, 16))
        record = {"prompt": prompt, "image_path": f"/home/someone/out/{k}/1{prompt[:3]}.png"}
        (folder / "result.json").write_text(json.dumps([record, record]))  # the published code adds it with each run
    model = open_folder(str(tmp_path), {})
    matching = model.match(
        [RequestedImage("a", 0, "A cat."), RequestedImage("b", 0, "Two cats."), RequestedImage("c", 0, "No cats.")]
    )
    assert model.settings["layout"] == "conceptmix"
    assert {found.item: found.file for found in matching.found} == {"a": "1/1A c.png", "b": "2/1Two.png"}
    (tmp_path / "1" / "result.json").write_text('[{"prompt": ""}]')
    with pytest.raises(FormalimgError, match=r"1/result.json, record 1: must have a prompt"):
        open_folder(str(tmp_path), {}).match([RequestedImage("a", 0, "A cat.")])


ODD = {
    "counts-differ-from-k": "k5-277 k6-158 k6-253 k7-063 k7-183 k7-269 k7-273",
    "questions-moved": "k2-022 k3-026 k3-087 k3-198 k3-244 k4-111 k5-023 k5-043 k5-087 k5-205 k5-232 k5-292 k6-053 "
    "k6-128 k6-158 k6-218 k6-291",
    "concept-without-question": "k6-053 k6-158 k6-283 k6-291",
    "question-without-concept": "k6-053 k6-283 k6-291",
    "duplicate-prompt": "k1-070 k1-210",
    "binding-changed": "k4-101 k6-276 k7-020",
}
"""The odd records, by tag; each was read by a person."""


def test_all_published_prompts_are_read_and_the_odd_ones_tagged(tmp_path: Path) -> None:
    items = published_concept_items()
    assert len(items) == 2_100
    assert sum(len(item.spec.concepts) for item in items) == 10_503
    assert {level: sum(item.level == level for item in items) for level in range(1, 8)} == dict.fromkeys(
        range(1, 8), 300
    )
    found: dict[str, list[str]] = {}
    for item in items:
        for tag in item.tags:
            found.setdefault(tag, []).append(item.id)
    assert found == {tag: ids.split() for tag, ids in ODD.items()}
    write_items(items, tmp_path)
    assert load("conceptmix", tmp_path) == items


def test_questions_and_concepts_stay_as_published_word_for_word(tmp_path: Path) -> None:
    items = [item for item in published_concept_items() if item.spec.binding is not None]
    assert len(items) == 2_097
    levels: dict[int, dict[int, Any]] = {}
    for path in (published_concepts() / "sentence_collection").glob("*_sentences_k=*.json"):
        records = json.loads(path.read_text(encoding="utf-8"))
        levels[int(path.stem[-1])] = {record["index"]: record for record in records}
    write_published_prompts(items, tmp_path / "copy")
    for level in levels:
        (path,) = (tmp_path / "copy").glob(f"*_sentences_k={level}.json")
        indexes = (int(item.id[3:]) for item in items if item.level == level)
        for index, copied in zip(indexes, json.loads(path.read_text(encoding="utf-8")), strict=True):
            published = levels[level][index]
            asked = [line for line in published["question"] if line.strip()]
            assert {**copied, "index": index} == {**published, "question": asked}


PLAIN = (None, True, 0, -1, 7, 1.5, float("nan"), 10**30, "", " ", "?", "Is it?", "\ud800", "\u202e\0", "x" * 5_000)
NESTED: tuple[Any, ...] = ([], [None], ["a", 3], {}, {"a": []}, [[[]]], ["object"] * 40)


def _strange(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice((*PLAIN, *NESTED)))


def _replace(record: dict[str, Any], rng: random.Random) -> Any:
    record[rng.choice(list(record))] = _strange(rng)
    return record


def _drop(record: dict[str, Any], rng: random.Random) -> Any:
    del record[rng.choice(list(record))]
    return record


def _replace_inside(record: dict[str, Any], rng: random.Random) -> Any:
    lists = [value for value in record.values() if isinstance(value, list) and value]
    if lists:
        inside = rng.choice(lists)
        inside[rng.randrange(len(inside))] = _strange(rng)
    return record


def _shorten(record: dict[str, Any], rng: random.Random) -> Any:
    for value in record.values():
        if isinstance(value, list) and value and rng.random() < 0.5:
            del value[rng.randrange(len(value)) :]
    return record


def _repeat(record: dict[str, Any], rng: random.Random) -> Any:
    for value in record.values():
        if isinstance(value, list) and rng.random() < 0.5:
            value.extend(value * rng.randrange(1, 30))
            rng.shuffle(value)
    return record


def _replace_object(record: dict[str, Any], rng: random.Random) -> Any:
    for entry in [*record.get("objects", ()), *record.get("relation", ())]:
        if rng.random() < 0.5:
            entry[rng.choice([*entry, "name", "color", "odd"])] = _strange(rng)
    return record


MUTATIONS: tuple[Callable[[dict[str, Any], random.Random], Any], ...] = (
    _replace,
    _replace,
    _drop,
    _replace_inside,
    _shorten,
    _repeat,
    _replace_object,
    lambda record, rng: _strange(rng),
)


@pytest.mark.parametrize("seed", range(tries(1, 15)))
def test_no_damage_to_single_records_stops_the_others(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    level = rng.randrange(1, 8)
    source = published_concepts() / "sentence_collection"
    names = (f"300_sentences_k={level}.json", f"300_refined_config_k={level}.json")
    files = [json.loads((source / name).read_text(encoding="utf-8")) for name in names]
    whole = {item.id: item for item in load("conceptmix", source / names[0])}
    damaged = rng.sample(range(300), 30)
    for place in damaged:
        records = rng.choice(files)
        records[place] = rng.choice(MUTATIONS)(records[place], rng)
    for name, records in zip(names, files, strict=True):
        (tmp_path / name).write_text(json.dumps(records), encoding="utf-8")
    items = {item.id: item for item in load("conceptmix", tmp_path)}
    assert len(items) == 300
    untouched = {f"k{level}-{place + 1:03}" for place in range(300) if place not in damaged}
    # A damaged index or prompt may be that of another record.
    same = {id_ for id_ in untouched if items.get(id_) == whole[id_]}
    assert len(untouched) - len(same) <= 3
    for item in items.values():
        assert set(item.tags) <= set(ODD_TAGS)
        if "no-prompt" not in item.tags:
            assert decode_item(encode_item(item), "conceptmix") == item
