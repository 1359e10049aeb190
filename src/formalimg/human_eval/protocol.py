"""Rating protocols: the questions raters are asked about an image, their order, and the validation of answers."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, TypeGuard

from formalimg._util.text import truncate
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.benchmarks.registry import suite_names
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.logic.vocabulary import closest_match, vocabulary
from formalimg.scenes.scene import Scene
from formalimg.types import Item

RatingProtocol: TypeAlias = Literal["likert", "questions", "scores", "boxes", "ab"]
"""How raters judge: Likert scale, yes/no questions in two steps, scores from 0 to 1, corrected boxes, or which of two
images of one prompt is better."""

StepKind: TypeAlias = Literal["likert", "yes or no", "score", "boxes", "preference"]
"""The type of an answer: 1 to 5, true or false, 0 to 1, a scene in the grounding format, or one of `PREFERENCES`."""

PASSING_SCORE = 0.5
"""An image passes with this mean score, or more."""

PREFERENCES = ("left", "right", "tie")
"""Which of two images is better."""


@dataclass(frozen=True)
class RatingStep:
    """One question about an image."""

    name: str  # the key of its answers
    kind: StepKind  # the type of an answer
    asks: str  # the question
    criteria: str = ""  # how to choose the answer
    question: int | None = None  # the number of the item's question, from 1; None for the image as a whole
    about: str = ""  # the category of the question, such as color or assessment; empty for the image as a whole
    once: bool = False  # it can be answered only once, and later steps are hidden until then
    cannot_tell: bool = False  # raters may answer that they cannot tell


@dataclass(frozen=True)
class RatingRules:
    """How people rate images of a benchmark, besides what is the same for all."""

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
    """Return how people rate images of a suite."""
    return suite_of(suite).rating() or RatingRules()


def visible_steps(steps: Sequence[RatingStep], answered: Collection[str]) -> tuple[RatingStep, ...]:
    """Return the steps that are visible now: up to the first unanswered step that is answered only once."""
    for number, step in enumerate(steps, 1):
        if step.once and step.name not in answered:
            return tuple(steps[:number])
    return tuple(steps)


MAX_ANSWERS = 2_000
"""Answers to all steps of an image, with those that were changed: all of them are kept."""


def why_not_now(steps: Sequence[RatingStep], answered: Collection[str], name: str, times: int = 0) -> str:
    """Return why a step cannot be answered now, after so many answers about this image; empty if it can."""
    if times >= MAX_ANSWERS:
        return f"this image has {times:,} answers already: go on with the last ones"
    shown = visible_steps(steps, answered)
    step = next((step for step in steps if step.name == name), None)
    if step is None:
        return f"unknown step {name!r}: answer one of {', '.join(step.name for step in shown)}"
    if step not in shown:
        return f"answer {shown[-1].name} first: {name} comes after it"
    if step.once and name in answered:
        return f"{name} is already answered and cannot be changed: go on with the next step"
    return ""


def unanswered_steps(steps: Sequence[RatingStep], answered: Collection[str]) -> list[str]:
    """Return the names of the steps without an answer."""
    return [step.name for step in steps if step.name not in answered]


def steps_for(item: Item[object], protocol: RatingProtocol) -> tuple[RatingStep, ...]:
    """Return the steps of a rating of an image of this item.

    - `likert`: one answer from 1 to 5, for items of any suite.
    - `questions`: yes or no, as the suite says: whether the image as a whole matches, which is answered once, then each
      question of the item; or whether the main objects can be recognised.
    - `scores`: a score from 0 to 1 for each question of the item.
    - `boxes`: for items with a formula, the corrected boxes, classes and colours.
    - `ab`: which of two images of this item is better, or neither, for items of any suite.

    All but boxes can also be answered with `CANNOT_TELL`.
    """
    if protocol == "likert":
        return (written_step("likert", "compliance"),)
    if protocol == "ab":
        return (written_step("ab", "preference"),)
    if protocol == "boxes" and isinstance(item.spec, FormulaSpec):
        return (written_step("boxes", "boxes"),)
    if steps := rating_rules(item.suite).steps(item, protocol):
        return steps
    raise FormalimgError(
        f"item {item.id} of {item.suite} (level {item.level}) cannot be rated by {protocol}: {runs_for(protocol)}"
    )


def runs_for(protocol: RatingProtocol) -> str:
    """Return which runs to take for a protocol that is not for all."""
    offers = (rating_rules(name).offers.get(protocol) for name in suite_names())
    return f"take runs of {', or '.join(dict.fromkeys(runs for runs in offers if runs))}"


def written_step(protocol: RatingProtocol, name: str, *, once: bool = False) -> RatingStep:
    """Return a step about the image as a whole, in the words of `protocols.toml`."""
    return RatingStep(name, **_texts()[protocol][name], once=once, cannot_tell=protocol != "boxes")


@cache
def _texts() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads((files("formalimg.human_eval") / "protocols.toml").read_text(encoding="utf-8"))


AnswerValue: TypeAlias = bool | int | float | str | Mapping[str, object]
"""An answer as plain data; see `StepKind` and `CANNOT_TELL`."""

MAX_SECONDS = 24 * 60 * 60
"""Upper limit for the time of one answer: a day."""

_MAX_OBJECTS = 1000


class AnswerError(FormalimgError, ValueError):
    """An invalid answer, or one at the wrong time; nothing was stored."""


class OtherAnswersError(AnswerError):
    """The answers on the rater's screen differ from the stored ones; nothing was stored."""


def validate_answer(
    step: RatingStep, value: object, suite: str, known: Collection[tuple[str, str]] = ()
) -> AnswerValue:
    """Validate an answer and return it as it is stored."""
    if value == CANNOT_TELL and step.cannot_tell:
        return CANNOT_TELL
    answer_type = step.kind
    match answer_type:
        case "preference":
            if isinstance(value, str) and value in PREFERENCES:
                return value
            wanted = "left, right or tie"
        case "yes or no":
            if isinstance(value, bool):
                return value
            wanted = "yes or no (true or false)"
        case "likert":
            if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 5:
                return value
            wanted = "a whole number from 1 to 5"
        case "score":
            if _is_number(value) and 0 <= value <= 1 and round(value, 2) == value:
                return float(value) + 0.0  # -0.0 is 0
            wanted = "a number from 0 to 1 with no more than two decimals"
        case "boxes":
            return _checked_scene(value, suite, known)
    raise AnswerError(truncate(f"the answer to {step.name} is {value!r}: give {wanted}", 200, 100))


def require_finishable(
    steps: Sequence[RatingStep], answers: Mapping[str, AnswerValue], seen: Mapping[str, object]
) -> None:
    """Refuse to finish a task with missing answers, or with other answers than on the rater's screen."""
    missing = unanswered_steps(steps, answers)
    if missing:
        raise AnswerError(f"{missing[0]} has no answer yet: answer it, then finish the task")
    if not all(step in answers and _is_same(answers[step], value) for step, value in seen.items()):
        raise OtherAnswersError("another window has answered differently: look again, then finish the task")


def validate_seconds(seconds: object) -> float:
    """Validate how long an answer took."""
    if not _is_number(seconds) or not 0 <= seconds <= MAX_SECONDS:  # also refuses NaN
        raise AnswerError(
            truncate(f"the answer took {seconds!r} seconds: give a number from 0 to {MAX_SECONDS}", 200, 100)
        )
    return float(seconds)


def _is_same(kept: AnswerValue, seen: object) -> bool:
    if not isinstance(kept, Mapping):
        return kept == seen
    try:
        return Scene.from_json(kept) == Scene.from_json(seen)  # pages may write the same boxes in another way
    except FormalimgError:
        return False


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _checked_scene(value: object, suite: str, known: Collection[tuple[str, str]]) -> dict[str, object]:
    if isinstance(value, Mapping) and isinstance(value.get("objects"), list) and len(value["objects"]) > _MAX_OBJECTS:
        raise AnswerError(f"there are {len(value['objects'])} boxes: give no more than {_MAX_OBJECTS}")
    try:
        scene = Scene.from_json(value)
    except FormalimgError as error:
        raise AnswerError(truncate(f"invalid boxes: {error}", 300, 100)) from error
    flat = next((obj for obj in scene.objects if not obj.box.area), None)
    if flat is not None:
        raise AnswerError(
            truncate(f"the box {flat.box} of {flat.label} has no area: draw it around the object", 200, 99)
        )
    for obj in scene.objects:
        for kind, word in (("class", obj.label), *obj.attributes()):
            if (kind, word) not in known and not (kind != "class" and word == "other"):
                _require_word(kind, word, suite)
    return scene.to_json()


def _require_word(kind: str, word: str, suite: str) -> None:
    words = vocabulary(suite_of(suite).vocabulary).words.get(kind, ())
    if word not in words:
        near = closest_match(word, words)
        advice = f"did you mean {near!r}?" if near else "choose one of its words"
        raise AnswerError(truncate(f"{suite} has no {kind} {word!r}: {advice}", 200, 100))
