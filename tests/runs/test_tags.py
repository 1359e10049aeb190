"""Tags and notes beside a run: what is stored, what is refused, and that nobody loses an edit unnoticed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.runs import RunTags, TagsChangedError, read_tags, write_tags
from formalimg.runs import tags as tags_of_runs


def test_what_is_written_is_read_back_without_spaces_and_repetitions(tmp_path: Path) -> None:
    assert read_tags(tmp_path) == RunTags()
    saved = write_tags(tmp_path, [" ablation ", "ablation", "größer"], " two\r\nlines ", version="")
    assert saved[:2] == (("ablation", "größer"), "two\nlines")
    assert read_tags(tmp_path) == saved
    assert {path.name for path in tmp_path.iterdir()} <= {"tags.json", ".tags.lock"}


def test_who_has_not_seen_the_last_edit_cannot_replace_it(tmp_path: Path) -> None:
    first = write_tags(tmp_path, ["first"], "", version="")
    with pytest.raises(TagsChangedError) as changed:
        write_tags(tmp_path, ["second"], "", version="")
    assert changed.value.current == first == read_tags(tmp_path)
    assert write_tags(tmp_path, ["second"], "", version=first.version).tags == ("second",)


def test_of_many_who_save_at_once_one_is_saved_and_the_others_know(tmp_path: Path) -> None:
    def save(number: int) -> bool:
        try:
            write_tags(tmp_path, [f"tag {number}"], "", version="")
        except TagsChangedError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(save, range(16))) == 1


@pytest.mark.parametrize(
    "tags", [["a,b"], ["x" * 41], ["line\nbreak"], ["  "], [f"{n}" for n in range(21)], ["\ud800"]]
)
def test_tags_that_could_not_be_read_back_are_refused(tmp_path: Path, tags: list[str]) -> None:
    with pytest.raises(FormalimgError):
        write_tags(tmp_path, tags, "", version="")
    with pytest.raises(FormalimgError, match="4,000 characters at most"):
        write_tags(tmp_path, [], "x" * 4001, version="")
    assert not (tmp_path / "tags.json").exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 1, "tags": "x", "note": ""}', '{"schema": 1}', "1" * 5000])
def test_a_damaged_file_says_so_and_is_not_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "tags.json").write_text(text, encoding="utf-8")
    with pytest.raises(FormalimgError, match="is damaged: remove it"):
        read_tags(tmp_path)
    with pytest.raises(FormalimgError, match="is damaged"):
        write_tags(tmp_path, ["new"], "", version="")
    assert (tmp_path / "tags.json").read_text(encoding="utf-8") == text


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "secret"
    run.mkdir()
    other.write_text(json.dumps({"schema": 1, "tags": ["secret"], "note": ""}), encoding="utf-8")
    (run / "tags.json").symlink_to(other)
    with pytest.raises(FormalimgError, match="symbolic link"):
        read_tags(run)
    (run / "tags.json").unlink()
    (run / ".tags.lock").symlink_to(other)
    with pytest.raises(FormalimgError, match="nothing was saved"):
        write_tags(run, ["new"], "", version="")


def test_a_folder_that_is_not_writable_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags_of_runs, "can_write_tags", lambda folder: False)  # root may write everywhere
    with pytest.raises(FormalimgError, match="is not writable, so nothing was saved: change its permissions"):
        write_tags(tmp_path, ["new"], "", version="")
