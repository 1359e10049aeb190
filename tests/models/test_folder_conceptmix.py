"""Images in the layout of ConceptMix's scripts: an index and the beginning of the prompt, without anything between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from formalimg import FormalimgError
from formalimg.models.folder.file_matching import RequestedImage
from formalimg.models.folder.folder_model import open_folder
from tests.support.published import published_concept_items, published_concepts
from tests.support.sizes import tries


def _official_name(index: int, prompt: str) -> str:
    """The name, written anew from the description of the published scripts."""
    start = "_".join(prompt[:50].split(" "))
    return f"{index}{''.join(letter for letter in start if letter.isalnum() or letter == '_')}.png"


def _put(folder: Path, images: Sequence[tuple[int, int, str]], *, results: bool) -> None:
    """Write the images of (k, index, prompt); each file holds its own k and index."""
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


def test_samples_are_read_from_the_names(tmp_path: Path) -> None:
    _put(tmp_path, [(1, 7, "A cat.")], results=False)
    (tmp_path / "1" / "7A_cat_2.png").write_bytes(b"2")
    model = open_folder(str(tmp_path), {})
    wanted = [RequestedImage("k1-007", sample, "A cat.") for sample in range(3)]
    assert {one.sample: one.file for one in model.match(wanted).found} == {0: "1/7A_cat.png", 2: "1/7A_cat_2.png"}
