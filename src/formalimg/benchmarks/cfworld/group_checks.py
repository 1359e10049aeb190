"""Checks of a group's texts: is it well formed, safe, visual, deducible and not a duplicate?

The paper requires that a prompt is visually unambiguous, needs deduction, is safe, and is valid. Only a person can
judge whether a deduction is right; these checks find the most frequent mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from typing import Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.cfworld.items import read_package_toml
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup

ProblemReason: TypeAlias = Literal[
    "form",  # empty, too long, not a sentence
    "not ordinary",  # the factual prompt speaks of another world
    "another scene",  # the factual prompt shows another scene than the counterfactual ones
    "law not changed",
    "law not told",  # a counterfactual prompt does not say the changed law
    "gives it away",  # the implicit prompt tells what it should leave to be deduced
    "outcome not told",  # the explicit prompt does not tell what decides
    "not visual",  # what decides cannot be seen
    "not about the outcome",  # what decides is something else than the outcome
    "same in both worlds",  # what decides is the same with and without the law
    "not described",  # the outcome without names has the names all the same
    "unsafe",
    "duplicate",
]

MAX_WORDS = 80  # Maximum number of words of a prompt
_COMPARISON = re.compile(
    r"\b(?:like|unlike|resembl\w*|similar to|reminiscent of|as (?:if|though)|as \w+(?: \w+)? as)\b", re.IGNORECASE
)
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_ID = re.compile(r"[a-z][a-z0-9-]{1,60}")
_NEAR = 0.75  # Two texts that share this part of their words are duplicates


class GroupProblem(NamedTuple):
    """A problem found in a group."""

    group: str
    reason: ProblemReason
    detail: str


def check_groups(groups: Sequence[CounterfactualGroup]) -> list[GroupProblem]:
    """Return all problems of the groups, including duplicates among them."""
    problems = [problem for group in groups for problem in check_group(group)]
    return [
        *problems,
        *(twin for number, group in enumerate(groups) for twin in _find_duplicates(group, groups[:number])),
    ]


def check_group(group: CounterfactualGroup, before: Sequence[CounterfactualGroup] = ()) -> list[GroupProblem]:
    """Return all problems of a group, including being a duplicate of any group in `before`."""
    problems = [GroupProblem(group.id, reason, detail) for reason, detail in _find_problems(group)]
    return [*problems, *_find_duplicates(group, before)]


def find_comparison(text: str) -> str | None:
    """Return the phrase that makes a comparison in a text, such as "like" or "as tall as"; None if there is none.

    A comparison names another object, and thereby suggests the usual appearance of that object.
    """
    match = _COMPARISON.search(text)
    return None if match is None else match[0]


def find_unsafe_word(text: str) -> str | None:
    """Return the first unsafe word of a text; None if there is none."""
    return next((word for word in _split_words(text) if word in word_lists()["unsafe"]), None)


def _find_problems(group: CounterfactualGroup) -> Iterator[tuple[ProblemReason, str]]:
    yield from _find_form_problems(group)
    for field in fields(group):
        if unsafe := find_unsafe_word(getattr(group, field.name)):
            yield "unsafe", f"{field.name} says {unsafe!r}"
    words = word_lists()
    lowered = group.factual.lower()
    strange = [word for word in _split_words(group.factual) if word in words["otherwise"]]
    strange += [phrase for phrase in words["otherwise_phrases"] if phrase in lowered]
    if strange:
        yield "not ordinary", f"the factual prompt says {strange[0]!r}"
    if _word_share(group.changed, group.factual) > 0.75:
        yield "not ordinary", "the factual prompt has the words of the changed law"
    if _word_share(group.factual, group.implicit) < 0.5:
        yield "another scene", "the factual and the implicit prompt share less than half of their words"
    if _split_words(group.law) == _split_words(group.changed):
        yield "law not changed", "the changed law is the law"
    if _word_share(group.changed, group.implicit) < 0.5:
        yield "law not told", "the implicit prompt does not have the words of the changed law"
    if len(_content_stems(group.outcome) - _content_stems(group.implicit)) < 2:
        yield "gives it away", "the implicit prompt has nearly all words of the outcome"
    if _word_share(group.shows, group.implicit) > 0.8:
        yield "gives it away", "the implicit prompt has nearly all words of what decides"
    if _word_share(group.described, group.implicit) > 0.6:
        yield "gives it away", "the implicit prompt has most words of the described outcome"
    if _word_share(group.shows, group.explicit) < 0.5:
        yield "outcome not told", "the explicit prompt has less than half of the words of what decides"
    if not _content_stems(group.shows) & _content_stems(group.outcome):
        yield "not about the outcome", "what decides shares no word with the outcome"
    for name in ("shows", "shows_factual"):
        unseen = [word for word in _split_words(getattr(group, name)) if word in words["unseen"]]
        if unseen:
            yield "not visual", f"{name} says {unseen[0]!r}, which cannot be seen"
    if _split_words(group.shows) == _split_words(group.shows_factual):
        yield "same in both worlds", "the same decides with and without the law"
    if not _content_stems(group.outcome) - _content_stems(group.described) - _content_stems(group.implicit):
        yield "not described", "the described outcome has every word of the named one"


def _find_form_problems(group: CounterfactualGroup) -> Iterator[tuple[ProblemReason, str]]:
    if not _ID.fullmatch(group.id):
        yield "form", f"the id {group.id!r} must be small letters, digits and -"
    for field in fields(group):
        text = getattr(group, field.name)
        if field.name in ("id", "branch"):
            continue
        if not text or text != " ".join(text.split()):
            yield "form", f"{field.name} is empty, or has needless blanks"
        elif field.name != "discipline" and not (text[0].isupper() and text[-1] in ".!?"):
            yield "form", f"{field.name} must begin with a capital and end with a full stop"
    for name in ("factual", "explicit", "denominalised"):
        if len(getattr(group, name).split()) > MAX_WORDS:
            yield "form", f"the {name} prompt has more than {MAX_WORDS} words"


def _find_duplicates(group: CounterfactualGroup, before: Sequence[CounterfactualGroup]) -> Iterator[GroupProblem]:
    if any(other.id == group.id for other in before):
        yield GroupProblem(group.id, "duplicate", "another group has this id")
    for other in before:
        if all(
            _word_similarity(getattr(group, name), getattr(other, name)) >= _NEAR for name in ("implicit", "outcome")
        ):
            yield GroupProblem(group.id, "duplicate", f"says nearly the same as {other.id}")


def _word_similarity(text: str, other: str) -> float:
    first, second = _content_stems(text), _content_stems(other)
    return len(first & second) / len(first | second) if first | second else 0.0


def _word_share(text: str, inside: str) -> float:
    stems = _content_stems(text)
    return len(stems & _content_stems(inside)) / len(stems) if stems else 0.0


@lru_cache(maxsize=8192)
def _content_stems(text: str) -> frozenset[str]:
    return frozenset(_strip_ending(word) for word in _split_words(text) if word not in word_lists()["common"])


def _strip_ending(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in ("ing", "ies", "ed", "es", "ly", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@cache
def word_lists() -> dict[str, frozenset[str]]:
    """Return the word lists of `words.toml`, by name."""
    lists = read_package_toml("words.toml")
    return {name: frozenset(words.split() if isinstance(words, str) else words) for name, words in lists.items()}
