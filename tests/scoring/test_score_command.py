"""`formalimg score` as a user types it: inputs, forms of prompts, costs, refusals and exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.scoring.conftest import CUP, PROMPT, RED, WRITTEN
from tests.support.command import Result
from tests.support.command import formalimg as command
from tests.support.loopback import Loopback
from tests.support.seeing import SeeingModel, question

pytestmark = pytest.mark.usefixtures("no_preflight")

JUDGE = ("--judge", "openai/seeing", "-J", "first_wait=0")


def _rows(*arguments: str) -> list[dict[str, str]]:
    code, out, err = command("score", *arguments, *JUDGE, "--format", "csv")
    assert code == 0, err
    return list(csv.DictReader(io.StringIO(out)))


def test_a_folder_with_one_prompt(images: Path, server: Loopback, model: SeeingModel) -> None:
    rows = _rows("images", "--prompt", PROMPT)
    assert [(row["image"], row["passed"], row["score"], row["reason"]) for row in rows] == [
        ("images/blue.png", "False", "0.5", "no: Is the cup red?"),
        ("images/red.png", "True", "1.0", ""),
    ]
    assert model.asked.count(PROMPT) == 1, "written once for both images"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.txt", f"{PROMPT}\nThere is a cup.\n"),
        ("p.jsonl", json.dumps({"prompt": PROMPT}) + "\n" + json.dumps({"prompt": "There is a cup."}) + "\n"),
        ("p.csv", f"image,prompt\nred.png,{PROMPT}\nblue.png,There is a cup.\n"),
    ],
)
def test_a_file_of_prompts(images: Path, server: Loopback, name: str, text: str) -> None:
    Path(name).write_text(text)
    rows = _rows("images/red.png", "images/blue.png", "--prompts-file", name)
    assert [(row["image"], row["prompt"], row["passed"]) for row in rows] == [
        ("images/red.png", PROMPT, "True"),
        ("images/blue.png", "There is a cup.", "True"),
    ]


def test_a_file_of_prompts_can_name_its_images_itself(images: Path, server: Loopback) -> None:
    (images / "p.jsonl").write_text(json.dumps({"image": "red.png", "prompt": "There is a cup."}) + "\n")
    assert [row["image"] for row in _rows("--prompts-file", "images/p.jsonl")] == ["images/red.png"]


@pytest.mark.parametrize(
    ("form", "asked"),
    [
        ("whole", [f"Does the image show: {PROMPT}"]),
        ("questions", [PROMPT, CUP, RED]),
        ("auto", [PROMPT, CUP, RED]),
    ],
)
def test_what_a_prompt_becomes(images: Path, server: Loopback, model: SeeingModel, form: str, asked: list[str]) -> None:
    _rows("images/red.png", "--prompt", PROMPT, "--as", form)
    assert model.asked == asked


def test_a_prompt_that_can_be_read_is_a_formula(images: Path, server: Loopback, model: SeeingModel) -> None:
    [row] = _rows("images/red.png", "--prompt", "There is a cup.", "--as", "formula")
    assert (row["form"], row["passed"]) == ("formula", "True")
    assert model.asked == ["(Is ?cup 'cup')"]


def test_own_questions_need_no_prompt_and_no_writer(images: Path, server: Loopback, model: SeeingModel) -> None:
    Path("q.csv").write_text(f"id,question,parents,expected\ncup,{CUP},,\nred,{RED},cup,no\n")
    rows = _rows("images", "--questions", "q.csv")
    assert [row["reason"] for row in rows] == ["", "yes: Is the cup red?"]
    assert sorted(model.asked) == sorted([CUP, RED] * 2)


def test_a_writer_of_ones_own_is_asked_and_the_judge_judges(images: Path, server: Loopback, model: SeeingModel) -> None:
    _rows("images/red.png", "--prompt", PROMPT, "--writer", "openai/writer", "-W", "first_wait=0")
    models = [json.loads(request.body)["model"] for request in server.requests if request.method == "POST"]
    assert models == ["writer", "seeing", "seeing"]


def test_the_same_command_again_asks_nothing(images: Path, server: Loopback) -> None:
    arguments = ("images", "--prompt", PROMPT, "-J", "cache=off")
    first = _rows(*arguments)
    before = len(server.requests)
    assert _rows(*arguments) == first
    assert len(server.requests) == before


def test_one_run_folder_takes_more_images_later(images: Path, server: Loopback) -> None:
    assert len(_rows("images/red.png", "--prompt", PROMPT, "--out", "mine")) == 1
    rows = _rows("images/blue.png", "--prompt", "There is a cup.", "--out", "mine")
    assert [row["image"] for row in rows] == ["images/blue.png"], "only what was asked for now"
    assert command("report", "mine").out.count("2/2") == 1


def test_other_judges_judge_the_same_run(images: Path, server: Loopback) -> None:
    _rows("images", "--prompt", PROMPT, "--out", "mine")
    code, out, err = command("judge", "mine", "--judge", "openai/other", "-J", "requests=all-at-once")
    assert code == 0, err
    assert "by openai/other." in " ".join(out.split())


def test_a_dry_run_asks_nobody(images: Path, server: Loopback) -> None:
    Path("p.txt").write_text(f"{PROMPT}\nThere is a cup.\n")
    code, out, err = command("score", "images", "--prompts-file", "p.txt", *JUDGE, "--dry-run")
    assert code == 0, err
    assert server.requests == []
    assert not Path("runs").exists()
    numbers = {line.split("  ")[1]: line.split()[-1] for line in out.splitlines()[1:3]}
    assert numbers == {"prompts by formula": "1", "prompts by known questions": "0"}
    assert "prompts to take apart            1  by openai/seeing" in out
    assert "requests to the judge            7" in out


def test_a_budget_holds_for_the_writer_too(images: Path, server: Loopback) -> None:
    Path("prices.toml").write_text('[prices]\n"openai/seeing" = { input = 1000, output = 1000 }\n')
    code, _, err = command("score", "images", "--prompt", PROMPT, *JUDGE, "--budget", "0")
    assert (code, server.requests) == (130, []), err
    assert "used up by writing questions" in err
    code, _, err = command("score", "images", "--prompt", PROMPT, *JUDGE, "--budget", "0.000001")
    assert code == 130, err
    assert len(server.requests) == 1, "the questions are written, and nothing is judged"


@pytest.mark.parametrize("form", ["json", "md", "terminal"])
def test_every_format_has_every_image(images: Path, server: Loopback, form: str) -> None:
    code, out, err = command("score", "images", "--prompt", PROMPT, *JUDGE, "--format", form)
    assert code == 0, err
    assert "images/red.png" in out
    assert "no: Is the cup red?" in out
    if form == "json":
        [blue, _] = json.loads(out)["scores"]
        assert [(part["name"], part["score"]) for part in blue["parts"]] == [(CUP, 1.0), (RED, 0.0)]


def test_nothing_scored_is_exit_code_1_and_never_a_0(images: Path, server: Loopback, model: SeeingModel) -> None:
    Path("images/broken.png").write_bytes(b"no image")
    code, out, err = command("score", "images/broken.png", "--prompt", "There is a cup.", *JUDGE, "--format", "csv")
    assert code == 1
    [row] = csv.DictReader(io.StringIO(out))
    assert (row["passed"], row["score"]) == ("", "")
    assert row["reason"].startswith("unscored, unreadable image")
    assert "nothing was scored" in err


def test_a_list_that_cannot_be_asked_is_asked_for_once_more(images: Path, server: Loopback, model: SeeingModel) -> None:
    model.written = {PROMPT: [[question("1", CUP, "1")], WRITTEN]}
    [row] = _rows("images/red.png", "--prompt", PROMPT)
    assert row["form"] == "questions"
    second = json.loads(server.requests[1].body)["messages"]
    assert "depends on itself" in json.dumps(second[-1])


def _refusal(*arguments: str) -> str:
    result: Result = command("score", *arguments)
    assert result.code == 2, result
    assert result.out == ""
    return result.err


def test_refusals_come_before_anything_is_asked(images: Path, server: Loopback) -> None:
    Path("one.txt").write_text("A cup\n")
    Path("q.txt").write_text("Is it?\n")
    Path("none.csv").write_text("image,prompt\nother.png,A cup\n")
    Path("empty").mkdir()
    judged = ("images", *JUDGE)
    assert "needs a chat model that can see" in _refusal("images", "--prompt", "A cup")
    assert "give --prompt" in _refusal(*judged)
    assert "give --prompt" in _refusal(*judged, "--prompt", "A cup", "--prompts-file", "one.txt")
    assert "has 1 prompts, and there are 2 images" in _refusal(*judged, "--prompts-file", "one.txt")
    assert "is none of the given images" in _refusal(*judged, "--prompts-file", "none.csv")
    assert "there is no image other.png" in _refusal("--prompts-file", "none.csv", *JUDGE)
    assert "there is no image nowhere.png" in _refusal("nowhere.png", "--prompt", "A cup", *JUDGE)
    assert "holds no images" in _refusal("empty", "--prompt", "A cup", *JUDGE)
    assert "nothing to score" in _refusal("--prompt", "A cup", *JUDGE)
    assert "cannot be read as a formula" in _refusal(*judged, "--prompt", PROMPT, "--as", "formula")
    assert "leave no whole to judge by" in _refusal(*judged, "--questions", "q.txt", "--as", "whole")
    assert "needs a writer" in _refusal(*judged, "--prompt", PROMPT, "-W", "cache=off").replace("need a", "needs a")
    assert "cannot answer questions" in _refusal("images", "--prompt", PROMPT, "--judge", "builtin/icons")
    assert "is empty" in _refusal(*judged, "--prompt", " ")
    assert server.requests == []


def test_the_judge_of_the_environment_is_used(images: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMALIMG_JUDGE", "openai/seeing")
    assert command("score", "images/red.png", "--prompt", "There is a cup.").code == 0
