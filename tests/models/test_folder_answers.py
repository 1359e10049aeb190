"""Answers of a folder of images, and reports on what it holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated
from formalimg.models.folder import file_matching
from tests.models.test_folder_round_trip import FORMATS, answers, image, opened, put, wanted


@pytest.mark.parametrize("ending", list(FORMATS))
def test_bytes_are_given_as_they_are(tmp_path: Path, ending: str) -> None:
    model = opened(put(tmp_path, {f"0.{ending}": image(3, ending)}))
    model.match(wanted(1))
    assert answers(model, wanted(1)) == [Generated(image(3, ending), {"file": f"0.{ending}", "matched_by": "id"})]


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


def test_absurdly_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_matching, "_MAX_FILES", 3)
    put(tmp_path, {f"{item}/0.png": image(item) for item in range(4)})
    with pytest.raises(FormalimgError, match="holds more than 3 files: give the folder of the images itself"):
        opened(tmp_path)
