"""Findings: the faults of a judge in plain words, from counts and exact tests, never from a single number.

A fault is named if it is large and chance is no explanation for it, at the level of `significance`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

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
from formalimg.judges.certificates.group_names import COLORS, color_words, group_name
from formalimg.judges.certificates.nuisances import AGAIN, TEXT
from formalimg.judges.certificates.significance import HIGH, interval_confidence, is_lower, level_of_tests

_LOW = 0.1
_MUCH_UNSCORED = 0.02
_MUCH_CHANGED = 0.06
"""A judge that errs at random in 3 % of its answers changes 5.8 % of them, which is not called noisy."""
_NO_SKILL = 0.25
"""A group is at chance if a yes is at most so much more frequent where it is right than where it is wrong."""

_NUISANCES = {
    "brightness": "another brightness",
    "JPEG": "JPEG",
    "border": "a border",
    "mirror": "left and right exchanged",
}


_Phrase = Callable[[str, AnswerCounts, AnswerCounts], str]
"""Formats the fault of groups, from their names, their counts, and those of all others."""


def find_faults(certificate: JudgeCertificate) -> tuple[str, ...]:
    """Return the faults that the counts of a certificate show, in words, the gravest first; then what is not measured.

    That there is no fault is said only of what is measured.
    """
    level = level_of_tests(certificate)
    faults = [*_unscored(certificate, level), *(general := list(_general(certificate)))]
    if not general:
        faults += _errors(certificate, level)
        faults += _kinds(certificate, level) or _places(certificate, level)
    faults += _noise(certificate, level)
    for name in dict.fromkeys(each.nuisance for each in certificate.nuisances):
        faults += _sway(certificate, name, level)
    rest = _not_measured(certificate)
    if faults:
        return (*faults, *rest)
    return ("; ".join([_all_clear(certificate), *rest]),)


def _all_clear(certificate: JudgeCertificate) -> str:
    """Return that there is no fault in what is measured."""
    names = dict.fromkeys(group_name(certificate, each) for each in certificate.groups if each.is_measured)
    names |= dict.fromkeys(each.nuisance for each in certificate.nuisances if each.is_measured)
    whole = certificate.whole
    if not names:
        return f"nothing is measured with {certificate.scenes} scenes: give more"
    shares = f"of whole images, sensitivity {whole.sensitivity}, specificity {whole.specificity}"
    return f"no fault found in {', '.join(names)} ({shares})"


def _not_measured(certificate: JudgeCertificate) -> list[str]:
    few = certificate.not_measured
    if not few:
        return []
    names = {each.value: group_name(certificate, each) for each in certificate.groups}
    return [f"not measured: {', '.join(f'{names.get(value, value)} ({count})' for value, count in few.items())}"]


# --- faults


def _unscored(certificate: JudgeCertificate, level: float) -> Iterator[str]:
    share = unscored_share(certificate)
    if share.whole and share.part == share.whole:
        yield f"gives no verdict at all: {share.part} of {share.whole} drawings are unscored"
    elif share.interval(interval_confidence(level)).low > _MUCH_UNSCORED:
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
    if clauses.is_measured and _is_at_chance(clauses):
        yield (
            f"cannot tell true from false, no better than chance: says yes to {clauses.yes_to_true} of {clauses.true} "
            f"true clauses and to {clauses.yes_to_false.part} of {clauses.false} false ones"
        )


def _is_low(share: CountedShare) -> bool:
    return share.value is not None and share.value <= _LOW and share.interval().high < 0.5


def _is_high(share: CountedShare) -> bool:
    return share.value is not None and share.value >= HIGH and share.interval().low > 0.5


def _is_at_chance(counts: AnswerCounts) -> bool:
    """Return whether a yes is about as frequent where it is wrong as where it is right: each could be the other."""
    true, false = counts.sensitivity, counts.yes_to_false
    return (
        true.interval().low <= (false.value or 0.0)
        and (true.value or 0.0) <= false.interval().high
        and (true.value or 0.0) - (false.value or 0.0) <= _NO_SKILL
    )


def _errors(certificate: JudgeCertificate, level: float) -> Iterator[str]:
    """Yield whether a judge errs often, one way or the other."""
    whole, confidence = certificate.whole, interval_confidence(level)
    if whole.sensitivity.interval(confidence).high < HIGH:
        yield f"often fails images that show everything: sensitivity {whole.sensitivity}"
    if whole.specificity.interval(confidence).high < HIGH:
        yield f"often passes images in which something is false: specificity {whole.specificity}"


def _kinds(certificate: JudgeCertificate, level: float) -> list[str]:
    """Return the kinds that a judge does not see, or sees worse than the others; then the same of predicates."""
    faults: list[str] = []
    named: set[str] = set()
    told: list[AnswerCounts] = []
    words = [each for each in certificate.groups if each.by == "word"]
    for groups, rivals in ((certificate.by("kind"), certificate.by("kind")), (words, certificate.by("word"))):
        by_phrase: dict[_Phrase, list[AnswerCounts]] = {}
        for counts in groups:
            others = _sum(each for each in rivals if each is not counts)
            if counts.is_measured and group_name(certificate, counts) not in named and _is_weak(counts, others, level):
                by_phrase.setdefault(_phrase(counts), []).append(counts)
        for phrase, weak in by_phrase.items():
            others = _sum(each for each in rivals if each not in weak)
            # Predicates of one fault share a line, unless it would say of all what was said of their kind.
            for alike in [weak] if groups is words else [[counts] for counts in weak]:
                names = list(dict.fromkeys(group_name(certificate, each) for each in alike))
                if _sum(alike) not in told:
                    faults.append(phrase(joined_names(names), _sum(alike), others))
                told.append(_sum(alike))
                named.update(names)
        if COLORS in named:
            named.update(color_words())
    return faults


def _is_weak(counts: AnswerCounts, others: AnswerCounts, level: float) -> bool:
    return is_lower(counts.sensitivity, others.sensitivity, level) or is_lower(
        counts.specificity, others.specificity, level
    )


def _phrase(counts: AnswerCounts) -> _Phrase:
    """Return what formats the fault of a weak group."""
    if not _is_at_chance(counts):
        return _format_weak
    return _format_not_found if (counts.sensitivity.value or 0.0) <= _NO_SKILL else _format_not_seen


def _format_not_seen(names: str, counts: AnswerCounts, others: AnswerCounts) -> str:
    return (
        f"does not see {names}, at chance: says yes to {counts.yes_to_true} of {counts.true} true ones and to "
        f"{counts.yes_to_false.part} of {counts.false} false ones"
    )


def _format_not_found(names: str, counts: AnswerCounts, others: AnswerCounts) -> str:
    return (
        f"does not find {names}: says yes to {counts.yes_to_true} of {counts.true} true ones and no to "
        f"{counts.no_to_false} of {counts.false} false ones"
    )


def _format_weak(names: str, counts: AnswerCounts, others: AnswerCounts) -> str:
    shares = (
        ("sensitivity", counts.sensitivity, others.sensitivity),
        ("specificity", counts.specificity, others.specificity),
    )
    lower = [
        f"{word} {share}, elsewhere {other}"
        for word, share, other in shares
        if (share.value or 0.0) <= min(HIGH, other.value or 0.0)
    ]
    return f"{names} weak: {joined_names(lower)}"


def _places(certificate: JudgeCertificate, level: float) -> list[str]:
    """Return where answers get worse: small objects, many objects, high levels.

    Where a kind or predicate is weak this is not asked: it may be frequent there.
    """
    phrases = {
        "size": "where the smallest object has {} thousandths of the image",
        "objects": "with {} objects",
        "level": "at {}",
    }
    faults = []
    for by, phrase in phrases.items():
        groups = certificate.by(by)
        for counts in groups:
            others = _sum(each for each in groups if each is not counts)
            if counts.is_measured and _is_weak(counts, others, level):
                value = level_label(suite_of(certificate.suite), counts.value) if by == "level" else counts.value
                faults.append(_format_weak(f"{phrase.format(value)},", counts, others))
    return faults


def _sum(groups: Iterable[AnswerCounts]) -> AnswerCounts:
    listed = list(groups)
    names = ("true", "yes_to_true", "false", "no_to_false")
    return AnswerCounts("", "", *(sum(getattr(each, name) for each in listed) for name in names))


# --- what must not matter


def _again(certificate: JudgeCertificate) -> list[InvarianceCounts]:
    return [each for each in certificate.nuisances if each.nuisance == AGAIN and each.asked]


def _noise(certificate: JudgeCertificate, level: float) -> Iterator[str]:
    """Yield whether answers change when the same is asked again."""
    worst = _most_changed(_again(certificate))
    if worst is not None and worst.changed.interval(interval_confidence(level)).low > _MUCH_CHANGED:
        yield f"noisy: {worst.changed.part} of {worst.asked} answers changed when asked again"


def _sway(certificate: JudgeCertificate, nuisance: str, level: float) -> Iterator[str]:
    """Yield how a nuisance changes answers, by whichever of verdicts and clauses it changes more.

    Noise changes as many answers to yes as to no, but may be stronger where a part is flipped. A text is in such
    drawings alone, so it is named only if answers change one way.
    """
    worst = _most_changed([each for each in certificate.nuisances if each.nuisance == nuisance and each.is_measured])
    noise = max((each.changed.interval().high for each in _again(certificate)), default=0.0)
    if worst is None or nuisance == AGAIN or (nuisance == TEXT and _is_two_way(worst, level)):
        return
    if worst.changed.interval(interval_confidence(level)).low > max(noise, _MUCH_CHANGED):
        yield _format_sway(worst, worst.changed)


def _is_two_way(counts: InvarianceCounts, level: float) -> bool:
    """Return whether chance explains that answers change to yes more often than to no, or the other way round."""
    changed = counts.to_yes + counts.to_no
    ways = [CountedShare(count, changed) for count in (counts.to_yes, counts.to_no)]
    return counts.unscored <= changed and all(share.interval(interval_confidence(level)).low <= 0.5 for share in ways)


def _most_changed(counts: Sequence[InvarianceCounts]) -> InvarianceCounts | None:
    return max(counts, key=lambda each: each.changed.value or 0.0, default=None)


def _format_sway(counts: InvarianceCounts, changed: CountedShare) -> str:
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
