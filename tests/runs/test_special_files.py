"""Links, pipes, sockets and devices in place of the files of a run: refused with one line, and never waited for."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from formalimg._util.io import atomic_write
from formalimg._util.locks import FolderLock, LockedError
from formalimg.errors import FormalimgError
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.manifest import write_manifest
from formalimg.runs.reader import open_run
from tests.support.command import formalimg
from tests.support.models import NumberJudge, Speckles
from tests.support.run_contents import judged, order, outcomes

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such files there")


def _link(path: Path) -> None:
    target = path.with_name(f"{path.name}.moved")
    path.rename(target) if path.exists() else target.write_bytes(b"mine")
    path.symlink_to(target.absolute())


def _dangling(path: Path) -> None:
    _remove(path)
    path.symlink_to(path.parent / "nowhere" / "at all")


def _loop(path: Path) -> None:
    _remove(path)
    path.symlink_to(path)


def _pipe(path: Path) -> None:
    _remove(path)
    os.mkfifo(path)


def _socket(path: Path) -> None:
    _remove(path)
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket must be short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def _remove(path: Path) -> None:
    if path.is_dir():
        path.rename(path.with_name("gone"))
    path.unlink(missing_ok=True)


_SPECIAL: dict[str, Callable[[Path], None]] = {
    "a symbolic link": _link,
    "a symbolic link ": _dangling,
    "a symbolic link  ": _loop,
    "a named pipe": _pipe,
    "a socket": _socket,
}
_FILES = [
    "lock",
    "run.toml",
    "results.sqlite",
    "results.sqlite-wal",
    "results.sqlite-shm",
    "images",
    "images/metadata.jsonl",
]


@pytest.mark.parametrize("kind", _SPECIAL)
@pytest.mark.parametrize("name", _FILES)
def test_special_files_of_a_run_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    folder = tmp_path / "run"
    execute(order(), folder, NumberJudge())
    _SPECIAL[kind](folder / name)
    for use in (
        lambda: execute(order(), folder, NumberJudge()),
        lambda: judge_run(folder, NumberJudge(name="test/second")),
        lambda: open_run(folder),
    ):
        with pytest.raises(FormalimgError, match=rf"^{folder / name} is {kind.strip()}[^\n]*$"):
            use()


@pytest.mark.parametrize("name", ["lock", "run.toml", "results.sqlite"])
def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    execute(order(), tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    (tmp_path / "run" / name).mkdir()
    with pytest.raises(FormalimgError, match=f"{name} is a folder, and a run holds plain files only"):
        execute(order(), tmp_path / "run")


@pytest.mark.parametrize("name", ["images/.metadata.jsonl.part", ".run.toml.part", "images/.3.png.part"])
def test_a_half_written_file_that_is_a_link_is_not_written_through(tmp_path: Path, name: str) -> None:
    mine, folder = tmp_path / "authorized_keys", tmp_path / "run"
    mine.write_text("ssh-ed25519 mine")
    execute(order(), folder)
    (folder / "images" / "3.png").unlink()
    (folder / name).symlink_to(mine)
    execute(order(), folder)
    assert mine.read_text() == "ssh-ed25519 mine"
    assert not list(folder.rglob("*.part"))


def test_a_folder_called_like_a_half_written_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run" / ".mine.part").mkdir(parents=True)
    assert execute(order(), tmp_path / "run").made == 8
    assert (tmp_path / "run" / ".mine.part").is_dir()


@pytest.mark.parametrize("kind", _SPECIAL)
def test_an_image_that_is_no_plain_file_is_told_and_not_read(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "run"
    execute(order(), folder)
    _SPECIAL[kind](folder / "images" / "3.png")
    (image,) = [one.image for one in judged(folder) if one.outcome.item == "3"]
    assert image is not None
    assert not image.is_file()
    with pytest.raises(OSError, match=f"it is {kind.strip()} and not a plain file"):
        image.read_bytes()
    judge_run(folder, NumberJudge())
    (outcome,) = [one for one in outcomes(folder) if one.item == "3"]
    assert outcome.reason == "unreadable image"
    assert f"3.png: it is {kind.strip()} and not a plain file" in outcome.detail
    model = Speckles()
    with pytest.raises(FormalimgError, match=rf"3\.png is {kind.strip()}, and a run holds plain files only: remove it"):
        execute(order(model), folder)
    assert model.asked == [], "nothing is paid for again"


def test_the_folder_itself_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "disk")
    execute(order(), tmp_path / "runs" / "run", NumberJudge())
    (tmp_path / "short").symlink_to(tmp_path / "runs" / "run")
    assert execute(order(), tmp_path / "short", NumberJudge()).done == 0
    judge_run(tmp_path / "short", NumberJudge(name="test/second"))
    assert all(one.image is not None and one.image.read_bytes() for one in judged(tmp_path / "short"))


def test_files_are_written_beside_links_and_never_through_them(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine")
    (tmp_path / ".new.part").symlink_to(mine)
    (tmp_path / "new").symlink_to(mine)
    atomic_write(tmp_path / "new", [b"new"])
    assert (mine.read_bytes(), (tmp_path / "new").read_bytes()) == (b"mine", b"new")
    os.mkfifo(tmp_path / ".other.part")
    atomic_write(tmp_path / "other", [b"other"])
    assert (tmp_path / "other").read_bytes() == b"other"


_LOOPS = [
    ["judge", "{loop}"],
    ["report", "{loop}"],
    ["view", "{loop}", "--no-browser"],
    ["annotate", "{loop}", "--protocol", "likert", "--no-browser"],
    ["agree", "{loop}"],
    ["cf-world", "diagnose", "{loop}"],
    ["cf-world", "calibrate", "{loop}", "--labels", "{loop}"],
    ["export", "{loop}", "--out", "{new}"],
    ["export", "knolling", "--out", "{loop}"],
    ["formula", "check", "{loop}"],
    ["formula", "verify", "--formula", "{loop}", "--scene", "{loop}"],
    ["formula", "solve", "--formula", "{loop}"],
    ["items", "captions", "{loop}"],
    ["items", "show", "knolling/1", "--draw", "{loop}"],
    ["items", "synth", "knolling", "--levels", "1", "--per-level", "1", "--out", "{loop}"],
    ["run", "knolling", "-m", "builtin/scatter", "--per-level", "1", "--levels", "1", "--out", "{loop}"],
    ["run", "knolling", "-m", "builtin/scatter", "--per-level", "1", "--levels", "1", "--out", "{loop}", "--restart"],
    ["run", "knolling", "-m", "builtin/scatter", "--per-level", "1", "--levels", "1", "--runs", "{loop}"],
    ["run", "knolling", "-m", "builtin/scatter", "--items", "{loop}"],
    ["run", "knolling", "-m", "folder/{loop}", "--per-level", "1", "--levels", "1", "--out", "{new}"],
    ["run", "knolling", "-m", "builtin/scatter", "--prompts", "{loop}", "--out", "{new}"],
    ["pull", "formalimg", "--to", "{loop}", "--from", "{loop}"],
    ["serve", "--root", "{loop}"],
    ["items", "review", "summary", "{loop}"],
    ["items", "census", "{loop}"],
]


@pytest.mark.parametrize("arguments", _LOOPS, ids=lambda arguments: " ".join(arguments[:2] + arguments[-2:]))
def test_a_loop_of_links_is_one_line(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    given = [text.format(loop=tmp_path / "loop", new=tmp_path / "new") for text in arguments]
    done = formalimg(*given)
    assert done.code == 2, done
    assert done.err.strip(), done


def test_a_file_system_without_locks_is_told_as_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system call itself is replaced: no file system without locks can be mounted here."""

    def refuse(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(
        FormalimgError, match=rf"^the file system of {tmp_path} does not support locks \(No locks"
    ) as told:
        FolderLock(tmp_path)
    assert not isinstance(told.value, LockedError)
    assert "\n" not in str(told.value)
    model = Speckles()
    with pytest.raises(FormalimgError, match="does not support locks"):
        execute(order(model), tmp_path / "run")
    assert model.asked == []


def test_the_name_of_a_holder_is_not_trusted(tmp_path: Path) -> None:
    held = FolderLock(tmp_path)
    (tmp_path / "lock").write_bytes(b"\x1b[2J\xff evil" + b"x" * 10_000_000)
    with pytest.raises(LockedError, match="is being written by another process: wait"):
        FolderLock(tmp_path)
    held.release()


_FSYNCS = """
import os, sys
from pathlib import Path
from formalimg.runs import execute
from formalimg.runs.store import RunStore
from tests.support.run_contents import order
from tests.support.models import NumberJudge
synced, fsync, record = [], os.fsync, RunStore.record_images
def note(descriptor):
    fsync(descriptor)
    synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
def check(self, results):
    results = list(results)
    for _, row, _ in results:
        assert str(self.folder / "images" / row.file) in synced, row.file
    assert str(self.folder / "images") in synced
    record(self, results)
os.fsync, RunStore.record_images = note, check
folder = Path(sys.argv[1])
execute(order(), folder, NumberJudge())
names = {Path(path).name for path in synced}
assert {"run", ".run.toml.part", "images"} <= names, names
print(sum(path.endswith(".png") for path in synced))
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_images_and_manifest_are_on_disk_before_the_rows_that_name_them(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FSYNCS, str(tmp_path / "run")],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert (done.stdout, done.stderr) == ("8\n", "")


def test_a_manifest_in_a_folder_of_its_own_is_written_whole(tmp_path: Path) -> None:
    execute(order(), tmp_path / "run")
    manifest = open_run(tmp_path / "run").manifest
    write_manifest(manifest, tmp_path)
    assert (tmp_path / "run.toml").read_bytes() == (tmp_path / "run" / "run.toml").read_bytes()
