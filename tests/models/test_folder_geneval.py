"""Images as GenEval keeps them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from tests.models.test_folder_round_trip import image, images_found, opened, put, wanted


def test_prompts_beside_the_images_decide_over_the_numbers(tmp_path: Path) -> None:
    for place, item in enumerate([2, 0, 1]):
        put(
            tmp_path / f"{place:05}",
            {
                "samples/0000.png": image(item),
                "metadata.jsonl": json.dumps({"tag": "single_object", "include": [], "prompt": f"prompt {item}"}),
                "grid.png": image(99),
            },
        )
    model = opened(tmp_path)
    assert model.settings["layout"] == "geneval"
    assert images_found(model, wanted(3)) == {(str(item), 0): image(item) for item in range(3)}
    assert model.match(wanted(3)).extra == ()


def test_a_prompt_that_nobody_asked_for_is_not_taken_by_number(tmp_path: Path) -> None:
    put(tmp_path, {"00000/samples/0000.png": image(0), "00000/metadata.jsonl": '{"prompt": "something else"}'})
    put(tmp_path, {"00001/samples/0000.png": image(1)})
    matching = opened(tmp_path).match(wanted(2))
    assert [found.item for found in matching.found] == ["1"]
    assert matching.extra == ("00000/samples/0000.png",)


def test_a_prompt_of_two_items_is_refused(tmp_path: Path) -> None:
    wishes = [one._replace(prompt="the same") for one in wanted(2)]
    put(tmp_path, {"00000/samples/0000.png": image(0), "00000/metadata.jsonl": '{"prompt": "the same"}'})
    with pytest.raises(FormalimgError, match=r"00000/metadata\.jsonl: items 0 and 1 have the same prompt"):
        opened(tmp_path).match(wishes)


def test_a_number_and_a_prompt_for_the_same_item_are_refused(tmp_path: Path) -> None:
    put(tmp_path, {"00000/samples/0000.png": image(0), "00001/samples/0000.png": image(1)})
    put(tmp_path, {"00001/metadata.jsonl": '{"prompt": "prompt 0"}'})
    with pytest.raises(FormalimgError, match="different files for the same image"):
        opened(tmp_path).match(wanted(2))


def test_numbers_beyond_what_is_wanted_are_not_guessed(tmp_path: Path) -> None:
    """Items 5 and 6 are wanted, and the folder is of the whole suite: number 0 is not item 5."""
    put(tmp_path, {f"{place:05}/samples/0000.png": image(place) for place in range(10)})
    with pytest.raises(FormalimgError, match="beyond the 2 wanted items"):
        opened(tmp_path).match(wanted(10)[5:7])


def test_numbers_count_in_the_whole_suite_where_its_order_is_known(tmp_path: Path) -> None:
    put(tmp_path, {f"{place:05}/samples/0000.png": image(place) for place in range(10)})
    wishes = [one._replace(number=int(one.item)) for one in wanted(10)[5:7]]
    model = opened(tmp_path)
    assert images_found(model, wishes) == {("5", 0): image(5), ("6", 0): image(6)}
    assert len(model.match(wishes).extra) == 8


@pytest.mark.parametrize("text", ["{oops}", "[1]", '{"prompt": 3}'])
def test_bad_metadata_is_named(tmp_path: Path, text: str) -> None:
    put(tmp_path, {"00000/samples/0000.png": image(0), "00000/metadata.jsonl": text})
    with pytest.raises(FormalimgError, match=r"^00000/metadata\.jsonl, line 1: "):
        opened(tmp_path).match(wanted(1))


def test_other_images_are_extra(tmp_path: Path) -> None:
    put(tmp_path, {"00000/samples/0000.png": image(0), "00000/samples/best.png": image(1), "0.png": image(2)})
    assert opened(tmp_path).match(wanted(1)).extra == ("0.png", "00000/samples/best.png")
