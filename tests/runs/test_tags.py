"""Tags and notes beside a run: what is stored, what is refused, and that nobody loses an edit unnoticed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.runs import tags as tags_of_runs
from formalimg.runs.tags import RunTags, TagsChangedError, can_write_tags, read_tags, write_tags


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.toml").touch()
    return folder


def test_what_is_written_is_read_back_without_spaces_and_repetitions(run: Path) -> None:
    assert read_tags(run) == RunTags()
    saved = write_tags(run, [" ablation ", "ablation", "größer"], " two\r\nlines ", version="")
    assert saved[:2] == (("ablation", "größer"), "two\nlines")
    assert read_tags(run) == saved
    assert {path.name for path in run.iterdir()} <= {"run.toml", "tags.json", ".tags.lock"}


def test_who_has_not_seen_the_last_edit_cannot_replace_it(run: Path) -> None:
    first = write_tags(run, ["first"], "", version="")
    with pytest.raises(TagsChangedError) as changed:
        write_tags(run, ["second"], "", version="")
    assert changed.value.current == first == read_tags(run)
    assert write_tags(run, ["second"], "", version=first.version).tags == ("second",)


def test_of_many_who_save_at_once_one_is_saved_and_the_others_know(run: Path) -> None:
    def save(number: int) -> bool:
        try:
            write_tags(run, [f"tag {number}"], "", version="")
        except TagsChangedError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(save, range(16))) == 1


@pytest.mark.parametrize(
    "tags", [["a,b"], ["x" * 41], ["line\nbreak"], ["  "], [f"{n}" for n in range(21)], ["\ud800"]]
)
def test_tags_that_could_not_be_read_back_are_refused(run: Path, tags: list[str]) -> None:
    with pytest.raises(FormalimgError):
        write_tags(run, tags, "", version="")
    with pytest.raises(FormalimgError, match="4,000 characters at most"):
        write_tags(run, [], "x" * 4001, version="")
    assert not (run / "tags.json").exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 1, "tags": "x", "note": ""}', '{"schema": 1}', "1" * 5000])
def test_a_damaged_file_says_so_and_is_not_replaced(run: Path, text: str) -> None:
    (run / "tags.json").write_text(text, encoding="utf-8")
    with pytest.raises(FormalimgError, match="is damaged: remove it"):
        read_tags(run)
    with pytest.raises(FormalimgError, match="is damaged"):
        write_tags(run, ["new"], "", version="")
    assert (run / "tags.json").read_text(encoding="utf-8") == text


def test_a_link_in_place_of_the_file_is_not_followed(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "secret"
    other.write_text(json.dumps({"schema": 1, "tags": ["secret"], "note": ""}), encoding="utf-8")
    (run / "tags.json").symlink_to(other)
    with pytest.raises(FormalimgError, match="symbolic link"):
        read_tags(run)
    (run / "tags.json").unlink()
    (run / ".tags.lock").symlink_to(other)
    with pytest.raises(FormalimgError, match="nothing was saved"):
        write_tags(run, ["new"], "", version="")


def test_a_folder_that_is_not_writable_is_refused_with_advice(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(FormalimgError, match="is not writable, so nothing was saved: change its permissions"):
        write_tags(run, ["new"], "", version="")


def test_a_folder_that_is_not_a_run_gets_no_file(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="is not a run, so nothing was saved"):
        write_tags(tmp_path, ["new"], "", version="")
    (tmp_path / "other").touch()
    (tmp_path / "run.toml").symlink_to(tmp_path / "other")
    with pytest.raises(FormalimgError, match="is not a run"):
        write_tags(tmp_path, ["new"], "", version="")
    assert {path.name for path in tmp_path.iterdir()} == {"other", "run.toml"}


def test_only_the_root_may_be_reached_through_a_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(FormalimgError, match="through a link"):
        write_tags(tmp_path / "link" / "run", ["new"], "", version="", root=tmp_path)
    assert not can_write_tags(tmp_path / "link" / "run", tmp_path)
    assert {path.name for path in run.iterdir()} == {"run.toml"}
    assert write_tags(tmp_path / "link" / "run", ["new"], "", version="", root=tmp_path / "link").tags == ("new",)


def test_a_folder_that_is_exchanged_for_a_link_meanwhile_is_not_followed(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    def exchange(file: object) -> None:
        run.rename(tmp_path / "moved")
        run.symlink_to(outside)

    monkeypatch.setattr(tags_of_runs, "lock_file", exchange)
    write_tags(run, ["new"], "", version="", root=tmp_path)
    assert not list(outside.iterdir())
    assert read_tags(tmp_path / "moved").tags == ("new",)
