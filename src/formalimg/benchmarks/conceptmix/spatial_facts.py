"""Extraction of spatial facts from a prompt; ambiguous statements yield none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg.benchmarks.conceptmix.concept_mentions import (
    ConceptMention,
    ParsedPrompt,
    Phrase,
    find_phrases,
    split_tokens,
)
from formalimg.benchmarks.conceptmix.words import converse_of, function_words, lexicon_entry, word_tables

PhraseKind: TypeAlias = Literal["said", "hinted", "backwards", "places"]


class SpatialPhrase(NamedTuple):
    """The tokens that state a spatial relation, from `start` (inclusive) to `end` (exclusive)."""

    value: str
    kind: PhraseKind
    start: int
    end: int


def spatial_phrases(parsed: ParsedPrompt, values: Iterable[str]) -> list[SpatialPhrase]:
    """Return all phrases in a text that state one of the given spatial concepts."""
    return [
        SpatialPhrase(value, kind, start, end)
        for start, end, meanings in find_phrases(parsed.tokens, _spatial_phrasebook(frozenset(values)))
        for value, kind in meanings
    ]


def relation_axis(value: str) -> str:
    """Return the axis of a spatial concept, which is the same for "left" and "right"."""
    return str(lexicon_entry("spatial", value).get("axis", value))


@cache
def _spatial_phrasebook(values: frozenset[str]) -> Mapping[Phrase, Sequence[tuple[str, PhraseKind]]]:
    book: dict[Phrase, list[tuple[str, PhraseKind]]] = {}
    for value in sorted(values):
        entry = lexicon_entry("spatial", value)
        book.setdefault(split_tokens(entry.get("phrase", value)), []).append((value, "said"))
        for kind in get_args(PhraseKind):
            for text in entry.get(kind, ()):
                book.setdefault(split_tokens(text), []).append((value, kind))
    return book


_NONE: frozenset[str] = frozenset()
_MAX_UNKNOWN = 2
_JOINTS = frozenset({",", ";", ":", "and", "while", "whereas", "also"})
_IMAGE_AXES = frozenset({"lateral", "depth"})


class SpatialClaim(NamedTuple):
    """A claim that subjects are in a relation to reference objects or, without references, in a part of the image."""

    phrase: SpatialPhrase
    subjects: frozenset[str]
    references: frozenset[str]


class _ReferenceSpan(NamedTuple):
    """The objects or pronoun that follow a spatial phrase, and the index where they end."""

    objects: tuple[ConceptMention, ...]
    pronoun: bool
    end: int


class SpatialFact(NamedTuple):
    """A relation from one object to another."""

    value: str
    subject: str
    reference: str


def is_stated(facts: Collection[SpatialFact], fact: SpatialFact) -> bool:
    """Return whether a fact is stated and its opposite is not."""
    value, subject, reference = fact
    mutual = subject == reference or converse_of(value) == value
    return fact in facts and (mutual or SpatialFact(value, reference, subject) not in facts)


def extract_facts(parsed: ParsedPrompt, values: Iterable[str]) -> list[tuple[SpatialFact, SpatialPhrase]]:
    """Return all spatial facts in a text, including their converses, each with its phrase."""
    relations = {*word_tables()["spatial"], *values}
    claims = extract_claims(parsed, relations)
    facts = []
    for claim in claims:
        value, converse = claim.phrase.value, converse_of(claim.phrase.value)
        for subject, reference in product(claim.subjects, claim.references):
            facts.append((SpatialFact(value, subject, reference), claim.phrase))
            if converse is not None:
                facts.append((SpatialFact(converse, reference, subject), claim.phrase))
    sides = [claim for claim in claims if not claim.references and relation_axis(claim.phrase.value) in _IMAGE_AXES]
    for side in sides:
        for converse_side in sides:
            if converse_of(side.phrase.value) == converse_side.phrase.value:
                pairs = product(side.subjects, converse_side.subjects)
                facts += [(SpatialFact(side.phrase.value, *pair), side.phrase) for pair in pairs]
    return facts


def extract_claims(parsed: ParsedPrompt, values: Iterable[str]) -> list[SpatialClaim]:
    """Return the spatial claims in a text, omitting phrases without a clear subject or reference."""
    claims: list[SpatialClaim] = []
    last: dict[int, tuple[frozenset[str], _ReferenceSpan]] = {}
    for phrase in spatial_phrases(parsed, values):
        sentence, span = parsed.sentence(phrase.start), _reference_after(parsed, phrase)
        if phrase.start in last and claims and claims[-1].phrase[2:] == phrase[2:]:
            claim = claims[-1]._replace(phrase=phrase)  # the same words may mean several relations
        else:
            subject = _find_subjects(parsed, phrase, span, sentence, last)
            claim = SpatialClaim(phrase, subject, _find_references(parsed, phrase, span, subject))
        if not claim.subjects or (not claim.references and phrase.kind != "places"):
            continue
        last[phrase.start] = (claim.subjects, span)
        backwards = phrase.kind == "backwards"
        claims.append(SpatialClaim(phrase, claim.references, claim.subjects) if backwards else claim)
    return claims


def _reference_after(parsed: ParsedPrompt, phrase: SpatialPhrase) -> _ReferenceSpan:
    index, unknown = phrase.end, 0
    if phrase.kind == "places":
        tokens = parsed.tokens[phrase.start : phrase.end]
        return _ReferenceSpan((), bool(set(tokens) & function_words("pronouns")), phrase.end)
    while index < len(parsed.tokens):
        if index in parsed.objects:
            objects = _list_starting_at(parsed, parsed.objects[index])
            return _ReferenceSpan(objects, False, objects[-1].end)
        if parsed.tokens[index] in function_words("pronouns") - function_words("ordinals") - function_words("articles"):
            return _ReferenceSpan((), phrase.kind != "hinted", index + 1)
        if parsed.is_adjacent(index, index + 1) or (parsed.tokens[index] == "," and parsed.is_adjective(index + 1)):
            index += 1
        elif parsed.is_unknown(index) and phrase.kind != "hinted" and unknown < _MAX_UNKNOWN:
            index, unknown = index + 1, unknown + 1
        else:
            break
    return _ReferenceSpan((), False, phrase.end)


def _list_starting_at(parsed: ParsedPrompt, first: ConceptMention) -> tuple[ConceptMention, ...]:
    """Return an object and those following it in the same list, "the dog and the cat", unless a verb follows."""
    listed = [first]
    for obj in parsed.objects_in(range(first.end, parsed.sentence(first.start).stop)):
        start = listed[-1].end
        joined = {"and", ","} & set(parsed.tokens[start : obj.start])
        if not joined or not parsed.is_adjacent(start, obj.start, frozenset({"and", ","})) or _is_verb(parsed, obj.end):
            break
        listed.append(obj)
    return tuple(listed)


def _is_verb(parsed: ParsedPrompt, index: int) -> bool:
    token = parsed.tokens[index] if index < len(parsed.tokens) else "."
    verbs = function_words("copulas") | function_words("verbs")
    return token in verbs or token.endswith("ing") or (parsed.is_unknown(index) and token.endswith("s"))


def _find_subjects(
    parsed: ParsedPrompt,
    phrase: SpatialPhrase,
    span: _ReferenceSpan,
    sentence: range,
    last: dict[int, tuple[frozenset[str], _ReferenceSpan]],
) -> frozenset[str]:
    before = parsed.objects_in(range(sentence.start, phrase.start))
    behind = parsed.objects_in(range(span.end, sentence.stop))
    between = parsed.tokens[before[-1].end if before else sentence.start : phrase.start]
    previous = parsed.tokens[phrase.start - 1] if phrase.start > sentence.start else ""
    # "the left side of …", "looks to the left of …"
    if previous in function_words("articles") | function_words("gazing"):
        return _NONE
    if behind and _is_inverted(parsed, phrase, span, behind[0], first=not before):
        return frozenset({behind[0].concept.value})
    if not before:
        previous_subject = parsed.previous_subject(phrase.start) if set(between) & function_words("pronouns") else None
        return _NONE if previous_subject is None else frozenset({previous_subject.concept.value})
    if set(between) & function_words("subjects"):
        values = {obj.concept.value for obj in before}
        return frozenset(values) if len(values) == 1 else _NONE
    return _subjects_before(parsed, before, between, phrase, last)


def _is_inverted(
    parsed: ParsedPrompt, phrase: SpatialPhrase, span: _ReferenceSpan, obj: ConceptMention, *, first: bool
) -> bool:
    """Return whether the subject follows the spatial phrase: "to the left of the table is a cat"."""
    between = range(span.end, obj.start)
    start = parsed.sentence(phrase.start).start
    opened = phrase.start == start or parsed.tokens[phrase.start - 1] in _JOINTS
    if first:
        spoken_of = set(parsed.tokens[start : phrase.start]) & function_words("subjects")
        again = any(
            other_phrase.start in between
            for other_phrase in spatial_phrases(parsed, word_tables()["spatial"])
            if other_phrase.kind == "said"
        )
        # As in "a bird is to the left of …".
        has_unknown_subject = any(parsed.is_unknown(index) for index in range(start, phrase.start))
        return not spoken_of and not again and (opened or not has_unknown_subject)
    moved = function_words("copulas") | function_words("verbs") | {"there", ","}
    verb = bool({parsed.tokens[number] for number in between} & (moved - {","}))
    return opened and (verb or phrase.kind == "places") and parsed.is_adjacent(span.end, obj.start, moved)


def _subjects_before(
    parsed: ParsedPrompt,
    before: Sequence[ConceptMention],
    between: Sequence[str],
    phrase: SpatialPhrase,
    last: dict[int, tuple[frozenset[str], _ReferenceSpan]],
) -> frozenset[str]:
    obj, links = before[-1], set(between)
    moved = bool(links & (function_words("copulas") | function_words("verbs")))
    relative = bool(links & function_words("relatives"))
    index = phrase.start - 1
    while index >= obj.end and parsed.is_unknown(index) and not parsed.tokens[index].endswith("s"):
        index -= 1
    if obj.end < index < phrase.start - 1 and parsed.tokens[index] in function_words("articles"):
        return _NONE  # "a cat sits by a bird to the left of …", where the bird is unknown
    claimed = next((subject for subject, span in reversed(last.values()) if obj in span.objects), None)
    if claimed is not None and not relative:
        return claimed if moved or (links and links <= _JOINTS) else _NONE
    if links and links <= {"and", "also"}:
        return next((subject for subject, span in reversed(last.values()) if span.end <= phrase.start), _NONE)
    if moved and not relative:
        if links & function_words("plural_copulas"):
            listed = [obj]
            for earlier in reversed(before[:-1]):
                if not parsed.is_adjacent(earlier.end, listed[-1].start, frozenset({"and", ","})):
                    break
                listed.append(earlier)
            return frozenset(member.concept.value for member in listed)
        while len(before) > 1 and parsed.preposition_before(obj) not in ("", "of"):
            before = before[:-1]
            obj = before[-1]
        return frozenset({obj.concept.value})
    if not relative and len(before) > 1 and parsed.preposition_before(obj) not in ("", "of", "with"):
        return _NONE
    return frozenset({obj.concept.value})


def _find_references(
    parsed: ParsedPrompt, phrase: SpatialPhrase, span: _ReferenceSpan, subject: frozenset[str]
) -> frozenset[str]:
    if span.objects:
        return frozenset(obj.concept.value for obj in span.objects)
    sentence = parsed.sentence(phrase.start)
    before = [obj for obj in parsed.objects_in(range(sentence.start, phrase.start)) if obj.concept.value not in subject]
    if span.pronoun:
        if before:
            return frozenset({before[-1].concept.value})
        earlier = parsed.previous_subject(phrase.start)
        return _NONE if earlier is None else frozenset({earlier.concept.value}) - subject
    if phrase.kind == "places" and before:
        between = parsed.tokens[before[-1].end : phrase.start]
        return frozenset({before[-1].concept.value}) if "with" in between else _NONE
    return _NONE
