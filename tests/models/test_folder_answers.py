"""Answers of a folder of images, and reports on what it holds."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated
from formalimg.models.folder import file_matching
from formalimg.models.folder.folder_model import FolderModel, open_folder
from formalimg.types import ImageModel
from tests.models.test_folder_round_trip import FORMATS, answers, image, images_found, opened, put, wanted
from tests.support.sizes import tries


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


def test_the_report_counts_and_names(tmp_path: Path) -> None:
    put(tmp_path, {f"{item}.png": image(item) for item in range(1200)})
    put(tmp_path, {"1200.png.blocked": "", "0.PNG": image(0), "notes.png": image(1), "1201.gif": image(2)})
    told = opened(tmp_path).match(wanted(1300)).summary()
    assert told.splitlines() == [
        f"images in {tmp_path} (layout published)",
        "  found      1,200  of 1,300 wanted: 1,200 by id",
        "  blocked        1  item 1200",
        "  missing       99  item 1201, item 1202, item 1203 and 96 more",
        "  extra          2  1201.gif, notes.png",
        "  twice          1  0.PNG = 0.png",
    ]


def test_samples_are_named_where_there_are_several(tmp_path: Path) -> None:
    told = opened(put(tmp_path, {"0_0.png": image(0)})).match(wanted(1, samples=3)).summary()
    assert "  missing    2  item 0 sample 1, item 0 sample 2" in told


def test_different_files_for_an_image_are_refused_and_named(tmp_path: Path) -> None:
    put(tmp_path, {"7.png": image(0), "7.jpg": image(0, "jpg"), "3.png": image(1), "3_0.png": image(2)})
    with pytest.raises(FormalimgError) as caught:
        opened(tmp_path).match(wanted(9))
    assert "3.png and 3_0.png (item 3, sample 0), 7.jpg and 7.png (item 7, sample 0)" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_of_the_same_size_may_still_differ(tmp_path: Path) -> None:
    content = image(0)
    put(tmp_path, {"0.png": content, "00.png": content[:-1] + b"!"})
    with pytest.raises(FormalimgError, match="different files"):
        opened(tmp_path).match(wanted(1))


def test_differing_files_of_an_unwanted_item_do_not_matter(tmp_path: Path) -> None:
    put(tmp_path, {"0.png": image(0), "7.png": image(1), "7.webp": image(2, "webp")})
    assert opened(tmp_path).match(wanted(1)).extra == ("7.png", "7.webp")


def test_names_are_told_in_the_order_people_count(tmp_path: Path) -> None:
    put(tmp_path, dict.fromkeys(["0.png", "10.png", "9.png", "0011.png", "008.png"], image(0)))
    assert opened(tmp_path).match(wanted(1)).extra == ("008.png", "9.png", "10.png", "0011.png")


def test_hidden_files_and_litter_are_passed_over(tmp_path: Path) -> None:
    litter = [".DS_Store", "._0.png", "Thumbs.db", ".cache/1.png", "__MACOSX/2.png", "desktop.ini", "0.json", "a.txt"]
    put(tmp_path, {"0.png": image(0), **dict.fromkeys(litter, image(1))})
    matching = opened(tmp_path).match(wanted(3))
    assert (len(matching.found), matching.extra) == (1, ())


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["cat.png", "dog.png"], r"none of its 2 images \(cat\.png, dog\.png\) is one of the 5 wanted: looked for 0"),
        (["0_1.png"], r"\(0_1\.png\) is one of the 5 wanted: looked for 0\.png or 0_0\.png"),
        (["0.gif"], r"none of its 1 images \(0\.gif\)"),
        ([], r"holds no images: it should have files such as 0\.png"),
        (["notes.txt"], r"holds no images"),
        (["run.toml", "images/x.png", "images/metadata.jsonl"], r"perhaps .*/images was meant"),
        (["00007/samples/0000.png", "00007/metadata.jsonl"], r"looked for 00000/samples/0000\.png, or the prompt"),
    ],
)
def test_a_folder_with_nothing_wanted_is_an_error_that_helps(tmp_path: Path, files: list[str], message: str) -> None:
    contents = {name: '{"prompt": "?", "file_name": "x.png"}' if name.endswith("jsonl") else "" for name in files}
    with pytest.raises(FormalimgError, match=message) as caught:
        opened(put(tmp_path, contents)).match(wanted(5))
    assert "\n" not in str(caught.value)


def test_metadata_with_nothing_wanted_says_what_was_looked_for(tmp_path: Path) -> None:
    put(tmp_path, {"x.png": "", "metadata.jsonl": '{"prompt": "?", "file_name": "x.png"}'})
    with pytest.raises(FormalimgError, match=r"looked for item 0 or the prompt 'prompt 0' \(layout=imagefolder\)"):
        opened(tmp_path).match(wanted(5))


def test_metadata_whose_files_are_all_gone_say_so(tmp_path: Path) -> None:
    put(tmp_path, {"metadata.jsonl": '{"item": 0, "file_name": "x.png"}'})
    with pytest.raises(FormalimgError, match=r"the images that it names are not there, such as x\.png"):
        opened(tmp_path).match(wanted(5))


def test_folders_that_lie_in_themselves_end(tmp_path: Path) -> None:
    put(tmp_path, {"0.png": image(0), "1/0.png": image(1)})
    (tmp_path / "1/again").symlink_to(tmp_path)
    model = opened(tmp_path)
    assert len(images_found(model, wanted(2))) == 2
    assert model.match(wanted(2)).extra == ()


def test_absurdly_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_matching, "_MAX_FILES", 3)
    put(tmp_path, {f"{item}/0.png": image(item) for item in range(4)})
    with pytest.raises(FormalimgError, match="holds more than 3 files: give the folder of the images itself"):
        opened(tmp_path)


def test_many_files_are_looked_at_once(tmp_path: Path) -> None:
    """The time is printed, not asserted: see it with `pytest -s`."""
    many = tries(2_000, 20_000)
    for item in range(many):
        (tmp_path / f"{item}.png").touch()
    start = time.perf_counter()
    model = opened(tmp_path)
    scanned = time.perf_counter()
    matching = model.match(wanted(many))
    matched = time.perf_counter()
    print(f"{many:,} files: looked at in {scanned - start:.2f} s, matched in {matched - scanned:.2f} s")
    assert len(matching.found) == many
    assert [found.file for found in matching.found[9:11]] == ["9.png", "10.png"]
