"""What a run says: what is done, missing, made, and comes next."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from formalimg.cli.streams import print_next
from tests.support.command import Result, formalimg
from tests.support.loopback import Fault, Loopback

pytestmark = pytest.mark.usefixtures("stand_alone", "no_preflight")

TWO_ITEMS = ("--levels", "1-2", "--per-level", "1", "--size", "64", "--out", "run")


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
        assert last.startswith("openai/looker failed 3 times in a row; last error: ")
        assert (
            "400: no power. Fix the cause and rerun the same command to resume; completed work is kept in run." in last
        )
        again = formalimg(*run, "--max-failures", "3")
    assert again.code == 0, again.err


@pytest.mark.parametrize(
    ("named", "others", "said"),
    [
        (["a"], ["b"], "formalimg report runs/a --details"),
        (["a", "b"], [], "formalimg report runs/* --details"),
        (["a", "b"], ["c"], "formalimg report runs/a runs/b --details"),
        (["knolling-a", "knolling-b"], ["natural-a"], "formalimg report runs/knolling-* --details"),
        (["my run"], [], "formalimg report 'runs/my run' --details"),
    ],
)
def test_folders_are_named_as_short_as_a_shell_allows(
    named: list[str],
    others: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [*named, *others]:
        (Path("runs") / name).mkdir(parents=True)
    print_next("report", [Path("runs") / name for name in named], "--details")
    assert capsys.readouterr().out == f"next: {said}\n"
    assert shlex.split(said)


FEW = ("--levels", "1", "--per-level", "2", "--size", "64")
ICONS = ("-j", "builtin/icons")
MODELS = """
from PIL import Image

def noise(prompt):
    return Image.effect_noise((256, 256), 200).convert("RGB")

def broken(prompt):
    raise RuntimeError("no paint left")
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "models_of_this_test.py").write_text(MODELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_run_that_made_nothing(models: Path) -> None:
    code, out, err = formalimg(
        "run", "knolling", "-m", "python/models_of_this_test:broken", *FEW, *ICONS, "--out", "run", cwd=models
    )
    assert code == 1, err
    assert "run in run" in out, "the table is printed all the same"
    assert err.splitlines()[-1] == "nothing was scored in run: `formalimg view run` shows why, image by image"


def test_generating_nothing(models: Path) -> None:
    code, _, err = formalimg(
        "run", "--no-judge", "knolling", "-m", "python/models_of_this_test:broken", *FEW, "--out", "run", cwd=models
    )
    assert code == 1, err
    assert err.splitlines()[-1] == "nothing was made in run: `formalimg view run` shows why, image by image"


def test_images_of_which_none_can_be_scored(models: Path) -> None:
    """The grounder refuses what is not a drawing of ours."""
    noise = ("-m", "python/models_of_this_test:noise", *FEW, "--out", "run")
    assert formalimg("run", "--no-judge", "knolling", *noise, cwd=models).code == 0
    code, _, err = formalimg("judge", "run", *ICONS, cwd=models)
    assert code == 1, err
    assert (
        "nothing was scored in run: builtin/icons cannot read these images, judge them with `formalimg judge run" in err
    )
    assert formalimg("run", "knolling", *noise, *ICONS, cwd=models).code == 1
    assert formalimg("report", "run", cwd=models).code == 0, "a report reads what there is"


def test_one_of_several_models_that_made_nothing(models: Path) -> None:
    both = ("-m", "builtin/oracle", "-m", "python/models_of_this_test:broken")
    code, _, err = formalimg("run", "knolling", *both, *FEW[:-1], "512", *ICONS, cwd=models)
    assert code == 1, err
    assert err.count("nothing was scored") == 1


def test_an_estimate_makes_nothing_and_is_no_failure(models: Path) -> None:
    for judging in ((), ("--no-judge",)):
        asked = ("knolling", "-m", "builtin/oracle", *FEW, "--dry-run", *judging)
        assert formalimg("run", *asked, cwd=models).code == 0


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
