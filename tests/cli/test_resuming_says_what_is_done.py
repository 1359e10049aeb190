"""A command that finds work done says how much, in one line, before it goes on."""

from __future__ import annotations

from pathlib import Path

from tests.support.command import formalimg

RUN = ("run", "knolling", "-m", "builtin/oracle", "--levels", "1", "--size", "256", "--out", "run")


def test_runs_and_judges_that_find_everything_or_a_part_done(tmp_path: Path) -> None:
    assert "already done" not in formalimg(*RUN, "--per-level", "2", cwd=tmp_path).err, "nothing was done before"
    again = formalimg(*RUN, "--per-level", "2", cwd=tmp_path)
    assert again.err.splitlines() == ["run: 2 of 2 images and 2 of 2 verdicts already done"]
    more = formalimg(*RUN, "--per-level", "3", cwd=tmp_path)
    assert more.err.splitlines() == ["run: 2 of 3 images and 2 of 3 verdicts already done"]
    judged = formalimg("judge", "run", cwd=tmp_path)
    assert judged.err.splitlines() == ["run: 3 of 3 verdicts already done"]
    made = formalimg("run", "--no-judge", *RUN[1:], "--per-level", "4", cwd=tmp_path)
    assert made.err.splitlines() == ["run: 3 of 4 images already done"]
    assert formalimg("judge", "run", cwd=tmp_path).err.splitlines() == ["run: 3 of 4 verdicts already done"]
