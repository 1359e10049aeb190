"""`formalimg run --adaptive` with built-in models and judge: few images, killed and resumed, against another run."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import formalimg as package
from formalimg.runs.looks import read_looks
from tests.support.command import formalimg
from tests.support.ladders import looks_in
from tests.support.run_contents import contents, until
from tests.support.sizes import only_in_full

SMALL = ("--items", "@1", "--size", "256", "--per-level", "20", "--levels", "1-3")


def _command(model: str, folder: Path, *more: str) -> list[str]:
    return ["run", "knolling", "-m", model, "--adaptive", *SMALL, "--out", str(folder), *more]


@pytest.fixture(scope="module")
def scatter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adaptive run of a model that places things at random."""
    folder = tmp_path_factory.mktemp("runs") / "scatter"
    done = formalimg(*_command("builtin/scatter", folder))
    assert done.code == 0, done.err
    assert "adaptive: G0.7 = 0 (95 %: 0 to 1), by 33 images of 60, 27 saved" in done.out
    return folder


@only_in_full
def test_a_killed_run_resumes_to_the_same_decisions(tmp_path: Path, scatter: Path) -> None:
    command = [sys.executable, "-m", "formalimg", *_command("builtin/scatter", tmp_path / "run")]
    looks = tmp_path / "run" / "looks.jsonl"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: process.poll() is not None or (looks.exists() and looks.read_bytes().count(b"\n") > 1))
    process.send_signal(signal.SIGKILL)
    process.wait()
    resumed = formalimg(*_command("builtin/scatter", tmp_path / "run"))
    assert resumed.code == 0
    assert "already done" in resumed.err
    assert looks_in(tmp_path / "run") == looks_in(scatter)
    assert contents(tmp_path / "run") == contents(scatter)


def test_against_a_worse_model_it_stops_early(tmp_path: Path) -> None:
    few, other = ("--items", "@1", "--levels", "1-2", "--per-level", "15", "--size", "256"), tmp_path / "other"
    assert formalimg("run", "knolling", "-m", "builtin/scatter", *few, "--out", str(other)).code == 0
    done = formalimg(*_command("builtin/oracle", tmp_path / "run", *few, "--against", str(other)))
    assert done.code == 0, done.err
    assert "adaptive, against builtin/scatter, begun" in done.out
    assert "points (95 %: +" in done.out
    assert "better; " in done.out
    found = read_looks(tmp_path / "run")
    assert found is not None
    assert len(found.items) == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--against", "x"), "give --adaptive too"),
        (("--adaptive", "--engine", "ray"), "leave --engine out"),
        (("--adaptive", "-j", "builtin/icons", "-j", "builtin/drawn"), "one judge decides"),
        (("--adaptive", "--samples", "2"), "one image of each item"),
        (("--adaptive", "--levels", "2-3"), "climbs from level 1"),
        (("--adaptive", "--against", "nowhere"), "is not a run"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = formalimg("run", "knolling", "-m", "builtin/reader", *options, "--runs", str(tmp_path / "runs"))
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert message in done.err
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_says_that_it_is_an_upper_bound(tmp_path: Path) -> None:
    done = formalimg(*_command("builtin/reader", tmp_path / "run", "--dry-run"))
    assert done.code == 0
    assert "at most this much" in done.err
    assert "60" in done.out
    assert not (tmp_path / "run").exists()


def test_adaptive_runs_have_folders_of_their_own(tmp_path: Path, scatter: Path) -> None:
    few = ("--size", "256", "--per-level", "1", "--levels", "1-2", "--runs", str(tmp_path))
    assert formalimg("run", "knolling", "-m", "builtin/scatter", "--adaptive", *few).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["knolling-builtin-scatter-adaptive"]
    plain = formalimg("run", "knolling", "-m", "builtin/scatter", *SMALL, "--out", str(scatter))
    assert (plain.code, "adaptive: was G at 0.7" in plain.err) == (2, True)


def test_from_python_the_rate_to_hold_may_be_another(tmp_path: Path) -> None:
    arguments = {"size": 256, "per_level": 20, "levels": [1, 2], "progress": False}
    found = package.run("knolling", "builtin/scatter", adaptive=0.99, folder=tmp_path / "run", **arguments)  # type: ignore[arg-type]
    assert found.summary(epsilon=0.99).generalizability == (0.99, 0, 0, 0)
    assert found.progress.made == 10
    with pytest.raises(package.FormalimgError, match="adaptive=True"):
        package.run("knolling", "builtin/scatter", against=tmp_path / "run", folder=tmp_path / "other", **arguments)  # type: ignore[arg-type]


def test_a_restart_is_told_by_run_and_report(tmp_path: Path) -> None:
    command = _command("builtin/scatter", tmp_path / "run", "--levels", "1-2", "--per-level", "15")
    assert "restarted" not in formalimg(*command).out
    found = read_looks(tmp_path / "run")
    assert found is not None
    told = f"restarted once, after {len(found.seen)} interim look"
    assert told in formalimg(*command, "--restart").out
    report = " ".join(formalimg("report", str(tmp_path / "run"), "--details").out.split())
    assert told in report
    assert "the error guarantee covers one run only" in report
