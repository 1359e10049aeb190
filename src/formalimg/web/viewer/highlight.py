"""Highlighting on an image page: the parts of a verdict in the prompt, in English, and in the formula."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from formalimg.judges.clause_sentences import parse_clause
from formalimg.judges.failures import clause_words
from formalimg.language.lexicon import WordingError, lexicon
from formalimg.language.parser import parse_prompt
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Not, Or, to_pretty_text
from formalimg.types import Benchmark, Part

WIDTH = 64  # characters of a line of formulas on pages
_BINDING = re.compile(r"\?[^\s()'=]+ = ")
_KEYWORDS = r"(?<=\()(?:and|or|not|implies|iff|exists|forall|exactly|at-least|at-most)(?=[\s)])"
_ATOMS = r"\([A-Z]\w*(?:\s+[^()]*)?\)"
SpanKind: TypeAlias = Literal["holds", "fails", "open", "word", ""]

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
    phrases = dict(_phrases_of_failures(prompt, parts, suite))
    for start, end in (*phrases.items(), *_mentions_of_failures(prompt, parts, suite, phrases)):
        failing[start:end] = b"\1" * (end - start)
    edges = [0, *(n for n in range(1, len(prompt)) if failing[n] != failing[n - 1]), len(prompt)]
    return [PromptSpan(prompt[start:end], bool(failing[start])) for start, end in pairwise(edges) if end]


def _phrases_of_failures(prompt: str, parts: Sequence[Part], suite: Benchmark) -> Iterator[tuple[int, int]]:
    """Yield the positions of phrases that occur only in failed parts."""
    failing = {phrase.lower() for part in parts if part.score < 1 for phrase in _phrases(part, suite)}
    holding = {phrase.lower() for part in parts if part.score >= 1 for phrase in _phrases(part, suite)}
    if not failing - holding:
        return
    # The longest first: a toy car is not a car. A plural is the same object.
    pattern = "|".join(map(re.escape, sorted(failing | holding, key=lambda phrase: (-len(phrase), phrase))))
    for match in re.finditer(rf"(?i)(?<!\w)({pattern})(?:e?s)?(?!\w)", prompt):
        if match[1].lower() in failing - holding:
            yield match.span()


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


def _mentions_of_failures(
    prompt: str, parts: Sequence[Part], suite: Benchmark, except_at: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield more positions that state failed parts, found by meaning because parts may share their words."""
    if not suite.terms.is_code:
        return
    failing: set[AtomPattern] = set()
    holding: set[AtomPattern] = set()
    for part, atoms in zip(parts, atoms_of_clauses([part.name for part in parts]), strict=True):
        (failing if part.score < 1 else holding).update(atoms)
    predicates = {atom.predicate for atom in failing - holding}
    for start, end, mention in find_mentions(prompt, suite, predicates, except_at=except_at) if predicates else ():
        if (failing - holding) & mention:
            yield start, end


_ATOM = re.compile(r"\(([A-Z]\w*)([^()]*)\)")
_ARGUMENT = re.compile(r"\?[^\s()']+|'[^']*'")
_CONDITION = re.compile(r"\(not \([^()]*\)\)")
_PRONOUNS = ("its", "his", "her", "their")

_MAX_PROMPT_LENGTH = 4_000  # the prompt is parsed once per phrase; our own have up to 2,000 characters


class AtomPattern(NamedTuple):
    """An atom without variable names: its predicate, and its values or the classes of its objects."""

    predicate: str
    arguments: tuple[str, ...]


class _LexiconPhrase(NamedTuple):
    """A lexicon phrase with its meaning and the predicates of the atoms it states."""

    text: str
    meaning: frozenset[str]
    predicates: frozenset[str]


def atoms_of_clauses(clauses: Sequence[str]) -> list[set[AtomPattern]]:
    """Return the atoms that each clause asserts, without those of its condition."""
    conditions = ["" if clause.startswith("(not") else "".join(_CONDITION.findall(clause)) for clause in clauses]
    atoms = _atom_patterns([*clauses, *conditions])
    return [{*atoms[place]} - {*atoms[len(clauses) + place]} for place in range(len(clauses))]


def find_mentions(
    prompt: str, suite: Benchmark, predicates: Collection[str], *, except_at: Collection[int]
) -> Iterator[tuple[int, int, set[AtomPattern]]]:
    """Yield the spans of a prompt that mention the given predicates and the atoms they state.

    Each phrase that does not start at `except_at` is replaced by another one; the atoms that vanish from the parsed
    prompt are those it states. Nothing is found in prompts that cannot be parsed, or that are far longer than our own.
    """
    if len(prompt) > _MAX_PROMPT_LENGTH:
        return
    try:
        before = _parse_atoms(prompt, suite)
    except WordingError:
        return
    for phrase, replacement in _substitutions(suite.vocabulary):
        if not phrase.predicates & {*predicates}:
            continue
        for match in re.finditer(rf"(?i)(?<![\w-]){re.escape(phrase.text)}(?![\w-])", prompt):
            if match.start() in except_at:
                continue
            try:
                after = _parse_atoms(prompt[: match.start()] + replacement + prompt[match.end() :], suite)
            except WordingError:
                continue  # the phrase is part of a longer one, or it identifies an object
            yield match.start(), match.end(), {*(before - after)}


def _atom_patterns(texts: Sequence[str]) -> list[list[AtomPattern]]:
    atoms = [[(name, _ARGUMENT.findall(rest)) for name, rest in _ATOM.findall(text)] for text in texts]
    classes: dict[str, set[str]] = {}
    for name, arguments in (atom for atoms_of_text in atoms for atom in atoms_of_text):
        if name == "Is" and len(arguments) > 1:
            classes.setdefault(arguments[0], set()).add(arguments[1])
    labels = {obj: " ".join(sorted(names)) for obj, names in classes.items()}
    return [
        [AtomPattern(name, tuple(labels.get(argument, argument) for argument in arguments)) for name, arguments in line]
        for line in atoms
    ]


def _parse_atoms(prompt: str, suite: Benchmark) -> Counter[AtomPattern]:
    return Counter(_atom_patterns([str(parse_prompt(prompt, suite.vocabulary))])[0])


@cache
def _substitutions(vocabulary: str) -> list[tuple[_LexiconPhrase, str]]:
    """Return all phrases of a vocabulary, each with a replacement that has a different meaning."""
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
            _LexiconPhrase(adjective.before, frozenset({adjective.word}), frozenset({adjective.predicate}))
            for adjective in adjectives
            if adjective.before
        ],
        [
            _LexiconPhrase(adjective.after, frozenset({adjective.word}), frozenset({adjective.predicate}))
            for adjective in adjectives
        ],
    ]
    return [
        (phrase, next(candidate.text for candidate in phrases if not candidate.meaning & phrase.meaning))
        for phrases in exchangeable
        for phrase in phrases
    ]


def _phrase(text: str, *predicates: str) -> _LexiconPhrase:
    return _LexiconPhrase(text, frozenset(predicates), frozenset(predicates))


# --- parts and formulas


class DisplayedPart(NamedTuple):
    """A part of a verdict, in English or as stored, with the judge's observation."""

    part: Part
    words: str
    reason: str


def list_parts(parts: Sequence[Part], formula: str, suite: Benchmark) -> list[DisplayedPart]:
    """Return the parts of a verdict with failed ones first, naming objects without variables."""
    return [
        DisplayedPart(part, clause_words(part.name, formula, suite) if formula else "", _BINDING.sub("", part.reason))
        for part in sorted(parts, key=lambda part: part.score >= 1)
    ]


class FormulaSpan(NamedTuple):
    """A span of a formula: an atom that holds, fails or is undecided, a keyword, or text between them."""

    text: str
    kind: SpanKind


def highlight_formula(formula: str, parts: Sequence[Part]) -> list[FormulaSpan]:
    """Pretty-print a formula and split it into spans, with atoms marked by the clauses that the judge decided."""
    try:
        text = to_pretty_text(parse(formula), WIDTH)
    except FormulaError:
        text = formula
    outcomes: dict[str, SpanKind] = {}
    for part in sorted(parts, key=lambda part: -part.score):  # an atom that fails anywhere is shown as failed
        holding, failing = _clause_atoms(part)
        for atom in holding:
            outcomes.setdefault(atom, "holds")
        for atom in failing:
            outcomes[atom] = "fails"
    spans, end = [], 0
    for match in re.finditer(f"(?P<word>{_KEYWORDS})|(?P<atom>{_ATOMS})", text):
        spans.append(FormulaSpan(text[end : match.start()], ""))
        kind: SpanKind = "word" if match["word"] else outcomes.get(" ".join(match.group().split()), "open")
        spans.append(FormulaSpan(match.group(), kind))
        end = match.end()
    return [*spans, FormulaSpan(text[end:], "")]


def _clause_atoms(part: Part) -> tuple[list[str], list[str]]:
    """Return the atoms of a clause that hold, and those that fail."""
    try:
        clause = parse(part.name)
    except FormulaError:
        return [], []  # a question, or a clause that names its variables in another way
    literals = clause.parts if isinstance(clause, Or) else (clause,)
    atoms = [str(literal.body if isinstance(literal, Not) else literal) for literal in literals]
    if part.score >= 1:
        return atoms, []
    rule = parse_clause(part.name)
    conditions = [] if rule is None else [str(atom) for atom in rule.conditions]
    return conditions, [atom for atom in atoms if atom not in conditions]
