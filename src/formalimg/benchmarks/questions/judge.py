"""Judging of questions, by the formula parsed from a prompt or by a chat model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec, Zeroing
from formalimg.errors import FormalimgError
from formalimg.judges.factory import (
    DETECTORS,
    OCR,
    TEXT_OPTIONS,
    open_chat,
    open_grounder,
    open_prompt_judge,
    open_text_judge,
    take_text_judge,
)
from formalimg.judges.prompt_judge import PromptJudge
from formalimg.judges.scene_judge import SceneJudge
from formalimg.judges.text_judge import TextJudge
from formalimg.logic.parser import parse
from formalimg.types import Item, Judge

if TYPE_CHECKING:
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels

_VOCABULARY = "natural"  # The vocabulary of the formula that a grounder is tried with
_OPTIONS = ("requests", "zeroing", "prompts", *TEXT_OPTIONS)


def open_judge(suite: str, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
    """Open a judge for prompts that uses a grounder, a text reader, or a chat model."""
    if protocol != "default":
        raise FormalimgError(f"{suite} has no published protocol: leave the protocol out")
    if name is None:
        raise FormalimgError(
            "these images need a judge: name a chat model that can see, as in "
            "--judge gemini/gemini-3-pro-preview, or set FORMALIMG_JUDGE"
        )
    if name.startswith(OCR):
        by_text = open_text_judge(name, options)
        return PromptJudge(by_text, by_text)
    if name.startswith((DETECTORS, "builtin/")):
        of_grounder = dict(options)
        reader = take_text_judge(of_grounder)
        return open_prompt_judge(open_grounder(name, of_grounder), by_text=reader)
    from formalimg.judges.question_judge import REQUESTS

    choices = {"requests": REQUESTS, "zeroing": get_args(Zeroing)}
    chat, judge_options = open_chat(name, options, _OPTIONS, suite, choices)
    return open_prompt_judge(chat, by_text=take_text_judge(judge_options), **judge_options)


def reopen_judge(recorded: RecordedModels) -> Judge:
    """Reopen a judge from recorded settings and answers."""
    from formalimg.judges.chat_judge import check_option
    from formalimg.judges.clause_judge import ClauseJudge
    from formalimg.judges.question_judge import QuestionGraphJudge

    settings = recorded.settings
    if "protocol" in settings:
        raise FormalimgError("it has no published protocol")
    by_text = None
    for prefix in ("", "questions.", "questions.reader_"):  # it may be nested under another judge
        if by_text is None and f"{prefix}text_rules" in settings:
            by_text = TextJudge(
                recorded.reader, compare=settings[f"{prefix}compare"], tolerance=settings[f"{prefix}tolerance"]
            )
    if by_text is not None and recorded.chat.name.startswith(OCR):
        return PromptJudge(by_text, by_text)
    if not recorded.asks_chat:
        relations = settings.get("formula.relations", "recorded")
        check_option("relations", relations, ("recorded", "boxes"))
        return PromptJudge(SceneJudge(recorded.grounder, relations), by_text)
    zeroing = settings.get("questions.zeroing")
    graph = QuestionGraphJudge(recorded.chat, requests=settings["questions.requests"], zeroing=zeroing, by_text=by_text)
    return PromptJudge(ClauseJudge(recorded.chat, decide="clauses"), graph)


def preflight_drawings(suite: str, judge: Judge) -> tuple[KnownDrawing, KnownDrawing]:
    """Return two preflight drawings suited to the judge: texts, bottle positions, or bottle and fork."""
    from formalimg.judges import preflight as known

    if isinstance(judge, PromptJudge) and judge.reads_text:
        return known.two_texts(suite)
    if isinstance(judge, PromptJudge) and judge.by_questions is None:
        formula = FormulaSpec.of(parse(f"(exists ?x (Is ?x '{known.BOTTLE}'))"))
        spec = QuestionSpec(formula=formula, vocabulary=_VOCABULARY)
        return known.two_places(Item(suite, "preflight", 1, known.RED_BOTTLE, spec))
    words = enumerate((known.BOTTLE, known.FORK), 1)
    questions = (GraphQuestion(str(number), f"Does the image contain a {word}?") for number, word in words)
    item = Item(suite, "preflight", 1, known.BOTTLE_AND_FORK, QuestionSpec(tuple(questions)))
    return known.bottle_and_fork(item)
