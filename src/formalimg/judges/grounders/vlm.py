"""The VLM grounder: ask a vision-language model for the objects in an image, with boxes and colours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict

from formalimg.judges.base import MAX_OBJECTS, Grounding, LoadedImage
from formalimg.judges.chat_images import ChatImage
from formalimg.judges.chat_judge import PROMPTS, ChatJudge, NoValidAnswer, ValidAnswer, check_option, total_cost
from formalimg.judges.grounders.boxes import BoxConvention, box_convention
from formalimg.judges.iou import KeptBoxes, overlap
from formalimg.judges.observations import all_dropped_detail
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.structured_output import read_aside
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import ChatModel, Setting, Unscored

GroundingRequests: TypeAlias = Literal["per class", "all at once"]
REQUESTS: tuple[GroundingRequests, ...] = get_args(GroundingRequests)
"""How several classes can be asked for."""

NO_COLOR = "other"
SAME_OBJECT = 0.7
"""Boxes of one class that overlap by so much (intersection over union) are one object."""

_SPELLINGS = {"grey": "gray"}

# Answer types. Models are sent their names, fields and docstrings as a JSON schema.


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


class VlmGrounder(ChatJudge):
    """Ask a chat model for the objects in an image: class, colour and box of each.

    Only the requested classes are looked for. If the answer for one of them is missing or not valid, the image is
    `Unscored`, never a scene without these objects; so it is if every box has another label than asked for. Evidence,
    all plain data:

    - `answers`: for each request, the classes in it (`asked_for`) and the answers, word for word (`raw`);
    - `served`: what was actually used, as far as the provider says;
    - `dropped`, `recolored`, `merged`, `two_labels`: what the rules changed; only where they did.
    """

    prompt_folder = PROMPTS / "vlm_grounder"
    retry_prompt = "grounder-again"
    rules: ClassVar[Mapping[str, Setting]] = {"grounding_rules": 1}
    """The version of the rules from answers to scenes: raise it whenever a scene may come out differently."""

    def __init__(
        self,
        chat: ChatModel,
        *,
        requests: GroundingRequests = "per class",
        boxes: str = "auto",
        colors: Sequence[str] | None = None,
        prompts: Path | None = None,
    ) -> None:
        """Create a grounder that asks this chat model."""
        check_option("requests", requests, REQUESTS)
        self._per_class = requests == "per class"
        self._boxes = box_convention(chat.name, boxes)
        self._colors = tuple(vocabulary("knolling").words["color"] if colors is None else colors)
        super().__init__(
            chat,
            {"requests": requests, "boxes": self._boxes.name, "colors": ", ".join(self._colors)},
            {"prompt": "grounder-per-class" if self._per_class else "grounder-all-at-once"},
            prompts,
        )

    def questions(self, classes: Sequence[str]) -> int:
        """Return how many requests are sent per image, for these classes; they are sent one after the other."""
        return len(classes) if self._per_class else min(1, len(classes))

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """Find the objects of these classes in an image."""
        if not classes:
            return Unscored("not understood", "no class is named that could be looked for")
        encoded = await self._encode(image, on_grid=self._boxes.in_pixels)
        frame = BoxFrame(self._boxes, encoded.width, encoded.height)
        valid: list[ClassAnswer] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        size = 0
        for group in [(one,) for one in classes] if self._per_class else [tuple(classes)]:
            answer = await self._request(encoded, frame, group)
            cost = total_cost((cost, answer.cost))
            answers.append({"asked_for": list(group), "raw": list(answer.raw)})
            if isinstance(answer, NoValidAnswer):
                return Unscored(answer.reason, f"{', '.join(group)}: {answer.detail}", {"answers": answers}, cost)
            valid.append(ClassAnswer(group, answer.value))
            served = answer.served
            size += len(answer.raw[-1])
        result = await read_aside(size, resolve_objects, valid, frame, self._colors)
        evidence: dict[str, object] = {"answers": answers, "served": dict(served), **result.evidence()}
        if result.dropped and not result.objects:
            # Not an empty scene: it saw something, and nobody knows what that is in the words of the formula.
            detail = all_dropped_detail((str(entry["label"]) for entry in result.dropped), classes)
            return Unscored("not understood", detail, evidence, cost)
        if len(result.objects) > MAX_OBJECTS:
            detail = f"{self.name} lists more than {MAX_OBJECTS:,} different objects: look at its answers"
            return Unscored("not understood", detail, {"answers": answers}, cost)
        return Grounding(Scene.of(result.objects), evidence=evidence, cost=cost)

    async def _request(
        self, image: ChatImage, frame: BoxFrame, classes: Sequence[str]
    ) -> ValidAnswer[SeenThings] | NoValidAnswer:
        names = [label.replace("_", " ") for label in classes]
        values = {
            "class": names[0],
            "classes": ", ".join(names),
            "colors": ", ".join(self._colors),
            "box": self._boxes.instruction(image.width, image.height),
        }
        return await self._ask(image, values, SeenThings, partial(find_problem, frame=frame))


class BoxFrame(NamedTuple):
    """What the numbers of a box mean: the convention, and the size of the image that was sent."""

    convention: BoxConvention
    width: int
    height: int

    def box(self, seen: SeenThing) -> Box | str:
        """Return the box of an object on the canvas, or what is wrong with it."""
        return self.convention.on_canvas(seen.box_2d, self.width, self.height)


class ClassAnswer(NamedTuple):
    """A valid answer, and the classes that were asked for."""

    classes: Sequence[str]
    answer: SeenThings


@dataclass(frozen=True)
class ResolvedObjects:
    """The objects that the rules accept, and what became of the rest; all but the objects is plain data."""

    objects: tuple[SceneObject, ...]  # the objects of the scene
    dropped: list[dict[str, object]]  # entries under other labels than those asked for
    recolored: list[dict[str, object]]  # entries whose colour is not in the vocabulary
    merged: list[dict[str, object]]  # entries that repeat an earlier object
    two_labels: list[list[dict[str, object]]]  # objects that share a box with one of another class; both are kept

    def evidence(self) -> dict[str, object]:
        """Return what became of the rest, where the rules changed anything."""
        found = {name: getattr(self, name) for name in ("dropped", "recolored", "merged", "two_labels")}
        return {name: entries for name, entries in found.items() if entries}


def find_problem(answer: SeenThings, frame: BoxFrame) -> str | None:
    """Return the first boxes of an answer that are not valid, as a message to the model; None if all are."""
    wrong = [box for box in map(frame.box, answer.objects) if isinstance(box, str)]
    if not wrong:
        return None
    return "; ".join(wrong[:3]) + (f"; and {len(wrong) - 3} more boxes are wrong" if len(wrong) > 3 else "")


def resolve_objects(answers: Iterable[ClassAnswer], frame: BoxFrame, colors: Sequence[str]) -> ResolvedObjects:
    """Return the objects in valid answers, by these rules.

    1. An entry counts if its label is one of the classes it was asked for; case, blanks, hyphens and underscores do
       not matter. Others are dropped.
    2. A colour that is not in the vocabulary is "other".
    3. Entries of one class whose boxes overlap by 0.7 are one object: the first one stays.
    4. Objects of different classes are never merged, even if their boxes are the same.

    With more than `MAX_OBJECTS` objects, the rest is left unread: such an answer is of no use.
    """
    objects: list[SceneObject] = []
    dropped: list[dict[str, object]] = []
    recolored: list[dict[str, object]] = []
    merged: list[dict[str, object]] = []
    known_colors = {_normalize(color): color for color in (*colors, NO_COLOR)}
    boxes = KeptBoxes()
    pairs: list[tuple[int, int]] = []
    for classes, answer in answers:
        labels = {_normalize(label): label for label in classes}
        for seen in answer.objects:
            label, color = labels.get(_normalize(seen.label)), _color(seen.color, known_colors)
            if label is None:
                dropped.append({**seen.model_dump(), "asked_for": list(classes)})
                continue
            if color is None:
                recolored.append(seen.model_dump())
            box = frame.box(seen)
            assert isinstance(box, Box), box  # `find_problem` has checked it
            obj = SceneObject(label, box, color or NO_COLOR)
            overlapping = boxes.overlapping(box, SAME_OBJECT)
            if any(objects[number].label == label for number in overlapping):
                merged.append(seen.model_dump())
            else:
                pairs += [(number, len(objects)) for number in overlapping]
                boxes.add(box)
                objects.append(obj)
            if len(objects) > MAX_OBJECTS:
                return ResolvedObjects(tuple(objects), dropped, recolored, merged, [])
    two_labels = [[_plain(objects[one]), _plain(objects[other])] for one, other in sorted(pairs)]
    return ResolvedObjects(tuple(objects), dropped, recolored, merged, two_labels)


def is_same_object(one: SceneObject, other: SceneObject) -> bool:
    """Return whether these two entries are one object."""
    return one.label == other.label and overlap(one.box, other.box) >= SAME_OBJECT


def _color(name: str, known: Mapping[str, str]) -> str | None:
    """Return the colour of the vocabulary that is meant, or "other" if it says so; None for any other word."""
    normalized = _normalize(name)
    return known.get(_SPELLINGS.get(normalized, normalized))


def _normalize(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def _plain(obj: SceneObject) -> dict[str, object]:
    return {"label": obj.label, "color": obj.color, "box_2d": list(obj.box)}
