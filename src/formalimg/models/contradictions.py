"""Detection of replies that contradict themselves in later values, extra fields or the surrounding prose.

A yes that is retracted, or was never meant, must not count as a yes. In prose, only unambiguous words and phrases are
recognized. All functions run in linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel


_YES = ("yes", "true", "pass", "passed", "passes", "present", "correct", "holds", "satisfied", "fulfilled", "visible")
_NO = ("no", "false", "fail", "failed", "fails", "absent", "missing", "incorrect", "wrong", "violated", "unsatisfied")
_NEGATED = ("not present", "not satisfied", "not fulfilled", "not visible", "not true", "not correct", "does not hold")
_YES_ELSEWHERE = ("yep", "yeah", "ja", "oui", "sí", "да", "是", "是的", "はい", "예")
_NO_ELSEWHERE = ("nope", "nah", "definitely not", "nein", "non", "нет", "否", "不是", "いいえ", "아니요")
VERDICT_WORDS: Mapping[str, bool] = {  # the words that mean yes or no as values of fields
    **dict.fromkeys(_YES, True),
    **dict.fromkeys((*_NO, *_NEGATED, "unfulfilled", "not there"), False),
}
_STATEMENTS = {  # the words that are verdicts in prose too, where the others are often names of fields
    **{word: VERDICT_WORDS[word] for word in ("yes", "true", "no", "false", "fail", "failed", "fails", "incorrect")},
    **dict.fromkeys(_YES_ELSEWHERE, True),
    **dict.fromkeys(("wrong", *_NEGATED, *_NO_ELSEWHERE), False),
}
_LONGEST_VERDICT = max(map(len, (*VERDICT_WORDS, *_STATEMENTS))) + 10
_AROUND = " \t\r\n\"'`*_.!“”‘’()[]{}-#~•>/"
_CLAUSE_END = re.compile(r"[.:;!?,\n()\[\]{}<>=|–—→⇒。，：；！？]+|(?<=\s)-(?=\s)")
# words after which a yes or no is a verdict: "the answer is no"
_LINKS = frozenset({"is", "was", "be", "answer", "verdict", "say", "it's", "to", "final", "so", "thus", "clearly", "a"})
_LABEL = re.compile(r"\b(?:answer|verdict|conclusion|decision|result|judge?ment)\W*(?:is|was)?\W*$", re.IGNORECASE)
_CORRECTION = re.compile(
    r"\b(?:wait|actually|correction|corrected|oops|erratum|retract(?:ed)?|disregard|revis(?:e|ed|ion)|mistaken?"
    r"|scratch that|second thoughts?|i mean|i meant|my bad|my error|changed? my (?:mind|answer)|should (?:be|have been)"
    r"|on reflection|look(?:ing)? (?:again|closer)|closer (?:look|inspection)|(?:was|is) wrong)\b",
    re.IGNORECASE,
)
_CANNOT = (
    r"\b(?:(?:i|we)(?: am| was|'m)?(?: \w{2,9})? (?:cannot|can't|can not|could not|couldn't|unable to|not able to)"
    r"|unable to|not able to|do not have the ability to|don't have the ability to)(?: \w{4,9}ly)?"
)
_IMAGE = r"(?:images?|pictures?|photos?|photographs?|screenshots?|attachments?|visual (?:content|data|input)s?)"
_UNSEEN = re.compile(  # who says this has not seen the image, so that neither yes nor no counts
    rf"{_CANNOT} (?:see|view|look at|access|open|load|display|process|inspect|examine|interpret|analy[sz]e|perceive)"
    rf" (?:(?:the|this|that|these|those|your|any|an|a|actual|attached|provided|given|uploaded) ){{0,3}}{_IMAGE}\b"
    r"(?! (?:of|on (?:the|a)|frame|hanging))"
    rf"|\bno {_IMAGE} (?:(?:was|is|has been|were|to) )?(?:attached|provided|uploaded|included|received|given|supplied"
    r"|look at|analy[sz]e|visible to me)\b"
    rf"|\b{_IMAGE} (?:did not|didn't|does not|doesn't|failed to|could not be|couldn't be|cannot be|was not|is not)"
    r" (?:load|open|opened|loaded|displayed|display|attached|provided|come through|accessible|available to me)"
    rf"|\b(?:don't|do not|didn't|did not) (?:have (?:access to|vision)|receive|see) (?:(?:the|this|that|any|an|your) )?"
    rf"{_IMAGE}\b(?! of)"
    r"|\bif (?:i|we) (?:could|were able to) (?:see|view|look|open)\b"
    r"|\bi(?:'m| am) sorry, (?:but )?i (?:cannot|can't)"
    r"|\b(?:i|we) (?:cannot|can't|won't|will not) (?:help|assist|comply)"
    r"|\b(?:text[- ](?:only|based)|blind) (?:ai|model|language model|assistant)\b"
    r"|bild(?:er)? (?:leider )?nicht (?:sehen|öffnen|ansehen)|ne (?:peux|vois) pas (?:voir )?(?:l'|cette |d')images?"
    r"|no puedo (?:ver|abrir) (?:la|esta) imagen"
    r"|(?:无法|不能)(?:查看|看到|打开)(?:这张|该)?(?:图|照片)|看不到(?:图|照片)",
    re.IGNORECASE,
)
# Who says this has not decided, so that a yes does not count, and a no only if it is drawn from it in words.
_UNDECIDED = re.compile(
    rf"(?:{_CANNOT} (?:tell|determine|say|decide|judge|verify|answer|assess|conclude|know|confirm)"
    r"|\b(?:i|we) (?:do not|don't|did not|didn't) (?:\w{4,9}ly )?know"
    r"|\b(?:i|we) have no idea|\b(?:i am|i'm) (?:not sure|unsure))"
    r"(?: (?:this|that|it|so|the question|the answer))?(?: from (?:the|this|that) (?:image|picture|photo))?"
    r"\s*(?:$|[.!;:,)\n{`]|whether\b|if\b)"
    r"|\b(?:answer|verdict|decision|conclusion)\W*(?:is|was|:)?\W*"
    r"(?:unknown|unclear|n/?a|undetermined|inconclusive|uncertain|undecided|unsure|none|null)\b"
    r"|无法(?:判断|确定)",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(  # the end of the words before an object that is quoted and not said
    r"(?:\b(?:for example|an example|example|for instance|e\.g|such as|would look|template|placeholder|sample"
    r"|format was|format would)\b\.?[\w\s]{0,25}|\blike(?: this| that| so)?)[\s:,(–—-]*(?:```\w*\s*|[`'\"“])?$",
    re.IGNORECASE,
)


def read_verdict(value: object, words: Mapping[str, bool] = VERDICT_WORDS) -> bool | None:
    """Return the verdict if the value is a boolean or a yes/no word, else None."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= _LONGEST_VERDICT:
        return words.get(value.strip(_AROUND).lower())
    return None


def find_verdicts(prose: str) -> Iterator[tuple[bool, bool]]:
    """Yield the verdicts in prose that form a clause or end a short one, such as "No." or "the answer is no".

    Each comes with whether it is labelled as the answer, as in "Answer: no".
    """
    before = ""
    for clause in _CLAUSE_END.split(prose):
        verdict = read_verdict(clause, _STATEMENTS)
        if verdict is not None:
            yield verdict, (_LABEL.search(before[-40:]) is not None)
        elif len(clause) <= 80:
            words = clause.strip(_AROUND).lower().split()
            if len(words) > 1 and words[-2].strip(_AROUND) in _LINKS and words[-3:-2] != ["there"]:
                last = read_verdict(words[-1], _STATEMENTS)
                if last is not None:
                    yield last, (_LABEL.search(" ".join(words[:-1])) is not None)
        if clause.strip(_AROUND):
            before = clause


def plain_prose(text: str) -> str:
    """Normalize letters, whitespace and apostrophes, and remove invisible characters."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    return "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")


def find_written_field(prose: str, names: Collection[str]) -> str | None:
    """Return the first field name that prose contains in braces, as in `{answer: no}`, or None."""
    words = [re.escape(name) for name in names if any(letter.isalpha() for letter in name)]
    if not words or "{" not in prose:
        return None
    depth = 0
    for token in re.finditer(rf"[{{}}]|\b({'|'.join(words)})\b\W?\s{{0,9}}[:=]", prose, re.IGNORECASE):
        if token[1] is None:
            depth = max(0, depth + (1 if token[0] == "{" else -1))
        elif depth:
            return token[1]
    return None


_VERDICT_NAME = re.compile(
    r"answer|final|verdict|result|decision|conclusion|outcome|correct|revis|present|pass|hold|fulfil|satisf|visible"
    r"|exist|judg|overall|valid",
    re.IGNORECASE,
)
_NEGATIVE_NAME = re.compile(  # names of fields whose true speaks against an answer, and whose false says nothing
    r"missing|absent|fail|wrong|incorrect|violat|uncertain|unsure|unclear|ambig|invalid|error|not_|without",
    re.IGNORECASE,
)
_REMARKS = frozenset(
    {"observation", "observations", "reasoning", "because"}
)  # fields in which judges say what they see
_PREFIX = re.compile(r"^(?:final|corrected|revised|actual|real|updated|new|overall|correct|my|true)(?=.)")


def contradicting_field(answer: BaseModel, raw: object) -> str | None:
    """Return a message about the first unrequested field that contradicts the answer, or None."""
    for model, fields in _walk_levels(answer, raw):
        field_names = _field_names(type(model))
        answers = {name: fields[name] for name in fields if name in field_names}
        for name in fields:
            against = None if name in field_names else _find_conflict(name, fields[name], answers)
            if against:
                return f'the field "{name}" was not asked for and contradicts {against}'
    return None


def contradicting_value(answer: BaseModel, raw: object, values: Iterable[object]) -> bool:
    """Return whether a later JSON value contradicts the answer."""
    answers = raw if isinstance(raw, dict) else {}
    inner: set[str] | None = None
    for later in values:
        for entry in later if isinstance(later, list) else [later]:
            for name, value in entry.items() if isinstance(entry, dict) else ():
                if name in answers:
                    if _are_different(value, answers[name]):
                        return True
                    continue
                if inner is None:  # an entry may be an example of the entries inside the answer
                    inner = {name for _, fields in _walk_levels(answer, raw) if fields is not raw for name in fields}
                if name not in inner and _find_conflict(name, value, answers):
                    return True
    return False


def contradicting_prose(answer: BaseModel, raw: object, before: str, after: str) -> str | None:
    """Return a message about how the prose around an answer contradicts it, or None."""
    before, after = plain_prose(before), plain_prose(after)
    plain = answer.model_dump()
    if cue := _CORRECTION.search(after):
        return f'the model corrects its answer after giving it: "{after[cue.start() : cue.start() + 60]}"'
    if _EXAMPLE.search(before[-80:]):
        return "the model gives an example, and no answer"
    verdicts = {verdict for verdict, _ in find_verdicts(after)}
    if verdicts and _are_opposed(verdicts, plain):
        return f"after its answer the model says {'yes' if True in verdicts else 'no'}, which contradicts it"
    statements = list(find_verdicts(before))
    labelled = [statement for statement in statements if statement[1]]
    for verdict, is_labelled in (*statements[-1:], *labelled[-1:]):
        # Reasoning may answer yes to some question on the way to a no; the other way round it is not trusted.
        if (is_labelled or not verdict) and _are_opposed({verdict}, plain, inner=True):
            return f"before its answer the model says {'yes' if verdict else 'no'}, which contradicts it"
    names = {name for model, _ in _walk_levels(answer, raw) for name in _field_names(type(model))}
    for prose in (before, after):
        name = find_written_field(prose, names)
        if name is not None:
            return f'the model writes "{name}" a second time, in a form that is not JSON'
        cue = _UNDECIDED.search(prose)
        if cue and (True in _leaf_verdicts(plain) or all(verdict for verdict, _ in find_verdicts(prose[cue.end() :]))):
            return f'the model says that it cannot decide: "{cue[0].strip()}"'
    return None


def unseen_image(answer: BaseModel, raw: object, prose: str) -> str | None:
    """Return a message if the reply states that the model could not see the image, else None."""
    remarks = [
        fields.get(name)
        for model, fields in _walk_levels(answer, raw)
        for name in _field_names(type(model))
        if name in _REMARKS
    ]
    texts = [text for remark in remarks for text in (remark if isinstance(remark, list) else [remark])]
    for text in (prose, *(text for text in texts if isinstance(text, str))):
        if cue := _UNSEEN.search(plain_prose(text)):
            return f'the model says that it cannot look: "{cue[0]}"'
    return None


def _find_conflict(name: str, value: object, answers: Mapping[str, object]) -> str | None:
    """Return a description of the answer that an unrequested field contradicts, or None."""
    plain = _plain_name(name)
    for field_name, expected in answers.items():
        if _plain_name(field_name) == plain or _plain_name(field_name) == _PREFIX.sub("", plain):
            return f'"{field_name}"' if _are_different(value, expected) else None
    verdicts, alone = _field_verdicts(name, value), not isinstance(value, dict | list)
    return "the answer" if verdicts and _are_opposed(verdicts, answers, alone=alone) else None


def _are_opposed(
    verdicts: Collection[bool], answer: Mapping[str, object], *, alone: bool = True, inner: bool = False
) -> bool:
    """Return whether verdicts oppose those in the answer's own fields or, if it has none, all nested ones."""
    inside = set(_leaf_verdicts(answer))
    if inner:
        return bool(inside) and inside.isdisjoint(verdicts)
    direct = {verdict for value in answer.values() if (verdict := read_verdict(value)) is not None}
    if direct:
        return any((not verdict) in direct for verdict in verdicts) if alone else direct.isdisjoint(verdicts)
    return bool(inside) and inside.isdisjoint(verdicts)


def _field_verdicts(name: str, value: object) -> set[bool]:
    verdicts = set(_leaf_verdicts(value))
    if _VERDICT_NAME.search(name):
        if isinstance(value, str):
            verdicts |= {verdict for verdict, _ in find_verdicts(value)}
        elif value in (0, 1):
            verdicts.add(bool(value))
    if _NEGATIVE_NAME.search(name):
        return {False} if True in verdicts else set()
    return verdicts


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


def _are_different(first: object, second: object) -> bool:
    """Return whether two values of the same field differ in meaning."""
    verdicts = read_verdict(first), read_verdict(second)
    if None not in verdicts:
        return verdicts[0] != verdicts[1]
    if isinstance(first, str) and isinstance(second, str):
        return first.split() != second.split()
    return first != second


def _walk_levels(value: object, raw: object) -> Iterator[tuple[BaseModel, dict[str, object]]]:
    """Yield each nested object of an answer together with all its raw fields."""
    from pydantic import BaseModel, RootModel

    rest = [(value, raw)]
    while rest:
        part, written = rest.pop()
        if isinstance(part, RootModel):
            rest.append((part.root, written))
        elif isinstance(part, BaseModel) and isinstance(written, dict):
            yield part, written
            names = _field_names(type(part))
            rest.extend((getattr(part, field), written.get(name)) for name, field in names.items())
        elif isinstance(part, list | tuple) and isinstance(written, list):
            if part and isinstance(part[0], BaseModel | list | dict | tuple):
                rest.extend(zip(part, written, strict=False))
        elif isinstance(part, dict) and isinstance(written, dict):
            rest.extend((inner, written.get(name)) for name, inner in part.items())


@cache
def _field_names(model: type[BaseModel]) -> Mapping[str, str]:
    return {field.alias or name: name for name, field in model.model_fields.items()}


def _plain_name(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
