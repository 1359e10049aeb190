"""Formulas for T2I-CompBench items, used by the `logic` profile and for rendering scenes.

A prompt becomes objects that must be there, and these become formulas. Numbers are exact. What has no geometric
rule (near, next to) or needs more than boxes and colours (shapes, textures, sentences) is not translated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from formalimg.benchmarks.geneval.drawings import compose_objects, scene_detections
from formalimg.benchmarks.object_spec import OBJECT_COLORS, RELATIONS, ExcludedObjects, IncludedObjects, ObjectSpec
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.benchmarks.t2i_compbench.composition import (
    COMPOSITION_TASKS,
    MAX_PHRASES,
    CompositionTask,
    find_asked_phrases,
    find_class,
    find_counted_objects,
    find_placed_objects,
    prompt_words,
)
from formalimg.benchmarks.t2i_compbench.rule import box_verdict
from formalimg.language.lexicon import singular_of
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.scenes.objects import CANVAS
from formalimg.scenes.scene import Scene
from formalimg.types import Item

_MAX_NOUN_WORDS = 2  # Behind a colour a school bus is a class; in other phrases nobody can say where the adjectives end


class TranslatedShare(NamedTuple):
    """The number of items in a task that have a formula."""

    level: int
    task: CompositionTask
    translated: int
    items: int


def composition_objects(spec: QuestionSpec, prompt: str) -> ObjectSpec | None:
    """Return the objects that an item requires, or None if boxes and colours cannot decide it."""
    if counted := find_counted_objects(spec):
        numbers: Counter[str] = Counter()
        for word, count in counted:  # boys and men are persons, and nobody tells their boxes apart
            numbers[find_class(word, counting=True)] += count
        include = tuple(IncludedObjects(label, count) for label, count in numbers.items())
        return ObjectSpec(
            "counting", include, tuple(ExcludedObjects(included.label, included.count + 1) for included in include)
        )
    if placed := find_placed_objects(spec):
        first, second = (find_class(word, counting=False) for word in (placed.first, placed.second))
        if placed.relation not in RELATIONS or "'" in first + second:
            return None
        return ObjectSpec(
            "position", (IncludedObjects(second, 1), IncludedObjects(first, 1, relation=placed.relation, target=0))
        )
    phrases = find_asked_phrases(spec)
    if not phrases or len(phrases) >= MAX_PHRASES or _strip_phrases(prompt, phrases):
        return None
    read = [_read_phrase(phrase) for phrase in phrases]
    include = tuple(included for included in read if included is not None)
    is_said = len(include) == len(read) and any(included.color for included in include)
    return ObjectSpec("color_attr", include) if is_said else None


def translated_shares(items: Iterable[Item[object]]) -> tuple[TranslatedShare, ...]:
    """Count the items in each task that have a formula."""
    total: Counter[int] = Counter()
    translated: Counter[int] = Counter()
    for item in items:
        total[item.level] += 1
        if isinstance(item.spec, QuestionSpec):
            translated[item.level] += composition_objects(item.spec, item.prompt) is not None
    return tuple(
        TranslatedShare(level, task, translated[level], total[level])
        for level, task in enumerate(COMPOSITION_TASKS, 1)
        if total[level]
    )


def _strip_phrases(prompt: str, phrases: Iterable[str]) -> str:
    """Return the remainder of a prompt after removing its noun phrases."""
    rest = " ".join(prompt.split())
    for phrase in phrases:
        rest = rest.replace(phrase, " ", 1)
    return re.sub(r"\band\b|[,.\s]", "", rest)


def _read_phrase(phrase: str) -> IncludedObjects | None:
    words = phrase.lower().split()
    count = prompt_words()["numbers"].get(words[0])
    if count is not None or words[0] == "the":
        words = words[1:]
    color = words.pop(0) if len(words) > 1 and words[0] in OBJECT_COLORS else ""
    adjectives = prompt_words()["phrases"]["adjectives"].split()
    if not 1 <= len(words) <= (_MAX_NOUN_WORDS if color else 1) or not all(
        re.fullmatch(r"[a-z-]+", word) for word in words
    ):
        return None
    if any(word in adjectives for word in words[:-1]) or (words[-1] in adjectives and words[-1] != "orange"):
        return None
    is_plural = phrase.lower().split()[0] != "the" and count != 1
    if is_plural:
        noun = singular_of(words[-1])
        if noun is None:
            return None
        words[-1] = noun
    return IncludedObjects(" ".join(words), count or (2 if is_plural else 1), color)


def compose_composition(spec: QuestionSpec, request: ImageRequest) -> Scene | Refused | Failed:
    """Return a scene with the required objects, or a refusal if the prompt has no formula."""
    requested = composition_objects(spec, request.prompt)
    if requested is None:
        return Refused("cannot be drawn: boxes and colours do not say all that the prompt asks for")
    if find_asked_phrases(spec):
        return compose_objects(requested, request)
    square = (CANVAS, CANVAS)
    return compose_objects(requested, request, lambda scene: box_verdict(spec, scene_detections(scene), square).passed)
