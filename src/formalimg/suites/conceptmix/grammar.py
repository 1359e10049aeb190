"""Plurals, articles and lists, for the words of the pools and any others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from formalimg.suites.conceptmix.words import entry, words

_SPELT = re.compile(r"[A-Za-z](?![^\W\d_])|[A-Z]{2,3}(?![^\W\d_])")
"""What is said letter by letter: an L-shaped sofa, a T-shirt, an SUV."""


def plural_of(item: str) -> str:
    """Several of an object: "cats", "oak trees", "pieces of sushi"."""
    known = entry("object", item).get("many")
    if known is not None:
        return str(known)
    head, of, rest = item.partition(" of ")
    before, _, last = head.rpartition(" ")
    return f"{before} {_plural(last)}{of}{rest}".lstrip()


def singular_of(item: str) -> str:
    """One of an object, without an article: "cat", "piece of sushi"."""
    return str(entry("object", item).get("one", item))


def with_article(item: str) -> str:
    """An object behind "a" or "an": "an apple", "a piece of sushi"."""
    return with_a(singular_of(item))


def with_a(phrase: str) -> str:
    """A phrase behind "a" or "an", by the sound of its first word."""
    # An éclair sounds like an eclair.
    plain = unicodedata.normalize("NFD", phrase)
    sounds = [
        (len(start), article)
        for article in ("a", "an")
        for start in words()["articles"][article]
        if plain.lower().startswith(start)
    ]
    if _SPELT.match(plain):
        article = "an" if plain[0].lower() in words()["articles"]["letters"] else "a"
    elif sounds:
        article = max(sounds)[1]
    else:
        article = "an" if plain[:1].lower() in set("aeiou") else "a"
    return f"{article} {phrase}"


def count_word(number: str) -> str:
    """A number in words: "three" for 3; large ones stay as they are."""
    known = words()["counts"]
    return str(known[int(number)]) if number.isascii() and number.isdigit() and int(number) < len(known) else number


def listed(phrases: Sequence[str]) -> str:
    """Phrases as one list: "a, b, and c"."""
    if len(phrases) < 3:
        return " and ".join(phrases)
    return ", ".join(phrases[:-1]) + f", and {phrases[-1]}"


def _plural(word: str) -> str:
    known = words()["plurals"].get(word.lower())
    if known is not None:
        return str(known)
    if word.endswith("man"):
        return f"{word[:-3]}men"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in set("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}s"
