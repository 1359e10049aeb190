"""Whether an outcome was described and nothing else was touched."""

from __future__ import annotations

import re
from collections.abc import Sequence

from formalimg._util.text import truncate
from formalimg.authoring.counterfactuals.answers import DescriptionAnswer, SamenessAnswer
from formalimg.authoring.counterfactuals.choices import Told
from formalimg.authoring.counterfactuals.fielding import fit_fields, in_one_line
from formalimg.authoring.counterfactuals.roots import roots, shared
from formalimg.authoring.counterfactuals.safety import unsafe_word
from formalimg.authoring.rejection import Reason, Rejection

_REPEATED = 0.8
"""A description with this part of the words of what is kept says it again."""

_WORD = re.compile(r"[a-z]+")


def described_prompt(answer: DescriptionAnswer, told: Told) -> str | Rejection:
    """The explicit prompt with the description in place of the outcome; all else stays, letter by letter."""
    parts = _around(answer.outcome, told)
    if isinstance(parts, Rejection):
        return parts
    before, after = parts
    texts = fit_fields({"described": answer.described})
    if isinstance(texts, Rejection):
        return texts
    described = texts["described"]
    if not described[0].isupper() or described[-1] not in ".!?":
        return Rejection("form", f"no sentence: {truncate(described, 200, 50)}")
    unsafe = unsafe_word(described)
    if unsafe is not None:
        return Rejection("unsafe", f"the description {unsafe}")
    kept = before + after
    if roots(kept) and shared(kept, described) >= _REPEATED:
        return Rejection("more than the outcome", "the law or the scene is said again")
    return _still_named(answer.named, answer.outcome, described, told) or f"{before}{described}{after}"


def objection(answer: SamenessAnswer) -> Rejection | None:
    """Why the checker would not use a description; None if it would."""
    found: tuple[tuple[bool, Reason], ...] = (
        (answer.safe, "check: unsafe"),
        (answer.same, "check: another outcome"),
        (answer.nameless, "check: named"),
    )
    return next((Rejection(reason, in_one_line(answer.why)) for fine, reason in found if not fine), None)


def _around(quoted: str, told: Told) -> tuple[str, str] | Rejection:
    """What stands before and after the outcome in the explicit prompt."""
    prompt, shown = told.explicit.prompt, truncate(quoted, 200, 50)
    if told.outcome is not None:
        if quoted.strip() != told.outcome.strip():
            return Rejection("outcome not quoted", f"not the marked part: {shown}")
        return prompt.removesuffix(told.outcome), ""
    if not quoted.strip() or prompt.count(quoted) != 1:
        return Rejection("outcome not quoted", f"not in the prompt, or more than once: {shown}")
    before, _, after = prompt.partition(quoted)
    if not (before + after).strip() or before[-1:].isalnum() or after[:1].isalnum():
        return Rejection("outcome not quoted", f"all of the prompt, or part of a word: {shown}")
    if quoted.strip() in told.implicit or len(roots(quoted) - roots(told.implicit)) < 2:
        return Rejection("more than the outcome", f"this is of the law or the scene: {shown}")
    return before, after


def _still_named(named: Sequence[str], outcome: str, described: str, told: Told) -> Rejection | None:
    """The names must be those of the outcome, tell something new, and be gone."""
    told_before, given, left = (_stems(text) for text in (told.implicit, outcome, described))
    names = [stem for name in named for stem in sorted(_stems(name))]
    strange = [stem for stem in names if stem not in given]
    if strange or not set(names) - told_before:
        return Rejection("not described", "the names given are not those of what comes of it")
    kept = [stem for stem in names if stem in left]
    return Rejection("not described", f"says {kept[0]!r} all the same") if kept else None


def _stems(text: str) -> frozenset[str]:
    """Words without common endings."""
    return frozenset(re.sub(r"(?<=\w{3})(ing|ed|es|s|e)$", "", word) for word in _WORD.findall(text.lower()))
