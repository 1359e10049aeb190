"""The VLM grounder, which asks a vision-language model for the boxes and colours of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict

from formalimg.judges.base import MAX_OBJECTS, Grounding, LoadedImage
from formalimg.judges.boxes import BoxConvention, KeptBoxes, box_convention
from formalimg.judges.chat_judge import PROMPTS, ChatJudge, NoValidAnswer, check_option, total_cost
from formalimg.judges.observations import all_dropped_detail
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.structured_output import read_aside
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import ChatModel, Setting, Unscored

GroundingRequests: TypeAlias = Literal["per class", "all at once"]
REQUESTS: tuple[GroundingRequests, ...] = get_args(GroundingRequests)  # How several classes can be asked for
NO_COLOR = "other"
SAME_OBJECT = 0.7  # Boxes of one class that overlap by so much (intersection over union) are one object
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
    """A grounder that asks a chat model for the class, colour and box of each object.

    Only the requested classes are looked for. If the answer for one of them is missing or not valid, or if every box
    has a label that was not requested, the image is `Unscored`, never a scene without these objects. Evidence, all
    plain data:

    - `answers`: for each request, the classes in it (`asked_for`) and the answers, word for word (`raw`);
    - `served`: what was actually used, as far as the provider says;
    - `dropped`, `recolored`, `merged`, `two_labels`: what the rules changed; only where they did.
    """

    prompt_folder = PROMPTS / "vlm_grounder"
    retry_prompt = "grounder-again"
    rules: ClassVar[Mapping[str, Setting]] = {"grounding_rules": 1}  # the version of the rules from answers to scenes

    def __init__(
        self,
        chat: ChatModel,
        *,
        requests: GroundingRequests = "per class",
        boxes: str = "auto",
        colors: Sequence[str] | None = None,
        prompts: Path | None = None,
    ) -> None:
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
        return len(classes) if self._per_class else min(1, len(classes))

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        if not classes:
            return Unscored("not understood", "none of the classes can be detected")
        encoded = await self._encode(image, on_grid=self._boxes.in_pixels)
        frame = BoxFrame(self._boxes, encoded.width, encoded.height)
        valid: list[tuple[Sequence[str], SeenThings]] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        size = 0
        for group in [(label,) for label in classes] if self._per_class else [tuple(classes)]:
            names = [label.replace("_", " ") for label in group]
            values = {
                "class": names[0],
                "classes": ", ".join(names),
                "colors": ", ".join(self._colors),
                "box": self._boxes.instruction(encoded.width, encoded.height),
            }
            answer = await self._ask(encoded, values, SeenThings, partial(find_problem, frame=frame))
            cost = total_cost((cost, answer.cost))
            answers.append({"asked_for": list(group), "raw": list(answer.raw)})
            if isinstance(answer, NoValidAnswer):
                return Unscored(answer.reason, f"{', '.join(group)}: {answer.detail}", {"answers": answers}, cost)
            valid.append((group, answer.value))
            served = answer.served
            size += len(answer.raw[-1])
        objects, changes = await read_aside(size, resolve_objects, valid, frame, self._colors)
        evidence: dict[str, object] = {"answers": answers, "served": dict(served), **changes}
        if "dropped" in changes and not objects:
            # Not an empty scene: it saw something, and nobody knows what that is in the words of the formula.
            detail = all_dropped_detail((str(entry["label"]) for entry in changes["dropped"]), classes)
            return Unscored("not understood", detail, evidence, cost)
        if len(objects) > MAX_OBJECTS:
            detail = f"{self.name} lists more than {MAX_OBJECTS:,} different objects: look at its answers"
            return Unscored("not understood", detail, {"answers": answers}, cost)
        return Grounding(Scene.of(objects), evidence=evidence, cost=cost)


class BoxFrame(NamedTuple):
    """The box convention of an answer, with the size of the image that was sent."""

    convention: BoxConvention
    width: int
    height: int

    def box(self, entry: SeenThing) -> Box | str:
        """Convert a reported box to the canvas, or return an error message if it is invalid."""
        return self.convention.on_canvas(entry.box_2d, self.width, self.height)


def find_problem(answer: SeenThings, frame: BoxFrame) -> str | None:
    """Return an error message for the model that lists invalid boxes, or None if all are valid."""
    wrong = [box for box in map(frame.box, answer.objects) if isinstance(box, str)]
    if not wrong:
        return None
    return "; ".join(wrong[:3]) + (f"; and {len(wrong) - 3} more boxes are wrong" if len(wrong) > 3 else "")


def resolve_objects(
    answers: Iterable[tuple[Sequence[str], SeenThings]], frame: BoxFrame, colors: Sequence[str]
) -> tuple[list[SceneObject], dict[str, list[Any]]]:
    """Convert valid answers to objects by the following rules, and report all changes.

    1. An entry counts if its label is one of the classes it was asked for; case, blanks, hyphens and underscores do
       not matter. Others are dropped (`dropped`).
    2. A colour that is not in the vocabulary is "other" (`recolored`).
    3. Entries of one class whose boxes overlap by 0.7 are one object: the first one stays (`merged`).
    4. Objects of different classes are never merged, even if their boxes are the same (`two_labels`).

    Objects beyond `MAX_OBJECTS` are ignored, because such an answer is of no use.
    """
    objects: list[SceneObject] = []
    changes: dict[str, list[Any]] = {name: [] for name in ("dropped", "recolored", "merged", "two_labels")}
    vocabulary_colors = {_normalize_name(color): color for color in (*colors, NO_COLOR)}
    boxes = KeptBoxes()
    pairs: list[tuple[int, int]] = []
    for classes, answer in answers:
        labels = {_normalize_name(label): label for label in classes}
        for entry in answer.objects:
            label, word = labels.get(_normalize_name(entry.label)), _normalize_name(entry.color)
            color = vocabulary_colors.get(_SPELLINGS.get(word, word))
            if label is None:
                changes["dropped"].append({**entry.model_dump(), "asked_for": list(classes)})
                continue
            if color is None:
                changes["recolored"].append(entry.model_dump())
            box = frame.box(entry)
            assert isinstance(box, Box), box  # `find_problem` has checked it
            overlapping = boxes.overlapping(box, SAME_OBJECT)
            if any(objects[number].label == label for number in overlapping):
                changes["merged"].append(entry.model_dump())
            else:
                pairs += [(number, len(objects)) for number in overlapping]
                boxes.add(box)
                objects.append(SceneObject(label, box, color or NO_COLOR))
            if len(objects) > MAX_OBJECTS:
                return objects, {}
    plain = [{"label": obj.label, "color": obj.color, "box_2d": list(obj.box)} for obj in objects]
    changes["two_labels"] = [[plain[first], plain[second]] for first, second in sorted(pairs)]
    return objects, {name: entries for name, entries in changes.items() if entries}


def _normalize_name(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())
