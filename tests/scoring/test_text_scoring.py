"""Prompts with quoted text, scored by the real reader: in commands, in Python, beside grounders and chat models."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import formalimg as package
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec, text_questions
from formalimg.judges.question_judge import QuestionGraphJudge
from formalimg.judges.text_judge import TextJudge
from formalimg.types import Item, Unscored, Verdict
from tests.support.command import formalimg
from tests.support.concept_items import NOTHING, answers_by
from tests.support.drawn_text import FixedReader, draw_text
from tests.support.scripted_chat import ScriptedChat, numbered

pytest.importorskip("rapidocr", reason="rapidocr is not installed: pip install 'formalimg[ocr]'")

SIGN = "A sign that says 'FOUND SEED'."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "right.png").write_bytes(draw_text("Found", "seed").data)
    (tmp_path / "wrong.png").write_bytes(draw_text("FOUNN", "SDEMD").data)
    return tmp_path


def test_a_command_scores_images_by_their_text(folder: Path) -> None:
    done = formalimg(
        *("score", "right.png", "wrong.png", "--prompt", SIGN, "--judge", "ocr/rapidocr", "--format", "json"),
        cwd=folder,
    )
    assert done.code == 0, done.err
    right, wrong = json.loads(done.out)["scores"]
    assert (right["passed"], right["score"], right["form"]) == (True, 1, "text")
    assert (wrong["passed"], wrong["score"]) == (False, pytest.approx(0.7))
    assert wrong["reason"] == "reads FOUNN SDEMD, asked FOUND SEED"
    assert "pre-flight: ocr/rapidocr looked at 1 drawing" in done.err
    assert "1 prompt: only the quoted text is checked; not checked: 'A sign that says ….'" in done.err


def test_a_tolerance_and_strictness_are_options(folder: Path) -> None:
    command = ("score", "wrong.png", "right.png", "--prompt", SIGN, "--judge", "ocr/rapidocr", "--format", "json")
    loose = json.loads(formalimg(*command, "-J", "tolerance=0.3", cwd=folder).out)
    strict = json.loads(formalimg(*command, "-J", "compare=strict", cwd=folder).out)
    assert [one["passed"] for one in loose["scores"]] == [True, True]
    assert [one["passed"] for one in strict["scores"]] == [False, False]


def test_a_prompt_without_quotes_is_unscored_and_refuses_no_other(folder: Path) -> None:
    (folder / "prompts.txt").write_text(f"{SIGN}\nA cat in the rain.\n")
    done = formalimg(
        *("score", "right.png", "wrong.png", "--prompts-file", "prompts.txt", "--judge", "ocr/rapidocr"),
        *("--format", "json"),
        cwd=folder,
    )
    assert done.code == 0, done.err
    right, cat = json.loads(done.out)["scores"]
    assert right["passed"] is True
    assert cat["passed"] is None
    assert "ocr/rapidocr reads text only" in cat["reason"]
    alone = formalimg("score", "right.png", "--prompt", "A cat in the rain.", "--judge", "ocr/rapidocr", cwd=folder)
    assert alone.code == 2
    assert "ocr/rapidocr reads text only, and 'A cat in the rain.' has none in quotes" in alone.err


def test_a_grounder_is_helped_by_a_reader(folder: Path) -> None:
    without = formalimg("score", "right.png", "--prompt", SIGN, "--judge", "builtin/icons", cwd=folder)
    assert without.code == 2
    assert "give -J reader=ocr/rapidocr, or name a chat model" in without.err
    (folder / "prompts.txt").write_text(f"{SIGN}\nThere is a cup.\n")
    done = formalimg(
        *("score", "right.png", "wrong.png", "--prompts-file", "prompts.txt", "--judge", "builtin/icons"),
        *("-J", "reader=ocr/rapidocr", "--format", "json"),
        cwd=folder,
    )
    text, cup = json.loads(done.out)["scores"]
    assert (text["form"], text["passed"]) == ("text", True)
    assert cup["form"] == "formula"
    lonely = formalimg(
        "score", "right.png", "--prompt", SIGN, "--judge", "builtin/icons", "-J", "tolerance=0.1", cwd=folder
    )
    assert "name the reader, -J reader=ocr/rapidocr" in lonely.err


def test_a_reader_is_a_judge_in_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (found,) = package.score("right.png", SIGN, FixedReader("FOUND SEAT"), preflight=False)
    assert found.passed is False
    assert found.score == pytest.approx(7 / 9)
    assert found.reason == "reads FOUND SEAT, asked FOUND SEED"


def test_question_graphs_run_with_a_reader_and_are_computed_again(folder: Path) -> None:
    questions = [{"id": "1", "question": "Is the text 'Found seed' present?"}]
    row = {"id": "right", "prompt": "A sign", "questions": questions}
    (folder / "graphs.json").write_text(json.dumps([row, {**row, "id": "wrong"}]))
    asked = ("run", "questions", "--items", "graphs.json", "--model", f"folder/{folder}", "--judge", "ocr/rapidocr")
    done = formalimg(*asked, cwd=folder)
    assert done.code == 0, done.err
    (run,) = (folder / "runs").iterdir()
    assert formalimg("share", "bundle", str(run), "--out", "bundle.zip", cwd=folder).code == 0
    checked = formalimg("share", "verify", "bundle.zip", cwd=folder)
    assert checked.code == 0, checked.err + checked.out
    assert "of 2 verdicts 0 from raw answers, 2 from stored scenes" in checked.out + checked.err


def test_a_reader_beside_a_chat_model_changes_no_verdict() -> None:
    there = GraphQuestion("1", "Is there a sign?", category="object")
    (text,) = text_questions(["FOUND SEED"])
    asked = (there, GraphQuestion("2", text.question, ("1",), category="text"))
    item = Item("free-prompts", "one", 1, SIGN, QuestionSpec(asked))
    said = {one.question: "yes" for one in asked}
    reader = FixedReader("FOUNN SDEMD")

    def judged(by_text: TextJudge | None = None) -> Verdict:
        judge = QuestionGraphJudge(ScriptedChat({1: NOTHING}, answers_by(said)), by_text=by_text)
        found = asyncio.run(judge.judge(item, numbered(1)))
        assert isinstance(found, Verdict)
        return found

    alone, beside = judged(), judged(TextJudge(reader))
    assert (beside.passed, beside.score) == (alone.passed, alone.score) == (True, 1)
    seen = beside.evidence["by_reader"]
    assert isinstance(seen, dict)
    assert seen["answers"] == [None, False]
    assert beside.parts[1].reason.endswith("ocr/fixed reads FOUNN SDEMD, asked FOUND SEED")
    assert beside.parts[0] == alone.parts[0]
    failing = FixedReader(unscored=Unscored("judge failed", "no memory"))
    assert judged(TextJudge(failing)).evidence["by_reader"] == {"reader": "ocr/fixed", "unscored": "no memory"}
