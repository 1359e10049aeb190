"""`formalimg annotate`: links once, answers kept, and going on where it was left."""

from __future__ import annotations

import contextlib
import html
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from formalimg.cli.commands import app
from formalimg.errors import FormalimgError
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import open_study
from formalimg.judges.base import LoadedImage
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import open_run
from formalimg.types import Item, Verdict
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site
from tests.human_eval.compared_runs import compared_run
from tests.human_eval.compared_runs import rate_truly as rate_compared_runs_truly
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.human_eval.rated_runs import concept_items, rated_run, take
from tests.reports.drawn_runs import some_items
from tests.support.models import NumberJudge
from tests.support.sizes import only_in_full


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in a folder that is called like an object to do."""
    return rated_run(tmp_path_factory.mktemp("runs") / "export", concept_items(4))


@contextmanager
def _served(*words: str) -> Iterator[list[str]]:
    """What a real process says until it is ready; it is interrupted at the end."""
    command = [sys.executable, "-m", "formalimg", "annotate", *words, "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            said: list[str] = []
            while not said or not said[-1].startswith("progress"):
                line = server.stdout.readline()
                assert line, said
                said.append(line.rstrip("\n"))
            # Before it answers, Ctrl-C ends the command and not the server.
            with contextlib.suppress(urllib.error.URLError):
                urllib.request.urlopen(said[-1].split()[1]).close()
            yield said
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=10)
        assert server.returncode == 0


def _said(*words: str) -> str:
    """What a command that ends by itself says."""
    done = CliRunner().invoke(app, ["annotate", *words, "--no-browser"], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def _refused(*words: str) -> str:
    """The one line that a command is refused with."""
    with pytest.raises(FormalimgError) as refused:
        _said(*words)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def _links(said: list[str]) -> dict[str, str]:
    return {line.split()[0]: line.split()[1] for line in said if line.startswith("rater-")}


def _post(address: str, body: dict[str, object]) -> int:
    origin = re.match(r"http://[^/]+", address)
    assert origin
    headers = {"Content-Type": "application/json", "Origin": origin[0]}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return int(answer.status)


def _code(address: str) -> int:
    """How a visitor is answered who comes for the first time."""
    try:
        with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(address) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_study_is_made_served_ended_and_gone_on_with(run: Path, tmp_path: Path) -> None:
    study, port = str(tmp_path / "study"), str(_free_port())
    asked = [str(run), "--protocol", "likert", "--raters", "2", "--study", study, "--port", port, "--no-instructions"]
    with _served(*asked, "--links-to", str(tmp_path / "links")) as said:
        links = _links(said)
        assert list(links) == ["rater-1", "rater-2"]
        assert said[0].startswith(
            "The study is too small for 6 attention checks a rater: with 2 checks 64 % of clickers"
        )
        assert "Excluded are raters who miss more than 1 of 2 attention checks: of those who" in said[2]
        told = (tmp_path / "links" / "links.csv").read_text().splitlines()
        assert [line.split(",")[:2] for line in told[1:]] == [[rater, link] for rater, link in links.items()]
        assert all(re.fullmatch(rf"http://127\.0\.0\.1:{port}/rate/[\w-]{{32}}", link) for link in links.values())
        assert "shown only now" in said[-2]
        assert _code(said[-1].split()[1]) == 200
        assert _code(said[-1].split()[1].partition("?")[0]) == 403  # it names the models, and raters may be here too
        page = urllib.request.urlopen(links["rater-1"]).read().decode()
        task = re.search(r'data-task="([^"]+)"', page)
        assert task
        answer = {"task": task[1], "step": "compliance", "value": 4, "seconds": 2, "key": "k"}
        assert _post(f"{links['rater-1']}/answer", answer) == 200
        assert "is already taking answers, in process" in _refused(study, "--port", "0")
        assert "rater-1" in _said(study, "--status")
    with _served(*asked) as said:  # the very same command
        assert _links(said) == {}
        assert "Raters keep the links they have" in said[2]
        assert _code(links["rater-1"]) == 200
        assert _post(f"{links['rater-1']}/finish", {"task": task[1]}) == 200
    with _served(study, "--port", port, "--new-link", "rater-2") as said:
        assert list(_links(said)) == ["rater-2"]
        assert (_code(links["rater-1"]), _code(links["rater-2"])) == (200, 404)
        assert _code(_links(said)["rater-2"]) == 200
    assert sum(bool(task.finished) for task in read_study(study).tasks) == 1


def test_on_other_addresses_only_raters_need_no_token(run: Path, tmp_path: Path) -> None:
    asked = [str(run), "--protocol", "likert", "--raters", "1", "--study", str(tmp_path / "study"), "--port", "0"]
    with _served(*asked, "--host", "0.0.0.0") as said:
        found = re.search(r":(\d+)/\?token=([\w-]{32})", said[-1])
        assert found
        here = f"http://127.0.0.1:{found[1]}"
        (link,) = _links(said).values()
        assert "token" not in link
        assert _code(here + link[link.index("/rate/") :]) == 200
        assert (_code(f"{here}/"), _code(f"{here}/rate/nobody")) == (403, 404)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture
def half_done(run: Path, tmp_path: Path) -> str:
    """A study that one of two raters has finished; made by a command that then found its port taken."""
    study = str(tmp_path / "study")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        asked = [str(run), "--protocol", "likert", "--raters", "2", "--per-image", "1", "--study", study]
        asked += ["--checks", "0"]
        said = _refused(*asked, "--port", port)
    assert said.endswith("choose another --port, and --new-links: the links just created were not shown")
    with open_study(study) as opened:
        take(opened, "rater-1", lambda task, step: 5)
    return study


def test_status_and_export(half_done: str, tmp_path: Path) -> None:
    rows = [line.split() for line in _said(half_done, "--status").splitlines()]
    assert rows == [
        ["rater", "finished", "of", "minutes", "checks", "passed"],
        ["rater-1", "2", "2", "0.1", "–"],
        ["rater-2", "0", "2", "0.0", "–"],
    ]
    out = tmp_path / "out"
    assert "2 ratings are still to come" in _said(half_done, "--export", str(out))
    names = {"answers.jsonl", "raters.csv", "likert.csv", "compliance.csv", "votes.csv"}
    assert {path.name for path in out.iterdir()} == names
    assert "only raters left out" in _refused(half_done, "--export", str(out), "--leave-out", "rater-1")
    assert "give --export DIR" in _refused(half_done, "--status", "--leave-out", "rater-1")
    assert "give --export DIR" in _refused(half_done, "--port", "0", "--leave-out", "rater-1")


def test_rules_are_settled_before_the_first_answer(half_done: str) -> None:
    for words, option in (
        (["--max-missed", "0.9"], "--max-missed"),
        (["--min-seconds", "3"], "--min-seconds"),
        (["--no-instructions"], "--instructions"),
        (["--completion-url", "https://platform.example"], "--completion-url"),
    ):
        assert f"{option} is settled before the first answer" in _refused(half_done, *words, "--port", "0")
    assert "it must begin with https://" in _refused(half_done + "-2", "--study", "new", "--completion-url", "here")
    assert "give --new-links with it" in _refused(half_done, "--links-to", "links", "--port", "0")


def test_a_study_of_other_settings_is_refused(half_done: str, run: Path, tmp_path: Path) -> None:
    other = rated_run(tmp_path / "other", concept_items(2))
    for words, expected in (
        ([half_done, "--raters", "3"], "(raters: was 2, now 3)"),
        ([str(run), "--study", half_done, "--protocol", "questions"], "(protocol: was likert, now questions)"),
        ([half_done, "--levels", "1"], "(levels: was all, now 1)"),
        ([half_done, "--checks", "0.1", "--seed", "2"], "(checks: was 0.0, now 0.1; seed: was 0, now 2)"),
        ([str(other), "--study", half_done], f"now {other.resolve()})"),
    ):
        said = _refused(*words, "--port", "0")
        assert f"{half_done} is a study with other settings" in said
        assert expected in said


def test_the_study_of_one_run_has_a_usual_place(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "cannot listen" in _refused(str(run), "--protocol", "likert", "--raters", "1", "--port", port)
    assert read_study(tmp_path / "studies" / "export-likert").manifest.protocol == "likert"
    assert "rater-1" in _said(str(run), "--protocol", "likert", "--status")


def test_mistakes_are_told_in_one_line(run: Path, tmp_path: Path) -> None:
    for words, expected in (
        ([str(run)], "name the folder of the study with --study DIR"),
        ([str(run), str(run), "--protocol", "likert"], "name the folder of the study with --study DIR"),
        ([str(tmp_path / "nowhere"), "--status"], "nowhere does not exist: name the folder of a study"),
        ([str(run), "--study", str(tmp_path / "new")], "choose how raters judge: --protocol"),
        ([str(run), "--study", str(tmp_path)], "is not a study: it has no study.toml"),
        ([str(run), "--study", str(tmp_path / "new"), "--protocol", "scores"], "take runs of cf-world"),
        ([str(run), "--study", str(tmp_path / "new"), "--status"], "is not a study"),
        ([str(tmp_path), "--study", str(tmp_path / "new"), "--protocol", "likert"], "is not a run"),
    ):
        assert expected in _refused(*words, "--port", "0")
    assert not (tmp_path / "new").exists()


@only_in_full
def test_borderline_images_are_asked_for_on_the_command_line(tmp_path: Path, run: Path) -> None:
    items = [scored_item(f"g{number}-l1") for number in range(3)]
    scored = scored_run(tmp_path / "scored", items, {"g0-l1": [0.0], "g1-l1": [0.5], "g2-l1": [1.0]})
    study = str(tmp_path / "study")
    words = (str(scored), "--protocol", "likert", "--raters", "1", "--study", study, "--port", "0")
    with _served(*words, "--borderline") as said:
        assert said[0].startswith("The study is too small for 6 attention checks a rater: with 1 check 40 %")
        assert "1 image, 1 rater for each" in said[1]
    tasks = read_study(tmp_path / "study").tasks
    assert [task.item for task in tasks if not task.is_check] == ["g1-l1"]
    (check,) = (task for task in tasks if task.is_check)
    assert check.item in ("g0-l1", "g2-l1")  # one that is not asked about
    with _served(study, "--port", "0") as said:
        assert "1 image" in said[0]
    assert "judge the run first" in _refused(
        str(run), "--protocol", "likert", "--borderline", "--study", str(tmp_path / "other")
    )


def _is_right(item: str) -> bool:
    """What people would say of an image; the judge passes a third of what is wrong as well."""
    return random.Random(f"truth {item}").random() < 0.5


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bool]]:
    """A run of Knolling by the reader, with a lenient judge, and what is right."""
    items = some_items(6)
    run = tmp_path_factory.mktemp("judged") / "runs" / "reader"

    def verdict(item: Item[object], image: LoadedImage) -> Verdict:
        return Verdict(_is_right(item.id) or random.Random(item.id).random() < 1 / 3)

    lenient = NumberJudge(name="test/lenient", verdict=verdict)
    execute(RunConfig(items, open_image_model("builtin/reader"), size=256), run, lenient)
    return run, {item.id: _is_right(item.id) for item in items}


@only_in_full
def test_a_judge_is_corrected_through_the_site(judged: tuple[Path, dict[str, bool]], tmp_path: Path) -> None:
    run, truth = judged
    study, port = tmp_path / "study", str(_free_port())
    with closing(open_run(run)) as opened:
        prompts = {item.prompt: name for name, item in opened.items.items()}
    asked = [str(run), "--for-correction", "--labels", "30", "--raters", "1", "--study", str(study), "--port", port]
    asked += ["--no-instructions", "--checks", "0"]
    with _served(*asked) as said:
        assert re.fullmatch(
            r"30 labels will give the corrected Overall to about ±\d+\.\d points "
            r"\(15 labels would give ±\d+\.\d; 60 labels would give ±\d+\.\d\)",
            said[0],
        )
        link = _links(said)["rater-1"]
        assert _rate_truly(link, prompts, truth) == 30
    with _served(str(study), "--more", "15", "--port", port) as said:
        told = re.match(
            r"15 images were added \(45 in all, 30 labelled\): the corrected Overall is known to about ±([\d.]+) "
            r"points now, and to about ±([\d.]+) with all labels",
            said[0],
        )
        assert told
        assert float(told[2]) < float(told[1])
        assert _rate_truly(link, prompts, truth) == 15  # with the link that the rater has
    done = CliRunner().invoke(app, ["report", str(run), "--human", str(study), "--format", "json"])
    (section,) = json.loads(done.stdout)["sections"]
    (table,) = [table for table in section["tables"] if table["name"] == "corrected"]
    raw, corrected, labels, _ = next(row["cells"][1:] for row in table["rows"] if row["cells"][0] == "Overall")
    rate = sum(truth.values()) / len(truth)
    assert labels["value"] == 45
    assert corrected["interval"][0] <= rate <= corrected["interval"][1]
    assert abs(corrected["value"] - rate) < abs(raw["value"] - rate)


def _rate_truly(link: str, prompts: Mapping[str, str], truth: Mapping[str, bool]) -> int:
    """Answer all tasks of a rater, by the prompts on the pages."""
    for done in range(1000):
        page = html.unescape(urllib.request.urlopen(link).read().decode())
        task = re.search(r'data-task="([^"]+)"', page)
        if task is None:
            return done
        item = prompts[max((prompt for prompt in prompts if prompt in page), key=len)]
        answer = {"task": task[1], "step": "compliance", "value": 5 if truth[item] else 2, "seconds": 1}
        assert _post(f"{link}/answer", {**answer, "key": f"k{done}"}) == 200
        assert _post(f"{link}/finish", {"task": task[1]}) == 200
    raise AssertionError("there is always another task")


def _made(*words: str) -> str:
    """What a command says that makes a study and then finds its port taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(app, ["annotate", *words, "--no-browser", "--port", port])
    assert "cannot listen" in str(done.exception)
    return done.stdout


def test_mistakes_about_correction_are_told_in_one_line(
    judged: tuple[Path, dict[str, bool]], run: Path, tmp_path: Path
) -> None:
    judged_run, study = str(judged[0]), str(tmp_path / "study")
    assert "give --for-correction with it" in _refused(judged_run, "--labels", "9", "--protocol", "likert")
    assert "nobody has judged" in _refused(str(run), "--for-correction", "--study", study)
    assert "leave out --per-level" in _refused(judged_run, "--for-correction", "--per-level", "2", "--study", study)
    assert "--more adds images to a study that exists" in _refused(judged_run, "--more", "9", "--study", study)
    assert not Path(study).exists()
    asked = [judged_run, "--for-correction", "--labels", "300", "--raters", "1", "--study", study]
    assert _made(*asked).startswith("60 labels (all that have a verdict, of 300 asked for) will give")
    assert "labels: was 300, now 9" in _refused(*asked[:2], "--labels", "9", "--study", study)
    assert "every judged image is already in the study" in _refused(study, "--more", "9")
    plain = str(tmp_path / "plain")
    assert _made(judged_run, "--protocol", "likert", "--raters", "1", "--study", plain) == ""
    assert "was not drawn for correction" in _refused(judged_run, "--for-correction", "--study", plain)
    assert "was not drawn to correct a judge" in _refused(plain, "--more", "9")


def test_the_study_for_correction_has_a_usual_place_that_the_viewer_knows(
    judged: tuple[Path, dict[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = judged
    monkeypatch.chdir(run.parent.parent)
    _made("runs/reader", "--for-correction", "--labels", "30", "--raters", "1")
    assert Path("studies/reader-correction").is_dir()
    with TestClient(create_viewer_app(Site("runs"), token=None), base_url="http://127.0.0.1:8421") as visitor:
        page = visitor.get("/run?run=reader").text
    assert "not corrected by human labels: no rater has finished an image yet" in page
    with open_study("studies/reader-correction") as study:
        take(study, "rater-1", lambda task, step: 1)
    with TestClient(create_viewer_app(Site("runs"), token=None), base_url="http://127.0.0.1:8421") as visitor:
        page = visitor.get("/run?run=reader").text
    assert "<h2>Corrected by human labels</h2>" in page
    assert re.search(r"Overall</th>(?:<td[^>]*>.*?</td>){2}<td[^>]*>30", page, re.S)


def test_several_runs_are_corrected_on_the_same_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [str(compared_run(tmp_path / "runs" / name)) for name in ("ada", "bea", "cat")]
    lines = _made(*runs[:2], "--for-correction", "--labels", "20").splitlines()
    assert re.fullmatch(
        r"20 items, 40 images: labels will give the difference ada − bea to about ±\d+\.\d points "
        r"\(±\d+\.\d with 10 items; ±\d+\.\d with 40 items\)",
        lines[0],
    )
    assert lines[1].startswith("One rater an image: for the same number of ratings, 500 images with one rater each")
    study = Path("studies/ada+bea-correction")
    manifest = read_study(study).manifest
    assert (manifest.raters, manifest.per_image) == (1, 1)
    with open_study(study) as answering:
        rate_compared_runs_truly(answering, "rater-1")
    (line,) = _made(str(study), "--more", "10").splitlines()
    told = re.fullmatch(
        r"10 items with 20 images were added \(30 items in all, 20 labelled\): "
        r"(?:all differences are certain already; )?ada − bea is known to about ±([\d.]+) points now, and to about "
        r"±([\d.]+) with all labels",
        line,
    )
    assert told
    assert float(told[2]) < float(told[1])
    three = _made(*runs, "--for-correction", "--labels", "200", "--raters", "3", "--study", "three").splitlines()
    assert three[0].startswith("80 items (all that have images, of 200 asked for), 240 images: labels will give the ")
    assert three[0].endswith("(95 %, all 3 pairs at once)")
    manifest = read_study("three").manifest
    assert (manifest.raters, manifest.per_image) == (3, 1)
