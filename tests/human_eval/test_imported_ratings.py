"""Likert ratings that were given elsewhere: the studies and tables they make, of imported runs and of others."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from formalimg.human_eval.records import read_study
from tests.support.command import Result, formalimg

MODELS, ITEMS = ("lab/a", "lab/b"), tuple(f"item-{number}" for number in range(12))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imported")
    questions = [f"{item},A cup,Is there a cup?,1\n{item},,Is it red?,2\n" for item in ITEMS]
    (folder / "items.csv").write_text("item,prompt,question,question_id\n" + "".join(questions))
    answers = [
        f"{model},{item},1,{'yes' if place % 4 else 'no'}\n{model},{item},2,{'yes' if place % 3 else 'no'}\n"
        for model in MODELS
        for place, item in enumerate(ITEMS)
        if (model, place) != ("lab/b", 5)
    ]
    (folder / "eyes.csv").write_text("model,item,question,answer\n" + "".join(answers))
    ratings = [
        f"{model},{item},{worker},{1 + (place * 2 + len(worker)) % 5}\n"
        for model in MODELS
        for place, item in enumerate(ITEMS)
        for worker in ("7", "12", "123")
        if (place, worker) != (3, "12")
    ]
    more = "lab/a,item-99,7,3\nlab/a,item-1,7,six\nlab/a,item-1,7,5\n"
    (folder / "likert.csv").write_text("t2i_model,item_id,worker_id,answer\n" + "".join(ratings) + more)
    for option in ([], ["--together"]):
        done = formalimg(
            *(
                "import",
                "answers",
                "eyes.csv",
                "--items",
                "items.csv",
                *option,
                "--out",
                "joined" if option else "runs",
            ),
            cwd=folder,
        )
        assert done.code == 0, done.err
    return folder


def imported(runs: Path, out: Path, *options: str, folders: str = "runs") -> Result:
    there = [str(one) for one in sorted((runs / folders).iterdir())]
    return formalimg("import", "ratings", str(runs / "likert.csv"), *there, "--out", str(out), *options)


def test_ratings_become_a_study_with_pseudonyms(runs: Path, tmp_path: Path) -> None:
    done = imported(runs, tmp_path / "study")
    assert done.code == 0, done.err
    assert "24 images, 70 ratings by 3 raters" in done.out
    assert "1 rated images are in none of the runs, and were left out" in done.err
    assert "1 records could not be read" in done.err
    assert "1 ratings were replaced by a later one" in done.err
    study = read_study(tmp_path / "study")
    assert study.manifest.imported.startswith("likert.csv (sha256 ")
    assert study.manifest.protocol == "likert"
    assert {task.rater for task in study.tasks} == {"rater-1", "rater-2", "rater-3"}
    assert len(study.tasks) == 70
    assert all(task.finished for task in study.tasks)
    given = {
        task.answers["compliance"].value
        for task in study.tasks
        if (task.run, task.item) == ("questions-lab-a", "item-1")
    }
    assert 5 in given


@pytest.mark.parametrize("folders", ["runs", "joined"])
def test_agree_and_report_read_study_and_table_alike(runs: Path, tmp_path: Path, folders: str) -> None:
    there = [str(one) for one in sorted((runs / folders).iterdir())]
    found = {}
    for name in ("study", "table.csv"):
        done = imported(runs, tmp_path / name, folders=folders)
        assert done.code == 0, done.err
        agreed = formalimg("agree", *there, "--ratings", str(tmp_path / name), "--format", "json")
        assert agreed.code == 0, agreed.err
        (found[name],) = json.loads(agreed.out)["people"]
        assert formalimg("report", *there, "--ratings", str(tmp_path / name)).code == 0
    assert found["study"]["whole"]["classified"] == found["table.csv"]["whole"]["classified"]
    assert found["study"]["points"]["ranks"] == found["table.csv"]["points"]["ranks"]
    confusion = found["study"]["whole"]["classified"]["confusion"]
    assert sum(confusion.values()) == 21, "one image has no answers; of two, one rater of two says yes"
    assert found["study"]["points"]["ranks"]["spearman"]["n"] == 23
    assert found["study"]["points"]["ranks_of_all"]["spearman"]["n"] == 24


def test_official_code_counts_images_without_answers_as_failed(runs: Path, tmp_path: Path) -> None:
    there = [str(one) for one in sorted((runs / "runs").iterdir())]
    assert imported(runs, tmp_path / "study").code == 0
    done = formalimg(
        "agree", *there, "--ratings", str(tmp_path / "study"), "--profile", "official-code", "--format", "json"
    )
    (found,) = json.loads(done.out)["people"]
    assert found["fails_missing"]
    assert sum(found["whole"]["classified"]["confusion"].values()) == 22, "of two images, one rater of two says yes"
    assert found["points"]["ranks"]["spearman"]["n"] == 23
    shown = formalimg("agree", *there, "--ratings", str(tmp_path / "study"), "--profile", "official-code").out
    assert "which count as failed" in " ".join(shown.split())
    assert "all, without a verdict as 0" in shown
    assert "all runs" in shown


def test_some_images_are_drawn_at_random_by_the_seed(runs: Path, tmp_path: Path) -> None:
    drawn: list[set[tuple[str, str, str]]] = []
    for seed in ("1", "1", "2"):
        done = imported(runs, path := tmp_path / f"{len(drawn)}.csv", "--images", "6", "--seed", seed)
        assert "6 of 24 rated images were drawn at random, with seed" in done.err
        drawn.append({(row["model"], row["item"], row["sample"]) for row in csv.DictReader(path.open())})
    assert len(drawn[0]) == 6
    assert drawn[0] == drawn[1] != drawn[2]
    done = imported(runs, tmp_path / "all.csv", "--images", "25")
    assert (done.code, "24 images have ratings: ask for 1 to 24" in done.err) == (2, True)


def test_what_exists_is_not_replaced_and_what_fits_nothing_is_refused(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("")
    assert "already exists" in imported(runs, tmp_path / "there.csv").err
    assert "already exists" in imported(runs, tmp_path).err
    (tmp_path / "none.csv").write_text("item,rater,rating\nitem-1,ann,3\n")
    there = [str(one) for one in sorted((runs / "runs").iterdir())]
    done = formalimg("import", "ratings", str(tmp_path / "none.csv"), *there, "--out", str(tmp_path / "new"))
    assert (done.code, "name no image model" in done.err) == (2, True)
    done = formalimg("import", "ratings", str(runs / "items.csv"), *there, "--out", str(tmp_path / "new"))
    assert (done.code, "holds no ratings" in done.err) == (2, True)
    done = formalimg("import", "ratings", str(tmp_path / "none.csv"), there[0], "--out", str(tmp_path / "one"))
    assert "1 images, 1 ratings by 1 raters" in done.out
    joined = next((runs / "joined").iterdir())
    done = formalimg("import", "ratings", str(runs / "likert.csv"), *there, str(joined), "--out", str(tmp_path / "two"))
    assert (done.code, "may be of several runs" in done.err) == (2, True)
