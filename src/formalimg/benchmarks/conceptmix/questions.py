"""Statements and yes/no questions for concepts, and the matching of published questions to concepts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from formalimg.benchmarks.conceptmix.concept_mentions import Phrase, concept_phrases, split_tokens
from formalimg.benchmarks.conceptmix.phrasing import style_predicate
from formalimg.benchmarks.conceptmix.pools import Pools
from formalimg.benchmarks.conceptmix.spec import (
    CATEGORIES,
    Binding,
    BindingError,
    BoundConcept,
    Category,
    Concept,
    ConceptSpec,
    RequestedConcept,
)
from formalimg.benchmarks.conceptmix.words import (
    PLACEHOLDER,
    ObjectPhrase,
    is_person,
    lexicon_entry,
    object_phrases,
    plural_of,
    relation_phrase,
    singular_of,
    with_a,
    with_article,
)
from formalimg.errors import FormalimgError
from formalimg.types import Item

if TYPE_CHECKING:
    from formalimg.rewards.tasks import OwnQuestion


def concept_statements(concepts: Sequence[BoundConcept], binding: Binding, pools: Pools) -> tuple[str, ...]:
    """Return the statement of each concept, in order, such as "the color of the cat is red"."""
    return tuple(_format_statement(concept, binding, pools) for concept in concepts)


def _format_statement(bound: BoundConcept, binding: Binding, pools: Pools) -> str:
    (category, value), ids = bound
    if not all(1 <= number <= len(binding.objects) for number in ids):
        raise BindingError(f"the {category} {value!r} is about {ids}, but objects are 1 to {len(binding.objects)}")
    items = binding.items_of(ids)
    values = {"value": value, "values": plural_of(value)}
    if category == "spatial":
        first, second = items
        values |= {"ObjectA": first, "ObjectB": f"another {second}" if first == second else second}
    elif items:
        values |= {"object": items[0], "objects": plural_of(items[0])}
    sentence = pools[category].sentence(value, of_people=any(map(is_person, items)))

    def fill(placeholder: re.Match[str]) -> str:
        if placeholder["name"] not in values:
            names = ", ".join(f"{{{name}}}" for name in values)
            unknown = f"{{{placeholder['name']}}}"
            raise FormalimgError(
                f"the sentence {sentence!r} of the {category} {value!r} has {unknown}: it may have {names}"
            )
        article, text = placeholder["article"], values[placeholder["name"]]
        if article is None:
            return text
        phrase = text  # which needs no article if it begins with "another"
        if not text.startswith("another "):
            phrase = f"the {text}" if article.lower() == "the" else with_article(text)
        return phrase[0].upper() + phrase[1:] if article[0].isupper() else phrase

    return PLACEHOLDER.sub(fill, sentence)


def template_questions(concepts: Sequence[BoundConcept], binding: Binding) -> tuple[str, ...]:
    """Return one yes/no question for each concept that can be understood alone; the expected answer is always yes."""
    nouns = object_phrases(binding)
    phrases = {relation.name: relation_phrase(relation.name, relation.description) for relation in binding.relations}
    return tuple(_format_question(concept, nouns, phrases) for concept in concepts)


def _format_question(bound: BoundConcept, nouns: Mapping[int, ObjectPhrase], phrases: Mapping[str, str]) -> str:
    category, value = bound.concept
    if category == "style":
        return f"Is the image {style_predicate(value)}?"
    obj = nouns[bound.objects[0]]
    are = obj.are.capitalize()
    if category == "object":
        if any(earlier.item == obj.item for earlier in nouns.values() if earlier.id < obj.id):
            return f"Does the image contain {_format_another(obj)}?"
        if lexicon_entry("object", obj.item).get("stuff"):
            return f"Does the image contain {obj.item}?"
        # How many there are is another question.
        existence = f"at least one {singular_of(obj.item)}" if obj.is_plural else with_article(obj.item)
        return f"Does the image contain {existence}?"
    if category == "number":
        return f"{are} there exactly {obj.count} {obj.noun} in the image?"
    if category == "spatial":
        phrase = lexicon_entry("spatial", value).get("question", f"{phrases.get(value, value)} {{other}}")
        reference = nouns[bound.objects[1]]
        other_noun = _format_another(reference) if reference.item == obj.item else f"the {reference.noun}"
        return f"{are} the {obj.noun} {phrase.format(other=other_noun, it=reference.it)}?"
    if category == "texture":
        looks = lexicon_entry("texture", value).get("question", f"have {with_a(value)} texture")
        return f"{'Do' if obj.is_plural else 'Does'} the {obj.noun} {looks.format(they=obj.they, are=obj.are)}?"
    question = next(adjective.question for adjective in obj.adjectives if adjective.category == category)
    compared = f" compared with the usual size of {with_article(obj.item)}" if category == "size" else ""
    return f"{are} the {obj.noun} {question}{compared}?"


def _format_another(obj: ObjectPhrase) -> str:
    return f"other {plural_of(obj.item)}" if obj.is_plural else f"another {singular_of(obj.item)}"


def make_question_item(prompt: str, questions: Sequence[OwnQuestion]) -> Item[ConceptSpec]:
    """Return an item with the user's own questions, each with its category."""
    concepts = tuple(
        RequestedConcept(cast(Category, own_question.kind), "", "", own_question.question) for own_question in questions
    )
    return Item("conceptmix", "questions", max(1, len(questions) - 1), prompt, ConceptSpec(concepts))


# --- pairing of published questions with concepts
#
# The published scripts let a chat model write the questions of a record, and never compare their number and order with
# the concepts. So each question is compared with each concept: by the words of the concept, the objects it is bound to,
# numbers, relations and styles. The pairs are those of the highest total; the same place counts a little, so that where
# the words do not decide, the order does.

_NUMBERING = re.compile(r"^\s*(?:[-*•]\s+|(?:question\s*)?#?\d+\s*[.):]\s*)", re.IGNORECASE)
_AUXILIARIES = frozenset({"is", "are", "does", "do", "can", "has", "have", "was", "were"})

# How much a hit counts. Whole numbers, for the solver; a value outweighs what a wrong pair can collect without it.
_VALUE, _HINT, _OBJECT, _PRESENCE, _CATEGORY, _DIRECTION, _WORDING, _SAME_PLACE = 40, 24, 16, 16, 8, 4, 1, 2
_MAX_COMPARED = 200

_CATEGORY_WORDS: Mapping[str, frozenset[str]] = {
    "color": frozenset({"color", "colors", "colored", "colour", "colours", "coloured"}),
    "number": frozenset({"exactly", "number", "many"}),
    "shape": frozenset({"shape", "shaped", "shapes"}),
    "size": frozenset({"size", "sized"}),
    "texture": frozenset({"texture", "textured", "textures"}),
    "style": frozenset({"style", "styled"}),
}
_PRESENT = frozenset({"contain", "contains", "there", "show", "shows", "include", "includes", "feature", "features"})
_RELATION_WORDS: Mapping[str, frozenset[str]] = {
    "top": frozenset({"top", "atop", "highest", "surface"}),
    "bottom": frozenset({"bottom", "lowest", "underneath", "beneath", "base"}),
    "above": frozenset({"above", "higher", "over"}),
    "below": frozenset({"below", "lower", "beneath", "under", "underneath"}),
    "left": frozenset({"left"}),
    "right": frozenset({"right"}),
    "behind": frozenset({"behind", "farther", "further", "background"}),
    "in front of": frozenset({"front", "nearer", "closer", "foreground"}),
    "inside": frozenset({"inside", "within", "interior"}),
    "outside": frozenset({"outside", "beyond", "exterior"}),
}


def split_lines(lines: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the lines of an answer into questions and other lines, unchanged, dropping blank lines."""
    questions: list[str] = []
    other_lines: list[str] = []
    for line in filter(str.strip, lines):
        text = _NUMBERING.sub("", line).strip()
        words = split_tokens(text)
        is_question = bool(words) and (text.endswith("?") or (words[0] in _AUXILIARIES and not text.endswith(":")))
        (questions if is_question else other_lines).append(line)
    return tuple(questions), tuple(other_lines)


class QuestionPairing(NamedTuple):
    """The matching between questions and concepts, by index."""

    # the question of each concept, in the order of the concepts; None for a concept without one
    questions: tuple[int | None, ...]
    # concepts whose question stands in another place. Equal concepts, such as two tiny things, have no order
    moved: tuple[int, ...] = ()
    unpaired: tuple[int, ...] = ()  # questions that ask for none of the concepts


def pair_questions(
    concepts: Sequence[BoundConcept], questions: Sequence[str], binding: Binding | None
) -> QuestionPairing:
    """Match each concept to the question that asks for it, by common words, or else by the same place."""
    if max(len(concepts), len(questions)) > _MAX_COMPARED:  # no such prompt exists, and comparing takes the product
        in_order = tuple(index if index < len(questions) else None for index in range(len(concepts)))
        return QuestionPairing(in_order, unpaired=tuple(range(len(concepts), len(questions))))
    texts = [split_tokens(question) for question in questions]
    scores = [[_score_pair(concept, words, binding) for words in texts] for concept in concepts]
    totals = [
        [score + _SAME_PLACE * (row == column) for column, score in enumerate(line)] for row, line in enumerate(scores)
    ]
    paired: list[int | None] = [None] * len(concepts)
    for row, column in enumerate(_best_columns(totals)):
        if column is not None:
            category, score = concepts[row].concept.category, scores[row][column]
            rivals = (
                line[column] for bound, line in zip(concepts, scores, strict=True) if bound.concept[0] == category
            )
            if score >= _HINT or (row == column and score == max(rivals)):
                paired[row] = column
    moved = tuple(
        row
        for row, column in enumerate(paired)
        if column is not None and (column >= len(concepts) or concepts[column].concept != concepts[row].concept)
    )
    unpaired = tuple(number for number in range(len(questions)) if number not in paired)
    return QuestionPairing(tuple(paired), moved, unpaired)


def _best_columns(totals: Sequence[Sequence[int]]) -> list[int | None]:
    """Return the column assigned to each row so that the total is maximal, or None for unassigned rows."""
    rows, columns = len(totals), len(totals[0]) if totals else 0
    if rows == columns and all(line[row] == max(line) for row, line in enumerate(totals)):
        return list(range(rows))  # nothing can be better, and nearly all records are like this
    # Here, because few records need it.
    from ortools.graph.python import linear_sum_assignment  # type: ignore[import-untyped]

    size = max(rows, columns)
    solver = linear_sum_assignment.SimpleLinearSumAssignment()
    for row in range(size):
        for column in range(size):
            total = totals[row][column] if row < rows and column < columns else 0
            solver.add_arc_with_cost(row, column, -total)
    solver.solve()
    best = [solver.right_mate(row) for row in range(rows)]
    return [column if column < columns else None for column in best]


def _score_pair(bound: BoundConcept, words: Phrase, binding: Binding | None) -> int:
    """Return how well a question matches a concept, or 0 if it does not match at all."""
    (category, value), ids = bound
    stated = _phrase_weight(bound.concept, words)
    if category == "object":
        # "Does the image contain a red cat?" is for the cat as well, but not as much as the question for it alone.
        asks_more = any(not names.isdisjoint(words) for names in _CATEGORY_WORDS.values())
        return stated and stated + _PRESENCE * (not _PRESENT.isdisjoint(words)) - _CATEGORY * asks_more
    items = [] if binding is None else binding.items_of(ids)
    mentions = [
        [_find_phrase(phrase, words) for phrase, _ in _question_phrases(Concept("object", item))] for item in items
    ]
    indexes = [min(starts) for mention in mentions if (starts := [start for start in mention if start >= 0])]
    objects = _OBJECT * len(indexes)
    if category == "spatial":
        cues = _RELATION_WORDS.get(value, frozenset(split_tokens(value)))
        stated = stated if cues.isdisjoint(words) else _VALUE
        in_order = len(indexes) == 2 and indexes[0] < indexes[1]
        shared = len(set(words) & _description_words(value, binding))
        return stated + objects + _DIRECTION * in_order + _WORDING * shared if stated or objects else 0
    hint = _CATEGORY * (not _CATEGORY_WORDS.get(category, frozenset()).isdisjoint(words))
    return stated + hint + objects if stated or hint else objects // 2


def _phrase_weight(concept: Concept, words: Phrase) -> int:
    phrases = ((phrase, is_hint) for phrase, is_hint in _question_phrases(concept) if _find_phrase(phrase, words) >= 0)
    return max((_HINT if is_hint else _VALUE for _, is_hint in phrases), default=0)


@cache
def _question_phrases(concept: Concept) -> tuple[tuple[Phrase, bool], ...]:
    if concept.category in CATEGORIES:
        return concept_phrases(concept)
    return ((split_tokens(concept.value), False),)


def _find_phrase(phrase: Phrase, words: Phrase) -> int:
    """Return where a phrase begins among words, or -1."""
    length = len(phrase)
    starts = range(len(words) - length + 1) if length else ()
    return next((index for index in starts if words[index : index + length] == phrase), -1)


def _description_words(value: str, binding: Binding | None) -> set[str]:
    relations = binding.relations if binding is not None else ()
    return {
        word
        for relation in relations
        if relation.name == value
        for word in split_tokens(relation.description.replace("{", " ").replace("}", " "))
    } - {"is", "the", ",", "or", "of", "meaning", "positioned", "than", "objecta", "objectb"}
