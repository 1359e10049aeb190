"""The words for concepts, from the data file."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from formalimg.suites.conceptmix.spec import Category


@cache
def words() -> dict[str, Any]:
    """All words, by the tables of words.toml."""
    text = (files("formalimg.suites.conceptmix") / "words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def entry(category: Category, value: str) -> dict[str, Any]:
    """What the data say of a concept; nothing for one of the user's own."""
    table = words()["nouns" if category == "object" else category]
    return dict(table.get(value, {}))


def is_person(item: str) -> bool:
    """Is it a human being? Of what is not in our data nothing of the kind is said."""
    return bool(entry("object", item).get("person", False))


def converse_of(relation: str) -> str | None:
    """The same relation, seen from the other object; None if there is no word for it."""
    found = entry("spatial", relation).get("converse")
    return None if found is None else str(found)


def reading_words(group: str) -> frozenset[str]:
    """A group of the words that hold sentences together."""
    return frozenset(words()["reading"][group])
