"""What a prompt of T2I-CompBench asks for, as the questions of an item, and what is read back from these.

- Attributes (color, shape, texture): each noun phrase is a question of its own, `a green bench?`.
- Spatial: `cat?` and `dog?`, and `cat on the left of dog?` behind them.
- Numeracy: for each object `cup?`, and behind it `How many cups?` with the number that is expected.

Weights are those of the published scores, so that the weighted mean over the questions is the score.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from formalimg.benchmarks.questions.spec import COUNT_WORDS, ExpectedAnswer, GraphQuestion, QuestionSpec
from formalimg.benchmarks.t2i_compbench.noun_phrases import find_noun_phrases, head_of, prompt_words
from formalimg.language.lexicon import plural_of

CompositionTask: TypeAlias = Literal["color", "shape", "texture", "spatial", "numeracy"]
COMPOSITION_TASKS: tuple[CompositionTask, ...] = get_args(CompositionTask)
"""The tasks, in the order of the paper's tables; the level of an item is the place of its task, from 1."""

Relation: TypeAlias = Literal["near", "left of", "right of", "above", "below"]

MAX_PHRASES = 8
"""The most noun phrases that are asked for, the first ones; published code asks for no more."""

OBJECT, COUNT, RELATION, ATTRIBUTE = "object", "count", "relation", "attribute"
"""The categories of questions."""


class CountedObject(NamedTuple):
    """A number of objects that a prompt asks for; the word is in the singular."""

    word: str
    number: int


class PlacedObjects(NamedTuple):
    """Two objects, and where the first is as seen from the second, in the words of the prompt."""

    first: str
    phrase: str
    second: str

    @property
    def relation(self) -> Relation:
        """What the phrase means."""
        return cast(Relation, prompt_words()["relations"][self.phrase])


def read_prompt(task: CompositionTask, prompt: str) -> QuestionSpec:
    """Return what a prompt of a task asks for; a spec without questions if it cannot be read."""
    if task == "spatial":
        placed = _read_relation(prompt)
        return QuestionSpec() if placed is None else QuestionSpec(_placed_questions(placed))
    if task == "numeracy":
        return QuestionSpec(_counted_questions(_read_counts(prompt)))
    phrases = find_noun_phrases(prompt)[:MAX_PHRASES]
    return QuestionSpec(
        tuple(GraphQuestion(str(n), f"{phrase}?", (), "yes", ATTRIBUTE) for n, phrase in enumerate(phrases, 1))
    )


def asked_phrases(spec: QuestionSpec) -> tuple[str, ...]:
    """Return the noun phrases that are asked for; none if an item goes by boxes."""
    return tuple(_named(one) for one in spec.questions if one.category == ATTRIBUTE)


def placed_objects(spec: QuestionSpec) -> PlacedObjects | None:
    """Return the two objects of a spatial item; None if it is none."""
    asked = next((one for one in spec.questions if one.category == RELATION), None)
    return None if asked is None else _read_relation(_named(asked))


def counted_objects(spec: QuestionSpec) -> tuple[CountedObject, ...]:
    """Return the objects of a numeracy item with their numbers; none if it is none."""
    words = {one.id: _named(one) for one in spec.questions if one.category == OBJECT}
    return tuple(
        CountedObject(words[one.parents[0]], COUNT_WORDS.index(one.expected))
        for one in spec.questions
        if one.category == COUNT and one.parents and one.parents[0] in words and one.expected in COUNT_WORDS
    )


def detected_class(word: str, *, counting: bool, as_code: bool = False) -> str:
    """Return the class that is looked for where a prompt has this word."""
    words = prompt_words()
    replaced: Mapping[str, str] = {**words["detected"], **(words["detected_when_counting"] if counting else {})}
    return word if as_code and word == "television" else replaced.get(word, word)


def looked_for(spec: QuestionSpec) -> tuple[str, ...]:
    """Return the classes that boxes are needed of, each once; none if an item does not go by boxes."""
    counted = [detected_class(one.word, counting=True) for one in counted_objects(spec)]
    placed = placed_objects(spec)
    if placed is not None:
        counted += [detected_class(word, counting=False) for word in (placed.first, placed.second)]
    return tuple(dict.fromkeys(counted))


def _named(question: GraphQuestion) -> str:
    return question.question.strip().removesuffix("?")


def _read_relation(prompt: str) -> PlacedObjects | None:
    text = " ".join(prompt.lower().split())
    phrase = next((one for one in prompt_words()["relations"] if one in text), None)
    if phrase is None:
        return None
    before, _, after = text.partition(phrase)
    first, second = find_noun_phrases(before), find_noun_phrases(after)
    return PlacedObjects(head_of(first[0]), phrase, head_of(second[-1])) if first and second else None


def _placed_questions(placed: PlacedObjects) -> tuple[GraphQuestion, ...]:
    return (
        GraphQuestion("1", f"{placed.first}?", (), "yes", OBJECT, 0.25),
        GraphQuestion("2", f"{placed.second}?", (), "yes", OBJECT, 0.25),
        GraphQuestion("3", f"{' '.join(placed)}?", ("1", "2"), "yes", RELATION, 0.5),
    )


@cache
def _object_words() -> Mapping[str, str]:
    """Return the singular of every object that is counted, by its singular and plural."""
    objects = prompt_words()["objects"]
    plurals = {**{word: plural_of(word) for word in objects["regular"]}, **objects["irregular"]}
    return {form: word for word, plural in plurals.items() for form in (word, plural)}


def _read_counts(prompt: str) -> list[CountedObject]:
    """Return each number of the prompt with the object behind it; other things do not count."""
    words = re.findall(r"[a-z]+|[^a-z\s]", prompt.lower())
    found = []
    for number, word in itertools.pairwise(words):
        if number in prompt_words()["numbers"] and word in _object_words():
            found.append(CountedObject(_object_words()[word], prompt_words()["numbers"][number]))
    return found


def _counted_questions(counted: list[CountedObject]) -> tuple[GraphQuestion, ...]:
    questions = []
    for place, (word, count) in enumerate(counted):
        weight, name = 0.5 / len(counted), str(2 * place + 1)
        expected = cast(ExpectedAnswer, COUNT_WORDS[count])
        plural = next((form for form, one in _object_words().items() if one == word and form != word), word)
        questions.append(GraphQuestion(name, f"{word}?", (), "yes", OBJECT, weight))
        asked = f"How many {plural}?"
        questions.append(GraphQuestion(str(2 * place + 2), asked, (name,), expected, COUNT, weight))
    return tuple(questions)
