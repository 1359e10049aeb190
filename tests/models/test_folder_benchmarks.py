"""Layouts of premade images that benchmarks bring along."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import RequestedImage
from formalimg.models.folder.folder_model import open_folder
from tests.models.test_folder_round_trip import image, images_found, opened, put
from tests.support.published import published_concept_items, published_concepts
from tests.support.sizes import tries

GROUPS = ("biology-0", "physics-classical-mechanics-12", "physics-optics-12")
TREES = {
    "biology": "Biology",
    "physics-classical-mechanics": "physics/Classical Mechanics",
    "physics-optics": "physics/Optics",
}


def requested(*items: str, samples: int = 1) -> list[RequestedImage]:
    return [RequestedImage(item, sample, f"prompt of {item}") for item in items for sample in range(samples)]


SUITE = requested(*(f"{group}-l{level}" for group in GROUPS for level in (1, 2, 3)))
EXPLICIT = requested(*(f"{group}-l2" for group in GROUPS))


def levels(base: str = "", ending: str = "png", first: int = 0) -> dict[str, bytes | str]:
    files: dict[str, bytes | str] = {}
    for number, (item, *_) in enumerate(SUITE, first):
        tree, group, level = item.rsplit("-", 2)
        files[f"{base}{TREES[tree]}/{group}_{level}.{ending}"] = image(number, ending)
    return files


def reworded(base: str = "de-norm/") -> dict[str, bytes | str]:
    return {
        f"{base}{TREES[group.rpartition('-')[0]]}/{group.rpartition('-')[2]}.png": image(50 + number)
        for number, group in enumerate(GROUPS)
    }


@pytest.mark.parametrize("inside", ["", "output", "output/my-model"])
@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_any_folder_above_the_trees_will_do(tmp_path: Path, inside: str, ending: str) -> None:
    model = opened(put(tmp_path, levels("output/my-model/", ending)) / inside)
    assert model.settings["layout"] == "cf-world"
    found = images_found(model, SUITE)
    assert found == {(one.item, 0): image(number, ending) for number, one in enumerate(SUITE)}


def test_folders_within_a_tree_are_known_by_their_own_names(tmp_path: Path) -> None:
    put(tmp_path, levels("my-model/"))
    assert len(images_found(opened(tmp_path / "my-model/physics"), SUITE)) == 6
    optics = images_found(opened(tmp_path / "my-model/physics/Optics"), SUITE)
    assert optics.keys() == {(f"physics-optics-12-l{level}", 0) for level in (1, 2, 3)}


def test_several_models_are_an_error_that_lists_them(tmp_path: Path) -> None:
    put(tmp_path, {**levels("one/"), **levels("two/", first=20)})
    with pytest.raises(FormalimgError, match="2 models: give one of one, two"):
        opened(tmp_path).match(SUITE)
    assert len(images_found(opened(tmp_path / "two"), SUITE)) == len(SUITE)


def test_samples_have_numbers_and_the_first_may_go_without(tmp_path: Path) -> None:
    put(tmp_path, {"Biology/0_l1.png": image(0), "Biology/0_l1_1.png": image(1), "Biology/0_l1_7.png": image(7)})
    model = opened(tmp_path)
    wishes = requested("biology-0-l1", samples=2)
    assert images_found(model, wishes) == {("biology-0-l1", sample): image(sample) for sample in (0, 1)}
    assert model.match(wishes).extra == ("Biology/0_l1_7.png",)


@pytest.mark.parametrize("inside", ["", "my-model", "my-model/de-norm", "my-model/de-norm/physics"])
def test_the_denominalised_are_found_in_their_folder(tmp_path: Path, inside: str) -> None:
    found = images_found(opened(put(tmp_path, reworded("my-model/de-norm/")) / inside), EXPLICIT)
    expected = {(f"{group}-l2", 0): image(50 + number) for number, group in enumerate(GROUPS)}
    assert found == {key: data for key, data in expected.items() if "physics" not in inside or "physics" in key[0]}


def test_the_denominalised_are_never_taken_for_the_suite_itself(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {**levels(), **reworded()}))
    assert images_found(model, SUITE) == {(one.item, 0): image(number) for number, one in enumerate(SUITE)}
    assert {*model.match(SUITE).extra} == {*reworded()}
    with pytest.raises(FormalimgError, match=r"both wordings, Biology/0_l2\.png and de-norm/Biology/0\.png"):
        model.match(EXPLICIT)
    assert len(images_found(opened(tmp_path / "de-norm"), EXPLICIT)) == 3


def test_probes_with_the_same_numbers_are_told_apart(tmp_path: Path) -> None:
    put(tmp_path, {"my-model/rule_decouple/93.png": image(1), **levels("my-model/")})
    pairs = "my-model/sampled_Attribute_decoupling"
    put(tmp_path, {f"{pairs}/93.png": image(2), f"{pairs}/93_factual.jpg": image(3, "jpg")})
    rule, both = requested("rule-15-93", "rule-1-9"), requested("pair-93-common", "pair-93-rare")
    for folder in (tmp_path, tmp_path / "my-model", tmp_path / "my-model/rule_decouple"):
        assert images_found(opened(folder), rule) == {("rule-15-93", 0): image(1)}
    for folder in (tmp_path, tmp_path / pairs):
        assert images_found(opened(folder), both) == {
            ("pair-93-rare", 0): image(2),
            ("pair-93-common", 0): image(3, "jpg"),
        }


def test_names_that_mean_nothing_here_are_extra(tmp_path: Path) -> None:
    odd = ["Biology/0.png", "Biology/00_l1.png", "Biology/0_l4.png", "History/0_l1.png", "Biology/0_factual.png"]
    model = opened(put(tmp_path, {**levels(), **{name: image(90) for name in odd}}))
    assert {*model.match(SUITE).extra} == {*odd}


def _official_name(index: int, prompt: str) -> str:
    start = "_".join(prompt[:50].split(" "))
    return f"{index}{''.join(letter for letter in start if letter.isalnum() or letter == '_')}.png"


def _put(folder: Path, images: Sequence[tuple[int, int, str]], *, results: bool) -> None:
    records: dict[int, list[dict[str, object]]] = {}
    for k, index, prompt in images:
        place = folder / str(k)
        place.mkdir(parents=True, exist_ok=True)
        (place / _official_name(index, prompt)).write_bytes(f"{k} {index}".encode())
        path = f"/n/fs/someone/out/m/{k}/{_official_name(index, prompt)}"
        records.setdefault(k, []).append({"num_skills": k, "prompt": prompt, "image_path": path, "question": []})
    for k, those in records.items() if results else ():
        # The scripts append all records again each time they run.
        (folder / str(k) / "result.json").write_text(json.dumps([*those, *those]), encoding="utf-8")


def _matched(folder: Path, wanted: Sequence[tuple[str, str]]) -> dict[str, str]:
    model = open_folder(str(folder), {})
    assert model.settings["layout"] == "conceptmix"
    found = model.match([RequestedImage(item, 0, prompt, suite="conceptmix") for item, prompt in wanted]).found
    return {one.item: (folder / one.file).read_text() for one in found}


@pytest.mark.parametrize("results", [True, False])
def test_all_published_images_are_found_by_name(results: bool, tmp_path: Path) -> None:
    published = []
    for k in range(1, 8, tries(3, 1)):
        file = published_concepts() / "sentence_collection" / f"300_sentences_k={k}.json"
        published += [(k, one["index"], one["sentence"]) for one in json.loads(file.read_text(encoding="utf-8"))]
    _put(tmp_path / "m", published, results=results)
    levels = {k for k, *_ in published}
    items = [item for item in published_concept_items() if item.level in levels]
    found = _matched(tmp_path / "m", [(item.id, item.prompt) for item in items])
    assert found == {f"k{k}-{index:03}": f"{k} {index}" for k, index, _ in published}
    one_level = _matched(tmp_path / "m" / "1", [(item.id, item.prompt) for item in items if item.level == 1])
    assert one_level["k1-210"] == "1 210"


TWINS = [(1, 7, "A cat."), (1, 70, "A cat."), (1, 2, "22 cats in a very long row, one behind the other, and a dog.")]
ALIKE = (1, 12, "2 cats in a very long row, one behind the other, and a cow.")


@pytest.mark.parametrize("results", [True, False])
def test_equal_prompts_and_prompts_that_begin_with_digits(results: bool, tmp_path: Path) -> None:
    # 222_cats… is 2 with 22 cats, 122_cats… is 12 with 2 cats.
    _put(tmp_path, [*TWINS, ALIKE], results=results)
    wanted = [(f"k{k}-{index:03}", prompt) for k, index, prompt in [*TWINS, ALIKE]]
    everything = {"k1-007": "1 7", "k1-070": "1 70", "k1-002": "1 2", "k1-012": "1 12"}
    assert _matched(tmp_path, wanted) == everything
    assert _matched(tmp_path, wanted[1:3]) == {"k1-070": "1 70", "k1-002": "1 2"}


def test_equal_prompts_of_own_items_are_in_the_order_of_the_indexes(tmp_path: Path) -> None:
    _put(tmp_path / "m", TWINS, results=True)
    assert _matched(tmp_path / "m", [("4", "A cat."), ("90", "A cat.")]) == {"4": "1 7", "90": "1 70"}
    with pytest.raises(FormalimgError, match="items 4 and 5 have this prompt: add item"):
        _matched(tmp_path / "m", [("4", "A cat."), ("5", "A cat."), ("6", "A cat.")])
    _put(tmp_path / "bare", TWINS, results=False)
    with pytest.raises(FormalimgError, match=r"can be the image of items 4 and 5: put the result.json"):
        _matched(tmp_path / "bare", [("4", "A cat."), ("5", "A cat.")])


def test_an_image_of_another_prompt_is_never_taken(tmp_path: Path) -> None:
    _put(tmp_path / "m", TWINS, results=True)
    changed = "22 cats in a very long row, one behind the other, and a horse."
    assert _matched(tmp_path / "m", [("k1-002", changed), ("k1-007", "A cat.")]) == {"k1-007": "1 7"}


def test_the_folder_of_several_models_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        _put(tmp_path / name, TWINS, results=name == "one")
    with pytest.raises(FormalimgError, match="holds the images of 2 models: give one of one, two"):
        _matched(tmp_path, [("k1-007", "A cat.")])
