"""Noun phrases of short prompts, found by a small reader of our own: by lists of words, and the words around each.

The published code asks spaCy for them. This reader was not compared with spaCy; on prompts that are lists of things it
needs no grammar, and in long sentences it may part a phrase elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

_TOKEN = re.compile(r"[^\W\d_][\w'’-]*|\d+(?:[:.]\d+)*|[^\w\s]")
_PARTICIPLE = re.compile(r"\w{2,}(?:ed|ing)")


def find_noun_phrases(text: str) -> tuple[str, ...]:
    """Return the noun phrases of a prompt in their order, each with its determiner and adjectives."""
    tokens = _TOKEN.findall(text)
    phrases: list[list[str]] = []
    current: list[str] = []
    before = ""
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        if _is_determiner(token) and not (current and all(map(_is_determiner, current))):
            phrases.append(current)
            current = [token]
        elif not _is_break(token):
            if _is_verb(token, current, before, following):
                phrases.append(current)
                current = []
            else:
                current.append(token)
        elif not _joins(token, current, following):
            phrases.append(current)
            current = []
        else:
            current.append(token)
        before = token
    phrases.append(current)
    return tuple(_spelled(phrase) for phrase in phrases if _has_noun(phrase) or any(map(_is_adjective, phrase)))


def head_of(phrase: str) -> str:
    """Return a noun phrase without its determiners, in lower case."""
    tokens = phrase.split()
    while len(tokens) > 1 and _is_determiner(tokens[0]):
        tokens.pop(0)
    return " ".join(tokens).lower()


@cache
def prompt_words() -> Mapping[str, Any]:
    """Return the words by which prompts are read, from the data file."""
    text = (files("formalimg.benchmarks.t2i_compbench") / "words.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(prompt_words()["phrases"][name].split())


def _is_determiner(token: str) -> bool:
    word = token.lower()
    return word in _listed("determiners") or word in prompt_words()["numbers"] or token.isdigit()


def _is_break(token: str) -> bool:
    return not token[0].isalnum() or token.lower() in _listed("breaks")


def _is_adjective(token: str) -> bool:
    return token.lower() in _listed("adjectives")


def _has_noun(phrase: Sequence[str]) -> bool:
    return any(token[0].isalpha() and not _is_determiner(token) and not _is_adjective(token) for token in phrase)


def _is_verb(token: str, phrase: Sequence[str], before: str, following: str) -> bool:
    """Return whether a word ends a noun phrase because it is a verb, by the words around it."""
    word = token.lower()
    participle = _PARTICIPLE.fullmatch(word) is not None
    if participle and before.lower() in _listed("auxiliaries"):
        return True
    if not _has_noun(phrase):
        return False
    if word in _listed("verbs") or (following and _is_determiner(following)):
        return True  # between a noun and a determiner there is a verb, if nothing else
    if word in _listed("either") and _is_adjective(following):
        return True
    ends = following.lower() in _listed("breaks") and following.lower() not in ("and", "or")
    return ends and (participle or word in _listed("either"))


def _joins(token: str, phrase: Sequence[str], following: str) -> bool:
    """Return whether `and`, or a comma, joins two adjectives of one phrase."""
    if token.lower() not in ("and", ",") or not phrase or not _is_adjective(phrase[-1]) or _has_noun(phrase):
        return False
    return bool(following) and not _is_break(following) and not _is_determiner(following)


def _spelled(phrase: Sequence[str]) -> str:
    return " ".join(phrase).replace(" ,", ",")
