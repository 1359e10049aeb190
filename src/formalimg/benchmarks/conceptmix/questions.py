"""Statements and yes/no questions, one of each per concept, and the pairing of published questions with concepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from formalimg.benchmarks.conceptmix.concept_mentions import Phrase, concept_phrases, tokenize
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
    """Return the statement of each concept, in order, such as "the color of the cat is red".

    If a relation is between two objects of the same item, the second is "another cat".
    """
    return tuple(_statement(concept, binding, pools) for concept in concepts)


def _statement(bound: BoundConcept, binding: Binding, pools: Pools) -> str:
    (category, value), ids = bound
    if not all(1 <= number <= len(binding.objects) for number in ids):
        raise BindingError(f"the {category} {value!r} is about {ids}, but objects are 1 to {len(binding.objects)}")
    items = [binding.objects[number - 1].item for number in ids]
    values = _placeholder_values(bound, items)
    sentence = pools[category].sentence(value, of_people=any(map(is_person, items)))

    def put(place: re.Match[str]) -> str:
        if place["name"] not in values:
            known = ", ".join(f"{{{name}}}" for name in values)
            raise FormalimgError(
                f"the sentence {sentence!r} of the {category} {value!r} has {{{place['name']}}}: it may have {known}"
            )
        return _put_article(place["article"], values[place["name"]]())

    return PLACEHOLDER.sub(put, sentence)


def _placeholder_values(bound: BoundConcept, items: Sequence[str]) -> dict[str, Callable[[], str]]:
    """Return the values of placeholders, computed on demand, as most are not needed."""
    from formalimg.benchmarks.conceptmix.words import plural_of

    (category, value), _ = bound
    values: dict[str, Callable[[], str]] = {"value": lambda: value, "values": lambda: plural_of(value)}
    if category == "spatial":
        first, second = items
        values["ObjectA"] = lambda: first
        values["ObjectB"] = lambda: f"another {second}" if first == second else second
    elif items:
        values["object"] = lambda: items[0]
        values["objects"] = lambda: plural_of(items[0])
    return values


def _put_article(article: str | None, text: str) -> str:
    """Return text after the article of a template: "another" replaces it, and "a" becomes "an" where it must."""
    if article is None:
        return text
    if text.startswith("another "):
        phrase = text
    elif article.lower() == "the":
        phrase = f"the {text}"
    else:
        from formalimg.benchmarks.conceptmix.words import with_article

        phrase = with_article(text)
    return phrase[0].upper() + phrase[1:] if article[0].isupper() else phrase


def template_questions(concepts: Sequence[BoundConcept], binding: Binding) -> tuple[str, ...]:
    """Return one yes/no question for each concept, in order; yes is good.

    Each can be understood alone, by a viewer who sees only the image.
    """
    nouns = object_phrases(binding)
    phrases = {relation.name: relation_phrase(relation.name, relation.description) for relation in binding.relations}
    return tuple(_question(one, nouns, phrases) for one in concepts)


def _question(one: BoundConcept, nouns: Mapping[int, ObjectPhrase], phrases: Mapping[str, str]) -> str:
    category, value = one.concept
    if category == "style":
        return f"Is the image {style_predicate(value)}?"
    obj = nouns[one.objects[0]]
    if category == "object":
        same = any(other.item == obj.item for other in nouns.values() if other.id < obj.id)
        return f"Does the image contain {_existential(obj, another=same)}?"
    if category == "number":
        return f"{obj.are.capitalize()} there exactly {obj.count} {obj.noun} in the image?"
    if category == "spatial":
        where = lexicon_entry("spatial", value).get("question", f"{phrases.get(value, value)} {{other}}")
        return _spatial_question(where, obj, nouns[one.objects[1]])
    if category == "texture":
        return _textured(value, obj)
    question = next(adjective.question for adjective in obj.adjectives if adjective.category == category)
    compared = f" compared with the usual size of {with_article(obj.item)}" if category == "size" else ""
    return f"{obj.are.capitalize()} the {obj.noun} {question}{compared}?"


def _existential(obj: ObjectPhrase, *, another: bool) -> str:
    if another:
        return f"other {plural_of(obj.item)}" if obj.is_plural else f"another {singular_of(obj.item)}"
    if lexicon_entry("object", obj.item).get("stuff"):
        return obj.item
    # How many there are is another question.
    return f"at least one {singular_of(obj.item)}" if obj.is_plural else with_article(obj.item)


def _textured(value: str, obj: ObjectPhrase) -> str:
    do = "Do" if obj.is_plural else "Does"
    looks = lexicon_entry("texture", value).get("question", f"have {with_a(value)} texture")
    return f"{do} the {obj.noun} {looks.format(they=obj.they, are=obj.are)}?"


def _spatial_question(where: str, subject: ObjectPhrase, reference: ObjectPhrase) -> str:
    other = f"the {reference.noun}"
    if subject.item == reference.item:
        other = (
            f"other {plural_of(reference.item)}" if reference.is_plural else f"another {singular_of(reference.item)}"
        )
    place = where.format(other=other, it=reference.it)
    return f"{subject.are.capitalize()} the {subject.noun} {place}?"


def make_question_item(prompt: str, questions: Sequence[OwnQuestion]) -> Item[ConceptSpec]:
    """Return an item of users' own questions; judges pass the category on as the kind of a part, and do no more."""
    concepts = tuple(RequestedConcept(cast(Category, each.kind), "", "", each.question) for each in questions)
    return Item("conceptmix", "questions", max(1, len(questions) - 1), prompt, ConceptSpec(concepts))


_NUMBERING = re.compile(r"^\s*(?:[-*•]\s+|(?:question\s*)?#?\d+\s*[.):]\s*)", re.IGNORECASE)
_ASKING = frozenset({"is", "are", "does", "do", "can", "has", "have", "was", "were"})

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


class QuestionLines(NamedTuple):
    """The lines of a record, word for word: questions, and lines that are none; blank lines are left out."""

    questions: tuple[str, ...]
    others: tuple[str, ...]


def split_lines(lines: Iterable[str]) -> QuestionLines:
    """Return the questions among the lines of a chat model's answer, and the other lines.

    Nothing of a question is changed: the published code sends it with its number and the blanks at its end.
    """
    questions: list[str] = []
    others: list[str] = []
    for line in filter(str.strip, lines):
        text = _NUMBERING.sub("", line).strip()
        words = tokenize(text)
        is_question = bool(words) and (text.endswith("?") or (words[0] in _ASKING and not text.endswith(":")))
        (questions if is_question else others).append(line)
    return QuestionLines(tuple(questions), tuple(others))


class QuestionPairing(NamedTuple):
    """Questions and concepts that belong together, as indexes."""

    # the question of each concept, in the order of the concepts; None for a concept without one
    questions: tuple[int | None, ...]
    # concepts whose question stands in another place. Equal concepts, such as two tiny things, have no order
    moved: tuple[int, ...] = ()
    unpaired: tuple[int, ...] = ()  # questions that ask for none of the concepts


def pair_questions(
    concepts: Sequence[BoundConcept], questions: Sequence[str], binding: Binding | None
) -> QuestionPairing:
    """Pair each concept with the question that asks for it.

    A pair needs words in common. The same place in both lists is enough where the question does not ask for another
    concept of the category.
    """
    if max(len(concepts), len(questions)) > _MAX_COMPARED:  # no such prompt exists, and comparing takes the product
        found = [place if place < len(questions) else None for place in range(len(concepts))]
        return QuestionPairing(tuple(found), unpaired=tuple(range(len(concepts), len(questions))))
    read = [tokenize(question) for question in questions]
    scores = [[_score(concept, words, binding) for words in read] for concept in concepts]
    totals = [
        [score + _SAME_PLACE * (row == column) for column, score in enumerate(line)] for row, line in enumerate(scores)
    ]
    paired: list[int | None] = [None] * len(concepts)
    for row, column in enumerate(_best_columns(totals)):
        if column is not None:
            category, score = concepts[row].concept.category, scores[row][column]
            rivals = (line[column] for one, line in zip(concepts, scores, strict=True) if one.concept[0] == category)
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
    """Return the column of each row so that the total is highest; None for rows without one."""
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
    found = [solver.right_mate(row) for row in range(rows)]
    return [column if column < columns else None for column in found]


def _score(bound: BoundConcept, words: Phrase, binding: Binding | None) -> int:
    """Return how well a question fits a concept; 0 if they have nothing in common."""
    (category, value), ids = bound
    named = [binding.objects[number - 1].item for number in ids] if binding is not None else []
    if category == "object":
        said = _said(bound.concept, words)
        # "Does the image contain a red cat?" is for the cat as well, but not as much as the question for it alone.
        asks_more = any(not names.isdisjoint(words) for names in _CATEGORY_WORDS.values())
        return said and said + _PRESENCE * (not _PRESENT.isdisjoint(words)) - _CATEGORY * asks_more
    places = [_first_mention(item, words) for item in named]
    objects = _OBJECT * sum(place is not None for place in places)
    if category == "spatial":
        cues = _RELATION_WORDS.get(value, frozenset(tokenize(value)))
        said = _said(bound.concept, words) if cues.isdisjoint(words) else _VALUE
        found = [place for place in places if place is not None]
        in_order = len(found) == 2 and found[0] < found[1]
        shared = len(set(words) & _description_words(value, binding))
        return said + objects + _DIRECTION * in_order + _WORDING * shared if said or objects else 0
    hint = _CATEGORY * (not _CATEGORY_WORDS.get(category, frozenset()).isdisjoint(words))
    said = _said(bound.concept, words)
    return said + hint + objects if said or hint else objects // 2


def _said(concept: Concept, words: Phrase) -> int:
    """Return the weight of the best phrase of a concept in a question."""
    weights = [_HINT if hinted else _VALUE for phrase, hinted in _phrases(concept) if _occurs(phrase, words)]
    return max(weights, default=0)


@cache
def _phrases(concept: Concept) -> tuple[tuple[Phrase, bool], ...]:
    if concept.category in CATEGORIES:
        return concept_phrases(concept)
    return ((tokenize(concept.value), False),)


def _first_mention(item: str, words: Phrase) -> int | None:
    places = [_place_of(phrase, words) for phrase, _ in _phrases(Concept("object", item))]
    return min((place for place in places if place is not None), default=None)


def _place_of(phrase: Phrase, words: Phrase) -> int | None:
    length = len(phrase)
    if not length:
        return None
    return next((at for at in range(len(words) - length + 1) if words[at : at + length] == phrase), None)


def _occurs(phrase: Phrase, words: Phrase) -> bool:
    return _place_of(phrase, words) is not None


def _description_words(value: str, binding: Binding | None) -> set[str]:
    relations = binding.relations if binding is not None else ()
    return {
        word
        for relation in relations
        if relation.name == value
        for word in tokenize(relation.description.replace("{", " ").replace("}", " "))
    } - {"is", "the", ",", "or", "of", "meaning", "positioned", "than", "objecta", "objectb"}
