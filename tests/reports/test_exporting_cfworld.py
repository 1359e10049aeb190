"""A run of CF-World in the form of the published scorers, and read back from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formalimg import FormalimgError
from formalimg.benchmarks.cfworld.score_files import read_cf_scores
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.models.folder.folder_model import open_folder
from formalimg.reports.run_export import export_run
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import StoredRun, open_run
from formalimg.types import Item
from tests.reports.counterfactual_runs import Scores, judge_by, scored_item, scored_run
from tests.support.command import formalimg

MECHANICS = "physics-classical-mechanics"
PUBLISHED = [
    *(scored_item(f"{MECHANICS}-12", level, tags=("physics", "mechanics")) for level in (1, 2, 3)),
    *(scored_item("biology-7", level, tags=("biology",)) for level in (1, 2, 3)),
]
"""Named as published items are."""

OURS = [scored_item("optics-004", level) for level in (1, 2, 3)]

SCORES: dict[str, Scores] = {
    f"{MECHANICS}-12-l1": [1, 1, 0.5],  # 18.5/26
    f"{MECHANICS}-12-l2": [0, 0.5, 1],
    f"{MECHANICS}-12-l3": "not understood",
    "biology-7-l1": [1, 1, 0],  # 11/26: the gate is closed
    "biology-7-l2": [1, 1, 1],
    "biology-7-l3": [0.3, 0.3, 0.3],
    **{f"optics-004-l{level}": [1, 0, level / 4] for level in (1, 2, 3)},
}


def _exported(tmp_path: Path, items: list[Item[CounterfactualSpec]], **more: object) -> tuple[StoredRun, Path]:
    run = open_run(scored_run(tmp_path / "run", items, judge_by(SCORES), **more))  # type: ignore[arg-type]
    export_run(run, tmp_path / "out", "painter")
    return run, tmp_path / "out" / "data" / "counterfactual"


def _given(run: StoredRun) -> dict[str, list[tuple[str, float]]]:
    """The scores of the run, by item: question and score."""
    return {
        judged.outcome.item: [(part.name, part.score) for part in judged.verdict.parts]
        for judged in run.judged()
        if hasattr(judged.verdict, "parts")
    }


def _read_back(folder: Path) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {}
    for path in sorted(folder.rglob("*_scores.json")):
        for one in read_cf_scores(path):
            if one.score is not None:
                found.setdefault(one.item, []).append((one.question, one.score))
    return found


@pytest.mark.parametrize("items", [PUBLISHED, OURS], ids=["published", "ours"])
def test_scores_read_back_as_they_were_judged(items: list[Item[CounterfactualSpec]], tmp_path: Path) -> None:
    run, home = _exported(tmp_path, items)
    assert _given(run)
    assert _read_back(home / "score" / "gemini-painter") == _given(run)


def test_records_are_those_of_the_published_scorer(tmp_path: Path) -> None:
    _, home = _exported(tmp_path, PUBLISHED)
    scores = home / "score" / "gemini-painter"
    first, *_, last = json.loads((scores / "physics" / "Classical Mechanics_gemini_scores.json").read_text("utf-8"))
    assert first == {
        "id": "1",
        "source_id": "12",
        "prompt_level": "l1",
        "question": "Is integrity number 1 right?",
        "weight": 3,
        "score": 1,
        "reasoning": "it is 1",
        "scoring_model": "test/scores",
        "image_score": 0.7115,
        "l1_score": 0.7115,
    }
    assert (last["id"], last["prompt_level"], last["score"], last["reasoning"]) == ("9", "l3", 0, "API Failed")
    biology = json.loads((scores / "Biology_gemini_scores.json").read_text("utf-8"))
    assert [record["score"] for record in biology[3:6]] == [1, 1, 1]  # as judged: the gate is in the summary
    summary = json.loads((scores / "summary_stats.json").read_text("utf-8"))
    by_file = {entry["filename"]: entry for entry in summary}
    assert list(by_file) == ["Biology", "physics/Classical Mechanics", "TOTAL_AVERAGE"]
    assert by_file["Biology"] == {"filename": "Biology", "l1": 0.4231, "l2": 0.0, "l3": 0.0, "overall": 0.141}
    assert by_file["TOTAL_AVERAGE"]["l2"] == round((0 + 19 / 26) / 2, 4)
    (unscored,) = json.loads((scores / "unscored.json").read_text("utf-8"))
    assert (unscored["item"], unscored["reason"]) == (f"{MECHANICS}-12-l3", "not understood")


def test_a_missing_image_is_no_score_when_read_back(tmp_path: Path) -> None:
    _, home = _exported(tmp_path, PUBLISHED, refused=["biology-7-l2"])
    path = home / "score" / "gemini-painter" / "Biology_gemini_scores.json"
    read = [one for one in read_cf_scores(path) if one.item == "biology-7-l2"]
    assert len(read) == 3
    assert {one.unscored for one in read} == {"the picture was missing"}


@pytest.mark.parametrize("items", [PUBLISHED, OURS], ids=["published", "ours"])
@pytest.mark.parametrize("samples", [1, 2])
def test_the_images_are_found_again(items: list[Item[CounterfactualSpec]], samples: int, tmp_path: Path) -> None:
    run, home = _exported(tmp_path, items, samples=samples)
    again = open_folder(str(home / "output" / "painter"), {})
    execute(RunConfig(items, again, size=16, samples=samples), tmp_path / "again")
    before, after = (
        {(one.outcome.item, one.outcome.sample): one.sha256 for one in each.judged()}
        for each in (run, open_run(tmp_path / "again"))
    )
    assert len(before) == len(items) * samples
    assert before == after
    assert (home / "score" / "gemini-painter_1").exists() == (samples == 2)


def test_reasons_that_the_reader_would_take_for_no_score(tmp_path: Path) -> None:
    (item,) = [scored_item("biology-7", 1, ["assessment"], tags=("biology",))]
    judge = judge_by({item.id: [0.0]})
    run = open_run(scored_run(tmp_path / "run", [item], judge))
    judged = next(run.judged())
    export_run(run, tmp_path / "out", "m")
    path = tmp_path / "out" / "data" / "counterfactual" / "score" / "gemini-m" / "Biology_gemini_scores.json"
    (read,) = read_cf_scores(path)
    assert (read.score, read.unscored) == (0.0, "")
    assert judged.outcome.score == 0


def test_the_denominalised_probe_has_files_of_its_own(tmp_path: Path) -> None:
    items = [scored_item("biology-7", 2, suite="cf-world-denominalised", tags=("biology",))]
    run = open_run(scored_run(tmp_path / "run", items, judge_by(SCORES)))
    export_run(run, tmp_path / "out", "m")
    assert (tmp_path / "out/data/output/images/m/de-norm/Biology/7.png").is_file()
    records = tmp_path / "out/output/scores-de-norm/m/Biology_gemini_qwen235b.json"
    assert [(one.item, one.score) for one in read_cf_scores(records)] == [("biology-7-l2", 1.0)] * 3
    first = json.loads(records.read_text("utf-8"))[0]
    assert (first["image_filename"], first["evaluator"], first["l1_ref_score"]) == ("7.png", "test/scores", None)


def test_probes_without_a_published_form_are_refused_in_one_line(tmp_path: Path) -> None:
    items = [scored_item("rule-0", 1, name="rule-0-0", suite="cf-world-rules", tags=())]
    scored_run(tmp_path / "run", items, judge_by({"rule-0-0": [1, 1, 1]}))
    said = formalimg("export", str(tmp_path / "run"), "--out", str(tmp_path / "out"))
    assert said.code == 2
    assert "only runs of cf-world and cf-world-denominalised can be exported" in said.err
    with pytest.raises(FormalimgError, match="no form of score files is published"):
        export_run(open_run(tmp_path / "run"), tmp_path / "out", "m")
