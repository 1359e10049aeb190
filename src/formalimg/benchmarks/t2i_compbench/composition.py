"""Parsing of T2I-CompBench prompts into questions, and extraction of phrases, positions and counts from these.

- Attributes (color, shape, texture): each noun phrase becomes a question, `a green bench?`.
- Spatial: `cat?` and `dog?`, followed by `cat on the left of dog?`.
- Numeracy: for each object `cup?`, followed by `How many cups?` with the expected number.

Weights are those of the published scores, so that the weighted mean over the questions is the score.

The published code uses spaCy to find noun phrases. Ours are found by word lists and the context of each word, and were
not compared with spaCy's: prompts that only list objects are simple, but long sentences may be split differently.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

from formalimg.benchmarks.geneval.drawings import compose_objects, scene_detections
from formalimg.benchmarks.object_spec import OBJECT_COLORS, RELATIONS, ExcludedObjects, IncludedObjects, ObjectSpec
from formalimg.benchmarks.questions.spec import COUNT_WORDS, ExpectedAnswer, GraphQuestion, QuestionSpec
from formalimg.language.lexicon import plural_of, singular_of
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.scenes.objects import CANVAS
from formalimg.scenes.scene import Scene
from formalimg.types import Item

_TOKEN = re.compile(r"[^\W\d_][\w'’-]*|\d+(?:[:.]\d+)*|[^\w\s]")
_PARTICIPLE = re.compile(r"\w{2,}(?:ed|ing)")


def find_noun_phrases(text: str) -> tuple[str, ...]:
    """Return the noun phrases in a prompt, in order, each with its determiner and adjectives."""
    tokens = _TOKEN.findall(text)
    phrases: list[list[str]] = []
    current: list[str] = []
    before = ""
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if _is_determiner(token) and not (current and all(map(_is_determiner, current))):
            phrases.append(current)
            current = [token]
        elif not _is_break(token):
            if _is_verb(token, current, before, following):
                phrases.append(current)
                current = []
            else:
                current.append(token)
        elif not _joins_adjectives(token, current, following):
            phrases.append(current)
            current = []
        else:
            current.append(token)
        before = token
    phrases.append(current)
    named = (phrase for phrase in phrases if _has_noun(phrase) or any(map(_is_adjective, phrase)))
    return tuple(" ".join(phrase).replace(" ,", ",") for phrase in named)


def head_of(phrase: str) -> str:
    """Return a noun phrase without its determiners, in lower case."""
    tokens = phrase.split()
    while len(tokens) > 1 and _is_determiner(tokens[0]):
        tokens.pop(0)
    return " ".join(tokens).lower()


@cache
def prompt_words() -> Mapping[str, Any]:
    """Return the word tables for parsing prompts, from the data file."""
    return tomllib.loads((files(__package__) / "words.toml").read_text(encoding="utf-8"))


@cache
def _word_set(name: str) -> frozenset[str]:
    return frozenset(prompt_words()["phrases"][name].split())


def _is_determiner(token: str) -> bool:
    word = token.lower()
    return word in _word_set("determiners") or word in prompt_words()["numbers"] or token.isdigit()


def _is_break(token: str) -> bool:
    return not token[0].isalnum() or token.lower() in _word_set("breaks")


def _is_adjective(token: str) -> bool:
    return token.lower() in _word_set("adjectives")


def _has_noun(phrase: Sequence[str]) -> bool:
    return any(token[0].isalpha() and not _is_determiner(token) and not _is_adjective(token) for token in phrase)


def _is_verb(token: str, phrase: Sequence[str], before: str, following: str) -> bool:
    """Return whether a word is a verb that ends the noun phrase, given its context."""
    word = token.lower()
    participle = _PARTICIPLE.fullmatch(word) is not None
    if participle and before.lower() in _word_set("auxiliaries"):
        return True
    if not _has_noun(phrase):
        return False
    if word in _word_set("verbs") or (following and _is_determiner(following)):
        return True  # between a noun and a determiner there is a verb, if nothing else
    if word in _word_set("either") and _is_adjective(following):
        return True
    ends = following.lower() in _word_set("breaks") and following.lower() not in ("and", "or")
    return ends and (participle or word in _word_set("either"))


def _joins_adjectives(token: str, phrase: Sequence[str], following: str) -> bool:
    """Return whether `and` or a comma joins two adjectives in the same phrase."""
    if token.lower() not in ("and", ",") or not phrase or not _is_adjective(phrase[-1]) or _has_noun(phrase):
        return False
    return bool(following) and not _is_break(following) and not _is_determiner(following)


CompositionTask: TypeAlias = Literal["color", "shape", "texture", "spatial", "numeracy"]
COMPOSITION_TASKS: tuple[CompositionTask, ...] = get_args(CompositionTask)
"""The tasks, in the order of the paper's tables; the level of an item is the place of its task, from 1."""

Relation: TypeAlias = Literal["near", "left of", "right of", "above", "below"]

MAX_PHRASES = 8  # The most noun phrases that are asked for, the first ones; published code asks for no more
OBJECT, COUNT, RELATION, ATTRIBUTE = "object", "count", "relation", "attribute"  # The categories of questions


class TranslatedShare(NamedTuple):
    """The number of items in a task that have a formula."""

    level: int
    task: CompositionTask
    translated: int
    items: int


class CountedObject(NamedTuple):
    """A singular noun and its required count."""

    word: str
    number: int


class PlacedObjects(NamedTuple):
    """Two objects and the phrase for the position of the first relative to the second."""

    first: str
    phrase: str
    second: str

    @property
    def relation(self) -> Relation:
        """The relation that the phrase expresses."""
        return cast(Relation, prompt_words()["relations"][self.phrase])


def read_prompt(task: CompositionTask, prompt: str) -> QuestionSpec:
    """Parse a prompt into questions, or into a spec without questions if it is not understood."""
    if task == "spatial":
        placed = _read_relation(prompt)
        if placed is None:
            return QuestionSpec()
        objects = (
            GraphQuestion(str(number), f"{word}?", (), "yes", OBJECT, 0.25)
            for number, word in enumerate((placed.first, placed.second), 1)
        )
        relation = GraphQuestion("3", f"{' '.join(placed)}?", ("1", "2"), "yes", RELATION, 0.5)
        return QuestionSpec((*objects, relation))
    if task == "numeracy":
        return QuestionSpec(_build_count_questions(_read_counts(prompt)))
    phrases = find_noun_phrases(prompt)[:MAX_PHRASES]
    return QuestionSpec(
        tuple(GraphQuestion(str(n), f"{phrase}?", (), "yes", ATTRIBUTE) for n, phrase in enumerate(phrases, 1))
    )


def find_asked_phrases(spec: QuestionSpec) -> tuple[str, ...]:
    """Return the noun phrases to ask for, or an empty tuple if boxes decide the item."""
    return tuple(_question_text(question) for question in spec.questions if question.category == ATTRIBUTE)


def find_placed_objects(spec: QuestionSpec) -> PlacedObjects | None:
    """Return the two objects in a spatial item, or None for other items."""
    relation_question = next((question for question in spec.questions if question.category == RELATION), None)
    return None if relation_question is None else _read_relation(_question_text(relation_question))


def find_counted_objects(spec: QuestionSpec) -> tuple[CountedObject, ...]:
    """Return the counted objects in a numeracy item, or an empty tuple for other items."""
    words = {question.id: _question_text(question) for question in spec.questions if question.category == OBJECT}
    return tuple(
        CountedObject(words[question.parents[0]], COUNT_WORDS.index(question.expected))
        for question in spec.questions
        if question.category == COUNT
        and question.parents
        and question.parents[0] in words
        and question.expected in COUNT_WORDS
    )


def find_class(word: str, *, counting: bool, as_code: bool = False) -> str:
    """Return the class to detect for a word in a prompt."""
    words = prompt_words()
    replaced: Mapping[str, str] = {**words["detected"], **(words["detected_when_counting"] if counting else {})}
    return word if as_code and word == "television" else replaced.get(word, word)


def find_classes(spec: QuestionSpec) -> tuple[str, ...]:
    """Return the distinct classes to detect, or an empty tuple if boxes do not decide the item."""
    counted = [find_class(counted_object.word, counting=True) for counted_object in find_counted_objects(spec)]
    placed = find_placed_objects(spec)
    if placed is not None:
        counted += [find_class(word, counting=False) for word in (placed.first, placed.second)]
    return tuple(dict.fromkeys(counted))


def _question_text(question: GraphQuestion) -> str:
    return question.question.strip().removesuffix("?")


def _read_relation(prompt: str) -> PlacedObjects | None:
    text = " ".join(prompt.lower().split())
    phrase = next((words for words in prompt_words()["relations"] if words in text), None)
    if phrase is None:
        return None
    before, _, after = text.partition(phrase)
    first, second = find_noun_phrases(before), find_noun_phrases(after)
    return PlacedObjects(head_of(first[0]), phrase, head_of(second[-1])) if first and second else None


@cache
def _object_words() -> Mapping[str, str]:
    objects = prompt_words()["objects"]
    plurals = {**{word: plural_of(word) for word in objects["regular"]}, **objects["irregular"]}
    return {form: word for word, plural in plurals.items() for form in (word, plural)}


def _read_counts(prompt: str) -> list[CountedObject]:
    words = re.findall(r"[a-z]+|[^a-z\s]", prompt.lower())
    counts = []
    for number, word in itertools.pairwise(words):
        if number in prompt_words()["numbers"] and word in _object_words():
            counts.append(CountedObject(_object_words()[word], prompt_words()["numbers"][number]))
    return counts


def _build_count_questions(counted: list[CountedObject]) -> tuple[GraphQuestion, ...]:
    questions = []
    for index, (word, count) in enumerate(counted):
        weight, name = 0.5 / len(counted), str(2 * index + 1)
        expected = cast(ExpectedAnswer, COUNT_WORDS[count])
        plural = next((form for form, singular in _object_words().items() if singular == word and form != word), word)
        questions.append(GraphQuestion(name, f"{word}?", (), "yes", OBJECT, weight))
        count_question = f"How many {plural}?"
        questions.append(GraphQuestion(str(2 * index + 2), count_question, (name,), expected, COUNT, weight))
    return tuple(questions)


# --- formulas of items, for the `logic` profile and for rendering scenes
#
# Numbers are exact. What has no geometric rule (near, next to) or needs more than boxes and colours (shapes, textures,
# sentences) has no formula.

_MAX_NOUN_WORDS = 2  # Behind a colour a school bus is a class; in other phrases nobody can say where the adjectives end


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
    rest = " ".join(prompt.split())
    for phrase in phrases:
        rest = rest.replace(phrase, " ", 1)
    if not 0 < len(phrases) < MAX_PHRASES or re.sub(r"\band\b|[,.\s]", "", rest):
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
    from formalimg.benchmarks.t2i_compbench.rule import box_verdict  # which imports this module

    square = (CANVAS, CANVAS)
    return compose_objects(requested, request, lambda scene: box_verdict(spec, scene_detections(scene), square).passed)
