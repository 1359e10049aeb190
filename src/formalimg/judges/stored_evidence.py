"""Verdicts made again from what is on record: judges opened by their recorded settings go by recorded answers.

A judge that asks a chat model reads its raw answers again, one that has a grounder decides again by the scene that was
found, and one that is computed here and always gives the same looks at the image again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.errors import FormalimgError
from formalimg.judges.base import TextReading
from formalimg.judges.factory import COCO, DETECTORS, DRAWN, ICONS, OCR, open_judge
from formalimg.judges.recorded_models import (
    EvidenceError,
    RecordedChat,
    RecordedDrawing,
    RecordedGrounder,
    RecordedLayout,
    RecordedModels,
    RecordedReader,
    recorded_drawing,
    recorded_grounding,
    recorded_reading,
    recorded_requests,
    unseen_image,
)
from formalimg.judges.scene_judge import LayoutJudge, SceneJudge
from formalimg.models.registry import chat_model_providers
from formalimg.types import Grounder, Item, Judge, Setting, Unscored, Verdict

RecordedSource: TypeAlias = Literal["answers", "scene"]
"""What on record a verdict follows from: raw answers of a chat model, or the scene that was found."""

_ANY_SIZE = (8, 8)
"""The size of an image where no verdict depends on it."""


class UnknownJudgeError(Exception):
    """A judge that cannot be opened by its recorded settings.

    Attributes:
        is_own: whether its name is that of a judge of formalimg, which never has such settings.
    """

    def __init__(self, reason: str, *, is_own: bool) -> None:
        super().__init__(reason)
        self.is_own = is_own


class RecordedJudge:
    """A judge that makes its verdicts again from its own records."""

    def __init__(self, suite: str, task: str, name: str, settings: Mapping[str, Setting]) -> None:
        """Open the judge."""
        self._suite, self._task, self._name, self._settings = suite, task, name, settings
        self._asks_chat = _asks_chat(settings)
        self._benchmark = suite_of(suite)
        is_own = _is_own_name(name)
        if name.partition("/")[0] in chat_model_providers() and not self._asks_chat:
            raise UnknownJudgeError("it is a chat model, and its settings have no prompt", is_own=True)
        try:
            judge = self._open(RecordedChat(name), RecordedGrounder(name), RecordedDrawing(name), self._reader())
        except (FormalimgError, KeyError, TypeError, ValueError, AttributeError) as error:
            why = str(error) if isinstance(error, FormalimgError) else f"it lacks {error}"
            raise UnknownJudgeError(f"its settings are not those of a judge of {suite}: {why}", is_own=is_own) from None
        self._goes_by_boxes = getattr(judge, "goes_by_boxes", lambda item: False)
        for key, value in judge.settings.items():
            if _is_prompt(key) or key == "color_reading":
                continue
            if key not in settings or settings[key] != value:
                was = f"{key} is {settings[key]!r:.40}" if key in settings else f"there is no {key}"
                reason = f"its settings are not those of a judge of {suite} in this version: {was}, not {value!r:.40}"
                raise UnknownJudgeError(reason, is_own=is_own)

    def source(self, item: Item[object]) -> RecordedSource:
        """Return what on record the verdicts on an item follow from."""
        if not self._asks_chat:
            return "scene"
        has_chat_boxes = "boxes" in self._settings and self._settings.get("color_reading", "grounder") == "grounder"
        return "scene" if self._goes_by_boxes(item) and not has_chat_boxes else "answers"

    async def judge(self, item: Item[object], stored: Verdict | Unscored, size: tuple[int, int]) -> Verdict | Unscored:
        """Return the verdict that the records of a verdict make.

        Args:
            item: the item.
            stored: the verdict on record.
            size: width and height of the image, on which boxes in pixels depend.

        Raises:
            EvidenceError: if the records are not those of such a verdict.
            FormulaError: if no scene can be judged by the formula of the item.
        """
        goes_by_answers = self.source(item) == "answers"
        chat = RecordedChat(self._name, recorded_requests(item, stored) if goes_by_answers else ())
        grounder = RecordedGrounder(self._name, None if goes_by_answers else recorded_grounding(stored.evidence))
        drawing = RecordedDrawing(self._name, recorded_drawing(stored.evidence) if self._name == DRAWN else None)
        judge: Judge = self._open(chat, grounder, drawing, self._reader(recorded_reading(stored.evidence)))
        if self._name == LayoutJudge.name and "protocol" in self._settings:
            judge = RecordedLayout(self._name, stored.evidence)
        depends_on_size = bool(self._benchmark.judge_profiles) or self._settings.get("boxes") == "pixels"
        made = await judge.judge(item, unseen_image(size if depends_on_size else _ANY_SIZE))
        if goes_by_answers and isinstance(made, Verdict) and chat.left_over:
            raise EvidenceError(
                f"{chat.left_over} of its {len(chat.requests)} raw answers are to no question of the item"
            )
        return made

    def _reader(self, reading: TextReading | None = None) -> RecordedReader:
        """Return the text reader of the judge, which reads what is on record."""
        named = (self._settings.get(key) for key in ("reader", "questions.reader"))
        return RecordedReader(str(next(filter(None, named), self._name)), reading)

    def _open(
        self, chat: RecordedChat, grounder: RecordedGrounder, drawing: RecordedDrawing, reader: RecordedReader
    ) -> Judge:
        """Return the judge with these in the places of its models and of the reader of drawings."""
        settings: Mapping[str, Any] = self._settings
        if self._task == "layout" or self._name == LayoutJudge.name:
            return RecordedLayout(self._name, {}) if "protocol" in settings else SceneJudge(grounder)
        if self._name == DRAWN:
            from formalimg.judges.drawn_judge import DrawnJudge

            judge = self._benchmark.adapt_drawn_judge(replace(drawing, settings=DrawnJudge.settings))
            if judge is None:
                raise FormalimgError("it has no drawings")
            return judge
        finder = grounder if "protocol" in settings else self._finder(chat, grounder)
        return self._benchmark.reopen_judge(RecordedModels(settings, chat, finder, self._asks_chat, reader))

    def _finder(self, chat: RecordedChat, grounder: RecordedGrounder) -> Grounder:
        """Return what finds objects: the recorded grounder, or a grounder that reads recorded answers."""
        settings: Mapping[str, Any] = self._settings
        if not ("boxes" in settings and "grounding_rules" in settings) or grounder.grounding is not None:
            return grounder
        from formalimg.judges.grounders.vlm import VlmGrounder

        colors = settings["colors"].split(", ")
        return VlmGrounder(chat, requests=settings["requests"], boxes=settings["boxes"], colors=colors)


def _is_own_name(name: str) -> bool:
    """Return whether a name is that of a judge of formalimg: a built-in one, a detector, or a chat model."""
    return name.startswith(("builtin/", DETECTORS, OCR)) or name.partition("/")[0] in chat_model_providers()


def open_local_judge(suite: str, task: str, name: str, settings: Mapping[str, Setting]) -> Judge | None:
    """Return the judge of these settings if it is computed here, asks nobody and loads nothing that is named by others.

    None for all others, and for a detector that is not installed, or has other weights.
    """
    if name not in (ICONS, DRAWN, COCO, LayoutJudge.name) or settings.get("color_reading") == "clip":
        return None
    options = {option: str(settings[key]) for option, key in _LOCAL_OPTIONS.items() if key in settings}
    if name == COCO:
        own = {key.removeprefix("formula."): value for key, value in settings.items()}
        options |= {key: str(own[key]) for key in _COCO_OPTIONS if key in own}
    protocol = "published" if "protocol" in settings else "default"
    wrong = f"its settings are not those of {name} for {suite} in this version"
    try:
        judge = open_judge(suite, name, options, "layout" if name == LayoutJudge.name else "image", protocol)
    except FormalimgError as error:
        if name == COCO:
            return None
        raise UnknownJudgeError(f"{wrong}: {error}", is_own=True) from None
    if dict(judge.settings) == dict(settings):
        return judge
    if name == COCO:
        return None
    raise UnknownJudgeError(wrong, is_own=True)


_COCO_OPTIONS = ("network", "threshold", "presence", "overlap", "size")
_LOCAL_OPTIONS = {
    "profile": "profile",
    "colors": "color_reading",
    "confidence": "min_confidence",
    "counting_confidence": "min_counting_confidence",
}
"""Options of judges that go by boxes, by the settings that record them."""


def _asks_chat(settings: Mapping[str, Setting]) -> bool:
    """Return whether a judge of these settings asks a chat model, which is always asked in some version of the way."""
    return any(key.rpartition(".")[2] in ("prompt", "prompt_again", "prompt_factual") for key in settings)


def _is_prompt(key: str) -> bool:
    """Return whether a setting is the name of a prompt: those of users may be in the place of ours."""
    return key.rpartition(".")[2].startswith("prompt")
