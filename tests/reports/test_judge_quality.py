"""Reports tell what the judge's observations show: dropped boxes, clauses against the whole, and P(yes)."""

from __future__ import annotations

import csv
import io
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from formalimg.reports.comparison import compare
from formalimg.reports.report import render
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import open_run
from tests.support.command import formalimg
from tests.support.observed_runs import mislabelled_run, soft_run, wavering_run
from tests.support.remote_models import stand_alone

pytestmark = pytest.mark.usefixtures("no_preflight")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)


def reported(*folders: Path) -> tuple[Any, list[dict[str, str]], str]:
    """The runs of a report as JSON, the lines of its CSV, and its text."""
    runs = [open_run(folder) for folder in folders]
    comparison = compare(runs)
    for run in runs:
        run.close()
    found = json.loads(render(comparison, "json"))["sections"][0]["runs"]
    lines = list(csv.DictReader(io.StringIO(render(comparison, "csv"))))
    return found, lines, " ".join(render(comparison, "md").split())


def by_figure(lines: list[dict[str, str]], figure: str) -> dict[str, tuple[str, str, float]]:
    return {
        line["name"]: (line["passed"], line["scored"], round(float(line["value"]), 4))
        for line in lines
        if line["figure"] == figure
    }


def test_dropped_boxes_are_counted_warned_of_and_an_image_of_nothing_else_is_unscored(tmp_path: Path) -> None:
    done = mislabelled_run(tmp_path / "run")
    with closing(open_run(tmp_path / "run")) as run:
        judged = list(run.judged())
        marked = [image.outcome.item for image in run.page(ImageFilter(mark="dropped"), 0, 48).images]
    unscored = [one for one in judged if one.outcome.passed is None]
    assert 0 < len(unscored) < len(judged) == 6
    assert all(
        one.outcome.detail.startswith("no box has a label that was asked for: gadget in place of ") for one in unscored
    )
    given, dropped = 12 - len(unscored), 6
    ((row,), lines, text) = reported(tmp_path / "run")
    share = dropped / given
    assert row["dropped_boxes"] == {
        "given": given,
        "dropped": dropped,
        "images": 6,
        "share": pytest.approx(share),
        "labels": {"gadget": 6},
    }
    assert row["overall"]["scored"] == 6 - len(unscored)
    assert by_figure(lines, "dropped boxes") == {"all boxes": (str(dropped), str(given), round(share, 4))}
    assert f"{dropped} of {given} boxes of the judge ({100 * share:.1f} %) have labels that were not asked for" in text
    assert len(marked) == 6
    assert done.code == 0, done.err
    assert f"warning: {100 * share:.1f} % of the boxes by openai/looker have labels that were not asked for" in done.err


def test_as_published_nothing_is_unscored_for_its_labels_but_the_share_is_told(tmp_path: Path) -> None:
    done = mislabelled_run(tmp_path / "run", "--protocol", "published")
    ((row,), _, text) = reported(tmp_path / "run")
    assert row["unscored"] == {}
    assert row["dropped_boxes"]["share"] == 1  # it never reads the question of the published prompt
    assert "and were left in, as published" in text
    assert "warning: 100.0 % of the boxes" in done.err


def test_a_judge_that_keeps_to_the_labels_is_not_mentioned(tmp_path: Path) -> None:
    done = formalimg("run", "knolling", "-m", "builtin/oracle", "--levels", "1", "--per-level", "2", "--out", "run")
    ((row,), lines, text) = reported(tmp_path / "run")
    assert done.code == 0
    assert "warning" not in done.err
    assert not {"dropped_boxes", "clause_disagreements", "p_yes"} & row.keys()
    assert {line["figure"] for line in lines} == {
        "level",
        "band",
        "overall",
        "generalizability",
        "clause kind",
        "predicate",
    }
    assert "P(yes)" not in text


def test_images_where_whole_and_clauses_disagree_are_counted_and_can_be_found(tmp_path: Path) -> None:
    wavering_run(tmp_path / "run")
    ((row,), lines, text) = reported(tmp_path / "run")
    assert row["clause_disagreements"] == {"images": 2, "compared": 3, "only_whole": 1, "only_clauses": 1}
    assert by_figure(lines, "clause disagreements") == {"all pictures": ("2", "3", 0.6667)}
    assert "verdict on the whole and its clauses disagree in 2 of 3 images: 1 where the whole" in text
    with closing(open_run(tmp_path / "run")) as run:
        found = run.page(ImageFilter(mark="disagreement"), 0, 48).images
    assert [image.outcome.item for image in found] == ["1", "2"]
    formalimg("report", "run", "--format", "html")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "the whole is fulfilled, but a clause does not hold" in page
    assert "<summary>judge&#39;s observation</summary>" in page
    assert "proof" not in page.lower()


def test_mean_p_yes_is_a_column_where_there_is_any(tmp_path: Path) -> None:
    soft_run(tmp_path / "soft")
    soft_run(tmp_path / "mute", "mute-looker")
    soft_run(tmp_path / "off", logprobs="off")
    (soft, mute, off), lines, text = reported(tmp_path / "soft", tmp_path / "mute", tmp_path / "off")
    yes, no = 7 / 9, 2 / 9
    second = (2 * yes + no) / 3
    assert soft["p_yes"]["mean"] == pytest.approx((yes + second) / 2, abs=1e-5)
    assert {name: soft["p_yes"][name] for name in ("images", "questions", "missing")} == {
        "images": 2,
        "questions": 5,
        "missing": 0,
    }
    assert soft["p_yes"]["kinds"]["color"]["value"] == pytest.approx(no, abs=1e-5)
    assert "p_yes" not in mute
    assert "p_yes" not in off
    assert by_figure(lines, "p_yes") == {"all pictures": ("", "2", round((yes + second) / 2, 4))}
    assert by_figure(lines, "p_yes by level") == {"1": ("", "1", round(yes, 4)), "2": ("", "1", round(second, 4))}
    assert by_figure(lines, "p_yes by kind")["color"] == ("", "1", round(no, 4))
    assert "| P(yes) |" in text
    assert text.count("it decides nothing") == 1
    assert text.count("P(yes) is missing for 5 of 5 questions") == 1


def test_an_export_of_conceptmix_has_p_yes_question_by_question(tmp_path: Path) -> None:
    soft_run(tmp_path / "soft")
    soft_run(tmp_path / "mute", "mute-looker")
    for name in ("soft", "mute"):
        assert formalimg("export", name, "--out", "out").code == 0
    records = json.loads((tmp_path / "out" / "all_ind_scores" / "soft_p_yes.json").read_text(encoding="utf-8"))
    assert [(one["item"], one["category"], one["score"], round(one["p_yes"], 3)) for one in records] == [
        ("1", "object", 1, 0.778),
        ("1", "number", 1, 0.778),
        ("2", "object", 1, 0.778),
        ("2", "color", 0, 0.222),
        ("2", "number", 1, 0.778),
    ]
    assert all(Path(one["image_path"]).is_file() for one in records)
    assert not (tmp_path / "out" / "all_ind_scores" / "mute_p_yes.json").exists()
