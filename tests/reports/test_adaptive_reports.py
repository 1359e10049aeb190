"""Adaptive runs in reports: what was not run is said to be so, and nothing incomplete looks complete."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

import pytest

from formalimg import Evaluation
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.reports.comparison import compare
from formalimg.reports.report import render, write_html
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.reader import open_run
from formalimg.types import Item, Part, Verdict
from tests.support.ladders import climb, ladder, ladder_judge
from tests.support.models import NumberJudge, Speckles

LOST_AT_2 = {1: 100, 2: 0, 3: 0}


@pytest.fixture(scope="module")
def adaptive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adaptive run that ended at the second of three levels."""
    folder = tmp_path_factory.mktemp("runs") / "adaptive"
    climb(ladder(), folder, ladder_judge(LOST_AT_2))
    return folder


def test_only_what_was_run_in_full_has_means(adaptive: Path) -> None:
    summary = Evaluation(adaptive).summary()
    assert summary.generalizability == (0.7, 1, 1, 1)
    assert set(summary.levels) == {1, 2}
    assert {band.value for band in summary.bands.values()} == {None}
    assert (summary.overall.value, summary.overall.scored) == (None, 30)
    # Twenty of twenty, looked at twice, with twenty more to come: wider than the interval of one look.
    interval = summary.levels[1].interval
    assert interval is not None
    assert 0.6 < interval.low < 0.83


def test_another_rate_to_hold_was_not_tested(adaptive: Path) -> None:
    assert Evaluation(adaptive).summary(epsilon=0.5).generalizability == (0.5, None, None, None)


def test_failures_by_rule_have_no_interval_of_the_looks(adaptive: Path) -> None:
    assert {rate.interval for rate in Evaluation(adaptive).summary(missing="fail").levels.values()} == {None}


@pytest.mark.parametrize("form", ["md", "latex", "json", "terminal"])
def test_every_format_says_what_was_not_run(adaptive: Path, form: str) -> None:
    text = render(compare([open_run(adaptive)]), form, details=True)  # type: ignore[arg-type]
    flat = " ".join(text.split())
    assert "30 images of 120, 90 saved" in flat
    assert "not run (adaptive)" in flat
    assert "Adaptive: decisions" in flat


def test_tables_of_numbers_have_none_for_what_was_not_run(adaptive: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(render(compare([open_run(adaptive)]), "csv"))))
    assert [row["name"] for row in rows if row["figure"] == "level"] == ["1", "2"]
    assert {row["value"] for row in rows if row["figure"] in ("band", "overall")} == {""}
    (held,) = [row for row in rows if row["figure"] == "generalizability"]
    assert (held["value"], held["low"], held["high"]) == ("1", "1", "1")


def test_pages_are_written(adaptive: Path, tmp_path: Path) -> None:
    write_html([open_run(adaptive)], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "not run (adaptive)" in page
    assert "30 images of 120, 90 saved" in page
    assert "30 images of 120, 90 saved" in str(Evaluation(adaptive))


def test_a_whole_run_stands_beside_it(adaptive: Path, tmp_path: Path) -> None:
    execute(ladder(Speckles(name="test/whole")), tmp_path / "whole", ladder_judge({1: 90, 2: 80, 3: 30}))
    comparison = compare([open_run(adaptive), open_run(tmp_path / "whole")])
    section = comparison.sections[0]
    assert "there are no paired differences" in render(comparison, "md")
    assert section.tables[0].name == "adaptive"
    whole = section.rows[1]
    assert whole.looks is None
    assert whole.summary.bands["Easy"].value is not None
    assert section.levels == (1, 2, 3)


def test_other_judges_have_rates_and_no_g(adaptive: Path, tmp_path: Path) -> None:
    def yes(item: Item[object], image: LoadedImage) -> Verdict:
        return Verdict(True, (Part("shown", "object", 1.0),))

    climb(ladder(), tmp_path / "run", ladder_judge(LOST_AT_2))
    other = NumberJudge(name="test/yes", verdict=yes)
    judge_run(tmp_path / "run", other)
    comparison = compare([open_run(tmp_path / "run")])
    (row,) = comparison.sections[0].rows
    assert row.summary.generalizability == (0.7, None, None, None)
    assert row.summary.levels[2].value == 1
    assert "by the verdicts of another judge" in render(comparison, "md")


def test_a_comparison_says_the_difference(tmp_path: Path) -> None:
    execute(ladder(), tmp_path / "other", ladder_judge({1: 30, 2: 20, 3: 10}))
    judge = ladder_judge({1: 95, 2: 95, 3: 95})
    climb(ladder(Speckles(name="test/new")), tmp_path / "run", judge, tmp_path / "other")
    text = render(compare([open_run(tmp_path / "run")]), "md")
    assert "adaptive, against test/speckles, begun" in text
    assert "points (95 %: +" in text
    by = "by test/number, better"
    assert f"{by}; 20 images of 120, 100 saved" in text or f"{by}; 30 images of 120, 90 saved" in text
    summary = Evaluation(tmp_path / "run").summary()
    assert {band.value for band in summary.bands.values()} == {None}
    assert summary.generalizability == (0.7, None, None, None)


def test_failures_without_a_verdict_make_no_better_model(tmp_path: Path) -> None:
    """The models are equal; the failures of the new one have no verdict."""
    rates = {1: 60, 2: 40, 3: 30}
    execute(ladder(), tmp_path / "other", ladder_judge({1: 0, 2: 0, 3: 0}))
    seeing = ladder_judge(rates)

    def is_lost(item: Item[object]) -> bool:
        return int(hashlib.sha256(item.id.encode()).hexdigest(), 16) % 100 >= rates[item.level]

    config = ladder(Speckles(name="test/new"))
    climb(config, tmp_path / "run", ladder_judge(rates, is_lost), tmp_path / "other")
    (line,) = [one for one in render(compare([open_run(tmp_path / "run")]), "md").splitlines() if "against" in one]
    assert "better on what has a verdict, but" in line
    assert "missing verdicts could overturn this" in line
    climb(config, tmp_path / "seen", seeing, tmp_path / "other")
    assert "better;" in render(compare([open_run(tmp_path / "seen")]), "md")


def test_a_run_that_has_lost_its_looks_is_refused(tmp_path: Path) -> None:
    climb(ladder(), tmp_path / "run", ladder_judge(LOST_AT_2))
    (tmp_path / "run" / "looks.jsonl").unlink()
    with pytest.raises(FormalimgError, match=r"restore looks\.jsonl"):
        compare([open_run(tmp_path / "run")])
