"""Rating protocols: questions for raters, validation of their answers, and instructions."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

from pydantic import ConfigDict, Field

from formalimg._util.text import truncate
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.benchmarks.registry import suite_names
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.logic.vocabulary import closest_match, vocabulary
from formalimg.scenes.scene import Scene
from formalimg.types import Item

RatingProtocol: TypeAlias = Literal["likert", "questions", "scores", "boxes", "ab"]

StepKind: TypeAlias = Literal["likert", "yes or no", "score", "boxes", "preference"]

AnswerValue: TypeAlias = bool | int | float | str | Mapping[str, object]  # An answer as plain data; see `StepKind`

PASSING_SCORE = 0.5  # An image passes with this mean score, or more
PREFERENCES = ("left", "right", "tie")  # Which of two images is better
MAX_ANSWERS = 2_000  # Answers to all steps of an image, with those that were changed: all of them are kept
MAX_SECONDS = 24 * 60 * 60  # Upper limit for the time of one answer: a day
_MAX_OBJECTS = 1000


class AnswerError(FormalimgError, ValueError):
    """An invalid or untimely answer, which was not stored."""


class OtherAnswersError(AnswerError):
    """The answers on the rater's screen differ from the stored ones; nothing was stored."""


@dataclass(frozen=True)
class RatingStep:
    """A question about an image in a rating task."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: str  # the key of its answers
    kind: StepKind  # the type of an answer
    asks: str  # the question
    criteria: str = ""  # how to choose the answer
    # the number of the item's question, from 1; None for the image as a whole
    question: Annotated[int, Field(ge=1)] | None = None
    about: str = ""  # the category of the question, such as color or assessment; empty for the image as a whole
    once: bool = False  # it can be answered only once, and later steps are hidden until then
    cannot_tell: bool = False  # raters may answer that they cannot tell

    def accepts(self, value: object) -> bool:
        """Return whether an answer has a valid type and range for this step; boxes do not accept `CANNOT_TELL`."""
        if value == CANNOT_TELL:
            return self.kind != "boxes"
        match self.kind:
            case "preference":
                return isinstance(value, str) and value in PREFERENCES
            case "yes or no":
                return isinstance(value, bool)
            case "likert":
                return type(value) is int and 1 <= value <= 5
            case "score":
                return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
            case "boxes":
                return isinstance(value, Mapping)


@dataclass(frozen=True)
class RatingRules:
    """The benchmark-specific rules of rating images."""

    # returns examples of what counts, as tables of `instructions.toml` have them
    examples: Callable[[], Sequence[Mapping[str, Any]]] = tuple
    label: RatingProtocol = "likert"  # the protocol that gives each image one label, by asking about it as a whole
    # its own protocols, each with the runs it is for, in words
    offers: Mapping[RatingProtocol, str] = field(default_factory=dict)
    # returns the steps of an item by one of its own protocols; none if it is not for this item
    steps: Callable[[Item[Any], RatingProtocol], tuple[RatingStep, ...]] = lambda item, protocol: ()
    # returns whether an image of one item certainly fails the prompt of another, by a protocol; None where prompts
    # are only words
    is_unrelated: Callable[[Item[Any], Item[Any], RatingProtocol], bool] | None = None


def rating_rules(suite: str) -> RatingRules:
    """Return the rating rules of a suite."""
    return get_suite(suite).rating() or RatingRules()


def steps_for(item: Item[object], protocol: RatingProtocol) -> tuple[RatingStep, ...]:
    """Return the steps for rating an image of an item.

    - `likert`: one answer from 1 to 5, for items of any suite.
    - `questions`: yes or no, as the suite says: to the image as a whole, once, then to each question of the item.
    - `scores`: a score from 0 to 1 for each question of the item.
    - `boxes`: for items with a formula, the corrected boxes, classes and colours.
    - `ab`: which of two images of this item is better, or neither, for items of any suite.

    All but boxes can also be answered with `CANNOT_TELL`.
    """
    if protocol == "likert":
        return (whole_image_step("likert", "compliance"),)
    if protocol == "ab":
        return (whole_image_step("ab", "preference"),)
    if protocol == "boxes" and isinstance(item.spec, FormulaSpec):
        return (whole_image_step("boxes", "boxes"),)
    if steps := rating_rules(item.suite).steps(item, protocol):
        return steps
    raise FormalimgError(
        f"item {item.id} of {item.suite} (level {item.level}) cannot be rated by {protocol}: {suggest_runs(protocol)}"
    )


def suggest_runs(protocol: RatingProtocol) -> str:
    """Return a hint on the runs that support a protocol."""
    offers = (rating_rules(name).offers.get(protocol) for name in suite_names())
    return f"take runs of {', or '.join(dict.fromkeys(runs for runs in offers if runs))}"


def whole_image_step(protocol: RatingProtocol, name: str, *, once: bool = False) -> RatingStep:
    """Return a step about the image as a whole, with the text from `protocols.toml`."""
    return RatingStep(name, **_read_texts("protocols")[protocol][name], once=once, cannot_tell=protocol != "boxes")


@cache
def _read_texts(name: str) -> dict[str, Any]:
    return tomllib.loads((files("formalimg.human_eval") / f"{name}.toml").read_text(encoding="utf-8"))


def visible_steps(steps: Sequence[RatingStep], answered: Collection[str]) -> tuple[RatingStep, ...]:
    """Return the steps visible so far, up to and including the first unanswered step that can be answered only once."""
    for number, step in enumerate(steps, 1):
        if step.once and step.name not in answered:
            return tuple(steps[:number])
    return tuple(steps)


def require_open_step(steps: Sequence[RatingStep], answered: Collection[str], name: str, answers: int) -> RatingStep:
    """Return the named step, or raise an error if it cannot be answered now."""
    visible = visible_steps(steps, answered)
    step = next((step for step in steps if step.name == name), None)
    if answers >= MAX_ANSWERS:
        raise AnswerError(f"this image has {answers:,} answers already: go on with the last ones")
    if step is None:
        raise _refuse_answer(f"unknown step {name!r}: answer one of {', '.join(step.name for step in visible)}")
    if step not in visible:
        raise _refuse_answer(f"answer {visible[-1].name} first: {name} comes after it")
    if step.once and name in answered:
        raise _refuse_answer(f"{name} is already answered and cannot be changed: go on with the next step")
    return step


def require_finishable(
    steps: Sequence[RatingStep], answers: Mapping[str, AnswerValue], screen: Mapping[str, object]
) -> None:
    """Raise an error if answers are missing or differ from those on the rater's screen."""

    def is_same(stored: AnswerValue, value: object) -> bool:
        if not isinstance(stored, Mapping):
            return stored == value
        try:
            return Scene.from_json(stored) == Scene.from_json(value)  # pages may write the same boxes in another way
        except FormalimgError:
            return False

    missing = next((step.name for step in steps if step.name not in answers), None)
    if missing is not None:
        raise AnswerError(f"{missing} has no answer yet: answer it, then finish the task")
    if not all(step in answers and is_same(answers[step], value) for step, value in screen.items()):
        raise OtherAnswersError("another window has stored a different answer: check it, then finish the task")


def _refuse_answer(reason: str) -> AnswerError:
    return AnswerError(truncate(reason, 200, 100))


_VALID_ANSWERS: Mapping[StepKind, str] = {
    "preference": "left, right or tie",
    "yes or no": "yes or no (true or false)",
    "likert": "a whole number from 1 to 5",
    "score": "a number from 0 to 1 with no more than two decimals",
}


def validate_answer(
    step: RatingStep, value: object, suite: str, allowed: Collection[tuple[str, str]] = ()
) -> AnswerValue:
    """Validate an answer and return it in its stored form."""
    if step.kind == "boxes":
        return _validate_scene(value, suite, allowed)
    is_valid = step.accepts(value) and (step.cannot_tell or value != CANNOT_TELL)
    if is_valid and step.kind == "score" and isinstance(value, int | float):
        is_valid, value = round(value, 2) == value, float(value) + 0.0  # -0.0 is 0
    if not is_valid:
        raise _refuse_answer(f"the answer to {step.name} is {value!r}: give {_VALID_ANSWERS[step.kind]}")
    assert isinstance(value, bool | int | float | str)
    return value


def validate_seconds(seconds: object) -> float:
    """Validate the duration of an answer."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_SECONDS:
        raise _refuse_answer(f"the answer took {seconds!r} seconds: give a number from 0 to {MAX_SECONDS}")
    return float(seconds)


def _validate_scene(value: object, suite: str, allowed: Collection[tuple[str, str]]) -> dict[str, object]:
    if isinstance(value, Mapping) and isinstance(value.get("objects"), list) and len(value["objects"]) > _MAX_OBJECTS:
        raise AnswerError(f"there are {len(value['objects'])} boxes: give no more than {_MAX_OBJECTS}")
    try:
        scene = Scene.from_json(value)
    except FormalimgError as error:
        raise AnswerError(truncate(f"invalid boxes: {error}", 300, 100)) from error
    for obj in scene.objects:
        if not obj.box.area:
            raise _refuse_answer(f"the box {obj.box} of {obj.label} has no area: draw it around the object")
    for obj in scene.objects:
        for kind, word in (("class", obj.label), *obj.attributes()):
            if (kind, word) in allowed or (kind != "class" and word == "other"):
                continue
            words = vocabulary(get_suite(suite).vocabulary).words.get(kind, ())
            if word not in words:
                near = closest_match(word, words)
                advice = f"did you mean {near!r}?" if near else "choose one of its words"
                raise _refuse_answer(f"{suite} has no {kind} {word!r}: {advice}")
    return scene.to_json()


class DrawnShape(NamedTuple):
    """A shape in an example drawing on a canvas of 100 by 75: its centre, size and colour."""

    shape: Literal["circle", "square", "triangle", "star"]
    color: str
    x: float
    y: float
    size: float

    @property
    def points(self) -> str:
        """The corners of a triangle, a square or a star, in the format of the `points` attribute of SVG."""
        half = self.size / 2
        if self.shape == "square":
            corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
        else:
            count = 3 if self.shape == "triangle" else 10
            radii = [half * (1 if self.shape == "triangle" or not number % 2 else 0.45) for number in range(count)]
            angles = [2 * math.pi * number / count - math.pi / 2 for number in range(count)]
            corners = [(r * math.cos(angle), r * math.sin(angle)) for r, angle in zip(radii, angles, strict=True)]
        return " ".join(f"{self.x + dx:.1f},{self.y + dy:.1f}" for dx, dy in corners)


class CountingExample(NamedTuple):
    """An example for raters: a text, a picture, whether the picture matches the text, and an explanation."""

    words: str
    picture: tuple[DrawnShape, ...]
    holds: bool
    why: str


class PracticeItem(NamedTuple):
    """A practice picture with its possible answers."""

    words: str  # the prompt
    picture: tuple[DrawnShape, ...]  # the picture; the left one, where two are compared
    beside: tuple[DrawnShape, ...]  # the right one; empty for a single picture
    choices: tuple[tuple[AnswerValue, str], ...]  # the possible answers, with their labels
    right: tuple[AnswerValue, ...]  # the answers that are right; others are explained
    why: str  # the explanation that is shown after the answer


class RaterInstructions(NamedTuple):
    """The instructions that raters read before their first image."""

    task: str
    rules: tuple[str, ...]
    examples: tuple[CountingExample, ...]
    practice: tuple[PracticeItem, ...]


_CHOICES: dict[RatingProtocol, tuple[tuple[AnswerValue, str], ...]] = {
    "likert": tuple((point, str(point)) for point in range(1, 6)),
    "questions": ((True, "Yes"), (False, "No")),
    "scores": tuple((score, f"{score:g}") for score in (0.0, 0.25, 0.5, 0.75, 1.0)),
    "ab": (("left", "Left"), ("tie", "Tie"), ("right", "Right")),
    "boxes": (),
}


@cache
def instructions_for(protocol: RatingProtocol, suite_name: str) -> RaterInstructions:
    """Return the instructions of a protocol, with examples for the suite."""
    table = _read_texts("instructions")["protocols"][protocol]
    examples = (
        CountingExample(row["words"], _parse_picture(row["picture"]), row["holds"], row["why"])
        for row in rating_rules(suite_name).examples()
    )
    practice = (
        PracticeItem(
            *(row["words"], _parse_picture(row["picture"]), _parse_picture(row.get("beside", ()))),
            *(_CHOICES[protocol], tuple(row["right"]), row["why"]),
        )
        for row in table.get("practice", ())
    )
    return RaterInstructions(table["task"], tuple(table["rules"]), tuple(examples), tuple(practice))


def _parse_picture(shapes: Sequence[Sequence[Any]]) -> tuple[DrawnShape, ...]:
    return tuple(DrawnShape(*shape) for shape in shapes)


def example_texts(kind: str) -> Sequence[Mapping[str, Any]]:
    """Return the examples of the given kind from `instructions.toml`, for formulas, concepts, questions and so on."""
    examples: Sequence[Mapping[str, Any]] = _read_texts("instructions")["kinds"][kind]
    return examples
