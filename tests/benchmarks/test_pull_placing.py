"""Where pulled data goes: all at once, never over what is not ours."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from formalimg.benchmarks.download.pull import SOURCE_NOTE, note_text, pull
from formalimg.benchmarks.download.source import PullError
from tests.benchmarks.test_pull_archives import GOOD, SOURCE, kept, make_folder


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "origin", GOOD)


def test_folders_that_are_free(origin: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for folder in ("new", "deep/er/new", "empty", "link"):
        pull(SOURCE, tmp_path / folder, origin)
        assert (tmp_path / folder / "data" / "1.json").is_file()
    assert (tmp_path / "link").is_symlink()
    assert not list(tmp_path.rglob(".formalimg*"))


def test_pulling_again_replaces_what_an_earlier_pull_left(origin: Path, tmp_path: Path) -> None:
    pull(SOURCE, tmp_path / "out", origin)
    (origin / "data" / "1.json").unlink()
    (origin / "data" / "9.json").write_text("{}")
    pull(SOURCE, tmp_path / "out", origin)
    assert sorted(kept(tmp_path / "out")) == ["LICENSE", "SOURCE.toml", "data/9.json", "data/deep/er/2.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["origin", "out"]


@pytest.mark.parametrize("change", ["add", "edit", "remove", "link", "note"])
def test_what_the_user_changed_is_not_replaced(change: str, origin: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pull(SOURCE, out, origin)
    match change:
        case "add":
            (out / "mine.txt").write_text("work")
        case "edit":
            (out / "data" / "1.json").write_text("work")
        case "remove":
            (out / "data" / "1.json").unlink()
        case "link":
            (out / "data" / "link").symlink_to(tmp_path)
        case "note":
            (out / "SOURCE.toml").write_bytes((out / "SOURCE.toml").read_bytes() + b"not TOML")
    before = kept(out)
    with pytest.raises(PullError, match="was changed since"):
        pull(SOURCE, out, origin)
    assert kept(out) == before


def test_what_is_not_ours_is_not_touched(origin: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PullError, match="is a file"):
        pull(SOURCE, tmp_path / "file", origin)
    make_folder(tmp_path / "theirs", {"SOURCE.toml": b'digest = "x"\n', "a": b""})
    for folder in (tmp_path / "theirs", tmp_path, origin, Path("/")):
        with pytest.raises(PullError, match="was not made by pull"):
            pull(SOURCE, folder, origin)
    with pytest.raises(PullError, match="cannot pull to"):
        pull(SOURCE, tmp_path / "file" / "below", origin)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device"), SystemExit])
def test_an_interrupted_pull_leaves_everything_as_it_was(
    error: BaseException | type[BaseException], origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull(SOURCE, tmp_path / "out", origin)
    before = kept(tmp_path / "out")
    (origin / "data" / "9.json").write_text("{}")
    write = Path.write_bytes

    def failing(path: Path, data: bytes) -> int:
        if path.name == "9.json":
            raise error
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", failing)
    for folder in ("out", "new"):
        with pytest.raises((KeyboardInterrupt, SystemExit, PullError)):
            pull(SOURCE, tmp_path / folder, origin)
    assert kept(tmp_path / "out") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["origin", "out"]


def test_a_failed_last_step_brings_the_old_folder_back(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull(SOURCE, tmp_path / "out", origin)
    before = kept(tmp_path / "out")
    rename = Path.rename

    def failing(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(PullError, match="Input/output error"):
        pull(SOURCE, tmp_path / "out", origin)
    assert kept(tmp_path / "out") == before


def test_the_note_is_toml_whatever_the_path(origin: Path, tmp_path: Path) -> None:
    for text in ('a "quoted" \\ path', "tab\tline\nend", "🍵 \x7f \x00", "é"):
        assert tomllib.loads(note_text({"path": text, "files": 3})) == {"path": text, "files": 3}
    pull(SOURCE, tmp_path / "one", origin)
    pull(SOURCE, tmp_path / "two", origin)
    assert (tmp_path / "one" / SOURCE_NOTE).read_bytes() == (tmp_path / "two" / SOURCE_NOTE).read_bytes()
