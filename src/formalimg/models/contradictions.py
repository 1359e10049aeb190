"""Contradictions in a reply: an answer that other values, other fields or the words around it deny is no answer.

A yes that is taken back, or that was never meant, must not count as a yes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from formalimg.models.reply_prose import (
    ends_in_example,
    find_blindness,
    find_correction,
    find_indecision,
    find_written_field,
    plain_prose,
    read_verdict,
    stated_verdicts,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

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
_REMARKS = frozenset({"observation", "observations", "reasoning", "because"})
"""The fields in which judges say what they see."""
_PREFIX = re.compile(r"^(?:final|corrected|revised|actual|real|updated|new|overall|correct|my|true)(?=.)")


def contradicting_field(answer: BaseModel, raw: object) -> str | None:
    """Return which field that nobody asked for contradicts the answer, as text; None if none does."""
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
    """Return whether one of the later JSON values, which have not the form of the answer, says something else."""
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


def contradicting_prose(answer: BaseModel, raw: object, before: str, after: str) -> str | None:
    """Return how the prose around an answer contradicts it, as text; None if it does not."""
    before, after = plain_prose(before), plain_prose(after)
    plain = answer.model_dump()
    correction = find_correction(after)
    if correction is not None:
        return f'the model corrects its answer after giving it: "{correction}"'
    if ends_in_example(before):
        return "the model gives an example, and no answer"
    said = {stated.verdict for stated in stated_verdicts(after)}
    if said and _opposed(said, plain):
        return f"after its answer the model says {'yes' if True in said else 'no'}, which contradicts it"
    stated = list(stated_verdicts(before))
    for last in (stated[-1:], [one for one in stated if one.is_labelled][-1:]):
        # Reasoning may answer yes to some question on the way to a no; the other way round it is not trusted.
        if any((one.is_labelled or not one.verdict) and _opposed({one.verdict}, plain, inner=True) for one in last):
            return f"before its answer the model says {'yes' if last[0].verdict else 'no'}, which contradicts it"
    names = {name for model, _ in _levels(answer, raw) for name in _field_names(type(model))}
    for prose in (before, after):
        name = find_written_field(prose, names)
        if name is not None:
            return f'the model writes "{name}" a second time, in a form that is not JSON'
        undecided = find_indecision(prose)
        if undecided is not None and (
            True in _leaf_verdicts(plain) or not any(not one.verdict for one in stated_verdicts(undecided[1]))
        ):
            return f'the model says that it cannot decide: "{undecided[0]}"'
    return None


def unseen_image(answer: BaseModel, raw: object, prose: str) -> str | None:
    """Return how a reply says that the image was not seen, as text; None if it does not."""
    for text in (prose, *_remarks(answer, raw)):
        unseen = find_blindness(plain_prose(text))
        if unseen is not None:
            return f'the model says that it cannot look: "{unseen}"'
    return None


def _remarks(answer: BaseModel, raw: object) -> Iterator[str]:
    """Yield what an answer says of what was seen."""
    for model, fields in _levels(answer, raw):
        for name in _field_names(type(model)):
            value = fields.get(name)
            if name in _REMARKS:
                yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))


def _against(name: str, value: object, asked: Mapping[str, object]) -> str | None:
    """Return what a field that was not asked for contradicts, as text; None if nothing."""
    plain = _plain_name(name)
    for known, wanted in asked.items():
        if _plain_name(known) == plain or _plain_name(known) == _PREFIX.sub("", plain):
            return f'"{known}"' if _differs(value, wanted) else None
    said = _said(name, value)
    return "the answer" if said and _opposed(said, asked, alone=not isinstance(value, dict | list)) else None


def _opposed(said: Collection[bool], answer: Mapping[str, object], *, alone: bool = True, inner: bool = False) -> bool:
    """Return whether verdicts oppose those of an answer: its own fields if they have any, or else all inside."""
    inside = set(_leaf_verdicts(answer))
    if inner:
        return bool(inside) and inside.isdisjoint(said)
    own = {verdict for value in answer.values() if (verdict := read_verdict(value)) is not None}
    if own:
        return any((not verdict) in own for verdict in said) if alone else own.isdisjoint(said)
    return bool(inside) and inside.isdisjoint(said)


def _said(name: str, value: object) -> set[bool]:
    """Return the verdicts in a field that was not asked for."""
    said = set(_leaf_verdicts(value))
    if _VERDICT_NAME.search(name):
        if isinstance(value, str):
            said |= {stated.verdict for stated in stated_verdicts(value)}
        elif value in (0, 1):
            said.add(bool(value))
    if _NEGATIVE_NAME.search(name):
        return {False} if True in said else set()
    return said


def _leaf_verdicts(value: object) -> Iterator[bool]:
    rest = [value]
    while rest:
        inner = rest.pop()
        if isinstance(inner, dict):
            rest.extend(inner.values())
        elif isinstance(inner, list | tuple):
            rest.extend(inner)
        elif (verdict := read_verdict(inner)) is not None:
            yield verdict


def _differs(one: object, other: object) -> bool:
    """Return whether two values of one field say different things."""
    verdicts = read_verdict(one), read_verdict(other)
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
