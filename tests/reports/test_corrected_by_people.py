"""`formalimg report --human` and `--labels`: raw and corrected rates side by side, in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from formalimg.cli.commands import app
from formalimg.errors import FormalimgError
from formalimg.human_eval.protocol import RatingStep
from formalimg.human_eval.study import RatingTask, open_study
from formalimg.human_eval.study_builder import NewStudy, create_study
from formalimg.runs.execution import judge_run
from formalimg.types import Verdict
from tests.human_eval.concept_runs import PlannedJudge, concept_run
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.human_eval.labelled_runs import is_right, lenient_run, rate_truly, true_rate
from tests.human_eval.rated_runs import concept_items, opened, take
from tests.support.models import NumberJudge

ASSUMES = "assumes the labelled images are a random sample within each level and judge answer"
ALONE = "Rates are the judge's, without human labels: `formalimg report --human` corrects them."


def _said(*words: object) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, words)], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def _flat(text: str) -> str:
    return " ".join(text.split())


def _data(*words: object) -> dict[str, Any]:
    (section,) = json.loads(_said(*words, "--format", "json"))["sections"]
    return dict(section)


def _table(section: Mapping[str, Any], name: str = "corrected") -> dict[str, list[Any]]:
    """The cells of a table, by its first cell."""
    (found,) = [table for table in section["tables"] if table["name"] == name]
    return {row["cells"][0]: row["cells"][1:] for row in found["rows"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lenient_run(tmp_path_factory.mktemp("work") / "runs" / "lenient", 200, levels=10)


@pytest.fixture(scope="module")
def study(run: Path) -> Path:
    """A study for correction in the usual place, of which all images are rated."""
    with opened(run) as runs:
        made = create_study(run.parent.parent / "studies" / "s", runs, "likert", raters=1, per_image=1, labels=100)
    with open_study(made.folder) as answering:
        assert rate_truly(answering, "rater-1") == 100
    return made.folder


def test_the_corrected_rate_covers_the_truth_and_the_raw_one_does_not(run: Path, study: Path) -> None:
    section = _data(run, "--human", study)
    rows = _table(section)
    raw, corrected, labels, effective = rows["Overall"]
    truth = true_rate(run)
    assert not raw["interval"][0] <= truth <= raw["interval"][1]
    assert corrected["interval"][0] <= truth <= corrected["interval"][1]
    assert labels["value"] == 100
    assert effective["value"] > 50
    assert [*rows] == [*(f"K {n}" for n in range(1, 11)), "Easy", "Medium", "Hard", "Overall", "all images"]
    assert sum(rows[f"K {level}"][2]["value"] for level in range(1, 11)) == 100
    held = _table(section, "corrected G")["test/speckles"]
    assert held[0]["value"] >= held[1]["value"]


@pytest.mark.parametrize("spelling", ["--human", "--ratings"])
def test_the_terminal_shows_them_without_details(run: Path, study: Path, spelling: str) -> None:
    text = _said(run, spelling, study)
    assert text.startswith("By people (100 labels), test/speckles passes 5")
    assert re.search(r"speckles +5\d\.\d \(\d\d\.\d–\d\d\.\d\) +7\d\.\d +\d+ \(\d+–\d+\) +100 ", text)
    assert "G corrected by human labels" not in text
    assert "G corrected by human labels" in _said(run, spelling, study, "--details")
    assert ASSUMES not in _flat(text)
    assert "without human labels" not in _flat(text)


def test_every_other_format_has_the_same_numbers(run: Path, study: Path, tmp_path: Path) -> None:
    corrected = _table(_data(run, "--human", study))["Overall"][1]
    shown = f"{100 * corrected['value']:.1f}"
    assert re.search(rf"^\| Overall \| [^|]+ \| {shown} \(", _said(run, "--human", study, "--format", "md"), re.M)
    latex = _said(run, "--human", study, "--format", "latex")
    assert re.search(rf"Overall & [^\n]* & {re.escape(shown)} ", latex)
    lines = csv.DictReader(io.StringIO(_said(run, "--human", study, "--format", "csv")))
    found = {one["name"]: one for one in lines if one["figure"] == "corrected"}
    assert float(found["Overall, corrected"]["value"]) == corrected["value"]
    assert [float(found["Overall, corrected"][end]) for end in ("low", "high")] == corrected["interval"]
    assert {"Overall, raw", "Overall, labels", "Overall, effective labels"} <= {*found}
    _said(run, "--human", study, "--out", tmp_path / "r.html", "--gallery", 0, "--figures", tmp_path / "f")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    part = page[page.index('id="corrected-0"') : page.index('id="people-0"')]
    assert shown in part
    assert part.count('src="data:image/svg+xml;base64,') == 1
    figure = (tmp_path / "f" / "knolling-corrected.svg").read_text(encoding="utf-8")
    assert "corrected by people" in figure
    assert re.search(r"G \d+ → \d+<", figure), "raw, then corrected"


def test_labels_of_a_file_are_used_and_odd_lines_are_counted(run: Path, tmp_path: Path) -> None:
    words = {True: ("yes", "1", "pass"), False: ("no", "0", "FAIL")}
    lines = [f"{item},{words[is_right(str(item))][item % 3]}" for item in range(0, 200, 2)]
    odd = ["4,maybe", "7", "6,yes"]  # the last is labelled already
    file = tmp_path / "labels.csv"
    file.write_text("\n".join(["item,label", *lines, *odd, "900,yes"]), encoding="utf-8")
    section = _data(run, "--labels", file)
    raw, corrected, labels, _ = _table(section)["Overall"]
    assert labels["value"] == 100
    assert corrected["interval"][0] <= true_rate(run) <= corrected["interval"][1]
    (note,) = [table["note"] for table in section["tables"] if table["name"] == "corrected"]
    assert ASSUMES in note
    (first,) = [table["note"] for table in section["tables"] if table["name"] == "by people"]
    assert ASSUMES in first, "the first table says what the claim rests on"
    assert f"3 lines of {file} are odd and left out, the first: line 102: the label is 'maybe'" in note
    assert f"1 line of {file} is of images that are not here, the first: line 105: lenient has no sample 0" in note
    assert raw["value"] > corrected["value"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("item\n1\n", "there is no column label"),
        ("item,label\n1,maybe\n", "the label is 'maybe': write yes or no"),
        ("item,label\n900,yes\n", "has no sample 0 of item 900"),
        ("", "there are no labels"),
    ],
)
def test_a_file_without_labels_is_refused_in_one_line(run: Path, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "labels.csv").write_text(text, encoding="utf-8")
    with pytest.raises(FormalimgError, match=re.escape(told)) as refused:
        _said(run, "--labels", tmp_path / "labels.csv")
    assert "\n" not in str(refused.value)


def test_several_runs_have_their_own_labels(run: Path, study: Path, tmp_path: Path) -> None:
    other = lenient_run(tmp_path / "other", 40, levels=10)
    text = "\n".join(f"other,{item},{int(is_right(str(item)))}" for item in range(40))
    (tmp_path / "labels.csv").write_text(f"run,item,label\n{text}\n", encoding="utf-8")
    section = _data(run, other, "--human", study, "--labels", tmp_path / "labels.csv")
    (table,) = [table for table in section["tables"] if table["name"] == "corrected"]
    assert table["heads"][0] == "run"
    assert len({row["run"] for row in table["rows"]}) == 2
    section = _data(run, other, "--human", study)
    assert "are the judge's, without human labels: `formalimg report --human` corrects them" in section["caption"]
    (tmp_path / "plain.csv").write_text("item,label\n1,yes\n", encoding="utf-8")
    with pytest.raises(FormalimgError, match="add a column run"):
        _said(run, other, "--labels", tmp_path / "plain.csv")
    (tmp_path / "twice.csv").write_text("item,label\n1,yes\n", encoding="utf-8")
    with pytest.raises(FormalimgError, match="both label lenient: give one of them"):
        _said(run, "--human", study, "--labels", tmp_path / "twice.csv")


def test_borderline_images_correct_nothing_and_are_still_compared(tmp_path: Path) -> None:
    items = [scored_item(f"{n:02}-l1") for n in range(6)]
    run = scored_run(tmp_path / "run", items, {item.id: [0.5 if n < 4 else 1.0] for n, item in enumerate(items)})
    with opened(run) as runs:
        made = create_study(tmp_path / "s", runs, "scores", raters=1, per_image=1, borderline=True)
    _rate(made, lambda task, step: 0.25)
    section = _data(run, "--human", made.folder)
    (remark,) = [one for one in section["remarks"] if "not corrected by human labels" in one]
    assert "borderline scores, which stand for no others" in remark
    assert not [table for table in section["tables"] if table["name"] == "corrected"]
    assert "without human labels" in section["caption"]


def test_labels_drawn_by_another_judge_correct_nothing(tmp_path: Path) -> None:
    run = lenient_run(tmp_path / "run", 20)
    with opened(run) as runs:
        made = create_study(tmp_path / "s", runs, "likert", raters=1, per_image=1, labels=10)
    with open_study(made.folder) as answering:
        rate_truly(answering, "rater-1")
    judge_run(run, NumberJudge(name="test/strict", verdict=lambda item, image: Verdict(passed=False)))
    (remark,) = [one for one in _data(run, "--human", made.folder)["remarks"] if "not corrected" in one]
    assert "were drawn by the answers of test/lenient" in remark


def test_a_study_of_some_images_of_each_level_corrects_too(run: Path, tmp_path: Path) -> None:
    with opened(run) as runs:
        made = create_study(tmp_path / "s", runs, "likert", raters=1, per_image=1, per_level=10)
    with open_study(made.folder) as answering:
        rate_truly(answering, "rater-1")
    section = _data(run, "--human", made.folder)
    assert _table(section)["Overall"][2]["value"] == 100
    assert ASSUMES not in json.dumps(section)


def test_images_without_a_verdict_are_corrected_by_nothing(tmp_path: Path) -> None:
    run = lenient_run(tmp_path / "run", 20, unread=frozenset({"0", "1"}))
    lines = "\n".join(f"{item},{int(is_right(str(item)))}" for item in range(20))
    (tmp_path / "labels.csv").write_text(f"item,label\n{lines}\n", encoding="utf-8")
    rows = {
        missing: _table(_data(run, "--labels", tmp_path / "labels.csv", "--missing", missing))["all images"]
        for missing in ("exclude", "fail")
    }
    assert rows["exclude"] == rows["fail"]
    raw, corrected, labels, _ = rows["exclude"]
    assert (raw["scored"], raw["expected"], labels["value"]) == (18, 20, 18)
    right = [is_right(str(item)) for item in range(2, 20)]
    assert corrected["value"] == pytest.approx(sum(right) / 18)  # every judged image is labelled


def test_tables_without_labels_say_so(run: Path, tmp_path: Path) -> None:
    text = _flat(_said(run, "--details"))
    assert f"Judged by test/lenient. {ALONE}" in text
    unjudged = lenient_run(tmp_path / "unjudged", 2, judge=False)
    assert "human labels" not in _said(unjudged, "--details")
    items = concept_items(8, levels=1)
    judge = PlannedJudge("test/judge", lambda item: [int(item.id) % 2 == 0] * len(item.spec.concepts))
    section = _data(concept_run(tmp_path / "concepts", items, [judge]))
    rates = [table for table in section["tables"] if table["name"] in ("concept fraction", "full mark")]
    assert rates
    assert all(ALONE in table["note"] for table in rates)


def test_a_judge_that_is_told_the_truth_needs_no_labels(tmp_path: Path) -> None:
    run = lenient_run(tmp_path / "run", 4, judge=False)
    judge_run(run, NumberJudge(name="builtin/drawn", verdict=lambda item, image: Verdict(passed=True)))
    assert "human labels" not in _said(run)


def _rate(made: NewStudy, say: Callable[[RatingTask, RatingStep], Any]) -> None:
    with open_study(made.folder) as answering:
        for rater in made.links:
            take(answering, rater, say)


def test_concept_fractions_are_corrected_as_means(tmp_path: Path) -> None:
    """The judge sees every concept; people see the objects alone, in every image."""
    items = concept_items(40, levels=2)
    run = concept_run(
        tmp_path / "run", items, [PlannedJudge("test/judge", lambda item: [True] * len(item.spec.concepts))]
    )
    with opened(run) as runs:
        made = create_study(tmp_path / "s", runs, "questions", raters=1, per_image=1, labels=20)
    _rate(made, lambda task, step: step.question == 1)
    section = _data(run, "--human", made.folder)
    rows = _table(section, "corrected fractions")
    assert [*rows] == ["k 1", "k 2", "all images"]
    for name, truth in (("k 1", 1 / 2), ("k 2", 1 / 3)):
        raw, corrected, labels, _ = rows[name]
        assert raw["value"] == 1
        assert corrected["value"] == pytest.approx(truth)
        assert corrected["interval"][0] < truth < corrected["interval"][1]
        assert labels["value"] == 10
    raw, corrected, *_ = _table(section)["all images"]
    assert (raw["value"], corrected["value"]) == (1, 0)


def test_scores_are_corrected_before_the_gate(tmp_path: Path) -> None:
    """The judge gives a quarter more than people do."""
    items = [scored_item(f"{n:02}-l1") for n in range(30)]
    given = {item.id: 0.25 + 0.5 * (n % 2) for n, item in enumerate(items)}
    run = scored_run(tmp_path / "run", items, {item: [score] for item, score in given.items()})
    with opened(run) as runs:
        made = create_study(tmp_path / "s", runs, "scores", raters=1, per_image=1, labels=16)
    _rate(made, lambda task, step: given[task.words.split()[-1].rstrip(".")] - 0.25)
    section = _data(run, "--human", made.folder)
    raw, corrected, labels, _ = _table(section)["all images"]
    assert raw["value"] == pytest.approx(0.5)
    assert corrected["value"] == pytest.approx(0.25)
    assert corrected["interval"][0] < 0.25 < corrected["interval"][1]
    assert labels["value"] == 16
    assert "Scores are the judge's; those corrected by human labels have tables of their own" in section["caption"]
    assert _said(run, "--human", made.folder).startswith("By test/scorer, "), "people corrected all images, no level"
