"""Two runs judged by two judges: each judge ranks the models, and no judge is compared with another."""

from __future__ import annotations

import json

import pytest

from tests.reports.counterfactual_runs import ScoringJudge, groups_of, scored_run
from tests.support.command import formalimg

ITEMS = groups_of(8)
JUDGES = ("test/kind", "test/harsh")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    home = tmp_path_factory.mktemp("ranked")
    scores = {("lab/good", "test/kind"): 0.9, ("lab/good", "test/harsh"): 0.7}
    scores |= {("lab/bad", "test/kind"): 0.8, ("lab/bad", "test/harsh"): 0.55}

    def judge(model: str, name: str) -> ScoringJudge:
        return ScoringJudge(lambda item, image: [scores[model, name]] * 3, name)

    for model in ("lab/good", "lab/bad"):
        scored_run(home / model[4:], ITEMS, *(judge(model, name) for name in JUDGES), model=model)
    return [str(home / "good"), str(home / "bad")]


def test_each_judge_ranks_the_models(folders: list[str]) -> None:
    said = formalimg("report", *folders, "--judges", "all", "--format", "json")
    section = json.loads(said.out)["sections"][0]
    found = {run["name"]: run["rank"]["all levels"] for run in section["runs"]}
    ranks = {name: (rank["value"], rank["interval"]) for name, rank in found.items()}
    assert ranks == {
        f"{model}, by {judge}": (place, [place, place])
        for model, place in (("lab/good", 1), ("lab/bad", 2))
        for judge in JUDGES
    }
    pairs = next(table for table in section["tables"] if table["name"] == "paired differences")["rows"]
    compared = [tuple(row["cells"][:2]) for row in pairs]
    assert compared == [(f"lab/good, by {judge}", f"lab/bad, by {judge}") for judge in JUDGES]


def test_the_headline_names_each_judge_once(folders: list[str]) -> None:
    said = " ".join(formalimg("report", *folders, "--judges", "all", "--format", "terminal", "--details").out.split())
    assert "By test/kind, lab/good is ahead of lab/bad: +0.10" in said
    assert "By test/harsh, lab/good is ahead of lab/bad: +0.15" in said
    assert "among the runs with the same judge" in said


def test_one_model_by_two_judges_has_no_rank(folders: list[str]) -> None:
    said = formalimg("report", folders[0], "--judges", "all", "--format", "json")
    section = json.loads(said.out)["sections"][0]
    assert [run.get("rank") for run in section["runs"]] == [None, None]
    assert not [table for table in section["tables"] if table["name"].startswith("paired")]
