"""What a folder says as an image model: files as they are, and reasons where there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated
from formalimg.models.folder.folder_model import FolderModel, open_folder
from formalimg.types import ImageModel
from tests.models.test_folder_round_trip import FORMATS, answers, image, opened, put, wanted


@pytest.mark.parametrize("ending", list(FORMATS))
def test_bytes_are_given_as_they_are(tmp_path: Path, ending: str) -> None:
    model = opened(put(tmp_path, {f"0.{ending}": image(3, ending)}))
    model.match(wanted(1))
    assert answers(model, wanted(1)) == [Generated(image(3, ending), {"file": f"0.{ending}", "matched_by": "id"})]


def test_it_is_an_image_model_by_the_name_the_user_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"pics/0.png": image(0)})
    monkeypatch.chdir(tmp_path)
    model: ImageModel = open_folder("./pics", {})
    assert (model.name, model.batch, model.concurrency, model.sees_spec) == ("folder/./pics", 1, 16, False)
    assert model.settings == open_folder("./pics", {"layout": "published"}).settings


def test_a_missing_image_fails_with_its_item_and_folder(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0.png": image(0)}))
    model.match(wanted(20))
    assert answers(model, wanted(20))[17] == Failed(f"no image for item 17, sample 0 in {tmp_path}", absent=True)


@pytest.mark.parametrize("content", [b"", b"<html>Too many requests</html>", b"GIF89a", b"RIFF....WAVE"])
def test_files_that_are_no_images_are_handed_on_for_others_to_see(tmp_path: Path, content: bytes) -> None:
    model = opened(put(tmp_path, {"0.png": content}))
    model.match(wanted(1))
    assert answers(model, wanted(1)) == [Generated(content, {"file": "0.png", "matched_by": "id"})]


def test_a_file_that_is_too_large_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.models.folder.folder_model._MAX_BYTES", 50)
    model = opened(put(tmp_path, {"0.png": image(0)}))
    model.match(wanted(1))
    assert answers(model, wanted(1)) == [Failed(f"0.png in {tmp_path} is too large for an image")]


def test_a_file_that_vanishes_fails(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0.png": image(0)}))
    model.match(wanted(1))
    (tmp_path / "0.png").unlink()
    assert answers(model, wanted(1)) == [Failed(f"cannot read 0.png in {tmp_path}: No such file or directory")]
    assert model.fingerprint("0", 0) == ""


def test_fingerprints_follow_the_files(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0.png": image(0), "1.png": image(0), "2.png.blocked": ""}))
    model.match(wanted(4))
    first = model.fingerprint("0", 0)
    assert first == model.fingerprint("0", 0) != ""
    os.utime(tmp_path / "1.png", ns=(0, (tmp_path / "0.png").stat().st_mtime_ns))
    assert model.fingerprint("1", 0) != first, "another file, even of the same size and time"
    os.utime(tmp_path / "0.png", ns=(0, 1))
    touched = model.fingerprint("0", 0)
    assert touched != first
    (tmp_path / "0.png").write_bytes(image(0) + b"more")
    os.utime(tmp_path / "0.png", ns=(0, 1))
    assert model.fingerprint("0", 0) not in (first, touched)
    assert model.fingerprint("2", 0) != ""
    assert model.fingerprint("3", 0) == ""


def test_asking_before_matching_is_a_bug_of_the_caller(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0.png": image(0)}))
    with pytest.raises(RuntimeError, match="match must be called"):
        answers(model, wanted(1))


def test_names_that_are_no_text_can_still_be_stored(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    try:
        put(tmp_path, {f"{odd}/0.png": image(0)})
    except OSError:
        pytest.skip("this file system only takes names that are text")
    put(tmp_path, {"map.json": '{"0": "caf\\udce9/0.png"}'})
    model = opened(tmp_path / "map.json")
    model.match(wanted(1))
    assert answers(model, wanted(1)) == [Generated(image(0), {"file": "caf?/0.png", "matched_by": "id"})]
    assert model.fingerprint("0", 0).encode("utf-8").startswith(b"caf?/0.png:")


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("nowhere", {}, r"there is no folder 'nowhere'"),
        ("", {}, r"there is no folder ''"),
        ("x" * 5000, {}, r"there is no folder"),
        ("~nobody-of-this-name/x", {}, r"there is no folder"),
        ("a.png", {}, r"a\.png is a file: give the folder of the images, or a map"),
        ("a.png", {"layout": "published"}, r"a\.png is a file"),
        (".", {"layout": "map"}, r"\. is a folder: layout=map needs the file that maps"),
        (
            ".",
            {"layout": "flat"},
            r"unknown layout 'flat': known are imagefolder, conceptmix, cf-world, questions, geneval, "
            "t2i-compbench, drawbench, published, map",
        ),
        (".", {"lay": "map"}, r"unknown option 'lay': known are layout, grid and files"),
    ],
)
def test_wrong_paths_and_options_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, options: dict[str, str], message: str
) -> None:
    put(tmp_path, {"a.png": image(0)})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormalimgError, match=message) as caught:
        open_folder(path, options)
    assert "\n" not in str(caught.value)


def test_a_layout_that_is_asked_for_is_kept_to(tmp_path: Path) -> None:
    put(tmp_path, {"0.png": image(0), "00001/samples/0000.png": image(1)})

    def found(model: FolderModel) -> list[str]:
        return [one.item for one in model.match(wanted(2)).found]

    assert found(opened(tmp_path)) == ["1"]
    assert found(opened(tmp_path, layout="published")) == ["0"]
    with pytest.raises(FormalimgError, match=r"has no metadata\.jsonl or metadata\.csv"):
        found(opened(tmp_path, layout="imagefolder"))
