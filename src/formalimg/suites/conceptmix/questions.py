"""One yes/no question for each concept, to be answered from the picture alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formalimg.suites.conceptmix.describing import Thing, things_of
from formalimg.suites.conceptmix.grammar import plural_of, singular_of, with_a, with_article
from formalimg.suites.conceptmix.realizing import being_of
from formalimg.suites.conceptmix.spec import Binding, BoundConcept
from formalimg.suites.conceptmix.words import entry


def template_questions(concepts: Sequence[BoundConcept], binding: Binding) -> tuple[str, ...]:
    """One question for each concept, in their order; yes is good.

    Each can be understood alone, by somebody who sees the picture and nothing else.
    """
    things = things_of(binding)
    return tuple(_question(one, things) for one in concepts)


def _question(one: BoundConcept, things: Mapping[int, Thing]) -> str:
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
        return _placed(value, thing, things[one.objects[1]])
    if category == "texture":
        return _textured(value, thing)
    being = next(adjective.being for adjective in thing.adjectives if adjective.category == category)
    compared = f" compared with the usual size of {with_article(thing.item)}" if category == "size" else ""
    return f"{thing.are.capitalize()} the {thing.noun} {being}{compared}?"


def _some(thing: Thing, *, another: bool) -> str:
    if another:
        return f"other {plural_of(thing.item)}" if thing.many else f"another {singular_of(thing.item)}"
    if entry("object", thing.item).get("stuff"):
        return thing.item
    return plural_of(thing.item) if thing.many else with_article(thing.item)


def _textured(value: str, thing: Thing) -> str:
    do, they = ("Do", "they") if thing.many else ("Does", "it")
    looks = entry("texture", value).get("question", f"have {with_a(value)} texture")
    return f"{do} the {thing.noun} {looks.format(they=they, are=thing.are)}?"


def _placed(value: str, who: Thing, whom: Thing) -> str:
    other = f"the {whom.noun}"
    if who.item == whom.item:
        other = f"other {plural_of(whom.item)}" if whom.many else f"another {singular_of(whom.item)}"
    where = entry("spatial", value).get("question", f"{value} {{other}}")
    return f"{who.are.capitalize()} the {who.noun} {where.format(other=other, it=whom.it, its=whom.its)}?"
