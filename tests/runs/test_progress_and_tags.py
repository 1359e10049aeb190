"""Progress of a running run, and tags."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from formalimg._util.locks import FolderLock, LockedError
from formalimg.errors import FormalimgError
from formalimg.runs import tags as tags_of_runs
from formalimg.runs.image_counts import is_in_progress
from formalimg.runs.reader import open_run
from formalimg.runs.tags import RunTags, TagsChangedError, can_write_tags, read_tags, write_tags
from tests.support.values import not_none
from tests.web.sites import change, concept_run

_BEGIN = (
    "import sys; from pathlib import Path; from formalimg._util.locks import FolderLock; "
    "from formalimg.runs.image_counts import is_in_progress; "
)
_HOLD = f"{_BEGIN}lock = FolderLock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
_ASK = f"{_BEGIN}print(flush=True)\nwhile True: is_in_progress(Path(sys.argv[1]))"


def test_a_run_is_in_progress_until_its_process_ends_even_if_it_is_killed(tmp_path: Path) -> None:
    assert not is_in_progress(tmp_path)
    command = [sys.executable, "-c", _HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert not_none(process.stdout).readline() == "held\n"
        assert is_in_progress(tmp_path)
        with pytest.raises(LockedError):
            FolderLock(tmp_path)
        process.kill()
    assert (tmp_path / "lock").exists()
    assert not is_in_progress(tmp_path)


def test_asking_whether_a_run_is_in_progress_keeps_no_run_from_starting(tmp_path: Path) -> None:
    FolderLock(tmp_path).release()
    with subprocess.Popen([sys.executable, "-c", _ASK, str(tmp_path)], stdout=subprocess.PIPE) as process:
        not_none(process.stdout).readline()
        for _ in range(200):
            FolderLock(tmp_path).release()
        process.kill()


def test_rate_and_time_left_are_those_of_the_last_two_minutes_of_the_process(tmp_path: Path) -> None:
    concept_run(tmp_path, 12)
    now = datetime.now(UTC)
    change(tmp_path, "DELETE FROM verdicts WHERE item IN ('item-0', 'item-1', 'item-2')")
    change(tmp_path, "UPDATE pictures SET status = 'planned' WHERE item = 'item-0'")
    change(tmp_path, "UPDATE verdicts SET at = ?", f"{now - timedelta(seconds=10):%Y-%m-%dT%H:%M:%SZ}")
    change(tmp_path, "UPDATE verdicts SET at = '2020-01-01T00:00:00Z' WHERE item > 'item-4'")
    begun = (now - timedelta(seconds=60)).timestamp()
    os.utime(tmp_path / "lock", (begun, begun))
    with closing(open_run(tmp_path)) as run:
        found = run.activity()
    assert (found.counts, found.counts.done) == ((12, 1, 2), 9)
    recent = 4  # item-10, item-11, item-3, item-4
    assert found.rate == pytest.approx(recent, rel=0.1)
    assert found.seconds_left == pytest.approx(3 * 60 / recent, rel=0.1)


def test_without_a_judge_images_are_done_when_they_are_made(tmp_path: Path) -> None:
    concept_run(tmp_path, 3)
    change(tmp_path, "DELETE FROM verdicts")
    with closing(open_run(tmp_path)) as run:
        assert run.counts() == (3, 0, 3)
    manifest = tmp_path / "run.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8").split("[judge]")[0], encoding="utf-8")
    with closing(open_run(tmp_path)) as run:
        assert run.counts() == (3, 0, 0)


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
