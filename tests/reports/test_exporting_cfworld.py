"""A run of CF-World in the form of the published scorers, and read back from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.cfworld.items import pair_spec
from formalimg.benchmarks.cfworld.result_files import read_cf_scores
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec, Dimension
from formalimg.models.folder.folder_model import open_folder
from formalimg.reports.published import export_run
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
    first, *_ = records = json.loads((scores / "physics" / "Classical Mechanics_gemini_scores.json").read_text("utf-8"))
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
    assert {record["prompt_level"] for record in records} == {"l1", "l2"}, "what has no score is in no score file"
    biology = json.loads((scores / "Biology_gemini_scores.json").read_text("utf-8"))
    gated = biology[3]
    assert (gated["score"], gated["reasoning"], gated["scoring_model"]) == (0, "Skipped due to L1 score < 0.5", "None")
    assert (gated["judge_score"], gated["judge_reasoning"]) == (1, "it is 1")
    assert (gated["image_score"], gated["l1_score"]) == (0, 0.4231)
    summary = json.loads((scores / "summary_stats.json").read_text("utf-8"))
    by_file = {entry["filename"]: entry for entry in summary}
    assert list(by_file) == ["Biology_gemini.json", "Classical Mechanics_gemini.json", "TOTAL_AVERAGE"]
    biology = {"filename": "Biology_gemini.json", "l1": 0.4231, "l2": 0.0, "l3": 0.0, "overall": 0.141}
    assert by_file["Biology_gemini.json"] == biology
    assert by_file["TOTAL_AVERAGE"]["l2"] == round((0 + 19 / 26) / 2, 4)
    (unscored,) = json.loads((scores / "unscored.json").read_text("utf-8"))
    assert (unscored["item"], unscored["reason"]) == (f"{MECHANICS}-12-l3", "not understood")


def test_a_missing_image_is_in_no_score_file(tmp_path: Path) -> None:
    _, home = _exported(tmp_path, PUBLISHED, refused=["biology-7-l2"])
    scores = home / "score" / "gemini-painter"
    assert not [one for one in read_cf_scores(scores / "Biology_gemini_scores.json") if one.item == "biology-7-l2"]
    listed = {entry["item"]: entry["reason"] for entry in json.loads((scores / "unscored.json").read_text("utf-8"))}
    assert listed == {f"{MECHANICS}-12-l3": "not understood", "biology-7-l2": "refused"}


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
    assert (first["image_filename"], first["evaluator"], first["prompt_level"]) == ("7.png", "test/scores", "l2")
    assert json.loads((tmp_path / "out/output/scores-de-norm/m/summary_l2_stats.json").read_text("utf-8")) == [
        {"filename": "Biology_gemini.json", "l2_overall": 1.0},
        {"model_name": "m", "l2_overall": 1.0},
    ]


QWEN, GEMINI = "openai/Qwen3-VL-235B", "gemini/gemini-3-pro-preview"


def _average(scores: Sequence[float]) -> float:
    return round(sum(scores) / len(scores), 4)


def _image_scores(records: Sequence[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """The weighted mean of each image in a score file, as the published scripts sum it up."""
    sums: dict[tuple[str, str], tuple[float, float]] = {}
    for record in records:
        key = record["source_id"], record["prompt_level"]
        total, weights = sums.get(key, (0, 0))
        sums[key] = total + record["score"] * record["weight"], weights + record["weight"]
    return {key: total / weights for key, (total, weights) in sums.items()}


def _summed_up(folder: Path, judge: str) -> dict[str, float]:
    """The total means of score files by the rule of the published summaries; only that for Qwen has the gate in it."""
    levels: dict[str, list[float]] = {}
    for path in folder.rglob("*_qwen235b.json" if judge == QWEN else "*_scores.json"):
        scores = _image_scores(json.loads(path.read_text("utf-8")))
        for (group, level), score in scores.items():
            if judge == QWEN:
                score = 0.0 if level != "l1" and scores.get((group, "l1"), 0.0) < 0.5 else round(score, 4)
            levels.setdefault(level, []).append(score)
    every = [score for own in levels.values() for score in own]
    return {**{level: _average(own) for level, own in levels.items()}, "overall": _average(every)}


def test_each_judge_of_a_run_is_exported_for_its_scorer_and_read_back_by_its_rule(tmp_path: Path) -> None:
    """Some factual image fails for one judge only, one has no score, and some items have two questions of logic."""
    kinds: list[Dimension] = ["integrity", "logic", "logic", "assessment"]
    items = [
        *PUBLISHED,
        *(scored_item("biology-8", level, kinds, tags=("biology",)) for level in (1, 2, 3)),
        *(scored_item("geography-9", level, tags=("geography",)) for level in (1, 2, 3)),
    ]
    gemini: dict[str, Scores] = {**SCORES, "geography-9-l1": "judge failed"}
    gemini |= {f"biology-8-l{level}": [0.9, 0.7, 1, 1 / level] for level in (1, 2, 3)}
    gemini |= {f"geography-9-l{level}": [1, 1, 1] for level in (2, 3)}
    qwen: dict[str, Scores] = {**gemini, "biology-7-l1": [1, 1, 1], "geography-9-l1": [0.5, 0.3, 0.6]}
    qwen |= {"biology-8-l1": [0, 0, 1, 0]}
    folder = scored_run(tmp_path / "run", items, judge_by(gemini, GEMINI), judge_by(qwen, QWEN))
    out = tmp_path / "out"
    for number, judge in enumerate((GEMINI, QWEN), 1):
        said = formalimg("export", str(folder), "--out", str(out), "--name", "m", "--judge", str(number))
        assert said.code == 0, said.err
        assert f"verdicts of {judge}; the run has others" in said.out
    homes = {GEMINI: out / "data/counterfactual/score/gemini-m", QWEN: out / "output/scores"}
    summaries = {GEMINI: "summary_stats.json", QWEN: "summary_weighted_stats.json"}
    for judge, home in homes.items():
        total = json.loads((home / summaries[judge]).read_text("utf-8"))[-1]
        assert {**_summed_up(home, judge), "filename": "TOTAL_AVERAGE"} == total
        report = formalimg(
            *("report", str(folder), "--judges", "all", "--profile", "official-code", "--format", "json")
        )
        (row,) = [run for run in json.loads(report.out)["sections"][0]["runs"] if run["judge"]["name"] == judge]
        for level in (1, 2, 3):
            assert total[f"l{level}"] == pytest.approx(row["levels"][str(level)]["value"], abs=1e-4)
    assert homes[GEMINI].is_dir()
    first = json.loads((homes[QWEN] / "Biology_gemini_qwen235b.json").read_text("utf-8"))[0]
    assert (first["image_filename"], first["evaluator"], first["l1_ref_score"]) == ("7_l1.png", QWEN, 1)
    assert (out / "data/output/images/physics/Classical Mechanics/12_l3.png").is_file()
    again = formalimg("export", str(folder), "--out", str(out), "--name", "other")
    assert again.code == 2
    assert "this layout has none for each model" in again.err
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_a_closed_gate_is_read_back_with_what_the_judge_gave(tmp_path: Path) -> None:
    run = open_run(scored_run(tmp_path / "run", PUBLISHED, judge_by(SCORES, QWEN)))
    export_run(run, tmp_path / "out", "m")
    path = tmp_path / "out/output/scores/Biology_gemini_qwen235b.json"
    gated = [record for record in json.loads(path.read_text("utf-8")) if record["prompt_level"] == "l3"]
    assert {record["score"] for record in gated} == {0}
    assert gated[0]["reasoning"] == "it is 0.3 [System: Zeroed because L1 image score (0.42) < 0.5]"
    read = [one for one in read_cf_scores(path) if one.item == "biology-7-l3"]
    assert [(one.score, one.reason) for one in read] == [(0.3, "it is 0.3")] * 3


def test_rules_have_the_results_of_their_scorer(tmp_path: Path) -> None:
    items = [
        scored_item("rule-4", level, ["assessment"], name=f"rule-4-{24 + level}", suite="cf-world-rules", tags=())
        for level in (1, 2)
    ]
    run = open_run(scored_run(tmp_path / "run", items, judge_by({"rule-4-25": [1], "rule-4-26": [0.5]}, QWEN)))
    export_run(run, tmp_path / "out", "m")
    home = tmp_path / "out/output/scores"
    first, second = json.loads((home / "m/eval_results.json").read_text("utf-8"))
    assert first == {
        "id": 1,
        "source_id": "25",
        "rule_id": 4,
        "category": "original",
        "question_type": "Assessment Point",
        "image_filename": "25.png",
        "question": "Is assessment number 1 right?",
        "weight": 15,
        "score": 1,
        "reasoning": "it is 1",
        "evaluator": QWEN,
        "image_score": 1,
    }
    assert (second["category"], second["score"]) == ("cf", 0.5)
    entry = {"model_name": "m", "overall_score": 0.75, "original_score": 1.0, "cf_score": 0.5}
    assert json.loads((home / "global_models_comparison.json").read_text("utf-8")) == [entry]
    better = open_run(scored_run(tmp_path / "run2", items, judge_by({"rule-4-25": [1], "rule-4-26": [1]}, QWEN)))
    export_run(better, tmp_path / "out", "n")
    listed = json.loads((home / "global_models_comparison.json").read_text("utf-8"))
    assert [each["model_name"] for each in listed] == ["n", "m"]
    again = open_folder(str(tmp_path / "out/data/images/m"), {})
    execute(RunConfig(items, again, size=16), tmp_path / "again")
    assert [one.sha256 for one in open_run(tmp_path / "again").judged()] == [one.sha256 for one in run.judged()]


def test_pairs_have_the_results_of_their_scorer(tmp_path: Path) -> None:
    prompts = {"rare": "An otter in a basilica.", "common": "An otter in a river."}
    items = [
        Item("cf-world-attributes", f"pair-93-{kind}", level, prompt, pair_spec("pair-93", "otter", b, prompt), (), "1")
        for level, (kind, b) in enumerate({"common": "river", "rare": "basilica"}.items(), 1)
        for prompt in [prompts[kind]]
    ]
    scores: dict[str, Scores] = {"pair-93-common": [1], "pair-93-rare": [0.5]}
    run = open_run(scored_run(tmp_path / "run", items, judge_by(scores, QWEN)))
    export_run(run, tmp_path / "out", "m")
    home = tmp_path / "out/output/scores_attribute"
    found = {record["id"]: record for record in json.loads((home / "m/eval_results.json").read_text("utf-8"))}
    assert found[93] == {
        "id": 93,
        "A": "otter",
        "B": "basilica",
        "prompt": prompts["rare"],
        "category": "unusual",
        "score": 0.5,
        "reasoning": "it is 0.5",
        "evaluator": QWEN,
    }
    assert (found["93_factual"]["category"], found["93_factual"]["B"]) == ("factual", "river")
    entry = {"model_name": "m", "overall_score": 0.75, "factual_score": 1.0, "unusual_score": 0.5}
    assert json.loads((home / "global_models_comparison.json").read_text("utf-8")) == [entry]
    again = open_folder(str(tmp_path / "out/data/images/m"), {})
    execute(RunConfig(items, again, size=16), tmp_path / "again")
    assert [one.sha256 for one in open_run(tmp_path / "again").judged()] == [one.sha256 for one in run.judged()]


def test_without_factual_images_nothing_has_a_score(tmp_path: Path) -> None:
    run = open_run(scored_run(tmp_path / "run", [one for one in PUBLISHED if one.level > 1], judge_by(SCORES)))
    done = export_run(run, tmp_path / "out", "m")
    assert (done.images, done.scored) == (4, 0)
    assert done.without == {"level 1 is not part of the run": 3, "not understood": 1}
