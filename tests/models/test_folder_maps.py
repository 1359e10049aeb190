"""JSON files that say which image is where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from tests.models.test_folder_round_trip import image, images_found, opened, put, wanted


def mapped(folder: Path, content: Any) -> Path:
    put(folder, {"map.json": json.dumps(content)})
    return folder / "map.json"


def test_paths_may_lead_anywhere(tmp_path: Path) -> None:
    put(tmp_path, {"out/zero.png": image(0), "out/one": image(1), "maps/two.PNG": image(2)})
    path = mapped(tmp_path / "maps", {"0": "../out/zero.png", "001": str(tmp_path / "out/one"), "2": "two.PNG"})
    assert images_found(opened(path), wanted(4)) == {(str(item), 0): image(item) for item in range(3)}


def test_lists_are_samples_in_their_order(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": image(0), "b.png": image(1)})
    path = mapped(tmp_path, {"0": ["b.png", "a.png"], "1": []})
    assert images_found(opened(path), wanted(2, samples=2)) == {("0", 0): image(1), ("0", 1): image(0)}


def test_entries_may_name_items_or_prompts(tmp_path: Path) -> None:
    put(tmp_path, {f"{name}.png": image(number) for number, name in enumerate("abc")})
    content = [
        {"item": 2, "path": "a.png"},
        {"id": "0", "file": "b.png", "note": "mine"},
        {"prompt": "prompt 1", "image": "c.png"},
    ]
    expected = {("2", 0): image(0), ("0", 0): image(1), ("1", 0): image(2)}
    assert images_found(opened(mapped(tmp_path, content)), wanted(3)) == expected


def test_items_that_nobody_wants_are_extra_and_lost_files_are_told(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": image(0)})
    matching = opened(mapped(tmp_path, {"0": "a.png", "9": "a.png", "1": "gone.png", "8": "gone.png"})).match(wanted(2))
    assert (matching.extra, matching.absent) == (("a.png",), ("gone.png",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"0": 3}', r"map\.json, item 0: file must name a file"),
        ('{"0": ["a.png", null]}', r"map\.json, item 0: file must name a file"),
        ('{"0": "a.png", "0": "b.png"}', "'0' occurs twice"),
        ('[{"item": 0, "file": "a.png"}, 7]', r"map\.json, entry 2: must be an object"),
        ('[{"item": 0}]', r"map\.json, entry 1: file_name or file or path or image must name a file"),
        ("7", r"map\.json must be an object"),
        ("", r"cannot be read as JSON"),
        ("{}", "holds no images"),
    ],
)
def test_bad_maps_are_told(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path, {"map.json": text, "a.png": image(0)})
    with pytest.raises(FormalimgError, match=message):
        opened(tmp_path / "map.json").match(wanted(1))


@pytest.mark.parametrize("name", ["x" * 5000, "\udc80.png", "a.png/b.png"])
def test_names_that_no_file_can_have_are_not_there(tmp_path: Path, name: str) -> None:
    put(tmp_path, {"a.png": image(0)})
    assert len(opened(mapped(tmp_path, {"0": "a.png", "1": name})).match(wanted(2)).absent) == 1


def test_a_map_by_another_name_needs_to_be_called_one(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": image(0), "pictures.txt": '{"0": "a.png"}'})
    assert len(images_found(opened(tmp_path / "pictures.txt", layout="map"), wanted(1))) == 1
    with pytest.raises(FormalimgError, match="is a file: give the folder"):
        opened(tmp_path / "pictures.txt")
