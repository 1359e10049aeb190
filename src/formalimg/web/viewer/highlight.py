"""Prompt highlighting: find the parts of a prompt that state what failed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from formalimg.language.lexicon import WordingError, lexicon
from formalimg.language.parser import parse_prompt
from formalimg.types import Benchmark, Part

_QUOTED = re.compile(r"'([^']+)'")
_NUMBERS = {"1": "one", "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight"}
_PREDICATE = re.compile(r"\(([A-Z]\w*)")


class PromptSpan(NamedTuple):
    """A span of a prompt, and whether it states a failed part."""

    text: str
    failed: bool


def highlight_prompt(prompt: str, parts: Sequence[Part], suite: Benchmark) -> list[PromptSpan]:
    """Split a prompt into spans, marking those that state failed parts.

    A phrase that also occurs in a part that holds is marked only where its meaning tells the two apart.
    """
    failing = bytearray(len(prompt))
    found = dict(_named_only_in_failures(prompt, parts, suite))
    for start, end in (*found.items(), *_mentioned(prompt, parts, suite, found)):
        failing[start:end] = b"\1" * (end - start)
    edges = [0, *(n for n in range(1, len(prompt)) if failing[n] != failing[n - 1]), len(prompt)]
    return [PromptSpan(prompt[start:end], bool(failing[start])) for start, end in pairwise(edges) if end]


def _named_only_in_failures(prompt: str, parts: Sequence[Part], suite: Benchmark) -> Iterator[tuple[int, int]]:
    """Yield the positions of phrases that occur only in failed parts."""
    failed = {phrase.lower() for part in parts if part.score < 1 for phrase in _phrases(part, suite)}
    held = {phrase.lower() for part in parts if part.score >= 1 for phrase in _phrases(part, suite)}
    if not failed - held:
        return
    # The longest first: a toy car is not a car. A plural is the same object.
    pattern = "|".join(map(re.escape, sorted(failed | held, key=lambda phrase: (-len(phrase), phrase))))
    for found in re.finditer(rf"(?i)(?<!\w)({pattern})(?:e?s)?(?!\w)", prompt):
        if found[1].lower() in failed - held:
            yield found.span()


def _phrases(part: Part, suite: Benchmark) -> Iterator[str]:
    """Yield phrases that a prompt may use for a part: its values, its words, or its predicates in English."""
    if not suite.terms.is_code:
        yield from (form for word in part.about if word.strip() for form in _forms(word))
        return
    words = lexicon(suite.vocabulary)
    for value in _QUOTED.findall(part.name):
        yield words.nouns[value].text if value in words.nouns else value
    for predicate in _PREDICATE.findall(part.name):
        phrases = (*words.predicate_phrases.items(), *words.sweeps.items())
        yield from (phrase for phrase, name in phrases if name == predicate)
        yield from (phrase for phrase, places in words.corner_phrases.items() if predicate in places)


def _forms(value: str) -> Iterator[str]:
    """Yield spellings of a concept's value in prompts: 3 or three, circle or circular, cubism or cubist."""
    yield value
    if value in _NUMBERS:
        yield _NUMBERS[value]
    if value.endswith("le"):
        yield value.removesuffix("le") + "ular"
    if value.endswith("ism"):
        yield from (value.removesuffix("ism") + ending for ending in ("ist", "istic"))


def _mentioned(
    prompt: str, parts: Sequence[Part], suite: Benchmark, known: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield more positions that state failed parts, found by meaning because parts may share their words."""
    if not suite.terms.is_code:
        return
    atoms = atoms_of_clauses([part.name for part in parts])
    failed = {atom for part, found in zip(parts, atoms, strict=True) if part.score < 1 for atom in found}
    held = {atom for part, found in zip(parts, atoms, strict=True) if part.score >= 1 for atom in found}
    only_failed = failed - held
    predicates = {atom.predicate for atom in only_failed}
    for mention in find_mentions(prompt, suite, predicates, except_at=known) if predicates else ():
        if only_failed & {*mention.atoms}:
            yield mention.start, mention.end


_ATOM = re.compile(r"\(([A-Z]\w*)([^()]*)\)")
_ARGUMENT = re.compile(r"\?[^\s()']+|'[^']*'")
_CONDITION = re.compile(r"\(not \([^()]*\)\)")
_PRONOUNS = ("its", "his", "her", "their")

_MAX_PROMPT_LENGTH = 4_000  # The prompt is parsed once per phrase; the longest of our own have about 2,000 characters


class AtomPattern(NamedTuple):
    """An atom without variable names: its predicate, and its values or the classes of its objects."""

    predicate: str
    arguments: tuple[str, ...]


class AtomMention(NamedTuple):
    """A span of a prompt, and the atoms it states."""

    start: int
    end: int
    atoms: Collection[AtomPattern]


class _LexiconPhrase(NamedTuple):
    """A lexicon phrase with its meaning and the predicates of the atoms it states."""

    text: str
    meaning: frozenset[str]
    predicates: frozenset[str]


class _Substitution(NamedTuple):
    """A phrase, and a replacement with a different meaning."""

    phrase: _LexiconPhrase
    replacement: str


def atoms_of_clauses(clauses: Sequence[str]) -> list[set[AtomPattern]]:
    """Return the atoms that each clause asserts, without those of its condition."""
    conditions = ["" if clause.startswith("(not") else "".join(_CONDITION.findall(clause)) for clause in clauses]
    atoms = _atom_patterns([*clauses, *conditions])
    return [{*atoms[place]} - {*atoms[len(clauses) + place]} for place in range(len(clauses))]


def find_mentions(
    prompt: str, suite: Benchmark, predicates: Collection[str], *, except_at: Collection[int]
) -> Iterator[AtomMention]:
    """Yield the mentions of the given predicates in a prompt, except phrases that start at `except_at`.

    Each phrase is replaced by another one; the atoms that vanish from the parsed prompt are those it states. Nothing is
    found in prompts that cannot be parsed, or that are far longer than our own.
    """
    if len(prompt) > _MAX_PROMPT_LENGTH:
        return
    try:
        before = _parsed_atoms(prompt, suite)
    except WordingError:
        return
    for phrase, replacement in _substitutions(suite.vocabulary):
        for found in _places(phrase, prompt) if phrase.predicates & {*predicates} else ():
            if found.start() in except_at:
                continue
            try:
                after = _parsed_atoms(prompt[: found.start()] + replacement + prompt[found.end() :], suite)
            except WordingError:
                continue  # the phrase is part of a longer one, or it identifies an object
            yield AtomMention(found.start(), found.end(), {*(before - after)})


def _atom_patterns(texts: Sequence[str]) -> list[list[AtomPattern]]:
    atoms = [[(name, _ARGUMENT.findall(rest)) for name, rest in _ATOM.findall(text)] for text in texts]
    classes: dict[str, set[str]] = {}
    for name, arguments in (atom for found in atoms for atom in found):
        if name == "Is" and len(arguments) > 1:
            classes.setdefault(arguments[0], set()).add(arguments[1])
    named = {obj: " ".join(sorted(found)) for obj, found in classes.items()}
    return [[AtomPattern(name, tuple(named.get(one, one) for one in rest)) for name, rest in found] for found in atoms]


def _parsed_atoms(prompt: str, suite: Benchmark) -> Counter[AtomPattern]:
    return Counter(_atom_patterns([str(parse_prompt(prompt, suite.vocabulary))])[0])


def _places(phrase: _LexiconPhrase, prompt: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"(?i)(?<![\w-]){re.escape(phrase.text)}(?![\w-])", prompt)


@cache
def _substitutions(vocabulary: str) -> list[_Substitution]:
    words = lexicon(vocabulary)
    relations = words.relations.items()
    near = [(name, relation.near) for name, relation in relations if relation.near and "{its}" in relation.near]
    adjectives = words.adjectives.values()
    exchangeable = [
        [_phrase(phrase, name) for name, relation in relations for phrase in relation.phrases],
        [_phrase(relation.group, name) for name, relation in relations if relation.group],
        [_phrase(phrase, name) for phrase, name in words.sweeps.items()],
        *([_phrase(form.format(its=its), name) for name, form in near] for its in _PRONOUNS),
        [_phrase(phrase, name) for phrase, name in words.predicate_phrases.items() if name in words.places],
        [_phrase(phrase, *places) for phrase, places in words.corner_phrases.items()],
        [
            _LexiconPhrase(one.before, frozenset({one.word}), frozenset({one.predicate}))
            for one in adjectives
            if one.before
        ],
        [_LexiconPhrase(one.after, frozenset({one.word}), frozenset({one.predicate})) for one in adjectives],
    ]
    return [
        _Substitution(phrase, next(other.text for other in phrases if not other.meaning & phrase.meaning))
        for phrases in exchangeable
        for phrase in phrases
    ]


def _phrase(text: str, *predicates: str) -> _LexiconPhrase:
    return _LexiconPhrase(text, frozenset(predicates), frozenset(predicates))
