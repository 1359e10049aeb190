"""From a name such as `builtin/icons` to a judge: each suite decides how it judges with what is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from formalimg.errors import FormalimgError
from formalimg.judges.judge import Grounder, Judge
from formalimg.judges.layout_judge import LayoutJudge
from formalimg.judges.scene_judge import SceneJudge

if TYPE_CHECKING:
    from formalimg.models import ChatModel

ICONS = "builtin/icons"
DETECTORS = "detector/"
"""Names that begin with this are open-vocabulary detectors."""

_JUDGED_BY_SCENE = ("knolling",)
_JUDGED_BY_CLAUSE = ("natural",)

_OF_GROUNDERS = ("requests", "boxes", "prompts")
_OF_CLAUSE_JUDGES = ("decide", "answers", "prompts")
"""Options that say how a chat model is used; all others are its own."""


def open_judge(
    suite: str,
    name: str | None = None,
    options: Mapping[str, str] | None = None,
    task: Literal["image", "layout"] | str = "image",
) -> Judge:
    """The judge of this name for a suite; without a name, the one that works offline.

    A chat model is used as the suite needs it: Knolling asks it for boxes and leaves the verdict to logic, Natural asks
    it for a verdict on each clause.

    Args:
        suite: the benchmark.
        name: `builtin/icons`, `detector/…`, or a chat model such as `openai/gpt-4o`.
        options: `requests` and `boxes` (Knolling), `decide` and `answers` (Natural), `prompts` (a folder), and those of
            the model that is named.
        task: what is to be judged. Layouts are judged by logic alone, and nobody looks.

    Raises:
        FormalimgError: if there is no such judge, it cannot judge the suite, or an option is wrong.
    """
    if task == "layout":
        if name not in (None, LayoutJudge.name) or options:
            raise FormalimgError(f"layouts are judged by logic alone, not by {name or 'options'}: leave the judge out")
        return LayoutJudge()
    if suite in _JUDGED_BY_SCENE:
        return SceneJudge(open_grounder(name or ICONS, options))
    if suite not in _JUDGED_BY_CLAUSE:
        raise FormalimgError(f"there is no judge for {suite}: pictures can be made with `formalimg generate`")
    if name is None:
        raise FormalimgError(
            f"there is no judge for {suite} that works offline: name a chat model that can see, as in "
            "--judge gemini/gemini-3-pro-preview, or make the pictures only, with `formalimg generate`"
        )
    if name == ICONS or name.startswith(DETECTORS):
        raise FormalimgError(f"{name} sees boxes and colours only, and {suite} asks for more: name a chat model")
    from formalimg.judges.clause_judge import ClauseJudge  # here, so that other judges start faster

    chat, own = _chat_model(name, options, _OF_CLAUSE_JUDGES, suite)
    return ClauseJudge(chat, **own)


def open_grounder(name: str, options: Mapping[str, str] | None = None) -> Grounder:
    """The grounder of this name: `builtin/icons`, `detector/…`, or a chat model such as `openai/gpt-4o`.

    Raises:
        FormalimgError: if there is none, or an option is wrong.
    """
    if name == ICONS:
        if options:
            raise FormalimgError(f"{ICONS} has no options, but {', '.join(options)} was given")
        from formalimg.judges.icons import IconGrounder  # heavy, and needed only here

        return IconGrounder()
    if name.startswith("builtin/"):
        raise FormalimgError(f"there is no grounder {name}: known is {ICONS}, for pictures that formalimg drew itself")
    if name.startswith(DETECTORS):
        from formalimg.judges.detector import open_detector

        return open_detector(name.removeprefix(DETECTORS), options or {})
    from formalimg.judges.vlm_grounder import VlmGrounder  # here, so that other judges start faster

    chat, own = _chat_model(name, options, _OF_GROUNDERS, "a grounder")
    return VlmGrounder(chat, **own)


def _chat_model(
    name: str, options: Mapping[str, str] | None, ours: tuple[str, ...], user: str
) -> tuple[ChatModel, dict[str, Any]]:
    """The chat model with the options that are its own, and the options that say how it is used."""
    from formalimg.models import open_chat_model

    given = dict(options or {})
    for key in (*_OF_GROUNDERS, *_OF_CLAUSE_JUDGES):
        if key in given and key not in ours:
            raise FormalimgError(f"{user} has no option {key!r}: it knows {', '.join(ours)}, and those of the model")
    own: dict[str, Any] = {key: given.pop(key) for key in ours if key in given}
    for key in ("requests", "answers"):
        if key in own:
            own[key] = own[key].replace("-", " ")  # per-class needs no quotes on a command line
    if "prompts" in own:
        own["prompts"] = Path(own["prompts"])
    return open_chat_model(name, given), own
