"""Reading the words of a suite from the data files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from formalimg.logic import Vocabulary, vocabulary
from formalimg.suites.wording.lexicon import UNNAMED, Adjective, Corner, Lexicon, Noun, Relation
from formalimg.suites.wording.problem import WordingError

SUITES = ("knolling", "natural")


def lexicon(suite: str) -> Lexicon:
    """The words of a suite, `knolling` or `natural`."""
    if suite not in SUITES:
        raise WordingError(f"there are no words for the suite {suite!r}: known are {', '.join(SUITES)}")
    return _loaded(suite)


@cache
def _loaded(suite: str) -> Lexicon:
    known, nouns, phrases = vocabulary(suite), _table("nouns.toml"), _table("phrases.toml")
    missing = [word for word in (*known.words["class"], UNNAMED) if word not in nouns]
    if missing:
        raise WordingError(f"nouns.toml: add an entry for {missing[0]!r}")
    found = Lexicon(
        nouns={word: _noun(word, nouns[word]) for word in (*known.words["class"], UNNAMED)},
        adjectives=_adjectives(known, phrases["adjectives"]),
        relations={
            name: _relation(name, entry) for name, entry in phrases["relations"].items() if name in known.predicates
        },
        places={name: tuple(said) for name, said in phrases["places"].items() if name in known.predicates},
        corners=tuple(
            Corner((one, other), phrase)
            for phrase, (one, other) in phrases["corners"].items()
            if one in known.predicates and other in known.predicates
        ),
        styles={word: phrases["styles"][word] for word in known.words.get("style", ())},
        openings=phrases["openings"],
        ordinals=tuple(phrases["ordinals"]),
    )
    unsaid = set(known.predicates) - {"Is", "IsStyle"} - {p for p, _ in found.adjectives} - set(found.said.values())
    if unsaid:
        raise WordingError(f"phrases.toml: add a phrase for {min(unsaid)}")
    return found


def _table(name: str) -> dict[str, Any]:
    text = (files("formalimg.suites.wording") / "words" / name).read_text(encoding="utf-8")
    return tomllib.loads(text)


def _relation(name: str, entry: Mapping[str, Any]) -> Relation:
    return Relation(
        name,
        tuple(entry["phrases"]),
        entry.get("near"),
        entry.get("group"),
        bool(entry.get("ordered")),
        bool(entry.get("back")),
        str(entry.get("kind", "where")),
    )


def _noun(word: str, entry: Mapping[str, Any]) -> Noun:
    text = str(entry.get("text", word))
    return Noun(
        None if word == UNNAMED else word,
        text,
        str(entry.get("plural", f"{text}s")),
        entry.get("measure"),
        bool(entry.get("many", False)),
        str(entry.get("pronoun", "it")),
    )


def _adjectives(known: Vocabulary, table: Mapping[str, Any]) -> dict[tuple[str, str], Adjective]:
    order, odd = list(table["order"]), table["words"]
    found = {}
    for predicate in known.predicates.values():
        if predicate.name == "Is" or len(predicate.arguments) != 2 or predicate.arguments[1] not in order:
            continue
        kind = predicate.arguments[1]
        for word in known.words[kind]:
            entry = odd.get(word, {})
            before, after = entry.get("before", word) or None, entry.get("after", word)
            rank = (0 if entry.get("early") else 1, order.index(kind))
            found[predicate.name, word] = Adjective(predicate.name, word, before, after, rank)
    return found
