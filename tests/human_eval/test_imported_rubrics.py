"""Rubric tables of several judges: runs with and without images, N/A, failed judges, and agreement by criterion."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.human_eval.importing.rubric_runs import read_rating, read_rubrics
from formalimg.runs.reader import Judged, open_run
from formalimg.types import Unscored, Verdict
from tests.support.command import formalimg
from tests.support.drawn_text import draw_text
from tests.support.published import FOLDER

PROMPTS = """id,prompt
sign,A sign that says 'Hello World'.
shop,A shop called 'BLUE WHALE'.
cat,A cat in the rain.
"""
TABLE = """run_id,model_id,prompt_id,judge_id,judge_temp,adherence,text,note,judge_latency_ms,judge_error
a-1,lab/a,sign,judges/one,0.0,5,5,all there,900,
a-1,lab/a,sign,judges/one,0.3,4,5,fine,901,
a-1,lab/a,sign,judges/two,0.0,5,4,,700,
a-2,lab/a,shop,judges/one,0.0,2,1,letters are wrong,800,
a-2,lab/a,shop,judges/one,0.3,2,2,,800,
a-2,lab/a,shop,judges/two,0.0,,,,600,no JSON in the reply
a-3,lab/a,cat,judges/one,0.0,5,N/A,,800,
a-3,lab/a,cat,judges/one,0.3,5,N/A,,800,
a-3,lab/a,cat,judges/two,0.0,N/A,N/A,,800,
b-1,lab/b,sign,judges/one,0.0,4,,,800,
b-9,lab/b,bird,judges/one,0.0,4,3,,800,
"""
MESH = FOLDER.parents[1] / "mesh-bench"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "prompts.csv").write_text(PROMPTS)
    (tmp_path / "verdicts.csv").write_text(TABLE)
    for model, lines in {"a": ("Hello", "World"), "b": ("Helo", "World")}.items():
        (tmp_path / "images" / model).mkdir(parents=True)
        for item in ("sign", "shop", "cat"):
            (tmp_path / "images" / model / f"{item}.png").write_bytes(draw_text(*lines, item).data)
    return tmp_path


def imported(files: Path, *options: str) -> str:
    done = formalimg("import", "rubrics", "verdicts.csv", "--items", "prompts.csv", *options, cwd=files)
    assert done.code == 0, done.err
    return done.out + done.err


def images(folder: Path, judge: int) -> dict[tuple[str, int], Judged]:
    with closing(open_run(folder)) as first:
        by = list(first.judges())[judge]
    with closing(open_run(folder, by)) as run:
        return {(one.outcome.item, one.outcome.sample): one for one in run.judged()}


@pytest.mark.parametrize("options", [(), ("--images", "images")], ids=["without images", "with images"])
def test_each_judge_at_each_temperature_is_a_judge_of_the_run(files: Path, options: tuple[str, ...]) -> None:
    said = imported(files, *options)
    assert "runs/free-prompts-lab-a: lab/a, 3 images, 3 scored" in said
    assert "runs/free-prompts-lab-b: lab/b, 1 image, 0 scored" in said
    assert "1 verdicts are about items that are not there, and were left out" in said
    assert "criteria from 1 to 5: adherence, text" in said
    run = files / "runs" / "free-prompts-lab-a"
    first = images(run, 0)
    sign, shop, cat = (first[item, 0].verdict for item in ("sign", "shop", "cat"))
    assert isinstance(sign, Verdict)
    assert isinstance(shop, Verdict)
    assert isinstance(cat, Verdict)
    assert [(part.name, part.score, part.reason) for part in shop.parts] == [
        ("adherence", 0.25, "2 of 5"),
        ("text", 0.0, "1 of 5"),
    ]
    assert shop.evidence["explanation"] == "letters are wrong"
    assert (sign.passed, shop.passed, cat.passed) == (True, False, True)
    assert [part.name for part in cat.parts] == ["adherence"]  # N/A is no part, and not 0
    with closing(open_run(run)) as opened:
        judges = [(one.name, one.settings["temperature"]) for one in opened.judges()]
    assert judges == [("judges/one", "0.0"), ("judges/one", "0.3"), ("judges/two", "0.0")]
    third = images(run, 2)
    failed, nothing = third["shop", 0].verdict, third["cat", 0].verdict
    assert isinstance(failed, Unscored)
    assert isinstance(nothing, Unscored)
    assert (failed.reason, failed.detail) == ("judge failed", "no JSON in the reply")
    assert (nothing.reason, nothing.detail) == ("not understood", "no criterion applies")
    (half,) = images(files / "runs" / "free-prompts-lab-b", 0).values()
    assert isinstance(half.verdict, Unscored)
    assert half.verdict.detail == "there is no rating of text"


def test_agreement_and_test_retest_by_criterion(files: Path) -> None:
    imported(files)
    done = formalimg("agree", "runs/free-prompts-lab-a", "--judges", "1", "2", "--format", "json", cwd=files)
    assert done.code == 0, done.err
    (study,) = json.loads(done.out)["judges"]
    assert study["graded"]["adherence"]["n"] == 3
    assert study["graded"]["adherence"]["difference"] == pytest.approx(0.25 / 3)
    assert study["graded"]["text"]["n"] == 2  # N/A of both is in nobody's count
    shown = formalimg("agree", "runs/free-prompts-lab-a", "--judges", "1", "3", cwd=files).out
    assert "graded answers by each judge" in shown
    assert re.search(r"adherence +1\.00 +1\.00", shown)


def test_a_reader_of_text_stands_beside_on_the_same_images(files: Path) -> None:
    pytest.importorskip("rapidocr", reason="rapidocr is not installed: pip install 'formalimg[ocr]'")
    imported(files, "--images", "images", "--together")
    run = files / "runs" / "free-prompts-all-models"
    done = formalimg("judge", str(run), "--judge", "ocr/rapidocr", cwd=files)
    assert done.code == 0, done.err
    read = images(run, -1)
    verdicts = {name: one.verdict for name, one in read.items()}
    right, wrong = verdicts["sign", 0], verdicts["sign", 1]
    assert isinstance(right, Verdict)
    assert isinstance(wrong, Verdict)
    assert right.passed
    assert wrong.parts[0].reason == "reads Helo World, asked Hello World"
    assert isinstance(verdicts["cat", 0], Unscored)


def test_what_cannot_be_imported_is_said_in_one_line(files: Path) -> None:
    (files / "empty.csv").write_text("model,item,judge\nlab/a,sign,one\n")
    (files / "twice.csv").write_text("id,prompt\nsign,A.\nsign,B.\n")
    for arguments, why in {
        ("empty.csv", "--items", "prompts.csv"): "has no columns of ratings from 1 to 5",
        ("verdicts.csv", "--items", "twice.csv"): "has two prompts with the id 'sign'",
        ("verdicts.csv", "--items", "prompts.csv", "--criteria", "beauty"): "has no column 'beauty'",
        ("verdicts.csv", "--items", "prompts.csv", "--images", "runs"): "there is no image runs/a/sign.png",
    }.items():
        done = formalimg("import", "rubrics", *arguments, cwd=files)
        assert done.code == 2
        assert why in done.err
        assert len(done.err.strip().splitlines()) == 1
    assert not (files / "runs").exists()


def test_ratings_are_read_strictly(tmp_path: Path) -> None:
    assert [read_rating(value) for value in (5, "5", "5.0", "N/A", "n/a", None, "", 6, 0, "4.5", "high")] == [
        *(5, 5, 5, None, None, "", "", "6", "0", "4.5", "high")
    ]
    path = tmp_path / "odd.csv"
    path.write_text("model,item,judge,beauty\nm,1,j,7\nm,2,j,3\n")
    with pytest.raises(FormalimgError, match="has no columns of ratings"):
        read_rubrics(path)  # a column with a 7 is no criterion, unless it is named
    table = read_rubrics(path, ["beauty"])
    assert table.verdicts[0].error == "the rating of beauty is 7"


@pytest.mark.skipif(not (MESH / "verdicts.csv").is_file(), reason=f"the data of mesh-bench is not at {MESH}")
def test_the_verdicts_of_mesh_bench_are_read(tmp_path: Path) -> None:
    arguments = (str(MESH / "verdicts.csv"), "--items", str(MESH / "prompts.json"), "--together")
    done = formalimg("import", "rubrics", *arguments, "--images", str(MESH / "images"), cwd=tmp_path)
    assert done.code == 0, done.err
    run = "runs/free-prompts-all-models"
    found = {}
    for pair in (("1", "2"), ("3", "4"), ("1", "3")):
        shown = formalimg("agree", run, "--judges", *pair, "--format", "json", cwd=tmp_path)
        (found[pair],) = json.loads(shown.out)["judges"]
    opus, both = found["1", "2"], found["1", "3"]
    assert (opus["passed"]["n"], both["passed"]["n"]) == (40, 25)
    assert {name: gap["n"] for name, gap in opus["graded"].items()} == {
        "adherence": 40,
        "aesthetic": 40,
        "photoreal": 33,
        "text": 16,
        "anatomy": 25,
    }
