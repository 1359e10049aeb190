"""Certificates in reports: sensitivity and specificity of the judge, the rate that they correct, and what differs."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.loader import load
from formalimg.judges.certificates.certificate import AnswerCounts, InvarianceCounts, JudgeCertificate
from formalimg.judges.observations import list_served_models
from formalimg.judges.question_judge import QuestionGraphJudge
from formalimg.models.python_function import CallableModel
from formalimg.reports.comparison import compare
from formalimg.reports.findings import list_claims
from formalimg.reports.judge_tables import certificate_table
from formalimg.reports.report import render
from formalimg.reports.tables.model import number_in
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import open_run
from formalimg.stats.judge_error import RoganGladen, rogan_gladen
from formalimg.stats.observations import MissingPolicy
from formalimg.types import Setting, Table, Verdict
from tests.benchmarks.test_question_files import DSG_COLUMNS
from tests.benchmarks.test_suite_kinds import draw_anything
from tests.reports.drawn_runs import plain_run
from tests.support.command import formalimg
from tests.support.concept_items import NOTHING, answers_by
from tests.support.observed_runs import mislabelled_run, soft_run, wavering_run
from tests.support.remote_models import stand_alone
from tests.support.scripted_chat import ScriptedChat
from tests.support.values import not_none

SCENES = 50
SETTINGS: dict[str, Setting] = {"version": 1, "least_confidence": 0.6, "semantics": "strict", "judging_rules": 1}
GOOD = JudgeCertificate(
    "builtin/icons",
    "knolling",
    SCENES,
    7,
    8 * SCENES,
    {},
    (AnswerCounts("image", "", SCENES, 45, SCENES, 40), AnswerCounts("clause", "", SCENES, 46, SCENES, 41)),
    (InvarianceCounts("border", "image", SCENES, 0, 0, SCENES),),
    ("gives no verdict with a border: 50 of 50 images are unscored", "not measured: colours (3)"),
    SETTINGS,
    date="2026-01-31T10:00:00Z",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    done = formalimg(
        "run", "knolling", "-m", "builtin/reader", "--levels", "1-2", "--per-level", "2", "--out", str(folder)
    )
    assert done.code == 0, done.err
    return folder


def _written(folder: Path, certificate: JudgeCertificate, name: str = "certificate.json") -> str:
    path = folder / name
    path.write_text(json.dumps(certificate.to_json()))
    return str(path)


@pytest.mark.parametrize("form", ["terminal", "md", "latex", "csv", "json", "html"])
def test_every_format_shows_certificates(form: str, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    given = ["--certificate", _written(tmp_path, GOOD), "--format", form, "--out", str(out), "--images", "none"]
    given += ["--details"] if form == "terminal" else []
    done = formalimg("report", str(run), *given)
    assert done.code == 0, done.err
    text = out.read_text()
    for word in ("sensitivity", "specificity", "by certificate"):
        assert word in text
    if form != "csv":  # numbers alone
        assert "assumes the judge errs here as it did there" in " ".join(text.split())
        assert "no verdict with a border" in " ".join(text.split())
        assert "not measured: colours (3)" in " ".join(text.split())


def test_the_rate_is_corrected_by_the_counts_of_the_certificate(run: Path) -> None:
    with closing(open_run(run)) as record:
        [section] = compare([record], certificates=[GOOD]).sections
    table = section.tables[-1]
    [row] = table.rows
    sensitivity, specificity, raw, corrected = (number_in(table, row, n) for n in range(3, 7))
    assert corrected is not None
    assert (not_none(sensitivity).passed, not_none(sensitivity).scored, not_none(specificity).passed) == (
        45,
        SCENES,
        40,
    )
    rate = section.rows[0].summary.overall
    found: RoganGladen = rogan_gladen(not_none(rate.value), 0.9, 0.8, images=4, positives=SCENES, negatives=SCENES)
    assert (corrected.value, *not_none(corrected.interval)) == (found.estimate, found.low, found.high)
    assert not_none(raw).value == not_none(rate.value)


def test_a_certificate_of_another_judge_setting_or_served_model_is_said(run: Path) -> None:
    with closing(open_run(run)) as record:
        section = compare([record]).sections[0]
    name = section.rows[0].name

    def notes(certificate: JudgeCertificate) -> str:
        return " ".join(certificate_table(section, [certificate], 0.95).notes)

    assert "other settings" not in notes(GOOD)
    assert f"{name}: the certificate is of the judge with other settings (least_confidence)" in notes(
        replace(GOOD, settings={**SETTINGS, "least_confidence": 0.5})
    )
    other = notes(replace(GOOD, judge="openai/looker"))
    assert f"{name}: no certificate of its judge builtin/icons on knolling, only of openai/looker on knolling" in other
    assert "no certificate of its judge" in notes(replace(GOOD, suite="natural"))
    section.rows[0].quality.served.update(["gpt-2025-08"])
    assert "another served model (gpt-2025-01), the images were judged by gpt-2025-08" in notes(
        replace(GOOD, served=("gpt-2025-01",))
    )
    chance = replace(GOOD, counts=(AnswerCounts("image", "", SCENES, 45, SCENES, 5),))
    assert "no better than chance" in notes(chance)
    assert certificate_table(section, [chance], 0.95).rows[0].cells[-1].value is None  # type: ignore[union-attr]


def test_served_models_are_read_from_evidence() -> None:
    assert list_served_models(Verdict(True, (), {"served": {"model": "a", "id": 3}})) == ("a",)
    assert list_served_models(Verdict(True, (), {"served": {"model": ["a", "b"]}})) == ("a", "b")
    assert list_served_models(Verdict(True, (), {"grounder": {"served": {"model": "c"}}})) == ("c",)
    assert list_served_models(Verdict(True)) == ()


def test_what_is_no_certificate_is_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "reading.json").write_text('{"grounder": "builtin/icons"}')
    done = formalimg("report", str(run), "--certificate", str(tmp_path / "reading.json"))
    assert done.code == 2
    assert "it is not a certificate of a judge" in done.err
    assert done.err.count("\n") == 1
    assert formalimg("report", str(run), "--certificate", str(tmp_path / "nowhere.json")).code == 2


def test_a_certificate_sharpens_what_would_overturn_a_difference() -> None:
    runs = [
        plain_run(name, {level: [n < passing for n in range(8)] for level in range(1, 11)})
        for name, passing in (("good", 6), ("bad", 4))
    ]
    judge = runs[0].manifest.judge
    assert judge is not None
    fitting = replace(GOOD, judge=judge.name, settings=dict(judge.settings))
    ((alone,), (certified,), (unfit,)) = (
        compare(runs, certificates=certificates).sections[0].pairs
        for certificates in ([], [fitting], [replace(fitting, settings={"other": 1})])
    )
    # Rates of .75 and .5 by a judge that passes .2 of what is wrong, and fails .1 of what is right: .4286 are right.
    assert not_none(alone.tipping).false_pass == pytest.approx(0.25 / 0.5)
    assert not_none(certified.tipping).false_pass == pytest.approx(0.25 / (1 - 0.3 / 0.7))
    assert unfit.tipping == not_none(alone.tipping), "a certificate of other settings is none of this judge"
    comparison = compare(runs, certificates=[fitting])
    line = list_claims(comparison.sections[0], comparison)[1]
    assert "by its certificate passes 20 % of wrong drawings and fails 10 % of right ones) passed wrong images" in line


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


DPG = f"""{DSG_COLUMNS},question_natural_language
0,A red cup,cup,1,0,entity,whole,entity - whole (cup),Is there a cup?
0,A red cup,red,2,PARENT,attribute,color,"attribute - color (cup, red)",Is the cup red?
0,A red cup,table,3,2,relation,spatial,"relation (cup, table)",Is the red cup on it?
partiprompts0,Two dogs,dogs,1,0,entity,whole,entity - whole (dogs),Are there dogs?
"""
ANSWERS = {"Is there a cup?": "yes", "Is the cup red?": "no", "Is the red cup on it?": "yes", "Are there dogs?": "yes"}


def _tables(folder: Path, items: Path, answers: dict[str, str], **how: str) -> dict[str, Table]:
    chat = ScriptedChat({1: NOTHING}, answers_by(answers), name="lab/eyes")
    config = RunConfig(load("questions", items), CallableModel(draw_anything, name="lab/painter"), size=64)
    if not folder.exists():
        execute(config, folder, QuestionGraphJudge(chat))
    with contextlib.closing(open_run(folder)) as run:
        (section,) = compare([run], **how).sections  # type: ignore[arg-type]
    return {table.name: table for table in section.tables}


def _numbers(table: Table) -> dict[str, list[float | None]]:
    found = {}
    for row in table.rows:
        cells = [number_in(table, row, place) for place in (2, 3)]
        found[str(row.cells[1])] = [
            None if cell is None or cell.value is None else round(cell.value, 6) for cell in cells
        ]
    return found


@pytest.mark.parametrize(("parent", "official"), [("0", [(0 + 1) / 2, 1 / 3]), ("1", [1.0, 1.0])])
def test_dpg_with_its_first_row_and_as_the_code_has_it(tmp_path: Path, parent: str, official: list[float]) -> None:
    (tmp_path / "dpg.csv").write_text(DPG.replace("PARENT", parent))
    ours = _numbers(_tables(tmp_path / "run", tmp_path / "dpg.csv", ANSWERS)["scores"])
    # There is a cup; what follows from the red that is not there fails.
    assert ours == {"all": pytest.approx([(1 / 3 + 1) / 2, 2 / 4], abs=1e-6)}
    # Without its row the item is scored by the other questions; it is dropped if one of them depends on it.
    theirs = _tables(tmp_path / "run", tmp_path / "dpg.csv", ANSWERS, profile="official-code")
    assert _numbers(theirs["scores"]) == {"all": pytest.approx(official, abs=1e-6)}


def test_means_by_tag_and_category(tmp_path: Path) -> None:
    checks = {"C-A-001": ("Cups", ["a", "b"]), "C-A-002": ("Cups", ["c"]), "C-B-001": ("Dogs", ["d", "e"])}
    records = {
        name: {
            "Main Class": "Composition",
            "Sub Class": kind,
            "Prompt": name,
            "Checklist": [{"question": f"Is it {one}?", "tags": ["even" if one in "bd" else "odd"]} for one in asked],
        }
        for name, (kind, asked) in checks.items()
    }
    (tmp_path / "C.json").write_text(json.dumps(records))
    answers = {"Is it a?": "yes", "Is it b?": "no", "Is it c?": "yes", "Is it d?": "yes", "Is it e?": "perhaps"}
    tables = _tables(tmp_path / "run", tmp_path / "C.json", answers)
    assert _numbers(tables["scores"]) == {
        "all": [0.75, pytest.approx(2 / 3, abs=1e-6)],
        "Cups": [0.75, pytest.approx(2 / 3, abs=1e-6)],
        "Composition": [0.75, pytest.approx(2 / 3, abs=1e-6)],
        "Dogs": [None, None],
    }
    assert _numbers(tables["questions by category"]) == {"even": [0, 1], "odd": [1, 2]}
    missing: MissingPolicy = "fail"
    counted = _numbers(_tables(tmp_path / "run", tmp_path / "C.json", answers, missing=missing)["scores"])
    assert counted["all"] == pytest.approx([0.5, 2 / 5])
    assert counted["Dogs"] == [0, 0]
