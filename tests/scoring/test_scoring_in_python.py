"""`formalimg.score`: images and judges of every kind, and what goes wrong."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

import formalimg
from formalimg.benchmarks.prompt_formulas import read_formula
from formalimg.benchmarks.questions.spec import GraphQuestion
from formalimg.drawing.icon_scene import draw
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_grounder
from formalimg.language.lexicon import WordingError
from formalimg.models.registry import open_chat_model
from formalimg.prompts import load_prompts
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.scoring import writer
from formalimg.scoring.scores import Scores
from formalimg.types import Item, Part, Verdict
from tests.scoring.conftest import CUP, PROMPT, RED
from tests.support.loopback import Fault, Loopback
from tests.support.seeing import SeeingModel

pytestmark = pytest.mark.usefixtures("no_preflight")


def test_paths_bytes_and_pil_images_are_taken(images: Path, server: Loopback, model: SeeingModel) -> None:
    with Image.open(images / "red.png") as opened:
        pil = opened.copy()
    given: list[Any] = [images / "red.png", str(images / "red.png"), (images / "red.png").read_bytes()]
    scores = formalimg.score(given, "There is a cup.", judge="openai/seeing")
    assert [one.passed for one in scores] == [True] * 3
    assert [one.image for one in scores] == [str(images / "red.png")] * 2 + ["image 3"]
    # A PIL image has no file, and is sent as a PNG of ours.
    model.shown = _Anything()
    [alone] = formalimg.score(pil.convert("CMYK"), "There is a cup.", judge="openai/seeing")
    assert (alone.passed, alone.image, alone.form) == (False, "image 1", "formula")


class _Anything(dict[str, set[str]]):
    def __missing__(self, key: str) -> set[str]:
        return set()


def test_each_image_has_its_prompt(images: Path, server: Loopback) -> None:
    scores = formalimg.score(
        [images / "red.png", images / "blue.png"], [PROMPT, "There is a cup."], judge="openai/seeing"
    )
    assert [(one.prompt, one.passed, one.score) for one in scores] == [
        (PROMPT, True, 1.0),
        ("There is a cup.", True, 1.0),
    ]
    assert scores.folder.parent == Path("runs")
    assert len(scores) == 2
    assert f"| {images / 'red.png'} | {PROMPT} | 1.00 | yes |" in scores.table().replace("\\", "")
    assert "<table" in scores._repr_html_()
    assert PROMPT in scores._repr_html_()
    assert scores[-1].parts[0].name == "(Is ?cup 'cup')"


def test_questions_can_be_given_as_a_list(images: Path, server: Loopback) -> None:
    own: list[str | GraphQuestion] = [CUP, GraphQuestion("red", RED, ("1",), expected="no")]
    [one] = formalimg.score(images / "blue.png", judge="openai/seeing", questions=own)
    assert one.passed
    assert one.prompt == f"{CUP} {RED}"


def test_a_chat_model_is_a_judge(images: Path, server: Loopback) -> None:
    assert formalimg.score(images / "red.png", PROMPT, judge=open_chat_model("openai/seeing"))[0].passed


class _OwnJudge:
    name = "test/own"
    settings: ClassVar[dict[str, Any]] = {}
    concurrency = 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict:
        return Verdict(False, (Part(f"is it {item.prompt}?", "whole", 0.0),))


def test_a_judge_of_ones_own_sees_prompt_and_image(images: Path) -> None:
    [one] = formalimg.score(images / "red.png", PROMPT, judge=_OwnJudge())
    assert (one.passed, one.reason) == (False, f"no: is it {PROMPT}?")


def test_a_function_is_a_judge_as_in_evaluate(images: Path) -> None:
    seen: list[str] = []

    def reddish(image: Image.Image, item: Item[Any]) -> dict[str, float]:
        seen.append(item.prompt)
        red, _, blue = image.resize((1, 1)).getpixel((0, 0))  # type: ignore[misc]
        return {"red": float(red > blue), "an image": 1.0}

    both = [images / "red.png", images / "blue.png"]
    first = formalimg.score(both, ["There is a cup.", PROMPT], judge=reddish, judge_options={"name": "reddish"})
    assert [(one.passed, one.score) for one in first] == [(True, 1.0), (False, 0.5)]
    assert first[1].reason == "no: red"
    again = formalimg.score(both, ["There is a cup.", PROMPT], judge=reddish)
    assert again.folder != first.folder, "nobody knows what a function goes by"
    formalimg.score(both, ["There is a cup.", PROMPT], judge=reddish, folder=again.folder)
    assert sorted(seen) == sorted(["There is a cup.", PROMPT] * 2)
    with pytest.raises(
        formalimg.FormalimgError, match="no option 'model': it has name, settings, concurrency, threshold"
    ):
        formalimg.score(both, PROMPT, judge=reddish, judge_options={"model": 1})


def test_a_grounder_judges_what_can_be_read_and_leaves_the_rest_unscored(images: Path) -> None:
    scene = Scene.of([SceneObject("cup", Box(100, 400, 300, 600)), SceneObject("fork", Box(700, 400, 800, 700))])
    prompts = ["A cup is to the left of a fork.", "A cup is to the right of a fork.", PROMPT]
    scores = formalimg.score([draw(scene)] * 3, prompts, judge=open_grounder("builtin/icons"))
    assert [one.passed for one in scores] == [True, False, None]
    assert scores[1].reason == "the cup is not to the right of the fork"
    assert scores[2].reason.startswith("unscored, not understood: builtin/icons finds objects only")
    assert scores[2].score is None


def test_scores_have_a_mean_and_are_a_data_frame() -> None:
    scene = Scene.of([SceneObject("cup", Box(100, 400, 300, 600)), SceneObject("fork", Box(700, 400, 800, 700))])
    pixels = np.asarray(draw(scene))
    prompts = ["A cup is to the left of a fork.", "A cup is to the right of a fork.", PROMPT]
    scores = formalimg.score(np.stack([pixels] * 3), prompts, judge=open_grounder("builtin/icons"))
    right, wrong, unscored = scores
    assert (right.score, unscored.score) == (1.0, None)
    assert wrong.score is not None
    assert scores.mean == (1 + wrong.score) / 2
    assert repr(scores) == f"<3 images: mean {scores.mean:.2f} of 2, 1 passed, 1 unscored, in {scores.folder}>"
    assert Scores((unscored,), scores.folder, scores.progress).mean is None
    pytest.importorskip("pandas", reason="pandas is not installed: pip install 'formalimg[pandas]'")
    frame = scores.to_pandas()
    assert [*frame["image"]] == ["image 1", "image 2", "image 3"]
    assert [*frame["score"].isna()] == [*frame["passed"].isna()] == [False, False, True]
    parts = scores.to_pandas(parts=True)
    assert len(parts) == sum(len(one.parts) for one in scores)
    assert {*parts["item"]} == {right.item, wrong.item}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prompts": ["a", "b"]}, "there are 1 images and 2 prompts"),
        ({}, "give prompts, or questions"),
        ({"prompts": "A cup", "form": "poem"}, "form cannot be 'poem': give auto, formula, questions or whole"),
        ({"prompts": 3}, "prompts cannot be 3 .int.: give a str, a list or None"),
        (
            {"prompts": "A cup", "judge": 7},
            "judge cannot be 7 .int.: give a str, a Judge, a Grounder, a TextReader, a ChatModel, a function or None",
        ),
        ({"prompts": "A cup", "judge": _OwnJudge(), "judge_options": {"a": "b"}}, "options are for a judge"),
        ({"questions": ["Is it?", GraphQuestion("1", "Is it so?")]}, "two questions have the id '1'"),
        ({"prompts": "A cup", "form": "questions", "judge": _OwnJudge()}, "the questions need a chat model"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_done(
    images: Path, server: Loopback, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(formalimg.FormalimgError, match=message):
        formalimg.score(images / "red.png", **{"judge": "openai/seeing", **arguments})
    assert server.requests == []
    with pytest.raises(formalimg.FormalimgError, match="image 1 is none: an image cannot be of the type float"):
        formalimg.score(1.5, "A cup", judge="openai/seeing")


def test_a_writer_that_does_not_answer_is_an_error_and_not_a_worse_score(
    images: Path, model: SeeingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-at-all-but-long-enough")
    with Loopback(reply=model, faults=lambda number: Fault("500")) as broken:
        options = {"base_url": f"{broken.url}/v1", "first_wait": "0", "max_attempts": "2"}
        with pytest.raises(formalimg.FormalimgError, match=r"no questions were written: .*--as whole"):
            formalimg.score(images / "red.png", PROMPT, judge="openai/seeing", judge_options=options)
    assert not Path("runs").exists()


def test_no_text_for_the_writer_changes_without_a_new_version() -> None:
    found = {
        name: (prompt.version, hashlib.sha256(prompt.text.encode()).hexdigest()[:12], sorted(prompt.placeholders))
        for name, prompt in load_prompts(Path(writer.__file__).parent / "prompts").items()
    }
    assert found == {
        "question-writer": ("version 1", "4bd99c60bbdb", ["limit", "prompt"]),
        "question-writer-again": ("version 1", "b5d87ad5d4b1", ["problem"]),
    }


@pytest.mark.parametrize("prompt", ["There is a cup. " * 130, "A cup " * 1_600])
def test_long_prompts_are_asked_as_a_whole_and_resume(images: Path, server: Loopback, prompt: str) -> None:
    def scored() -> list[tuple[str, bool | None]]:
        found = formalimg.score(images / "red.png", prompt, judge="openai/seeing", form="whole", folder="long")
        return [(one.form, one.passed) for one in found]

    assert scored() == scored() == [("whole", False)]
    with pytest.raises(formalimg.FormalimgError, match=r"more than 10,000 characters"):
        formalimg.score(images / "red.png", prompt * 10, judge="openai/seeing")


def test_a_text_of_a_thousand_objects_is_no_formula() -> None:
    assert isinstance(read_formula("There is a cup. " * 1_000), WordingError)


def test_a_blank_image_fails_by_rule_and_says_so(images: Path, server: Loopback) -> None:
    [one] = formalimg.score(Image.new("RGB", (64, 64), "black"), "There is a cup.", judge="openai/seeing")
    assert (one.passed, one.score) == (False, 0)
    assert one.reason.startswith("failed by rule: ")
    assert server.requests == []


def test_scoring_is_loaded_when_it_is_used() -> None:
    assert {"score", "Score", "Scores"} <= set(formalimg.__all__)
