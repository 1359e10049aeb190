"""What people are asked about an image, step by step, and in which order they may answer."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, TypeGuard

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.logic import closest_match, vocabulary
from formalimg.scenes import Scene
from formalimg.suites import ConceptSpec, CounterfactualSpec, FormulaSpec, Item

Protocol: TypeAlias = Literal["likert", "questions", "scores", "boxes"]
"""How people judge: by five points, by yes and no in two steps, by scores from 0 to 1, or by correcting boxes."""

StepKind: TypeAlias = Literal["likert", "yes or no", "score", "boxes"]
"""What an answer looks like: 1 to 5, true or false, 0 to 1, or a scene in the grounding format."""


@dataclass(frozen=True)
class Step:
    """One object that people are asked about an image.

    Attributes:
        name: by which its answers are known.
        kind: what an answer looks like.
        asks: the question.
        criteria: which answer is for what.
        question: the number of the item's question, from 1; None for the image as a whole.
        about: what sort of question it is, such as color or assessment; empty for the image as a whole.
        once: it is answered once and for all, and what comes after it is not shown before.
    """

    name: str
    kind: StepKind
    asks: str
    criteria: str = ""
    question: int | None = None
    about: str = ""
    once: bool = False


def shown_steps(steps: Sequence[Step], answered: Collection[str]) -> tuple[Step, ...]:
    """The steps that may be seen by now: up to the first that is answered once and has no answer yet."""
    for number, step in enumerate(steps, 1):
        if step.once and step.name not in answered:
            return tuple(steps[:number])
    return tuple(steps)


def refusal(steps: Sequence[Step], answered: Collection[str], name: str) -> str:
    """Why a step cannot be answered now; empty if it can."""
    shown = shown_steps(steps, answered)
    step = next((step for step in steps if step.name == name), None)
    if step is None:
        return f"there is no step {name!r}: answer one of {', '.join(step.name for step in shown)}"
    if step not in shown:
        return f"answer {shown[-1].name} first: {name} comes after it"
    if step.once and name in answered:
        return f"{name} is answered already, and there is no way back to it: go on with the next step"
    return ""


def open_steps(steps: Sequence[Step], answered: Collection[str]) -> list[str]:
    """The names of the steps that still have no answer."""
    return [step.name for step in steps if step.name not in answered]


def steps_for(item: Item[object], protocol: Protocol) -> tuple[Step, ...]:
    """What people are asked about an image of an item.

    - `likert`: one answer from 1 to 5, for items of any suite.
    - `questions`: for ConceptMix, first whether the image as a whole matches, which is answered once, then each
      question of the item. For the factual images of CF-World, whether the main objects can be recognised.
    - `scores`: for CF-World, a score from 0 to 1 for each question of the item.
    - `boxes`: for FormalImg, the corrected boxes, classes and colours.

    Raises:
        FormalimgError: if the protocol is not for this item.
    """
    spec = item.spec
    if protocol == "likert":
        return (_written("likert", "compliance"),)
    if protocol == "questions" and isinstance(spec, ConceptSpec):
        questions = (
            Step(f"question {number}", "yes or no", concept.question, question=number, about=concept.category)
            for number, concept in enumerate(spec.concepts, 1)
        )
        return (_written("questions", "alignment", once=True), *questions)
    if protocol == "questions" and isinstance(spec, CounterfactualSpec) and item.level == 1:
        return (_written("questions", "recognisable"),)
    if protocol == "scores" and isinstance(spec, CounterfactualSpec) and spec.questions:
        return tuple(
            Step(f"question {number}", "score", it.question, it.criteria, question=number, about=it.dimension)
            for number, it in enumerate(spec.questions, 1)
        )
    if protocol == "boxes" and isinstance(spec, FormulaSpec):
        return (_written("boxes", "boxes"),)
    raise FormalimgError(
        f"item {item.id} of {item.suite} (level {item.level}) cannot be rated by {protocol}: {_NEEDS[protocol]}"
    )


_NEEDS: Mapping[Protocol, str] = {
    "likert": "",
    "questions": "take runs of conceptmix, or level 1 of cf-world",
    "scores": "take runs of cf-world whose items have questions",
    "boxes": "take runs of knolling or natural",
}


def _written(protocol: str, name: str, *, once: bool = False) -> Step:
    return Step(name, **_texts()[protocol][name], once=once)


@cache
def _texts() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads((files("formalimg.human_eval") / "protocols.toml").read_text(encoding="utf-8"))


Value: TypeAlias = bool | int | float | Mapping[str, object]
"""An answer as plain data; see `StepKind`."""

LONGEST = 24 * 60 * 60
"""Seconds; nobody looks at one image for longer than a day."""

_MAX_OBJECTS = 1000


class AnswerError(FormalimgError, ValueError):
    """An answer that makes no sense, or that comes at the wrong time; nothing was stored."""


class OtherAnswersError(AnswerError):
    """Whoever finishes a task has other answers before them than those that would count; nothing was stored."""


def checked_value(step: Step, value: object, suite: str, known: Collection[tuple[str, str]] = ()) -> Value:
    """An answer that makes sense, in the form in which it is kept.

    Args:
        step: what was asked.
        value: what was answered.
        suite: the benchmark, whose vocabulary names classes and colours.
        known: further words that may be written on objects, with their kinds: those that a grounder used here.

    Raises:
        AnswerError: if it makes no sense.
    """
    match step.kind:
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


def require_finishable(steps: Sequence[Step], answers: Mapping[str, Value], seen: Mapping[str, object]) -> None:
    """Refuse to finish a task whose answers are not all there, or are not those that the rater has in sight.

    Args:
        steps: what is asked.
        answers: those that count, by the name of the step.
        seen: those that the rater has in sight, as far as anybody knows.

    Raises:
        AnswerError: saying what is to be done first.
    """
    missing = open_steps(steps, answers)
    if missing:
        raise AnswerError(f"{missing[0]} has no answer yet: answer it, then finish the task")
    if not all(step in answers and _is_same(answers[step], value) for step, value in seen.items()):
        raise OtherAnswersError("another window has answered differently: look again, then finish the task")


def checked_seconds(seconds: object) -> float:
    """How long an answer took.

    Raises:
        AnswerError: if it makes no sense.
    """
    if not _is_number(seconds) or not 0 <= seconds <= LONGEST:  # also refuses what is no number at all
        raise AnswerError(truncate(f"the answer took {seconds!r} seconds: give a number from 0 to {LONGEST}", 200, 100))
    return float(seconds)


def _is_same(kept: Value, seen: object) -> bool:
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
        raise AnswerError(truncate(f"these boxes make no sense: {error}", 300, 100)) from error
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
    words = vocabulary(suite).words.get(kind, ())
    if word not in words:
        near = closest_match(word, words)
        advice = f"did you mean {near!r}?" if near else "choose one of its words"
        raise AnswerError(truncate(f"{suite} has no {kind} {word!r}: {advice}", 200, 100))
