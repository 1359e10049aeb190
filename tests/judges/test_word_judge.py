"""GenEval 2: its file, the answers in one word with their probabilities, and Soft-TIFA in reports.

The judge is a real client that asks a server on this machine: at a yes or no, the word has 0.6 of the probability, the
other word 0.2, and the word in capitals 0.1; any other word has 0.9.
"""

from __future__ import annotations

import asyncio
import csv
import json
import math
from pathlib import Path

import pytest

from formalimg.benchmarks.geneval2.judge import PublishedWordJudge
from formalimg.benchmarks.items_file import decode_item, encode_item
from formalimg.benchmarks.loader import load, load_with_skipped
from formalimg.benchmarks.odd_records import odd_tags
from formalimg.benchmarks.questions.spec import COUNT_WORDS
from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_grounder, open_judge
from formalimg.judges.question_judge import QuestionGraphJudge, probability_of
from formalimg.runs.reader import open_run
from formalimg.types import Unscored, Verdict
from tests.support.command import formalimg
from tests.support.concept_items import NOTHING, answers_by
from tests.support.loopback import Asked, Loopback
from tests.support.published import FOLDER
from tests.support.scripted_chat import ScriptedChat, numbered

pytestmark = pytest.mark.usefixtures("no_preflight")

SAMPLE = FOLDER.parents[1] / "geneval2"
HOW_MANY, RED, ANY = "How many cups are in the image?", "Are the cups red?", "Are there any cups in the image?"
LEFT = "Are the cups to the left of the dog?"
CUPS = {
    "prompt": "three red cups",
    "atom_count": 3,
    "vqa_list": [[HOW_MANY, "three"], [RED, "Yes"], [ANY, "Yes"]],
    "skills": ["count", "attribute", "object"],
}
DOG = {
    "prompt": "three cups to the left of a dog",
    "atom_count": 4,
    "vqa_list": [[HOW_MANY, "3"], [LEFT, "Yes"]],
    "skills": ["count", "position"],
}


PAINTER = """from PIL import Image

def paint(prompt, seed):
    return Image.radial_gradient("L").rotate(len(prompt)).resize((48, 32))
"""


def _write(folder: Path, *records: object) -> Path:
    place = folder / "geneval2_data.jsonl"
    place.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return place


def test_the_file_becomes_items_with_expected_numbers(tmp_path: Path) -> None:
    first, second = load("geneval2", _write(tmp_path, CUPS, DOG))
    assert (first.id, first.level, first.prompt, first.tags) == ("1", 3, "three red cups", ())
    assert [(one.question, one.expected, one.category) for one in first.spec.questions] == [
        (HOW_MANY, "three", "count"),
        (RED, "yes", "attribute"),
        (ANY, "yes", "object"),
    ]
    assert second.spec.questions[0].expected == "three"
    assert load("geneval2", tmp_path) == [first, second]
    assert decode_item(encode_item(first), "geneval2") == first


@pytest.mark.parametrize(
    ("change", "tag"),
    [
        ({"atom_count": "three"}, "field-malformed"),
        ({"skills": ["count"]}, "field-malformed"),
        ({"vqa_list": [[HOW_MANY, "many"]], "skills": ["count"]}, "expected-unknown"),
        ({"vqa_list": [[HOW_MANY, "three"], [""]], "skills": ["count", "object"]}, "empty-question"),
        ({"vqa_list": [], "skills": []}, "no-questions"),
        ({"prompt": None}, "no-prompt"),
        ({}, "duplicate-prompt"),
    ],
)
def test_odd_lines_are_tagged_and_stay(tmp_path: Path, change: dict[str, object], tag: str) -> None:
    loaded = load_with_skipped("geneval2", _write(tmp_path, CUPS, {**CUPS, **change}, {"skills": []}))
    items, skipped = loaded.items, loaded.skipped
    assert tag in odd_tags(items[1].tags)
    assert items[1].level == 3 or not items[1].spec.questions
    assert [one.where for one in skipped] == [f"{tmp_path / 'geneval2_data.jsonl'}, line 3"]
    assert decode_item(encode_item(items[1]), "geneval2") == items[1]


@pytest.mark.skipif(not SAMPLE.is_dir(), reason=f"the sample of GenEval 2 is not at {SAMPLE}")
def test_the_published_sample_loads() -> None:
    loaded = load_with_skipped("geneval2", SAMPLE)
    items, skipped = loaded.items, loaded.skipped
    asked = [question for item in items for question in item.spec.questions]
    assert (len(items), len(asked), len(skipped)) == (80, 591, 0)
    assert not any(item.tags for item in items)
    assert {item.level for item in items} == set(range(3, 11))
    assert sum(one.expected in COUNT_WORDS for one in asked) == sum(one.category == "count" for one in asked) == 200


def test_an_answer_is_as_likely_as_its_spellings_together() -> None:
    chances = {"Yes": 0.5, "yes": 0.25, "YES": 0.125, "3": 0.5, "three": 0.25, "Three": 0.125, "no": 0.1}
    assert probability_of(chances, "yes") == 0.75
    assert probability_of(chances, "three") == 0.875
    assert probability_of(chances, "four") == 0
    assert probability_of({}, "yes") is None


def _reply(asked: Asked) -> str:
    (text,) = asked.texts
    assert text.endswith(" Answer in one word.")
    assert asked.schema is None
    answers = {HOW_MANY: "Three", RED: "No", ANY: "yes.", LEFT: "Yes"}
    return answers[text.removesuffix(" Answer in one word.")]


def _run(folder: Path, model: str, *options: str) -> None:
    with Loopback(reply=_reply) as server:
        judge = ("-j", f"openai/{model}", "-J", f"base_url={server.url}/v1", *options)
        items = str(_write(folder.parent, CUPS, DOG))
        (folder.parent / "painter.py").write_text(PAINTER)
        asked = ("-m", f"python/{folder.parent / 'painter.py'}:paint", "--size", "64")
        done = formalimg("run", "geneval2", "--items", items, *asked, *judge, "--out", str(folder))
    assert done.code == 0, done.err


def _figures(folder: Path) -> dict[tuple[str, str], float]:
    rows = csv.DictReader(formalimg("report", str(folder), "--format", "csv").out.splitlines())
    return {(row["figure"], row["name"]): float(row["value"]) for row in rows if row["value"]}


def test_soft_tifa_from_log_probabilities_end_to_end(tmp_path: Path) -> None:
    _run(tmp_path / "soft", "looker")
    # cups: three 0.9, no in place of yes 0.2, yes 0.6; dog: three 0.9, Yes 0.6
    cups, dog = (0.9, 0.2, 0.6), (0.9, 0.6)
    am = (sum(cups) / 3 + sum(dog) / 2) / 2
    gm = (math.prod(cups) ** (1 / 3) + math.prod(dog) ** (1 / 2)) / 2
    page = formalimg("report", str(tmp_path / "soft"), "--format", "md").out
    assert f"| log-probabilities | {100 * am:.1f}" in page
    assert f"{100 * gm:.1f}" in page
    assert "right or wrong" not in page
    found = _figures(tmp_path / "soft")
    values = {name: value for (figure, name), value in found.items() if figure == "soft-tifa"}
    assert sorted(values.values()) == pytest.approx(sorted([am, gm, 0.6, 0.2, 0.9, 0.6]), abs=1e-6)
    by_level = [value for (figure, _), value in found.items() if figure == "soft-tifa by level"]
    assert by_level == pytest.approx(
        [sum(cups) / 3, sum(dog) / 2, math.prod(cups) ** (1 / 3), math.prod(dog) ** (1 / 2)], abs=1e-6
    )


def test_images_are_found_by_the_prompts_in_the_file_of_the_authors_form(tmp_path: Path) -> None:
    (tmp_path / "renders").mkdir()
    for name in ("a", "b"):
        numbered(1).pil.save(tmp_path / "renders" / f"{name}.png")
    listed = {CUPS["prompt"]: "renders/a.png", DOG["prompt"]: "renders/b.png"}
    (tmp_path / "paths.json").write_text(json.dumps(listed))
    items = str(_write(tmp_path, CUPS, DOG))
    model = f"folder/{tmp_path / 'paths.json'}"
    done = formalimg("run", "--no-judge", "geneval2", "--items", items, "-m", model, "--out", str(tmp_path / "run"))
    assert done.code == 0, done.err
    assert {one.name for one in (tmp_path / "run" / "images").iterdir()} >= {"1.png", "2.png"}


@pytest.mark.parametrize(("model", "options"), [("mute", ()), ("looker", ("-J", "logprobs=false"))])
def test_without_log_probabilities_answers_are_right_or_wrong_and_the_report_says_so(
    tmp_path: Path, model: str, options: tuple[str, ...]
) -> None:
    _run(tmp_path / "hard", model, *options)
    page = formalimg("report", str(tmp_path / "hard"), "--format", "md").out
    am, gm = (2 / 3 + 1) / 2, (0 + 1) / 2
    assert f"| right or wrong | {100 * am:.1f}" in page
    assert f"{100 * gm:.1f}" in page
    assert "the numbers are TIFA and not Soft-TIFA" in page


def test_the_judge_of_yes_and_no_does_not_guess_at_numbers(tmp_path: Path) -> None:
    (item,) = load("geneval2", _write(tmp_path, CUPS))
    chat = ScriptedChat({1: NOTHING}, answers_by({}))
    found = asyncio.run(QuestionGraphJudge(chat).judge(item, numbered(1)))
    assert isinstance(found, Unscored)
    assert "asks for a number" in found.detail
    assert chat.conversations == []


def test_only_chat_models_judge_it() -> None:
    with pytest.raises(FormalimgError, match="name a chat model"):
        open_judge("geneval2", "builtin/icons")
    with pytest.raises(FormalimgError, match="no judge for geneval2 that works offline"):
        open_judge("geneval2")
    assert open_judge("geneval2", "openai/x", {"base_url": "http://127.0.0.1:9/v1"}).settings["logprobs"] is True


# --- what boxes decide, beside the words of the judge

DRAWER = """from formalimg.scenes import Box, Scene, SceneObject; from formalimg.drawing.icon_scene import draw

def paint(prompt, seed):
    red, blue = ("red", "blue") if prompt == "three red cups" else ("green", "green")
    cups = [SceneObject("cup", Box(100 + 200 * n, 100, 220 + 200 * n, 220), red) for n in range(3)]
    return draw(Scene.of([*cups, SceneObject("book", Box(700, 600, 800, 740), blue)]), 384)
"""
WOOD = {
    "prompt": "three wooden cups to the left of a book",
    "atom_count": 4,
    "vqa_list": [
        [HOW_MANY, "three"],
        ["Are the cups wooden?", "Yes"],
        ["Are the cups to the left of the book?", "Yes"],
        [RED, "Yes"],
    ],
    "skills": ["count", "attribute", "position", "attribute"],
}
SAID = {HOW_MANY: "Four", RED: "Yes", ANY: "yes", "Are the cups wooden?": "Yes", WOOD["vqa_list"][2][0]: "Yes"}  # type: ignore[index]


def _run_with_boxes(folder: Path, *options: str) -> dict[str, Verdict]:
    def reply(asked: Asked) -> str:
        return SAID[asked.texts[0].removesuffix(" Answer in one word.")]

    (folder / "drawer.py").write_text(DRAWER)
    items = str(_write(folder, CUPS, WOOD))
    with Loopback(reply=reply) as server:
        judge = ("-j", "openai/looker", "-J", f"base_url={server.url}/v1", *options)
        model = ("-m", f"python/{folder / 'drawer.py'}:paint", "--size", "384")
        done = formalimg("run", "geneval2", "--items", items, *model, *judge, "--out", str(folder / "run"))
    assert done.code == 0, done.err
    judged = {one.outcome.item: one.verdict for one in open_run(folder / "run").judged()}
    return {item: verdict for item, verdict in judged.items() if isinstance(verdict, Verdict)}


def test_boxes_answer_beside_the_judge_and_change_no_verdict(tmp_path: Path) -> None:
    found = _run_with_boxes(tmp_path, "-J", "grounder=builtin/icons")
    boxes = {item: verdict.evidence["by_boxes"] for item, verdict in found.items()}
    assert boxes == {
        "1": {"grounder": "builtin/icons", "answers": [True, True, True]},
        "2": {"grounder": "builtin/icons", "answers": [True, None, True, False]},
    }
    assert [part.score for part in found["1"].parts] == [0, 1, 1], "the judge's own words decide"
    assert found["1"].parts[0].reason == "Four, three is expected; by boxes it is so"
    assert found["2"].parts[1].reason == "Yes, yes is expected"
    assert found["2"].parts[3].reason == "Yes, yes is expected; by boxes it is not so"
    page = formalimg("report", str(tmp_path / "run"), "--format", "md").out
    # of 7 questions boxes decide 6: they differ about both counts, and about the red cups that are green
    assert "| builtin/icons | all | 7 | 85.7 | 50.0" in page
    assert "| builtin/icons | attribute | 3 | 66.7 | 50.0" in page
    assert "| builtin/icons | count | 2 | 100.0 | 0.0" in page


def test_without_a_grounder_nothing_is_said_of_boxes(tmp_path: Path) -> None:
    found = _run_with_boxes(tmp_path)
    assert not [verdict for verdict in found.values() if "by_boxes" in verdict.evidence]
    assert "What boxes decide" not in formalimg("report", str(tmp_path / "run"), "--format", "md").out


def test_what_a_grounder_cannot_see_is_not_decided(tmp_path: Path) -> None:
    (item,) = load("geneval2", _write(tmp_path, CUPS))
    chat = ScriptedChat({1: NOTHING}, lambda asked: {"answer": "yes"})
    judge = PublishedWordJudge(chat, grounder=open_grounder("builtin/icons"))
    assert judge.settings["grounder"] == "builtin/icons"
    found = asyncio.run(judge.judge(item, numbered(1)))
    assert isinstance(found, Verdict)
    said = found.evidence["by_boxes"]
    assert isinstance(said, dict)
    assert said["answers"] == [None, None, None]
    assert "reads only drawings" in said["unscored"]


def test_an_unknown_grounder_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(FormalimgError, match=r"there is no grounder builtin/eyes"):
        open_judge("geneval2", "openai/x", {"base_url": "http://127.0.0.1:9/v1", "grounder": "builtin/eyes"})
