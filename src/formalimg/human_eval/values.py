"""Answers of people: what makes sense for each kind of step."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias, TypeGuard

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.human_eval.steps import Step, open_steps
from formalimg.logic import closest_match, vocabulary
from formalimg.scenes import Scene

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
