"""Concepts as sentences about an image, with the names of the objects they are about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from formalimg.errors import FormalimgError
from formalimg.suites.conceptmix.pools import Pools
from formalimg.suites.conceptmix.realization import being_of
from formalimg.suites.conceptmix.spec import Binding, BindingError, BoundConcept
from formalimg.suites.conceptmix.vocabulary import (
    PLACE,
    SpokenThing,
    entry,
    is_person,
    phrase_of,
    plural_of,
    singular_of,
    things_of,
    with_a,
    with_article,
)


def statements(concepts: Sequence[BoundConcept], binding: Binding, pools: Pools) -> tuple[str, ...]:
    """What each concept says of the image, in order, such as "the color of the cat is red".

    If a relation is between two objects of the same item, the second is "another cat".

    Raises:
        FormalimgError: if the sentence of a concept has a place for something that the concept does not have.
    """
    return tuple(_statement(concept, binding, pools) for concept in concepts)


def _statement(bound: BoundConcept, binding: Binding, pools: Pools) -> str:
    (category, value), ids = bound
    if not all(1 <= number <= len(binding.objects) for number in ids):
        raise BindingError(f"the {category} {value!r} is about {ids}, but objects are 1 to {len(binding.objects)}")
    items = [binding.objects[number - 1].item for number in ids]
    words = _words(bound, items)
    sentence = pools[category].sentence(value, of_people=any(map(is_person, items)))

    def put(place: re.Match[str]) -> str:
        if place["name"] not in words:
            known = ", ".join(f"{{{name}}}" for name in words)
            raise FormalimgError(
                f"the sentence {sentence!r} of the {category} {value!r} has {{{place['name']}}}: it may have {known}"
            )
        return _with(place["article"], words[place["name"]]())

    return PLACE.sub(put, sentence)


def _words(bound: BoundConcept, items: Sequence[str]) -> dict[str, Callable[[], str]]:
    """What may stand in the places of a sentence; worked out when asked for, as most is not."""
    from formalimg.suites.conceptmix.vocabulary import plural_of

    (category, value), _ = bound
    words: dict[str, Callable[[], str]] = {"value": lambda: value, "values": lambda: plural_of(value)}
    if category == "spatial":
        first, second = items
        words["ObjectA"] = lambda: first
        words["ObjectB"] = lambda: f"another {second}" if first == second else second
    elif items:
        words["object"] = lambda: items[0]
        words["objects"] = lambda: plural_of(items[0])
    return words


def _with(article: str | None, words: str) -> str:
    """Words after the article of a sentence: "another" takes its place, and "a" becomes "an" where it must."""
    if article is None:
        return words
    if words.startswith("another "):
        said = words
    elif article.lower() == "the":
        said = f"the {words}"
    else:
        from formalimg.suites.conceptmix.vocabulary import with_article

        said = with_article(words)
    return said[0].upper() + said[1:] if article[0].isupper() else said


def template_questions(concepts: Sequence[BoundConcept], binding: Binding) -> tuple[str, ...]:
    """One question for each concept, in their order; yes is good.

    Each can be understood alone, by somebody who sees the image and nothing else.
    """
    things = things_of(binding)
    phrases = {relation.name: phrase_of(relation.name, relation.description) for relation in binding.relations}
    return tuple(_question(one, things, phrases) for one in concepts)


def _question(one: BoundConcept, things: Mapping[int, SpokenThing], phrases: Mapping[str, str]) -> str:
    category, value = one.concept
    if category == "style":
        return f"Is the image {being_of(value)}?"
    thing = things[one.objects[0]]
    if category == "object":
        same = any(other.item == thing.item for other in things.values() if other.id < thing.id)
        return f"Does the image contain {_some(thing, another=same)}?"
    if category == "number":
        return f"{thing.are.capitalize()} there exactly {thing.count} {thing.noun} in the image?"
    if category == "spatial":
        where = entry("spatial", value).get("question", f"{phrases.get(value, value)} {{other}}")
        return _placed(where, thing, things[one.objects[1]])
    if category == "texture":
        return _textured(value, thing)
    asked = next(adjective.asked for adjective in thing.adjectives if adjective.category == category)
    compared = f" compared with the usual size of {with_article(thing.item)}" if category == "size" else ""
    return f"{thing.are.capitalize()} the {thing.noun} {asked}{compared}?"


def _some(thing: SpokenThing, *, another: bool) -> str:
    if another:
        return f"other {plural_of(thing.item)}" if thing.many else f"another {singular_of(thing.item)}"
    if entry("object", thing.item).get("stuff"):
        return thing.item
    # How many there are is another question.
    return f"at least one {singular_of(thing.item)}" if thing.many else with_article(thing.item)


def _textured(value: str, thing: SpokenThing) -> str:
    do = "Do" if thing.many else "Does"
    looks = entry("texture", value).get("question", f"have {with_a(value)} texture")
    return f"{do} the {thing.noun} {looks.format(they=thing.they, are=thing.are)}?"


def _placed(where: str, who: SpokenThing, whom: SpokenThing) -> str:
    other = f"the {whom.noun}"
    if who.item == whom.item:
        other = f"other {plural_of(whom.item)}" if whom.many else f"another {singular_of(whom.item)}"
    return f"{who.are.capitalize()} the {who.noun} {where.format(other=other, it=whom.it, its=whom.its)}?"
