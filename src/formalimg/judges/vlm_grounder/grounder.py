"""The grounder itself: one question for each class, or one for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.judges.judge import Grounding, LoadedImage
from formalimg.judges.questioning import NoAnswer, Understood, added, ask_until_understood
from formalimg.judges.showing import Shown, question_about, shown
from formalimg.judges.verdict import Unscored
from formalimg.judges.vlm_grounder.answers import SeenThings
from formalimg.judges.vlm_grounder.boxes import box_convention
from formalimg.judges.vlm_grounder.rules import Sent, Told, problem_with, sift
from formalimg.logic import vocabulary
from formalimg.models import ChatModel, Setting
from formalimg.prompts import load_prompts
from formalimg.scenes import Scene

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
        texts = load_prompts(Path(__file__).parent / "prompts", prompts)
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
