"""The composition judge: phrases by a chat model, places and numbers by boxes; its options; runs and reports of them.

The chat model is a real client that asks a server on this machine: at a yes or no, the word has 0.7 of the probability
and the other word 0.2.
"""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.benchmarks.t2i_compbench.composition import COMPOSITION_TASKS, CompositionTask, read_prompt
from formalimg.benchmarks.t2i_compbench.judge import CompositionJudge
from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge
from formalimg.scenes.objects import Box
from formalimg.types import Item, Unscored, Verdict
from tests.benchmarks.t2i_compbench.test_prompts import write_lists
from tests.judges.test_object_judge import KnownBoxes, picture
from tests.models.test_folder_round_trip import image, images_found, opened, put, wanted
from tests.support.command import formalimg
from tests.support.loopback import Asked, Loopback

YES, NO = 0.7 / 0.9, 0.2 / 0.9
PAINTER = """from PIL import Image

def paint(prompt, seed):
    return Image.radial_gradient("L").rotate(len(prompt)).resize((48, 32))
"""


def item(task: CompositionTask, prompt: str) -> Item[QuestionSpec]:
    level = COMPOSITION_TASKS.index(task) + 1
    return Item("t2i-compbench", f"{task}-0000", level, prompt, read_prompt(task, prompt), (task,))


def judged(asked: Item[Any], *things: tuple[str, Box, str, float], **options: Any) -> Verdict | Unscored:
    return asyncio.run(CompositionJudge(None, KnownBoxes(things), **options).judge(asked, picture()))


def scores(verdict: Verdict | Unscored) -> dict[str, float]:
    assert isinstance(verdict, Verdict)
    profiles: Any = verdict.evidence["profiles"]
    return {name: about["score"] for name, about in profiles.items()}


ROW = ("cup", Box(0, 0, 100, 100), "red", 0.8), ("dog", Box(900, 0, 1000, 100), "black", 0.9)


def test_profiles_of_one_grounding_differ_where_their_rules_do() -> None:
    near = judged(item("spatial", "a cup near a dog"), *ROW)
    assert scores(near) == pytest.approx({"official": 0.25 * 1.7 + 150 / 431.1 / 2, "official-code": 0.925}, abs=1e-4)
    assert isinstance(near, Verdict)
    assert not near.passed
    assert [(part.name, part.kind, round(part.score, 3)) for part in near.parts] == [
        ("cup?", "object", 1.0),
        ("dog?", "object", 1.0),
        ("cup near dog?", "relation", 0.348),
    ]
    left = judged(item("spatial", "a cup on the left of a dog"), *ROW)
    assert scores(left) == pytest.approx({"official": 0.925, "official-code": 0.925, "logic": 1.0})
    two = judged(item("numeracy", "two cups"), *ROW)
    assert scores(two) == {"official": 0.5, "official-code": 0.5, "logic": 0.0}
    assert isinstance(two, Verdict)
    assert two.evidence["explanation"] == "2 cup wanted, 1 found"
    assert scores(judged(item("numeracy", "two cups"), *ROW, threshold=0.85))["official"] == 0


def test_colours_by_logic_need_no_chat_model() -> None:
    asked = item("color", "a red cup and a black dog")
    by_logic = judged(asked, *ROW, profile="logic")
    assert isinstance(by_logic, Verdict)
    assert by_logic.passed
    assert scores(by_logic) == {"logic": 1.0}
    unanswered = judged(asked, *ROW)
    assert isinstance(unanswered, Unscored)
    assert "name a chat model as the judge, or give -J profile=logic" in unanswered.detail
    unsaid = judged(item("texture", "a wooden cup and a glass dog"), *ROW, profile="logic")
    assert isinstance(unsaid, Unscored)
    assert "cannot decide" in unsaid.detail


def test_what_cannot_be_scored_is_known_before() -> None:
    by_boxes = CompositionJudge(None, KnownBoxes(()))
    assert by_boxes.unknown_classes(item("color", "a red cup")) == ("noun phrases",)
    assert by_boxes.unknown_classes(item("numeracy", "two cups")) == ()
    by_logic = CompositionJudge(None, KnownBoxes(()), profile="logic")
    assert by_logic.unknown_classes(item("shape", "a round cup")) == ("what has no formula",)
    assert by_boxes.questions(item("color", "a red cup")) == 0
    unread = judged(item("spatial", "a cup"))
    assert isinstance(unread, Unscored)
    assert "has no questions" in unread.detail


def test_options_say_who_looks_and_what_decides() -> None:
    server = {"base_url": "http://127.0.0.1:9/v1"}
    both = open_judge("t2i-compbench", "openai/looker", {**server, "profile": "official-code"})
    assert isinstance(both, CompositionJudge)
    assert both.settings["profile"] == "official-code"
    assert both.settings["phrases.logprobs"] is True
    assert both.questions(item("color", "a red cup and a blue dog")) == 2
    icons = open_judge("t2i-compbench", "openai/looker", {**server, "grounder": "builtin/icons"})
    assert (icons.name, icons.settings["grounder"]) == ("openai/looker", "builtin/icons")
    assert open_judge("t2i-compbench").name == "builtin/icons"
    for name, options, problem in (
        ("builtin/icons", {"profile": "strict"}, "official-code, logic"),
        ("builtin/icons", {"grounder": "detector/coco"}, "name a chat model as the judge"),
        ("builtin/icons", {"clip": "x"}, "give -J colors=clip"),
        ("builtin/drawn", {}, "name a chat model"),
    ):
        with pytest.raises(FormalimgError, match=problem):
            open_judge("t2i-compbench", name, options)
    with pytest.raises(FormalimgError, match="profiles in place of protocols"):
        open_judge("t2i-compbench", "openai/looker", server, protocol="published")


def _reply(asked: Asked) -> str:
    (text,) = asked.texts
    assert text.endswith("? Answer yes or no.")
    assert asked.schema is None
    return "No" if "bottle" in text else "Yes."


def _run(folder: Path, model: str) -> str:
    lists = write_lists(
        folder / "lists", {"color": ["a red cup and a blue bottle"], "shape": ["a round cup and a square box"]}
    )
    (folder / "painter.py").write_text(PAINTER)
    with Loopback(reply=_reply) as server:
        judge = ("-j", f"openai/{model}", "-J", f"base_url={server.url}/v1", "-J", "grounder=builtin/icons")
        asked = ("-m", f"python/{folder / 'painter.py'}:paint", "--size", "64")
        done = formalimg("run", "t2i-compbench", "--items", str(lists), *asked, *judge, "--out", str(folder / "run"))
    assert done.code == 0, done.err
    return formalimg("report", str(folder / "run"), "--details", "--format", "md").out


def _scores_of(folder: Path) -> list[float]:
    rows = csv.DictReader(formalimg("report", str(folder / "run"), "--format", "csv").out.splitlines())
    return [float(row["value"]) for row in rows if row["figure"] == "compositions" and row["value"]]


def test_phrases_count_by_their_probabilities_end_to_end(tmp_path: Path) -> None:
    page = _run(tmp_path, "looker")
    assert "| official | 0.17 | 0.60 |" in " ".join(page.split())
    assert "yes or no" not in page
    assert _scores_of(tmp_path) == pytest.approx([YES * NO, YES * YES] * 2, abs=1e-4)


def test_without_log_probabilities_yes_and_no_count_and_the_report_says_so(tmp_path: Path) -> None:
    page = _run(tmp_path, "mute")
    assert _scores_of(tmp_path) == [0, 1, 0, 1]
    assert "yes or no: a judge gave no log-probabilities" in " ".join(page.split())


def test_drawings_are_scored_offline_and_the_share_of_formulas_is_printed(tmp_path: Path) -> None:
    lists = write_lists(
        tmp_path / "lists",
        {
            "color": ["a red cup and a blue bottle", "a gold cup and a round bottle"],
            "spatial": ["a cup on the left of a bottle", "a fork on the top of a bowl"],
            "numeracy": ["two cups", "a bowl, two cups and three bottles were on the shelf"],
        },
    )
    asked = ("run", "t2i-compbench", "--items", str(lists), "-m", "builtin/oracle", "--size", "512")
    done = formalimg(*asked, "-J", "profile=logic", "--out", str(tmp_path / "run"))
    assert done.code == 0, done.err
    assert "cannot score 1 of 6 items, because it cannot look for what has no formula (1)" in done.err
    page = " ".join(formalimg("report", str(tmp_path / "run"), "--details", "--format", "md").out.split())
    assert "| logic | 1.00† | 1.00 | 1.00 |" in page
    assert "| official | – | 1.00 | 1.00 |" in page, "drawings are certain, and all stand as asked"
    assert "5 of 6 prompts (83.3 %) into formulas: 1 of 2 color, 2 of 2 2D-spatial, 2 of 2 numeracy" in page


def test_images_named_by_their_prompts_are_found(tmp_path: Path) -> None:
    wishes = [one._replace(prompt=f"a red cup and dog {one.item}") for one in wanted(2, samples=2)]
    put(
        tmp_path,
        {f"color/samples/a red cup and dog {n // 2}_{n:06}.png": image(n) for n in range(4)} | {"other.png": image(9)},
    )
    model = opened(tmp_path)
    assert model.settings["layout"] == "t2i-compbench"
    assert images_found(model, wishes) == {(str(n // 2), n % 2): image(n) for n in range(4)}
    assert model.match(wishes).extra == ("other.png",)


def test_items_with_the_same_prompt_share_its_images_in_their_order(tmp_path: Path) -> None:
    same = [one._replace(prompt="a red cup") for one in wanted(2, samples=2)]
    put(tmp_path, {f"samples/a red cup_{n:06}.jpg": image(n) for n in (3, 10, 12, 200)})
    assert images_found(opened(tmp_path), same) == {
        ("0", 0): image(3),
        ("0", 1): image(10),
        ("1", 0): image(12),
        ("1", 1): image(200),
    }
