"""Findings: the faults of a judge in plain words, from counts and their intervals, never from a single number.

A fault is named only if the data leaves no other reading: the whole interval must lie on the bad side. Groups are many,
so their intervals have a confidence of 99 %.
"""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.judges.certificates.certificate import (
    AnswerCounts,
    CountedShare,
    InvarianceCounts,
    JudgeCertificate,
    joined_names,
    level_label,
    unscored_share,
)
from formalimg.judges.certificates.nuisances import AGAIN

_GROUP_CONFIDENCE = 0.99
_HIGH, _LOW = 0.9, 0.1
_MUCH_UNSCORED = 0.02
_MUCH_CHANGED = 0.05
_MIN_GROUP = 5
"""Groups with fewer answers are not spoken of."""

_PLURALS = {
    "object": "objects",
    "attribute": "attributes",
    "relation": "relations",
    "count": "counts",
    "condition": "conditions",
    "style": "styles",
    "spatial": "relations",
    "color": "colours",
    "number": "numbers",
    "shape": "shapes",
    "size": "sizes",
    "texture": "textures",
}
_WORDS = {
    "Has": "colours",
    "HasColor": "colours",
    "HasMaterial": "materials",
    "HasShape": "shapes",
    "HasState": "states",
    "IsStyle": "styles",
    "Is": "classes",
}
_NUISANCES = {
    "brightness": "another brightness",
    "JPEG": "JPEG",
    "border": "a border",
    "mirror": "left and right exchanged",
}


def find_faults(certificate: JudgeCertificate) -> tuple[str, ...]:
    """Return the faults that the counts of a certificate show, in words, the gravest first."""
    faults = [*_unscored(certificate), *(general := list(_general(certificate)))]
    if not general:
        faults += [*_errors(certificate), *_kinds(certificate), *_groups(certificate)]
    faults += [*_noise(certificate)]
    faults += [
        fault
        for name in dict.fromkeys(it.nuisance for it in certificate.nuisances)
        for fault in _sway(certificate, name)
    ]
    whole = certificate.whole
    if not faults and (whole.true or whole.false):
        shares = f"sensitivity {whole.sensitivity}, specificity {whole.specificity}"
        return (f"no fault found with {certificate.scenes} scenes: of whole images, {shares}",)
    return tuple(faults)


def _unscored(certificate: JudgeCertificate) -> Iterator[str]:
    share = unscored_share(certificate)
    if share.whole and share.part == share.whole:
        yield f"gives no verdict at all: {share.part} of {share.whole} drawings are unscored"
    elif share.interval().low > _MUCH_UNSCORED:
        yield f"unscored {_percent(share)}: {share.part} of {share.whole} drawings have no verdict"


def _general(certificate: JudgeCertificate) -> Iterator[str]:
    """Yield a fault that concerns all answers, about the flipped parts or about whole images."""
    whole, clauses = certificate.whole, certificate.clauses
    for counts, what in ((clauses, "almost everything"), (whole, "almost every image")):
        if not (counts.true and counts.false):
            continue
        shares = f"sensitivity {counts.sensitivity}, specificity {counts.specificity}"
        if _is_low(counts.specificity) and _is_high(counts.sensitivity):
            yield f"answers yes to {what}: {shares}"
            return
        if _is_low(counts.sensitivity) and _is_high(counts.specificity):
            yield f"answers no to {what}: {shares}"
            return
    if clauses.true and clauses.false and _is_at_chance(clauses, 0.95):
        yield (
            f"cannot tell true from false, no better than chance: says yes to {clauses.yes_to_true} of {clauses.true} "
            f"true clauses and to {clauses.yes_to_false.part} of {clauses.false} false ones"
        )


def _is_low(share: CountedShare) -> bool:
    return share.value is not None and share.value <= _LOW and share.interval().high < 0.5


def _is_high(share: CountedShare) -> bool:
    return share.value is not None and share.value >= _HIGH and share.interval().low > 0.5


def _is_at_chance(counts: AnswerCounts, confidence: float) -> bool:
    """Return whether a yes is about as frequent where it is wrong as where it is right: each could be the other."""
    true, false = counts.sensitivity, counts.yes_to_false
    return (
        true.interval(confidence).low <= (false.value or 0.0) and (true.value or 0.0) <= false.interval(confidence).high
    )


def _errors(certificate: JudgeCertificate) -> Iterator[str]:
    """Yield whether a judge errs often, one way or the other."""
    whole = certificate.whole
    if whole.sensitivity.interval().high < _HIGH:
        yield f"often fails images that show everything: sensitivity {whole.sensitivity}"
    if whole.specificity.interval().high < _HIGH:
        yield f"often passes images in which something is false: specificity {whole.specificity}"


def _kinds(certificate: JudgeCertificate) -> Iterator[str]:
    """Yield the kinds and predicates that a judge does not see, or sees worse than the others."""
    blind: set[str] = set()
    for by, names in (("kind", _PLURALS), ("word", _WORDS)):
        groups = certificate.by(by)
        for counts in groups:
            name = names.get(counts.value, counts.value)
            if min(counts.true, counts.false) < _MIN_GROUP or name in blind:
                continue
            others = _sum([each for each in groups if each is not counts])
            fault = _blindness(counts) or _weakness(counts, others)
            if fault:
                blind.add(name)
                yield fault.format(name=name)


def _blindness(counts: AnswerCounts) -> str:
    if counts.specificity.interval(_GROUP_CONFIDENCE).high < 0.5 and _is_at_chance(counts, _GROUP_CONFIDENCE):
        return (
            f"does not see {{name}}, at chance: says yes to {counts.yes_to_true} of {counts.true} true ones and to "
            f"{counts.yes_to_false.part} of {counts.false} false ones"
        )
    if counts.sensitivity.interval(_GROUP_CONFIDENCE).high < 0.5 and _is_at_chance(counts, _GROUP_CONFIDENCE):
        return (
            f"does not find {{name}}: says yes to {counts.yes_to_true} of {counts.true} true ones and no to "
            f"{counts.no_to_false} of {counts.false} false ones"
        )
    return ""


def _weakness(counts: AnswerCounts, others: AnswerCounts) -> str:
    weak = [
        f"{word} {share}, elsewhere {other}"
        for word, share, other in (
            ("sensitivity", counts.sensitivity, others.sensitivity),
            ("specificity", counts.specificity, others.specificity),
        )
        if other.whole and share.interval(_GROUP_CONFIDENCE).high < other.interval(_GROUP_CONFIDENCE).low
    ]
    return f"{{name}} weak: {joined_names(weak)}" if weak else ""


def _groups(certificate: JudgeCertificate) -> Iterator[str]:
    """Yield where answers get worse: small objects, many objects, high levels."""
    phrases = {
        "size": "weak where the smallest object has {} thousandths of the image",
        "objects": "weak with {} objects",
        "level": "weak at {}",
    }
    for by, phrase in phrases.items():
        groups = certificate.by(by)
        for counts in groups:
            weak = _weakness(counts, _sum([each for each in groups if each is not counts]))
            if weak and min(counts.true, counts.false) >= _MIN_GROUP:
                value = level_label(suite_of(certificate.suite), counts.value) if by == "level" else counts.value
                yield weak.format(name=phrase.format(value).removeprefix("weak ")).replace(" weak:", ", weak:")


def _sum(groups: list[AnswerCounts]) -> AnswerCounts:
    names = ("true", "yes_to_true", "false", "no_to_false")
    return AnswerCounts("", "", *(sum(getattr(each, name) for each in groups) for name in names))


def _again(certificate: JudgeCertificate) -> list[InvarianceCounts]:
    return [each for each in certificate.nuisances if each.nuisance == AGAIN and each.asked]


def _noise(certificate: JudgeCertificate) -> Iterator[str]:
    """Yield whether answers change when the same is asked again."""
    worst = max(_again(certificate), key=lambda each: each.changed.value or 0.0, default=None)
    if worst is not None and worst.changed.interval().low > _MUCH_CHANGED:
        yield f"noisy: {worst.changed.part} of {worst.asked} answers changed when asked again"


def _sway(certificate: JudgeCertificate, nuisance: str) -> Iterator[str]:
    """Yield how a nuisance changes answers, by whichever of verdicts and clauses it changes more."""
    found = [each for each in certificate.nuisances if each.nuisance == nuisance and each.asked >= _MIN_GROUP]
    if not found:
        return
    worst = max(found, key=lambda each: each.changed.value or 0.0)
    noise = max((each.changed.interval().high for each in _again(certificate)), default=0.0)
    if nuisance != AGAIN and worst.changed.interval(_GROUP_CONFIDENCE).low > max(noise, _MUCH_CHANGED):
        yield _swayed(worst, worst.changed)


def _swayed(counts: InvarianceCounts, changed: CountedShare) -> str:
    by = _NUISANCES.get(counts.nuisance, counts.nuisance)
    for way, count in (("changed to yes", counts.to_yes), ("changed to no", counts.to_no)):
        if CountedShare(count, changed.part).interval().low > 0.5:
            return f"swayed by {by}: {count} of {counts.asked} answers {way}"
    if CountedShare(counts.unscored, changed.part).interval().low > 0.5:
        return f"gives no verdict with {by}: {counts.unscored} of {counts.asked} images are unscored"
    return (
        f"swayed by {by}: {changed.part} of {counts.asked} answers changed ({counts.to_yes} to yes, {counts.to_no} to "
        f"no, {counts.unscored} unscored)"
    )


def _percent(share: CountedShare) -> str:
    return f"{100 * (share.value or 0.0):.0f} %"
