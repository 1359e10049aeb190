"""One yes/no question for each concept, to be answered from the image alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formalimg.suites.conceptmix.describing import SpokenThing, things_of
from formalimg.suites.conceptmix.grammar import plural_of, singular_of, with_a, with_article
from formalimg.suites.conceptmix.realizing import being_of
from formalimg.suites.conceptmix.sentences import phrase_of
from formalimg.suites.conceptmix.spec import Binding, BoundConcept
from formalimg.suites.conceptmix.words import entry


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
