"""Contradictions in a reply: an answer that other values, other fields or the prose after it deny is no answer.

A yes that is taken back must never count as a yes. What contradicts shows in words with one meaning (yes, false,
failed), and what corrects by words that begin a correction (wait, actually); prose is not understood beyond that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel

_YES = ("yes", "true", "pass", "passed", "passes", "present", "correct", "holds", "satisfied", "fulfilled", "visible")
_NO = ("no", "false", "fail", "failed", "fails", "absent", "missing", "incorrect", "wrong", "violated", "unsatisfied")
_NEGATED = ("not present", "not satisfied", "not fulfilled", "not visible", "not true", "not correct", "does not hold")
_VERDICTS = {**dict.fromkeys(_YES, True), **dict.fromkeys((*_NO, *_NEGATED, "unfulfilled", "not there"), False)}
_STATEMENTS = {
    word: verdict
    for word, verdict in _VERDICTS.items()
    if word in ("yes", "true", "no", "false", "fail", "failed", "fails", "incorrect", "wrong", *_NEGATED)
}
"""The words that are verdicts in prose too, where the others are often names of fields."""
_LONGEST_VERDICT = max(map(len, _VERDICTS)) + 10
_AROUND = " \t\r\n\"'`*_.!“”‘’()[]{}-#~•>/"

_CORRECTION = re.compile(
    r"\b(?:wait|actually|correction|corrected|oops|erratum|retract(?:ed)?|disregard|revis(?:e|ed|ion)|mistaken?"
    r"|scratch that|second thoughts?|i mean|i meant|my bad|my error|changed? my (?:mind|answer)|should (?:be|have been)"
    r"|on reflection|look(?:ing)? (?:again|closer)|closer (?:look|inspection)|(?:was|is) wrong)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.:;!?,\n()\[\]{}<>=|–—]+")
_LINKS = frozenset({"is", "was", "be", "answer", "verdict", "say", "it's", "to", "final"})
"""Words after which a yes or no is a verdict: "the answer is no"."""

_VERDICT_NAME = re.compile(
    r"answer|final|verdict|result|decision|conclusion|outcome|correct|revis|present|pass|hold|fulfil|satisf|visible"
    r"|exist|judg|overall|valid",
    re.IGNORECASE,
)
_NEGATIVE_NAME = re.compile(
    r"missing|absent|fail|wrong|incorrect|violat|uncertain|unsure|unclear|ambig|invalid|error|not_|without",
    re.IGNORECASE,
)
"""Names of fields whose true speaks against an answer, and whose false says nothing."""
_PREFIX = re.compile(r"^(?:final|corrected|revised|actual|real|updated|new|overall|correct|my|true)(?=.)")


def contradicting_field(answer: BaseModel, raw: object) -> str | None:
    """Return which field that nobody asked for contradicts the answer, as text; None if none does.

    Args:
        answer: the answer.
        raw: the same as plain data, with all fields.
    """
    for model, fields in _levels(answer, raw):
        known = _field_names(type(model))
        if known.keys() >= fields.keys():
            continue
        asked = {name: fields[name] for name in fields if name in known}
        for name in fields:
            against = None if name in known else _against(name, fields[name], asked)
            if against:
                return f'the field "{name}" was not asked for and contradicts {against}'
    return None


def contradicting_value(answer: BaseModel, raw: object, others: Iterable[object]) -> bool:
    """Return whether one of the later JSON values, which have not the form of the answer, says something else.

    Args:
        answer: the answer.
        raw: the same as plain data.
        others: the later values.
    """
    asked = raw if isinstance(raw, dict) else {}
    inner: set[str] | None = None
    for other in others:
        for entry in other if isinstance(other, list) else [other]:
            for name, value in entry.items() if isinstance(entry, dict) else ():
                if name in asked:
                    if _differs(value, asked[name]):
                        return True
                    continue
                if inner is None:  # an entry may be an example of the entries inside the answer
                    inner = {name for _, fields in _levels(answer, raw) if fields is not raw for name in fields}
                if name not in inner and _against(name, value, asked):
                    return True
    return False


def contradicting_prose(answer: BaseModel, prose: str) -> str | None:
    """Return how the prose after an answer contradicts it, as text; None if it does not."""
    cue = _CORRECTION.search(prose)
    if cue is not None:
        return f'the model corrects its answer after giving it: "{prose[cue.start() : cue.start() + 60]}"'
    said = set(_stated(prose))
    if said and _opposed(said, answer.model_dump()):
        return f"after its answer the model says {'yes' if True in said else 'no'}, which contradicts it"
    return None


def _against(name: str, value: object, asked: Mapping[str, object]) -> str | None:
    """Return what a field that was not asked for contradicts, as text; None if nothing."""
    plain = _plain_name(name)
    for known, wanted in asked.items():
        if _plain_name(known) == plain or _plain_name(known) == _PREFIX.sub("", plain):
            return f'"{known}"' if _differs(value, wanted) else None
    said = _said(name, value)
    return "the answer" if said and _opposed(said, asked, alone=not isinstance(value, dict | list)) else None


def _opposed(said: Collection[bool], answer: Mapping[str, object], *, alone: bool = True) -> bool:
    """Return whether verdicts oppose those of an answer: its own fields if they have any, or else all inside.

    Args:
        said: the verdicts.
        answer: the answer, as plain data.
        alone: whether each of them counts by itself; otherwise only all together, as for a list.
    """
    own = {verdict for value in answer.values() if (verdict := _verdict(value)) is not None}
    if own:
        return any((not verdict) in own for verdict in said) if alone else own.isdisjoint(said)
    inside = set(_leaf_verdicts(answer))
    return bool(inside) and inside.isdisjoint(said)


def _said(name: str, value: object) -> set[bool]:
    """Return the verdicts in a field that was not asked for."""
    said = set(_leaf_verdicts(value))
    if _VERDICT_NAME.search(name):
        if isinstance(value, str):
            said |= set(_stated(value))
        elif value in (0, 1):
            said.add(bool(value))
    if _NEGATIVE_NAME.search(name):
        return {False} if True in said else set()
    return said


def _verdict(value: object, words: Mapping[str, bool] = _VERDICTS) -> bool | None:
    """Return what a value says if it is a boolean or a word that means one; None for all else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= _LONGEST_VERDICT:
        return words.get(value.strip(_AROUND).lower())
    return None


def _leaf_verdicts(value: object) -> Iterator[bool]:
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            rest.extend(one.values())
        elif isinstance(one, list | tuple):
            rest.extend(one)
        elif (verdict := _verdict(one)) is not None:
            yield verdict


def _stated(prose: str) -> Iterator[bool]:
    """Yield the verdicts that prose states by themselves or at the end of a short clause: "No.", "the answer is no"."""
    for clause in _CLAUSE_END.split(prose):
        verdict = _verdict(clause, _STATEMENTS)
        if verdict is not None:
            yield verdict
        elif len(clause) <= 80:
            words = clause.lower().split()
            if len(words) > 1 and words[-2].strip(_AROUND) in _LINKS:
                last = _verdict(words[-1], _STATEMENTS)
                if last is not None:
                    yield last


def _differs(one: object, other: object) -> bool:
    """Return whether two values of one field say different things."""
    verdicts = _verdict(one), _verdict(other)
    if None not in verdicts:
        return verdicts[0] != verdicts[1]
    if isinstance(one, str) and isinstance(other, str):
        return one.split() != other.split()
    return one != other


def _levels(value: object, raw: object) -> Iterator[tuple[BaseModel, dict[str, object]]]:
    """Yield each object of an answer, with all fields as they were written."""
    from pydantic import BaseModel, RootModel

    rest = [(value, raw)]
    while rest:
        one, written = rest.pop()
        if isinstance(one, RootModel):
            rest.append((one.root, written))
        elif isinstance(one, BaseModel) and isinstance(written, dict):
            yield one, written
            names = _field_names(type(one))
            rest.extend((getattr(one, field), written.get(name)) for name, field in names.items())
        elif isinstance(one, list | tuple) and isinstance(written, list):
            if one and isinstance(one[0], BaseModel | list | dict | tuple):
                rest.extend(zip(one, written, strict=False))
        elif isinstance(one, dict) and isinstance(written, dict):
            rest.extend((inner, written.get(name)) for name, inner in one.items())


@cache
def _field_names(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the fields of a type, by their names in JSON."""
    return {field.alias or name: name for name, field in model.model_fields.items()}


def _plain_name(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
