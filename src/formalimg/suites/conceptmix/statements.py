"""Concepts as sentences about an image, with the names of the objects they are about."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from formalimg.errors import FormalimgError
from formalimg.suites.conceptmix.pools import Pools
from formalimg.suites.conceptmix.sentences import PLACE
from formalimg.suites.conceptmix.spec import Binding, BindingError, BoundConcept
from formalimg.suites.conceptmix.words import is_person


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
    from formalimg.suites.conceptmix.grammar import plural_of

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
        from formalimg.suites.conceptmix.grammar import with_article

        said = with_article(words)
    return said[0].upper() + said[1:] if article[0].isupper() else said
