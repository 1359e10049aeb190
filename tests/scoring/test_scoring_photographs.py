"""Five photographs with ten free prompts, some true and some false, by a chat model on a loopback server."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import formalimg
from formalimg.runs.reader import open_run
from tests.support.command import formalimg as command
from tests.support.loopback import Loopback
from tests.support.seeing import SeeingModel, question
from tests.web.sites import visitor

pytestmark = pytest.mark.usefixtures("no_preflight")

PHOTOGRAPHS = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png")

PROMPTS = [
    ("astronaut.png", "A smiling woman in an orange space suit", True),
    ("astronaut.png", "An astronaut who holds a red balloon", False),
    ("chelsea.png", "There is a cat.", True),
    ("chelsea.png", "There is a dog.", False),
    ("coffee.png", "A cup is to the left of a spoon.", True),
    ("coffee.png", "A blue cup of coffee on a wooden table", False),
    ("rocket.jpg", "A rocket between tall towers at dusk", True),
    ("rocket.jpg", "Two rockets", False),
    ("motorcycle_left.png", "A red motorcycle in a garage", True),
    ("motorcycle_left.png", "A motorcycle with a dog on its seat", False),
]

WRITTEN: dict[str, list[object]] = {
    "A smiling woman in an orange space suit": [
        [
            question("1", "Is there a woman?"),
            question("2", "Is the woman smiling?", "1", category="action"),
            question("3", "Is there a space suit?"),
            question("4", "Is the space suit orange?", "3", category="attribute"),
            question("5", "Does the woman wear the space suit?", "1", "3", category="relation"),
        ]
    ],
    "An astronaut who holds a red balloon": [
        [
            question("1", "Is there an astronaut?"),
            question("2", "Is there a balloon?"),
            question("3", "Is the balloon red?", "2", category="attribute"),
            question("4", "Does the astronaut hold the balloon?", "1", "2", category="action"),
        ]
    ],
    "A blue cup of coffee on a wooden table": [
        [
            question("1", "Is there a cup of coffee?"),
            question("2", "Is the cup blue?", "1", category="attribute"),
            question("3", "Is there a wooden table?"),
            question("4", "Is the cup on the table?", "1", "3", category="relation"),
        ]
    ],
    "A rocket between tall towers at dusk": [
        [
            question("1", "Is there a rocket?"),
            question("2", "Are there tall towers?"),
            question("3", "Is the rocket between the towers?", "1", "2", category="relation"),
            question("4", "Is it dusk?", category="other"),
        ]
    ],
    # It cannot be asked for as it is written, neither at first nor when the problem was named.
    "Two rockets": [[question("1", "How many rockets are there?")], [question("1", "Is there a rocket?", "7")]],
    "A red motorcycle in a garage": [
        [
            question("1", "Is there a motorcycle?"),
            question("2", "Is the motorcycle red?", "1", category="attribute"),
            question("3", "Is the motorcycle in a garage?", "1", category="relation"),
        ]
    ],
    "A motorcycle with a dog on its seat": [
        [
            question("1", "Is there a motorcycle?"),
            question("2", "Is there a dog?"),
            question("3", "Is the dog on the seat of the motorcycle?", "1", "2", category="relation"),
        ]
    ],
}

SHOWN = {
    "astronaut.png": {
        "Is there a woman?",
        "Is the woman smiling?",
        "Is there a space suit?",
        "Is the space suit orange?",
        "Does the woman wear the space suit?",
        "Is there an astronaut?",
    },
    "chelsea.png": {"(Is ?cat 'cat')"},
    "coffee.png": {
        "(Is ?cup 'cup')",
        "(Is ?spoon 'spoon')",
        "(LeftOf ?cup ?spoon)",
        "Is there a cup of coffee?",
        "Is there a wooden table?",
        "Is the cup on the table?",
    },
    "rocket.jpg": {
        "Is there a rocket?",
        "Are there tall towers?",
        "Is the rocket between the towers?",
        "Is it dusk?",
    },
    "motorcycle_left.png": {"Is there a motorcycle?", "Is the motorcycle red?", "Is the motorcycle in a garage?"},
}


@pytest.fixture(scope="module")
def photographs() -> Path:
    """The folder of the photographs that come with scikit-image."""
    data = pytest.importorskip("skimage.data", reason="the photographs come with scikit-image, which is not installed")
    folder = Path(data.__file__).parent
    missing = [name for name in PHOTOGRAPHS if not (folder / name).is_file()]
    if missing:
        pytest.skip(f"this scikit-image does not ship {', '.join(missing)}")
    return folder


@pytest.fixture
def model(photographs: Path) -> SeeingModel:
    shown = {hashlib.sha256((photographs / name).read_bytes()).hexdigest(): true for name, true in SHOWN.items()}
    return SeeingModel(shown, written=WRITTEN)


@pytest.fixture
def server(model: SeeingModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-at-all-but-long-enough")
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with Loopback(reply=model) as running:
        yield running


def _prompts_file(photographs: Path, folder: Path) -> Path:
    file = folder / "prompts.jsonl"
    file.write_text("".join(json.dumps({"image": name, "prompt": words}) + "\n" for name, words, _ in PROMPTS))
    return file


def _judge(server: Loopback) -> list[str]:
    return ["--judge", "openai/seeing", "-J", f"base_url={server.url}/v1", "-J", "first_wait=0"]


def test_photographs_are_scored_and_the_run_opens_in_the_viewer(
    photographs: Path, server: Loopback, model: SeeingModel, tmp_path: Path
) -> None:
    images = [str(photographs / name) for name in PHOTOGRAPHS]
    arguments = [*images, "--prompts-file", str(_prompts_file(photographs, tmp_path)), *_judge(server)]
    code, out, err = command("score", *arguments, "--format", "csv")
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["passed"] == "True" for row in rows] == [true for *_, true in PROMPTS]
    by_prompt = {row["prompt"]: row for row in rows}
    assert by_prompt["There is a dog."]["reason"] == "not shown: a dog"
    assert by_prompt["There is a dog."]["form"] == "formula"
    assert by_prompt["A blue cup of coffee on a wooden table"]["reason"] == "no: Is the cup blue?"
    assert float(by_prompt["A blue cup of coffee on a wooden table"]["score"]) == 0.75
    balloon = by_prompt["An astronaut who holds a red balloon"]
    assert balloon["reason"] == (
        "no: Is there a balloon?; not asked: Is the balloon red?; not asked: Does the astronaut hold the balloon?"
    )
    assert float(balloon["score"]) == 0.25
    assert "Is the balloon red?" not in model.asked, "there is no balloon that could be red"
    assert by_prompt["Two rockets"]["form"] == "whole"
    assert by_prompt["Two rockets"]["reason"] == "no: Does the image show: Two rockets"
    assert "'Two rockets' is asked as one question" in err

    before = len(server.requests)
    again = command("score", *arguments, "--format", "csv")
    assert again.out == out
    assert len(server.requests) == before, "everything was known"

    [folder] = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("score-")
    _look_at(folder, next(row["item"] for row in rows if row["prompt"].startswith("An astronaut")))


def _look_at(folder: Path, item: str) -> None:
    """Open the pages of the viewer: the run, its images, and one image with its questions."""
    site = visitor(folder.parent)
    assert folder.name in site.get("/").text
    gallery = site.get("/gallery", params={"run": folder.name})
    assert gallery.status_code == 200
    assert "Two rockets" in gallery.text
    page = site.get("/item", params={"run": folder.name, "item": item})
    assert page.status_code == 200
    assert "Is there a balloon?" in page.text
    assert "not asked, because this failed: Is there a balloon?" in page.text


def test_the_same_in_python(photographs: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    scores = formalimg.score(
        [photographs / name for name, *_ in PROMPTS], [words for _, words, _ in PROMPTS], judge="openai/seeing"
    )
    assert [one.passed for one in scores] == [true for *_, true in PROMPTS]
    assert scores[1].parts[2].reason.startswith("not asked, because this failed: Is there a balloon?")
    run = open_run(scores.folder)
    assert len(run.outcomes()) == len(PROMPTS)
    run.close()
