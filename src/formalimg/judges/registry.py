"""From a name such as `builtin/icons` to a judge: each suite decides how it judges with what is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounder, Judge
from formalimg.judges.scene_judge import LayoutJudge, SceneJudge
from formalimg.suites import Kind
from formalimg.suites import suite as suite_of

if TYPE_CHECKING:
    from formalimg.models import ChatModel


ICONS = "builtin/icons"
DETECTORS = "detector/"
"""Names that begin with this are open-vocabulary detectors."""

_SHOWN_BY_BOXES = ("knolling",)
"""Suites of formulas that speak of boxes and colours only, so that a grounder sees all and logic judges."""

_OF_GROUNDERS = ("requests", "boxes", "prompts")
_OF_CLAUSE_JUDGES = ("decide", "answers", "prompts")
_OF_QUESTION_JUDGES = ("requests", "prompts")
_OF_SCORE_JUDGES = ("persona", "answers", "prompts")
"""Options that say how a chat model is used; all others are its own."""

_Opener: TypeAlias = Callable[[str, str | None, Mapping[str, str] | None], Judge]
"""Opens a judge for a suite, from its name, if there is one, and its options."""


def open_judge(
    suite: str,
    name: str | None = None,
    options: Mapping[str, str] | None = None,
    task: Literal["image", "layout"] | str = "image",
) -> Judge:
    """The judge of this name for a suite; without a name, the one that works offline.

    A chat model is used as the suite needs it: Knolling asks it for boxes and leaves the verdict to logic, Natural asks
    it for a verdict on each clause, ConceptMix asks it one question for each concept, and CF-World asks it for a score
    on each of an item's weighted questions.

    Args:
        suite: the benchmark.
        name: `builtin/icons`, `detector/…`, or a chat model such as `openai/gpt-4o`.
        options: `requests` and `boxes` (Knolling), `decide` and `answers` (Natural), `requests` (ConceptMix), `persona`
            and `answers` (CF-World and its probes), `prompts` (a folder), and those of the model that is named.
        task: what is to be judged. Layouts are judged by logic alone, and nobody looks.

    Raises:
        FormalimgError: if there is no such judge, it cannot judge the suite, or an option is wrong.
    """
    if task == "layout":
        if name not in (None, LayoutJudge.name) or options:
            raise FormalimgError(f"layouts are judged by logic alone, not by {name or 'options'}: leave the judge out")
        return LayoutJudge()
    return _OPENERS[suite_of(suite).kind](suite, name, options)


def open_grounder(name: str, options: Mapping[str, str] | None = None) -> Grounder:
    """The grounder of this name: `builtin/icons`, `detector/…`, or a chat model such as `openai/gpt-4o`.

    Raises:
        FormalimgError: if there is none, or an option is wrong.
    """
    if name == ICONS:
        if options:
            raise FormalimgError(f"{ICONS} has no options, but {', '.join(options)} was given")
        from formalimg.judges.grounders.icons import IconGrounder  # heavy, and needed only here

        return IconGrounder()
    if name.startswith("builtin/"):
        raise FormalimgError(f"there is no grounder {name}: known is {ICONS}, for images that formalimg drew itself")
    if name.startswith(DETECTORS):
        from formalimg.judges.grounders.detector import open_detector

        return open_detector(name.removeprefix(DETECTORS), options or {})
    from formalimg.judges.grounders.vlm import REQUESTS, VlmGrounder  # here, so that other judges start faster

    chat, own = _chat_model(name, options, _OF_GROUNDERS, "a grounder", {"requests": REQUESTS})
    return VlmGrounder(chat, **own)


def _judge_of_formulas(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    if suite in _SHOWN_BY_BOXES:
        return SceneJudge(open_grounder(name or ICONS, options))
    if name is None:
        raise FormalimgError(f"{_nobody_offline(suite)}, or make the images only, with `formalimg generate`")
    if _sees_boxes_only(name):
        raise FormalimgError(f"{name} sees boxes and colours only, and {suite} asks for more: name a chat model")
    from formalimg.judges.clause_judge import ANSWERS, ClauseJudge  # here, so that other judges start faster

    chat, own = _chat_model(name, options, _OF_CLAUSE_JUDGES, suite, {"answers": ANSWERS})
    return ClauseJudge(chat, **own)


def _judge_of_concepts(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    if name is None:
        raise FormalimgError(
            f"{_nobody_offline(suite)}; or make the images only, with `formalimg generate`, and let people answer: "
            "`formalimg agree` reads their votes from a CSV file"
        )
    if _sees_boxes_only(name):
        raise FormalimgError(f"{name} sees boxes and colours only, and cannot answer questions: name a chat model")
    from formalimg.judges.question_judge import REQUESTS, QuestionJudge  # here, so that other judges start faster

    chat, own = _chat_model(name, options, _OF_QUESTION_JUDGES, suite, {"requests": REQUESTS})
    return QuestionJudge(chat, **own)


def _judge_of_counterfactuals(suite: str, name: str | None, options: Mapping[str, str] | None) -> Judge:
    if name is None:
        raise FormalimgError(f"{_nobody_offline(suite)}, or make the images only, with `formalimg generate`")
    if _sees_boxes_only(name):
        raise FormalimgError(f"{name} sees boxes and colours only, and cannot give scores: name a chat model")
    from formalimg.judges.score_judge import ANSWERS, ScoreJudge  # here, so that other judges start faster

    chat, own = _chat_model(name, options, _OF_SCORE_JUDGES, suite, {"answers": ANSWERS})
    return ScoreJudge(chat, **own)


_OPENERS: Mapping[Kind, _Opener] = {
    "formula": _judge_of_formulas,
    "concepts": _judge_of_concepts,
    "counterfactual": _judge_of_counterfactuals,
}
"""How suites are judged, by the kind of what their items ask for."""


def _nobody_offline(suite: str) -> str:
    return (
        f"there is no judge for {suite} that works offline: name a chat model that can see, as in "
        "--judge gemini/gemini-3-pro-preview"
    )


def _sees_boxes_only(name: str) -> bool:
    return name == ICONS or name.startswith(DETECTORS)


def _chat_model(
    name: str,
    options: Mapping[str, str] | None,
    ours: tuple[str, ...],
    user: str,
    in_words: Mapping[str, tuple[str, ...]],
) -> tuple[ChatModel, dict[str, Any]]:
    """The chat model with the options that are its own, and the options that say how it is used.

    Options in several words have hyphens on a command line, so that they need no quotes: per-class for per class.
    """
    from formalimg.models import open_chat_model

    given = dict(options or {})
    for key in (*_OF_GROUNDERS, *_OF_CLAUSE_JUDGES, *_OF_QUESTION_JUDGES, *_OF_SCORE_JUDGES):
        if key in given and key not in ours:
            raise FormalimgError(f"{user} has no option {key!r}: it knows {', '.join(ours)}, and those of the model")
    own: dict[str, Any] = {key: given.pop(key) for key in ours if key in given}
    for key, known in in_words.items():
        if key in own:
            written = {words.replace(" ", "-"): words for words in known}
            if own[key].replace(" ", "-") not in written:
                raise FormalimgError(f"unknown {key} {own[key]!r}: known are {', '.join(written)}")
            own[key] = written[own[key].replace(" ", "-")]
    if "prompts" in own:
        own["prompts"] = Path(own["prompts"])
    return open_chat_model(name, given), own
