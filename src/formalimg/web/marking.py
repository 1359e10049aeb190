"""The words of a prompt, with those marked that failed parts speak of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from formalimg.judges import Part
from formalimg.suites import Suite, lexicon
from formalimg.web.saying import claims_of, said_in

_QUOTED = re.compile(r"'([^']+)'")
_NUMBERS = {"1": "one", "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight"}
_PREDICATE = re.compile(r"\(([A-Z]\w*)")


class Phrase(NamedTuple):
    """Some words of a prompt; do they speak of something that failed?"""

    text: str
    is_at_fault: bool


def marked(prompt: str, parts: Sequence[Part], suite: Suite) -> list[Phrase]:
    """The prompt in pieces.

    What also stands in a part that holds is marked only where the words themselves tell which of the two is meant.
    """
    at_fault = bytearray(len(prompt))
    found = dict(_spoken_of(prompt, parts, suite))
    for start, end in (*found.items(), *_said(prompt, parts, suite, found)):
        at_fault[start:end] = b"\1" * (end - start)
    edges = [0, *(n for n in range(1, len(prompt)) if at_fault[n] != at_fault[n - 1]), len(prompt)]
    return [Phrase(prompt[start:end], bool(at_fault[start])) for start, end in pairwise(edges) if end]


def _spoken_of(prompt: str, parts: Sequence[Part], suite: Suite) -> Iterator[tuple[int, int]]:
    """Where phrases stand that only failed parts speak of."""
    failed = {phrase.lower() for part in parts if part.score < 1 for phrase in _phrases(part, suite)}
    held = {phrase.lower() for part in parts if part.score >= 1 for phrase in _phrases(part, suite)}
    if not failed - held:
        return
    # The longest first: a toy car is no car. A plural is the same object.
    pattern = "|".join(map(re.escape, sorted(failed | held, key=lambda phrase: (-len(phrase), phrase))))
    for found in re.finditer(rf"(?i)(?<!\w)({pattern})(?:e?s)?(?!\w)", prompt):
        if found[1].lower() in failed - held:
            yield found.span()


def _phrases(part: Part, suite: Suite) -> Iterator[str]:
    """How a part may be said in a prompt: by its values, by its words, or by its predicates in English."""
    if suite.kind != "formula":
        yield from (form for word in part.about if word.strip() for form in _forms(word))
        return
    words = lexicon(suite.name)
    for value in _QUOTED.findall(part.name):
        yield words.nouns[value].text if value in words.nouns else value
    for predicate in _PREDICATE.findall(part.name):
        if predicate in words.relations:
            yield from words.relations[predicate].phrases
        yield from words.places.get(predicate, ())
        yield from (corner.phrase for corner in words.corners if predicate in corner.places)


def _forms(value: str) -> Iterator[str]:
    """The value of a concept as prompts may have it: 3 or three, circle or circular, cubism or cubist."""
    yield value
    if value in _NUMBERS:
        yield _NUMBERS[value]
    if value.endswith("le"):
        yield value.removesuffix("le") + "ular"
    if value.endswith("ism"):
        yield from (value.removesuffix("ism") + ending for ending in ("ist", "istic"))


def _said(prompt: str, parts: Sequence[Part], suite: Suite, known: Collection[int]) -> Iterator[tuple[int, int]]:
    """Where else the prompt says what failed, by its meaning; several parts may speak of it in the same words."""
    if suite.kind != "formula":
        return
    claims = claims_of([part.name for part in parts])
    failed = {claim for part, found in zip(parts, claims, strict=True) if part.score < 1 for claim in found}
    held = {claim for part, found in zip(parts, claims, strict=True) if part.score >= 1 for claim in found}
    only_failed = failed - held
    predicates = {claim.predicate for claim in only_failed}
    for said in said_in(prompt, suite, predicates, but_at=known) if predicates else ():
        if only_failed & {*said.claims}:
            yield said.start, said.end
