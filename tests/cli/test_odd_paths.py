"""Paths on the command line that are no files or folders, and streams that are closed or full: one line, no hang."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from formalimg import load
from formalimg.benchmarks.items_file import write_items
from tests.support.command import formalimg
from tests.support.sizes import tries

CUP = "(exists ?x (Is ?x 'cup'))"
READER = ("run", "knolling", "-m", "builtin/reader", "--levels", "1", "--per-level", "1")

COMMANDS: dict[str, tuple[str, ...]] = {
    "run --items": (*READER, "--items", "ODD"),
    "run --prompts": (*READER, "--prompts", "ODD"),
    "run --out": (*READER, "--out", "ODD"),
    "run --runs": (*READER, "--runs", "ODD"),
    "run --layouts": ("run", "knolling", "-m", "builtin/painter", "--condition", "image-layout", "--layouts", "ODD"),
    "judge": ("judge", "ODD"),
    "report": ("report", "ODD"),
    "show --items": ("items", "show", "knolling/1", "--items", "ODD"),
    "show --draw": ("items", "show", "knolling/1", "--draw", "ODD"),
    "census --items": ("items", "census", "natural", "--items", "ODD"),
    "census --figures": ("items", "census", "natural", "--figures", "ODD"),
    "captions": ("items", "captions", "ODD"),
    "synth --out": ("items", "synth", "knolling", "--levels", "1", "--per-level", "1", "--out", "ODD"),
    "synth --concepts": ("items", "synth", "conceptmix", "--concepts", "ODD", "--out", "made"),
    "write --laws": ("items", "write", "cf-world", "-m", "openai/x", "--laws", "ODD", "--out", "made", "--dry-run"),
    "export --items": ("export", "knolling", "--items", "ODD", "--out", "made"),
    "export --out": ("export", "knolling", "--out", "ODD"),
    "pull --from": ("pull", "formalimg", "--from", "ODD", "--to", "made"),
    "pull --to": ("pull", "formalimg", "--from", ".", "--to", "ODD"),
    "agree": ("agree", "ODD"),
    "agree --votes": ("agree", ".", "--votes", "ODD"),
    "agree --ratings": ("agree", ".", "--ratings", "ODD"),
    "calibrate": ("cf-world", "calibrate", ".", "--labels", "ODD"),
    "diagnose": ("cf-world", "diagnose", "ODD"),
    "check": ("formula", "check", "ODD"),
    "check --suite": ("formula", "check", "--suite", "ODD", "good.formula"),
    "verify --formula": ("formula", "verify", "--formula", "ODD", "--scene", "scene.json"),
    "verify --scene": ("formula", "verify", "--formula", CUP, "--scene", "ODD"),
    "verify --suite": ("formula", "verify", "--formula", CUP, "--scene", "scene.json", "--suite", "ODD"),
    "solve --formula": ("formula", "solve", "--formula", "ODD"),
    "solve --draw": ("formula", "solve", "--formula", CUP, "--draw", "ODD"),
    "vocabulary": ("formula", "vocabulary", "ODD"),
    "view": ("view", "ODD", "--no-browser"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    os.mkfifo(tmp_path / "fifo.toml")
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket.toml"))  # longer names do not fit
        (tmp_path / "good.formula").write_text(CUP)
        (tmp_path / "scene.json").write_text('{"objects": []}')
        yield tmp_path


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        raise AssertionError("the command waits for ever")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(120)  # far more than it takes where everything is slow
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("odd", ["fifo.toml", "loop.toml", "socket.toml", "/dev/zero"])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_no_file_and_no_folder(name: str, odd: str, folder: Path) -> None:
    code, out, err = formalimg(*(odd if word == "ODD" else word for word in COMMANDS[name]), cwd=folder)
    assert (code, out) == (2, ""), err
    assert err.splitlines()[-1].lower().startswith("error: ")
    assert odd in err
    assert not (folder / "made").exists()
    assert (folder / "fifo.toml").is_fifo()
    assert Path("/dev/zero").is_char_device()


FILES = [name for name in COMMANDS if name.split()[-1] in ("--votes", "--scene", "--suite", "captions", "calibrate")]


@pytest.mark.parametrize("name", [*FILES, "verify --formula", "solve --formula", "write --laws"])
def test_a_folder_where_a_file_is_expected(name: str, folder: Path) -> None:
    (folder / "folder.toml").mkdir()
    code, _, err = formalimg(*("folder.toml" if word == "ODD" else word for word in COMMANDS[name]), cwd=folder)
    assert code == 2, err
    assert err.splitlines()[-1].lower().startswith("error: ")


def test_a_fifo_inside_a_folder_of_items(folder: Path) -> None:
    (folder / "items").mkdir()
    os.mkfifo(folder / "items" / "items.jsonl")
    (folder / "published").mkdir()
    os.mkfifo(folder / "published" / "1.json")
    for place in ("items", "published"):
        code, _, err = formalimg("items", "census", "knolling", "--items", place, cwd=folder)
        assert code == 2, err
        assert "it is a named pipe" in err or "no items" in err or "holds" in err


def _shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = line.replace("formalimg", f"{sys.executable} -m formalimg")
    return subprocess.run(["bash", "-c", command], cwd=cwd, capture_output=True, text=True, timeout=60)


def test_what_the_shell_has_opened_is_read(folder: Path) -> None:
    assert _shell("formalimg formula check <(cat good.formula)", folder).returncode == 0
    assert _shell("cat good.formula | formalimg formula check /dev/stdin", folder).returncode == 0
    assert _shell("formalimg items captions /dev/stdin < good.formula", folder).returncode == 0


@pytest.mark.parametrize(
    "line",
    ["formula check -", "formula check", "formula verify --formula - --scene scene.json", "formula solve --formula -"][
        : tries(1, 4)
    ],
)
def test_closed_standard_input(line: str, folder: Path) -> None:
    done = _shell(f"formalimg {line} <&-", folder)
    assert done.returncode == 2
    assert done.stderr == "error: standard input is closed: give a file, or text on standard input\n"


def test_closed_standard_output_and_error(folder: Path) -> None:
    done = _shell("formalimg formula check good.formula >&-", folder)
    assert (done.returncode, done.stderr) == (0, "")
    done = _shell("formalimg formula check nowhere.formula 2>&-", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert _shell("formalimg formula check good.formula <&- >&- 2>&-", folder).returncode == 0
    assert _shell("formalimg formula check nowhere.formula <&- >&- 2>&-", folder).returncode == 2


def test_files_do_not_take_the_place_of_closed_streams(folder: Path) -> None:
    """What is printed would end up in the database otherwise."""
    write_items(load("knolling")[:1], folder / "one")
    done = _shell("formalimg run knolling -m builtin/oracle --items one --size 128 --out run <&- >&- 2>&-", folder)
    assert done.returncode == 0
    assert _shell("formalimg report run", folder).returncode == 0


def test_a_full_disk_behind_the_streams(folder: Path) -> None:
    done = _shell("formalimg formula vocabulary knolling > /dev/full", folder)
    assert (done.returncode, done.stderr) == (2, "error: cannot write: No space left on device\n")
    done = _shell("formalimg formula check nowhere.formula 2> /dev/full", folder)
    assert (done.returncode, done.stdout) == (2, "")
    done = _shell("formalimg formula vocabulary knolling > /dev/full 2> /dev/full", folder)
    assert done.returncode == 2
