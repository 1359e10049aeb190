"""`formalimg config` and `pull`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from formalimg.benchmarks.loader import load
from tests.benchmarks.test_pull_archives import make_folder, make_tar
from tests.support.command import formalimg


def test_what_is_in_force_and_where_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert formalimg("config", cwd=tmp_path).out.splitlines()[1:] == [
        "judge    builtin/icons for builtin models on knolling, knolling-counts, geneval and t2i-compbench",
        "         builtin/drawn for builtin models on natural and conceptmix",
        "         none for all others",
        "budget   none",
        "runs     runs",
    ]
    (tmp_path / "formalimg.toml").write_text(
        '[defaults]\njudge = "hf/a"\njudge_options.top_p = 0.5\nbudget = 3\n[suite.natural]\njudge = "hf/b"\n'
    )
    code, out, _ = formalimg("config", cwd=tmp_path)
    assert code == 0
    assert out.splitlines() == [
        "files    ./formalimg.toml",
        "judge    builtin/icons for builtin models on knolling, knolling-counts, geneval and t2i-compbench",
        "         builtin/drawn for builtin models on natural and conceptmix",
        "         hf/a (top_p=0.5) from ./formalimg.toml for all others",
        "         hf/b from ./formalimg.toml for natural",
        "budget   3 dollars from ./formalimg.toml",
        "runs     runs",
    ]
    found = json.loads(formalimg("config", "--json", cwd=tmp_path).out)
    assert found["judge"] == {"name": "hf/a", "options": {"top_p": "0.5"}, "source": "./formalimg.toml"}
    assert list(found["suites"]) == ["natural"]
    assert found["grounder"] is None
    monkeypatch.setenv("FORMALIMG_GROUNDER", "detector/coco")
    monkeypatch.setenv("FORMALIMG_GROUNDER_OPTIONS", "threshold=0.3")
    shown = formalimg("config", cwd=tmp_path).out
    assert "grounder detector/coco (threshold=0.3) from FORMALIMG_GROUNDER for rewards" in shown
    monkeypatch.setenv("FORMALIMG_JUDGE", "gemini/c")
    assert "gemini/c from FORMALIMG_JUDGE for all others" in formalimg("config", cwd=tmp_path).out
    (tmp_path / "formalimg.toml").write_text("[defaults]\nbuget = 3\n")
    code, _, err = formalimg("config", cwd=tmp_path)
    assert (code, err) == (2, "error: ./formalimg.toml: unknown key 'buget' in [defaults]: did you mean budget?\n")


DSL = "(exists ?x (Is ?x 'cup'))"
INSTANCE = b"""{"prompt": "A cup.", "dsl": "%(dsl)s", "cnf": "%(dsl)s", "k": 1, "object_classes": ["cup"]}""" % {
    b"dsl": DSL.encode()
}
FILES = {"benchmarks/knolling/0.json": INSTANCE, "configs/x.json": b"{}", "draw.py": b"", "LICENSE": b"MIT"}


def test_from_an_archive_of_a_commit(tmp_path: Path) -> None:
    made = "0123456789abcdef0123456789abcdef01234567"
    archive = make_tar(tmp_path / "a.tar.gz", FILES, comment=made)
    arguments = ("pull", "formalimg", "--to", str(tmp_path / "out"), "--from", str(archive))
    code, out, err = formalimg(*arguments, "--revision", made[:8])
    assert code == 0
    assert "not verified against the pinned commit" in err
    assert "4,000 instructions" in out
    assert f"at {made}" in out
    assert "licence  MIT (LICENSE file in the repository)" in out
    assert "kept     3 files" in out
    folder = (tmp_path / "out").resolve()
    for suite in ("knolling", "natural"):
        assert f"run      formalimg run {suite} --items {folder} --model MODEL" in out.splitlines()
    assert not (tmp_path / "out" / "draw.py").exists()
    (item,) = load("knolling", folder)
    assert str(item.spec.formula) == DSL
    code, out, err = formalimg(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert "not of 69c0242" in err
    assert len(err.splitlines()) == 1


def test_a_malicious_archive(tmp_path: Path) -> None:
    evil = make_tar(tmp_path / "a.tgz", {**FILES, "../../evil.json": b"{}"})
    code, out, err = formalimg("pull", "formalimg", "--to", str(tmp_path / "x" / "out"), "--from", str(evil))
    assert (code, out) == (2, "")
    assert "leads out of the folder" in err
    assert [path.name for path in tmp_path.iterdir()] == ["a.tgz"]


def test_wrong_use(tmp_path: Path) -> None:
    for arguments, says in (
        (["formalimg"], "--to"),
        (["nonsense", "--to", str(tmp_path / "x")], "unknown benchmark 'nonsense'"),
        (["cf-world", "--to", str(tmp_path), "--from", str(make_folder(tmp_path / "a", FILES))], "not made by pull"),
        (["cf-world", "--to", str(tmp_path / "x"), "--from", str(tmp_path / "a")], "no data of cf-world"),
    ):
        code, _, err = formalimg("pull", *arguments)
        assert code == 2
        assert says in err
        assert "Traceback" not in err


def test_ended_in_the_middle_it_leaves_nothing_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/a.zip"
        for number in (signal.SIGTERM, signal.SIGINT):
            command = [sys.executable, "-m", "formalimg", "pull", "formalimg", "--from", address]
            process = subprocess.Popen(
                [*command, "--to", str(tmp_path / "out")],
                env={**os.environ, "no_proxy": "*"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            deadline = time.monotonic() + 20
            while not any(tmp_path.glob(".formalimg-pull-*")) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert any(tmp_path.glob(".formalimg-pull-*"))
            process.send_signal(number)
            _, err = process.communicate(timeout=20)
            assert process.returncode not in (0, 2)
            assert b"Traceback" not in err
            assert not list(tmp_path.iterdir())
