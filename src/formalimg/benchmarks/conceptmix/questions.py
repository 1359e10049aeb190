"""Statements and yes/no questions: one of each per concept, to be answered from the image alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from formalimg.benchmarks.conceptmix.phrasing import style_predicate
from formalimg.benchmarks.conceptmix.pools import Pools
from formalimg.benchmarks.conceptmix.spec import (
    Binding,
    BindingError,
    BoundConcept,
    Category,
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
