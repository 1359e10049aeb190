"""The suite `questions` on the command line: files of question graphs are checked, shown, run and reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scoring.conftest import CUP, RED
from tests.support.command import formalimg
from tests.support.loopback import Loopback
from tests.support.seeing import SeeingModel
from tests.web.sites import visitor

pytestmark = pytest.mark.usefixtures("no_preflight")

DARK = "Is the red dark?"
TABLE = "item,prompt,question,question_id,parents,category\n" + "".join(
    f"{item},A red cup,{CUP},1,,object\n{item},,{RED},2,1,attribute\n{item},,{DARK},3,2,attribute\n"
    for item in ("red", "blue")
)
RUN = ("run", "questions", "--items", "q.csv", "--model", "folder/images", "--judge", "openai/seeing")


@pytest.fixture
def table(images: Path) -> Path:
    path = images.parent / "q.csv"
    path.write_text(TABLE)
    return path


def test_a_file_of_questions_is_run_with_a_judge_and_reported(
    table: Path, server: Loopback, model: SeeingModel, images: Path
) -> None:
    done = formalimg(*RUN, "-J", "first_wait=0", "--out", "run")
    assert done.code == 0, done.err
    assert "2/2" in done.out
    assert sorted(model.asked) == sorted([CUP, CUP, RED, RED, DARK])  # not of the blue cup
    done = formalimg("report", "run", "--format", "json")
    ((run,),) = [section["runs"] for section in json.loads(done.out)["sections"]]
    assert (run["overall"]["passed"], run["overall"]["scored"]) == (0, 2)
    assert run["clauses_by_kind"]["object"]["failed"] == 0
    shown = visitor(table.parent).get("/item?run=run&item=blue")
    assert shown.status_code == 200
    assert f"because this failed: {RED}" in shown.text


def test_direct_zeroing_is_an_option_of_the_judge(table: Path, server: Loopback, model: SeeingModel) -> None:
    done = formalimg(*RUN, "-J", "first_wait=0", "-J", "zeroing=direct", "--out", "run")
    assert done.code == 0, done.err
    assert sorted(model.asked) == sorted([CUP, RED, DARK] * 2)


def test_files_of_questions_are_checked(table: Path) -> None:
    done = formalimg("formula", "check", "--suite", "questions", "q.csv")
    assert (done.code, done.out) == (0, "q.csv: 2 items, 6 questions, fine\n")
    table.write_text(TABLE.replace(",3,2,", ",3,7,"))
    done = formalimg("formula", "check", "--suite", "questions", "q.csv")
    assert done.code == 1
    assert "unknown-parent 2 (a question depends on one that is not there" in done.out
    done = formalimg("formula", "check", "--suite", "questions", "q.csv", "--json")
    assert json.loads(done.out)[0]["questions"] == 6
    assert formalimg("formula", "check", "--suite", "questions").code == 2


def test_items_of_question_files_are_shown_and_counted(table: Path) -> None:
    table.write_text(
        TABLE.replace(",3,2,", ",3,7,")
        .replace("category\n", "category,zeroing\n")
        .replace(",object\n", ",object,direct\n")
    )
    done = formalimg("items", "show", "questions/red", "--items", "q.csv")
    assert "unknown-parent: a question depends on one" in done.out
    assert "questions, zeroing direct" in done.out
    assert f"2    attribute  {RED}  yes  (after 1)" in done.out
    done = formalimg("items", "census", "questions", "--items", "q.csv")
    assert "2 items of questions" in done.out
    assert "unknown-parent 2" in done.out
    assert "no items of questions ship with formalimg" in formalimg("items", "census", "questions").err
