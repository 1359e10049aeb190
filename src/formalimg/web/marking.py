"""The words of a prompt, with those marked that failed parts speak of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from formalimg.judges import Part
from formalimg.suites import Suite, lexicon

_QUOTED = re.compile(r"'([^']+)'")
_PREDICATE = re.compile(r"\(([A-Z]\w*)")


class Phrase(NamedTuple):
    """Some words of a prompt; do they speak of something that failed?"""

    text: str
    is_at_fault: bool


def marked(prompt: str, parts: Sequence[Part], suite: Suite) -> list[Phrase]:
    """The prompt in pieces. What stands in a part that holds is not marked: nobody knows which of the two is meant."""
    failed = {phrase for part in parts if part.score < 1 for phrase in _phrases(part, suite)}
    held = {phrase for part in parts if part.score >= 1 for phrase in _phrases(part, suite)}
    wanted = sorted(failed - held, key=lambda phrase: (-len(phrase), phrase))
    if not wanted:
        return [Phrase(prompt, False)]
    pattern = "|".join(map(re.escape, wanted))
    # A plural is the same thing.
    pieces = re.split(rf"(?i)(?<!\w)((?:{pattern})(?:e?s)?)(?!\w)", prompt)
    return [Phrase(text, number % 2 == 1) for number, text in enumerate(pieces) if text]


def _phrases(part: Part, suite: Suite) -> Iterator[str]:
    """How a part may be said in a prompt: by its values, by its words, or by its predicates in English."""
    if suite.kind != "formula":
        yield from (word for word in part.about if word.strip())
        return
    yield from _QUOTED.findall(part.name)
    words = lexicon(suite.name)
    for predicate in _PREDICATE.findall(part.name):
        if predicate in words.relations:
            yield from words.relations[predicate].phrases
        yield from words.places.get(predicate, ())
        yield from (corner.phrase for corner in words.corners if predicate in corner.places)
