"""`--min-coverage` and failures in a row on the command line: exit code 1, one line, and the same command goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Result, formalimg
from tests.support.loopback import Fault, Loopback
from tests.support.remote_models import stand_alone

pytestmark = pytest.mark.usefixtures("no_preflight")

TWO_ITEMS = ("--levels", "1-2", "--per-level", "1", "--size", "64", "--out", "run")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)


def _judge(server: Loopback) -> tuple[str, ...]:
    options = (f"base_url={server.url}/v1", "requests=all-at-once", "concurrency=1")
    return ("-j", "openai/looker", *(word for option in options for word in ("-J", option)))


def _nothing_there(asked: object) -> str:
    return '{"objects": []}'


def test_too_little_scored_is_exit_code_1_after_the_table() -> None:
    faults = {1: Fault("400")}
    with Loopback(reply=_nothing_there, faults=faults.get) as server:
        run = ("run", "knolling", "-m", "builtin/oracle", *_judge(server), *TWO_ITEMS)
        done = formalimg(*run, "--min-coverage", "0.9")
        assert done.code == 1
        assert done.out.startswith("FormalImg Knolling: pass rates in percent")
        line = "1 of 2 images are scored by openai/looker in run, less than --min-coverage 0.9: `formalimg view run`"
        assert line in done.err
        for form in ("terminal", "json"):
            assert formalimg("report", "run", "--format", form).code == 0
            assert _ends_with_1(formalimg("report", "run", "--format", form, "--min-coverage", "0.9"), line)
        assert formalimg("report", "run", "--min-coverage", "0.5").code == 0
        assert formalimg("judge", "run", *_judge(server), "--min-coverage", "1").code == 0


def test_a_page_is_written_before_the_exit_code_says_no() -> None:
    with Loopback(reply=_nothing_there, faults={0: Fault("400")}.get) as server:
        formalimg("run", "knolling", "-m", "builtin/oracle", *_judge(server), *TWO_ITEMS)
    done = formalimg("report", "run", "--format", "html", "--images", "none", "--min-coverage", "0.9")
    assert _ends_with_1(done, "1 of 2 images are scored")
    assert Path("run/report.html").is_file()


def _ends_with_1(done: Result, line: str) -> bool:
    return done.code == 1 and line in done.err and bool(done.out)


def test_a_report_of_nothing_scored_ends_well_unless_told_otherwise() -> None:
    with Loopback(faults=lambda number: Fault("400")) as server:
        assert formalimg("run", "knolling", "-m", "builtin/oracle", *_judge(server), *TWO_ITEMS).code == 1
    assert formalimg("report", "run").code == 0
    assert formalimg("report", "run", "--min-coverage", "0.1").code == 1


def test_failures_in_a_row_are_exit_code_1_and_the_same_command_goes_on() -> None:
    down = {number: Fault("400", message="no power") for number in range(3)}
    with Loopback(reply=_nothing_there, faults=down.get) as server:
        run = ("run", "knolling", "-m", "builtin/oracle", *_judge(server), *TWO_ITEMS, "--samples", "4")
        done = formalimg(*run, "--max-failures", "3")
        assert done.code == 1
        last = done.err.splitlines()[-1]
        assert last.startswith("openai/looker failed 3 times in a row, the last time: ")
        assert "400: no power: mend that; all that is done is kept in run. The same command goes on." in last
        again = formalimg(*run, "--max-failures", "3")
    assert again.code == 0, again.err
