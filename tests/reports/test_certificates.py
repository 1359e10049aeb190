"""Certificates in reports: sensitivity and specificity of the judge, the rate that they correct, and what differs."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from formalimg.judges.certificates.certificate import AnswerCounts, InvarianceCounts, JudgeCertificate
from formalimg.judges.observations import list_served_models
from formalimg.reports.comparison import compare
from formalimg.reports.findings import list_claims
from formalimg.reports.judge_tables import certificate_table
from formalimg.reports.tables.model import number_in
from formalimg.runs.reader import open_run
from formalimg.stats.judge_error import RoganGladen, rogan_gladen
from formalimg.types import Setting, Verdict
from tests.reports.drawn_runs import plain_run
from tests.support.command import formalimg

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
    assert sensitivity is not None
    assert specificity is not None
    assert raw is not None
    assert corrected is not None
    assert (sensitivity.passed, sensitivity.scored, specificity.passed) == (45, SCENES, 40)
    rate = section.rows[0].summary.overall
    assert rate.value is not None
    found: RoganGladen = rogan_gladen(rate.value, 0.9, 0.8, images=4, positives=SCENES, negatives=SCENES)
    assert corrected.interval is not None
    assert (corrected.value, *corrected.interval) == (found.estimate, found.low, found.high)
    assert raw.value == rate.value


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
    assert alone.tipping is not None
    assert certified.tipping is not None
    # Rates of .75 and .5 by a judge that passes .2 of what is wrong, and fails .1 of what is right: .4286 are right.
    assert alone.tipping.false_pass == pytest.approx(0.25 / 0.5)
    assert certified.tipping.false_pass == pytest.approx(0.25 / (1 - 0.3 / 0.7))
    assert unfit.tipping == alone.tipping, "a certificate of other settings is none of this judge"
    comparison = compare(runs, certificates=[fitting])
    line = list_claims(comparison.sections[0], comparison)[1]
    assert "by its certificate passes 20 % of wrong drawings and fails 10 % of right ones) passed wrong images" in line
