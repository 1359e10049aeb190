"""Front."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict

from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage, Unscored
from formalimg.judges.chat_images import Shown, question_about, shown
from formalimg.judges.chat_judge import NoAnswer, Understood, added, ask_until_understood
from formalimg.judges.grounders.boxes import BoxConvention, box_convention
from formalimg.judges.iou import overlap
from formalimg.logic import vocabulary
from formalimg.models import ChatModel, Setting
from formalimg.prompts import load_prompts
from formalimg.scenes import Box, Scene, SceneObject


class SeenThing(BaseModel):
    """One thing in the picture."""

    model_config = ConfigDict(strict=True)

    label: str
    color: str
    box_2d: list[float]


class SeenThings(BaseModel):
    """All that was asked for and found."""

    model_config = ConfigDict(strict=True)

    objects: list[SeenThing]


Plain: TypeAlias = dict[str, object]
"""An entry as the model wrote it, or an object, as plain data."""

NO_COLOR = "other"
SAME_OBJECT = 0.7
"""Boxes that overlap by so much (intersection over union) are one object."""

_SPELLINGS = {"grey": "gray"}


class Sent(NamedTuple):
    """How boxes were asked for: in which convention, in an image of which size."""

    convention: BoxConvention
    width: int
    height: int

    def box(self, seen: SeenThing) -> Box | str:
        """The box of an object on the canvas, or what is wrong with it."""
        return self.convention.on_canvas(seen.box_2d, self.width, self.height)


@dataclass(frozen=True)
class Sifted:
    """Objects by rule, and what became of the rest; all but the objects is plain data.

    Attributes:
        objects: what is there.
        dropped: entries under other labels than those asked for.
        recolored: entries whose colour is not in the vocabulary.
        merged: entries that repeat an object that was told before.
        two_labels: objects that share a box with one of another class; both are kept.
    """

    objects: tuple[SceneObject, ...]
    dropped: list[Plain]
    recolored: list[Plain]
    merged: list[Plain]
    two_labels: list[list[Plain]]

    def evidence(self) -> dict[str, object]:
        """What became of the rest, where anything did."""
        found = {name: getattr(self, name) for name in ("dropped", "recolored", "merged", "two_labels")}
        return {name: entries for name, entries in found.items() if entries}


def problem_with(answer: SeenThings, sent: Sent) -> str | None:
    """What cannot be right about an answer: the first boxes that are none; None if all can be."""
    wrong = [box for box in map(sent.box, answer.objects) if isinstance(box, str)]
    if not wrong:
        return None
    return "; ".join(wrong[:3]) + (f"; and {len(wrong) - 3} more boxes are wrong" if len(wrong) > 3 else "")


class Told(NamedTuple):
    """An answer, and the classes it was asked for."""

    classes: Sequence[str]
    answer: SeenThings


def sift(told: Iterable[Told], sent: Sent, colors: Sequence[str]) -> Sifted:
    """The objects that were told, by these rules.

    1. An entry counts if its label is one of the classes it was asked for, whatever its case and with blanks,
       hyphens or underscores. Others are dropped.
    2. A colour that is not in the vocabulary is "other".
    3. Entries of one class whose boxes overlap by 0.7 are one object: the one told first stays.
    4. Objects of different classes are never merged, even if their boxes are the same.

    Boxes must have been found right before; see `problem_with`.
    """
    objects: list[SceneObject] = []
    dropped: list[Plain] = []
    recolored: list[Plain] = []
    merged: list[Plain] = []
    for classes, answer in told:
        words = {_folded(word): word for word in classes}
        for seen in answer.objects:
            label, color = words.get(_folded(seen.label)), _color(seen.color, colors)
            if label is None:
                dropped.append({**seen.model_dump(), "asked_for": list(classes)})
                continue
            if color is None:
                recolored.append(seen.model_dump())
            box = sent.box(seen)
            assert isinstance(box, Box), box
            obj = SceneObject(label, box, color or NO_COLOR)
            if any(same_object(obj, other) for other in objects):
                merged.append(seen.model_dump())
            else:
                objects.append(obj)
    two_labels = [
        [_plain(one), _plain(other)]
        for one, other in combinations(objects, 2)
        if one.label != other.label and overlap(one.box, other.box) >= SAME_OBJECT
    ]
    return Sifted(tuple(objects), dropped, recolored, merged, two_labels)


def same_object(one: SceneObject, other: SceneObject) -> bool:
    """Are these two reports of one object?"""
    return one.label == other.label and overlap(one.box, other.box) >= SAME_OBJECT


def _color(word: str, colors: Sequence[str]) -> str | None:
    """The word of the vocabulary that is meant, "other" if that was said; None for any other word."""
    folded = _folded(word)
    known = {_folded(color): color for color in (*colors, NO_COLOR)}
    return known.get(_SPELLINGS.get(folded, folded))


def _folded(word: str) -> str:
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())


def _plain(obj: SceneObject) -> Plain:
    return {"label": obj.label, "color": obj.color, "box_2d": list(obj.box)}


RULES = 1
"""The version of the rules from answers to scenes: a new number wherever a scene may come out differently."""

Requests: TypeAlias = Literal["per class", "all at once"]
REQUESTS: tuple[Requests, ...] = get_args(Requests)
"""How a chat model can be asked for several classes."""


class VlmGrounder:
    """Asks a chat model that can see for the objects in an image: class, colour and box of each.

    Only the classes that matter to whoever asks are looked for. If the answer for one of them is missing or makes no
    sense, nothing is said about the image: it is `Unscored`, never a scene without these objects. Its evidence, all
    plain data:

    - `answers`: for each request, what it asked for and what came back, word for word;
    - `served`: what was really used, as far as the provider says;
    - `dropped`, `recolored`, `merged`, `two_labels`: what the rules did; only where they did anything.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        requests: Requests = "per class",
        boxes: str = "auto",
        colors: Sequence[str] | None = None,
        prompts: Path | None = None,
    ) -> None:
        """A grounder that asks this chat model.

        Args:
            chat: who looks.
            requests: one request for each class, as published, or one for all of them.
            boxes: how the model writes boxes: `xyxy-1000`, `yxyx-1000`, `pixels` or `unit`; `auto` goes by its name.
            colors: the words for colours; None for those of Knolling.
            prompts: a folder with the user's own texts in place of ours.

        Raises:
            FormalimgError: if an option is wrong.
        """
        if requests not in REQUESTS:
            raise FormalimgError(f"unknown requests {requests!r}: known are {', '.join(REQUESTS)}")
        self._chat = chat
        self._requests = requests
        self._boxes = box_convention(chat.name, boxes)
        self._colors = tuple(vocabulary("knolling").words["color"] if colors is None else colors)
        texts = load_prompts(Path(__file__).parents[1] / "prompts" / "vlm_grounder", prompts)
        self._prompt = texts["grounder-per-class" if requests == "per class" else "grounder-all-at-once"]
        self._again = texts["grounder-again"]

    @property
    def name(self) -> str:
        """The name of the chat model."""
        return self._chat.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the chat model, how it is asked, with which texts, and the version of the rules."""
        return {
            **self._chat.settings,
            "requests": self._requests,
            "boxes": self._boxes.name,
            "colors": ", ".join(self._colors),
            "prompt": str(self._prompt),
            "prompt_again": str(self._again),
            "grounding_rules": RULES,
        }

    @property
    def concurrency(self) -> int:
        """As many images as the chat model takes questions: the questions about one image follow each other."""
        return self._chat.concurrency

    def questions(self, classes: Sequence[str]) -> int:
        """How many questions are asked about an image, for these classes."""
        return len(classes) if self._requests == "per class" else min(1, len(classes))

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """The objects of these classes in an image."""
        if not classes:
            return Unscored("not understood", "no class is named that could be looked for")
        view = await asyncio.to_thread(shown, image, on_grid=self._boxes.in_pixels)
        sent = Sent(self._boxes, view.width, view.height)
        told: list[Told] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for asked in [(one,) for one in classes] if self._requests == "per class" else [tuple(classes)]:
            found = await self._ask(view, sent, asked)
            cost = added(cost, found.cost)
            answers.append({"asked_for": list(asked), "raw": list(found.raw)})
            if isinstance(found, NoAnswer):
                return Unscored(found.reason, f"{', '.join(asked)}: {found.detail}", {"answers": answers}, cost)
            told.append(Told(asked, found.value))
            served = found.served
        sifted = sift(told, sent, self._colors)
        evidence: dict[str, object] = {"answers": answers, "served": dict(served), **sifted.evidence()}
        return Grounding(Scene.of(sifted.objects), evidence=evidence, cost=cost)

    async def _ask(self, view: Shown, sent: Sent, classes: Sequence[str]) -> Understood[SeenThings] | NoAnswer:
        plain = [word.replace("_", " ") for word in classes]
        words = {
            "class": plain[0],
            "classes": ", ".join(plain),
            "colors": ", ".join(self._colors),
            "box": self._boxes.asked_for(view.width, view.height),
        }
        question = question_about(view.attachment, self._prompt, words)
        return await ask_until_understood(
            self._chat, question, SeenThings, partial(problem_with, sent=sent), self._again
        )
