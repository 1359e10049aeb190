"""The sentences of pools: which places for names they may have, and how a relation is said by its own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from formalimg.suites.conceptmix.spec import ATTRIBUTES, Category
from formalimg.suites.conceptmix.words import entry

PLACE = re.compile(r"(?:\b(?P<article>the|an?) )?\{(?P<name>\w+)\}", re.IGNORECASE)
"""A place for a name in a sentence, with the article before it."""

_VALUE = ("value", "values")
_PLACES: Mapping[Category, tuple[str, ...]] = {
    "object": (*_VALUE, "object", "objects"),
    **dict.fromkeys(ATTRIBUTES, (*_VALUE, "object", "objects")),
    "spatial": (*_VALUE, "ObjectA", "ObjectB"),
    "style": _VALUE,
}
_RELATION = re.compile(r"the \{ObjectA\} is (?P<phrase>[^{},.;:!?]+) the \{ObjectB\}", re.IGNORECASE)


def check_statement(category: Category, statement: str) -> None:
    """Check the sentence of a whole category, which must also say the value.

    Raises:
        ValueError: if it does not, or has places that it may not have.
    """
    if not set(_VALUE) & set(_names_in(statement)):
        raise ValueError(f"the statement {statement!r} does not say the concept: put {{value}} into it")
    check_sentence(category, statement)


def check_sentence(category: Category, sentence: str) -> None:
    """Check the sentence of a category or of a single value.

    Raises:
        ValueError: if it has places that it may not have, or lacks the objects that it is about.
    """
    names, known = _names_in(sentence), _PLACES[category]
    told = ", ".join(f"{{{name}}}" for name in known)
    strange = [name for name in names if name not in known]
    if strange or set("{}") & set(PLACE.sub("", sentence)):
        found = f"{{{strange[0]}}}" if strange else "a brace that is no place for a name"
        raise ValueError(f"the sentence {sentence!r} has {found}: it may have {told}")
    if category in ATTRIBUTES and not {"object", "objects"} & set(names):
        raise ValueError(f"the sentence {sentence!r} does not say of what: put {{object}} or {{objects}} into it")
    if category == "spatial" and not {"ObjectA", "ObjectB"} <= set(names):
        raise ValueError(f"the sentence {sentence!r} does not say of what: put {{ObjectA}} and {{ObjectB}} into it")


def says_relation(name: str, sentence: str) -> None:
    """Check that a relation that is not one of ours can be said and asked for in the words of its sentence.

    Raises:
        ValueError: if the sentence is not of the form that this takes.
    """
    phrase = _phrase_in(name, sentence)
    if "phrase" not in entry("spatial", name) and (phrase is None or name.lower() not in phrase.lower()):
        raise ValueError(
            f"the sentence {sentence!r} of the relation {name!r} cannot be used in prompts: "
            f"write it as 'the {{ObjectA}} is {name} the {{ObjectB}}'"
        )


def phrase_of(name: str, sentence: str) -> str:
    """How a relation is said between its two objects: in our words, or else in those of its own sentence."""
    return str(entry("spatial", name).get("phrase") or _phrase_in(name, sentence) or name)


def _phrase_in(name: str, sentence: str) -> str | None:
    found = _RELATION.fullmatch(sentence.replace("{value}", name))
    return None if found is None else found["phrase"]


def _names_in(sentence: str) -> list[str]:
    return [place["name"] for place in PLACE.finditer(sentence)]
