"""What the comparison of the viewer claims of planted runs: the same as `formalimg report`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path

from starlette.testclient import TestClient
from typer.testing import CliRunner

from formalimg.cli.commands import app
from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site
from tests.human_eval.compared_runs import compared_run, is_right, rate_truly
from tests.human_eval.rated_runs import opened


def _report(*words: object) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, words)], env={"COLUMNS": "400"}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output.partition("\n")[0]


def _compared(folder: Path, names: Sequence[str]) -> str:
    with TestClient(create_viewer_app(Site(folder), token=None), base_url="http://127.0.0.1:8421") as visitor:
        answer = visitor.get("/compare", params={"run": list(names)})
    assert answer.status_code == 200
    return unescape(answer.text)


def _claim(page: str) -> str:
    (claim,) = re.findall(r'<p class="claim">([^<]*)</p>', page)
    return str(claim)


def test_a_judge_that_favours_a_model_is_overruled_by_people(tmp_path: Path) -> None:
    """Three of four images of ada are right, and the judge passes 60 % of the wrong images of bea."""
    runs = [compared_run(tmp_path / "runs" / name, 160) for name in ("ada", "bea")]
    before = _report(*runs)
    assert before == "By test/partial, secret/ada and secret/bea cannot be told apart."
    assert _claim(_compared(tmp_path / "runs", ("ada", "bea"))) == before
    with opened(*runs) as opened_runs:
        made = create_study(tmp_path / "studies" / "s", opened_runs, "likert", raters=1, per_image=1, labels=100)
    with open_study(made.folder) as answering:
        assert rate_truly(answering, "rater-1") == 200
    after = _report(*runs, "--human", made.folder)
    assert after.startswith("By people, secret/ada is ahead of secret/bea: +")
    page = _compared(tmp_path / "runs", ("ada", "bea"))
    assert _claim(page) == after
    assert "by test/partial</h3>" in page, "the rates below the claim are those of the judge"
    assert "rank by people" in page


def test_failures_without_a_verdict_make_no_winner(tmp_path: Path) -> None:
    """Half of the wrong images of cat have no verdict."""
    wrong = [str(n) for n in range(400) if not is_right("cat", str(n))]
    missing = frozenset(wrong[::2])
    assert len(missing) > 100
    runs = [
        compared_run(tmp_path / name, 400, unread=missing if name == "cat" else frozenset()) for name in ("cat", "dot")
    ]
    claim = _report(*runs)
    assert claim == _claim(_compared(tmp_path, ("cat", "dot")))
    assert claim == (
        "By test/partial, secret/cat and secret/dot cannot be told apart. Missing verdicts could overturn the "
        "difference of secret/cat and secret/dot: none is claimed."
    )
