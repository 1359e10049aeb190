"""What our own reading of a caption has against it; no model decides this."""

from __future__ import annotations

import re

from formalimg._util.text import truncate
from formalimg.authoring.concepts.answers import CaptionAnswer, RepeatedAnswer, ValidityAnswer
from formalimg.authoring.concepts.mix import Mix
from formalimg.authoring.fitting import fit_words
from formalimg.authoring.rejection import Rejection
from formalimg.suites import Concept, Pools, unasked, unsaid

_WRONG = re.compile(r"\W*wrong\b", re.IGNORECASE)
"""How chat models begin who would rather say no in the place of the caption, as the paper lets them."""


def written(answer: CaptionAnswer, mix: Mix, pools: Pools) -> str | Rejection:
    """The caption that the writer gives, if it says every concept and no other."""
    if not answer.possible:
        return Rejection("called impossible", _in_one_line(answer.why))
    if _WRONG.match(answer.caption):
        return Rejection("called impossible", _in_one_line(answer.caption))
    return _sound(answer.caption, mix, pools)


def checked(answer: ValidityAnswer | RepeatedAnswer, caption: str, mix: Mix, pools: Pools) -> str | Rejection:
    """The caption that stands after the check: the same, or the repeated one where it must be repeated."""
    if not answer.valid:
        return Rejection("check: invalid", _in_one_line(answer.why))
    if isinstance(answer, ValidityAnswer):
        return caption
    if _WRONG.match(answer.caption):
        return Rejection("check: invalid", _in_one_line(answer.caption))
    return _sound(answer.caption, mix, pools)


def _sound(caption: str, mix: Mix, pools: Pools) -> str | Rejection:
    words = fit_words(caption)
    if isinstance(words, Rejection):
        return words
    missing = unsaid(words, mix.concepts, mix.binding)
    if missing:
        return Rejection("concept not said", f"{_named(missing)}: {truncate(words, 200, 50)}")
    added = unasked(words, mix.concepts, mix.binding, pools)
    if added:
        return Rejection("something added", f"{_named(added)}: {truncate(words, 200, 50)}")
    return words


def _named(concepts: tuple[Concept, ...]) -> str:
    return ", ".join(f"{category} {value}" for category, value in concepts)


def _in_one_line(text: str) -> str:
    return truncate(" ".join(text.split()), 250, 50) or "no reason given"
